"""King and rook against king: the table beside the published counts and rows of it."""

from __future__ import annotations

from collections import Counter

import numpy as np

from benchmarks.peers import endgame
from protocols.cost_model import typical_splits
from protocols.id3 import Problem

PUBLISHED = (27, 78, 246, 81, 198, 471, 592, 683, 1433, 1712, 1985, 2854, 3597, 4194, 4553, 2166, 390)
SPLITS = (1, 8, 40, 265, 1793, 3806)  # of the tree of `smc id3 --plain` on this table, level by level


def test_depths_are_those_published() -> None:
    rows = list(endgame.rows())
    assert len(set(rows)) == len(rows) == 28_056
    assert Counter(row[-1] for row in rows) == {"draw": 2796, **dict(zip(endgame.WORDS, PUBLISHED, strict=True))}
    for line in ("a1b3c2 draw", "a1c1c2 draw", "b1g7e5 sixteen", "c2a3a1 zero", "c2a1a2 draw"):
        squares, depth = line.split()
        assert (*squares, depth) in rows


def test_depths_are_the_same_seen_from_any_side() -> None:
    depth = endgame.depths()
    for turned in (endgame.RANKS * 8 + endgame.FILES, endgame.FILES * 8 + 7 - endgame.RANKS):
        assert np.array_equal(depth, depth[np.ix_(turned, turned, turned)])


def test_a_tree_of_all_cases_is_forecast_as_large_as_it_is() -> None:
    forecast = typical_splits(Problem(domains=(4, 4, 8, 8, 8, 8), classes=18, max_rows=28_056))
    for typical, found in zip(forecast, SPLITS, strict=True):
        assert found / 2 < typical < 2 * found
