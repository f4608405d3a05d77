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
from smc.yao.schemes import Name as Garbling

Name = Literal["yao", "gmw", "mixed", "lean", "clear"]


def make_engine(
    session: Session,
    name: Name,
    ot: Kind = "extension",
    table_gates: bool | None = None,
    garbling: Garbling = "half",
) -> Engine:
    """The engine of that name: how circuits are computed, and how integers are.

    `yao`: garbled circuits for both. `gmw`: circuits on XOR shares for both. `mixed`: garbled circuits, and additive
    shares for integers: few rounds, less traffic than `yao`. `lean`: circuits on XOR shares, additive shares for
    integers: the least traffic, a round for every level of AND gates. `clear` protects nothing and is for tests.

    GMW's AND gates come from precomputed triples, or with `table_gates` straight from 1-out-of-4 OT by the four-row
    table, which is the rule when `ot` is "trapdoor". `garbling` is the scheme of garbled AND gates. One engine a session:
    its keys are derived from the session's identifier (`Session.branch` makes another session).
    """
    session.take("engine")
    if name == "clear":
        engine: Engine = ClearEngine(session)
        engine.words = CircuitWords(engine)
        return engine
    transfers = Transfers(session, ot)
    if name in ("gmw", "lean"):
        direct = ot == "trapdoor" if table_gates is None else table_gates
        gates: AndGates = (TableGates if direct else TripleGates)(session, transfers)
        engine = GmwEngine(session, gates)
    else:
        engine = YaoEngine(session, transfers, garbling)
    engine.words = ArithmeticWords(engine, transfers) if name in ("mixed", "lean") else CircuitWords(engine)
    return engine


__all__ = ["Bits", "Choice", "ClearEngine", "Engine", "Garbling", "GmwEngine", "Name", "Word", "Words", "YaoEngine", "make_engine"]
