"""Settings of jobs know the choices of the engine, and leave them to `auto`."""

from __future__ import annotations

from contextlib import nullcontext
from typing import get_args

import pytest

from parties.base.settings import merge
from parties.jobs.execution import profiles
from parties.jobs.kinds.millionaires import Millionaires
from parties.jobs.settings import public_parameters
from parties.jobs.tree.settings import Id3Settings
from smc.engines import Profile
from smc.recipes import BOOLEAN_ENGINES, ENGINES, RECIPES, Form, Garbling, Gates, OTKind


def test_the_choices_are_those_of_the_recipes() -> None:
    known = {one.key: set(one.choices) for one in public_parameters(Id3Settings)}
    assert known["engine"] == {"auto", *RECIPES} - {"clear"}
    assert known["ot"] == set(get_args(OTKind))
    assert known["garbling"] == set(get_args(Garbling))
    assert known["form"] == set(get_args(Form))
    assert known["gates"] == set(get_args(Gates))
    bits = {one.key: set(one.choices) for one in public_parameters(Millionaires.Settings)}["engine"]
    assert bits == {"auto", "yao", "gmw"}


def test_engines_that_auto_may_choose_are_recipes() -> None:
    for integers in (False, True):
        for profile in profiles.profiles(integers):
            assert profile.engine in (ENGINES if integers else BOOLEAN_ENGINES)


@pytest.mark.parametrize("flags", [{"ot": "ferret"}, {"garbling": "half"}, {"form": "depth"}, {"gates": "table"}])
def test_auto_does_not_let_itself_be_told_the_rest(flags: dict[str, object]) -> None:
    with pytest.raises(Exception, match="engine auto chooses"):
        merge(Id3Settings(), {"engine": "auto", **flags})


def test_gates_are_for_shared_bits() -> None:
    """Named alone they mean gmw; a garbling engine refuses them, because it would ignore them in silence."""
    assert merge(Id3Settings(), {"gates": "table"}).engine == merge(Millionaires.Settings(), {"gates": "table"}).engine
    assert merge(Id3Settings(), {"gates": "table"}).engine == "gmw"
    for engine in ENGINES:
        fits = RECIPES[engine].circuits == "XOR shares"
        with nullcontext() if fits else pytest.raises(Exception, match="gates are for XOR shares"):
            merge(Id3Settings(), {"engine": engine, "gates": "triples"})


def test_garbling_is_for_garbled_circuits() -> None:
    """An engine of shared bits refuses another scheme; the usual one, which specifications name, is no choice."""
    for engine in ENGINES:
        fits = RECIPES[engine].circuits != "XOR shares"
        assert merge(Id3Settings(), {"engine": engine, "garbling": "half"}).engine == engine
        with nullcontext() if fits else pytest.raises(Exception, match=f"{engine} has none; remove it"):
            merge(Id3Settings(), {"engine": engine, "garbling": "three-halves"})


@pytest.mark.parametrize(("gates", "table"), [(None, None), ("table", True), ("triples", False)])
def test_gates_reach_the_profile_and_the_specification(gates: str | None, table: bool | None) -> None:
    settings = merge(Millionaires.Settings(), {"engine": "gmw"} | ({"gates": gates} if gates else {}))
    specification = Millionaires(settings).specification()
    assert specification.get("gates") == gates
    assert profiles.named(specification) == Profile("gmw", table_gates=table)
    assert Profile("gmw", table_gates=table).gates == gates
