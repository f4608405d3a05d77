"""A group in which base OTs cost nothing, for tests of what stands upon them.

It is that of the integers modulo the order of the curve's group, written in as many bytes: sessions compute and send
what they do on the curve, message by message and byte for byte of the same sizes, but a discrete logarithm is a
division. Of a session about few rows the curve takes four fifths of the time. It stays where OT is tested itself
(`tests/smc/ot` and the files of `tests/smc`), where transcripts are pinned, and in every program that a test starts.

A folder's conftest.py imports `toy_curve`; a file that needs the curve there overrides it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from nacl.exceptions import CryptoError

from smc.ot import elliptic

ORDER = 2**252 + 27742317777372353535851937790883648493  # RFC 8032
BASE = 9


SIGN = 1 << 255


def _written(value: int) -> bytes:
    """Write a number modulo the order as a sign and the lesser of it and its negative, as a point is a sign and y."""
    value %= ORDER
    return (value if 2 * value < ORDER else SIGN | ORDER - value).to_bytes(elliptic.POINT, "little")


def _read(point: bytes) -> int:
    value = int.from_bytes(point, "little")
    return value if value < SIGN else SIGN - value


def without_signs(points: Sequence[bytes]) -> list[bytes]:
    """Return what stands for u: it is equal for a point and its negative."""
    return [abs(_read(point)).to_bytes(elliptic.POINT, "little") for point in points]


class ToyCurve:
    """What `smc.ot.elliptic` calls of libsodium, by the same names; the same scalars are drawn."""

    @staticmethod
    def crypto_core_ed25519_is_valid_point(point: bytes) -> bool:
        return 0 < abs(_read(point)) < ORDER

    @staticmethod
    def crypto_core_ed25519_from_uniform(digest: bytes) -> bytes:
        return _written(_read(digest))

    @classmethod
    def crypto_scalarmult(cls, scalar: bytes, point: bytes) -> bytes:
        if not cls.crypto_core_ed25519_is_valid_point(point):
            raise CryptoError
        return without_signs([_written(_read(scalar) * _read(point))])[0]

    @staticmethod
    def crypto_scalarmult_ed25519_base_noclamp(scalar: bytes) -> bytes:
        return _written(_read(scalar) * BASE)

    @staticmethod
    def crypto_core_ed25519_add(one: bytes, other: bytes) -> bytes:
        return _written(_read(one) + _read(other))

    @staticmethod
    def crypto_core_ed25519_sub(one: bytes, other: bytes) -> bytes:
        return _written(_read(one) - _read(other))


def lay(patch: pytest.MonkeyPatch) -> None:
    """Put the toy group in the place of the curve."""
    patch.setattr(elliptic, "sodium", ToyCurve)
    patch.setattr(elliptic, "_on_curve25519", without_signs)


@pytest.fixture(scope="module", autouse=True)
def toy_curve() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        lay(patch)
        yield
