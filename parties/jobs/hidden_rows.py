"""Rows that `smc align hidden` has matched, without showing which: their public terms, and a party's private file."""

from __future__ import annotations

import json
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

from parties.base.text import listed
from parties.tables.schema import Schema
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.hidden_counts import HiddenCounts
    from protocols.hidden_rows import HiddenRows, HiddenShape
    from smc.engines import Engine

FORMAT, VERSION = "smc hidden rows", 1
Side: TypeAlias = Literal["listener", "dialler"]
LISTENS: tuple[Side, Side] = ("listener", "dialler")  # party 0 and party 1


def party_of_each(names: Iterable[str], listener_columns: Container[str]) -> dict[str, int]:
    """Return the party of each column: 0, which listens, or 1.

    Args:
        names: The columns.
        listener_columns: Columns of the party that listens.
    """
    return {name: int(name not in listener_columns) for name in names}


@dataclass(frozen=True)
class HiddenTerms:
    """Public terms of hidden rows, equal at both parties.

    Attributes:
        alignment: Identifier of the alignment's session.
        schema: The columns of both parties, with their values.
        listener_columns: Columns of the party that listens.
        holder: Party whose rows are in the bins.
        bins: Number of bins, each with a row or none.
    """

    alignment: str
    schema: Schema
    listener_columns: tuple[str, ...]
    holder: Side
    bins: int

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of each later job on these rows."""
        return {"listener_columns": self.listener_columns, "hidden_rows": self.holder, "max_rows": self.bins}

    def misfit(self, schema: Schema, settings: Any) -> str | None:
        """Return the reason why a job cannot use these rows; None if it can.

        Args:
            schema: Columns of the job.
            settings: Settings of the job.
        """
        if (settings.hidden_rows, settings.max_rows) != (self.holder, self.bins):
            return "hidden_rows or max_rows of the job are not those of its alignment; remove them"
        other = [
            name
            for name, values in schema.attributes.items()
            if self.schema.attributes.get(name) != values
            or (name in self.listener_columns) != (name in settings.listener_columns)
        ]
        mine, numbers = self.schema.attributes, self.schema.numeric(other).attributes
        if ranges := [name for name in other if mine.get(name) != numbers.get(name) == schema.attributes[name]]:
            return f"the alignment has ranges of {listed(ranges)}, not numbers; match anew by a schema without edges"
        return f"the alignment has no columns {listed(other)} with the job's values and party" if other else None

    @property
    def shape(self) -> HiddenShape:
        """The terms as numbers."""
        from protocols.hidden_rows import HiddenShape  # loads slowly

        domains = self.schema.attributes
        owners = tuple(party_of_each(domains, self.listener_columns).values())
        return HiddenShape(tuple(map(len, domains.values())), owners, LISTENS.index(self.holder), self.bins)


@dataclass(frozen=True)
class HiddenFile:
    """A party's part of hidden rows as a private file.

    Attributes:
        label: Name of the file for messages.
        party: Number of the party, 0 for the one that listens.
        terms: The public terms.
        rows: The part; private.
    """

    label: str
    party: int
    terms: HiddenTerms
    rows: HiddenRows = field(repr=False)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of a command on these rows that follow from them: it reads no table."""
        return self.terms.settings | {"alignment": self.terms.alignment, "data": None}

    def text(self) -> str:
        """Return the content of the file; `parsed` is the inverse."""
        head = {"format": FORMAT, "version": VERSION, "party": self.party}
        terms = vars(self.terms) | {"schema": self.terms.schema.public()}
        return json.dumps({**head, **terms, **self.rows.encoded()}) + "\n"

    @classmethod
    def parsed(cls, text: str, label: str) -> Self:
        """Return the part in a file's content.

        Args:
            text: The content.
            label: Name of the file for messages.

        Raises:
            InputError: It is another file, or parts of it are missing.
        """
        try:
            fields = json.loads(text)
            if (fields["format"], fields["version"]) != (FORMAT, VERSION):
                raise ValueError
            schema, columns = Schema.from_public(fields["schema"]), tuple(fields["listener_columns"])
            terms = HiddenTerms(fields["alignment"], schema, columns, fields["holder"], fields["bins"])
            return cls(label, fields["party"], terms, terms.shape.decoded(fields["party"], fields))
        except (ValueError, KeyError, TypeError, IndexError, InputError):
            raise InputError(f"{label}: is no whole file of smc align hidden; give that file, or align anew") from None

    def counts(self, engine: Engine, names: Sequence[str]) -> HiddenCounts:
        """Return a source of counts.

        Args:
            engine: The engine of the session.
            names: The job's columns, the class last.
        """
        from protocols.hidden_counts import HiddenCounts

        *attributes, target = map([*self.terms.schema.attributes].index, names)
        return HiddenCounts(engine, self.rows, attributes, target)
