"""Signatures of a party: ECDSA on P-256 with SHA-256 over canonical JSON, with the key of its certificate.

A signature is bound to its purpose and is invalid for any other. It is 64 bytes, r and s, big-endian. Only the lower of
the two equivalent values of s is valid, so that a second signature cannot be made from one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature

from parties.base.canonical import canonical
from parties.link.identity import Identity
from smc.errors import InputError

SIGNATURE_BYTES = 64
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # of the group P-256 (FIPS 186-5)

Purpose: TypeAlias = Literal["job", "head", "rows", "budget", "withdrawal", "succession", "seal", "statement", "permit"]

_ALGORITHM = ec.ECDSA(hashes.SHA256())


def sign(identity: Identity, summary: Mapping[str, Any], purpose: Purpose = "job") -> bytes:
    """Return this party's signature of a JSON object, 64 bytes.

    Args:
        identity: Identity of the party.
        summary: The JSON object.
        purpose: Purpose of the signature.

    Raises:
        InputError: The object cannot be written as JSON, or a token refuses to sign.
    """
    r, s = decode_dss_signature(identity.key.sign(_message(summary, purpose), _ALGORITHM))
    return r.to_bytes(32) + min(s, ORDER - s).to_bytes(32)


def check_signature(
    certificate: x509.Certificate, summary: Mapping[str, Any], signature: bytes, purpose: Purpose = "job"
) -> bool:
    """Return whether the holder of the certificate's key signed this JSON object. No input makes it raise.

    Args:
        certificate: The certificate.
        summary: The object.
        signature: The signature, 64 bytes.
        purpose: Purpose of the signature.
    """
    key = certificate.public_key()
    r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:])
    if len(signature) != SIGNATURE_BYTES or s > ORDER // 2 or not isinstance(key, ec.EllipticCurvePublicKey):
        return False
    try:
        key.verify(encode_dss_signature(r, s), _message(summary, purpose), _ALGORITHM)
    except (InvalidSignature, InputError):  # the latter: what is not JSON cannot be signed
        return False
    return True


def _message(summary: Mapping[str, Any], purpose: Purpose) -> bytes:
    return f"smc.records.{purpose}.v1\n{canonical(summary)}".encode()
