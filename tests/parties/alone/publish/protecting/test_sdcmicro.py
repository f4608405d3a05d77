"""Ours beside what sdcMicro 5.7's reference prints of its test data: `francdat`, and a column of `testdata`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parties.alone.publish.protecting.local_suppression import LocalSuppression
from parties.alone.publish.protecting.perturbing import partners
from parties.alone.publish.protecting.pram import Pram
from parties.alone.publish.protecting.risk import class_risks, individual_risks
from parties.alone.publish.protecting.rows import Rows

KEYS = {"Key1": "11134461", "Key2": "22233322", "Key3": "51111115", "Key4": "11154151"}  # a digit a row
WEIGHTS = (18.0, 45.5, 39.0, 17.0, 541.0, 8.0, 5.0, 92.0)
RISKS = (0.01714426, 0.02204233, 0.02204233, 0.17707583, 0.01165448, 0.29706308, 0.40235948, 0.01714426)
ROOF = {"2": 814, "4": 3697, "5": 19, "6": 34, "9": 16}
REDRAWN = {"2": 818, "4": 3694, "5": 21, "6": 32, "9": 15}  # by pram(), seed unknown


def francdat(*keys: str) -> Rows:
    columns = {name: np.array([*KEYS[name]], dtype=object) for name in keys}
    return Rows(columns, keys, np.array(WEIGHTS), np.arange(8), "francdat")


def coins(seed: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(seed))


def test_frequencies_and_individual_risks_of_francdat() -> None:
    """freqCalc: fk and Fk, "4 obs. violate 2-anonymity, 8 obs. violate 3-anonymity"; indivRisk: rk."""
    rows = francdat(*KEYS)
    codes, risks = rows.codes(rows.quasi), class_risks(rows)
    sizes, populations = np.bincount(codes), np.bincount(codes, rows.weights)
    assert sizes[codes].tolist() == [2, 2, 2, 1, 1, 1, 1, 2]
    assert populations[codes].tolist() == [110, 84.5, 84.5, 17, 541, 8, 5, 110]
    assert individual_risks(sizes, populations)[codes] == pytest.approx(RISKS, abs=5e-9)
    assert (risks["rows_alone"], risks["rows_below_3"]) == (4, 8)
    assert risks["expected_reidentifications"] == pytest.approx(sum(RISKS), abs=5e-8)


def test_cells_of_francdat_that_are_hidden() -> None:
    """localSuppression hides 4 cells of Key2 to Key4 for k = 2, where a hidden cell is like any; ours as many, though
    it is a value of its own."""
    result, figures = LocalSuppression(k=2).run(francdat("Key2", "Key3", "Key4"), coins(1))
    assert result.class_sizes(result.quasi).min() >= 2
    assert sum(figures["cells_suppressed"].values()) == 4


def test_frequencies_of_roofs_that_are_drawn_anew() -> None:
    """Invariant: the expected frequencies are the true ones, and both draws lie within five standard deviations."""
    roofs = np.repeat([*ROOF], [*ROOF.values()]).astype(object)
    source = Rows({"roof": roofs}, (), np.ones(len(roofs)), np.arange(len(roofs)), "testdata")
    result, figures = Pram(columns=("roof",), pd=0.8).run(source, coins(1))
    table: dict[str, dict[str, float]] = figures["roof"]["matrix"]
    matrix = np.array([[*line.values()] for line in table.values()])
    before: Any = np.array([*ROOF.values()])
    assert before @ matrix == pytest.approx(before, rel=1e-3)
    deviation = np.sqrt(before @ (matrix * (1 - matrix)))
    for after in (REDRAWN, dict(zip(*np.unique(result.columns["roof"].astype(str), return_counts=True), strict=True))):
        assert (np.abs([after[name] for name in ROOF] - before) < 5 * deviation).all()


def test_ranks_swapped_over_no_distance_stay() -> None:
    """rankSwap with P = 0: nothing changes, as sdcMicro's own test says."""
    assert (partners(10_000, 0, coins(1)) == np.arange(10_000)).all()
