"""Oblivious transfer: the interface of sender and receiver.

Ideal functionality of a batch of 1-out-of-n OT: the sender holds n messages for each instance, the receiver a choice.
The receiver learns the chosen message and nothing about the others; the sender learns nothing. Variants:

* random      the functionality draws the messages (keys); this is the cheapest variant and the base of all others;
              strings are the first bits of keys, packed
* correlated  message 1 = message 0 xor delta, one secret 128-bit delta (lowest bit 1) for the whole session. Made
              from random OTs, as here, it holds the sender to no delta: another one in an OT is not noticed
* chosen      the sender's own bits, masked with random keys
* additive    the parties end with shares of choice * value modulo 2^64 (Gilboa)

Costs beyond the random OTs, each one message from the sender, for c OTs: correlated 16 c bytes (nothing if the protocol
is correlated OT itself), chosen bits of n messages ceil(n c / 8), additive 8 c.

Each role object belongs to one session and one direction; both parties make the same calls in the same
order. A call on an empty batch sends nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from smc.errors import ProtocolError
from smc.hashing import Blocks
from smc.primitives import bits as bitpack
from smc.primitives.arrays import Octets
from smc.session import Session

Choices = NDArray[np.uint8]
Packed = NDArray[np.uint64]
Sizes = Sequence[tuple[int, int]]  # sizes of random OTs of strings: bits of a string, and eights of OTs


class Role:
    """One end of one direction of oblivious transfer. If both directions are used, party p sends in direction p.

    `begin` exchanges the material that a session needs once.

    The public methods of a role alone determine the messages, their order and their sizes. All computation on secrets
    is in methods whose names begin with "_". Counting replaces these.
    """

    ready = False  # becomes True in `begin`

    def __init__(self, session: Session, name: str) -> None:
        self.session = session
        self.name = name

    def setup(self) -> None:
        """Run the set-up of the session, such as base OTs or keys; a second call does nothing.

        The first use calls it at the latest.
        """
        if not self.ready:
            with self.session.phase("base ot"):
                self.begin()

    def _room(self, *shape: int) -> Blocks:
        """Return uninitialised memory for results, uint64[shape]."""
        return np.empty(shape, dtype=np.uint64)

    def _bytes(self, *shape: int) -> Octets:
        """Return uninitialised memory for packed bits, uint8[shape]."""
        return np.empty(shape, dtype=np.uint8)

    def _correction(self, keys: Blocks, values: Packed) -> Packed:
        return additive_correction(keys, values)

    def _share(self, keys: Blocks, *more: NDArray[Any]) -> Packed:
        """Return this end's share of `additive`."""
        raise NotImplementedError

    def begin(self) -> None:
        """Do the work of `setup` in the current phase of the meter. The base class needs no material."""
        self.ready = True

    def build_on(self, other: Role) -> bool:
        """Take base OTs from a role of the other direction, which is then set up first.

        Args:
            other: A sender if this is a receiver, and the reverse: an extension's sender is the receiver of base OTs.

        Returns:
            True if this role takes its base OTs from `other`.
        """
        del other
        return False

    def expect(self, count: int) -> None:
        """Announce the number of correlated OTs that the program will still need, if it is known.

        This is a hint before the first of them: the protocol for few OTs may differ. Both parties announce equal
        numbers.
        """
        del count

    def reserve(self, count: int) -> None:
        """Exchange now the material of the next `count` random correlated OTs; both parties pass equal counts.

        Used by protocols that make many OTs at a time. Other protocols do nothing here, and later the receiver sends
        first.
        """
        del count


class Sender(Role, ABC):
    """Sending role. `delta` is uint64[2] with its lowest bit set."""

    def __init__(self, session: Session, name: str) -> None:
        super().__init__(session, name)
        self.delta: Blocks = session.prg.words(2)
        self.delta[0] |= np.uint64(1)

    @abstractmethod
    def random(self, count: int, choices: int = 2) -> Blocks:
        """Make random 1-out-of-n OTs, and return all keys.

        Args:
            count: Number of OTs; 0 sends nothing.
            choices: n, 2 or more; OT by extension needs a power of two.

        Returns:
            The keys, uint64[choices, count, 2].

        Raises:
            ValueError: The protocol cannot make 1-out-of-`choices` OTs.
            ProtocolError: A message of the peer fails its check.
        """

    def correlated(self, count: int) -> Blocks:
        """Return zero messages, uint64[count, 2]; the receiver gets them xor choice * delta."""
        keys = self.random(count)
        if count:
            self.session.send(f"{self.name}.correlation", keys[0] ^ keys[1] ^ self.delta)
        return keys[0]

    def random_correlated(self, count: int) -> Blocks:
        """Return zero messages as `correlated` does; the protocol draws the receiver's choices."""
        return self.correlated(count)

    def random_strings(self, sizes: Sizes) -> list[tuple[Octets, Octets]]:
        """Run random OTs of short strings, and return both strings of each OT, packed.

        Args:
            sizes: Pairs (width, octets): 8 * octets OTs of strings of `width` bits, at most 64.

        Returns:
            Pairs of uint8[width, octets]: the strings for choice 0, and for choice 1. Bit j of string i is bit i of row
            j. They follow the order of `sizes`. A large size may be cut into several consecutive pairs whose octets add
            up to the size's. Both parties cut at the same OTs.
        """
        keys = self.random(8 * octets_of(sizes))
        return [
            (pack_strings(keys[0, part], width), pack_strings(keys[1, part], width)) for width, part in parts(sizes)
        ]

    def chosen_bits(self, messages: NDArray[np.uint8]) -> None:
        """Transfer one of the bits uint8[choices, count] of each instance, which the receiver chooses."""
        keys = self.random(messages.shape[1], messages.shape[0])
        if messages.size:
            masks = (keys[..., 0] & np.uint64(1)).astype(np.uint8)
            self.session.send(f"{self.name}.bits", bitpack.pack(messages ^ masks))

    def additive(self, values: Packed) -> Packed:
        """Return this party's share, uint64[count], of choice * value modulo 2^64."""
        keys = self.random(len(values))
        if len(values):
            self.session.send(f"{self.name}.additive", self._correction(keys, values))
        return self._share(keys)

    @override
    def _share(self, keys: Blocks, *_: NDArray[Any]) -> Packed:
        share: Packed = np.uint64(0) - keys[0, :, 0]
        return share


class Receiver(Role, ABC):
    """Receiving role; `choices` are uint8[count].

    Where both directions are used, the parties make `batch` OTs each way before either reads. This bounds the buffers
    to a few messages.
    """

    batch: int

    @abstractmethod
    def random(self, choice: Choices, choices: int = 2) -> Blocks:
        """Make random 1-out-of-n OTs, and return the chosen keys.

        Args:
            choice: The secret choices, uint8[count], each below `choices`.
            choices: n, 2 or more; OT by extension needs a power of two. The sender passes an equal number.

        Returns:
            The keys, uint64[count, 2].

        Raises:
            ValueError: The protocol cannot make 1-out-of-`choices` OTs.
            ProtocolError: A message of the peer fails its check.
        """

    def correlated(self, choice: Choices) -> Blocks:
        """Return message 0 xor choice * delta, uint64[count, 2]."""
        keys = self.random(choice)
        count = len(choice)
        if count == 0:
            return keys
        correction = self.session.receive(f"{self.name}.correlation", np.uint64, (count, 2))
        return keys ^ (correction & masks(choice)[:, None])

    def random_correlated(self, count: int) -> tuple[Choices, Blocks]:
        """Return uniform choices uint8[count] of the protocol, and message 0 xor choice * delta, uint64[count, 2]."""
        choice = self.session.prg.bits(count)
        return choice, self.correlated(choice)

    def random_strings(self, sizes: Sizes) -> list[tuple[Octets, Octets]]:
        """Return uniform choices drawn by the protocol, packed uint8[octets], and the chosen keys, for every size.

        See `Sender.random_strings`.
        """
        choice = self.session.prg.bits(8 * octets_of(sizes))
        keys = self.random(choice)
        return [(bitpack.pack(choice[part]), pack_strings(keys[part], width)) for width, part in parts(sizes)]

    def chosen_bits(self, choice: Choices, choices: int = 2) -> NDArray[np.uint8]:
        """Return the chosen bits of the sender, uint8[count] of 0 and 1.

        Args:
            choice: The secret choices, uint8[count], each below `choices`.
            choices: Number of the sender's bits an OT; see `random`.
        """
        keys = self.random(choice, choices)
        count = len(choice)
        if count == 0:
            return np.zeros(0, dtype=np.uint8)
        packed = self.session.receive(f"{self.name}.bits", np.uint8, ((choices * count + 7) // 8,))
        chosen = select(choice, bitpack.unpack(packed, choices, count))
        return chosen ^ (keys[:, 0] & np.uint64(1)).astype(np.uint8)

    def additive(self, choice: Choices) -> Packed:
        """Return this party's share, uint64[count], of choice * value modulo 2^64."""
        keys = self.random(choice)
        count = len(choice)
        if count == 0:
            return keys[:, 0]
        correction = self.session.receive(f"{self.name}.additive", np.uint64, (count,))
        return self._share(keys, correction, choice)

    @override
    def _share(self, keys: Blocks, *more: NDArray[Any]) -> Packed:
        correction, choice = more
        return added(keys, correction, choice)


def failed_check(step: str) -> ProtocolError:
    """Return the error for a peer whose message at a step breaks the protocol."""
    return ProtocolError(
        f"oblivious transfer: the peer's message at step {step} fails its check; the session ends before it is used; "
        "the peer runs another version, or cheats"
    )


def additive_correction(keys: Blocks, values: Packed) -> Packed:
    """Return the sender's message of additive OTs: second key + message = first key + value, modulo 2^64.

    Args:
        keys: All keys of the sender, uint64[2, n, 2]; the low words are used.
        values: The sender's values, uint64[n].

    Returns:
        uint64[n], to be sent.
    """
    correction: Packed = keys[0, :, 0] + values
    correction -= keys[1, :, 0]
    return correction


def added(chosen: Blocks, correction: Packed, choice: Choices) -> Packed:
    """Return the receiver's share of additive OTs: its key's low word, plus the correction where it chose 1.

    Args:
        chosen: The chosen keys, uint64[n, 2].
        correction: The sender's message, uint64[n].
        choice: The secret choices, uint8[n] of 0 and 1.

    Returns:
        uint64[n], modulo 2^64.
    """
    share = masks(choice)
    share &= correction
    share += chosen[:, 0]
    return share


def octets_of(sizes: Sizes) -> int:
    """Return the number of OTs of strings of all these sizes together, divided by 8."""
    return sum(octets for _, octets in sizes)


def parts(sizes: Sizes, start: int = 0, stop: int | None = None) -> list[tuple[int, slice]]:
    """Return the OTs in a range of bytes of a packed row, eight OTs a byte, separately for each size.

    Args:
        sizes: (width, octets) of OTs in a row; see `Sender.random_strings`.
        start: First octet of the range.
        stop: Octet after the last. None: to the end.

    Returns:
        For each size with OTs in the range its width, and the slice of its OTs, counted from `start`.
    """
    places, end = [], 0
    for width, octets in sizes:
        first, end = max(end, start), end + octets
        last = end if stop is None else min(end, stop)
        if first < last:
            places.append((width, slice(8 * (first - start), 8 * (last - start))))
    return places


def pack_strings(keys: Blocks, width: int) -> Octets:
    """Return the lowest bits of keys, packed.

    Args:
        keys: uint64[8 * octets, 2]; the low words are used.
        width: Bits of a key to keep, 64 at most.

    Returns:
        uint8[width, octets]: row i has bit i of every key.
    """
    bits = keys[:, 0] >> np.arange(width, dtype=np.uint64)[:, None] & np.uint64(1)
    return np.packbits(bits.astype(np.uint8), axis=1, bitorder="little")


def masks(choice: Choices) -> Packed:
    """Return all-ones words where the choice bit is 1, zero elsewhere: selection without branches."""
    words: Packed = np.uint64(0) - choice.astype(np.uint64)
    return words


def select(choice: Choices, options: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Select one option for each instance, reading all options (no secret index).

    Args:
        choice: The secret choices, uint8[n], each below the number of options.
        options: uint8[options, n, ...].

    Returns:
        options[choice[j], j, ...], uint8[n, ...].
    """
    out: NDArray[np.uint8] = np.zeros_like(options[0])
    shape = (len(choice),) + (1,) * (out.ndim - 1)
    for value in range(len(options)):
        mask = (np.uint8(0) - (choice == value).astype(np.uint8)).reshape(shape)
        out |= options[value] & mask
    return out
