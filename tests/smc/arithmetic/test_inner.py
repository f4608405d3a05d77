"""Inner products of bits and vectors: shares of the sums that NumPy finds, on every engine and modulus."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smc.arithmetic import InnerProducts, inner
from smc.engines import make_engine
from smc.local import run_local
from smc.ot import Transfers
from smc.recipes import EngineName
from smc.session import Session

KINDS = [np.uint16, np.uint32, np.uint64]


def drawn(sizes: list[tuple[int, int]], kind: Any, seed: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    bits = [rng.integers(0, 2, count, dtype=np.uint8) for count, _ in sizes]
    return bits, [rng.integers(0, np.iinfo(kind).max, size, dtype=kind, endpoint=True) for size in sizes]


def sums(bits: list[np.ndarray], vectors: list[np.ndarray]) -> list[list[int]]:
    """The sums by Python's integers."""
    modulus = 1 << 8 * vectors[0].itemsize
    return [
        [sum(int(v) for b, v in zip(one, column, strict=True) if b) % modulus for column in many.T]
        for one, many in zip(bits, vectors, strict=True)
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("owner", [0, 1])
@pytest.mark.parametrize("name", ["clear", "yao", "gmw", "mixed", "lean"])
def test_the_shares_add_up_to_the_sums(name: EngineName, owner: int, kind: Any) -> None:
    """Modulo 2^w as they are, and modulo 2^64 once they are lifted."""
    sizes = [(5, 3), (0, 2), (70, 9), (3, 0), (1, 1)]
    bits, vectors = drawn(sizes, kind, 7)

    def program(session: Session) -> tuple[np.ndarray, np.ndarray]:
        engine = make_engine(session, name)
        if session.party == owner:
            shares = engine.inner.owned(sizes, lambda i, part: vectors[i][part], kind)
        else:
            shares = engine.inner.chosen(sizes, lambda i, part: bits[i][part], kind)
        return np.concatenate(shares), engine.inner.lifted(np.concatenate(shares))

    (left, wide_left), (right, wide_right) = run_local(program)
    expected = [number for one in sums(bits, vectors) for number in one]
    assert (left + right).tolist() == expected
    assert (wide_left + wide_right).tolist() == expected


@settings(max_examples=12, deadline=None)
@given(
    sizes=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 20)), min_size=1, max_size=5),
    most=st.integers(1, 400),
    seed=st.integers(0, 9),
)
def test_messages_are_cut_anywhere(sizes: list[tuple[int, int]], most: int, seed: int) -> None:
    """Cut into messages of any length, the sums stay; and no message is longer than one vector needs."""
    bits, vectors = drawn(sizes, np.uint16, seed)

    def program(session: Session) -> list[np.ndarray]:
        products = InnerProducts(session, Transfers(session))
        if session.party == 0:
            return products.owned(sizes, lambda i, part: vectors[i][part], np.uint16)
        return products.chosen(sizes, lambda i, part: bits[i][part], np.uint16)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inner, "MESSAGE_BYTES", most)
        left, right = run_local(program)
    assert [(a + b).tolist() for a, b in zip(left, right, strict=True)] == sums(bits, vectors)


def test_the_owners_message_is_uniform_whatever_its_vectors_are() -> None:
    """Chi-square of the bytes of 2^15 numbers, 255 degrees of freedom: wrong in 4 tests once in 10^6 runs."""
    for value in (0, 0xFFFF):
        for bit in (0, 1):
            seen: list[np.ndarray] = []

            def program(session: Session, value: int = value, bit: int = bit, seen: list[np.ndarray] = seen) -> None:
                products = InnerProducts(session, Transfers(session))
                if session.party == 0:
                    send = session.send
                    session.send = lambda step, array: (seen.append(array), send(step, array))  # type: ignore[method-assign,func-returns-value]
                    products.owned([(512, 64)], lambda _, part: np.full((512, 64), value, np.uint16), np.uint16)
                else:
                    products.chosen([(512, 64)], lambda _, part: np.full(512, bit, np.uint8), np.uint16)

            run_local(program)
            observed = np.bincount(seen[-1].view(np.uint8), minlength=256)
            statistic = ((observed - 256) ** 2 / 256).sum()
            assert abs(statistic - 255) < 5.5 * (2 * 255) ** 0.5
