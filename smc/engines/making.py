"""Engines made from profiles."""

from __future__ import annotations

from typing import Any

from smc.engines.arithmetic_words import ArithmeticWords
from smc.engines.circuit_words import CircuitWords
from smc.engines.clear import ClearEngine
from smc.engines.gmw import GmwEngine
from smc.engines.interface import Engine, XorSharedEngine
from smc.engines.profile import Profile
from smc.engines.yao import YaoEngine
from smc.errors import InputError
from smc.gmw.gates import AndGates, TableGates, TripleGates
from smc.ot import Transfers
from smc.recipes import RECIPES, EngineName, Form, Garbling, OTKind
from smc.session import Session

CLASSES: dict[EngineName, type[Engine]] = {
    "yao": YaoEngine,
    "gmw": GmwEngine,
    "mixed": YaoEngine,
    "lean": GmwEngine,
    "clear": ClearEngine,
}
BASES: dict[str, type[Engine]] = {"garbled": YaoEngine, "XOR shares": GmwEngine, "clear": ClearEngine}


def class_of(name: EngineName) -> type[Engine]:
    """Return the class of an engine. InputError if it has none, or one that does not fit its recipe."""
    if name not in CLASSES:
        raise InputError(f"smc/engines/making.py: the engine '{name}' has no class: add it to CLASSES")
    base, circuits = BASES[RECIPES[name].circuits], RECIPES[name].circuits
    if not issubclass(CLASSES[name], base):
        raise InputError(
            f"smc/engines/making.py: the engine '{name}' computes '{circuits}' by smc/recipes.py, "
            f"so its class must be made from {base.__name__}"
        )
    if lacking := sorted(getattr(CLASSES[name], "__abstractmethods__", ())):
        raise InputError(f"{CLASSES[name].__module__}: {CLASSES[name].__name__} lacks {', '.join(lacking)}")
    return CLASSES[name]


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

    Examples:
        >>> from smc.local import run_local
        >>> run_local(lambda session: make_engine(session, "gmw").form)
        ('depth', 'depth')
    """
    return engine_of(session, Profile(name, ot, garbling, form, table_gates))


def engine_of(session: Session, profile: Profile) -> Engine:
    """Make the engine of a profile."""
    session.take("engine")
    session.note("engine", repr(profile).encode)
    kind: Any = class_of(profile.engine)
    if profile.recipe.circuits == "clear":
        clear: Engine = kind(session)
        clear.form = profile.form or profile.recipe.form
        clear.words = CircuitWords(clear)
        return clear
    transfers = Transfers(session, profile.ot)
    engine: XorSharedEngine
    if profile.garbles:
        engine = kind(session, transfers, profile.garbling)
    else:
        gates: AndGates = (TableGates if profile.uses_table_gates else TripleGates)(session, transfers)
        engine = kind(session, gates)
    furnish(engine, transfers, profile)
    return engine


def furnish(engine: XorSharedEngine, transfers: Transfers, profile: Profile) -> None:
    """Give an engine the form of its circuits, and its integers."""
    engine.form = profile.form or profile.recipe.form
    engine.words = ArithmeticWords(engine, transfers, profile.prices) if profile.arithmetic else CircuitWords(engine)
