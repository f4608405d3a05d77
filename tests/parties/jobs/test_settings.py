"""Settings of jobs know the choices of the engine, and leave them to `auto`."""

from __future__ import annotations

from typing import get_args

import pytest

from parties.base.settings import merge
from parties.jobs import profiles
from parties.jobs.kinds.millionaires import Millionaires
from parties.jobs.settings import public_parameters
from parties.jobs.tree.settings import Id3Settings
from smc.recipes import BOOLEAN_ENGINES, ENGINES, RECIPES, Form, Garbling, OTKind


def test_the_choices_are_those_of_the_recipes() -> None:
    known = {one.key: set(one.choices) for one in public_parameters(Id3Settings)}
    assert known["engine"] == {"auto", *RECIPES} - {"clear"}
    assert known["ot"] == set(get_args(OTKind))
    assert known["garbling"] == set(get_args(Garbling))
    assert known["form"] == set(get_args(Form))
    bits = {one.key: set(one.choices) for one in public_parameters(Millionaires.Settings)}["engine"]
    assert bits == {"auto", "yao", "gmw"}


def test_engines_that_auto_may_choose_are_recipes() -> None:
    for integers in (False, True):
        for profile in profiles.profiles(integers):
            assert profile.engine in (ENGINES if integers else BOOLEAN_ENGINES)


@pytest.mark.parametrize("flags", [{"ot": "ferret"}, {"garbling": "half"}, {"form": "depth"}])
def test_auto_does_not_let_itself_be_told_the_rest(flags: dict[str, object]) -> None:
    with pytest.raises(Exception, match="engine auto chooses"):
        merge(Id3Settings(), {"engine": "auto", **flags})
