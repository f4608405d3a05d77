"""Oblivious transfer that counts: each role's messages, in its order, from the formulas in the modules of `smc.ot`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from smc.counting.rates import BASE_OT_SECONDS, COT_SECONDS, TRAPDOOR_SECONDS, TREE_SECONDS
from smc.counting.session import CountingSession
from smc.hashing import GATES_PER_KEY, Blocks
from smc.ot import Kind, Receiver, Sender, Transfers, ferret, softspoken, trapdoor
from smc.ot.correlated import CorrelatedReceiver, CorrelatedSender
from smc.ot.elliptic import POINT
from smc.ot.interface import Choices, Packed
from smc.ot.lpn import Parameters

KAPPA = softspoken.KAPPA


def counting_transfers(session: CountingSession, kind: Kind) -> Transfers:
    """The counting twin of `Transfers(session, kind)`."""
    return _CountingTransfers(session, kind)


class _CountingTransfers(Transfers):
    def __init__(self, session: CountingSession, kind: Kind) -> None:
        self.kind = kind
        self.session = session
        self.sender, self.receiver = _roles(session, kind)
        self._ready = False


def _roles(session: CountingSession, kind: Kind) -> tuple[Sender, Receiver]:
    match kind:
        case "trapdoor":
            return _TrapdoorSender(session), _TrapdoorReceiver(session)
        case "ferret":
            return _FerretSender(session), _FerretReceiver(session)
        case "iknp":
            return _ExtensionSender(session, 1), _ExtensionReceiver(session, 1)
        case "extension":
            return _ExtensionSender(session), _ExtensionReceiver(session)
        case _:
            k = int(kind.removeprefix("softspoken"))
            return _ExtensionSender(session, k), _ExtensionReceiver(session, k)


def _zeros(*shape: int) -> NDArray[np.uint64]:
    return np.broadcast_to(np.uint64(0), shape)


class _CorrelatedSender(CorrelatedSender):
    """Keys that are zeros, for the price of the correlated OTs they are made from."""

    def __init__(self, session: CountingSession) -> None:
        super().__init__(session, "counting")
        self.counter = session

    def random(self, count: int, choices: int = 2) -> Blocks:
        for part in _parts(count) if choices == 2 else [(choices.bit_length() - 1) * count]:
            self.correlated(part)
        return _zeros(choices, count, 2)

    def random_bits(self, words: int) -> tuple[Packed, Packed]:
        for part in _parts(64 * words):
            self.random_correlated(part)
        return _zeros(words), _zeros(words)


class _CorrelatedReceiver(CorrelatedReceiver):
    def __init__(self, session: CountingSession) -> None:
        super().__init__(session, "counting")
        self.counter = session

    def random(self, choice: Choices, choices: int = 2) -> Blocks:
        for part in _parts(len(choice)) if choices == 2 else [(choices.bit_length() - 1) * len(choice)]:
            self.correlated(_choices(part))
        return _zeros(len(choice), 2)

    def random_bits(self, words: int) -> tuple[Packed, Packed]:
        for part in _parts(64 * words):
            self.random_correlated(part)
        return _zeros(words), _zeros(words)


def _parts(count: int) -> list[int]:
    """How many OTs are made and hashed at a time."""
    return [min(GATES_PER_KEY, count - start) for start in range(0, count, GATES_PER_KEY)]


def _choices(count: int) -> Choices:
    return np.broadcast_to(np.uint8(0), (count,))


# IKNP (k = 1) and SoftSpoken: 128 base OTs, trees, then 128 / k bits an OT from the receiver.


def _tree_bytes(k: int) -> int:
    return KAPPA // k * (k - 1) * 32


def _matrix_bytes(count: int, k: int) -> list[int]:
    batches = range(0, count, softspoken.BATCH)
    return [KAPPA // k * ((min(softspoken.BATCH, count - start) + 7) // 8) for start in batches]


def _seconds(count: int, k: int) -> float:
    return count * (COT_SECONDS[f"softspoken{k}"] if k > 1 else COT_SECONDS["iknp"])


class _ExtensionSender(_CorrelatedSender):
    def __init__(self, session: CountingSession, k: int = softspoken.DEFAULT) -> None:
        super().__init__(session)
        self._k = k

    def steps(self) -> Iterator[None]:
        if self.ready:
            return
        self.ready = True
        self.counter.work(KAPPA * BASE_OT_SECONDS)
        yield
        self.counter.received(POINT)
        self.counter.sent(KAPPA * POINT)
        if self._k > 1:
            yield
            self.counter.received(_tree_bytes(self._k))

    def correlated(self, count: int) -> Blocks:
        for size in _matrix_bytes(count, self._k):
            self.setup()
            self.counter.received(size)
        self.counter.work(_seconds(count, self._k))
        return _zeros(count, 2)


class _ExtensionReceiver(_CorrelatedReceiver):
    batch = softspoken.SoftSpokenReceiver.batch

    def __init__(self, session: CountingSession, k: int = softspoken.DEFAULT) -> None:
        super().__init__(session)
        self._k = k

    def steps(self) -> Iterator[None]:
        if self.ready:
            return
        self.ready = True
        self.counter.sent(POINT)
        yield
        self.counter.received(KAPPA * POINT)
        self.counter.work(KAPPA * BASE_OT_SECONDS)
        if self._k > 1:
            self.counter.sent(_tree_bytes(self._k))

    def correlated(self, choice: Choices) -> Blocks:
        self.counter.work(_seconds(len(choice), self._k))
        for size in _matrix_bytes(len(choice), self._k):
            self.setup()
            self.counter.sent(size)
        return _zeros(len(choice), 2)


# Ferret: an extension to begin with, then one message an iteration from the sender.


class _Supply:
    """How many outputs are left, and which iteration is next."""

    def __init__(self) -> None:
        self.number = 0
        self.left = 0

    def reserve(self, count: int) -> Iterator[tuple[int, Parameters]]:
        """The iterations to run now so that `count` outputs are there: their numbers and parameters."""
        while self.left < count:
            here = ferret.parameters(self.number)
            yield self.number, here
            self.left += (here.trees - ferret.kept_trees(self.number)) * here.leaves
            self.number += 1


def _flip_bytes(count: int) -> list[int]:
    return [(min(ferret.BATCH, count - start) + 7) // 8 for start in range(0, count, ferret.BATCH)]


class _FerretSender(_CorrelatedSender):
    def __init__(self, session: CountingSession) -> None:
        super().__init__(session)
        self._base = _ExtensionSender(session)
        self._supply = _Supply()

    def steps(self) -> Iterator[None]:
        yield from self._base.steps()
        self.ready = True

    def reserve(self, count: int) -> None:
        for number, here in self._supply.reserve(count):
            if number == 0:
                self._base.random_correlated(here.base)
            self.counter.work(here.outputs * TREE_SECONDS)
            self.counter.sent(here.message_bytes)

    def random_correlated(self, count: int) -> Blocks:
        self.reserve(count)
        self._supply.left -= count
        self.counter.work(count * COT_SECONDS["ferret"])
        return _zeros(count, 2)

    def correlated(self, count: int) -> Blocks:
        self.random_correlated(count)
        for size in _flip_bytes(count):
            self.counter.received(size)
        return _zeros(count, 2)


class _FerretReceiver(_CorrelatedReceiver):
    batch = ferret.FerretReceiver.batch

    def __init__(self, session: CountingSession) -> None:
        super().__init__(session)
        self._base = _ExtensionReceiver(session)
        self._supply = _Supply()

    def steps(self) -> Iterator[None]:
        yield from self._base.steps()
        self.ready = True

    def reserve(self, count: int) -> None:
        for number, here in self._supply.reserve(count):
            if number == 0:
                self._base.random_correlated(here.base)
            self.counter.received(here.message_bytes)
            self.counter.work(here.outputs * TREE_SECONDS)

    def random_correlated(self, count: int) -> tuple[Choices, Blocks]:
        self.reserve(count)
        self._supply.left -= count
        self.counter.work(count * COT_SECONDS["ferret"])
        return _choices(count), _zeros(count, 2)

    def correlated(self, choice: Choices) -> Blocks:
        self.random_correlated(len(choice))
        for size in _flip_bytes(len(choice)):
            self.counter.sent(size)
        return _zeros(len(choice), 2)


# The trapdoor permutation: a modulus once, then a value of its size for every message of every OT.


def _value_bytes(count: int, choices: int) -> list[int]:
    batches = range(0, count, trapdoor.BATCH)
    return [choices * min(trapdoor.BATCH, count - start) * trapdoor.MODULUS_BYTES for start in batches]


class _TrapdoorSender(Sender):
    def __init__(self, session: CountingSession) -> None:
        super().__init__(session, "counting")
        self.counter = session
        self.ready = False

    def setup(self) -> None:
        if not self.ready:
            self.counter.sent(trapdoor.MODULUS_BYTES)
            self.ready = True

    def random(self, count: int, choices: int = 2) -> Blocks:
        if count:
            self.setup()
        for size in _value_bytes(count, choices):
            self.counter.received(size)
        self.counter.work(count * choices * TRAPDOOR_SECONDS["sender"])
        return _zeros(choices, count, 2)


class _TrapdoorReceiver(Receiver):
    batch = trapdoor.TrapdoorReceiver.batch

    def __init__(self, session: CountingSession) -> None:
        super().__init__(session, "counting")
        self.counter = session
        self.ready = False

    def setup(self) -> None:
        if not self.ready:
            self.counter.received(trapdoor.MODULUS_BYTES)
            self.ready = True

    def random(self, choice: Choices, choices: int = 2) -> Blocks:
        count = len(choice)
        if count:
            self.setup()
        self.counter.work(count * choices * TRAPDOOR_SECONDS["receiver"])
        for size in _value_bytes(count, choices):
            self.counter.sent(size)
        return _zeros(count, 2)
