"""docs/notes-errors.md: each row names a test that exists; the rows that no other file tests are tested here."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from protocols.counts import RowCounts
from protocols.id3 import Leaf, Problem, Split, id3
from protocols.release.response import offset_law
from smc.engines import make_engine
from smc.local import run_local
from tests.support.names_of_tests import TESTS
from tests.support.places import ROOT

TEXT = (ROOT / "docs" / "notes-errors.md").read_text()


def test_every_row_names_a_test() -> None:
    rows = [line for line in TEXT.splitlines() if line.startswith("| 0")]
    assert len(rows) == 11
    for row in rows:
        named = set(re.findall(r"`(test_\w+)`", row))
        assert named <= TESTS
        assert named or "no test" in row


@pytest.mark.parametrize(("left", "right"), list(product(([0, 0], [1], []), repeat=2)))
def test_a_leaf_is_a_matter_of_the_union(left: list[int], right: list[int]) -> None:
    """One class at each party is a split if the classes differ, and a party without a row decides nothing."""
    problem = Problem(domains=(2,), classes=2, max_rows=4)
    own = left, right

    def program(session: object) -> object:
        labels = np.array(own[session.party], dtype=np.int64)  # type: ignore[attr-defined]
        rows = labels.reshape(-1, 1)  # the only attribute has the class's value
        return id3(make_engine(session, "yao"), problem, RowCounts((2,), 2, rows, labels))  # type: ignore[arg-type]

    tree, _ = run_local(program)
    union = {*left, *right}
    assert isinstance(tree, Split if len(union) == 2 else Leaf)
    if len(union) == 1:
        assert tree == Leaf(union.pop())


def test_a_central_count_has_less_noise_than_a_local_one() -> None:
    """The variances by their definitions: of Laplace noise, and of the estimate from n randomised answers."""
    epsilon, people = math.log(3), 1000

    truth, other = (float(chance) for chance in offset_law(Fraction(epsilon), 2).probabilities().values())
    local = people * truth * (1 - truth) / (truth - other) ** 2
    assert local == pytest.approx(750)
    assert 2 / epsilon**2 < local / 400


def test_the_gaussian_density_has_a_two() -> None:
    """With the factor 2 the density's integral is 1 and its variance sigma^2; without it neither holds."""
    sigma = 3.0
    x = np.linspace(-60, 60, 200_001)
    right = np.exp(-(x**2) / (2 * sigma**2)) / (math.sqrt(2 * math.pi) * sigma)
    wrong = np.exp(-(x**2) / sigma**2) / (math.sqrt(2 * math.pi) * sigma)
    step = x[1] - x[0]
    assert right.sum() * step == pytest.approx(1)
    assert (right * x**2).sum() * step == pytest.approx(sigma**2)
    assert wrong.sum() * step == pytest.approx(1 / math.sqrt(2))
