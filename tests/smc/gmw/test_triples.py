"""Triples are products, look random, and serve once."""

from __future__ import annotations

from itertools import count
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from smc.gmw.triples import TripleSource
from smc.local import run_local
from smc.ot import Transfers
from smc.session import Session


def taken(*sizes: int) -> Any:
    """Reserve and take, size by size; the parts of all triples, uint8[3, sum of sizes]."""

    def program(session: Session) -> np.ndarray:
        source = TripleSource(session, Transfers(session))
        parts = []
        for size in sizes:
            source.reserve(size)
            store, first = source.take(size)
            parts.append(store[:, first : first + size].copy())
        return np.concatenate(parts, axis=1)

    return program


@pytest.mark.parametrize("sizes", [(0,), (1,), (7, 1, 8), (9, 0, 16, 3), (1000,)])
def test_the_third_part_is_the_product_of_the_first_two(sizes: tuple[int, ...]) -> None:
    left, right = run_local(taken(*sizes))
    assert left.shape == right.shape == (3, sum(sizes))
    a, b, c = left ^ right
    assert np.array_equal(c, a & b)


def test_every_share_of_every_part_is_even_and_independent() -> None:
    shares = np.unpackbits(np.concatenate(run_local(taken(4000), seed=b"triples")), axis=1).astype(float)
    tolerance = 5 / np.sqrt(shares.shape[1])  # standard deviations; the seed is fixed, so this cannot flicker
    assert (np.abs(2 * shares.mean(axis=1) - 1) < tolerance).all()
    one_party = np.corrcoef(shares[:3])  # a party's own a, b, c say nothing of each other
    assert (np.abs(one_party - np.eye(3)) < tolerance).all()
    others = np.corrcoef(shares)[:2, 3:5]  # nor a, b of the peer's
    assert (np.abs(others) < tolerance).all()


class Numbered:
    """In place of `Transfers`: bytes 0, 1, 2, ... modulo 251, which show their place in the stream."""

    def __init__(self) -> None:
        self._count = count()

    def random_bits(self, words: int) -> Any:
        numbers = np.array([next(self._count) % 251 for _ in range(8 * words)], dtype=np.uint8).view(np.uint64)
        zero = np.zeros(words, dtype=np.uint64)
        return numbers, zero, zero, zero


@given(st.lists(st.tuples(st.integers(0, 40), st.lists(st.integers(0, 12), max_size=4)), max_size=6))
def test_each_byte_is_given_out_once_in_order(steps: list[tuple[int, list[int]]]) -> None:
    source = TripleSource(Session(0, None, bytes(32)), Numbered())  # type: ignore[arg-type]
    seen: list[int] = []
    for reserved, sizes in steps:
        source.reserve(reserved)
        for size in sizes:
            try:
                store, first = source.take(size)
            except ValueError:
                continue
            seen += store[0, first : first + size].tolist()
    assert seen == [number % 251 for number in range(len(seen))]


def test_more_than_was_reserved_is_refused_and_nothing_is_lost() -> None:
    source = TripleSource(Session(0, None, bytes(32)), Numbered())  # type: ignore[arg-type]
    source.reserve(8)
    with pytest.raises(ValueError, match="9 bytes of triples were asked for, 8 are in store"):
        source.take(9)
    store, first = source.take(8)
    assert store[0, first : first + 8].tolist() == list(range(8))
    with pytest.raises(ValueError, match="0 are in store"):
        source.take(1)
