"""One figure of the measurement: the accuracy of private trees grown with some settings, over folds and draws of noise.

A draw of a fold has a generator of its own, so a figure is the same whenever it is measured again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
from numpy.typing import NDArray

from benchmarks.private_trees.simulation import Ints, Settings, predict
from benchmarks.private_trees.tables import Table, folds
from parties.jobs.tree.settings import Id3Settings
from protocols.release.defaults import chosen
from protocols.release.tree_problem import Measure

FOLDS, SEED = 5, 1
ROWS = 40_000  # about as many rows are learnt in all draws of the folds; small tables get more draws
AT_ONCE = 100_000  # largest number of rows that are learnt at once

EPSILONS = ("0.01", "0.1", "0.2", "0.5", "1", "2")
FEWER = ("0.01", "0.1", "1")
DEPTHS = range(1, 6)
QUALITIES: tuple[Measure, ...] = ("max", "gini", "entropy")
FOREST = 5
SHARES = {"even": None, "half": Fraction(1, 2)}  # share of the leaves: as much as a level, or half of epsilon


@dataclass(frozen=True)
class Cell:
    """Settings of one figure of a table. `share` is one of `SHARES`."""

    epsilon: str  # decimal, or "inf" for no noise
    depth: int
    share: str
    stop: bool
    quality: Measure
    trees: int = 1

    @property
    def settings(self) -> Settings:
        """Settings in the form of the simulation."""
        share = SHARES[self.share] or Fraction(1, self.depth + 1)
        return Settings(float(self.epsilon), self.depth, float(share), self.stop, self.quality)


@dataclass(frozen=True)
class Accuracy:
    """Mean accuracy, and its standard error from the draws of noise; the folds are the same for all."""

    mean: float
    error: float


def grid() -> Iterator[Cell]:
    """Yield the cells for a table that is compared with others on the same folds: trees, forests, exact trees."""
    yield from _trees(("inf",), QUALITIES, ("even",), (True,))
    yield from _trees(EPSILONS, QUALITIES, ("even",))
    yield from _trees(EPSILONS, QUALITIES[:2], ("half",))
    yield from (replace(cell, trees=FOREST) for cell in _trees(EPSILONS, QUALITIES[:2], ("even",)))


def smaller_grid() -> Iterator[Cell]:
    """Yield the cells for a table that is compared with published figures."""
    yield from _trees(("inf",), QUALITIES[:2], ("even",), (True,))
    yield from _trees(FEWER, QUALITIES[:2], ("even", "half"))


def _trees(
    epsilons: Iterable[str],
    qualities: Iterable[Measure],
    shares: Iterable[str],
    stops: Iterable[bool] = (True, False),
) -> Iterator[Cell]:
    for epsilon, depth, share, stop, quality in product(epsilons, DEPTHS, shares, stops, qualities):
        yield Cell(epsilon, depth, share, stop, quality)


def default(table: Table, epsilon: str, looseness: int = 1) -> Cell:
    """Return the cell of the defaults of `smc id3 --epsilon`, with a row bound of `looseness` times the rows."""
    found = chosen(table.bound * looseness, Fraction(epsilon), table.domains, table.classes)
    return Cell(epsilon, found.depth, "even", found.stop, Id3Settings().quality)


def measure(table: Table, cell: Cell) -> Accuracy:
    """Return the accuracy of the cell's trees or forests on rows that they have not seen."""
    fold = folds(table.labels, FOLDS, SEED)
    draws = np.concatenate([_fold(table, cell, fold, k) for k in range(FOLDS)], axis=1)  # [draws, rows]
    each = draws.mean(axis=1)
    error = each.std(ddof=1) / math.sqrt(len(each)) if len(each) > 1 else math.nan
    return Accuracy(round(float(each.mean()), 4), round(float(error), 4))


def repeats(table: Table) -> int:
    """Return the number of draws of each fold."""
    return max(2, ROWS // len(table.labels))


def _fold(table: Table, cell: Cell, fold: Ints, held: int) -> NDArray[np.bool_]:
    """Return whether each draw predicts each row of the fold correctly, bool[draws, rows]."""
    train, test = table.part(np.flatnonzero(fold != held)), table.part(np.flatnonzero(fold == held))
    rows, generator = len(train.labels), np.random.default_rng([SEED, held])
    right = []
    for draws in _parts(repeats(table), max(1, AT_ONCE // rows)):
        dealt = [generator.permutation(np.arange(rows) % cell.trees) + cell.trees * draw for draw in range(draws)]
        learnt, trees = train.part(np.tile(np.arange(rows), draws)), draws * cell.trees
        found = predict(learnt, np.concatenate(dealt), test.values, trees, cell.settings, generator)
        votes = found.reshape(draws, cell.trees, -1, 1) == np.arange(table.classes)
        right.append(votes.sum(axis=1).argmax(axis=2) == test.labels)
    return np.concatenate(right)


def _parts(total: int, most: int) -> Iterable[int]:
    return [min(most, total - start) for start in range(0, total, most)]
