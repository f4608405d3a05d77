"""A device's key, from which all lasting answers come."""

from __future__ import annotations

import secrets
from pathlib import Path

from parties.base import files
from smc.errors import InputError

HEADER = "smc local key 1 "
BYTES = 32


def create(path: Path) -> None:
    """Write a new key for its owner only. A file that is there is never overwritten: its answers would be lost."""
    files.create_private(path, f"{HEADER}{secrets.token_hex(BYTES)}\n".encode())


def load(path: Path) -> bytes:
    """Return the key in a file. `InputError` if others may read it, or if it is none."""
    text = files.decode(path, files.read_private(path)).strip()
    try:
        key = bytes.fromhex(text.removeprefix(HEADER))
    except ValueError:
        key = b""
    if not text.startswith(HEADER) or len(key) != BYTES:
        raise InputError(f"{path}: is no device's key (smc local key makes one)")
    return key
