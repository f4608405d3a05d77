"""A party's keys: read from its table, in their normal form, with the problems that the operator should know."""

from __future__ import annotations

import csv
import hmac
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from parties.alone.preparing.spellings import NO_VALUE
from parties.base.extras import require
from parties.jobs.align.settings import AlignSettings, KeySettings, columns_of, forms_of
from parties.jobs.settings import MOST_ROWS
from parties.jobs.tabular import own_table
from parties.sources.settings import PlaceSettings, TableSettings
from parties.tables.unfit import UnfitError
from protocols.alignment.forms import Form, normal_column
from protocols.alignment.keys import Rows, doubles, joined
from protocols.counts import Indices
from smc.errors import InputError

# Beyond NO_VALUE, in small letters. Strangers would match by such a key.
WORDS = {"unknown", "unbekannt", "inconnu", "sconosciuto", "missing", "not available", "no data", "keine angabe", "n/a"}
Cells = list[str | None]
Value = tuple[str, ...] | None


@dataclass(frozen=True)
class TableKeys:
    """The key columns of a table.

    Attributes:
        columns: Names of the key columns.
        cells: The cells of each column, as written.
        normal: Their normal forms; None if one is missing or unreadable.
        unreadable: Number of unreadable cells of each column.
        keys: For each key the value of each row, None if the row lacks it.
        wordlike: For each column its cells that look like a word for a missing value, by spelling.
        is_settled: Whether the table's settings list the words that mean a missing value.
        values: Further columns of each row as category indices, int64[rows, columns], if the job reads any.
    """

    columns: tuple[str, ...]
    cells: list[Cells] = field(repr=False)
    normal: list[Cells] = field(repr=False)
    unreadable: tuple[int, ...]
    keys: list[list[Value]] = field(repr=False)
    wordlike: tuple[Counter[str], ...] = field(repr=False)
    is_settled: bool
    values: Indices | None = field(default=None, repr=False)

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.cells[0])

    @property
    def keyless(self) -> int:
        """Number of rows without any key."""
        return sum(all(value is None for value in row) for row in zip(*self.keys, strict=True))

    @property
    def doubles(self) -> list[int]:
        """For each key the number of rows whose value an earlier row has."""
        return [int(doubles(values).sum()) for values in self.keys]

    def aligned(self, rows: Rows, numbers: str = "") -> str:
        """Return the keys of some rows as CSV, as they are written in the table, and the number of each row.

        Args:
            rows: The rows, in the order that both parties share.
            numbers: Name of the column of numbers, see `parties.jobs.aligned.row_column`; empty for no numbers.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*self.columns, *([numbers] if numbers else [])])
        writer.writerows(
            [*("" if cells[row] is None else cells[row] for cells in self.cells), *([number] if numbers else [])]
            for number, row in enumerate(rows.tolist(), 1)
        )
        return text.getvalue()

    def fingerprint(self, key: bytes) -> bytes:
        """Return a keyed digest of the normal forms, which does not depend on the order of rows."""
        state = hmac.new(key, b"smc keys 2\0", "sha256")
        for row in sorted(map(repr, zip(*self.normal, strict=True))):
            text = row.encode()
            state.update(len(text).to_bytes(8, "little") + text)
        return state.digest()


def read_table(place: PlaceSettings, keys: Sequence[tuple[str, ...]], forms: Mapping[str, Form]) -> TableKeys:
    """Return the key columns of a table.

    Args:
        place: The table or file.
        keys: The columns of each key.
        forms: The normal form of each column.

    Raises:
        InputError: The table cannot be read or lacks a column, or a normal form needs a missing package.
    """
    from parties.sources.opening import open_rows  # loads slowly

    columns = columns_of(keys)
    for name in columns:
        require(f"forms: {name}", *forms[name].needs)
    cells: list[Cells] = [[] for _ in columns]
    with open_rows(place) as rows:
        own_names = [place.renamed.get(name, name) for name in columns]
        rows.select(own_names)  # raises an error for a missing column
        if rows.engine.lists:
            rows.engine.backend.raw_sql("SET preserve_insertion_order = true")
        for batch in rows.engine.batches(rows.spelled(own_names)):
            for column, some in zip(cells, batch.columns, strict=True):
                column.extend(some.to_pylist())
    missing = {None, *place.spelling.missing}
    present = [[None if cell is None or cell.strip() in missing else cell for cell in column] for column in cells]
    normal = [normal_column(forms[name], column) for name, column in zip(columns, present, strict=True)]
    by_name = dict(zip(columns, (column for column, _ in normal), strict=True))
    return TableKeys(
        columns,
        cells,
        list(by_name.values()),
        tuple(number for _, number in normal),
        [joined([by_name[name] for name in key]) for key in keys],
        tuple(Counter(cell for cell in column if cell is not None and _is_word(cell)) for column in present),
        "missing" in place.spelling.model_fields_set,
    )


def forms_in(place: PlaceSettings, settings: AlignSettings, keys: Sequence[tuple[str, ...]]) -> dict[str, Form]:
    """Return the normal form of each key column. Raise InputError if a column, or else a form, is wrong.

    Args:
        place: The table or file.
        settings: Settings of the job.
        keys: The columns of each key.
    """
    from parties.sources.opening import open_rows  # loads slowly

    columns = columns_of(keys)
    try:
        return forms_of(settings, columns)
    except InputError:
        with open_rows(place) as rows:
            rows.select([place.renamed.get(name, name) for name in columns])
        raise


def _is_word(cell: str) -> bool:
    """Return whether a cell looks like a word for a missing value. Real keys may look so too, such as a name."""
    return (text := cell.strip()) in NO_VALUE or text.casefold() in WORDS


def check_rows(table: TableKeys, place: PlaceSettings, problems: Sequence[str]) -> None:
    """Refuse a table that cannot take part.

    Args:
        table: The table's keys.
        place: The table or file, with its bounds.
        problems: The reasons.

    Raises:
        UnfitError: There are reasons, or too many rows or too few.
    """
    if isinstance(place, TableSettings) and not place.least_rows <= table.rows <= place.max_rows:
        problems = [f"{table.rows:,} rows, outside its bounds (least_rows, max_rows)"]
    for problem in problems:
        raise UnfitError(
            f"{place.label}: {problem}", f"{place.label}: its keys do not fit the job; see smc align check"
        )


def problems(table: TableKeys, most: int) -> list[str]:
    """Return the reasons why a table cannot take part, a clause each; empty if it can.

    Args:
        table: The table's keys.
        most: Upper bound on its rows.
    """
    found = [f"{table.rows:,} rows, more than the agreed {most:,} (keys); all rows count"] if table.rows > most else []
    found += [
        f"column {name}: cells that its normal form cannot read: {number:,}"
        for name, number in zip(table.columns, table.unreadable, strict=True)
        if number
    ]
    return found + [
        f"column {name}: cells that look like a missing value: {words.total():,}; list the words that mean one as "
        "`missing` in [tables.NAME.format] (by hand with --table NAME), [] if none does"
        for name, words in zip(table.columns, table.wordlike, strict=True)
        if words and not table.is_settled
    ]


def problems_of_doubles(table: TableKeys, settings: KeySettings) -> list[str]:
    """Return the keys that several rows have, a clause each; none if the first row takes part.

    Args:
        table: The table's keys.
        settings: Settings of the job.
    """
    doubles_of = zip(settings.by or (), table.doubles, strict=True) if settings.duplicates == "refuse" else ()
    return [
        f"key {key}: rows with the key of an earlier row: {number:,}; remove them, or agree on duplicates = first"
        for key, number in doubles_of
        if number
    ]


def place_of(settings: AlignSettings) -> PlaceSettings:
    """Return the file or table of a command's own rows. Raise InputError if none is named."""
    if settings.own_table is not None:
        return settings.own_table
    if settings.data is None:
        raise InputError("--data is missing: give the flag, or your rows as [tables.NAME] in --config")
    if settings.schema_file is not None:  # the job reads further columns
        return own_table(settings).bounded_by(MOST_ROWS)
    return PlaceSettings(source=str(settings.data))
