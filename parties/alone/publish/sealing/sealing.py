"""Encryption of bytes to an EC P-256 key: hybrid public-key encryption, RFC 9180, in base mode.

DHKEM(P-256, HKDF-SHA256), HKDF-SHA256, AES-128-GCM; single shot. The bytes are bound to `info`, which decryption must
repeat. The ephemeral key is derived from `seed` (the RFC's DeriveKeyPair), so a repeated run makes the same bytes. A
seed is secret and used for one plaintext; another `info` gives another key.

Base mode does not authenticate the sender: the recipient must compare the contributions of the two parties.
"""

from __future__ import annotations

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes, hmac
from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDH,
    SECP256R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
    derive_private_key,
)
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from smc.errors import InputError

POINT_BYTES, SEED_BYTES = 65, 32
_KEY_BYTES, _NONCE_BYTES, _SECRET_BYTES = 16, 12, 32
_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # of P-256's group
_KEM = b"KEM" + (0x0010).to_bytes(2, "big")
_SUITE = b"HPKE" + b"".join(number.to_bytes(2, "big") for number in (0x0010, 0x0001, 0x0001))


def seal(key: EllipticCurvePublicKey, info: bytes, data: bytes, seed: bytes, associated: bytes = b"") -> bytes:
    """Return the data encrypted to the key: ephemeral public key, 65 bytes, and ciphertext, 16 bytes longer.

    Args:
        key: the recipient's public key
        info: data that the encryption is bound to
        data: the plaintext
        seed: secret seed of the ephemeral key, 32 bytes or more, used for one plaintext
        associated: associated data of the cipher
    """
    ephemeral = derived(seed)
    point = _point(ephemeral.public_key())
    shared = _shared(ephemeral.exchange(ECDH(), key), point, _point(key))
    cipher, nonce = _schedule(shared, info)
    return point + cipher.encrypt(nonce, data, associated)


def unseal(key: EllipticCurvePrivateKey, info: bytes, sealed: bytes, associated: bytes = b"") -> bytes:
    """Return the decrypted data.

    Args:
        key: the recipient's private key
        info: data that the encryption is bound to
        sealed: result of `seal`
        associated: associated data of the cipher

    Raises:
        InputError: the data was changed, or sealed to another key or with another `info` or `associated`
    """
    point, data = sealed[:POINT_BYTES], sealed[POINT_BYTES:]
    try:
        ephemeral = EllipticCurvePublicKey.from_encoded_point(SECP256R1(), point)
        shared = _shared(key.exchange(ECDH(), ephemeral), point, _point(key.public_key()))
        cipher, nonce = _schedule(shared, info)
        return cipher.decrypt(nonce, data, associated)
    except (InvalidTag, ValueError):
        raise InputError("the sealed data was changed, or sealed for another job or key") from None


def derived(seed: bytes) -> EllipticCurvePrivateKey:
    """Return the private key derived from a seed of 32 bytes or more (RFC 9180, 7.1.3)."""
    secret = _extract(_KEM, b"", b"dkp_prk", seed)
    for counter in range(256):
        number = int.from_bytes(_expand(_KEM, secret, b"candidate", bytes([counter]), _SECRET_BYTES), "big")
        if 0 < number < _ORDER:
            return derive_private_key(number, SECP256R1())
    raise RuntimeError("no key follows from the seed")  # probability 2^-8192


def _shared(exchanged: bytes, point: bytes, recipient: bytes) -> bytes:
    secret = _extract(_KEM, b"", b"eae_prk", exchanged)
    return _expand(_KEM, secret, b"shared_secret", point + recipient, _SECRET_BYTES)


def _schedule(shared: bytes, info: bytes) -> tuple[AESGCM, bytes]:
    """Return the cipher with its key, and the nonce, for the only message (RFC 9180, 5.1, mode_base)."""
    context = b"\0" + _extract(_SUITE, b"", b"psk_id_hash", b"") + _extract(_SUITE, b"", b"info_hash", info)
    secret = _extract(_SUITE, shared, b"secret", b"")
    key = _expand(_SUITE, secret, b"key", context, _KEY_BYTES)
    return AESGCM(key), _expand(_SUITE, secret, b"base_nonce", context, _NONCE_BYTES)


def _extract(suite: bytes, salt: bytes, label: bytes, data: bytes) -> bytes:
    """Return LabeledExtract of `data` (RFC 9180, 4): HKDF-Extract is HMAC under the salt."""
    mac = hmac.HMAC(salt or bytes(_SECRET_BYTES), hashes.SHA256())
    mac.update(b"HPKE-v1" + suite + label + data)
    return mac.finalize()


def _expand(suite: bytes, secret: bytes, label: bytes, info: bytes, length: int) -> bytes:
    """Return LabeledExpand: `length` bytes derived from the secret (RFC 9180, 4)."""
    labelled = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info
    return HKDFExpand(hashes.SHA256(), length, labelled).derive(secret)


def _point(key: EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
