"""Composite keys: two rows have a common token exactly if they match by the first key that both have."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from protocols.alignment.keys import Tokens, doubles, first_of_each_row, joined, tokens, tokens_per_row

VALUES = st.sampled_from([None, ("a",), ("b",)])
ROWS = st.integers(1, 3).flatmap(lambda keys: st.tuples(*(st.tuples(*[VALUES] * keys) for _ in (0, 1))))


def of_row(row: tuple[tuple[str] | None, ...], party: int) -> Tokens:
    return tokens([[value] for value in row], party)


@given(ROWS)
def test_two_rows_match_by_the_first_key_that_both_have(rows: tuple[tuple[tuple[str] | None, ...], ...]) -> None:
    left, right = rows
    first = next((pair for pair in zip(left, right, strict=True) if None not in pair), None)
    common = set(of_row(left, 0).texts) & set(of_row(right, 1).texts)
    assert len(common) == int(first is not None and first[0] == first[1])


@given(ROWS)
def test_a_row_has_at_most_as_many_tokens_as_are_agreed(rows: tuple[tuple[tuple[str] | None, ...], ...]) -> None:
    assert all(len(of_row(row, party)) <= tokens_per_row(len(row)) for party, row in enumerate(rows))


def test_parts_are_kept_apart() -> None:
    assert tokens([[("ab", "c")]], 0).texts != tokens([[("a", "bc")]], 0).texts


def test_of_doubles_only_the_first_row_has_a_token() -> None:
    values = joined([["a", "b", "a", None], ["x", "x", "x", "x"]])
    assert values == [("a", "x"), ("b", "x"), ("a", "x"), None]
    assert doubles(values).tolist() == [False, False, True, False]
    assert tokens([values], 1).rows.tolist() == [0, 1]


def test_of_a_row_that_matches_twice_the_first_key_stands() -> None:
    standing = first_of_each_row(np.array([5, 3, 5, 4]), np.array([1, 0, 0, 1]))
    assert standing.tolist() == [False, True, True, True]
