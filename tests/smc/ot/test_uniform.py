"""What a party sees or keeps secret is uniform, bit by bit, over many sessions and many transfers.

All randomness is from fixed seeds. Limits are seven standard deviations (2.6e-12 a comparison), and quantiles of 1e-7:
with other seeds all tests of this file together would fail less than once in 10^6 runs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gmpy2
import numpy as np
import pytest

from smc.local import run_local
from smc.ot import (
    EllipticReceiver,
    EllipticSender,
    ExtensionReceiver,
    ExtensionSender,
    IknpReceiver,
    IknpSender,
    SoftSpokenReceiver,
    SoftSpokenSender,
    TrapdoorReceiver,
    TrapdoorSender,
    trapdoor,
)
from smc.ot.ferret import FerretReceiver, FerretSender
from smc.primitives.prg import Prg
from smc.session import Session

ROLES: dict[str, tuple[Callable[[Session, str], Any], Callable[[Session, str], Any]]] = {
    "elliptic": (EllipticSender, EllipticReceiver),
    "trapdoor": (TrapdoorSender, TrapdoorReceiver),
    "extension": (ExtensionSender, ExtensionReceiver),
    "iknp": (IknpSender, IknpReceiver),
    "softspoken2": (partial(SoftSpokenSender, k=2), partial(SoftSpokenReceiver, k=2)),
    "softspoken8": (partial(SoftSpokenSender, k=8), partial(SoftSpokenReceiver, k=8)),
    "ferret": (FerretSender, FerretReceiver),
}
LIMIT = 7  # standard deviations


def assert_balanced(blocks: np.ndarray, but: tuple[int, ...] = ()) -> None:
    """Every bit of blocks uint64[n, 2] is 1 in half of them, and every two bits are equal in half of them."""
    signs = (
        np.unpackbits(np.ascontiguousarray(blocks).view(np.uint8), axis=1, bitorder="little").astype(np.int64) * 2 - 1
    )
    signs = np.delete(signs, but, axis=1)
    bound = LIMIT * len(blocks) ** 0.5
    assert np.abs(signs.sum(axis=0)).max() < bound
    products = signs.T @ signs
    np.fill_diagonal(products, 0)
    assert np.abs(products).max() < bound


def test_the_balance_is_a_test() -> None:
    random = np.random.default_rng(1).integers(0, 1 << 64, (1000, 2), dtype=np.uint64)
    assert_balanced(random)
    fixed, copied = random.copy(), random.copy()
    fixed[:, 1] = 0x0123456789ABCDEF
    copied[:, 1] = copied[:, 0] ^ np.uint64(77)
    for bad in (fixed, copied):
        with pytest.raises(AssertionError):
            assert_balanced(bad)


@pytest.mark.parametrize("name", ROLES)
def test_delta_has_127_uniform_bits(name: str) -> None:
    """Over 1000 sessions; the lowest bit is 1. A delta with fixed bits would be found by trying the others."""
    make = ROLES[name][0]
    draws = (Prg(number.to_bytes(16)) for number in range(1000))
    deltas = np.stack([make(Session(0, None, bytes(32), prg), "ot").delta for prg in draws])  # type: ignore[arg-type]
    assert (deltas[:, 0] & np.uint64(1) == 1).all()
    assert_balanced(deltas, but=(0,))


@pytest.mark.parametrize("name", [name for name in ROLES if name != "trapdoor"])
def test_blocks_and_keys_are_uniform(name: str) -> None:
    """The sender's zero messages and both keys of its OTs, for the receiver's worst choice: all the same."""
    count = 500 if name == "elliptic" else 4096
    choice = np.zeros(count, dtype=np.uint8)

    def program(session: Session) -> Any:
        role = ROLES[name][session.party](session, "ot")
        return (role.correlated(count), role.random(count)) if session.party == 0 else (
            role.correlated(choice), role.random(choice)
        )  # fmt: skip

    (zero, keys), _ = run_local(program, seed=b"blocks and keys")
    assert_balanced(zero, but=(0,) if name == "ferret" else ())
    for blocks in (keys[0], keys[1], keys[0] ^ keys[1]):
        assert_balanced(blocks)


# The trapdoor OT: what the sender sees.


@pytest.fixture(scope="module")
def sent() -> tuple[int, list[list[int]]]:
    """A modulus, and what a receiver sends in 4096 OTs: where it chooses message 0, and where message 1.

    The modulus is the product of two primes from a seed: a key of OpenSSL's would be another one each time.
    """
    draw, half = Prg(b"of the two primes"[:16]), trapdoor.MODULUS_BITS // 2
    p, q = (
        gmpy2.next_prime(int.from_bytes(draw.bytes(half // 8).tobytes(), "little") | 3 << (half - 2)) for _ in (0, 1)
    )
    inverse = gmpy2.invert(trapdoor.EXPONENT, (p - 1) * (q - 1))
    choice = np.arange(4096, dtype=np.uint8) & 1

    def program(session: Session) -> Any:
        if session.party == 1:
            return TrapdoorReceiver(session, "ot").random(choice)
        proof = trapdoor._Values(session, "ot", p * q).proof
        published = trapdoor._as_bytes([p * q, *(gmpy2.powmod(value, inverse, p * q) for value in proof)])
        session.send("ot.trapdoor.modulus", published)
        shape = (trapdoor.BATCH, trapdoor.MODULUS_BYTES)
        return np.concatenate(
            [session.receive("ot.trapdoor.values", np.uint8, shape) for _ in range(4096 // trapdoor.BATCH)]
        )

    values, _ = run_local(program, seed=b"offers")
    return int(p * q), [[int.from_bytes(row.tobytes(), "little") for row in values[choice == side]] for side in (0, 1)]


@pytest.mark.parametrize("side", [0, 1])
def test_sent_values_are_uniform_below_the_modulus(sent: tuple[int, list[list[int]]], side: int) -> None:
    """Whatever the choice, by chi-square in 64 equal parts of Z_N and by the last six bits.

    The limit is the quantile of 10^-7 for 63 degrees of freedom: values of a smaller range would tell the sender the
    choice.
    """
    modulus, values = sent[0], sent[1][side]
    assert max(values) < modulus
    assert len(set(values)) == len(values)
    for parts in ([64 * value // modulus for value in values], [value & 63 for value in values]):
        counts = np.bincount(parts, minlength=64)
        expected = len(values) / 64
        assert ((counts - expected) ** 2 / expected).sum() < 139.6


def test_sent_values_reach_both_ends(sent: tuple[int, list[list[int]]]) -> None:
    """The greatest and the least of 2048 uniform values lie within 0.8 % of N of its ends, but for 10^-7."""
    modulus = sent[0]
    for values in sent[1]:
        assert min(values) < modulus * 8 // 1000
        assert modulus - max(values) < modulus * 8 // 1000
