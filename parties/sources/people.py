"""A bounded number of rows of each person, chosen in SQL by a keyed order that only the table's owner knows.

A person's rows are ranked by SHA-256 of the key, the text of all cells, and the row's number among the person's equal
rows. So the choice does not depend on the order of rows, on other people, or on the columns of a job. All engines that
spell cells alike choose the same rows. Removing a person removes at most `at_most` chosen rows and changes no others.
Rows without a person are left out.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import sqlglot.expressions as exp

from parties.base import token_key
from parties.base.text import instead, quoted
from parties.sources.expressions import SPACE, Cell
from parties.sources.mapping import ColumnRule
from parties.sources.opened import RowQuery
from parties.sources.settings import TableSettings
from parties.sources.sql import checked_condition
from parties.tables.delimited import MISSING
from smc.errors import InputError

NUMBERS = ("nan", "NaN")  # texts of NaN in the engines


def chosen_rows(rows: RowQuery, chosen: exp.Select, settings: TableSettings) -> tuple[exp.Select, exp.Select]:
    """Return at most `at_most` of the `chosen` rows of each person, and a query for the numbers of left-out rows.

    The query counts the rows without a person, and the rows beyond `at_most`.

    Args:
        rows: All rows; the result has their columns.
        chosen: The rows that take part, before the bound of each person.
        settings: The table in party.toml.

    Raises:
        InputError: `person` is wrong, or there is no key.
    """
    assert settings.at_most is not None
    person, digest, copy, place = free_names(rows.types, "person", "row", "copy", "place")
    dialect = str(rows.engine.backend.dialect.__name__).lower()
    cells = [exp.column(name, table="t", quoted=True) for name in rows.types]
    known = exp.Select().select(*cells, person_of(rows, settings).as_(person)).from_(chosen.subquery("t"))
    rows_of = exp.Select().select(exp.column(person), exp.Count(this=exp.Star()).as_(copy)).from_(known.subquery("t"))
    left_out = exp.Select().select(*_beyond(person, copy, settings.at_most))
    left_out = left_out.from_(rows_of.group_by(exp.column(person)).subquery("t"))

    hashed = exp.Select().select("*", sha256(row_text(rows), dialect).as_(digest)).from_(known.subquery("t"))
    hashed = hashed.where(exp.column(person).is_(exp.Null()).not_())
    numbered = exp.Select().select("*", number_of([person, digest], exp.column(digest)).as_(copy))
    numbered = numbered.from_(hashed.subquery("t"))
    keyed = [exp.Literal.string(_key(settings)), exp.column(digest), exp.cast(exp.column(copy), "TEXT")]
    placed = exp.Select().select("*", number_of([person], sha256(concatenated(keyed), dialect)).as_(place))
    placed = placed.from_(numbered.subquery("t"))
    few = exp.Select().select(*(cell.copy() for cell in cells)).from_(placed.subquery("t"))
    return few.where(exp.LTE(this=exp.column(place), expression=exp.convert(settings.at_most))), left_out


def person_of(rows: RowQuery, settings: TableSettings) -> exp.Expr:
    """Return the SQL of a row's person as text; NULL for a row without a person.

    Args:
        rows: Query for the rows.
        settings: Settings of the table; they name the person.

    Raises:
        InputError: The person does not follow from one row, or a column does not exist.
    """
    assert settings.person is not None
    engine, spelled = rows.engine, settings.person.strip()
    where = f"{engine.place}: person"
    no_value = ["", MISSING, *settings.format.missing]
    if spelled in rows.types:
        text = column_text(rows, spelled, "person")
        no_value += NUMBERS if rows.types[spelled].is_floating() else ()
    else:
        value = checked_condition(spelled, engine.backend.dialect, engine.place, "person")
        if (name := next((c.name for c in value.find_all(exp.Column) if not _is_known(c, rows)), None)) is not None:
            raise InputError(f"{where}: there is no column {quoted(name)}{instead(name, rows.types)}")
        if value.find(exp.AggFunc, exp.Window) is not None:
            raise InputError(f"{where}: must be computed from one row; remove functions of several rows")
        if value.find(exp.Column) is None:
            raise InputError(f"{where}: names no column; name the one that identifies the person")
        text = exp.Trim(this=exp.cast(value, "TEXT"), expression=exp.Literal.string(SPACE))
        with engine.reporting(": person"):
            engine.probe(exp.Select().select(text.as_("person")).from_(rows.query.subquery("t")))
    absent = exp.In(this=text.copy(), expressions=[exp.Literal.string(word) for word in dict.fromkeys(no_value)])
    return exp.case().when(absent, exp.Null()).else_(text)


def _is_known(column: exp.Column, rows: RowQuery) -> bool:
    names = rows.types if rows.engine.cased else [name.lower() for name in rows.types]
    return (column.name if rows.engine.cased else column.name.lower()) in names


def column_text(rows: RowQuery, column: str, key: str) -> exp.Expr:
    """Return the SQL expression of a column's text.

    Args:
        rows: Rows with the column.
        column: Name of the column.
        key: Setting that names the column, for messages.

    Raises:
        InputError: The column is missing or has no text.
    """
    where = f"{rows.engine.place}: {key}"
    known = [name for name in rows.types if name == column or not rows.engine.cased]
    twins = [name for name in known if name.lower() == column.lower()]
    if column not in rows.types:
        raise InputError(f"{where}: there is no column {quoted(column)}{instead(column, rows.types)}")
    if twins[1:]:
        raise InputError(f"{where}: rename {', '.join(map(quoted, twins))}: these names differ only in case")
    try:
        return Cell(ColumnRule(column, column), rows.types[column], rows.engine.lists).text
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def row_text(rows: RowQuery) -> exp.Expr:
    """Return a row's cells as one unambiguous text: `|` ends a cell, `!` escapes either mark within a cell."""
    texts = []
    for name, dtype in rows.types.items():
        if rows.unfit(name) is not None:
            continue  # its type is never counted
        text = escaped(Cell(ColumnRule(name, name), dtype, rows.engine.lists).text)
        texts.append(exp.Coalesce(this=text, expressions=[exp.Literal.string("!0|")]))
    return concatenated(texts)


def escaped(text: exp.Expr) -> exp.Expr:
    """Return a cell's text with its end mark: `|` ends a cell, `!` escapes either mark within a cell."""
    for mark in "!|":
        text = exp.func("REPLACE", text, exp.Literal.string(mark), exp.Literal.string(f"!{mark}"))
    return concatenated([text, exp.Literal.string("|")])


def concatenated(texts: Sequence[exp.Expr]) -> exp.Expr:
    """Return the texts as one; NULL if one is NULL."""
    return exp.Concat(expressions=list(texts), safe=False, coalesce=False)


def sha256(text: exp.Expr, dialect: str) -> exp.Expr:
    """Return the SQL of SHA-256 of a text in UTF-8, in hexadecimal.

    Args:
        text: SQL of the text.
        dialect: Dialect of the database.
    """
    if dialect == "postgres":  # its function takes bytes
        text = exp.Anonymous(this="convert_to", expressions=[text, exp.Literal.string("UTF8")])
    return exp.SHA2(this=text, length=exp.convert(256))


def number_of(parts: Sequence[str], order: exp.Expr) -> exp.Window:
    """Return the SQL of a row's number, from 1, among the rows with equal values in some columns.

    Args:
        parts: Columns whose values are equal in the rows that are numbered together.
        order: SQL by which these rows are sorted.
    """
    by = exp.Order(expressions=[exp.Ordered(this=order)])
    return exp.Window(this=exp.RowNumber(), partition_by=[exp.column(part) for part in parts], order=by)


def _beyond(person: str, number: str, at_most: int) -> list[exp.Expr]:
    """Return the numbers of rows without a person and of rows beyond `at_most`, from one line for each person."""
    many, nobody = exp.column(number), exp.column(person).is_(exp.Null())
    more = exp.func("GREATEST", exp.Sub(this=many.copy(), expression=exp.convert(at_most)), exp.convert(0))
    of_nobody = exp.case().when(nobody, many).else_(exp.convert(0))
    beyond = exp.case().when(nobody.copy(), exp.convert(0)).else_(more)
    return [total(of_nobody).as_("p0"), total(beyond).as_("p1")]


def total(number: exp.Expr) -> exp.Expr:
    """Return the SQL of the sum of a number over all rows; 0 for an empty table."""
    return exp.cast(exp.Coalesce(this=exp.Sum(this=number), expressions=[exp.convert(0)]), "BIGINT")


def free_names(taken: Iterable[str], *names: str) -> list[str]:
    """Return names of new columns: each name with a prefix with which no present column begins.

    Args:
        taken: Names of the present columns.
        names: Names of the new columns, without the prefix.
    """
    prefix = "smc_"
    while any(name.lower().startswith(prefix) for name in taken):
        prefix += "_"
    return [prefix + name for name in names]


def _key(settings: TableSettings) -> str:
    """Return the key for this party's choice of rows. It is derived from the private key, so both change together."""
    if settings.identity is None:
        raise InputError(
            f"{settings.label}: person: the choice of a person's rows needs this party's private key; name the key "
            f"as link.identity in party.toml; smc identity create makes one"
        )
    return hashlib.sha256(b"smc rows of people 1\0" + token_key.secret(settings.identity)).hexdigest()
