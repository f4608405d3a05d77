"""Engines: interpreters of one program."""

from __future__ import annotations

from typing import Literal

from smc.engines.arithmetic_words import ArithmeticWords
from smc.engines.circuit_words import CircuitWords
from smc.engines.clear import ClearEngine
from smc.engines.gmw import GmwEngine
from smc.engines.interface import Bits, Engine
from smc.engines.words import Choice, Word, Words
from smc.engines.yao import YaoEngine
from smc.gmw.gates import AndGates, TableGates, TripleGates
from smc.ot import Kind, Transfers
from smc.session import Session

Name = Literal["yao", "gmw", "mixed", "clear"]


def make_engine(session: Session, name: Name, ot: Kind = "extension", table_gates: bool | None = None) -> Engine:
    """The engine of that name: circuits in `yao` or `gmw`, or `mixed` (Yao circuits, arithmetic shares for integers).

    GMW's AND gates come from precomputed triples, or with `table_gates` straight from 1-out-of-4 OT by the four-row
    table, which is the rule when `ot` is "trapdoor". `clear` protects nothing and is for tests. One engine a session:
    its keys are derived from the session's identifier (`Session.branch` makes another session).
    """
    session.take("engine")
    if name == "clear":
        engine: Engine = ClearEngine(session)
        engine.words = CircuitWords(engine)
        return engine
    transfers = Transfers(session, ot)
    if name == "gmw":
        direct = ot == "trapdoor" if table_gates is None else table_gates
        gates: AndGates = (TableGates if direct else TripleGates)(session, transfers)
        engine = GmwEngine(session, gates)
    else:
        engine = YaoEngine(session, transfers)
    engine.words = ArithmeticWords(engine, transfers) if name == "mixed" else CircuitWords(engine)
    return engine


__all__ = ["Bits", "Choice", "ClearEngine", "Engine", "GmwEngine", "Name", "Word", "Words", "YaoEngine", "make_engine"]
