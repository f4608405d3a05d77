"""Local suppression: single cells of the quasi-identifiers are hidden until each row equals k - 1 others.

A hidden cell is a value of its own, `*`: a person may be any of k equal rows that fit. Elsewhere, a hidden cell counts
as equal to every value, which hides less. But suppose an attacker knows that a person with a certain value is in the
table, and no published row shows the value: then the hidden cell is found. Finding the fewest cells is NP-hard
(Meyerson, Williams, "On the complexity of optimal k-anonymity", 2004). Here, rows at risk give up the cheapest columns
in which enough of them agree. Then cells are shown again until no further one can be.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import override

from parties.alone.publish.hierarchy import TOP
from parties.alone.publish.protecting.method import AtLeastTwo, Method
from parties.alone.publish.protecting.rows import Rows
from parties.base.settings import Count
from parties.sources.settings import Name
from protocols.arrays import Counts
from smc.errors import InputError

MOST_COLUMNS = 12  # every combination of columns is tried
HIDDEN = -1
Line = tuple[int, ...]


class LocalSuppression(Method):
    """Hide cells until each row equals k - 1 others in the columns, by default the quasi-identifiers.

    A column of greater `importance` is hidden less.
    """

    k: AtLeastTwo = 3
    columns: tuple[Name, ...] = ()
    importance: dict[str, Count] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _weighs_its_columns(self) -> LocalSuppression:
        if self.columns and (others := sorted(set(self.importance) - set(self.columns))):
            raise ValueError(f"importance: {others[0]} is not among the columns")
        return self

    @override
    def run(self, rows: Rows, random: np.random.Generator) -> tuple[Rows, dict[str, Any]]:
        """Return the rows with `*` in some cells; raise InputError for fewer than k rows, or too many columns."""
        del random
        names = self.columns or rows.quasi
        if not names:
            raise InputError(
                "columns: none is a quasi-identifier; give this role to the columns in which k rows must be alike"
            )
        if len(names) > MOST_COLUMNS:
            raise InputError(
                f"columns: {len(names)} quasi-identifiers, at most {MOST_COLUMNS} are taken; "
                "give fewer columns this role"
            )
        if len(rows) < self.k:
            raise InputError(
                f"{rows.place}: {len(rows)} rows, but k = {self.k} rows must be alike; give more rows or a smaller k"
            )
        codes = np.stack([rows.codes([name]) for name in names], axis=1)
        hidden = suppressed(codes, self.k, [1 + self.importance.get(name, 0) for name in names])
        changed, counts = {}, {}
        for i, name in enumerate(names):
            column = rows.column(name).copy()
            column[hidden[:, i]] = TOP
            changed[name], counts[name] = column, int(hidden[:, i].sum())
        return rows.replaced(changed), {"cells_suppressed": counts}


def suppressed(codes: Counts, k: int, prices: list[int]) -> Any:
    """Return the mask of the cells to hide, bool[rows, columns]; deterministic.

    Sets of columns are tried from the lowest price. A row hides the first set without which k of the rows that are
    not done yet are equal. Cells that k rows do not need hidden are then shown again.

    Args:
        codes: values of the rows, int64[rows, columns], at least k rows
        k: least number of equal rows
        prices: price of hiding a cell of each column
    """
    hidden = np.zeros(codes.shape, dtype=bool)
    every = range(codes.shape[1])
    sets = [chosen for size in range(codes.shape[1] + 1) for chosen in combinations(every, size)]
    at_risk = np.arange(len(codes))
    for chosen in sorted(sets, key=lambda cells: sum(prices[i] for i in cells)):
        others = [i for i in every if i not in chosen]
        sizes = _sizes(codes[at_risk][:, np.array(others, dtype=np.int64)])
        hidden[at_risk[sizes >= k][:, None], np.array(chosen, dtype=np.int64)] = True
        at_risk = at_risk[sizes < k]
    if len(at_risk):  # fewer than k: further rows join them, from classes with more than k rows if possible
        hidden[at_risk] = True
        _filled(codes, hidden, k)
    return _shown_again(codes, hidden, k)


def _sizes(codes: Counts) -> Counts:
    """Return the number of rows equal to each row, int64[rows]."""
    if not codes.shape[1]:
        return np.full(len(codes), len(codes))
    inverse, counts = np.unique(codes, axis=0, return_inverse=True, return_counts=True)[1:]
    return np.asarray(counts[inverse.reshape(-1)])


def _filled(codes: Counts, hidden: Any, k: int) -> None:
    """Hide all cells of further rows, the most similar ones, until k rows are hidden and no class is smaller than k."""
    first = codes[hidden.all(axis=1)][0]
    alike = np.argsort(-(codes == first).sum(axis=1), kind="stable")
    while k > int(hidden.all(axis=1).sum()):
        published = np.where(hidden, HIDDEN, codes)
        sizes = _sizes(published)
        others = alike[~hidden[alike].all(axis=1)]
        spare = others[sizes[others] > k]
        if len(spare):
            hidden[spare[0]] = True
        else:  # a whole class
            hidden[(published == published[others[0]]).all(axis=1)] = True


def _shown_again(codes: Counts, hidden: Any, k: int) -> Any:
    """Show hidden cells one at a time, while some can be; return those that stay hidden, bool[rows, columns].

    After each step, every class has at least k rows, or none.
    """
    published = np.where(hidden, HIDDEN, codes)
    classes: dict[Line, list[int]] = {}
    for row, line in enumerate(map(tuple, published.tolist())):
        classes.setdefault(line, []).append(row)
    waiting = [line for line in classes if HIDDEN in line]
    while waiting:
        line = waiting.pop()
        move = _move(line, classes, codes, k)
        if move is None:
            continue
        target, moved = move
        moved_rows = set(moved)
        classes[line] = [row for row in classes[line] if row not in moved_rows]
        classes[target] = classes.get(target, []) + moved
        published[moved] = target
        if not classes[line]:
            del classes[line]
        # A class that has grown, or is new, may exchange rows with others.
        waiting = [other for other in classes if HIDDEN in other] if not waiting else [*waiting, line, target]
        waiting = [other for other in waiting if other in classes]
    return published == HIDDEN


def _move(line: Line, classes: dict[Line, list[int]], codes: Counts, k: int) -> tuple[Line, list[int]] | None:
    """Return a class that rows of the class `line` may join by showing one more cell, and these rows; else None."""
    members = classes[line]
    for column in [i for i, code in enumerate(line) if code == HIDDEN]:
        by_value: dict[int, list[int]] = {}
        for row in members:
            by_value.setdefault(int(codes[row, column]), []).append(row)
        for value, some in by_value.items():
            target = (*line[:column], value, *line[column + 1 :])
            number = len(some)
            if number < len(members):  # the remaining rows stay a class
                number = min(number, len(members) - k)
            if number > 0 and number + len(classes.get(target, [])) >= k:
                return target, some[:number]
    return None
