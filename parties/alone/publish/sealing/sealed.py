"""Sealed table: made by two parties, readable by a third only; masked numbers, and masks encrypted to its key.

A number is the XOR of three parts: the one in the file, and the masks sealed by each party. Both shares are bound to
the rest of the file and to their party, so that a share from another run, or a changed one, is detected. The pattern of
hidden cells is not secret; a hidden cell has no shares.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from parties.alone.publish.sealing.sealing import seal, unseal
from parties.base import files
from parties.base.canonical import dump
from protocols.arrays import Counts
from smc.errors import InputError
from smc.primitives.bits import BitMatrix

FORMAT: Literal["smc sealed table 1"] = "smc sealed table 1"
MOST_BYTES = 64 << 20  # of a file
Word = Annotated[str, Field(max_length=10_000)]
Hex = Annotated[str, Field(pattern="^([0-9a-f]{2})*$")]


class Units(BaseModel):
    """Unit of a number: `factor` times 10^-digits."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    factor: Annotated[int, Field(ge=1)] = 1
    digits: Annotated[int, Field(ge=0, le=40)] = 0


class SealedTable(BaseModel):
    """Content of the file; `hidden` has a line of 0 and 1 for each table row, totals last; numbers lie row by row."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["smc sealed table 1"]
    question: Word
    job: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    analyst: Word
    by: Word
    across: Word | None
    sum: Word | None
    units: Units
    threshold: int
    against: Word
    zeros: Word
    rows: list[Word]
    columns: list[Word]
    hidden: list[Annotated[str, Field(pattern="^[01]+$")]]
    width: Annotated[int, Field(ge=1, le=63)]
    masked: Hex
    shares: tuple[Hex, Hex]

    @model_validator(mode="after")
    def _fits(self) -> SealedTable:
        if [len(line) for line in self.hidden] != [len(self.columns)] * len(self.rows):
            raise ValueError("hidden: not one digit for each cell")
        if len(self.masked) != 2 * packed_bytes(self.width, self.numbers):
            raise ValueError("masked: not one number for each cell that is not hidden")
        return self

    @property
    def mask(self) -> NDArray[np.bool_]:
        """Hidden cells, bool[rows, columns]."""
        return np.array([[digit == "1" for digit in line] for line in self.hidden])

    @property
    def numbers(self) -> int:
        """Number of cells that are not hidden."""
        return "".join(self.hidden).count("0")


@dataclass(frozen=True, eq=False)
class OpenedTable:
    """The opened table: values int64[rows, columns], 0 where hidden."""

    sealed: SealedTable
    values: Counts


def packed(bits: BitMatrix) -> bytes:
    """Return a bit matrix uint8[width, numbers] as bytes."""
    return np.packbits(bits.reshape(-1)).tobytes()


def packed_bytes(width: int, numbers: int) -> int:
    """Return the length of a packed bit matrix in bytes.

    Args:
        width: Bits of a number.
        numbers: Number of numbers.
    """
    return (width * numbers + 7) // 8


def sealed_share(
    public: dict[str, Any], key: EllipticCurvePublicKey, party: int, mask: BitMatrix, seed: bytes
) -> bytes:
    """Return a party's share, encrypted to the third party.

    Args:
        public: content of the file without the shares, to which the share is bound
        key: the third party's public key
        party: number of the party
        mask: the party's mask, uint8[width, numbers]
        seed: secret seed of the encryption, 32 bytes or more; not used for anything else
    """
    return seal(key, _bound(public), packed(mask), seed, bytes([party]))


def load(path: Path) -> SealedTable:
    """Read a sealed table; raise InputError if the file is not one."""
    data = files.read_bytes(path)
    try:
        if len(data) > MOST_BYTES:
            raise ValueError
        return SealedTable.model_validate(json.loads(data))
    except (ValidationError, ValueError, RecursionError):
        raise InputError(
            f"{path}: not a sealed table, as smc publish joint-table writes it, or damaged; "
            "ask a party for its file again"
        ) from None


def open_table(path: Path, table: SealedTable, key: EllipticCurvePrivateKey) -> OpenedTable:
    """Return the numbers of a sealed table, decrypted with the third party's key.

    Args:
        path: the file, for errors
        table: its content
        key: the third party's private key

    Raises:
        InputError: the table was sealed to another key, or a share is not of this table
    """
    public = table.model_dump(exclude={"shares"})
    bits = _unpacked(bytes.fromhex(table.masked), table)
    for party, share in enumerate(table.shares):
        try:
            mask = unseal(key, _bound(public), bytes.fromhex(share), bytes([party]))
            bits ^= _unpacked(mask, table)
        except (InputError, ValueError):
            raise InputError(
                f"{path}: party {party}'s share does not open: the table was sealed to another key, or it was changed"
            ) from None
    numbers = (bits.astype(np.int64) << np.arange(table.width)[:, None]).sum(axis=0)
    values = np.zeros((len(table.rows), len(table.columns)), dtype=np.int64)
    values[~table.mask] = numbers
    return OpenedTable(table, values)


def _unpacked(data: bytes, table: SealedTable) -> BitMatrix:
    size = table.width * table.numbers
    if len(data) != packed_bytes(table.width, table.numbers):
        raise ValueError("of another length")
    return np.unpackbits(np.frombuffer(data, dtype=np.uint8), count=size).reshape(table.width, table.numbers)


def _bound(public: dict[str, Any]) -> bytes:
    """Return the public data of a sealed file as bytes: shares are sealed with them, so they fit no other file."""
    return dump(public).encode()
