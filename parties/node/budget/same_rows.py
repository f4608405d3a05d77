"""Groups of table names with the same rows: they share one budget, and a charge under one name counts for all.

Names belong together if party.toml sets `same_rows_as`, or if both have read the same location, today or at an earlier
start of the node. So a renamed table keeps the charges to its rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from itertools import combinations
from typing import Any, TypeAlias

from parties.base.text import instead, quoted
from parties.sources.places import Place, common, places_of
from parties.sources.settings import TableSettings
from smc.errors import InputError

Tables: TypeAlias = Mapping[str, TableSettings]
Groups: TypeAlias = Mapping[str, frozenset[str]]


def two_names(tables: Tables) -> dict[str, str]:
    """Return an error for each table whose rows are also read by another table with another budget."""
    wrong = {}
    locations: dict[str, list[Place]] = {}
    for name, table in tables.items():
        try:
            locations[name] = places_of(table)
        except InputError as error:
            wrong[name] = str(error)
    for one, other in combinations(locations, 2):
        if not have_two_budgets(tables, one, other):
            continue
        if (location := common(locations[other], locations[one])) is not None:
            second = other if tables[one].budget is not None else one
            holder = one if second == other else other
            fix = remedy(tables, holder, second) + _hint(tables, holder, second, location)
            wrong[second] = f"{location} is read by tables.{holder}, too, and rows have one budget: {fix}"
    return wrong


def have_two_budgets(tables: Tables, one: str, other: str) -> bool:
    """Return whether two tables of the same rows would have two budgets, or a budget at one of them only.

    Args:
        tables: The tables of party.toml.
        one: Name of one table.
        other: Name of the other.
    """
    is_bound = tables[one].budget is not None or tables[other].budget is not None
    return is_bound and _holder(tables, one) != _holder(tables, other)


def remedy(tables: Tables, holder: str, second: str) -> str:
    """Return the setting that makes a second table of the same rows share the first one's budget.

    Args:
        tables: The tables of party.toml.
        holder: Name of the table that keeps the budget.
        second: Name of the other table.
    """
    replaced = f" in place of [tables.{second}.budget]" if tables[second].budget is not None else ""
    return f'set same_rows_as = "{_holder(tables, holder)}"{replaced}'


def unknown_names(tables: Tables, known: Collection[str]) -> dict[str, str]:
    """Return an error for each table whose `same_rows_as` is unknown.

    Args:
        tables: The tables of party.toml.
        known: Names of tables at earlier starts or with charges.
    """
    return {
        name: f"same_rows_as: there is no table {quoted(table.same_rows_as)}, nor was there one"
        f"{instead(table.same_rows_as, [*tables, *known])}"
        for name, table in tables.items()
        if table.same_rows_as is not None and table.same_rows_as not in {*tables, *known}
    }


def groups(tables: Tables, starts: Iterable[Mapping[str, Any]]) -> Groups:
    """Return, for each table name, all names that share its budget.

    Args:
        tables: The tables of party.toml.
        starts: Fields of the log's entries `node started`, as `recorded` returns them.
    """
    places: dict[str, dict[Place, None]] = {name: dict.fromkeys(_places(table)) for name, table in tables.items()}
    links = {(name, table.same_rows_as) for name, table in tables.items() if table.same_rows_as is not None}
    for start in starts:
        for name, locations in start.get("rows", {}).items():
            places.setdefault(name, {}).update(dict.fromkeys(Place(*location) for location in locations))
        links |= {(name, other) for name, others in start.get("same_rows", {}).items() for other in others}
    all_names = dict.fromkeys([*places, *(name for link in links for name in link)])
    group = {name: {name} for name in all_names}
    for one, other in combinations(all_names, 2):
        linked = (one, other) in links or (other, one) in links
        if group[one] is not group[other] and (linked or common(places.get(one, ()), places.get(other, ()))):
            group[one] |= group[other]
            group.update(dict.fromkeys(group[other], group[one]))
    return {name: frozenset(names) for name, names in group.items()}


def recorded(tables: Tables, known: Groups) -> dict[str, Any]:
    """Return an entry's fields about tables for `node started`: locations of rows, and other names of the rows.

    Args:
        tables: The tables of party.toml.
        known: For each table name, all names that share its budget.
    """
    others = {name: sorted(known.get(name, frozenset()) - {name}) for name in tables}
    return {
        "rows": {name: [list(place) for place in _places(table)] for name, table in tables.items()},
        "same_rows": {name: names for name, names in others.items() if names},
    }


def _holder(tables: Tables, name: str) -> str:
    holder = tables[name].same_rows_as
    return name if holder is None or holder not in tables else holder


def _hint(tables: Tables, holder: str, second: str, place: Place) -> str:
    hint = ""
    if place.location.startswith("postgresql://") and place.table is not None:
        hint += "; if they are two tables, name each with its schema"
    if tables[second].query is not None or tables[holder].query is not None:
        hint += "; if it has no person's rows, list it in `lookups`"
    return hint


def _places(table: TableSettings) -> list[Place]:
    with suppress(InputError):  # reported by `two_names`
        return places_of(table)
    return []
