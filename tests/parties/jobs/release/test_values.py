"""The values of a column as whole numbers of a unit, and what one row can change: against all small tables."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.jobs.inputs import Inputs
from parties.jobs.release import noise, values
from parties.jobs.release.values import Values, read
from smc.errors import InputError
from tests.support.questions import SCHEMA, asked, state_of

NUMBERS = st.one_of(
    st.integers(-50, 50).map(str), st.decimals(-50, 50, places=2, allow_nan=False).map(str), st.just("?")
)
COLUMNS = st.lists(NUMBERS, min_size=1, max_size=5, unique=True).filter(lambda found: found != ["?"])


@given(COLUMNS)
def test_whole_numbers_of_the_unit_are_the_values(categories: list[str]) -> None:
    found = read("c", tuple(categories), "a sum")
    expected = [Fraction(0) if text == "?" else Fraction(text) for text in categories]
    assert [found.unit * whole for whole in found.whole] == expected
    if any(expected):
        for factor in (2, 3, 5, 7):
            larger = found.unit * factor
            assert not all((number / larger).denominator == 1 for number in expected), "a larger unit would do"
    assert (found.least, found.greatest) == (min(found.present), max(found.present))
    centred = found.moved(found.middle)
    assert centred.greatest == -centred.least == (found.greatest - found.least) / 2


@settings(max_examples=40)
@given(st.lists(st.integers(-4, 4).map(str) | st.just("?"), min_size=1, max_size=3, unique=True), st.integers(1, 2))
def test_what_one_row_changes(categories: list[str], groups: int) -> None:
    """All rows that there can be, in a group or in none, added or put in another's place: the most is the bound."""
    if categories == ["?"]:
        return
    found = read("c", tuple(categories), "a sum")
    whole = found.whole
    rows = [None, *product(range(groups), range(len(whole)))]

    def sums(row: tuple[int, int] | None) -> list[int]:
        return [whole[row[1]] if row is not None and row[0] == group else 0 for group in range(groups)]

    def most(pairs: list[tuple[tuple[int, int] | None, tuple[int, int] | None]]) -> int:
        return max(sum(abs(a - b) for a, b in zip(sums(one), sums(other), strict=True)) for one, other in pairs)

    assert found.change(False, groups) == most([(None, row) for row in rows])
    bound = found.change(True, groups)
    assert most(list(product(rows, rows))) <= bound
    if groups == 1:
        assert most(list(product(rows, rows))) == bound


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        (("young", "old"), "a mean needs bounds, which are public: .* 'c' must be numbers, but 'young' is not"),
        (("1", "nan"), "'nan' is not"),
        (("1", "1e5"), "'1e5' is not"),
        (("1", "١"), "is not; choose"),
        (("1", "inf"), "'inf' is not"),
        (("?",), "a mean needs bounds: the schema lists no number for 'c'"),
        (("0.000000001", "100000"), "too many digits for exact sums in steps of 1e-09"),
    ],
)
def test_a_column_without_bounds(categories: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError, match=message) as failed:
        read("c", categories, "a mean")
    assert str(failed.value).startswith("column: ")
    assert "\n" not in str(failed.value)


def test_the_numbers_of_the_notes() -> None:
    """On [a, b] a row more changes a centred sum by half of b - a; one replaced by b - a, so the mean by (b - a)/n."""
    found = Values((Fraction(10), Fraction(14)))
    centred = found.moved(found.middle)
    assert centred.change(False, 1) * centred.unit == 2
    assert centred.change(True, 1) * centred.unit == 4


@pytest.mark.parametrize(("name", "parts"), [("sum", 1), ("mean", 1), ("median", 0)])
def test_a_task_derives_numbers_and_noise_once(monkeypatch: pytest.MonkeyPatch, name: str, parts: int) -> None:
    """From its making to its result, however many numbers a column lists and groups there are."""
    calls = {"decimal": 0, "laplace": 0}

    def counted(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            calls[function.__name__] += 1
            return function(*given)

        return call

    monkeypatch.setattr(values, "decimal", counted(values.decimal))
    monkeypatch.setattr("parties.jobs.release.kind.laplace", counted(noise.laplace))
    values.read.cache_clear()
    task = asked(name, column="visits", by=("sex",))
    row = {"age": "old", "sex": "male", "visits": "2", "outcome": "good"}
    task.document(state_of(task, [[row], []]))
    _ = task.disclosure.reveals("them"), task.disclosure.spends, task.cost(Inputs()).is_countable
    assert calls == {"decimal": len(SCHEMA.attributes["visits"]), "laplace": parts}
