"""Contents of the columns of a raw table: private, and for this party's operator only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from parties.sources.settings import DerivedSettings, FormatSettings, PlaceSettings


@dataclass(frozen=True)
class ColumnProfile:
    """What a column holds. `reads` is "text", "integer", "real", "date" or "time"; `form` is that of its dates.

    `rows` have a value, of about `distinct` ones; `frequent` are the most frequent. Ordered columns lie from `low` to
    `high`, the middle 98 % from `inner[0]` to `inner[1]`, as numbers of `parties.tables.types`; `odd` are their texts
    that are none. `parted` if thousands have a mark, `is_marked` if any number has one. `spelling` is that of its
    cells, with the texts that mean no value by the operator's word as `missing`. `codes` are numbers that mean no
    value. `remarks` say how cells were read where there was a choice. `counts` are rows by value and class of the
    target, of columns with few values.
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
    """A table's columns, how its cells are spelled, and its number of rows."""

    place: PlaceSettings
    spelling: FormatSettings
    rows: int
    columns: tuple[ColumnProfile, ...]
    unfit: dict[str, str]
    remarks: tuple[str, ...] = ()
    derived: Mapping[str, DerivedSettings] = field(default_factory=dict)
