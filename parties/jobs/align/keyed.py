"""Base class of alignments by whole keys."""

from __future__ import annotations

from typing import Any, Self

from typing_extensions import override

from parties.base.settings import required
from parties.base.text import listed
from parties.jobs.align.kind import Alignment
from parties.jobs.align.reading import TableKeys, forms_in, place_of, problems_of_doubles
from parties.jobs.align.settings import KeySettings, key_columns
from parties.jobs.kind import Document, KindSettings, State
from protocols.alignment.keys import tokens_per_row


class KeyAlignment(Alignment):
    """Base class of alignments by whole keys, each in its public normal form."""

    settings: KeySettings
    lists = ("by", "forms")

    def __init__(self, settings: KindSettings) -> None:
        super().__init__(settings, key_columns(required(getattr(settings, "by", None), f"{self.name}.by")))

    @classmethod
    @override
    def per_row(cls, settings: Any) -> int:
        return tokens_per_row(max(1, len(settings.by or ())))

    @classmethod
    @override
    def alone(cls, settings: Any, party: int) -> tuple[Self, Any, list[str]]:
        forms_in(place_of(settings), settings, key_columns(settings.by or ()))
        return super().alone(settings, party)

    @override
    def bounded(self) -> dict[str, Any]:
        """Return the settings, with the numbers of keys that a cheating peer can enter if they are others."""
        cells = {"listener_keys": self.sizes[0], "keys": self.sizes[1]} if self.by_cells else {}
        return super().bounded() | cells

    @override
    def more_problems(self, table: TableKeys) -> list[str]:
        return problems_of_doubles(table, self.settings)

    def matched_by(self) -> str:
        """Return the end of a sentence that names the keys: `by email`, or `by the first key that both rows have of
        ...`."""
        keys = listed(["+".join(key) for key in self._keys], len(self._keys))
        return f"by {keys}" if len(self._keys) == 1 else f"by the first key that both rows have of {keys}"

    @override
    def document(self, state: State) -> Document:
        return {"by": ["+".join(key) for key in self._keys], **super().document(state)}
