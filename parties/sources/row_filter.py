"""Filter of rows before counting.

It leaves out rows that fail a condition, rows without consent, rows of people who objected, and a person's rows beyond
the bound (`people`).
"""

from __future__ import annotations

from dataclasses import replace

import sqlglot.expressions as exp

from parties.sources.opened import RowQuery
from parties.sources.people import chosen_rows, column_text, total
from parties.sources.settings import ConsentSettings, TableSettings
from parties.sources.sql import checked_condition


def choose(rows: RowQuery, settings: TableSettings) -> RowQuery:
    """Return the rows that take part, with a query `left_out` for the numbers of the others, see `source.LeftOut`.

    A row takes part if it fulfils `where`, has consent, and belongs to a person who did not object. At most `at_most`
    rows of a person take part.

    Args:
        rows: All rows.
        settings: The table in party.toml.

    Raises:
        InputError: The condition, the list of objections, the person or a column is wrong.
    """
    conditions = [exp.Paren(this=condition or exp.true()) for condition in _conditions(rows, settings)]
    conditions.append(exp.Paren(this=_not_objected(rows, settings) or exp.true()))
    chosen = exp.Select().select("*").from_(rows.query.subquery("t")).where(*conditions)
    numbers = []
    for number, condition in enumerate(conditions):  # a row is counted under the first condition that it fails
        is_out = exp.case().when(condition.copy(), exp.convert(0)).else_(exp.convert(1))
        for before in conditions[:number]:
            is_out = exp.case().when(before.copy(), is_out).else_(exp.convert(0))
        numbers.append(total(is_out).as_(f"r{number}"))
    left_out = exp.Select().select(*numbers).from_(rows.query.subquery("t"))
    if settings.person is not None:
        chosen, of_people = chosen_rows(rows, chosen, settings)
        every = [exp.column(number.alias) for query in (left_out, of_people) for number in query.selects]
        left_out = exp.Select().select(*every).from_(left_out.subquery("r"))
        left_out = left_out.join(of_people.subquery("p"), join_type="cross")
    return replace(rows, query=chosen, left_out=left_out)


def conditions_of(rows: RowQuery, settings: TableSettings) -> list[exp.Expr]:
    """Return the SQL conditions that `where` and consent set on a row.

    Args:
        rows: All rows.
        settings: The table in party.toml.

    Raises:
        InputError: The condition or a column is wrong.
    """
    return [condition for condition in _conditions(rows, settings) if condition is not None]


def _conditions(rows: RowQuery, settings: TableSettings) -> tuple[exp.Expr | None, exp.Expr | None]:
    engine, where = rows.engine, None
    if settings.where is not None:
        where = checked_condition(settings.where, engine.backend.dialect, engine.place)
        with engine.reporting(": where"):
            engine.probe(exp.Select().select("*").from_(rows.query.subquery("t")).where(where))
    return where, None if settings.consent is None else _consent(rows, settings.consent)


def _consent(rows: RowQuery, consent: ConsentSettings) -> exp.Expr:
    """Return the condition that a row has consent. A row without a value has none."""
    text = column_text(rows, consent.column, "consent")
    return exp.In(this=text, expressions=[exp.Literal.string(yes) for yes in consent.yes])


def _not_objected(rows: RowQuery, settings: TableSettings) -> exp.Expr | None:
    """Return the condition that a row's person is not on the list of objections; None for no or an empty list.

    Rows without a person fulfil it. Raise InputError as `choose` does.
    """
    if settings.objections is None:
        return None
    text = column_text(rows, settings.objections.column, "objections")
    people = settings.objections.people()
    listed = exp.In(this=text.copy(), expressions=[exp.Literal.string(person) for person in people])
    return exp.or_(text.is_(exp.Null()), exp.Paren(this=listed).not_()) if people else None
