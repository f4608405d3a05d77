"""Counts and sums over joined rows that hide which people are in both tables (`protocols.hidden_rows`).

Ideal functionality. Inputs: both parties' parts of the joined rows. The trees so far, or the boxes, are public. Output:
additive shares modulo 2^64 of the numbers that a `LevelCounts` of the rows that count has, or of the sums over them.
Leakage: the sizes alone. They follow from the trees or boxes, the domains, the owners of the columns, the holder and
the number of bins. Number, order and shape of the messages do not depend on which bins count, nor on how many.

The *indicator* of a bin is 1 if the bin counts and its row is in a node, or in a box, else 0. Both parties have XOR
shares of it. The first indicator is the bit that both parties' parts have. Each further one is the AND of an indicator
and the bit of a value: the class, or the value by which a node is split. The holder enters the bits of its own columns.
The bit of a value of the other party's column is the XOR of the lowest bits of the additive shares. If several values
of a column are all its values, the indicator of the last is its parent's, XOR the others': no gate. Where a bin does
not count, every indicator is 0, so the arbitrary shares there change no number.

A number is the sum of indicator times entry over the bins. The entry is known to the holder (U), or both have additive
shares of it (A + B, with A at the holder). With shares a at the holder and b at the other party, an indicator is
a + b (1 - 2a) = b + a (1 - 2b). So the sums are those of local terms and inner products (`smc.arithmetic.inner`):

- of the bits b and the holder's vectors (1 - 2a) (U, A);
- of the bits a and the other party's vectors (1 - 2b) B.

Assumptions and security. The engine's circuits and the OT are secure against a semi-honest peer; `HiddenRows` has
uniform shares of the members. Then each message is uniform to its receiver: a label or a masked bit of the circuits, a
hashed key of the OT plus a vector, or the choices of an OT. Nothing is opened here. A party that leaves the protocol
learns no more from these messages, but its shares can be false. It can make bins count that do not, so numbers that are
opened later, with noise or without, may be of other rows: no promise about rows holds against such a party.

Papers: Goldreich, Micali, Wigderson (STOC 1987) and Yao (FOCS 1986) for the gates; Gilboa (CRYPTO 1999) for the inner
products; Pinkas, Schneider, Tkachenko, Yanai (EUROCRYPT 2019) for payloads of a hidden matching as shares.

Cost of a level with m counted nodes, R bins, c classes, and V and W values of the holder's and the other party's
columns less one each: 2 m R c OTs, and m R c (1 + V + 2 W) words of 16 bits for up to 65,535 bins, else 32. The root
takes R (c - 1) AND gates, each other node but the last of its parent R c. A box takes R OTs, R words (with weights
R c), and R gates for each column of the other party; a last set of values takes no gate. Boxes share the gates of equal
first columns, and the OTs of equal parts of the other party. With weights, and the class at the other party, all
columns take gates, and only equal boxes share OTs: a box takes 2 R OTs and R (2 c - 1) words.
Memory: the indicators of two levels by class, on garbled circuits 16 bytes each for each bin.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import xor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from protocols.counts import Indices, LevelCounts
from protocols.hidden_rows import HiddenRows, cells, word_of
from protocols.joint_counts import Box, JointCounts, Numbers, Path, Place
from protocols.tree import Forest, Tree, child_of
from smc.circuit import Builder, Netlist
from smc.circuit.kept import kept
from smc.engines import Bits, Engine
from smc.errors import InputError
from smc.primitives.arrays import Octets
from smc.primitives.bits import BitMatrix

Step = tuple[int, bytes]  # a column, and whether each of its values is in the set
Key = tuple[Step, ...]  # of an indicator: the sets of values of the rows
Family = tuple[Key, int]  # indicators below one, by values of one column


@kept
def _selection(width: int) -> Netlist:
    """Build the circuit of the AND of each of `width` bits and one more bit."""
    builder = Builder()
    bits, one = builder.input(width), builder.input(1)
    builder.output(builder.integer([bit & one[0] for bit in bits]))
    return builder.build()


class HiddenCounts(JointCounts):
    """Joint counts of rows that hide who is in both; see `JointCounts` for their use."""

    def __init__(self, engine: Engine, rows: HiddenRows, attributes: Sequence[int], target: int) -> None:
        """Keep a party's part of the joined rows.

        Args:
            engine: The engine of this session.
            rows: This party's part; private but for its sizes.
            attributes: Columns of `rows` that are the attributes, in this order; public.
            target: Column of `rows` that is the class; public.

        Raises:
            InputError: The arrays do not fit the description, or an index is outside its domain.
        """
        super().__init__(engine, tuple(rows.domains[a] for a in attributes), rows.domains[target], word_of(rows.bins))
        self._rows = rows
        self._columns = (*attributes, target)
        self._is_holder = engine.party == rows.holder
        self._theirs = rows.of(1 - rows.holder)
        self._position = {c: place for party in (0, 1) for place, c in enumerate(rows.of(party))}  # among its owner's
        self._first = np.cumsum([0, *(rows.domains[column] - 1 for column in self._theirs)])
        self._member: Bits | None = None
        self._inside: dict[Key, Bits] = {}  # indicators of the last two levels by class, [classes, bins] each
        self._check()

    def _check(self) -> None:
        rows, own = self._rows, self._rows.own
        if (own is not None) != self._is_holder:
            raise InputError("joined rows: the part is the other party's; give the part of this party")
        if (
            rows.shares.shape != (rows.bins, self._first[-1])
            or rows.shares.dtype != self._kind
            or rows.member.max() > 1
        ):
            raise InputError("joined rows: the shares do not fit the columns; make the part anew with the peer")
        if own is not None:
            sizes = np.array([rows.domains[column] for column in rows.of(rows.holder)], dtype=np.int64)
            if own.shape != (rows.bins, len(sizes)) or not ((own >= 0) & (own < sizes)).all():
                raise InputError("joined rows: the own columns do not fit the schema; make the part anew with the peer")

    @override
    def level(self, trees: Tree | Forest, attributes: bool) -> LevelCounts:
        if isinstance(trees, tuple) and len(trees) != 1:
            # the bin of a row depends on other rows, so bins cannot be divided among trees by their numbers
            raise InputError("joined rows that hide who is in both: several trees cannot share them; ask for one tree")
        return super().level(trees, attributes)

    @override
    def sums(self, boxes: Sequence[Box], weights: Indices | None = None) -> Indices:
        if not boxes:
            return np.zeros((0, 1 if weights is None else weights.shape[1]), dtype=np.int64)
        by = () if weights is None else self._columns[-1:]
        by_theirs = any(column in self._theirs for column in by)
        private: list[Box] = []  # parts of the boxes that the holder alone selects by
        places: dict[Key, list[int]] = {}  # of the boxes, by the other part
        for place, box in enumerate(boxes):
            named = {self._columns[attribute]: box[attribute] for attribute in sorted(box)}
            shared = [column for column in named if by_theirs or column in self._theirs]
            private.append({column: values for column, values in named.items() if column not in shared})
            places.setdefault(tuple((column, named[column].tobytes()) for column in shared), []).append(place)
        keys = sorted(places)
        order = [place for key in keys for place in places[key]]
        with self._engine.session.phase("counts"):
            shares = self._shares(keys)
            groups = [[private[place] for place in places[key]] for key in keys]
            counts = np.vstack(self._products(shares, groups, [by] * len(keys)))
            counts[:, 0] -= counts[:, 1:].sum(axis=1, dtype=self._kind)  # now of the last class
            numbers = self._engine.inner.lifted(counts.reshape(-1)).astype(np.int64).reshape(counts.shape)
        numbers = np.roll(numbers, -1, axis=1)
        found = np.empty((len(boxes), 1 if weights is None else weights.shape[1]), dtype=np.int64)
        found[order] = numbers if weights is None else numbers @ weights
        return found

    @override
    def distinct_boxes(self, number: int, columns: int) -> Indices:
        sizes = [(column, self._rows.domains[column]) for column in self._theirs]
        bits = self._entered(
            [(column, one.tobytes()) for column, size in sizes for one in np.eye(size, dtype=np.bool_)]
        )
        inside = [self._all()] * number
        for one in [*bits.values()][: min(columns, len(sizes))]:
            inside = self._selected(inside, [one] * number)
        shares = [self._engine.shares(one)[0] for one in inside]
        found = self._products(shares, [[{}]] * number, [()] * number)
        return self._engine.inner.lifted(np.concatenate(found).reshape(-1)).astype(np.int64)

    def _all(self) -> Bits:
        """Return secret bits of whether each bin counts, [1, bins]; they are entered once."""
        if self._member is None:
            left, right = self._engine.both(self._rows.member[None])
            self._member = left ^ right
        return self._member

    def _by_class(self) -> Bits:
        """Return secret bits of whether each bin counts and its row has each class, [classes, bins]."""
        keys: list[Key] = [((self._columns[-1], row.tobytes()),) for row in np.eye(self._classes, dtype=np.bool_)]
        inside = self._indicators({(): self._all()}, keys, {})
        return Bits(np.concatenate([inside[key].data for key in keys]))

    @override
    def _counted(self, places: list[Place], attributes: bool) -> list[list[Numbers]]:
        keys, deepest = [self._key(place.path) for place in places], max(len(place.path) for place in places)
        if not self._inside:
            self._inside[()] = self._by_class()
        inside = self._indicators(self._inside, keys, {})
        self._inside = {key: bits for key, bits in inside.items() if not key or len(key) >= deepest - 1}
        shares = [share for key in keys for share in self._engine.shares(inside[key])]
        left = [place.left if attributes else () for place in places]
        by = [[self._columns[attribute] for attribute in each] for each in left for _ in range(self._classes)]
        products = iter(self._products(shares, [[{}]] * len(shares), by))
        tables = []
        for place, counted in zip(places, left, strict=True):
            numbers = np.stack([next(products)[0] for _ in range(self._classes)], axis=1)
            ends = np.cumsum([1, *(self._domains[attribute] - 1 for attribute in counted)])
            by_class, lines = numbers[0], dict(zip(counted, np.split(numbers, ends)[1:-1], strict=True))
            tables.append(self._completed(by_class, lines, place.path) if attributes else [by_class])
        return tables

    def _key(self, path: Path) -> Key:
        steps = []
        for attribute, edge, child in path:
            inside = child_of(edge, np.arange(self._domains[attribute])) == child
            steps.append((self._columns[attribute], inside.tobytes()))
        return tuple(steps)

    # Indicators.

    def _shares(self, keys: list[Key]) -> list[Octets]:
        """Return XOR shares of the indicators of some sets of values, uint8[bins] each."""
        inside: dict[Key, Bits] = {(): self._all()}
        bits, shares, step = dict[Step, Bits](), list[Octets](), self._together(1)
        for start in range(0, len(keys), step):
            part, later = keys[start : start + step], keys[start + step :]
            inside = self._indicators(inside, part, bits)
            shares += [self._engine.shares(inside[key])[0] for key in part]
            # the keys are sorted: what the next ones need is above the first of them, or beside that
            inside = {key: one for key, one in inside.items() if later and later[0][: len(key[:-1])] == key[:-1]}
        return shares

    def _indicators(self, known: Mapping[Key, Bits], keys: Sequence[Key], bits: dict[Step, Bits]) -> dict[Key, Bits]:
        """Return the known indicators with those of the keys and of all keys above them.

        Args:
            known: Known indicators, the first of all, of the key (), among them.
            keys: The keys.
            bits: Bits of values that have been entered; further ones are added.
        """
        missing: dict[Key, None] = {}
        for key in keys:
            while key not in known and key not in missing:
                missing[key], key = None, key[:-1]
        siblings, covered = defaultdict[Family, list[Key]](list), defaultdict[Family, Any](int)
        rests: dict[Key, list[Key]] = {}  # the last of sets that are all values of a column, with the others
        for key in filter(None, (*known, *missing)):
            family = key[:-1], key[-1][0]
            covered[family] = covered[family] + _values(key)
            if key in missing and (covered[family] == 1).all():
                rests[key] = [*siblings[family]]
            siblings[family].append(key)
        bits |= self._entered([key[-1] for key in missing if key not in rests and key[-1] not in bits])
        inside = dict(known)
        for depth in sorted({len(key) for key in missing}):
            here = [key for key in missing if len(key) == depth]
            counted = [key for key in here if key not in rests]
            selected = self._selected([inside[key[:-1]] for key in counted], [bits[key[-1]] for key in counted])
            inside |= zip(counted, selected, strict=True)
            for key in here:
                if key in rests:
                    inside[key] = reduce(xor, (inside[other] for other in rests[key]), inside[key[:-1]])
        return inside

    def _together(self, width: int) -> int:
        """Return how many indicators of `width` bits a batch of circuits has."""
        return max(1, self._engine.comfortable // ((width + 1) * max(1, self._rows.bins)))

    def _selected(self, bits: Sequence[Bits], ones: Sequence[Bits]) -> list[Bits]:
        """Return the AND of each of some indicators and one bit of each bin."""
        rows, found = self._rows.bins, list[Bits]()
        step = self._together(bits[0].width) if bits else 1
        for start in range(0, len(bits), step):
            part = slice(start, start + step)
            netlist = _selection(bits[0].width)
            (selected,) = self._engine.run(netlist, Bits.join(bits[part]), Bits.join(ones[part]))
            found += [selected.take(slice(end - rows, end)) for end in range(rows, selected.batch + 1, rows)]
        return found

    def _entered(self, steps: Sequence[Step]) -> dict[Step, Bits]:
        """Enter whether each bin's value is in the set of each step, [1, bins]; any bit where a bin does not count."""
        steps, entered, rows = list(dict.fromkeys(steps)), dict[Step, Bits](), self._rows
        own = [step for step in steps if step[0] not in self._theirs]
        shared = [step for step in steps if step[0] in self._theirs]
        if own:
            bits = np.stack([self._bit(step) for step in own]) if self._is_holder else None
            whole = self._engine.input(rows.holder, bits, len(own), rows.bins)
            entered |= {step: whole[place : place + 1] for place, step in enumerate(own)}
        if shared:
            left, right = self._engine.both(np.stack([self._bit(step) for step in shared]))
            entered |= {step: (left ^ right)[place : place + 1] for place, step in enumerate(shared)}
        return entered

    def _bit(self, step: Step) -> BitMatrix:
        """Return each bin's bit, or the share of the bit if the column is the other party's, uint8[bins]."""
        column, values = step[0], _values((step,))
        if column not in self._theirs:
            assert self._rows.own is not None
            return values[self._rows.own[:, self._position[column]]].astype(np.uint8)
        others = self._cells(column, slice(0, self._rows.bins))[:, values[:-1] != values[-1]]
        bits: BitMatrix = (np.bitwise_xor.reduce(others, axis=1) & 1).astype(np.uint8)
        return bits ^ np.uint8(values[-1] and self._is_holder)

    # Inner products.

    def _products(
        self, shares: Sequence[Octets], boxes: Sequence[Sequence[Box]], by: Sequence[Sequence[int]]
    ) -> list[Numbers]:
        """Return shares of the counts of rows by indicators, kind[boxes, 1 + cells] for each.

        Args:
            shares: XOR share of each indicator, uint8[bins].
            boxes: For each indicator boxes of columns of the holder, in which the rows are counted. If it counts by
                columns of the other party, every box must be all rows.
            by: For each indicator the columns by whose values but the last the rows are counted too.
        """
        inner, bins, kind = self._engine.inner, self._rows.bins, self._kind
        of_other = [[column for column in columns if column in self._theirs] for columns in by]
        widths = [1 + self._width(columns) for columns in by]
        wide = [(bins, len(some) * width) for some, width in zip(boxes, widths, strict=True)]
        narrow = [(bins, self._width(columns)) for columns in of_other]
        local = [np.zeros(entries, dtype=kind) for _, entries in (wide if self._is_holder else narrow)]

        def owned(number: int, part: slice) -> Numbers:
            columns = [self._cells(column, part) for column in (by if self._is_holder else of_other)[number]]
            vectors = np.hstack([np.ones((part.stop - part.start, int(self._is_holder)), dtype=kind), *columns])
            if self._is_holder:
                vectors = np.hstack([self._within(box, part)[:, None] * vectors for box in boxes[number]])
            chosen = vectors * shares[number][part, None].astype(kind)
            local[number] += chosen.sum(axis=0, dtype=kind)  # each bin comes once
            return vectors - chosen - chosen

        def bits(number: int, part: slice) -> Octets:
            return shares[number][part]

        if self._is_holder:
            first, second = inner.owned(wide, owned, kind), inner.chosen(narrow, bits, kind)
            first = [one + own for one, own in zip(first, local, strict=True)]
        else:
            first, second = inner.chosen(wide, bits, kind), inner.owned(narrow, owned, kind)
            second = [one + own for one, own in zip(second, local, strict=True)]
        results = []
        for one, other, some, columns in zip(first, second, boxes, by, strict=True):
            numbers = one.reshape(len(some), -1).copy()
            theirs = np.concatenate(
                [[False], *(np.full(self._rows.domains[c] - 1, c in self._theirs) for c in columns)]
            )
            numbers[:, theirs.astype(np.bool_)] += other
            results.append(numbers)
        return results

    def _width(self, columns: Sequence[int]) -> int:
        return sum(self._rows.domains[column] - 1 for column in columns)

    def _cells(self, column: int, part: slice) -> Numbers:
        """Return this party's additive share of the bits of a column's values, kind[bins, values - 1].

        The holder's share of its own columns is the bits.
        """
        position = self._position[column]
        if column in self._theirs:
            return self._rows.shares[part, self._first[position] : self._first[position + 1]]
        assert self._rows.own is not None
        return cells(self._rows.own[part, [position]], [self._rows.domains[column]], self._kind)

    def _within(self, box: Box, part: slice) -> NDArray[np.bool_]:
        """Return which bins have a row of the holder in a box of its columns."""
        inside = np.ones(part.stop - part.start, dtype=np.bool_)
        for column, values in box.items():
            assert self._rows.own is not None
            inside &= values[self._rows.own[part, self._position[column]]]
        return inside


def _values(key: Key) -> NDArray[np.bool_]:
    """Return whether each value of a key's last column is in its set."""
    return np.frombuffer(key[-1][1], dtype=np.bool_)
