"""Kernels on the points of Ed25519 against libsodium and RFC 8032."""

from __future__ import annotations

import hashlib
import platform
import re

import numpy as np
import pytest
from nacl import bindings as sodium

from smc import kernels
from smc.kernels import native
from smc.kernels.edwards import multiply_base
from smc.ot.elliptic import _add, _multiples, _negative, _rows, _scalars
from smc.primitives.prg import Prg
from smc.session import Session

ORDER = 2**252 + 27742317777372353535851937790883648493
BASE = sodium.crypto_scalarmult_ed25519_base_noclamp((1).to_bytes(32, "little"))
ZERO = (1).to_bytes(32, "little")  # x = 0, y = 1


def scalars(count: int) -> list[bytes]:
    return _scalars(Session(0, None, bytes(32), Prg(bytes(16))), count)  # type: ignore[arg-type]


def points(count: int) -> list[bytes]:
    return [sodium.crypto_scalarmult_ed25519_base_noclamp(scalar) for scalar in scalars(count)]


def listed(rows: np.ndarray) -> list[bytes]:
    return [row.tobytes() for row in rows]


@pytest.mark.parametrize("count", [1, 2, 70])
def test_multiples_are_libsodium_s(count: int) -> None:
    base = points(count)[-1]
    factors = [*scalars(count), *(n.to_bytes(32, "little") for n in (1, 15, 16, ORDER - 1))]
    found = listed(_multiples(base, _rows(b"".join(factors))))
    assert found == [sodium.crypto_scalarmult_ed25519_noclamp(factor, base) for factor in factors]


def test_multiples_where_the_group_ends() -> None:
    factors = [0, ORDER, ORDER + 1, 2**256 - 1]
    found = listed(_multiples(BASE, _rows(b"".join(n.to_bytes(32, "little") for n in factors))))
    last = sodium.crypto_scalarmult_ed25519_base_noclamp(((2**256 - 1) % ORDER).to_bytes(32, "little"))
    assert found == [ZERO, ZERO, BASE, last]


def test_public_keys_of_rfc_8032() -> None:
    """Section 7.1, tests 1 to 3."""
    keys = {
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7"
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
    }
    pairs = [(bytes.fromhex(key[:64]), key[64:]) for key in sorted(keys)]  # secret, public
    factors = []
    for secret, _ in pairs:
        low = bytearray(hashlib.sha512(secret).digest()[:32])
        low[0] &= 248
        low[31] = low[31] & 127 | 64
        factors.append(bytes(low))
    assert [found.hex() for found in listed(_multiples(BASE, _rows(b"".join(factors))))] == [
        public for _, public in pairs
    ]


def test_sums_are_libsodium_s() -> None:
    """Also of a point with itself, its negative and zero: the formulas have no exceptions."""
    point, *others = points(40)
    others += [point, _negative(point), ZERO]
    found = listed(_add(_rows(b"".join(others)), point))
    assert found == [sodium.crypto_core_ed25519_add(other, point) for other in others]
    assert found[-2:] == [ZERO, point]


def test_negatives_are_what_is_taken_away() -> None:
    point, *others = points(9)
    found = listed(_add(_rows(b"".join(others)), _negative(point)))
    assert found == [sodium.crypto_core_ed25519_sub(other, point) for other in others]


@pytest.mark.campaign  # it compiles
@pytest.mark.skipif(platform.machine() != "x86_64", reason="reads this processor's assembly")
def test_the_compiler_makes_no_branch_of_a_mask() -> None:
    """Which it did where it could see that a mask is zero or ones: the only jump left is that of the loop."""
    native.prepare("ot")
    text = native._target_machine().emit_assembly(native._bitcode(kernels.ot_multiply_base, multiply_base))
    (body,) = re.findall(r"^\w*9_multipleB\w*:\n(.*?)\n\.Lfunc_end", text, re.MULTILINE | re.DOTALL)
    assert len(re.findall(r"^\s+j(?!mp)\w+", body, re.MULTILINE)) == 1
