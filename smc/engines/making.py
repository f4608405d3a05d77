"""Construction of engines from profiles."""

from __future__ import annotations

from typing import Any

from smc.engines.arithmetic_words import ArithmeticWords
from smc.engines.circuit_words import CircuitWords
from smc.engines.clear import ClearEngine, ClearInner
from smc.engines.gmw import GmwEngine
from smc.engines.interface import Engine, XorSharedEngine
from smc.engines.profile import Profile
from smc.engines.shared_inner import SharedInner
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
    """Return the class of an engine.

    Raises:
        InputError: The engine has no class, or a class that does not fit its recipe or lacks methods.
    """
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
    """Return a new engine by its name, which sets the computation of circuits and of integers; see `smc.recipes`.

    A session has one engine, because its keys are derived from the session's identifier (`Session.branch` makes another
    session).

    Args:
        session: This party's end of the run.
        name: "yao", "gmw", "mixed", "lean", or "clear", which protects nothing. If in doubt, "mixed".
        ot: The kind of oblivious transfer. If in doubt, the default "extension".
        table_gates: True: AND gates on XOR shares are computed directly by 1-out-of-4 OT of the four-row table. False:
            from precomputed triples. None: True if `ot` is "trapdoor", else False. Garbled circuits ignore it.
        garbling: Scheme of garbled AND gates: "half" (32 bytes a gate) or "three-halves" (25 bytes, more computation:
            better where the link is the bottleneck). XOR shares ignore it.
        form: Goal of the circuits that protocols build for this engine: "size" saves AND gates, "depth" saves levels of
            AND gates. None: "depth" on XOR shares, where a level is a round, else "size". If in doubt, None.

    Raises:
        ValueError: `smc.recipes` does not list a name, or the session has an engine already.
        InputError: The engine's class is missing or does not fit its recipe.

    Examples:
        >>> from smc.local import run_local
        >>> run_local(lambda session: make_engine(session, "gmw").form)
        ('depth', 'depth')
    """
    return engine_of(session, Profile(name, ot, garbling, form, table_gates))


def engine_of(session: Session, profile: Profile) -> Engine:
    """Make the engine of a profile.

    Args:
        session: This party's end of the run; one engine a session.
        profile: Public choices, equal at both parties. Its `shards` are not started here: the caller attaches them.

    Raises:
        ValueError: The session has an engine already.
        InputError: The engine's class is missing or does not fit its recipe.
    """
    session.take("engine")
    session.note("engine", repr(profile).encode)
    kind: Any = class_of(profile.engine)
    if profile.recipe.circuits == "clear":
        clear: Engine = kind(session)
        clear.form = profile.form or profile.recipe.form
        clear.words, clear.inner = CircuitWords(clear), ClearInner(clear)
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
    """Set the form of an engine's circuits, its integers and its inner products, in place.

    Args:
        engine: The engine to complete.
        transfers: Both directions of OT, for additive shares and inner products.
        profile: Names the form and the representation of integers.
    """
    engine.form = profile.form or profile.recipe.form
    engine.words = ArithmeticWords(engine, transfers, profile.prices) if profile.arithmetic else CircuitWords(engine)
    engine.inner = SharedInner(engine, transfers)
