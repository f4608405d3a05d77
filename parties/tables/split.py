"""Split of rows into those that train a model and those that judge it, by a public keyed hash of each row's identity.

The hash of a person, or of the text of a row's cells, is uniform. Rows whose hash is below the held-out share are held
out. Of several folds, each holds out the next share. So all who have a person's rows hold out the same person, at any
time and without a message. Equal rows are numbered, and each has a hash of its own.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from parties.tables.delimited import MISSING

KEY = "smc held-out rows 1|"
MOST = 0.5  # largest share that is held out
DIGITS = 13  # hexadecimal digits of the bound of held-out hashes


@dataclass(frozen=True)
class Split:
    """The share of rows that are held out, and the columns whose cells identify a row; without columns, the person.

    `fold` says which share: the first, the second, ... in the order of the hashes.
    """

    held_out: float
    columns: tuple[str, ...] = ()
    fold: int = 1

    @property
    def bounds(self) -> tuple[str, str]:
        """Hexadecimal texts: hashes from the first one on, and before the second one, belong to held-out rows."""
        first, after = (int(fold * self.held_out * 16**DIGITS) for fold in (self.fold - 1, self.fold))
        return f"{first:0{DIGITS}x}", f"{after:0{DIGITS}x}" if after < 16**DIGITS else "g"

    @property
    def words(self) -> str:
        """Description of the held-out rows."""
        fold = f" (fold {self.fold})" if self.fold > 1 else ""
        return f"the {self.held_out:.0%} of {'rows' if self.columns else 'people'} that were held out of training{fold}"

    def fields(self) -> dict[str, Any]:
        """Return the split as the field `split` of a model file."""
        fold = {"fold": self.fold} if self.fold > 1 else {}
        columns = {"columns": list(self.columns)} if self.columns else {}
        return {"split": {"held_out": self.held_out, **fold, **columns}}

    @classmethod
    def parse(cls, fields: Any) -> Split | None:
        """Return the split in a model file's content; None if it names none. Raise ValueError if it is invalid."""
        if not isinstance(fields, dict) or (split := fields.get("split")) is None:
            return None
        share, columns = (split.get(name) for name in ("held_out", "columns")) if isinstance(split, dict) else (0, None)
        if isinstance(share, bool) or not isinstance(share, int | float) or not (share <= MOST and is_share(share)):
            raise ValueError(f"split.held_out: must be a multiple of 0.05 up to {MOST}, so that it names no single row")
        named = isinstance(columns, list) and columns and all(isinstance(name, str) and name for name in columns)
        if columns is not None and not named:
            raise ValueError("split.columns: must be names of columns")
        fold = split.get("fold", 1)
        if isinstance(fold, bool) or not isinstance(fold, int | float) or fold not in range(1, folds(share) + 1):
            raise ValueError(f"split.fold: must be a whole number from 1 to {folds(share)}")
        return cls(float(share), tuple(columns or ()), int(fold))


def is_share(share: float) -> bool:
    """Return whether a share is a multiple of 0.05 above 0: two such parts differ by many rows."""
    return share > 0 and round(share * 20) / 20 == share


def folds(held_out: float) -> int:
    """Return the number of folds that hold out this share of the rows each, and no row twice."""
    return int(1 / held_out + 1e-9)


class Part(NamedTuple):
    """One part of the rows: those held out, or the others."""

    split: Split
    is_held_out: bool

    def has(self, cells: Sequence[Sequence[str]]) -> list[bool]:
        """Return whether each row belongs to the part.

        Args:
            cells: Texts of the cells in each of the split's columns.
        """
        seen, members, (first, after) = Counter[str](), [], self.split.bounds
        for row in zip(*cells, strict=True):
            row_hash = _sha256(KEY + "".join(map(_escaped, row)))
            seen[row_hash] += 1
            members.append((first <= _sha256(f"{row_hash}{seen[row_hash]}") < after) == self.is_held_out)
        return members


def _escaped(cell: str) -> str:
    return "!0|" if cell in ("", MISSING) else cell.replace("!", "!!").replace("|", "!|") + "|"


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
