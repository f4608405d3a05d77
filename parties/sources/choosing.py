"""Leave rows out before anything is counted: those that a condition does not hold for, those without consent, and
those of a person that are more than take part (`people`)."""

from __future__ import annotations

from dataclasses import replace

import sqlglot.expressions as exp

from parties.sources.opened import RowQuery
from parties.sources.people import chosen_rows, column_text, total
from parties.sources.settings import ConsentSettings, TableSettings
from parties.sources.sql import checked_condition


def choose(rows: RowQuery, settings: TableSettings) -> RowQuery:
    """Return the rows that fulfil `where` and have consent, at most so many of a person, and the query for how many
    do not, in the order of `source.LeftOut`.

    `InputError` if the condition or the person is no good, or if there is no such column.
    """
    where, consent = (exp.Paren(this=condition or exp.true()) for condition in _conditions(rows, settings))
    chosen = exp.Select().select("*").from_(rows.query.subquery("t")).where(where).where(consent)
    out = exp.case().when(where.copy(), exp.convert(0)).else_(exp.convert(1))
    refused = exp.case().when(where.copy(), exp.case().when(consent.copy(), exp.convert(0)).else_(exp.convert(1)))
    numbers = [total(out).as_("r0"), total(refused).as_("r1")]
    left_out = exp.Select().select(*numbers).from_(rows.query.subquery("t"))
    if settings.person is not None:
        chosen, of_people = chosen_rows(rows, chosen, settings)
        every = [exp.column(number.alias) for query in (left_out, of_people) for number in query.selects]
        left_out = exp.Select().select(*every).from_(left_out.subquery("r"))
        left_out = left_out.join(of_people.subquery("p"), join_type="cross")
    return replace(rows, query=chosen, left_out=left_out)


def conditions_of(rows: RowQuery, settings: TableSettings) -> list[exp.Expr]:
    """Return what `where` and consent ask of a row's columns. `InputError` as of `choose`."""
    return [condition for condition in _conditions(rows, settings) if condition is not None]


def _conditions(rows: RowQuery, settings: TableSettings) -> tuple[exp.Expr | None, exp.Expr | None]:
    """Return `where`, and that there is consent; None if anything will do."""
    engine, where = rows.engine, None
    if settings.where is not None:
        where = checked_condition(settings.where, engine.backend.dialect, engine.place)
        with engine.reporting(": where"):
            engine.probe(exp.Select().select("*").from_(rows.query.subquery("t")).where(where))
    return where, None if settings.consent is None else _consent(rows, settings.consent)


def _consent(rows: RowQuery, consent: ConsentSettings) -> exp.Expr:
    """Return the condition that a row has consent; not true for no value."""
    text = column_text(rows, consent.column, "consent")
    return exp.In(this=text, expressions=[exp.Literal.string(yes) for yes in consent.yes])
