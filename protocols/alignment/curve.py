"""The group of Diffie-Hellman matching: Curve25519, by libsodium through PyNaCl.

A point is the u-coordinate of X25519 (RFC 7748), 32 bytes. A text becomes a point by Elligator 2, the map of
`curve25519_XMD:SHA-512_ELL2_NU_` in RFC 9380, from SHA-256. The cofactor is cleared by the multiplication: a scalar is
8 times a uniform number of 251 bits, plus 2^254. So a product has no component of small order, and one encoding. The
map reaches about half of the points, each from two field elements, and a preimage is easily found; so a random oracle
can be programmed, and the decisional Diffie-Hellman assumption carries over to its images.

Encodings of 2^255 - 19 and above are refused, and so are points of small order. A u-coordinate of the twist is not
refused. The twist is as hard, and no own point lies on it.

Why not ristretto255 (RFC 9496): the libsodium of PyNaCl lacks it. A product takes 31 us here, and 45 us there.

libsodium works without Python's lock, so threads use several cores: about eight, as the map needs the lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import gmpy2
import numpy as np
from nacl._sodium import ffi, lib

from smc.errors import ProtocolError
from smc.primitives.arrays import Octets

POINT = 32
COFACTOR = 8
ORDER = gmpy2.mpz(2**252 + 27742317777372353535851937790883648493)  # of the large subgroup, a prime
PRIME = gmpy2.mpz(2**255 - 19)
A = 486662  # of the curve v^2 = u^3 + A u^2 + u
HALF_A = A // 2
MASK = 2**255 - 1
PIECE = 512  # points that a thread takes at once


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_threads(work: Callable[[Octets, Octets], None], values: Octets) -> Octets:
    """Return the points that a function computes from values, uint8[values, 32].

    Args:
        work: Fills its second argument, uint8[n, 32], from its first, uint8[n, 32].
        values: uint8[values, 32].
    """
    out = np.empty((len(values), POINT), dtype=np.uint8)
    starts = range(0, len(values), PIECE)
    with ThreadPoolExecutor(max(1, min(cores(), len(starts)))) as threads:
        for _ in threads.map(lambda start: work(values[start : start + PIECE], out[start : start + PIECE]), starts):
            pass
    return out


class Curve:
    """Operations on many points of Curve25519 at once."""

    def points(self, digests: Octets) -> Octets:
        """Return the points of uniform digests, uint8[digests, 32]."""
        return in_threads(_mapped, digests)

    def products(self, scalar: bytes, points: Octets) -> Octets:
        """Return the product of each point and a scalar, uint8[points, 32].

        Args:
            scalar: The party's secret scalar, 32 bytes.
            points: Encoded points, uint8[points, 32].

        Raises:
            ProtocolError: A point has small order.
        """
        return in_threads(lambda some, out: _multiplied(scalar, some, out), points)

    def each_product(self, scalars: Octets, points: Octets) -> Octets:
        """Return each point times its own scalar, uint8[points, 32].

        Args:
            scalars: uint8[points, 32].
            points: uint8[points, 32].

        Raises:
            ProtocolError: A point has small order.
        """

        def multiply(pairs: Octets, out: Octets) -> None:
            for row, pair in enumerate(pairs):
                _multiplied(pair[:POINT].tobytes(), pair[POINT:], out[row])

        return in_threads(multiply, np.hstack([scalars, points]))


def _mapped(digests: Octets, out: Octets) -> None:
    """Map field elements r to u-coordinates by Elligator 2.

    Let w = -A / (1 + 2 r^2), and chi the quadratic character of w^3 + A w^2 + w. The u-coordinate is w if chi is 1,
    else -A - w. It is computed as chi (w + A / 2) - A / 2, without a branch. The character is taken of the number times
    a random square, so its time does not depend on a key.
    """
    elements, blinds = _numbers(digests), _numbers(np.frombuffer(os.urandom(digests.size), dtype=np.uint8))
    inverses = _inverses([1 + 2 * element * element % PRIME for element in elements])
    found = []
    for inverse, blind in zip(inverses, blinds, strict=True):
        w = -A * inverse % PRIME
        value = w * (w * (w + A) + 1) % PRIME
        character = gmpy2.legendre(value * blind % PRIME * blind % PRIME, PRIME)
        found.append(int((character * (w + HALF_A) - HALF_A) % PRIME).to_bytes(POINT, "little"))
    out.reshape(-1)[:] = np.frombuffer(b"".join(found), dtype=np.uint8)


def _numbers(digests: Octets) -> list[gmpy2.mpz]:
    """Return 255 bits of each digest as a number."""
    raw = digests.tobytes()
    return [
        gmpy2.mpz(int.from_bytes(raw[start : start + POINT], "little") & MASK) for start in range(0, len(raw), POINT)
    ]


def _inverses(numbers: list[gmpy2.mpz]) -> list[gmpy2.mpz]:
    """Return the inverses of numbers modulo the prime by one inversion (Montgomery, 1987)."""
    products = [gmpy2.mpz(1)]
    for number in numbers:
        products.append(products[-1] * number % PRIME)
    inverse = gmpy2.invert(products[-1], PRIME)
    found = []
    for number, product in zip(reversed(numbers), reversed(products[:-1]), strict=True):
        found.append(inverse * product % PRIME)
        inverse = inverse * number % PRIME
    return found[::-1]


def inverse_scalars(scalars: Octets) -> Octets:
    """Return for each scalar the one that takes its product back, uint8[scalars, 32].

    A product depends on its scalar up to the sign and modulo the order, and scalars are 2^254 plus a multiple of 8.
    Either the inverse or its negative has this form, modulo 8 times the order; neither has it with a probability below
    2^-120.

    Args:
        scalars: uint8[scalars, 32], as X25519 reads them: 255 bits, the highest set and the lowest three cleared.
    """
    found, whole = [], COFACTOR * ORDER
    for scalar in _numbers(scalars):
        clamped = (scalar | 1 << 254) & ~gmpy2.mpz(COFACTOR - 1)
        inverse = gmpy2.invert(clamped * COFACTOR % ORDER, ORDER) * COFACTOR
        has_form = inverse >> 254 & 1
        found.append(int(has_form * inverse + (1 - has_form) * (whole - inverse)).to_bytes(POINT, "little"))
    return np.frombuffer(b"".join(found), dtype=np.uint8).reshape(-1, POINT)


def _multiplied(scalar: bytes, points: Octets, out: Octets) -> None:
    source, target = ffi.from_buffer("unsigned char[]", points), ffi.from_buffer("unsigned char[]", out)
    for start in range(0, points.size, POINT):
        if lib.crypto_scalarmult(target + start, scalar, source + start):
            raise ProtocolError("the peer sent a point of small order in the matching of keys")


def check_canonical(points: Octets) -> None:
    """Raise ProtocolError if the encoding of a point is not canonical: a number below 2^255 - 19.

    Args:
        points: Encodings of the peer, uint8[points, 32].
    """
    words = np.ascontiguousarray(points).view("<u8")
    top = words[:, 3] >= np.uint64(2**63 - 1)
    full = np.uint64(2**64 - 1)
    large = top & (
        (words[:, 3] > np.uint64(2**63 - 1))
        | ((words[:, 2] == full) & (words[:, 1] == full) & (words[:, 0] >= np.uint64(2**64 - 19)))
    )
    if large.any():
        raise ProtocolError("the peer sent a point that is no canonical encoding in the matching of keys")
