"""The public job: what enters it, what does not, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from parties.canonical import job_digest
from parties.jobs.id3 import Id3
from parties.jobs.id3_exact import Exact
from parties.jobs.id3_result import indexed, named
from parties.jobs.id3_settings import Id3Settings
from parties.jobs.millionaires import Millionaires
from parties.tables.schema import Schema
from parties.trees.tree import Leaf, Split
from protocols import id3
from smc.errors import InputError

SCHEMA = Schema({"a": ("x", "y"), "class": ("no", "yes"), "b": ("u", "v", "w")}, "class")


def digest(settings: Id3Settings, schema: Schema = SCHEMA, target: str = "class") -> str:
    return job_digest(Id3(settings, schema, target).specification())


@pytest.mark.parametrize(
    "change",
    [{"delta": 0.01}, {"min_rows": 1}, {"max_depth": 3}, {"max_rows": 10}, {"engine": "yao"}, {"ot": "trapdoor"}],
)
def test_every_public_parameter_enters_the_job(change: dict[str, object]) -> None:
    assert digest(Id3Settings(**change)) != digest(Id3Settings())  # type: ignore[arg-type]


def test_schema_order_and_target_enter_the_job() -> None:
    other = Schema(dict(reversed(SCHEMA.attributes.items())), "class")
    assert digest(Id3Settings(), other) != digest(Id3Settings())
    assert digest(Id3Settings(), target="b") != digest(Id3Settings())


def test_private_things_do_not_enter_the_job() -> None:
    private = Id3Settings(data=Path("mine.csv"), out=Path("tree.json"), report=Path("cost.json"))
    assert digest(private) == digest(Id3Settings())
    own = Millionaires(Millionaires.Settings(value=77))
    assert "77" not in str(own.specification())


def test_the_problem_and_the_names() -> None:
    problem = Exact(Id3Settings(), SCHEMA, "class").problem
    assert (problem.domains, problem.classes, problem.max_rows) == ((2, 3), 2, 65535)
    tree = id3.Split(1, (id3.Leaf(0), id3.Split(0, (id3.Leaf(1), id3.Leaf(0))), id3.Leaf(1)))
    found = named(tree, SCHEMA, "class")
    assert found == Split(
        "b", {"u": Leaf("no"), "v": Split("a", {"x": Leaf("yes"), "y": Leaf("no")}), "w": Leaf("yes")}
    )
    assert indexed(found, SCHEMA, "class") == tree


def test_a_tree_that_could_not_be_read_back_is_refused() -> None:
    wide = Schema({f"a{i}": ("x", "y") for i in range(202)}, "a0")
    with pytest.raises(InputError, match="--max-depth"):
        Exact(Id3Settings(), wide, "a0").check()
    Exact(Id3Settings(max_depth=200), wide, "a0").check()


def test_what_does_not_fit_the_word_is_refused() -> None:
    with pytest.raises(InputError, match="--delta"):
        Exact(Id3Settings(delta=1e-6, max_rows=2**31), SCHEMA, "class").check()
