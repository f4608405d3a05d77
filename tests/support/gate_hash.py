"""The hash of gates and OTs from its definition, with OpenSSL's AES."""

from __future__ import annotations

from smc.hashing import GATES_PER_KEY
from tests.support.aes import aes


def key_of(master: bytes, number: int) -> bytes:
    """The AES key under which number n is hashed."""
    return aes(master, (number // GATES_PER_KEY).to_bytes(16, "little"))


def gate_hash(master: bytes, block: int, number: int, which: int = 0) -> int:
    """H of a block of 128 bits for gate `number`; `which` of the gate's hashes, from 0."""
    key = key_of(master, number)
    once = int.from_bytes(aes(key, block.to_bytes(16, "little")), "little")
    tweaked = once ^ number ^ which << 64
    return int.from_bytes(aes(key, tweaked.to_bytes(16, "little")), "little") ^ once
