"""Key of a device, from which all lasting answers are derived, and its owner's total epsilon and delta."""

from __future__ import annotations

import math
import re
import secrets
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from parties.base import files
from smc.errors import InputError

HEADER = "smc local key 1 "
TOTAL = "total epsilon "  # a second line, so that a program without totals rejects the file
TOTAL_DELTA = "total delta "  # a third line
BYTES = 32


@dataclass(frozen=True)
class Device:
    """A device's key and the epsilon and delta that its owner's answers may spend; None: not counted."""

    key: bytes
    total: Fraction | None = None
    total_delta: Fraction = Fraction(0)


def create(path: Path, total: float | None = None, delta: float | None = None) -> Device:
    """Write a new key that only its owner can read. Never overwrite a key: its memoised answers would be lost.

    Args:
        path: the new file
        total: epsilon that all answers may spend, above 0; None: not counted
        delta: delta that all answers may spend, above 0 and below 1; only with `total`

    Raises:
        InputError: a total is outside its range, or the file exists
    """
    if total is not None and not (math.isfinite(total) and total > 0):
        raise InputError(f"--total must be a number above 0, not {total:g}")
    if delta is not None and (total is None or not 0 < delta < 1):
        raise InputError(
            "--total-delta needs --total, the epsilon that it goes with"
            if total is None
            else f"--total-delta must be a number above 0 and below 1, not {delta:g}"
        )
    key = secrets.token_hex(BYTES)
    limits = [("", key), (TOTAL, total), (TOTAL_DELTA, delta)]
    lines = "".join(f"{word}{value}\n" for word, value in limits if value is not None)
    files.create_private(path, f"{HEADER}{lines}".encode())
    return _device(bytes.fromhex(key), None if total is None else repr(total), None if delta is None else repr(delta))


def load(path: Path) -> Device:
    """Return the content of a key file; raise InputError if it is not a key, or others may read it."""
    text = files.decode(path, files.read_private(path)).strip()
    number = r"([0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]{1,3})?)"
    totals = f"(?:\r?\n{TOTAL}{number}(?:\r?\n{TOTAL_DELTA}{number})?)?"
    match = re.fullmatch(f"{HEADER}([0-9a-fA-F]{{{2 * BYTES}}}){totals}", text)
    if not match:
        raise InputError(f"{path}: is not a device's key; make one with smc local key")
    return _device(bytes.fromhex(match[1]), match[2], match[3])


def _device(key: bytes, total: str | None, delta: str | None) -> Device:
    return Device(key, None if total is None else Fraction(total), Fraction(delta or 0))
