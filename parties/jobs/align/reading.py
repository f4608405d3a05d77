"""A party's keys: read from its table, in their normal form, with the problems that the operator should know."""

from __future__ import annotations

import csv
import hmac
import io
from collections import Counter
from dataclasses import dataclass, field

from parties.alone.preparing.spellings import NO_VALUE
from parties.base.extras import require
from parties.jobs.align.settings import AlignSettings, bounds, forms_of, key_columns
from parties.sources.settings import PlaceSettings, TableSettings
from parties.tables.unfit import UnfitError
from protocols.alignment.forms import normal_column
from protocols.alignment.keys import Rows, Tokens, doubles, joined, tokens
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
    """

    columns: tuple[str, ...]
    cells: list[Cells] = field(repr=False)
    normal: list[Cells] = field(repr=False)
    unreadable: tuple[int, ...]
    keys: list[list[Value]] = field(repr=False)
    wordlike: tuple[Counter[str], ...] = field(repr=False)
    is_settled: bool

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


@dataclass(frozen=True)
class OwnKeys:
    """A party's data in a run: the tokens that it enters, and its table, from which matched keys are written."""

    table: TableKeys
    tokens: Tokens = field(repr=False)

    def aligned(self, matched: Rows, numbers: str) -> str:
        """Return the keys of matched rows as CSV, as they are written in the table, and the number of each row.

        Args:
            matched: The matched tokens, in the order that both parties share.
            numbers: Name of the column of numbers, see `parties.jobs.aligned.row_column`.
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*self.table.columns, numbers])
        writer.writerows(
            [*("" if cells[row] is None else cells[row] for cells in self.table.cells), number]
            for number, row in enumerate(self.tokens.rows[matched].tolist(), 1)
        )
        return text.getvalue()

    def fingerprint(self, key: bytes) -> bytes:
        """Return a keyed digest of the keys, which does not depend on the order of rows."""
        state = hmac.new(key, b"smc keys 1\0", "sha256")
        for text in sorted(self.tokens.texts):
            state.update(len(text).to_bytes(8, "little") + text)
        return state.digest()


def read_table(place: PlaceSettings, settings: AlignSettings) -> TableKeys:
    """Return the key columns of a table.

    Args:
        place: The table or file.
        settings: Settings of the job: keys and forms.

    Raises:
        InputError: The table cannot be read or lacks a column.
    """
    from parties.sources.opening import open_rows  # loads slowly

    keys = key_columns(settings.by or ())
    columns = tuple(dict.fromkeys(name for key in keys for name in key))
    forms = forms_of(settings, columns)
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


def _is_word(cell: str) -> bool:
    """Return whether a cell looks like a word for a missing value. Real keys may look so too, such as a name."""
    return (text := cell.strip()) in NO_VALUE or text.casefold() in WORDS


def own_keys(table: TableKeys, settings: AlignSettings, party: int, place: PlaceSettings) -> OwnKeys:
    """Return a party's data for a run.

    Args:
        table: The table's keys.
        settings: Settings of the job.
        party: Number of the party, 0 or 1.
        place: The table or file, with its bounds.

    Raises:
        UnfitError: There are too many rows, too few, unreadable cells, or doubles that are refused.
    """
    found, label = problems(table, settings, party), place.label
    if isinstance(place, TableSettings) and not place.least_rows <= table.rows <= place.max_rows:
        found = [f"{table.rows:,} rows, outside its bounds (least_rows, max_rows)"]
    for problem in found:
        raise UnfitError(f"{label}: {problem}", f"{label}: its keys do not fit the job; see smc align check")
    return OwnKeys(table, tokens(table.keys, party))


def problems(table: TableKeys, settings: AlignSettings, party: int) -> list[str]:
    """Return the reasons why a table cannot take part, a clause each; empty if it can.

    Args:
        table: The table's keys.
        settings: Settings of the job.
        party: Number of the party, 0 or 1.
    """
    most = bounds(settings)[party]
    found = [f"{table.rows:,} rows, more than the agreed {most:,} (keys)"] if table.rows > most else []
    found += [
        f"column {name}: cells that its normal form cannot read: {number:,}"
        for name, number in zip(table.columns, table.unreadable, strict=True)
        if number
    ]
    found += [
        f"column {name}: cells that look like a missing value: {words.total():,}; list the words that mean one as "
        "`missing` in [tables.NAME.format] (by hand with --table NAME), [] if none does"
        for name, words in zip(table.columns, table.wordlike, strict=True)
        if words and not table.is_settled
    ]
    doubles_of = zip(settings.by or (), table.doubles, strict=True) if settings.duplicates == "refuse" else ()
    found += [
        f"key {key}: rows with the key of an earlier row: {number:,}; remove them, or agree on duplicates = first"
        for key, number in doubles_of
        if number
    ]
    return found


def place_of(settings: AlignSettings) -> PlaceSettings:
    """Return the file or table of a command's own rows. Raise InputError if none is named."""
    if settings.own_table is not None:
        return settings.own_table
    if settings.data is None:
        raise InputError("--data is missing: give the flag, or your rows as [tables.NAME] in --config")
    return PlaceSettings(source=str(settings.data))
