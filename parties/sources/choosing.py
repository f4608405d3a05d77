"""Leave rows out before anything is counted: those that a condition does not hold for, and those without consent."""

from __future__ import annotations

from dataclasses import replace

import sqlglot.expressions as exp

from parties.base.text import instead, quoted
from parties.sources.expressions import Cell
from parties.sources.mapping import ColumnRule
from parties.sources.opened import RowQuery
from parties.sources.settings import ConsentSettings, TableSettings
from parties.sources.sql import checked_condition
from smc.errors import InputError


def choose(rows: RowQuery, settings: TableSettings) -> RowQuery:
    """Return the rows that fulfil `where` and have consent, and the query for how many do not: of either in this
    order.

    `InputError` if the condition is no good, or if there is no such column.
    """
    engine = rows.engine
    conditions: list[exp.Expr] = [exp.true(), exp.true()]
    if settings.where is not None:
        conditions[0] = checked_condition(settings.where, engine.backend.dialect, engine.place)
        with engine.reporting(": where"):
            engine.probe(exp.Select().select("*").from_(rows.query.subquery("t")).where(conditions[0]))
    if settings.consent is not None:
        conditions[1] = _consent(rows, settings.consent)
    where, consent = (exp.Paren(this=condition) for condition in conditions)
    chosen = exp.Select().select("*").from_(rows.query.subquery("t")).where(where).where(consent)
    out = exp.case().when(where.copy(), exp.convert(0)).else_(exp.convert(1))
    refused = exp.case().when(where.copy(), exp.case().when(consent.copy(), exp.convert(0)).else_(exp.convert(1)))
    left_out = exp.Select().select(*map(_total, (out, refused))).from_(rows.query.subquery("t"))
    return replace(rows, query=chosen, left_out=left_out)


def _consent(rows: RowQuery, consent: ConsentSettings) -> exp.Expr:
    """Return the condition that a row has consent; not true for no value."""
    where = f"{rows.engine.place}: consent"
    known = [name for name in rows.types if name == consent.column or not rows.engine.cased]
    twins = [name for name in known if name.lower() == consent.column.lower()]
    if consent.column not in rows.types:
        raise InputError(f"{where}: there is no column {quoted(consent.column)}{instead(consent.column, rows.types)}")
    if twins[1:]:
        raise InputError(f"{where}: rename {', '.join(map(quoted, twins))}: they differ only in case")
    try:
        cell = Cell(ColumnRule(consent.column, consent.column), rows.types[consent.column], rows.engine.lists)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    return exp.In(this=cell.text, expressions=[exp.Literal.string(yes) for yes in consent.yes])


def _total(number: exp.Expr) -> exp.Expr:
    return exp.cast(exp.Coalesce(this=exp.Sum(this=number), expressions=[exp.convert(0)]), "BIGINT")
