"""Additive shares from XOR shares: a bit is the bit, a product the product modulo 2^64, whatever the shares are."""

from __future__ import annotations

import numpy as np
import pytest

from smc.arithmetic.shares import bits_to_shares, product
from smc.local import run_local
from smc.ot import Transfers
from smc.session import Session


def test_shares_of_bits_sum_to_the_bits() -> None:
    shared = np.random.default_rng(3).integers(0, 2, (2, 5, 9), dtype=np.uint8)

    def program(session: Session) -> np.ndarray:
        return bits_to_shares(Transfers(session), shared[session.party])

    left, right = run_local(program)
    assert np.array_equal(left + right, (shared[0] ^ shared[1]).astype(np.uint64))


@pytest.mark.parametrize("width", [1, 7, 64])
def test_shares_of_a_product_sum_to_the_product(width: int) -> None:
    """With each pair of shares of a bit among them, and words beyond 2^63."""
    rng = np.random.default_rng(width)
    bits = rng.integers(0, 2, (2, width, 12), dtype=np.uint8)
    bits[:, 0, :4] = [[0, 0, 1, 1], [0, 1, 0, 1]]
    words = rng.integers(0, 1 << 64, (2, 12), dtype=np.uint64)

    def program(session: Session) -> np.ndarray:
        return product(Transfers(session), bits[session.party], words[session.party])

    left, right = run_local(program)
    weights = np.uint64(1) << np.arange(width, dtype=np.uint64)[:, None]
    factor = ((bits[0] ^ bits[1]) * weights).sum(axis=0, dtype=np.uint64)
    assert np.array_equal(left + right, factor * (words[0] + words[1]))
