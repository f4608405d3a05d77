"""The one table of engines: complete, light, and what engines, counting and documents follow."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import pytest

from smc.channel import memory_pair
from smc.counting import CountingSession, make_counting_engine
from smc.counting.rates import COT_SECONDS, EVALUATE_SECONDS, GARBLE_SECONDS
from smc.engines import ArithmeticWords, ClearEngine, GmwEngine, Profile, YaoEngine, engine_of
from smc.ot import make_roles
from smc.recipes import BOOLEAN_ENGINES, ENGINES, RECIPES, EngineName, Form, Garbling, OTKind
from smc.session import Session
from smc.yao.schemes import SCHEMES

ROOT = Path(__file__).resolve().parents[2]
CLASSES = {"garbled": YaoEngine, "XOR shares": GmwEngine, "clear": ClearEngine}


def session() -> Session:
    return Session(0, memory_pair()[0], bytes(32))


def test_every_name_has_its_entry() -> None:
    assert set(RECIPES) == set(get_args(EngineName))
    assert set(SCHEMES) == set(GARBLE_SECONDS) == set(EVALUATE_SECONDS) == set(get_args(Garbling))
    assert set(COT_SECONDS) | {"extension", "trapdoor"} == set(get_args(OTKind))
    assert ENGINES == ("yao", "gmw", "mixed", "lean")
    assert BOOLEAN_ENGINES == ("yao", "gmw")
    assert RECIPES["clear"].security is None


@pytest.mark.parametrize("name", get_args(EngineName))
def test_an_engine_is_what_its_recipe_says(name: EngineName) -> None:
    recipe, engine = RECIPES[name], engine_of(session(), Profile(name))
    assert type(engine) is CLASSES[recipe.circuits]
    assert isinstance(engine.words, ArithmeticWords) == (recipe.integers == "additive shares")
    assert engine.form == recipe.form
    assert engine.words.prices == recipe.prices
    if recipe.security is None:
        with pytest.raises(ValueError, match="nothing that could be counted"):
            make_counting_engine(CountingSession(0), Profile(name))
    else:
        counted = make_counting_engine(CountingSession(0), Profile(name))
        assert type(counted.words) is type(engine.words)
        assert counted.form == engine.form
        assert counted.comfortable == engine.comfortable


@pytest.mark.parametrize("kind", get_args(OTKind))
def test_every_kind_of_ot_has_roles_real_and_counted(kind: OTKind) -> None:
    assert make_roles(kind, session(), "a", "b")
    assert make_counting_engine(CountingSession(0), Profile("gmw", kind))


@pytest.mark.parametrize(
    "wrong", [{"engine": "bmr"}, {"ot": "softspoken3"}, {"garbling": "quarter"}, {"form": "flat"}], ids=str
)
def test_a_profile_of_unknown_names_is_refused(wrong: dict[str, Any]) -> None:
    (value,) = wrong.values()
    with pytest.raises(ValueError, match=f"'{value}'; it must be one of"):
        Profile(**{"engine": "yao", **wrong})


def test_the_document_lists_the_same_engines() -> None:
    text = (ROOT / "docs" / "protocols-engines.md").read_text().partition("\n## Engines")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (\w+) \| ([^|]+) \| ([^|]+) \|", text, re.MULTILINE)
    assert {(name, circuits.split(",")[0], integers) for name, circuits, integers in rows if name in RECIPES} == {
        (name, {"clear": "the bits themselves"}.get(recipe.circuits, recipe.circuits), recipe.integers)
        for name, recipe in RECIPES.items()
    }


def test_reading_the_table_loads_nothing() -> None:
    code = "import sys, smc.recipes; print(*(name for name in sys.modules if name == 'numpy' or name[:4] == 'smc.'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.split() == ["smc.recipes"]


def test_every_form_is_one_of_two() -> None:
    assert {recipe.form for recipe in RECIPES.values()} == set(get_args(Form))
