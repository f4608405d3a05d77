"""Marginals of a calibrated junction tree by any columns, in one clique or in several.

The marginal of columns in one clique is a sum of the clique's probabilities. For columns in several cliques, it is a
sum along the part of the tree between them. Each clique passes a conditional table to its parent, given their shared
columns, with only the columns that are required or passed on. All marginals required of a clique are summed at once
(`Margins`).
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
    """Contribution of one clique: its marginal by the columns `here`, given those shared with its parent.

    The result, by the columns `remaining`, is passed to the clique `to`; None at the last one.
    """

    place: int
    to: int | None
    here: Set
    separator: Set
    remaining: Set


def projected(domains: Sequence[int], tree: JunctionTree, beliefs: Sequence[Table], sets: Sequence[Set]) -> list[Table]:
    """Return the probabilities by each set of columns, axes in ascending order.

    Args:
        domains: number of values of each column
        tree: the junction tree
        beliefs: probabilities of each clique
        sets: the sets of columns
    """
    routes = [_route(tree, columns) for columns in sets]
    wanted_sets: dict[int, set[Set]] = {}
    for route in routes:
        for hop in route:
            wanted_sets.setdefault(hop.place, set()).update(columns for columns in (hop.here, hop.separator) if columns)
    marginals: dict[int, Mapping[Set, Table]] = {}
    for place, some in wanted_sets.items():
        clique, inside = tree.cliques[place], {columns: ordered(columns, domains) for columns in some}
        axes = ordered(clique, domains)
        margins = Margins(axes, domains, inside.values(), np.ascontiguousarray(turned(beliefs[place], clique, axes)))
        margins.sum()
        marginals[place] = {columns: turned(margins.tables[mine], mine, columns) for columns, mine in inside.items()}
    return [_along(route, marginals) for route in routes]


def _route(tree: JunctionTree, required: Set) -> list[_Hop]:
    """Return the hops from the ends to the top of a part of the tree that has all `required` columns."""
    home = tree.home(required)
    if home is not None:
        return [_Hop(home, None, required, (), required)]
    route: list[_Hop] = []
    waiting: dict[int, set[int]] = {
        tree.tops[column]: set() for column in required
    }  # cliques, with the columns passed to each
    while waiting:
        place = max(waiting)
        passed = waiting.pop(place)
        separator = tree.separators[place] if waiting else ()
        here = passed.union(required, separator).intersection(tree.cliques[place])
        remaining = (here | passed).intersection((*required, *separator))
        to = None
        if waiting:  # a clique without shared columns is independent of all waiting ones: any may follow
            to = tree.parents[place] if separator else max(waiting)
            waiting.setdefault(to, set()).update(remaining)
        route.append(_Hop(place, to, tuple(sorted(here)), separator, tuple(sorted(remaining))))
    return route


def _along(route: Sequence[_Hop], marginals: Mapping[int, Mapping[Set, Table]]) -> Table:
    """Return the probabilities by the required columns, computed hop by hop along a route."""
    passed: dict[int | None, list[tuple[Table, Set]]] = {}
    for hop in route:
        factors = passed.pop(hop.place, [])
        if hop.here:
            factors.append((marginals[hop.place][hop.here], hop.here))
        if hop.separator:
            shared = marginals[hop.place][hop.separator]
            factors.append((np.divide(1.0, shared, out=np.zeros_like(shared), where=shared > 0), hop.separator))
        passed.setdefault(hop.to, []).append((_contracted(factors, hop.remaining), hop.remaining))
    return passed[None][0][0]


def _contracted(factors: Sequence[tuple[Table, Set]], remaining: Set) -> Table:
    """Return the product of tables, summed over all columns except `remaining`."""
    columns = sorted({column for _, axes in factors for column in axes})
    label = {column: number for number, column in enumerate(columns)}  # numpy accepts no labels above 51
    operands: list[Any] = []
    for table, axes in factors:
        operands += [table, [label[column] for column in axes]]
    product: Table = np.einsum(*operands, [label[column] for column in remaining])
    return product
