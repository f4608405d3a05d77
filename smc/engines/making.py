"""Engines made from profiles."""

from __future__ import annotations

from smc.engines.arithmetic_words import ArithmeticWords
from smc.engines.circuit_words import CircuitWords
from smc.engines.clear import ClearEngine
from smc.engines.gmw import GmwEngine
from smc.engines.interface import Engine, XorSharedEngine
from smc.engines.profile import Profile
from smc.engines.yao import YaoEngine
from smc.gmw.gates import AndGates, TableGates, TripleGates
from smc.ot import Transfers
from smc.recipes import EngineName, Form, Garbling, OTKind
from smc.session import Session


def make_engine(
    session: Session,
    name: EngineName,
    ot: OTKind = "extension",
    table_gates: bool | None = None,
    garbling: Garbling = "half",
    form: Form | None = None,
) -> Engine:
    """Return the engine of that name: how circuits are computed, and how integers are; see `smc.recipes`.

    GMW's AND gates come from precomputed triples, or with `table_gates` straight from 1-out-of-4 OT by the four-row
    table, which is the rule when `ot` is "trapdoor". `garbling` is the scheme of garbled AND gates. `form` is that of
    the circuits which protocols build for this engine: unless given, "depth" on XOR shares, where a level of AND gates
    is a round, else "size". One engine a session: its keys are derived from the session's identifier (`Session.branch`
    makes another session).

    Example:
        >>> from smc.local import run_local
        >>> run_local(lambda session: make_engine(session, "gmw").form)
        ('depth', 'depth')
    """
    return engine_of(session, Profile(name, ot, garbling, form, table_gates))


def engine_of(session: Session, profile: Profile) -> Engine:
    """Make the engine of a profile."""
    session.take("engine")
    session.note("engine", repr(profile).encode)
    if profile.recipe.circuits == "clear":
        clear = ClearEngine(session)
        clear.form = profile.form or profile.recipe.form
        clear.words = CircuitWords(clear)
        return clear
    transfers = Transfers(session, profile.ot)
    engine: XorSharedEngine
    if profile.garbles:
        engine = YaoEngine(session, transfers, profile.garbling)
    else:
        gates: AndGates = (TableGates if profile.uses_table_gates else TripleGates)(session, transfers)
        engine = GmwEngine(session, gates)
    furnish(engine, transfers, profile)
    return engine


def furnish(engine: XorSharedEngine, transfers: Transfers, profile: Profile) -> None:
    """Give an engine the form of its circuits, and its integers."""
    engine.form = profile.form or profile.recipe.form
    engine.words = ArithmeticWords(engine, transfers, profile.prices) if profile.arithmetic else CircuitWords(engine)
