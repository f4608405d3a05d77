"""Answers are found once, and forgotten when many others have come since."""

from __future__ import annotations

from functools import partial

import pytest

from parties.base.recent import ResultCache


def test_the_last_answers_are_kept_and_errors_are_not() -> None:
    found: list[int] = []
    squares = ResultCache[int, int](2)

    def find(number: int) -> int:
        found.append(number)
        return 1 // number + number**2

    asked = (1, 2, 2, 1, 3, 2, 1)
    assert [squares.get(number, partial(find, number)) for number in asked] == [2, 4, 4, 2, 9, 4, 2]
    assert found == [1, 2, 3, 1], "1 left for 3"
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            squares.get(0, partial(find, 0))
    assert found[4:] == [0, 0]
    squares.get(3, partial(find, 3))
    assert found[6:] == [], "an error drives nothing out"
