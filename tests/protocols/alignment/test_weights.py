"""The weight of a pair in a circuit, against the rule in plain Python."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from protocols.alignment.bins import block_tags
from protocols.alignment.weights import Comparison, Level, match_weight, pair_weight, width_of
from smc.circuit import evaluate
from smc.primitives.bits import to_integers
from tests.support.linkage import dice, weight

NAME = Comparison((Level(None, 80), Level(Fraction("0.8"), 50), Level(Fraction("0.45"), 20)), -60)
DATE = Comparison((Level(Fraction("0.7"), 30),), -3)
TOWN = Comparison((Level(None, 40),), 5)  # to differ speaks for a match: any weights are right
ALL = (NAME, DATE, TOWN)
Text = st.none() | st.text("abö", min_size=1, max_size=7)
Row = st.tuples(Text, Text, Text)


@settings(max_examples=30)
@example([(("abab", "ab", "a"), ("abab", "ab", "a")), ((None, None, None), ("a", "a", "a"))], -30)
@given(st.lists(st.tuples(Row, Row), min_size=1, max_size=9), st.integers(-57, 150))
def test_the_circuit_computes_the_rule(pairs: list[tuple[tuple[str | None, ...], ...]], threshold: int) -> None:
    sides = []
    for rows in zip(*pairs, strict=True):
        sides.append(block_tags(["x"] * len(rows), 0)[:, :-1])
        columns = zip(*rows, strict=True)
        sides.append(np.concatenate([one.encoded(list(texts)) for one, texts in zip(ALL, columns, strict=True)]))
        assert len(sides[-1]) == width_of(ALL)
    (found,) = evaluate(pair_weight(ALL, threshold), sides)
    least = -60 - 3
    expected = [weight(ALL, *pair) for pair in pairs]
    assert to_integers(found) == [value - least if value >= threshold else 0 for value in expected]


@pytest.mark.parametrize(("left", "right", "same"), [("x", "x", True), ("x", "y", False), (None, None, False)])
def test_rows_of_different_blocks_and_dummies_never_match(left: str | None, right: str | None, same: bool) -> None:
    """A dummy has the last column of the tags."""
    row = TOWN.encoded(["a"])
    tags = [block_tags([] if text is None else [text], party)[:, :1] for party, text in enumerate((left, right))]
    (found,) = evaluate(pair_weight((TOWN,), 1), [tags[0], row, tags[1], row])
    assert to_integers(found) == [40 if same else 0]


def test_a_coefficient_at_its_threshold_reaches_it() -> None:
    left, right = next(
        (a, b) for a in ("abcd", "abcde", "abcdef") for b in ("abxd", "abcdx", "abcdxf") if dice(a, b) == Fraction(2, 3)
    )
    for least, reached in ((Fraction(2, 3), True), (Fraction(67, 100), False), (Fraction(66, 100), True)):
        one = Comparison((Level(least, 9),), 0)
        tags = block_tags(["x"], 0)[:, :1]
        (found,) = evaluate(pair_weight((one,), 1), [tags, one.encoded([left]), tags, one.encoded([right])])
        assert to_integers(found) == [9 * reached]


def test_a_match_weight_is_a_logarithm() -> None:
    assert match_weight(0.9, 0.9 / 1024) == pytest.approx(10)
