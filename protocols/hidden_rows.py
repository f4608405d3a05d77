"""Joined rows of two tables that hide which people are in both: each party's part.

One party, the *holder*, has put its rows into bins. A bin holds one of its rows or none. The rows of the join are the
bins: a bin counts if its row has a partner in the other party's table. Neither party learns which bins count.

- The holder knows its own columns of each bin.
- Both have an XOR share of whether a bin counts.
- Both have additive shares of the other party's columns, as bits of the values: 1 at the row's value, 0 elsewhere. The
  last value has no bit, for it follows from the others. Where a bin does not count, these shares hold anything.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protocols.counts import Indices
from smc.primitives.arrays import Octets

Numbers = NDArray[Any]


def word_of(bins: int) -> type[Any]:
    """Return the type of shares for a number of bins, which no count exceeds."""
    return np.uint16 if bins < 1 << 16 else np.uint32


@dataclass(frozen=True)
class HiddenRows:
    """A party's part of joined rows.

    Attributes:
        domains: Number of values of each column, of both parties.
        owners: Party of each column, 0 or 1.
        holder: Party whose rows are in the bins, 0 or 1.
        member: XOR share of whether a bin counts, uint8[bins]; private.
        own: The holder's columns in their order, int64[bins, columns], any value in an empty bin; None at the other
            party. Private.
        shares: Share of the other party's columns modulo 2^16 or 2^32, see `word_of`, [bins, cells]; private.
    """

    domains: tuple[int, ...]
    owners: tuple[int, ...]
    holder: int
    member: Octets = field(repr=False)
    own: Indices | None = field(repr=False)
    shares: Numbers = field(repr=False)

    @property
    def bins(self) -> int:
        """Number of bins."""
        return len(self.member)

    def of(self, party: int) -> list[int]:
        """Return the columns of a party."""
        return [column for column, owner in enumerate(self.owners) if owner == party]

    def encoded(self) -> dict[str, str]:
        """Return the private arrays as texts, base64 of little-endian numbers; `decoded` is the inverse."""
        arrays = {"member": self.member, "shares": self.shares} | ({} if self.own is None else {"own": self.own})
        return {name: base64.b64encode(_stored(array).tobytes()).decode() for name, array in arrays.items()}


@dataclass(frozen=True)
class HiddenShape:
    """The public part of `HiddenRows`, with the number of bins."""

    domains: tuple[int, ...]
    owners: tuple[int, ...]
    holder: int
    bins: int

    def part(self, party: int, array: Callable[[str, Any, tuple[int, ...]], Any]) -> HiddenRows:
        """Return a party's part.

        Args:
            party: Number of the party.
            array: Function that returns a private array, from its name, type and shape.
        """
        of_holder = [owner == self.holder for owner in self.owners]
        cells_of = sum(size - 1 for size, own in zip(self.domains, of_holder, strict=True) if not own)
        own = array("own", np.dtype(np.int64), (self.bins, sum(of_holder))) if party == self.holder else None
        member = array("member", np.dtype(np.uint8), (self.bins,))
        shares = array("shares", np.dtype(word_of(self.bins)), (self.bins, cells_of))
        return HiddenRows(self.domains, self.owners, self.holder, member, own, shares)

    def decoded(self, party: int, texts: Mapping[str, str]) -> HiddenRows:
        """Return the part of a party whose arrays are texts.

        Args:
            party: Number of the party.
            texts: The arrays by name, from `HiddenRows.encoded`.

        Raises:
            ValueError: An array has another size, or is not a text in base64.
            KeyError: An array is missing.
        """

        def array(name: str, kind: Any, shape: tuple[int, ...]) -> Any:
            data = base64.b64decode(texts[name], validate=True)
            return np.frombuffer(data, _stored(np.zeros(0, kind)).dtype).astype(kind).reshape(shape)

        return self.part(party, array)


def _stored(array: Numbers) -> Numbers:
    """Return an array in the type in which it is stored: little-endian, and 32 bits for category indices."""
    return array.astype("<u4" if array.dtype == np.int64 else array.dtype.newbyteorder("<"))


def cells(values: Indices, domains: Sequence[int], kind: type[Any]) -> Numbers:
    """Return the bits of the values of some columns, without the last value of each: kind[rows, cells].

    Args:
        values: Category indices, int64[rows, columns].
        domains: Number of values of each column.
        kind: np.uint16 or np.uint32.
    """
    parts = [values[:, [place]] == np.arange(size - 1) for place, size in enumerate(domains)]
    return np.hstack([np.zeros((len(values), 0), dtype=np.bool_), *parts]).astype(kind)
