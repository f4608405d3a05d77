"""Names of tables that stand for the same rows: they have one budget, and a charge under one name counts for all.

Names belong together if party.toml says `same_rows_as`, or if one has read a place that another reads, today or at an
earlier start of the node: a table that is renamed keeps what was spent of its rows.
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
    """Return what is wrong with each table whose rows another table with another budget reads, too."""
    wrong = {}
    places: dict[str, list[Place]] = {}
    for name, table in tables.items():
        try:
            places[name] = places_of(table)
        except InputError as error:
            wrong[name] = str(error)
    for one, other in combinations(places, 2):
        if not have_two_budgets(tables, one, other):
            continue
        if (place := common(places[other], places[one])) is not None:
            second = other if tables[one].budget is not None else one
            holder = one if second == other else other
            how = remedy(tables, holder, second) + _hint(tables, holder, second, place)
            wrong[second] = f"{place} is read by tables.{holder}, too, and rows have one budget: {how}"
    return wrong


def have_two_budgets(tables: Tables, one: str, other: str) -> bool:
    """Return whether rows that two tables share would have two budgets, or one that only one of the tables keeps."""
    is_bound = tables[one].budget is not None or tables[other].budget is not None
    return is_bound and _holder(tables, one) != _holder(tables, other)


def remedy(tables: Tables, holder: str, second: str) -> str:
    """Return what party.toml has to say so that the second of two tables of the same rows shares the budget."""
    own = f" in place of [tables.{second}.budget]" if tables[second].budget is not None else ""
    return f'say same_rows_as = "{_holder(tables, holder)}"{own}'


def unknown_names(tables: Tables, known: Collection[str]) -> dict[str, str]:
    """Return what is wrong with each table whose `same_rows_as` is neither in the file nor among the known names."""
    return {
        name: f"same_rows_as: there is no table {quoted(table.same_rows_as)}, and there was none"
        f"{instead(table.same_rows_as, [*tables, *known])}"
        for name, table in tables.items()
        if table.same_rows_as is not None and table.same_rows_as not in {*tables, *known}
    }


def groups(tables: Tables, starts: Iterable[Mapping[str, Any]]) -> Groups:
    """Return the names that share a budget, by each of them.

    Args:
        tables: the tables of party.toml.
        starts: the fields of the log's entries `node started`, see `recorded`.
    """
    places: dict[str, dict[Place, None]] = {name: dict.fromkeys(_places(table)) for name, table in tables.items()}
    links = {(name, table.same_rows_as) for name, table in tables.items() if table.same_rows_as is not None}
    for start in starts:
        for name, found in start.get("rows", {}).items():
            places.setdefault(name, {}).update(dict.fromkeys(Place(*place) for place in found))
        links |= {(name, other) for name, others in start.get("same_rows", {}).items() for other in others}
    known = dict.fromkeys([*places, *(name for link in links for name in link)])
    group = {name: {name} for name in known}
    for one, other in combinations(known, 2):
        linked = (one, other) in links or (other, one) in links
        if group[one] is not group[other] and (linked or common(places.get(one, ()), places.get(other, ()))):
            group[one] |= group[other]
            group.update(dict.fromkeys(group[other], group[one]))
    return {name: frozenset(names) for name, names in group.items()}


def recorded(tables: Tables, known: Groups) -> dict[str, Any]:
    """Return what an entry `node started` says of tables: places of rows, and the other names that count with each."""
    others = {name: sorted(known.get(name, frozenset()) - {name}) for name in tables}
    return {
        "rows": {name: [list(place) for place in _places(table)] for name, table in tables.items()},
        "same_rows": {name: names for name, names in others.items() if names},
    }


def _holder(tables: Tables, name: str) -> str:
    """Return the table whose budget counts for this one."""
    holder = tables[name].same_rows_as
    return name if holder is None or holder not in tables else holder


def _hint(tables: Tables, holder: str, second: str, place: Place) -> str:
    hint = ""
    if place.location.startswith("postgresql://") and place.table is not None:
        hint += "; if they are two tables, name each with its schema"
    if tables[second].query is not None or tables[holder].query is not None:
        hint += "; if it holds nobody's rows, list it in `lookups`"
    return hint


def _places(table: TableSettings) -> list[Place]:
    with suppress(InputError):  # told by `two_names`
        return places_of(table)
    return []
