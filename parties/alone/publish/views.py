"""SQL of a view that shows a table's columns through masks, for the table's own database.

Nothing is written to the database here: its owner runs the statement. A view is for one role: a column with a mask is
in clear if it is unmasked for that role, otherwise masked. So the view's content does not depend on the user, and
conditions on the view see masked values only.
"""

from __future__ import annotations

import sqlglot.expressions as exp

from parties.alone.publish.masks import masked
from parties.alone.publish.reading import require
from parties.alone.publish.settings import PublishPlan
from parties.base.text import did_you_mean, listed, quoted
from parties.sources.column_formats import formats_of
from parties.sources.local import ATTACHED
from parties.sources.opened import RowQuery
from smc.errors import InputError


def view(rows: RowQuery, plan: PublishPlan, name: str, role: str | None) -> str:
    """Return the statements that create a view of the plan's table and, in PostgreSQL, grant it to the role.

    Identifiers are left out unless they are masked, or unmasked for the role. Rows excluded by `where` and consent are
    left out.

    Args:
        rows: the table
        plan: its plan
        name: name of the view
        role: role that may read it; None: all masked columns stay masked

    Raises:
        InputError: no view can be made of the table, or with its objections; the plan has no such role or no column
    """
    dialect = rows.engine.backend.name
    if dialect not in ("duckdb", "postgres"):
        raise InputError(f"{rows.engine.place}: views are made for DuckDB files and PostgreSQL; use smc publish mask")
    if plan.chosen_as is not None and plan.chosen_as.objections is not None:
        raise InputError(
            f"{rows.engine.place}: the definition of a view would name the people who have objected; mark them in a "
            f"column of the table instead, and name this column as `consent`"
        )
    table = _table(rows)
    roles = {unmasked for column in plan.columns.values() for unmasked in column.unmask}
    if role is not None and role not in roles:
        hint = did_you_mean(role, roles) or (f"; there are {listed(sorted(roles))}" if roles else "; it names none")
        raise InputError(f"the plan unmasks nothing for a role {quoted(role)}{hint}")
    require(rows, list(plan.columns))
    columns = []
    for column in rows.types:
        settings = plan.columns.get(column)
        if settings is None:
            continue
        if role in settings.unmask or (settings.mask is None and settings.role != "identifier"):
            columns.append(exp.column(column, quoted=True).as_(column, quoted=True))
        elif settings.mask is not None:
            columns.append(masked(rows, column, settings.mask).as_(column, quoted=True))
    if not columns:
        raise InputError("the view would show nothing, because the plan drops all columns; keep at least one")
    is_chosen = plan.chosen_as is not None
    is_changed = is_chosen or plan.derives or formats_of(plan)
    select = exp.Select().select(*columns).from_(_chosen(rows, table) if is_changed else table)
    create = exp.Create(this=exp.to_identifier(name, quoted=True), kind="VIEW", expression=select)
    if is_chosen and dialect == "postgres":  # without it, a function in a query on the view may see excluded rows
        barrier = exp.Property(this=exp.var("security_barrier"), value=exp.true())
        create.set("properties", exp.Properties(expressions=[barrier]))
    statements = [create.sql(dialect=dialect, pretty=True)]
    if role is not None and dialect == "postgres":
        view_name, reader = (exp.to_identifier(text, quoted=True).sql(dialect=dialect) for text in (name, role))
        statements.append(f"GRANT SELECT ON {view_name} TO {reader}")
    return "".join(f"{statement};\n" for statement in statements)


def _chosen(rows: RowQuery, table: exp.Table) -> exp.Subquery:
    query = rows.query.copy()
    for table_copy in list(query.find_all(exp.Table)):
        table_copy.replace(table)
    return query.subquery("t")


def _table(rows: RowQuery) -> exp.Table:
    """Return the only table that the rows are read from, by its name in its database. Raise InputError for a file."""
    tables = list(rows.query.find_all(exp.Table))
    if len(tables) != 1 or (rows.engine.backend.name == "duckdb" and tables[0].catalog != ATTACHED):
        raise InputError(f"{rows.engine.place}: a file cannot have a view; use smc publish mask")
    return exp.table_(tables[0].name, db=tables[0].db or None, quoted=True)
