"""Recorder of a program's calls to an engine, so that one run serves all profiles with an equal conversation.

The course of a program depends on its openings, on the form of the circuits, on the prices of integers, and on whether
integers are circuits. It does not depend on the kind of OT or the scheme of garbling. So the program runs once for each
party and each group of equal profiles, on an engine that records its calls and computes nothing. The calls are then
replayed on counting engines, which count their own messages as usual.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from smc import agreement
from smc.arithmetic.inner import Numbers, Size, Vectors
from smc.arithmetic.shares import Shares
from smc.circuit import Netlist
from smc.counting.engines import CountingEngine
from smc.counting.session import CountingSession, no_values
from smc.engines import Profile, YaoEngine
from smc.engines.arithmetic_words import ArithmeticWords
from smc.engines.bits import Bits
from smc.engines.circuit_words import CircuitWords
from smc.engines.interface import Engine
from smc.engines.shared_inner import SharedInner
from smc.meter import Cost
from smc.ot import Transfers
from smc.primitives.bits import BitMatrix

Group = tuple[Any, ...]
Step = Callable[[CountingEngine, list[AbstractContextManager[Any]]], object]


def group(profile: Profile) -> Group:
    """Return the fields of a profile on which the calls to the engine depend."""
    return profile.form or profile.recipe.form, profile.prices, profile.arithmetic, profile.garbles


@contextmanager
def uncollected() -> Iterator[None]:
    """Disable Python's garbage collector inside the `with` block.

    The block makes many long-lived objects. The search for cycles would double its time.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class Recording:
    """Calls of a program to an engine as one party, in order.

    `is_symmetric` is True if the program itself sends no message but openings, which both parties send at once. Then
    the other party makes equal calls: an engine that plays a call knows its party.
    """

    def __init__(self, program: Callable[[CountingEngine], object], party: int, profile: Profile) -> None:
        self._steps: list[Step] = []
        recorder = _Recorder(party, profile, self._steps)
        program(recorder)
        self.is_symmetric = recorder.session.is_silent

    def play(self, engine: CountingEngine) -> None:
        """Repeat the calls on an engine with an equal group, of the recorded party, or of either if symmetric."""
        entered: list[AbstractContextManager[Any]] = []
        for step in self._steps:
            step(engine, entered)


class _Session(CountingSession):
    """Session that records messages, phases and opened bits."""

    def __init__(self, party: int, steps: list[Step]) -> None:
        super().__init__(party)
        self._steps = steps
        self.is_silent = True
        self.meter.opened = self._opened  # type: ignore[method-assign]

    def _opened(self, bits: int) -> None:
        self._steps.append(lambda engine, _: engine.session.meter.opened(bits))

    @override
    def note(self, step: str, content: Callable[[], bytes] | None = None, **sizes: agreement.Size) -> None:
        self._steps.append(lambda engine, _: engine.session.note(step))

    @override
    def sent(self, size: int) -> None:
        self.is_silent = False
        self._steps.append(lambda engine, _: engine.counted.sent(size))

    @override
    def received(self, size: int) -> None:
        self.is_silent = False
        self._steps.append(lambda engine, _: engine.counted.received(size))

    @override
    def work(self, seconds: float) -> None:
        self.is_silent = False
        self._steps.append(lambda engine, _: engine.counted.work(seconds))

    @contextmanager
    @override
    def phase(self, name: str) -> Iterator[Cost]:
        with _noted(self._steps, lambda engine: engine.session.phase(name)), super().phase(name) as cost:
            yield cost


@contextmanager
def _noted(steps: list[Step], manager: Callable[[CountingEngine], AbstractContextManager[Any]]) -> Iterator[None]:
    """Append the entry of a context to `steps`, and when the block ends its exit; `manager` makes it for an engine."""

    def enter(engine: CountingEngine, entered: list[AbstractContextManager[Any]]) -> None:
        entered.append(manager(engine))
        entered[-1].__enter__()

    steps.append(enter)
    try:
        yield
    finally:
        steps.append(lambda _, entered: entered.pop().__exit__(None, None, None))


class _Recorder(CountingEngine):
    """Engine that records its calls. All cells are zeros, which take no memory."""

    session: _Session

    def __init__(self, party: int, profile: Profile, steps: list[Step]) -> None:
        super().__init__(_Session(party, steps))
        self._steps = steps
        self.form = profile.form or profile.recipe.form
        self.comfortable = (YaoEngine if profile.garbles else Engine).comfortable
        self.words = _Arithmetic(self, steps, profile) if profile.arithmetic else CircuitWords(self)
        self.inner = _Inner(self, steps)

    @contextmanager
    @override
    def repeated(self, times: int) -> Iterator[None]:
        with _noted(self._steps, lambda engine: engine.repeated(times)):
            yield

    def _input(self, owner: int, bits: BitMatrix | None, width: int, batch: int) -> Bits:
        zeros = _zeros(np.uint8, width, batch)
        self._steps.append(
            lambda engine, _: engine._input(owner, zeros if owner == engine.party else None, width, batch)
        )
        return Bits(zeros)

    @override
    def built(self, netlist: Netlist) -> None:
        """Do nothing: the counting engines count the time of building."""

    @override
    def _constant(self, bits: BitMatrix) -> Bits:
        return Bits(_zeros(np.uint8, *bits.shape))

    @override
    def shares(self, bits: Bits) -> BitMatrix:
        return bits.data

    @override
    def _expect(self, bits: int) -> None:
        self._steps.append(lambda engine, _: engine._expect(bits))

    @override
    def prepare(self, netlist: Netlist, batch: int) -> None:
        self._steps.append(lambda engine, _: engine.prepare(netlist, batch))

    @override
    def _reveal(self, *secrets: Bits) -> list[BitMatrix]:
        was_silent = self.session.is_silent
        opened = super()._reveal(*secrets)
        self.session.is_silent = was_silent
        return opened

    def _execute(self, netlist: Netlist, inputs: Sequence[NDArray[Any]], batch: int) -> NDArray[Any]:
        self._steps.append(lambda engine, _: _executed(engine, netlist, batch))
        return _zeros(np.uint8, len(netlist.outputs), batch)


def _executed(engine: CountingEngine, netlist: Netlist, batch: int) -> None:
    engine.built(netlist)
    engine.session.meter.gates(netlist.and_count * batch)
    engine._execute(netlist, [], batch)


class _Arithmetic(ArithmeticWords):
    """Arithmetic that records which bits become shares, and which products are computed."""

    def __init__(self, engine: _Recorder, steps: list[Step], profile: Profile) -> None:
        super().__init__(engine, None, profile.prices)  # type: ignore[arg-type]
        self._steps = steps

    def _to_shares(self, bits: BitMatrix) -> Shares:
        self._steps.append(lambda engine, _: _one_way(engine.transfers, bits.size))
        return _zeros(np.uint64, *bits.shape)

    def _product(self, factor: BitMatrix, word: Shares) -> Shares:
        self._steps.append(lambda engine, _: _both_ways(engine.transfers, factor.size))
        return _zeros(np.uint64, len(word))


class _Inner(SharedInner):
    """Inner products that are recorded by their sizes."""

    def __init__(self, engine: _Recorder, steps: list[Step]) -> None:
        super().__init__(engine, None)  # type: ignore[arg-type]
        self._steps, self._recorded = steps, engine.session

    @override
    def owned(self, sizes: Sequence[Size], vectors: Vectors, kind: type[Any]) -> list[Numbers]:
        self._recorded.is_silent = False  # the other party calls `chosen`
        self._steps.append(lambda engine, _: engine.inner.owned(sizes, vectors, kind))
        return [_zeros(kind, entries) for _, entries in sizes]

    @override
    def chosen(self, sizes: Sequence[Size], bits: Vectors, kind: type[Any]) -> list[Numbers]:
        self._recorded.is_silent = False
        self._steps.append(lambda engine, _: engine.inner.chosen(sizes, bits, kind))
        return [_zeros(kind, entries) for _, entries in sizes]

    @override
    def _to_shares(self, bits: BitMatrix) -> Shares:
        self._steps.append(lambda engine, _: _one_way(engine.transfers, bits.size))
        return _zeros(np.uint64, *bits.shape)


def _one_way(transfers: Transfers, count: int) -> None:
    """Record the work of `smc.arithmetic.shares.bits_to_shares` with `count` bits."""
    if transfers.session.party == 0:
        transfers.sender.additive(_zeros(np.uint64, count))
    else:
        transfers.receiver.additive(_zeros(np.uint8, count))


def _both_ways(transfers: Transfers, count: int) -> None:
    """Record the work of `smc.arithmetic.shares.product` with `count` bits of factors."""
    transfers.additive(_zeros(np.uint64, count), _zeros(np.uint8, count))


def _zeros(kind: Any, *shape: int) -> NDArray[Any]:
    return no_values(np.dtype(kind), shape)
