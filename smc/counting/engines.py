"""Counting engines: they run the same programs with the same messages, without cryptography and without a peer.

Each inherits the messages of a real engine and replaces its computation by the time that it takes; all values are
zeros. The course of a program depends on the values that it opens, so the caller can set the results of `reveal`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from smc.arithmetic.inner import Numbers, Stretch, Vectors
from smc.circuit import Netlist
from smc.circuit.stars import Places, Stars
from smc.counting.rates import AND_SECONDS, BUILD_SECONDS, EVALUATE_SECONDS, GARBLE_SECONDS, INNER_SECONDS
from smc.counting.roles import CountingTransfers
from smc.counting.session import BUILDING, CountingSession, no_values
from smc.engines import Profile, YaoEngine
from smc.engines.bits import Bits
from smc.engines.gmw import GmwEngine
from smc.engines.interface import Engine, XorSharedEngine
from smc.engines.making import class_of, furnish
from smc.engines.shards import LocalShards, Work
from smc.engines.shared_inner import SharedInner
from smc.errors import InputError
from smc.gmw.gates import AndGates, TableGates, TripleGates
from smc.gmw.rows import BatchLayout, State
from smc.gmw.triples import Counts, Parts, TripleSource
from smc.hashing import Blocks
from smc.ot import Transfers
from smc.ot.interface import Choices
from smc.primitives.arrays import Gates, Octets
from smc.primitives.bits import BitMatrix
from smc.recipes import Garbling
from smc.session import Session
from smc.yao.evaluator import Evaluator
from smc.yao.garbler import Garbler
from smc.yao.walk import Piece, schedule

Answers = Iterator[list[BitMatrix]]


class CountingEngine(XorSharedEngine):
    """Engine that counts costs; openings return its `answers`, or zeros."""

    answers: Answers | None = None
    cell_bytes = 1
    transfers: Transfers

    def __init__(self, session: Session, *more: Any) -> None:
        super().__init__(session, *more)
        self._built: dict[int, Netlist] = {}

    @property
    def counted(self) -> CountingSession:
        """Session that counts the messages of this engine."""
        assert isinstance(self.session, CountingSession)
        return self.session

    @contextmanager
    def repeated(self, times: int) -> Iterator[None]:
        """Count the work of the block `times` times: bytes, gates and seconds multiply, messages and rounds do not."""
        session = self.counted
        session.times *= times
        gates = session.meter.total.and_gates
        try:
            yield
        finally:
            session.times //= times
            session.meter.gates((times - 1) * (session.meter.total.and_gates - gates))

    @override
    def run(self, netlist: Netlist, *inputs: Bits) -> list[Bits]:
        self.built(netlist)
        batch = inputs[0].batch if inputs else 1
        self.counted.hold(self.cell_bytes * batch * sum((*netlist.input_widths, *netlist.output_widths)))
        return super().run(netlist, *inputs)

    def built(self, netlist: Netlist) -> None:
        """Count the time of building a circuit at its first run; later runs reuse the circuit.

        A party that forecasts a job has built the circuit before the job starts, so this time is not in the trace.
        """
        if id(netlist) not in self._built:
            self._built[id(netlist)] = netlist
            gates = sum(len(layer.xors) + len(layer.ands) for layer in netlist.layers)
            self.counted.add_to_totals(BUILD_SECONDS * gates, BUILDING)

    @override
    def reveal(self, *secrets: Bits) -> list[BitMatrix]:
        zeros = super().reveal(*secrets)
        return zeros if self.answers is None else next(self.answers)


class _CountingGarbler(Garbler):
    """Garbler that sends tables without computing them."""

    def __init__(self, session: Session, delta: Blocks, scheme: Garbling = "half") -> None:
        super().__init__(session, delta, scheme)
        self._row_seconds = GARBLE_SECONDS[scheme]

    @override
    def garble(self, netlist: Netlist, inputs: Sequence[Blocks], batch: int) -> Blocks:
        """Send and receive the messages of `Garbler.garble`, without labels."""
        return _walk(netlist, batch, self.piece)

    def _garble(self, state: Blocks, piece: Piece, tables: Octets) -> None:
        _work(self._session, piece.rows * self._row_seconds)


class _CountingEvaluator(Evaluator):
    """Evaluator that receives tables without using them."""

    def __init__(self, session: Session, scheme: Garbling = "half") -> None:
        super().__init__(session, scheme)
        self._row_seconds = EVALUATE_SECONDS[scheme]

    @override
    def evaluate(self, netlist: Netlist, inputs: Sequence[Blocks], batch: int) -> Blocks:
        """Send and receive the messages of `Evaluator.evaluate`, without labels."""
        return _walk(netlist, batch, self.piece)

    def _evaluate(self, state: Blocks, piece: Piece, tables: Octets) -> None:
        _work(self._session, piece.rows * self._row_seconds)


def _walk(netlist: Netlist, batch: int, run: Callable[[Blocks, Piece], None]) -> NDArray[Any]:
    """Call `run` for every piece of a schedule as `smc.yao.walk.walk` does, without labels; return outputs of zeros."""
    nothing = np.zeros((0, 0), dtype=np.uint64)
    for _, pieces in schedule(netlist, batch):
        for piece in pieces:
            run(nothing, piece)
    return np.zeros((len(netlist.outputs), batch), dtype=np.uint8)


def _work(session: Session, seconds: float) -> None:
    assert isinstance(session, CountingSession)
    session.work(seconds)


class CountingYao(CountingEngine, YaoEngine):
    """Counting engine of garbled circuits. Cells are zeros of one byte, because labels would only take memory."""

    cell_bytes = 16
    garbler = _CountingGarbler
    evaluator = _CountingEvaluator

    def _garblers_labels(self, bits: BitMatrix | None, count: int) -> Blocks:
        return np.zeros((0, 2), dtype=np.uint64)

    def _cells(self, labels: Blocks, width: int, batch: int) -> Bits:
        return Bits(np.zeros((width, batch), dtype=np.uint8))

    @override
    def _constant(self, bits: BitMatrix) -> Bits:
        return Bits(np.zeros(bits.shape, dtype=np.uint8))

    @override
    def shares(self, bits: Bits) -> BitMatrix:
        return bits.data


class _CountingInner(SharedInner):
    """Inner products whose messages and work are counted, but not computed."""

    def _hidden(self, pieces: list[Stretch], keys: Blocks, vectors: Vectors, shares: list[Numbers]) -> Numbers:
        length = self._length(pieces, shares)
        _work(self._session, length * shares[0].itemsize * INNER_SECONDS)
        return no_values(shares[0].dtype, (length,))

    def _choices(self, pieces: list[Stretch], bits: Vectors) -> Choices:
        return no_values(np.dtype(np.uint8), (sum(part.stop - part.start for _, part in pieces),))

    def _add(
        self, pieces: list[Stretch], keys: Blocks, choices: Choices, message: Numbers, shares: list[Numbers]
    ) -> None:
        _work(self._session, message.nbytes * INNER_SECONDS)


class _CountingTripleSource(TripleSource):
    """Source of triples that neither computes nor stores them."""

    def _keep(self, pieces: Iterable[object]) -> None:
        for _ in pieces:  # the messages are sent between them
            pass

    def _cut(self, counts: Counts) -> Parts:
        nothing = np.zeros(0, dtype=np.uint8)
        return nothing, nothing, nothing


class _CountingTripleGates(TripleGates):
    """AND gates that open nothing and count the bits to open."""

    source = _CountingTripleSource

    def _places(self, stars: Stars, *_: Any) -> tuple[Places, Places]:
        kind = np.dtype(np.int64)
        return no_values(kind, (len(stars.centres), 2)), no_values(kind, (len(stars.gates), 4))

    def _step(self, state: State, closed: Places, closing: Places, xors: Gates, *arguments: Any) -> None:
        _, opening, width, *_ = arguments
        _work(self._session, len(opening) * width * AND_SECONDS)


class CountingGmw(CountingEngine, GmwEngine):
    """Engine that counts the cost of the engine with XOR shares."""

    def _chunk(self, netlist: Netlist, inputs: Sequence[BitMatrix], batch: int) -> BitMatrix:
        rows = BatchLayout(batch)
        self._gates.prepare(netlist, rows)
        state = rows.state(netlist.slots if isinstance(self._gates, TableGates) else 0)
        self._gates.run(netlist, state, rows)
        return no_values(np.dtype(np.uint8), (len(netlist.outputs), rows.batch))


TWINS: dict[type[Engine], type[CountingEngine]] = {YaoEngine: CountingYao, GmwEngine: CountingGmw}


def make_counting_engine(session: CountingSession, profile: Profile) -> CountingEngine:
    """Return the counting twin of `smc.engines.make_engine`.

    Args:
        session: Counting session.
        profile: Public choices of the run; with several `shards` the engine has counting shards.

    Raises:
        ValueError: The profile has the engine "clear", which costs nothing.
        InputError: The engine's class is missing, does not fit its recipe, or has no counting twin.
    """
    if profile.recipe.circuits == "clear":
        raise ValueError(f"the engine {profile.engine} costs nothing that could be counted")
    session.note("engine")
    kind = class_of(profile.engine)
    if kind not in TWINS:
        raise InputError(f"smc/counting/engines.py: {kind.__name__} has no twin that counts: add one to TWINS")
    twin: Any = TWINS[kind]
    transfers = CountingTransfers(session, profile.ot)
    engine: CountingEngine
    if profile.garbles:
        engine = twin(session, transfers, profile.garbling)
    else:
        gates: AndGates = (TableGates if profile.uses_table_gates else _CountingTripleGates)(session, transfers)
        engine = twin(session, gates)
    engine.transfers = transfers
    furnish(engine, transfers, profile)
    engine.inner = _CountingInner(engine, transfers)
    if profile.shards > 1:
        engine.shards = _CountingShards(session, profile)
    return engine


class _CountingShards(LocalShards):
    """Counting shards: bytes of all shards, and the time if each shard has its own core and all share the link."""

    def __init__(self, session: CountingSession, profile: Profile) -> None:
        super().__init__(session, profile.shards, self._counting)
        self._profile = replace(profile, shards=1)
        self._sessions: dict[int, CountingSession] = {}

    def _counting(self, number: int) -> CountingEngine:
        self._sessions[number] = CountingSession(self.session.party)
        return make_counting_engine(self._sessions[number], self._profile)

    @override
    def run(self, work: Work, pieces: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        assert isinstance(self.session, CountingSession)
        for here in self._sessions.values():
            here.times = self.session.times
        return super().run(work, pieces)

    @override
    def _meet(self, numbers: Sequence[int]) -> None:
        assert isinstance(self.session, CountingSession)
        super()._meet(numbers)
        for number in numbers:
            self._sessions[number].times = self.session.times

    @override
    def _heard(self, numbers: Sequence[int]) -> None:
        """Add the trace of the shard with most bytes; each message gets the total size of all shards' messages."""
        assert isinstance(self.session, CountingSession)
        self.session.held_by_shards = max(self.session.held_by_shards, *(self._sessions[n].held for n in numbers))
        traces = [self._sessions[number].trace for number in numbers]
        sizes = [sum(amount for kind, amount in trace if kind != "work") for trace in traces]
        most = sizes.index(max(sizes))
        share = sum(sizes) / sizes[most] if sizes[most] else 1.0
        self.session.trace += [(kind, amount if kind == "work" else amount * share) for kind, amount in traces[most]]
        for trace in traces:
            trace.clear()
