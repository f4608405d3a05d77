"""Keys of cells: a column's, and what a subject's adds to it."""

from __future__ import annotations

from dataclasses import dataclass

from parties.alone.publish.keys.ciphers import CellCipher, Mode, derived
from parties.base.canonical import dump


@dataclass(frozen=True, eq=False)
class Subject:
    """Whose cells a key is for."""

    handle: bytes
    key: bytes


@dataclass(frozen=True, eq=False)
class ColumnKey:
    """A version of a column's key."""

    name: str
    version: int
    mode: Mode
    cipher: CellCipher

    @property
    def associated(self) -> bytes:
        """The associated data of the column's pseudonyms."""
        return dump({"smc.pseudonym.v1": [self.name, self.version]}).encode()

    def of(self, subject: Subject) -> CellCipher:
        """Return the key for a subject's cells in this column."""
        return derived(subject.key, self.mode, self.associated)
