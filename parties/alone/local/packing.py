"""Reports as bytes: integers of several bytes, least significant first, and rows of bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from parties.alone.local.mechanism import Reports
from smc.errors import InputError


def to_bytes(values: NDArray[Any], width: int) -> Reports:
    """Encode integers, int[rows], as uint8[rows, width].

    Args:
        values: Integers, int[rows], each below 256^width.
        width: Bytes of an encoded integer.
    """
    return np.ascontiguousarray(values.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width])


def from_bytes(reports: Reports) -> NDArray[np.int64]:
    """Decode uint8[rows, width] to int64[rows]."""
    padded = np.zeros((len(reports), 8), dtype=np.uint8)
    padded[:, : reports.shape[1]] = reports
    return padded.view("<i8").reshape(-1).astype(np.int64)


def pack(bits: NDArray[np.bool_]) -> Reports:
    """Pack bool[rows, width] into bytes, the first bit lowest."""
    return np.packbits(bits, axis=1, bitorder="little")


def unpack(reports: Reports, width: int) -> NDArray[np.uint8]:
    """Unpack the result of `pack` to uint8[rows, width] of 0 and 1.

    Args:
        reports: packed bits, uint8[rows, bytes]
        width: bits of a row

    Raises:
        InputError: a bit beyond `width` is set
    """
    if width % 8 and (reports[:, width // 8] >> (width % 8)).any():
        raise InputError("a report has too many bits; leave it out, or give the plan of the reports")
    return np.unpackbits(reports, axis=1, count=width, bitorder="little")


def known(values: NDArray[Any], bound: int) -> NDArray[Any]:
    """Return the values. Raise InputError if one is impossible in a report of this plan.

    Args:
        values: non-negative integers
        bound: the values must be below it

    Raises:
        InputError: a value is too large
    """
    if len(values) and int(values.max()) >= bound:
        raise InputError("a report has an impossible value; leave it out, or give the plan of the reports")
    return values
