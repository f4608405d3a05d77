"""Cells that are hidden so that others cannot be computed from the totals: complementary suppression.

A reader knows the published cells, that rows and columns add up, and that no cell is negative. A sensitive cell is safe
if it could be as much more and less as asked: if there is a change of hidden cells alone that moves it so far and
keeps every sum (Fischetti, Salazar, "Models and algorithms for the 2-dimensional cell suppression problem in
statistical disclosure control", 1999). Of all sets of cells that make every sensitive one safe, the one that hides the
fewest rows is found by an integer programme; for large tables each cell is made safe in turn, by a linear one.

A change of a two-dimensional table is a circulation between its rows and columns. So if a cell can move by d, it can
without any other cell moving by more, which bounds the programmes, and whole numbers suffice for whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parties.alone.publish.hiding.cell_rules import Needs
from parties.alone.publish.hiding.solving import aside
from parties.alone.publish.hiding.tabulation import signs
from parties.base.arrays import Counts, Floats
from parties.base.extras import needing

EXACT = 6_000  # cells times needs up to which the best set is looked for
SECONDS = 20.0  # for the best set; then the best so far is taken
NEGLIGIBLE = 1e-6  # a share of a change; the programmes are solved to 1e-7

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Move:
    """A change that must be possible: these cells, by number, by 1 (or -1), while hidden cells keep the sums.

    `room` float[cells] is how much each cell can go down, at most 1. All is in units of the cells' change.
    """

    cells: tuple[int, ...]
    direction: int
    room: Floats


def hide(values: Counts, counts: Counts, needs: Needs) -> Mask:
    """Return the cells to hide, bool[rows, columns]: all that are sensitive, and others. Each could have another value.

    `values`, `counts` int64[rows, columns] have their totals last; counts are what it costs to hide a cell.
    `InputError` if SciPy, which has the solver (HiGHS), is not installed.
    """
    hidden = needs.sensitive
    if not hidden.any():
        return hidden
    cost = (counts.ravel() + 1) / (counts.max() + 1)
    return protect(hidden, cost, list(_moves(values.ravel(), needs)), SECONDS)


def protect(hidden: Mask, cost: Floats, moves: Sequence[Move], seconds: float = 0.0) -> Mask:
    """Return what is hidden, bool[rows, columns], and the cells that must be so that all moves are possible.

    `cost` float[cells] is what it costs to hide each; for so many seconds the best set is looked for. Without, the same
    cells are found each time.
    """
    with needing("hiding cells"):
        import scipy.optimize  # noqa: F401 (says in one line that it is missing)
    shape, hidden = hidden.shape, hidden.ravel()
    balance = _balance(shape)
    with aside():
        if seconds and len(moves) * hidden.size <= EXACT:
            hidden = _best(balance, cost, hidden, moves, seconds)
        for move in moves:
            hidden = _safe(balance, cost, hidden, move)
    return hidden.reshape(shape)


def _moves(values: Counts, needs: Needs) -> Iterator[Move]:
    """Yield each sensitive cell as much up, and down, as asked. The largest first: they often make others safe."""
    wanted = [(d, i, 1) for i, d in enumerate(needs.up.ravel()) if d]
    wanted += [(d, i, -1) for i, d in enumerate(needs.down.ravel()) if d]
    for distance, cell, direction in sorted(wanted, reverse=True):
        room = np.minimum(values / distance, 1.0)
        room[room < NEGLIGIBLE] = 0.0
        yield Move((cell,), direction, room)


def _balance(shape: tuple[int, ...]) -> Any:
    """Return the sparse matrix float[rows + columns, cells] that every change of a table is in the kernel of."""
    import scipy.sparse

    rows, columns = shape
    sign = signs((rows, columns)).ravel()
    row, column = np.divmod(np.arange(rows * columns), columns)
    by_column = scipy.sparse.csr_array((sign, (column, np.arange(len(sign)))), shape=(columns, len(sign)))
    if columns == 1:
        return by_column
    by_row = scipy.sparse.csr_array((sign, (row, np.arange(len(sign)))), shape=(rows, len(sign)))
    return scipy.sparse.vstack([by_row, by_column], format="csr")


def _best(balance: Any, cost: Floats, hidden: Mask, moves: Sequence[Move], seconds: float) -> Mask:
    """Return the cheapest set that allows all moves, or the best that was found in time: at least what was `hidden`.

    Variables: whether each cell is hidden; for each move, how each cell changes, at most 1 up and its room down.
    """
    import scipy.optimize
    import scipy.sparse as sparse

    size, number = len(cost), len(moves)
    rooms = np.concatenate([move.room for move in moves])
    low, high = -rooms.copy(), np.ones(size * number)
    for j, move in enumerate(moves):
        for cell in move.cells:
            low[j * size + cell] = high[j * size + cell] = move.direction
    repeated = sparse.vstack([sparse.eye_array(size)] * number, format="csr")
    every = sparse.eye_array(size * number)
    conserved = sparse.hstack(
        [sparse.csr_array((balance.shape[0] * number, size)), sparse.kron(sparse.eye_array(number), balance)]
    )
    upwards = sparse.hstack([-repeated, every])
    downwards = sparse.hstack([-sparse.diags_array(rooms) @ repeated, -every])
    solution = scipy.optimize.milp(
        np.concatenate([cost, np.zeros(size * number)]),
        integrality=np.concatenate([np.ones(size), np.zeros(size * number)]),
        bounds=scipy.optimize.Bounds(np.concatenate([hidden, low]), np.concatenate([np.ones(size), high])),
        constraints=[
            scipy.optimize.LinearConstraint(conserved.tocsr(), 0, 0),
            scipy.optimize.LinearConstraint(upwards.tocsr(), -np.inf, 0),
            scipy.optimize.LinearConstraint(downwards.tocsr(), -np.inf, 0),
        ],
        options={"time_limit": seconds},
    )
    if solution.x is None:
        return hidden
    changes = np.abs(solution.x[size:].reshape(number, size)) > NEGLIGIBLE
    return hidden | changes.any(axis=0)


def _safe(balance: Any, cost: Floats, hidden: Mask, move: Move) -> Mask:
    """Return what is hidden once a move is possible: nothing more if it is, else the cells of a cheap way."""
    import scipy.optimize
    import scipy.sparse as sparse

    price = np.where(hidden, 0.0, cost)
    low, high = np.zeros(2 * len(cost)), np.concatenate([np.ones(len(cost)), move.room])
    for cell in move.cells:
        up, down = cell, len(cost) + cell
        low[up] = high[up] = float(move.direction > 0)
        low[down] = high[down] = float(move.direction < 0)
    solution = scipy.optimize.linprog(
        np.concatenate([price, price]),
        A_eq=sparse.hstack([balance, -balance], format="csr"),
        b_eq=np.zeros(balance.shape[0]),
        bounds=np.stack([low, high], axis=1),
        method="highs",
    )
    if solution.x is None:  # to hide everything is always a solution
        raise RuntimeError(f"the linear programme was not solved: {solution.message}")
    change = solution.x[: len(cost)] - solution.x[len(cost) :]
    return hidden | (np.abs(change) > NEGLIGIBLE)
