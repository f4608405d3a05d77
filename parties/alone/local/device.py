"""A device's key, from which all lasting answers come, and the total epsilon of its person."""

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
TOTAL = "total epsilon "  # a second line: a program that knows of no totals takes the key for none
BYTES = 32


@dataclass(frozen=True)
class Device:
    """A key, and what all answers of its person may spend; None: they are not counted."""

    key: bytes
    total: Fraction | None = None


def create(path: Path, total: float | None = None) -> Device:
    """Write a new key for its owner only. A file that is there is never overwritten: its answers would be lost.

    `InputError` for a total that is no positive number.
    """
    if total is not None and not (math.isfinite(total) and total > 0):
        raise InputError(f"--total must be a number above 0, not {total:g}")
    key = secrets.token_hex(BYTES)
    limit = "" if total is None else f"{TOTAL}{total!r}\n"
    files.create_private(path, f"{HEADER}{key}\n{limit}".encode())
    return Device(bytes.fromhex(key), None if total is None else Fraction(repr(total)))


def load(path: Path) -> Device:
    """Return what is in a key's file. `InputError` if others may read it, or if it is none."""
    text = files.decode(path, files.read_private(path)).strip()
    number = r"[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]{1,3})?"
    match = re.fullmatch(f"{HEADER}([0-9a-fA-F]{{{2 * BYTES}}})(?:\r?\n{TOTAL}({number}))?", text)
    if not match:
        raise InputError(f"{path}: is no device's key (smc local key makes one)")
    return Device(bytes.fromhex(match[1]), None if match[2] is None else Fraction(match[2]))
