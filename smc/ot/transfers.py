"""Both directions of oblivious transfer at once, for protocols in which the parties are symmetric.

Each party first acts as receiver, then as sender, so the flights of the two directions cross on the wire and
cost the latency of one. The messages are those of two single directions; `Receiver.batch` OTs each way are one round.
Of extensions only direction 0 has base OTs by public keys: those of direction 1 are made by direction 0.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from smc.hashing import Blocks
from smc.ot.interface import Choices, Packed, Role, Sizes, added, additive_correction, octets_of, parts
from smc.ot.kinds import Twin, make_roles
from smc.primitives.arrays import Octets
from smc.recipes import OTKind
from smc.session import Session


class Transfers:
    """A sender and a receiver of one kind of oblivious transfer; party p sends in direction p.

    The argument `twin` maps the classes of both to others with the same messages, such as those that only count.
    """

    def __init__(self, session: Session, kind: OTKind = "extension", **twin: Twin) -> None:
        self.kind = kind
        self.session = session
        self.sender, self.receiver = make_roles(kind, session, f"ot{session.party}", f"ot{1 - session.party}", **twin)
        first, second = (self.sender, self.receiver) if session.party == 0 else (self.receiver, self.sender)
        self._order = (first, second) if second.build_on(first) else (self.sender, self.receiver)
        self._ready = False

    def setup(self) -> None:
        """Set up both directions; direction 0 first if direction 1 is built on it, else this party's sender first."""
        if not self._ready:
            with self.session.phase("base ot"):
                for role in self._order:
                    role.begin()
            self._ready = True

    def random(self, choice: Choices) -> tuple[Blocks, Blocks]:
        """Make random 1-out-of-2 OTs both ways: this party's keys uint64[2, n, 2], and its chosen ones uint64[n, 2]."""
        count = len(choice)
        keys, chosen = self._room(2, count, 2), self._room(count, 2)
        for part in self._batches(count):
            self._put(chosen[part], self.receiver.random(choice[part]))
            self._put(keys[:, part], self.sender.random(part.stop - part.start))
        return keys, chosen

    def random_strings(self, sizes: Sizes) -> Iterator[tuple[Octets, Octets, Octets, Octets]]:
        """Make random OTs of short strings both ways, with random choices, and yield (keys0, keys1, choice, chosen).

        `keys0` and `keys1` are this party's two keys as sender, packed uint8[width, octets]. `choice` uint8[octets] and
        `chosen` uint8[width, octets] are its choices and keys as receiver. See `Sender.random_strings`.
        """
        for octets in self._batches(octets_of(sizes), 8):
            here = [(width, (part.stop - part.start) // 8) for width, part in parts(sizes, octets.start, octets.stop)]
            received = self.receiver.random_strings(here)
            for keys, chosen in zip(self.sender.random_strings(here), received, strict=True):
                yield *keys, *chosen

    def _room(self, *shape: int) -> Blocks:
        """Return uninitialised memory for results, uint64[shape]."""
        return np.empty(shape, dtype=np.uint64)

    def _put(self, place: Blocks, keys: Blocks) -> None:
        place[...] = keys

    def _batches(self, count: int, unit: int = 1) -> list[slice]:
        """Reserve `unit * count` OTs each way; return slices of `count` units, each within `Receiver.batch` OTs."""
        self.setup()
        for direction in (0, 1):  # in turn: in some protocols the sender, in some the receiver begins
            role: Role = self.sender if direction == self.session.party else self.receiver
            role.reserve(unit * count)
        step = self.receiver.batch // unit
        return [slice(start, min(start + step, count)) for start in range(0, count, step)]

    def additive(self, values: Packed, choice: Choices) -> Packed:
        """Return shares of choice * value both ways, summed: our values with the peer's choices and the reverse.

        Gilboa, "Two Party RSA Key Generation" (CRYPTO 1999).

        Args:
            values: This party's secret factors, uint64[n]; n is equal at both parties.
            choice: This party's secret choices, uint8[n] of 0 and 1.

        Returns:
            This party's shares modulo 2^64, uint64[n].
        """
        count = len(values)
        if count == 0:
            return np.zeros(0, dtype=np.uint64)
        keys, chosen = self.random(choice)
        self.session.send("additive", self._correction(keys, values))
        return self._share(keys, chosen, self.session.receive("additive", np.uint64, (count,)), choice)

    def _correction(self, keys: Blocks, values: Packed) -> Packed:
        return additive_correction(keys, values)

    def _share(self, keys: Blocks, chosen: Blocks, correction: Packed, choice: Choices) -> Packed:
        share = added(chosen, correction, choice)
        share -= keys[0, :, 0]
        return share
