"""Classes of rows by a public tree whose columns lie apart, for one of the two parties.

Ideal functionality. Inputs: each party's columns of the same rows, in one order. The tree and the owner of each of its
columns are public. Output to the party that asks: the class of each row; nothing to the other party. Leakage: none
beyond the public sizes.

A row is in a leaf if its values agree with the splits on the path. So its bit for a leaf is the product of two bits:
whether the splits on the first party's columns agree, and whether those on the second party's do. A row is in one leaf,
so its class is the XOR over all leaves of the bit times the public code of the leaf's class. A leaf with the splits of
one party alone needs no product: its owner adds the code itself. Code 0 adds nothing: it is that of the class with most
leaves that need a product.

The party that asks masks the opened bits by random bits of its own: it adds them to its codes. Masks are contributions
to joint randomness, so a session that goes on repeats them with its stored shares.

Security: that of the engine, semi-honest. A party that cheats can enter bits of several leaves; the opened bits then
are the XOR of their codes.

Cost of R rows, s leaves with splits of both parties and a code other than 0, and codes of w bits: R s ANDs in one
level; each party has inputs of R (s + w) bits. The protocol opens R w bits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from protocols.counts import Indices
from smc.circuit import Builder, Form, Netlist, parity
from smc.circuit.kept import kept
from smc.engines import Bits, Engine
from smc.errors import ProtocolError
from smc.primitives.bits import BitMatrix, from_integers, to_words

Splits = tuple[tuple[str, tuple[bool, ...]], ...]  # column, and which of its values lead on


@dataclass(frozen=True)
class PublicTree:
    """The public terms, equal at both parties.

    Attributes:
        leaves: Class and path of each leaf; a path has one split or more.
        owners: Party of each column, 0 or 1.
        asks: Party that learns the classes, 0 or 1.
    """

    leaves: tuple[tuple[str, Splits], ...]
    owners: Mapping[str, int]
    asks: int

    @cached_property
    def classes(self) -> list[str]:
        """Class of each code, in the order of the codes."""
        number = Counter(dict.fromkeys((label for label, _ in self.leaves), 0))
        number.update(label for label, splits in self.leaves if self._is_shared(splits))
        return [label for label, _ in number.most_common()]

    @property
    def width(self) -> int:
        """Bits of a code."""
        return (len(self.classes) - 1).bit_length()

    @cached_property
    def shared(self) -> tuple[int, ...]:
        """The code of each leaf that needs a product: it has splits of both parties, and a code other than 0."""
        codes = (self.classes.index(label) for label, splits in self.leaves if self._is_shared(splits))
        return tuple(code for code in codes if code)

    def classes_of(self, codes: NDArray[np.uint64]) -> list[str]:
        """Return the class of each row by its code. Raise ProtocolError if no class has a code: the peer cheats."""
        if (codes >= len(self.classes)).any():
            raise ProtocolError("the peer opened a code that no class has in the classification of rows")
        return [self.classes[code] for code in codes.tolist()]

    def own_bits(self, party: int, cells: Indices) -> BitMatrix:
        """Return the bits of each row that a party enters into the circuit.

        They are a bit for each leaf in `shared`, 1 if the row agrees with this party's splits on the path; then the
        code of the leaf that the row reaches by this party's splits alone, 0 without one.

        Args:
            party: Number of the party.
            cells: Category indices of its columns, in their order, int64[rows, own columns].

        Returns:
            uint8[shared leaves + width, rows]
        """
        mine = [column for column, owner in self.owners.items() if owner == party]
        column_of = dict(zip(mine, cells.T, strict=True))
        agrees, alone = [], np.zeros(len(cells), dtype=np.int64)
        for label, splits in self.leaves:
            code = self.classes.index(label)
            leads = [np.array(values)[column_of[column]] for column, values in splits if column in column_of]
            if not code or not leads:
                continue
            inside = np.logical_and.reduce(leads)
            if self._is_shared(splits):
                agrees.append(inside)
            else:
                alone[inside] = code
        return np.concatenate(
            [np.array(agrees, dtype=np.uint8).reshape(-1, len(cells)), from_integers(alone, self.width)]
        )

    def _is_shared(self, splits: Splits) -> bool:
        return len({self.owners[column] for column, _ in splits}) > 1


@kept
def _netlist(codes: tuple[int, ...], width: int, form: Form) -> Netlist:
    builder = Builder(form)
    left, right = (list(builder.input(len(codes) + width)) for _ in range(2))
    inside = [mine & theirs for mine, theirs in zip(left[: len(codes)], right, strict=False)]
    sums = []
    for bit in range(width):
        there = [wire for wire, code in zip(inside, codes, strict=True) if code >> bit & 1]
        sums.append(parity([left[len(codes) + bit], right[len(codes) + bit], *there]))
    builder.output(sums)
    return builder.build()


def classify(engine: Engine, tree: PublicTree, cells: Indices) -> NDArray[np.uint64] | None:
    """Return the code of each row's class, uint64[rows]; None at the party that does not ask.

    Args:
        engine: The engine of this session.
        tree: The public terms.
        cells: Category indices of own columns, in their order, int64[rows, own columns]; private.
    """
    bits, asks = tree.own_bits(engine.party, cells), engine.party == tree.asks
    mask = engine.session.contributions.bits(tree.width, len(cells)) if asks else None
    if mask is not None:
        bits[len(tree.shared) :] ^= mask
    netlist = _netlist(tree.shared, tree.width, engine.form)
    engine.expect(bits.size)
    size = max(1, engine.comfortable // len(bits))
    parts = [engine.run(netlist, *engine.both(bits[:, i : i + size]))[0] for i in range(0, len(cells), size)]
    (opened,) = engine.reveal(Bits.join(parts))
    return None if mask is None else to_words(opened ^ mask)
