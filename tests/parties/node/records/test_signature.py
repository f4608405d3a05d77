"""Signatures: of whom, over what, in which form."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed, decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.link.identity import Identity
from parties.node.records import check_signature, sign
from parties.node.records.signature import ORDER, SIGNATURE_BYTES
from smc.errors import InputError

RESULT: dict[str, Any] = {"tree": "7e" * 32, "opened": {"leaf": 3}, "name": "Fälle"}
JSON = r'{"name":"F\u00e4lle","opened":{"leaf":3},"tree":"' + "7e" * 32 + '"}'


def test_a_signature_is_what_another_program_would_check(identities: dict[str, Identity]) -> None:
    """ECDSA over SHA-256 of the documented bytes: purpose, line feed, canonical JSON."""
    signature = sign(identities["alice"], RESULT)
    assert len(signature) == SIGNATURE_BYTES
    digest = hashlib.sha256(f"smc.records.job.v1\n{JSON}".encode()).digest()
    r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:])
    key = identities["alice"].certificate.public_key()
    assert isinstance(key, ec.EllipticCurvePublicKey)
    key.verify(encode_dss_signature(r, s), digest, ec.ECDSA(Prehashed(hashes.SHA256())))
    assert key.curve.group_order == ORDER


def test_what_another_program_signs_is_accepted(identities: dict[str, Identity]) -> None:
    key = load_pem_private_key(identities["bob"].key_pem, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    r, s = decode_dss_signature(key.sign(f"smc.records.job.v1\n{JSON}".encode(), ec.ECDSA(hashes.SHA256())))
    low, high = (r.to_bytes(32) + value.to_bytes(32) for value in (min(s, ORDER - s), max(s, ORDER - s)))
    assert check_signature(identities["bob"].certificate, RESULT, low)
    assert not check_signature(identities["bob"].certificate, RESULT, high)  # the same, spelt otherwise


def test_order_and_spelling_of_the_object_do_not_matter(identities: dict[str, Identity]) -> None:
    signature = sign(identities["alice"], RESULT)
    assert check_signature(identities["alice"].certificate, dict(reversed(RESULT.items())), signature)


@pytest.mark.parametrize("change", [{"tree": "7f" * 32}, {"more": 1}, {"opened": {"leaf": 3.0}}, {"opened": {}}])
def test_a_signature_is_for_one_object_only(identities: dict[str, Identity], change: dict[str, Any]) -> None:
    assert not check_signature(identities["alice"].certificate, RESULT | change, sign(identities["alice"], RESULT))


def test_a_signature_is_for_one_signer_and_one_purpose(identities: dict[str, Identity]) -> None:
    alice = identities["alice"]
    assert not check_signature(identities["bob"].certificate, RESULT, sign(alice, RESULT))
    assert not check_signature(alice.certificate, RESULT, sign(alice, RESULT, "head"))
    assert not check_signature(alice.certificate, RESULT, sign(alice, RESULT), "head")
    assert check_signature(alice.certificate, RESULT, sign(alice, RESULT, "head"), "head")


@settings(max_examples=40)
@given(st.data())
def test_no_other_bytes_are_a_signature(identities: dict[str, Identity], data: st.DataObject) -> None:
    signature = sign(identities["alice"], RESULT)
    assert check_signature(identities["alice"].certificate, RESULT, signature)
    bit = data.draw(st.integers(0, 8 * SIGNATURE_BYTES - 1))
    flipped = (int.from_bytes(signature) ^ (1 << bit)).to_bytes(SIGNATURE_BYTES)
    for other in (flipped, signature + b"\0", signature[:-1], b"", bytes(64), data.draw(st.binary(max_size=70))):
        assert not check_signature(identities["alice"].certificate, RESULT, other)


def test_what_is_not_json_cannot_be_signed(identities: dict[str, Identity]) -> None:
    with pytest.raises(InputError, match="JSON"):
        sign(identities["alice"], {"x": float("nan")})
    assert not check_signature(identities["alice"].certificate, {"x": float("nan")}, sign(identities["alice"], RESULT))
