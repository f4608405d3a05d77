"""Encryption of single cells: deterministic by AES-SIV (RFC 5297), randomised by AES-GCM-SIV (RFC 8452).

Deterministic: equal values have equal pseudonyms, which preserves joins and groups; only their equality is disclosed.
Randomised: nothing is disclosed, and equal values have different pseudonyms. Both detect every change. In randomised
mode, a repeated nonce discloses only whether the cells are equal. Keys are wrapped by RFC 3394.

A value is first padded to a multiple of 16 bytes, so its length is disclosed in steps of 16 only.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from abc import ABC, abstractmethod
from typing import Literal, TypeAlias

from cryptography.exceptions import InvalidTag, UnsupportedAlgorithm
from cryptography.hazmat.primitives.ciphers.aead import AESGCMSIV, AESSIV
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from typing_extensions import override

from smc.errors import InputError

Mode: TypeAlias = Literal["deterministic", "randomised"]

KEY_BYTES: dict[Mode, int] = {"deterministic": 64, "randomised": 32}  # AES-256; SIV takes two keys
NONCE_BYTES = 12
BLOCK = 16
VERSION_BYTES = 2
CHANGED = "the cell was changed, or another key sealed it"


class CellCipher(ABC):
    """A cipher with its key. A sealed cell opens only with the `associated` data with which it was sealed."""

    @abstractmethod
    def seal(self, plain: bytes, associated: bytes) -> bytes:
        """Encrypt and authenticate a cell.

        Args:
            plain: the cell
            associated: data that the cell is bound to
        """

    @abstractmethod
    def open(self, sealed: bytes, associated: bytes) -> bytes:
        """Decrypt a cell.

        Args:
            sealed: result of `seal`
            associated: data that the cell is bound to

        Raises:
            ValueError: it was changed, or sealed by another key or with other data
        """


class Deterministic(CellCipher):
    """AES-SIV with a key of 32, 48 or 64 bytes."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESSIV(key)

    @override
    def seal(self, plain: bytes, associated: bytes) -> bytes:
        """Return the synthetic initialisation vector, 16 bytes, and a ciphertext of the length of `plain`."""
        return self._cipher.encrypt(plain, [associated])

    @override
    def open(self, sealed: bytes, associated: bytes) -> bytes:
        try:
            return self._cipher.decrypt(sealed, [associated])
        except InvalidTag:
            raise ValueError(CHANGED) from None


class Randomised(CellCipher):
    """AES-GCM-SIV with a key of 16 or 32 bytes."""

    def __init__(self, key: bytes) -> None:
        self._cipher = AESGCMSIV(key)

    @override
    def seal(self, plain: bytes, associated: bytes, nonce: bytes | None = None) -> bytes:
        """Return the nonce of 12 bytes (default: random), a ciphertext as long as `plain`, and a tag of 16 bytes."""
        nonce = secrets.token_bytes(NONCE_BYTES) if nonce is None else nonce
        return nonce + self._cipher.encrypt(nonce, plain, associated)

    @override
    def open(self, sealed: bytes, associated: bytes) -> bytes:
        try:
            return self._cipher.decrypt(sealed[:NONCE_BYTES], sealed[NONCE_BYTES:], associated)
        except InvalidTag:
            raise ValueError(CHANGED) from None


def cell_cipher(mode: Mode, key: bytes) -> CellCipher:
    """Return a cipher with a key.

    Args:
        mode: deterministic or randomised
        key: key of a length for the mode

    Raises:
        InputError: this machine's OpenSSL lacks the mode
    """
    try:
        return Deterministic(key) if mode == "deterministic" else Randomised(key)
    except UnsupportedAlgorithm:
        raise InputError(
            f"{mode} pseudonyms need OpenSSL 3.2 or newer, and cryptography here has an older one; "
            "install a newer release of cryptography"
        ) from None


def derived(key: bytes, mode: Mode, purpose: bytes) -> CellCipher:
    """Return a cipher whose key is derived from another key and a purpose (HKDF-SHA256, RFC 5869).

    Args:
        key: the other key
        mode: mode of the cipher
        purpose: the purpose; different purposes have independent keys
    """
    return cell_cipher(mode, HKDF(SHA256(), KEY_BYTES[mode], None, purpose).derive(key))


def pad(value: str) -> bytes:
    """Return the text in UTF-8, a byte 0x80, and zeros up to a multiple of 16 (ISO/IEC 7816-4)."""
    data = value.encode() + b"\x80"
    return data + bytes(-len(data) % BLOCK)


def unpad(padded: bytes) -> str:
    """Return the text of padded bytes; raise ValueError if the padding is wrong."""
    data, mark, rest = padded.rpartition(b"\x80")
    if not mark or rest.strip(b"\0"):
        raise ValueError("not padded")
    return data.decode()


def spell(version: int, sealed: bytes) -> str:
    """Return a pseudonym as text, in base64 for URLs.

    Args:
        version: version of the key
        sealed: the sealed cell
    """
    return base64.urlsafe_b64encode(version.to_bytes(VERSION_BYTES) + sealed).decode().rstrip("=")


def read(pseudonym: str) -> tuple[int, bytes]:
    """Parse a pseudonym into version and sealed cell; raise ValueError for other texts."""
    try:
        data = base64.b64decode(pseudonym + "=" * (-len(pseudonym) % 4), b"-_", validate=True)
    except binascii.Error:
        raise ValueError("no pseudonym") from None
    if spell(int.from_bytes(data[:VERSION_BYTES]), data[VERSION_BYTES:]) != pseudonym:
        raise ValueError("no pseudonym")
    return int.from_bytes(data[:VERSION_BYTES]), data[VERSION_BYTES:]
