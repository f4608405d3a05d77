"""The bench of private release: what it says of a case is what the case costs."""

from __future__ import annotations

from fractions import Fraction

from benchmarks import release
from protocols.release.laplace import DiscreteLaplace
from smc.counting import forecast
from smc.local import run_local


def test_a_row_tells_what_a_run_costs() -> None:
    only = "noisy count, 1 at once, yao"
    rows = run_local(lambda session: release.measure(session, only, 1))
    (case,) = (case for case in release.cases() if only in case.label)
    costs = forecast(case.run, case.profile).costs
    for (row,) in rows:
        assert row["bytes"] == row["bytes_each"] == costs[0].bytes_sent + costs[1].bytes_sent
        assert row["and_gates_each"] == costs[0].and_gates == release.circuits()["noisy count, epsilon 1, 2^-40"]


def test_circuits_are_within_the_goals() -> None:
    sizes = release.circuits()
    assert max(sizes[f"discrete Laplace, epsilon {epsilon}, 2^-40"] for epsilon in ("1", "0.1")) <= 500
    assert max(sizes[f"discrete Laplace, epsilon {epsilon}, 2^-64"] for epsilon in ("1", "0.1")) <= 700
    assert sizes["discrete Gaussian, sigma 20, 2^-40"] <= 700
    assert DiscreteLaplace(Fraction(1)).distance <= Fraction(1, 1 << 40)
