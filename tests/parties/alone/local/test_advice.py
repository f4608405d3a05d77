"""Which mechanism for how many reports: by simulation, by the rule of RAPPOR's authors, and by where two laws cross."""

from __future__ import annotations

import math

import numpy as np
import pytest

from parties.alone.local import advice
from parties.alone.local.coins import Coins
from smc.primitives.prg import Prg


def test_a_share_is_found_half_of_the_times_from_where_it_says() -> None:
    """A deviation of 100 halves is 5: within five of them. Of what nobody holds, 5% / values are found: 1 of 400."""
    values, reports, times = 20, 2_000, 100
    kinds = advice.of_categories(values, 1.0)
    rows = advice.document(kinds, reports, values)["mechanisms"]
    for row in rows:
        made, holders = kinds[row["mechanism"]], round(row["found_from"] * reports)
        codes = np.concatenate([np.zeros(holders, dtype=np.int64), np.arange(reports - holders) % (values - 2) + 2])
        found = []
        for time in range(times):
            coins = Coins(np.arange(reports, dtype=np.uint64), "test", None, Prg(time.to_bytes(16, "little")))
            found.append(made.estimate(made.tally(made.report(codes, coins))).values[:2] > row["found_from"])
        held, nobody = np.sum(found, axis=0)
        assert abs(held - times / 2) < 26, row["mechanism"]
        assert nobody <= 4, row["mechanism"]


def test_the_number_of_values_grows_with_the_root_of_the_reports() -> None:
    """Some sqrt(N) / 10 values of N reports at epsilon ln 3 (RAPPOR, section 4), and not ten times as many."""
    for values in (10, 100, 1_000):
        rows = advice.document(advice.of_categories(values, math.log(3)), 1, values)["mechanisms"]
        unary = next(row for row in rows if row["mechanism"] == "unary")
        assert values**2 < unary["reports_for_even_share"] < (10 * values) ** 2


def test_texts_have_the_papers_signal() -> None:
    """One report of each of a million, with what lasts alone at the paper's 4.394: some 0.15% are found, by either."""
    rows = advice.document(advice.of_texts(4.394), 10**6, 1000)["mechanisms"]
    assert [row["found_from"] for row in rows] == pytest.approx([0.0015, 0.0015], rel=0.05)
    assert all(row["epsilon"] <= 4.394 + 1e-6 for row in rows)


@pytest.mark.parametrize(("epsilon", "best"), [(0.5, "mean"), (1.28, "mean"), (1.3, "piecewise"), (6.0, "piecewise")])
def test_one_bit_is_best_below_an_epsilon_of_129(epsilon: float, best: str) -> None:
    found = advice.document(advice.of_numbers(-1.0, 1.0, epsilon, 1e-6), 100, None)
    assert next(row["mechanism"] for row in found["mechanisms"]) == best
    assert found["mechanisms"][-1]["mechanism"] == "gauss"
    assert f"{best} has the least error" in advice.verdict(found)


def test_a_shorter_report_is_mentioned_and_too_few_reports_are() -> None:
    kinds = advice.of_categories(1000, 1.0)
    said = advice.verdict(advice.document(kinds, 100_000, 1000))
    assert (
        "subset has the least error (hadamard has 1.13 times that, with 2 bytes): shares from 2.36% are found" in said
    )
    assert "5 reports are too few: no share of 1,000 values" in advice.verdict(advice.document(kinds, 5, 1000))


@pytest.mark.parametrize("epsilon", [1e-6, 0.004, 0.01, 0.05, 15.0])
def test_any_epsilon_has_an_advice(epsilon: float) -> None:
    """Noise on a number takes more places the less epsilon is, and has fewer steps then."""
    kinds = advice.of_numbers(0.0, 1.0, epsilon, 1e-6)
    assert list(kinds) == ["mean", "piecewise", *(["laplace", "gauss"] if epsilon > 1e-6 else [])]
    for more in (advice.of_texts(epsilon), advice.of_categories(4, epsilon)):
        assert advice.verdict(advice.document(more, 1000, 4))
