"""Joint suppression in several tables of the same rows, so that no table discloses a cell hidden in another.

Tables with a common column have the totals by it in common: one number, hidden in all of them or in none. The sums of
all tables are one system of equations. A sensitive cell is safe if the non-negative numbers that fit every published
cell and every sum allow the required increase and decrease. (de Wolf, Giessing, "Adjusting the tau-Argus modular
approach to deal with linked tables", 2009, proceed table by table; here it is one linear programme for each cell.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parties.alone.publish.hiding.cell_rules import Needs
from parties.alone.publish.hiding.solving import aside
from parties.alone.publish.hiding.suppression import NEGLIGIBLE, Mask
from parties.alone.publish.hiding.tabulation import Tabulated, signs
from parties.base.extras import needing
from parties.base.text import quoted
from protocols.arrays import Counts, Floats
from smc.errors import InputError

MOST_CELLS = 2_500  # of all tables together
# pairs of a sensitive cell and an additional hidden one, up to which unnecessary hidden cells are removed
ATTEMPTS = 2_000
CLOSE = 1e-6  # tolerance, as a share of the required distance: the programmes are solved to 1e-7
Axes = tuple[str, str | None]


@dataclass(frozen=True, eq=False)
class Linked:
    """Linked tables as one list of cells, in which a cell of several tables is once.

    Attributes:
        places: for each table, the index of each of its cells, int64[rows, columns]
        values: values of the cells, int64[cells]
        counts: rows of the cells, int64[cells]
        up: required possible increase, int64[cells]
        down: required possible decrease, int64[cells]
        balance: sparse float[sums, cells]; balance times the values is 0
    """

    places: list[Counts]
    values: Counts
    counts: Counts
    up: Counts
    down: Counts
    balance: Any

    @property
    def sensitive(self) -> Mask:
        """Sensitive cells, which must not be published, bool[cells]."""
        return self.up > 0


def linked(axes: Sequence[Axes], tables: Sequence[Tabulated], needs: Sequence[Needs]) -> Linked:
    """Return several tables as one linked system.

    Args:
        axes: columns of each table
        tables: the tables
        needs: required uncertainty of each table's cells

    Raises:
        InputError: two tables have the same columns, or there are too many cells
    """
    numbers: dict[tuple[tuple[str, str], ...], int] = {}
    places, entries, sums = [], [], 0
    if len({frozenset(pair) for pair in axes}) < len(axes):
        raise InputError("two of the tables have the same columns: give each once")
    for (by, across), table in zip(axes, tables, strict=True):
        shape = table.counts.shape
        indices = np.zeros(shape, dtype=np.int64)
        for row, column in np.ndindex(*shape):
            of_row = [(by, table.row_names[row])] if row < shape[0] - 1 else []
            of_column = [(across, table.column_names[column])] if across is not None and column < shape[1] - 1 else []
            indices[row, column] = numbers.setdefault(tuple(sorted(of_row + of_column)), len(numbers))
        places.append(indices)
        sign = signs((shape[0], shape[1]))
        lines = [(indices[:, j], sign[:, j]) for j in range(shape[1])]
        lines += [(indices[i], sign[i]) for i in range(shape[0])] if shape[1] > 1 else []
        for line, signed in lines:
            entries.append((np.full(len(line), sums), line, signed))
            sums += 1
    size = len(numbers)
    if size > MOST_CELLS:
        raise InputError(
            f"the tables have {size} different cells with totals, more than {MOST_CELLS}; give fewer tables"
        )
    with needing("hiding cells"):
        import scipy.sparse as sparse
    rows, columns, signed = (np.concatenate(part) for part in zip(*entries, strict=True))
    balance = sparse.csr_array((signed.astype(np.float64), (rows, columns)), shape=(sums, size))

    def joined(grids: Sequence[Counts]) -> Counts:
        cells = np.zeros(size, dtype=np.int64)
        for indices, grid in zip(places, grids, strict=True):
            np.maximum.at(cells, indices, grid)
        return cells

    return Linked(
        places,
        joined([table.values for table in tables]),
        joined([table.counts for table in tables]),
        joined([need.up for need in needs]),
        joined([need.down for need in needs]),
        balance,
    )


def hide(tables: Linked) -> Mask:
    """Return the cells to hide, bool[cells]: all sensitive ones, and complementary ones; deterministic.

    Each sensitive cell is made safe in turn, by the cheapest change of all cells that moves it by the required
    distance. Changing a cell costs its number of rows, times the change. Finally, if there are few, hidden cells that
    are not needed are shown again.
    """
    hidden = tables.sensitive
    cost = (tables.counts + 1) / (tables.counts.max() + 1)
    required = [(int(d), int(i), 1) for i, d in enumerate(tables.up) if d]
    required += [(int(d), int(i), -1) for i, d in enumerate(tables.down) if d]
    required.sort(reverse=True)
    with aside():
        for distance, cell, direction in required:
            change = _change(tables, np.where(hidden, 0.0, cost), cell, direction, distance)
            hidden = hidden | (np.abs(change) > NEGLIGIBLE * distance)
        added = np.flatnonzero(hidden & ~tables.sensitive)
        if len(added) * int(tables.sensitive.sum()) > ATTEMPTS:
            return hidden
        for cell in sorted(added.tolist(), key=lambda i: -tables.counts[i]):
            fewer = hidden.copy()
            fewer[cell] = False
            if unsafe(tables, fewer) is None:
                hidden = fewer
    return hidden


def _change(tables: Linked, price: Floats, cell: int, direction: int, distance: int) -> Floats:
    """Return the cheapest change of all cells that moves one cell by a distance, up if `direction` is 1, else down.

    `price` is what a change by 1 of each cell costs.
    """
    import scipy.optimize
    import scipy.sparse as sparse

    size = len(price)
    low = np.zeros(2 * size)
    high = np.concatenate([np.full(size, np.inf), tables.values.astype(np.float64)])
    up, down = cell, size + cell
    low[up] = high[up] = distance if direction > 0 else 0
    low[down] = high[down] = distance if direction < 0 else 0
    solution = scipy.optimize.linprog(
        np.concatenate([price, price]),
        A_eq=sparse.hstack([tables.balance, -tables.balance], format="csr"),
        b_eq=np.zeros(tables.balance.shape[0]),
        bounds=np.stack([low, high], axis=1),
        method="highs",
    )
    if solution.x is None:
        raise InputError(
            "even with every cell hidden, a sensitive cell could be computed more exactly than the rules allow; "
            "weaken the rules, or make larger cells"
        )
    return np.asarray(solution.x[:size] - solution.x[size:])


def interval(tables: Linked, hidden: Mask, cell: int) -> tuple[float, float]:
    """Return the least and the greatest possible value of a cell, given all published cells and sums.

    Args:
        tables: the tables
        hidden: hidden cells, bool[cells]
        cell: index of the cell
    """
    import scipy.optimize

    published = np.where(hidden, 0.0, tables.values)
    right = -(tables.balance @ published)
    places = np.flatnonzero(hidden)
    objective = (places == cell).astype(np.float64)
    ends = []
    for sign in (1.0, -1.0):
        solution = scipy.optimize.linprog(
            sign * objective, A_eq=tables.balance[:, places], b_eq=right, bounds=(0, None), method="highs"
        )
        ends.append(np.inf * -sign if solution.x is None else float(sign * solution.fun))
    return ends[0], ends[1]


def unsafe(tables: Linked, hidden: Mask) -> int | None:
    """Return a sensitive cell whose interval is narrower than required; None if all are safe.

    Args:
        tables: the tables
        hidden: hidden cells, bool[cells]
    """
    for cell in np.flatnonzero(tables.sensitive).tolist():
        least, most = interval(tables, hidden, cell)
        value, up, down = int(tables.values[cell]), int(tables.up[cell]), int(tables.down[cell])
        if most < value + up * (1 - CLOSE) - CLOSE or least > value - down * (1 - CLOSE) + CLOSE:
            return cell
    return None


def axes_of(text: str) -> Axes:
    """Return the columns of a table from its name, `county` or `county*benefit`; raise InputError for other forms."""
    names = [name.strip() for name in text.split("*")]
    if not 1 <= len(names) <= 2 or not all(names) or len(set(names)) < len(names):
        raise InputError(f"{quoted(text)} is not a table; write one column, or two as county*benefit")
    return names[0], names[1] if len(names) == 2 else None


def masks(tables: Linked, hidden: Mask) -> list[NDArray[np.bool_]]:
    """Return the hidden cells of each table, bool[rows, columns].

    Args:
        tables: The linked tables.
        hidden: Hidden cells in the order of `tables.values`, which has a cell of several tables once, bool[cells].
    """
    return [hidden[indices] for indices in tables.places]
