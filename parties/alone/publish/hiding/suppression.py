"""Complementary suppression: hiding further cells, so that sensitive ones cannot be computed from the totals.

A reader knows the published cells, that rows and columns add up, and that no cell is negative. A sensitive cell is safe
if it could be larger and smaller by the required amounts: a change of hidden cells alone moves it so far and keeps
every sum (Fischetti, Salazar, "Models and algorithms for the 2-dimensional cell suppression problem in statistical
disclosure control", 1999). Of all sets of cells that make every sensitive one safe, an integer programme finds the one
that hides the fewest rows. In large tables, each cell is made safe in turn, by a linear programme.

A change of a two-dimensional table is a circulation between its rows and columns. So if a cell can move by d, it can do
so while no other cell moves by more. This bounds the programmes, and integers suffice for integers.
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
from parties.base.extras import needing
from protocols.arrays import Counts, Floats

EXACT = 6_000  # cells times moves, up to which the best set is searched
SECONDS = 20.0  # time limit of the search; then the best set so far is taken
NEGLIGIBLE = 1e-6  # a smaller change counts as none: the programmes are solved to 1e-7

Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Move:
    """A change that must be possible: the cells at these indices change by `direction` (1 or -1), and all sums stay.

    `room` float[cells] is the possible decrease of each cell of the table, at most 1, in units of that change.
    """

    cells: tuple[int, ...]
    direction: int
    room: Floats


def hide(values: Counts, counts: Counts, needs: Needs) -> Mask:
    """Return the cells to hide, bool[rows, columns]: all sensitive ones, and complementary ones.

    Args:
        values: published numbers, totals last, int64[rows, columns]
        counts: rows of each cell, the cost of hiding it, int64[rows, columns]
        needs: required uncertainty

    Raises:
        InputError: SciPy, which has the solver (HiGHS), is not installed
    """
    hidden = needs.sensitive
    if not hidden.any():
        return hidden
    cost = (counts.ravel() + 1) / (counts.max() + 1)
    return protect(hidden, cost, list(_moves(values.ravel(), needs)), SECONDS)


def protect(hidden: Mask, cost: Floats, moves: Sequence[Move], seconds: float = 0.0) -> Mask:
    """Return the hidden cells, extended so that all moves are possible, bool[rows, columns].

    Args:
        hidden: cells that are hidden anyway, bool[rows, columns]
        cost: cost of hiding each cell, float[cells]
        moves: changes that must be possible
        seconds: time limit of the search for the best set; 0: no search, and a deterministic result
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
    """Yield the changes that must be possible of sensitive cells, the largest first: they often make others safe."""
    required = [(d, i, 1) for i, d in enumerate(needs.up.ravel()) if d]
    required += [(d, i, -1) for i, d in enumerate(needs.down.ravel()) if d]
    for distance, cell, direction in sorted(required, reverse=True):
        room = np.minimum(values / distance, 1.0)
        room[room < NEGLIGIBLE] = 0.0
        yield Move((cell,), direction, room)


def _balance(shape: tuple[int, ...]) -> Any:
    """Return the sparse matrix float[rows + columns, cells] whose kernel is the changes that keep every sum."""
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
    """Return the cheapest superset of `hidden` that allows all moves, or the best one found in these seconds.

    Variables: whether each cell is hidden; for each move, the change of each cell, at most 1 up and its room down.
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
    """Return the hidden cells, extended by those of a cheap change if a move is not yet possible."""
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
    if solution.x is None:  # hiding everything is always a solution
        raise RuntimeError(f"the linear programme was not solved: {solution.message}")
    change = solution.x[: len(cost)] - solution.x[len(cost) :]
    return hidden | (np.abs(change) > NEGLIGIBLE)
