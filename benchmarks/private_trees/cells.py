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
ROWS = 40_000  # a fold is drawn so often that about so many rows are learnt
AT_ONCE = 100_000  # most rows that are learnt at once

EPSILONS = ("0.01", "0.1", "0.2", "0.5", "1", "2")
FEWER = ("0.01", "0.1", "1")
DEPTHS = range(1, 6)
QUALITIES: tuple[Measure, ...] = ("max", "gini", "entropy")
FOREST = 5
SHARES = {"even": None, "half": Fraction(1, 2)}  # of the leaves: as much as a level, or half of epsilon


@dataclass(frozen=True)
class Cell:
    """What is measured of a table. `share` is one of `SHARES`."""

    epsilon: str  # decimal, or "inf" for no noise
    depth: int
    share: str
    stop: bool
    quality: Measure
    trees: int = 1

    @property
    def settings(self) -> Settings:
        """As the simulation takes them."""
        share = SHARES[self.share] or Fraction(1, self.depth + 1)
        return Settings(float(self.epsilon), self.depth, float(share), self.stop, self.quality)


@dataclass(frozen=True)
class Accuracy:
    """The mean accuracy, and its standard error from the draws of noise (the folds are the same for all)."""

    mean: float
    error: float


def grid() -> Iterator[Cell]:
    """The cells of a table that is compared with others on the same folds: trees, forests, and trees without noise."""
    yield from _trees(("inf",), QUALITIES, ("even",), (True,))
    yield from _trees(EPSILONS, QUALITIES, ("even",))
    yield from _trees(EPSILONS, QUALITIES[:2], ("half",))
    yield from (replace(cell, trees=FOREST) for cell in _trees(EPSILONS, QUALITIES[:2], ("even",)))


def smaller_grid() -> Iterator[Cell]:
    """The cells of a table that is compared with published figures."""
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
    """What `smc id3 --epsilon` grows if it is told nothing but a bound `looseness` times the rows."""
    found = chosen(table.bound * looseness, Fraction(epsilon), table.domains, table.classes)
    return Cell(epsilon, found.depth, "even", found.stop, Id3Settings().quality)


def measure(table: Table, cell: Cell) -> Accuracy:
    """The accuracy of the cell's trees or forests on the rows that they have not seen."""
    fold = folds(table.labels, FOLDS, SEED)
    draws = np.concatenate([_fold(table, cell, fold, k) for k in range(FOLDS)], axis=1)  # [draws, rows]
    each = draws.mean(axis=1)
    error = each.std(ddof=1) / math.sqrt(len(each)) if len(each) > 1 else math.nan
    return Accuracy(round(float(each.mean()), 4), round(float(error), 4))


def repeats(table: Table) -> int:
    """How often a fold is drawn."""
    return max(2, ROWS // len(table.labels))


def _fold(table: Table, cell: Cell, fold: Ints, held: int) -> NDArray[np.bool_]:
    """Which rows of the fold each draw gets right, [draws, rows]."""
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
