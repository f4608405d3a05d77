"""A column that almost decides the target is told from one whose values are rare."""

from __future__ import annotations

from random import Random

from parties.alone.preparing.leaks import leak


def test_values_of_one_row_decide_nothing() -> None:
    draw = Random(7)
    for _ in range(20):
        counts: dict[str, dict[str, int]] = {}
        for _ in range(200):
            row = counts.setdefault(str(draw.randrange(3000)), {"yes": 0, "no": 0})
            row[draw.choice(("yes", "no"))] += 1
        assert not leak(counts).is_one


def test_a_column_that_decides_is_found() -> None:
    assert leak({"a": {"yes": 99, "no": 1}, "b": {"yes": 0, "no": 100}}).is_one
    assert not leak({"a": {"yes": 80, "no": 20}, "b": {"yes": 20, "no": 80}}).is_one
