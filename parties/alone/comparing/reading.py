"""The two tables of a comparison, read from their files as category codes of the schema."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from parties.alone.comparing.comparison import CodedRows
from parties.sources.cells import cells, cells_at
from parties.sources.opening import open_table
from parties.sources.settings import PlaceSettings, TableSettings
from parties.tables import rows, schema
from parties.tables.delimited import Columns
from parties.tables.schema import Schema
from protocols.arrays import Codes
from smc.errors import InputError

MOST_ROWS = 10_000_000


@dataclass(frozen=True, eq=False)
class Pair:
    """Both tables in their common columns, the number of values of each column, and the target if there is one."""

    domain: dict[str, int]
    original: CodedRows
    synthetic: CodedRows
    target: str | None


def read(original: PlaceSettings, synthetic: Path, schema_file: Path, target: str | None) -> Pair:
    """Return both tables in the schema's columns that the synthetic table has, as category codes.

    Args:
        original: source of the party's own rows
        synthetic: file of the synthetic table
        schema_file: file of the schema
        target: class column; None: that of the schema, if the synthetic table has it

    Raises:
        InputError: a value is outside the schema, the party's table lacks a column, the target does not exist, or the
            synthetic table has fewer than two columns of the schema
    """
    agreed = schema.load(schema_file)
    made = cells(synthetic, MOST_ROWS)
    known = agreed.only([name for name in agreed.attributes if name in made.values])
    if len(known.attributes) < 2:
        raise InputError(f"{synthetic}: a comparison needs at least two columns of {schema_file}")
    if target is not None and target not in known.attributes:
        known.choose_target(target)
    if target is None and agreed.target in known.attributes:
        target = agreed.target
    domain = {name: len(values) for name, values in known.attributes.items()}
    if (table := original.party_table) is not None:
        own_rows = mapped(table, agreed, list(known.attributes))
    else:
        own_rows = _as_it_stands(original, known)
    return Pair(domain, own_rows, _coded(made, known), target)


@dataclass(frozen=True, eq=False)
class CodedTable:
    """A party's rows as codes.

    `rows` int64[rows, columns] has the codes of the features, below `domains`; `labels` int64[rows] those of the
    target, below `classes`.
    """

    domains: tuple[int, ...]
    classes: int
    rows: Codes
    labels: Codes


def coded(place: PlaceSettings, schema_file: Path, target: str | None) -> CodedTable:
    """Return the party's rows as category codes.

    Args:
        place: source of the rows
        schema_file: file of the schema
        target: class column; None: that of the schema

    Raises:
        InputError: a value is outside the schema, or the target does not exist
    """
    agreed = schema.load(schema_file)
    label = agreed.choose_target(target)
    if (table := place.party_table) is not None:
        columns = mapped(table, agreed, list(agreed.attributes))
    else:
        columns = _as_it_stands(place, agreed)
    features = agreed.features(label)
    sizes = {name: len(values) for name, values in agreed.attributes.items()}
    rows = np.column_stack([columns[name] for name in features])
    return CodedTable(tuple(sizes[name] for name in features), sizes[label], rows, columns[label])


def mapped(table: TableSettings, agreed: Schema, names: Sequence[str]) -> CodedRows:
    """Return columns of a party's table as category codes, by its mapping to the schema.

    Args:
        table: the party's table, with its mapping
        agreed: the schema
        names: the columns
    """
    *features, last = names
    with open_table(table.bounded_by(MOST_ROWS), agreed, last, names) as source:
        lines = np.concatenate([np.zeros((0, len(names) + 1), dtype=np.int64), *source.batches()])
    lines = lines[np.lexsort(lines.T)]  # a database returns lines in any order, and the report must be deterministic
    coded = np.repeat(lines[:, :-1], lines[:, -1], axis=0).T
    return dict(zip([*features, last], coded.astype(np.int64), strict=True))


def _as_it_stands(place: PlaceSettings, known: Schema) -> CodedRows:
    """Return rows of a place whose cells are the schema's categories, without a mapping.

    If the schema has types, an InputError says how to map a raw table.
    """
    try:
        return _coded(cells_at(place, MOST_ROWS), known)
    except InputError as error:
        if not known.has_types:
            raise
        raise InputError(f"{error}; a raw table is read by the --config that smc prepare wrote for it") from None


def _coded(columns: Columns, known: Schema) -> CodedRows:
    last = [*known.attributes][-1]
    table = rows.encoded(columns, known, last)
    coded = dict(zip(known.features(last), table.rows.T, strict=True)) | {last: table.classes}
    return {name: coded[name].astype(np.int64) for name in known.attributes}
