"""Conversion between integers and bit matrices. A bit matrix is uint8[width, batch] of 0 and 1, least bit first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

BitMatrix = NDArray[np.uint8]


def from_integers(values: Iterable[int] | NDArray[Any], width: int) -> BitMatrix:
    """Return the bits of integers, uint8[width, batch], least bit first.

    Args:
        values: The integers, one an instance; negative ones are taken in two's complement.
        width: Bits of each integer to keep; higher bits are cut off.
    """
    array = values if isinstance(values, np.ndarray) else np.array(list(values), dtype=object)
    if array.dtype == object:
        count = (width + 7) // 8
        mask = (1 << width) - 1
        raw = b"".join((int(v) & mask).to_bytes(count, "little") for v in array)
        rows = np.frombuffer(raw, dtype=np.uint8).reshape(len(array), count)
        return np.ascontiguousarray(np.unpackbits(rows, axis=1, count=width, bitorder="little").T)
    words = array.astype(np.int64).view(np.uint64) if array.dtype.kind == "i" else array.astype(np.uint64)
    octets = np.ascontiguousarray(words.view(np.uint8).reshape(-1, 8).T)  # byte by byte, which moves little memory
    place = np.minimum(np.arange(width), 63)
    out = octets[place // 8] >> (place % 8).astype(np.uint8)[:, None] & np.uint8(1)
    if width > 64 and array.dtype.kind == "u":
        out[64:] = 0  # beyond bit 63 unsigned words are zero; signed ones repeat their sign bit
    return out


def to_integers(bits: BitMatrix, signed: bool = False) -> list[int]:
    """Return the integers of a bit matrix, as Python ints.

    Args:
        bits: uint8[width, batch] of 0 and 1, least bit first; any width.
        signed: True: read in two's complement. Default: numbers from 0 up.
    """
    width, batch = bits.shape
    packed = np.packbits(bits.T, axis=1, bitorder="little")
    if 0 < width <= 64:
        octets = np.zeros((batch, 8), dtype=np.uint8)
        octets[:, : packed.shape[1]] = packed
        words: Any = octets.view("<u8").reshape(batch)
        if signed:
            above = np.int64(64 - width)
            words = (words << above.astype(np.uint64)).view(np.int64) >> above  # repeats the sign bit
        return words.tolist()
    values = [int.from_bytes(packed[i].tobytes(), "little") for i in range(batch)]
    if signed and width:
        half, full = 1 << (width - 1), 1 << width
        values = [v - full if v >= half else v for v in values]
    return values


def to_words(bits: BitMatrix) -> NDArray[np.uint64]:
    """Return the unsigned integers of a bit matrix of at most 64 rows, uint64[batch].

    Raises:
        ValueError: There are more than 64 rows.
    """
    width = bits.shape[0]
    if width > 64:
        raise ValueError(f"{width} bits do not fit a 64-bit word")
    shifts = np.arange(width, dtype=np.uint64)[:, None]
    words: NDArray[np.uint64] = np.bitwise_or.reduce(bits.astype(np.uint64) << shifts, axis=0, initial=np.uint64(0))
    return words


def pack(bits: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Pack eight bits a byte, for the wire: uint8[ceil(n / 8)] of the flattened array."""
    return np.packbits(bits.reshape(-1), bitorder="little")


def unpack(packed: NDArray[np.uint8], *shape: int) -> NDArray[np.uint8]:
    """Return the bits in packed bytes, uint8[shape]: the inverse of `pack`.

    Args:
        packed: Bytes with eight bits each, the lowest first; spare bits at the end are ignored.
        shape: Shape of the result.
    """
    count = int(np.prod(shape, dtype=np.int64))
    return np.unpackbits(packed, count=count, bitorder="little").reshape(shape)
