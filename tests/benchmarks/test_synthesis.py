"""The measurement of synthetic rows: what is released, what is learnt, and what a peer's file says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks.synthesis import __main__ as synthesis
from benchmarks.synthesis.marginals import EPSILONS, FLOOR, WAYS, draw, made, task_of
from tests.support.places import ROOT

DOMAINS = (3, 2, 2)


def rows(count: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    found = np.column_stack([rng.integers(0, size, count) for size in DOMAINS])
    found[:, 2] = (found[:, 0] == 1) ^ (rng.random(count) < 0.1)
    return found


def test_the_joint_protocol_releases_and_models_learn() -> None:
    train, test = rows(6000, 1), rows(2000, 2)
    found = list(synthesis.ours(train, test, DOMAINS, 0, "MST"))
    assert [one["rows from"] for one in found] == ["MST, graphical", "MST, relaxed"]
    for one in found:
        assert one["measured"] == 5  # three columns and two pairs
        assert one["tree (ID3)"] == pytest.approx(0.9, abs=0.03)
        assert one["error"] < 0.06


def test_a_peers_file(tmp_path: Path) -> None:
    """Its marginals have a category more in each column, for what is missing."""
    train = rows(4000, 3)
    counts = np.zeros((4, 3))
    np.add.at(counts, (train[:, 0], train[:, 2]), 1)
    np.savez(
        tmp_path / "x.npz", seconds=1.5, sigmas=[1.0, 2.0], columns=["0,2", "1"],
        counts=np.concatenate([counts.ravel(), [2000, 2000, 7]]), round=train, sample=train[:, ::-1] % 2,
    )  # fmt: skip
    found = list(synthesis.theirs(tmp_path / "x.npz", train, rows(1000, 4), DOMAINS, 0, "MST"))
    assert [one["rows from"] for one in found] == [
        f"OpenDP MST, {name}" for name in ("round", "sample", "our generator")
    ]
    assert found[0]["error"] == 0
    assert found[1]["error"] > 0.2
    assert found[2]["error"] < 0.05
    assert found[2]["tree (ID3)"] == pytest.approx(0.9, abs=0.03)


def test_the_jobs_rows_are_like_those_that_went_in() -> None:
    """Columns come back in their places: the error falls with epsilon, and is far below that of a wrong order."""
    train = rows(6000, 1)
    errors = [
        synthesis.error(train, made(task_of(DOMAINS, len(train), epsilon, "AIM"), train)[0], DOMAINS, 2)
        for epsilon in ("0.01", "2")
    ]
    assert errors[1] < 0.03 < errors[0]


def test_more_epsilon_is_less_error_down_to_what_chance_does() -> None:
    """The kept figures, and the picture that is drawn of them."""
    found = json.loads((ROOT / "benchmarks/results/synthesis_errors.json").read_text())["rows"]
    adult = [row for row in found if row["table"] == "adult"]
    (floor,) = [row["threes"] for row in adult if row["way"] == FLOOR]
    for way in WAYS:
        errors = [row["threes"] for row in adult if row["way"] == way]
        assert len(errors) == len(EPSILONS)
        assert errors[0] > errors[1] > errors[2] > errors[3] > floor
    picture = draw(found)
    assert all(name in picture for name in (*WAYS, FLOOR, "epsilon, at delta 1e-9"))


def test_the_error_is_half_the_difference_of_shares() -> None:
    one, other = np.array([[0, 0, 0], [1, 1, 1]]), np.array([[0, 0, 0], [0, 0, 0]])
    assert synthesis.error(one, one, (2, 2, 2)) == 0
    assert synthesis.error(one, other, (2, 2, 2)) == 0.5
