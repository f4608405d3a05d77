from __future__ import annotations

import hashlib

import numpy as np
import pytest

from smc.circuit import Netlist, evaluate, load
from smc.circuit.library import bits_to_octets, initial_state, octets_to_bits, sha256_compression

MESSAGES = [b"", b"abc", b"a" * 55, b"a" * 56, b"a" * 64, bytes(range(200))]


def rows(data: bytes, reverse: bool) -> np.ndarray:
    return octets_to_bits(np.frombuffer(data, np.uint8)[None, :: -1 if reverse else 1])


def digest(netlist: Netlist, message: bytes, reverse: bool = False) -> bytes:
    """SHA-256 with the netlist as compression function; `reverse` for the row order of the Bristol circuit."""
    padding = b"\x80" + bytes((55 - len(message)) % 64)
    padded = message + padding + (8 * len(message)).to_bytes(8, "big")
    state = rows(initial_state(), reverse)
    for start in range(0, len(padded), 64):
        state = evaluate(netlist, [rows(padded[start : start + 64], reverse), state])[0]
    return bits_to_octets(state)[0, :: -1 if reverse else 1].tobytes()


@pytest.mark.parametrize("message", MESSAGES, ids=len)
def test_against_hashlib(message):
    assert digest(sha256_compression(), message) == hashlib.sha256(message).digest()


@pytest.mark.parametrize("message", [b"", b"abc", b"a" * 64], ids=len)
def test_bristol_circuit(message, bristol_netlist):
    """Its inputs are block and state, each a big-endian number counted from its least bit."""
    assert digest(bristol_netlist, message, reverse=True) == hashlib.sha256(message).digest()


@pytest.fixture(scope="module")
def bristol_netlist(bristol_files):
    return load(bristol_files / "sha256.txt")


def test_size():
    netlist = sha256_compression()
    assert netlist.input_widths == (512, 256)
    assert netlist.output_widths == (256,)
    assert netlist.and_count == 22573
    assert netlist.slots < 1300
    assert sha256_compression() is netlist
