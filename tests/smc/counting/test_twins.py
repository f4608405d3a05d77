"""Counting inherits what sends and receives, replaces what computes, and nothing else."""

from __future__ import annotations

from typing import Any, get_args

import numpy as np
import pytest

from protocols.logarithm import open_logarithm
from smc import kernels
from smc.counting import engines, forecast, roles
from smc.counting.engines import CountingEngine, CountingGmw, CountingYao
from smc.engines import GmwEngine, Profile, YaoEngine
from smc.engines.shared_inner import SharedInner
from smc.gmw.gates import TripleGates
from smc.gmw.triples import TripleSource
from smc.kernels.native import Kernel
from smc.ot import elliptic
from smc.ot.interface import Role
from smc.recipes import ENGINES, EngineName, OTKind
from smc.yao.evaluator import Evaluator
from smc.yao.garbler import Garbler

OTHERS = {elliptic.EllipticSender: roles._EllipticSender, elliptic.EllipticReceiver: roles._EllipticReceiver}
MADE_OF_TWINS = {
    "base_ot",
    "extension",
    "few_ot",
    "rate",
    "work",
}  # which classes a role is made of, and how time is counted


def replaced(twin: type, module: Any) -> set[str]:
    """What a twin defines in the counting package: methods and attributes."""
    mine = [cls for cls in twin.__mro__ if cls.__module__ == module.__name__]
    return {name for cls in mine for name in vars(cls) if not name.startswith("__") and name != "_abc_impl"}


@pytest.mark.parametrize(("real", "twin"), [*roles.TWINS.items(), *OTHERS.items()], ids=lambda cls: cls.__name__)
def test_a_role_that_counts_replaces_only_what_computes(real: type[Role], twin: type[Role]) -> None:
    names = replaced(twin, roles) - MADE_OF_TWINS
    assert all(name.startswith("_") for name in names), names
    assert all(hasattr(real, name) for name in names), names  # nothing that the real role has no more
    assert issubclass(twin, real)


@pytest.mark.parametrize(
    ("real", "twin", "allowed"),
    [
        (Garbler, engines._CountingGarbler, {"garble"}),  # the walk without labels
        (Evaluator, engines._CountingEvaluator, {"evaluate"}),
        (TripleSource, engines._CountingTripleSource, set()),
        (TripleGates, engines._CountingTripleGates, {"source"}),
        (YaoEngine, CountingYao, {"constant", "shares", "garbler", "evaluator"}),
        (GmwEngine, CountingGmw, set()),
        (SharedInner, engines._CountingInner, set()),
    ],
)
def test_so_do_engines_and_what_they_are_made_of(real: type, twin: type, allowed: set[str]) -> None:
    names = replaced(twin, engines) - replaced(CountingEngine, engines) - allowed - {"_row_seconds"}
    assert issubclass(twin, real)
    assert all(name.startswith("_") and hasattr(real, name) for name in names), names


@pytest.mark.parametrize("ot", get_args(OTKind))
@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_is_computed(monkeypatch: pytest.MonkeyPatch, engine: EngineName, ot: OTKind) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a cryptographic operation while counting")

    for name in [name for name, value in vars(kernels).items() if isinstance(value, Kernel)]:
        monkeypatch.setattr(kernels, name, refuse)
    monkeypatch.setattr(elliptic, "_multiply", refuse)
    profile = Profile(engine, ot, table_gates=False)
    found = forecast(lambda e: open_logarithm(e, np.zeros(100, np.uint64), 1000, 0.01, times_x=True), profile)
    assert found.bytes > 0
