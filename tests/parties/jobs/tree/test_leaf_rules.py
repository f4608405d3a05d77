"""The rules for leaves as settings: what enters the job, what is promised, and what is refused in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parties.base.canonical import job_digest
from parties.base.settings import merge
from parties.jobs.inputs import Inputs
from parties.jobs.kinds.id3 import Id3
from parties.jobs.spending import KEPT_BY_NODES
from parties.jobs.tree.joint import JointTree
from parties.jobs.tree.settings import Id3Settings
from parties.tables.example import demo
from parties.tables.schema import Schema
from protocols.rules import NO_RULES, USUAL, Rules
from smc.errors import InputError

DEMO = demo()
SCHEMA = Schema({"a": ("x", "y"), "class": ("no", "maybe", "yes"), "b": ("u", "v", "w")}, "class")
ALL = {"k": 5, "l": 1.5, "diversity": "entropy", "t": 0.25, "distance": "ordered", "against": "public"}


def task(**given: Any) -> JointTree:
    return Id3.of(merge(Id3Settings(), given), SCHEMA, "class")


def test_the_settings_are_the_protocols_rules() -> None:
    assert task(plain=True).problem.rules == NO_RULES  # type: ignore[attr-defined]
    assert task().problem.rules == USUAL  # type: ignore[attr-defined]
    assert task(**ALL).problem.rules == Rules(5, 1.5, "entropy", 0.25, "ordered", "public")  # type: ignore[attr-defined]


@pytest.mark.parametrize("change", [{"k": 2}, {"l": 2.0}, {"t": 0.5}, {"k": 2, "against": "public"}])
def test_every_rule_enters_the_job(change: dict[str, Any]) -> None:
    assert job_digest(task(**change).specification()) != job_digest(task().specification())


@pytest.mark.parametrize("given", [{}, ALL, {"l": 2}, {"t": 1}, {"prune": "mdl"}])
def test_the_peer_reads_the_same(given: dict[str, Any]) -> None:
    """Also of whole numbers, as JSON has them."""
    said = task(**given).specification()
    assert Id3.agreed(said).specification() == said
    assert {name: said[name] for name in given} == given


def test_the_policy_is_told_also_of_rules_that_rule_nothing_out() -> None:
    assert {name: task(plain=True).parameters()[name] for name in ("plain", "k", "l", "t", "against")} == {
        "plain": True,
        "k": 1,
        "l": 1,
        "t": 1,
        "against": "peer",
    }


def test_what_is_promised() -> None:
    assert task().disclosure.reveals("B")[3:] == [
        "No leaf has fewer than 5 rows of B or of us alone, unless it has none of them."
    ]
    for given in ({"plain": True}, {"k": 1}, {"plain": True, "max_depth": 1}, {"k": 1, "t": 0.5}):
        assert (
            task(**given)
            .disclosure.reveals("B")[3]
            .startswith("A leaf may describe a single person, because neither k")
        )
    assert not any("single person" in line for line in task(k=1, l=2).disclosure.reveals("B"))
    assert task(k=20, l=2, t=0.3).disclosure.reveals("B")[3:] == [
        "No leaf has fewer than 20 rows of B or of us alone, unless it has none of them.",
        "In no leaf do the rows of B or of us alone have fewer than 2 classes.",
        "In no leaf do the classes of rows of B or of us alone differ from those of all rows of that party by more "
        "than 0.3 (variational distance).",
    ]
    assert task(**ALL).disclosure.reveals("B")[3:] == [
        "No leaf has fewer than 5 rows of both parties together, unless it has none of them.",
        "In no leaf do the rows of both parties together have fewer than 1.5 classes, by the entropy of their "
        "frequencies.",
        "In no leaf do the classes of rows of both parties together differ from those of all rows by more than 0.25 "
        "(ordered distance).",
        "A party can subtract its own rows from a leaf: these rules promise nothing for the other's rows alone.",
    ]
    assert "rules" in task(**ALL).disclosure.question
    assert "rules" not in task(plain=True).disclosure.question


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"k": 0}, "k"),
        ({"k": 1.5}, "k"),
        ({"l": 0.5}, "l"),
        ({"l": float("inf")}, "l"),
        ({"t": 0}, "t"),
        ({"t": 1.5}, "t"),
        ({"t": float("nan")}, "t"),
        ({"diversity": "recursive"}, "diversity"),
        ({"distance": "hierarchical"}, "distance"),
        ({"against": "nobody"}, "against"),
        ({"k": 65536}, "k is 65,536, but there are at most 65,535 rows of a party"),
        ({"l": 4}, "l is 4, but a leaf can have 3 classes at most"),
        ({"l": 2.5}, "l is 2.5: a number of distinct classes must be a whole number; or use diversity entropy"),
        ({"l": 3, "diversity": "entropy"}, "l is 3: for entropy it must be below 3 here"),
        ({"diversity": "entropy"}, "diversity applies to l only; give an l above 1, or remove diversity"),
        ({"distance": "ordered"}, "distance applies to t only; give a t below 1, or remove distance"),
        ({"k": 1, "against": "public"}, "against applies to k, l and t only; give one of them, or remove against"),
        ({"t": 0.123456789, "against": "public"}, "does not fit 64-bit words"),
        (
            {"epsilon": 1.0, "max_depth": 2, "k": 5},
            "k cannot be combined with epsilon; remove one of them",
        ),
        ({"epsilon": 1.0, "max_depth": 2, "t": 0.5}, "t cannot be combined with epsilon"),
        ({"epsilon": 1.0, "max_depth": 2, "against": "public"}, "against cannot be combined with epsilon"),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as caught:
        task(**given).check()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_would_take_long_to_count_is_not_counted() -> None:
    """Rules that score every attribute for every node, leaf or not, of a table with many values."""
    wide = Schema({"class": ("no", "yes"), **{f"a{i}": tuple(map(str, range(40))) for i in range(30)}}, "class")
    for given, countable in (({}, True), ({"t": 0.5}, True), ({"t": 0.5, "against": "public"}, False)):
        settings = merge(Id3Settings(max_depth=4, splits="multiway"), given)
        assert Id3.of(settings, wide, "class").cost(Inputs()).is_countable == countable


LEVELS = "at most 6 levels, chosen from public numbers: --max-depth sets another maximum"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, [LEVELS, "k is 5 by default; --k or --plain changes it"]),
        ({"max_depth": 2}, ["k is 5 by default; --k or --plain changes it"]),
        ({"max_depth": 2, "k": 2}, []),
        ({"plain": True}, ["leaves may describe a single person: --k or --l prevents it"]),
        ({"plain": True, "min_rows": 9}, ["leaves may describe a single person: --k or --l prevents it"]),
        ({"epsilon": 1.0, "max_depth": 2}, [KEPT_BY_NODES]),
    ],
)
def test_a_command_says_what_its_tree_tells_of_people(given: dict[str, Any], told: list[str]) -> None:
    own = Id3Settings(data=DEMO.clinic_a, schema=DEMO.schema, target="play")
    assert Id3.alone(merge(own, given), 0)[2] == told


def test_a_command_says_that_a_target_of_numbers_became_classes(tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(
        '[attributes]\nx = ["a", "b"]\n'
        'pay = { type = "integer", low = 0, high = 99, edges = [20, 50] }\n'
        'grade = { type = "integer", low = 1, high = 3 }\n'
    )
    (tmp_path / "rows.csv").write_text("x,pay,grade\na,7,1\nb,30,2\n")
    own = Id3Settings(data=tmp_path / "rows.csv", schema=tmp_path / "schema.toml", k=2)
    for target, said in (("pay", True), ("grade", False), ("x", False)):
        line = "'pay' is a number, and its 3 ranges are the classes: for the number itself smc regress"
        told = " ".join(Id3.alone(merge(own, {"target": target}), 0)[2])
        assert (line in told) == said
        assert ("are the classes" in told) == said
