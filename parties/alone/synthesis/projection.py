"""Marginals of a calibrated junction tree by any columns, in one clique or in several.

A set of columns in one clique is a sum of its probabilities. One that is spread over several is a sum along the part of
the tree between them: each clique gives its parent the probabilities of what was found, given what both share, and only
of the columns that are asked for or passed on. All that is asked of a clique is summed at once (`Margins`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from parties.alone.synthesis.junction import JunctionTree
from parties.alone.synthesis.sums import Margins, Set, Table, ordered, turned


@dataclass(frozen=True)
class _Hop:
    """What one clique adds: its marginal by the columns `here`, given those that it shares with its parent.

    It is passed on to the clique `to`, None at the last one, by the columns `remaining`.
    """

    place: int
    to: int | None
    here: Set
    separator: Set
    remaining: Set


def projected(domains: Sequence[int], tree: JunctionTree, beliefs: Sequence[Table], sets: Sequence[Set]) -> list[Table]:
    """Return the probabilities by each set of columns, its axes in ascending order; `beliefs` are those of cliques."""
    routes = [_route(tree, columns) for columns in sets]
    wanted_sets: dict[int, set[Set]] = {}
    for route in routes:
        for hop in route:
            wanted_sets.setdefault(hop.place, set()).update(columns for columns in (hop.here, hop.separator) if columns)
    known: dict[int, Mapping[Set, Table]] = {}
    for place, some in wanted_sets.items():
        clique, inside = tree.cliques[place], {columns: ordered(columns, domains) for columns in some}
        axes = ordered(clique, domains)
        margins = Margins(axes, domains, inside.values(), np.ascontiguousarray(turned(beliefs[place], clique, axes)))
        margins.sum()
        known[place] = {columns: turned(margins.tables[mine], mine, columns) for columns, mine in inside.items()}
    return [_along(route, known) for route in routes]


def _route(tree: JunctionTree, wanted: Set) -> list[_Hop]:
    """Return the hops from the ends of a part of the tree that has all columns to its top."""
    home = tree.home(wanted)
    if home is not None:
        return [_Hop(home, None, wanted, (), wanted)]
    route: list[_Hop] = []
    waiting: dict[int, set[int]] = {tree.tops[column]: set() for column in wanted}  # cliques, by what is passed to them
    while waiting:
        place = max(waiting)
        passed = waiting.pop(place)
        separator = tree.separators[place] if waiting else ()
        here = passed.union(wanted, separator).intersection(tree.cliques[place])
        remaining = (here | passed).intersection((*wanted, *separator))
        to = None
        if waiting:  # a clique that shares nothing is independent of all that wait: it may go to any
            to = tree.parents[place] if separator else max(waiting)
            waiting.setdefault(to, set()).update(remaining)
        route.append(_Hop(place, to, tuple(sorted(here)), separator, tuple(sorted(remaining))))
    return route


def _along(route: Sequence[_Hop], known: Mapping[int, Mapping[Set, Table]]) -> Table:
    """Return the probabilities at the end of a route."""
    passed: dict[int | None, list[tuple[Table, Set]]] = {}
    for hop in route:
        factors = passed.pop(hop.place, [])
        if hop.here:
            factors.append((known[hop.place][hop.here], hop.here))
        if hop.separator:
            shared = known[hop.place][hop.separator]
            factors.append((np.divide(1.0, shared, out=np.zeros_like(shared), where=shared > 0), hop.separator))
        passed.setdefault(hop.to, []).append((_contracted(factors, hop.remaining), hop.remaining))
    return passed[None][0][0]


def _contracted(factors: Sequence[tuple[Table, Set]], remaining: Set) -> Table:
    """Return the product of tables by their columns, summed over all columns but some."""
    columns = sorted({column for _, axes in factors for column in axes})
    label = {column: number for number, column in enumerate(columns)}  # numpy takes no numbers above 51
    operands: list[Any] = []
    for table, axes in factors:
        operands += [table, [label[column] for column in axes]]
    product: Table = np.einsum(*operands, [label[column] for column in remaining])
    return product
