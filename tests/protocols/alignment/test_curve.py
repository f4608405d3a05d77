"""The group of Diffie-Hellman matching, against published vectors and whole numbers."""

from __future__ import annotations

import numpy as np
import pytest

from protocols.alignment.curve import Curve, check_canonical
from smc.errors import ProtocolError

P = 2**255 - 19


def octets(*numbers: int) -> np.ndarray:
    return np.frombuffer(b"".join(number.to_bytes(32, "little") for number in numbers), dtype=np.uint8).reshape(-1, 32)


def of_hex(text: str) -> np.ndarray:
    return np.frombuffer(bytes.fromhex(text), dtype=np.uint8).reshape(1, 32)


def test_a_product_is_that_of_rfc_7748() -> None:
    """Section 5.2, the first and the second vector."""
    for scalar, point, product in [
        (
            "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
            "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
            "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
        ),
        (
            "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
            "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a413",
            "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
        ),
    ]:
        assert Curve().products(bytes.fromhex(scalar), of_hex(point)).tobytes().hex() == product


def test_a_point_of_a_field_element_is_that_of_rfc_9380() -> None:
    """Appendix J.4.2, curve25519_XMD:SHA-512_ELL2_NU_: the field element u[0] and the coordinate Q.x."""
    elements = [
        0x608D892B641F0328523802A6603427C26E55E6F27E71A91A478148D45B5093CD,
        0x46F5B22494BFEAA7F232CC8D054BE68561AF50230234D7D1D63D1D9ABECA8DA5,
    ]
    points = [
        0x51125222DA5E763D97F3C10FCC92EA6860B9CCBBD2EB1285728F566721C1E65B,
        0x7D56D1E08CB0CCB92BAF069C18C49BB5A0DCD927EFF8DCF75CA921EF7F3E6EEB,
    ]
    assert (Curve().points(octets(*elements)) == octets(*points)).all()


def test_products_of_points_have_no_component_of_small_order() -> None:
    """The products k Q and k' P of RFC 9380, J.4.2, with P = 8 Q, are equal if 8 k' = k modulo the group's order."""
    order = 2**252 + 27742317777372353535851937790883648493
    scalar = 2**254 + 8 * 12345678901234567890
    clamped = next(k for k in range(scalar * pow(8, -1, order) % order, 2**258, order) if k % 8 == 0 and k >> 254 == 1)
    q = octets(0x51125222DA5E763D97F3C10FCC92EA6860B9CCBBD2EB1285728F566721C1E65B)
    p = octets(0x1BB913F0C9DAEFA0B3375378FFA534BDA5526C97391952A7789EB976EDFE4D08)
    left, right = (Curve().products(k.to_bytes(32, "little"), point) for k, point in ((scalar, q), (clamped, p)))
    assert (left == right).all()


def test_many_points_are_those_of_each_alone() -> None:
    rng = np.random.default_rng(47)
    digests = rng.integers(0, 256, (1030, 32), dtype=np.uint8)  # more than two pieces
    points = Curve().points(digests)
    for row in (0, 511, 512, 1029):
        assert (points[row] == Curve().points(digests[row : row + 1])[0]).all()
    left, right = (rng.integers(0, 256, 32, dtype=np.uint8).tobytes() for _ in range(2))
    there = Curve().products(right, Curve().products(left, points))
    assert (there == Curve().products(left, Curve().products(right, points))).all()
    assert len(Curve().points(digests[:0])) == 0


@pytest.mark.parametrize("number", [P, P + 1, P + 18, 2**255, 2**256 - 1])
def test_an_encoding_that_is_not_canonical_is_refused(number: int) -> None:
    with pytest.raises(ProtocolError, match="no canonical encoding"):
        check_canonical(octets(9, number))


@pytest.mark.parametrize("number", [0, 9, P - 1, P - 2**64, 2**255 - 2**193])
def test_a_canonical_encoding_is_taken(number: int) -> None:
    check_canonical(octets(number))


@pytest.mark.parametrize("number", [0, 1, P - 1])
def test_a_point_of_small_order_is_refused(number: int) -> None:
    with pytest.raises(ProtocolError, match="small order"):
        Curve().products(bytes(range(32)), octets(number))
