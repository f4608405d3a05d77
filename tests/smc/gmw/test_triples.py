"""Triples are products, look random, and serve once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smc.gmw.triples import WIDTHS, Counts, TripleSource
from smc.local import run_local
from smc.ot import Transfers
from smc.session import Session


def counts(*sizes: int) -> Counts:
    """So many eights of the first widths, none of the others."""
    return np.array([*sizes, *[0] * (len(WIDTHS) - len(sizes))], dtype=np.int64)


def rows_of(part: np.ndarray, taken: Counts, widths: np.ndarray) -> list[np.ndarray]:
    """Split what was taken by width: uint8[rows, eights] each."""
    ends = np.cumsum(taken * widths)
    return [rows.reshape(width, -1) for rows, width in zip(np.split(part, ends[:-1]), widths, strict=True)]


def taken(*steps: Counts) -> Any:
    """Reserve and take, step by step: parts a, b, c of all, by step and width."""

    def program(session: Session) -> list[list[list[np.ndarray]]]:
        source = TripleSource(session, Transfers(session))
        found = []
        for step in steps:
            source.reserve(step)
            a, b, c = source.take(step)
            found.append([rows_of(a, step, np.ones_like(WIDTHS)), rows_of(b, step, WIDTHS), rows_of(c, step, WIDTHS)])
        return found

    return program


EACH = np.arange(len(WIDTHS))


@pytest.mark.parametrize(
    "steps",
    [
        [counts()],
        [counts(1)],
        [counts(7), counts(1), counts(8)],
        [counts(0, 9), counts(3, 0, 2), counts(1000, 20)],
        [EACH, EACH[::-1].copy()],
    ],
)
def test_each_row_of_the_third_part_is_the_product_of_the_first_and_its_row(steps: list[Counts]) -> None:
    for step, left, right in zip(steps, *run_local(taken(*steps)), strict=True):
        shared = [[x ^ y for x, y in zip(*parts, strict=True)] for parts in zip(left, right, strict=True)]
        for count, width, a, b, c in zip(step, WIDTHS, *shared, strict=True):
            assert (a.shape, b.shape, c.shape) == ((1, count), (width, count), (width, count))
            assert np.array_equal(c, a & b)


def test_every_share_of_every_part_is_even_and_independent() -> None:
    """a, and five rows of b and c: 22 shares, 231 pairs at five standard deviations; the seed is fixed."""
    step = counts(0, 0, 0, 0, 2000)
    parties = [np.concatenate([part[4][:5] for part in found[0]]) for found in run_local(taken(step), seed=b"triples")]
    shares = np.unpackbits(np.concatenate(parties), axis=1).astype(float)
    tolerance = 5 / np.sqrt(shares.shape[1])
    assert (np.abs(2 * shares.mean(axis=1) - 1) < tolerance).all()
    for own, others in ((slice(0, 11), slice(11, 17)), (slice(11, 22), slice(0, 6))):
        one_party = np.corrcoef(shares[own])  # a party's own a, b, c say nothing of each other
        assert (np.abs(one_party - np.eye(11)) < tolerance).all()
        assert (np.abs(np.corrcoef(shares[own], shares[others])[:11, 11:]) < tolerance).all()  # nor of the peer's a, b


class Numbered:
    """In place of `Transfers`: of each width bytes 0, 1, 2, ... modulo 251, which show their place in the stream."""

    def __init__(self) -> None:
        self._next = dict.fromkeys(WIDTHS.tolist(), 0)

    def random_strings(self, sizes: list[tuple[int, int]]) -> Any:
        for width, octets in sizes:
            first = self._next[width]
            self._next[width] += octets
            numbers = np.arange(first, first + octets) % 251
            zero = np.zeros((width, octets), dtype=np.uint8)
            yield zero, zero, numbers.astype(np.uint8), zero


few = st.lists(st.integers(0, 12), min_size=3, max_size=3).map(lambda sizes: counts(*sizes))


@given(st.lists(st.tuples(few, st.lists(few, max_size=4), st.booleans()), max_size=6))
def test_each_byte_is_given_out_once_in_order(steps: list[tuple[Counts, list[Counts], bool]]) -> None:
    source = TripleSource(Session(0, None, bytes(32)), Numbered())  # type: ignore[arg-type]
    seen: list[list[int]] = [[] for _ in WIDTHS]
    for reserved, sizes, stocked in steps:
        (source.stock if stocked else source.reserve)(reserved)
        for size in sizes:
            try:
                a, _, _ = source.take(size)
            except ValueError:
                continue
            for found, rows in zip(seen, rows_of(a, size, np.ones_like(WIDTHS)), strict=True):
                found += rows[0].tolist()
    for found in seen:
        assert found == [number % 251 for number in range(len(found))]


def test_no_more_is_made_than_what_is_not_in_store() -> None:
    transfers = Numbered()
    source = TripleSource(Session(0, None, bytes(32)), transfers)  # type: ignore[arg-type]
    made = []
    for asked in (8, 8, 5, 11, 0):
        source.reserve(counts(asked))
        made.append(transfers._next[1])
    source.take(counts(4))
    source.reserve(counts(8))
    assert [*made, transfers._next[1]] == [8, 8, 8, 11, 11, 12]


def test_the_widths_are_those_of_the_wire() -> None:
    """Both parties make triples of them, in this order."""
    assert WIDTHS.tolist() == [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]


def test_more_than_was_reserved_is_refused_and_nothing_is_lost() -> None:
    source = TripleSource(Session(0, None, bytes(32)), Numbered())  # type: ignore[arg-type]
    source.reserve(counts(8, 2))
    for asked in (counts(9), counts(1, 3), counts(0, 0, 1)):
        with pytest.raises(ValueError, match="bytes of triples were asked for"):
            source.take(asked)
    assert source.take(counts(8, 2))[0].tolist() == [*range(8), 0, 1]
    with pytest.raises(ValueError, match="are in store"):
        source.take(counts(1))
