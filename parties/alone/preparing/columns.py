"""Profiles of the columns of a raw table. They are private: for this party's operator only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from parties.sources.settings import DerivedSettings, FormatSettings, PlaceSettings


@dataclass(frozen=True)
class ColumnProfile:
    """Profile of a column. `reads` is its kind: "text", "integer", "real", "date" or "time"; `form` its date form.

    `rows` is the number of rows with a value, `distinct` about that of distinct values, `frequent` the most frequent
    ones. The values of a number, date or time column go from `low` to `high`, the middle 98 % from `inner[0]` to
    `inner[1]`, all as numbers (see `parties.tables.types`); `odd` has cells that do not fit its kind. `length` is
    the mean length of a text column's cells. `parted` is True if some numbers have a thousands mark; `is_marked` if
    some have a thousands or a decimal mark. `spelling.missing` and `codes` are texts that the
    operator declared to mean no value. `counts` has the rows by value and target class, if there are few values.
    """

    name: str
    reads: str
    rows: int
    distinct: int
    frequent: tuple[str, ...] = ()
    length: float = 0.0
    form: str = ""
    low: float = 0.0
    high: float = 0.0
    inner: tuple[float, float] = (0.0, 0.0)
    decimals: int = 0
    odd: tuple[str, ...] = ()
    parted: bool = False
    spelling: FormatSettings = field(default_factory=FormatSettings)
    remarks: tuple[str, ...] = ()
    codes: tuple[str, ...] = ()
    is_marked: bool = False
    counts: dict[str, dict[str, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class TableProfile:
    """Profile of a table: its columns, the spelling of its cells, the number of rows, and why columns are unfit."""

    place: PlaceSettings
    spelling: FormatSettings
    rows: int
    columns: tuple[ColumnProfile, ...]
    unfit: dict[str, str]
    remarks: tuple[str, ...] = ()
    derived: Mapping[str, DerivedSettings] = field(default_factory=dict)
