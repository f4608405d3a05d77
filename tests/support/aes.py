"""AES, one block at a time, by OpenSSL: what our own is compared with."""

from __future__ import annotations

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes


def aes(key: bytes, block: bytes) -> bytes:
    """AES of one block of 16 bytes; AES-128 for a key of 16."""
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return encryptor.update(block) + encryptor.finalize()
