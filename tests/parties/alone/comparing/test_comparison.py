"""A synthetic table held against own rows: figures that are known, and what they stand beside."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.typing import NDArray

from parties.alone.comparing import comparison
from parties.alone.comparing.comparison import compare
from parties.alone.comparing.learners import naive_bayes

DOMAIN = {"a": 3, "b": 3, "c": 2, "d": 2}
Rows = dict[str, NDArray[np.int64]]


def rows(count: int, seed: int, noise: float = 0.1) -> Rows:
    """The class d follows from a and b, the rest is at random."""
    rng = np.random.default_rng(seed)
    found = {name: rng.integers(0, size, count) for name, size in DOMAIN.items()}
    return found | {"d": (found["a"] == found["b"]) ^ (rng.random(count) < noise)}


def codes(table: Rows) -> Rows:
    return {name: column.astype(np.int64) for name, column in table.items()}


def test_of_the_same_law() -> None:
    own, synthetic = codes(rows(3000, 1)), codes(rows(2000, 2))
    report = compare(DOMAIN, own, synthetic, "d")
    assert json.loads(json.dumps(report)) == report
    assert report["rows"] == {"own": 3000, "synthetic": 2000}
    assert report["marginals"]["tables"] == 4
    assert report["marginals"]["average"] < 0.05
    assert report["marginals"]["own_halves"] < 0.1
    accuracy = {one["model"]: one for one in report["models"]["accuracy"]}
    assert accuracy["tree (ID3)"]["synthetic"] == pytest.approx(0.9, abs=0.03)
    assert accuracy["tree (ID3)"]["own"] == pytest.approx(0.9, abs=0.03)
    assert report["models"]["majority"] == pytest.approx((own["d"] == 0).mean(), abs=0.001)


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparison, "LEARNERS", {"naive Bayes": naive_bayes})


@pytest.mark.usefixtures("_quick")
def test_of_independent_columns() -> None:
    """The same values in each column, in another order: only what is between columns is lost."""
    own = codes(rows(3000, 3))
    rng = np.random.default_rng(4)
    report = compare(DOMAIN, own, {name: rng.permutation(column) for name, column in own.items()}, "d")
    worst = report["marginals"]["worst"]
    assert worst[0]["columns"] == ["a", "b", "d"]
    assert worst[0]["distance"] > 0.3
    assert worst[-1]["distance"] < 0.1
    (bayes,) = report["models"]["accuracy"]
    assert bayes["own"] > 0.6
    assert bayes["synthetic"] == pytest.approx(report["models"]["majority"], abs=0.02)
    assert report["marginals"]["own_halves"] < 0.1


def test_copies_are_told() -> None:
    """Rows that nobody shares: own ones are far from each other, copies are near."""
    domain = {f"c{i}": 40 for i in range(6)}
    rng = np.random.default_rng(5)
    own = {name: rng.integers(0, 40, 200) for name in domain}
    report = compare(domain, own, own, None)
    assert "models" not in report
    # A copy's original lies in one of the four fifths that it is compared with, four times of five.
    shares = report["distances"]["synthetic"]["shares"]
    assert len(shares) == 7
    assert shares[0] == pytest.approx(0.8, abs=0.1)
    assert report["distances"]["own"]["shares"][0] == 0
    assert report["distances"]["own"]["mean"] > 3
    fresh = compare(domain, own, {name: rng.integers(0, 40, 200) for name in domain}, None)
    assert fresh["distances"]["synthetic"]["mean"] == pytest.approx(fresh["distances"]["own"]["mean"], abs=0.2)


@pytest.mark.usefixtures("_quick")
def test_the_same_rows_the_same_report() -> None:
    own, synthetic = codes(rows(100, 6)), codes(rows(90, 7))
    told: list[str] = []
    assert compare(DOMAIN, own, synthetic, "d") == compare(DOMAIN, own, synthetic, "d", told.append)
    assert told[0] == "counting marginals"
    assert "learning: naive Bayes" in told


def test_too_few_rows() -> None:
    few, enough = codes(rows(4, 8)), codes(rows(9, 9))
    with pytest.raises(ValueError, match="at least 5 rows, the own table has 4"):
        compare(DOMAIN, few, enough, "d")
    with pytest.raises(ValueError, match="the synthetic table has 4"):
        compare(DOMAIN, enough, few, None)


def test_two_columns_have_marginals_of_two() -> None:
    report = compare({"a": 2, "b": 2}, *({"a": np.arange(8) % 2, "b": np.arange(8) // 4} for _ in range(2)), None)
    assert report["marginals"]["ways"] == 2
    assert report["marginals"]["average"] == 0
