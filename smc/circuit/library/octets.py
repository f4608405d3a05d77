"""Conversion between byte strings and bit matrices; bit i of byte j is row 8j + i throughout this library.

The Bristol circuits of AES and SHA-256 read a byte string as one big-endian number and count its bits from the least
one. Their row order is this library's order for the reversed bytes.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def octets_to_bits(octets: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the bit matrix uint8[8n, batch] of `batch` strings of n bytes, uint8[batch, n]."""
    return np.ascontiguousarray(np.unpackbits(octets, axis=1, bitorder="little").T)


def bits_to_octets(bits: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the inverse of `octets_to_bits`: uint8[batch, n] of a bit matrix uint8[8n, batch]."""
    return np.packbits(bits.T, axis=1, bitorder="little")
