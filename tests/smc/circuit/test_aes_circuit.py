from __future__ import annotations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from smc.circuit import Builder, evaluate, load
from smc.circuit.library import aes128, bits_to_octets, octets_to_bits
from smc.circuit.library.aes import substitute
from smc.primitives.bits import from_integers, to_integers

# FIPS 197: appendix B and appendix C.1
KEYS = ["2b7e151628aed2a6abf7158809cf4f3c", "000102030405060708090a0b0c0d0e0f"]
PLAINTEXTS = ["3243f6a8885a308d313198a2e0370734", "00112233445566778899aabbccddeeff"]
CIPHERTEXTS = ["3925841d02dc09fbdc118597196a0b32", "69c4e0d86a7b0430d8cdb78070b4c55a"]


def octets(*blocks: str) -> np.ndarray:
    return np.array([list(bytes.fromhex(block)) for block in blocks], dtype=np.uint8)


def times(a: int, b: int) -> int:
    """The product in GF(2^8) modulo x^8 + x^4 + x^3 + x + 1."""
    product = 0
    for i in range(8):
        product ^= (a << i) * (b >> i & 1)
    for i in range(14, 7, -1):
        product ^= (0x11B << (i - 8)) * (product >> i & 1)
    return product


def sbox(x: int) -> int:
    """FIPS 197, 5.1.1: the inverse (0 for 0), then the affine map."""
    inverse = next((y for y in range(256) if times(x, y) == 1), 0)
    rotations = [(inverse << i | inverse >> (8 - i)) & 255 for i in range(5)]
    return rotations[0] ^ rotations[1] ^ rotations[2] ^ rotations[3] ^ rotations[4] ^ 0x63


def test_sbox_on_every_byte():
    builder = Builder()
    builder.output(substitute(builder.input(8)))
    netlist = builder.build()
    assert to_integers(evaluate(netlist, [from_integers(range(256), 8)])[0]) == [sbox(x) for x in range(256)]
    assert (netlist.and_count, netlist.depth) == (32, 6)


def test_published_vectors():
    result = evaluate(aes128(), [octets_to_bits(octets(*KEYS)), octets_to_bits(octets(*PLAINTEXTS))])[0]
    assert [row.tobytes().hex() for row in bits_to_octets(result)] == CIPHERTEXTS


def test_size():
    netlist = aes128()
    assert netlist.and_count == 200 * 32 == 6400
    assert netlist.depth == 60
    assert netlist.input_widths == (128, 128)
    assert netlist.slots < 1000
    assert aes128() is netlist


def test_random_blocks_against_openssl():
    random = np.random.default_rng(4)
    keys, blocks = random.integers(0, 256, (2, 9, 16), dtype=np.uint8)
    result = bits_to_octets(evaluate(aes128(), [octets_to_bits(keys), octets_to_bits(blocks)])[0])
    for key, block, got in zip(keys, blocks, result, strict=True):
        encryptor = Cipher(algorithms.AES(key.tobytes()), modes.ECB()).encryptor()
        assert got.tobytes() == encryptor.update(block.tobytes())


def test_bristol_circuit(bristol_files):
    """Its inputs are key and plaintext, each a big-endian number counted from its least bit."""
    netlist = load(bristol_files / "aes_128.txt")
    assert netlist.and_count == 6400
    inputs = [octets_to_bits(octets(*blocks)[:, ::-1]) for blocks in (KEYS, PLAINTEXTS)]
    result = bits_to_octets(evaluate(netlist, inputs)[0])[:, ::-1]
    assert [row.tobytes().hex() for row in result] == CIPHERTEXTS


@pytest.mark.parametrize("shape", [(0, 4), (1, 0), (1, 1), (5, 16)])
def test_octets_round_trip(shape):
    data = np.random.default_rng(5).integers(0, 256, shape, dtype=np.uint8)
    bits = octets_to_bits(data)
    assert bits.shape == (8 * shape[1], shape[0])
    np.testing.assert_array_equal(bits_to_octets(bits), data)


def test_octet_bit_order():
    bits = octets_to_bits(np.array([[0x01, 0x80]], np.uint8))[:, 0]
    assert np.flatnonzero(bits).tolist() == [0, 15]
