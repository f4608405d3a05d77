"""Engines that count: the same programs, the same messages, no cryptography and no peer.

Where a real engine garbles, opens or transfers, these count the messages of the same sizes in the same order; all
values are zeros. What a program does depends on what it opens, so the answers to `reveal` can be given from outside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from smc.circuit import Netlist
from smc.counting.rates import AND_SECONDS, EVALUATE_SECONDS, GARBLE_SECONDS
from smc.counting.roles import counting_transfers
from smc.counting.session import CountingSession
from smc.engines import Profile, YaoEngine
from smc.engines.bits import Bits
from smc.engines.gmw import GmwEngine
from smc.engines.interface import XorSharedEngine
from smc.engines.making import furnish
from smc.gmw.gates import AndGates, TableGates, TripleGates
from smc.gmw.rows import Rows, State
from smc.ot import Transfers
from smc.primitives.bits import BitMatrix
from smc.yao.schemes import SCHEMES
from smc.yao.walk import chunks, pieces

Answers = Iterator[list[BitMatrix]]


class CountingEngine(XorSharedEngine):
    """Opens what it is told to, or zeros."""

    answers: Answers | None = None

    def reveal(self, *secrets: Bits) -> list[BitMatrix]:
        """See `Engine.reveal`."""
        zeros = super().reveal(*secrets)
        return zeros if self.answers is None else next(self.answers)


class CountingYao(CountingEngine):
    """Counts garbled circuits."""

    comfortable = YaoEngine.comfortable

    def __init__(self, session: CountingSession, transfers: Transfers, profile: Profile) -> None:
        super().__init__(session)
        self._counter = session
        self._transfers = transfers
        self._row_bytes = SCHEMES[profile.garbling].row_bytes
        self._row_seconds = (GARBLE_SECONDS, EVALUATE_SECONDS)[session.party][profile.garbling]

    def _input(self, owner: int, bits: BitMatrix | None, width: int, batch: int) -> Bits:
        if owner == 1:
            if self.party == 0:
                self._transfers.sender.correlated(width * batch)
            else:
                self._transfers.receiver.correlated(np.zeros(width * batch, dtype=np.uint8))
        return _zeros(width, batch)

    def constant(self, bits: BitMatrix) -> Bits:
        """See `Engine.constant`."""
        return _zeros(*bits.shape)

    def _execute(self, netlist: Netlist, inputs: Sequence[NDArray[Any]], batch: int) -> NDArray[Any]:
        for part in chunks(netlist, batch):
            for piece in pieces(netlist, part.stop - part.start):
                if self.party == 0:
                    self._counter.work(piece.rows * self._row_seconds)
                if piece.rows and self.party == 0:
                    self._counter.sent(piece.rows * self._row_bytes)
                elif piece.rows:
                    self._counter.received(piece.rows * self._row_bytes)
                    self._counter.work(piece.rows * self._row_seconds)
        return np.zeros((len(netlist.outputs), batch), dtype=np.uint8)

    def shares(self, bits: Bits) -> BitMatrix:
        """See `XorSharedEngine.shares`."""
        return bits.data


class _CountingTripleGates(TripleGates):
    """Opens nothing, counts what would be opened."""

    def run(self, netlist: Netlist, state: State, rows: Rows) -> None:
        """See `AndGates.run`."""
        session = self._session
        assert isinstance(session, CountingSession)
        for layer in netlist.layers:
            gates = len(layer.ands)
            self._source.take(rows.triple_bytes(gates))
            if gates:
                session.work(gates * rows.batch * AND_SECONDS)
                session.sent(rows.message_bytes(gates))
                session.received(rows.message_bytes(gates))


class CountingGmw(CountingEngine, GmwEngine):
    """Counts XOR shares."""

    def _chunk(self, netlist: Netlist, inputs: Sequence[BitMatrix], batch: int) -> BitMatrix:
        rows = Rows(batch)
        self._gates.prepare(netlist, rows)
        state = rows.state(netlist.slots if isinstance(self._gates, TableGates) else 0)
        self._gates.run(netlist, state, rows)
        return np.zeros((len(netlist.outputs), rows.batch), dtype=np.uint8)


def make_counting_engine(session: CountingSession, profile: Profile) -> CountingEngine:
    """The counting twin of `smc.engines.make_engine`."""
    if profile.recipe.circuits == "clear":
        raise ValueError(f"the engine {profile.engine} costs nothing that could be counted")
    transfers = counting_transfers(session, profile.ot)
    engine: CountingEngine
    if profile.garbles:
        engine = CountingYao(session, transfers, profile)
    else:
        gates: AndGates = (TableGates if profile.uses_table_gates else _CountingTripleGates)(session, transfers)
        engine = CountingGmw(session, gates)
    furnish(engine, transfers, profile)
    return engine


def _zeros(width: int, batch: int) -> Bits:
    return Bits(np.zeros((width, batch), dtype=np.uint8))
