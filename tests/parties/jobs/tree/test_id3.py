"""The public job: what enters it, what does not, and what is refused."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from parties.base.canonical import job_digest
from parties.base.settings import merge
from parties.jobs.kinds.id3 import Id3
from parties.jobs.kinds.millionaires import Millionaires
from parties.jobs.settings import public_parameters
from parties.jobs.tree.exact import ExactTree
from parties.jobs.tree.joint import JointTree
from parties.jobs.tree.private import PrivateTree
from parties.jobs.tree.result import indexed, named
from parties.jobs.tree.settings import Id3Settings
from parties.models.trees.tree import Leaf, Split, TreeFile
from parties.tables.schema import Schema
from protocols import id3
from smc.errors import InputError
from tests.support.proposals import proposal_of

SCHEMA = Schema({"a": ("x", "y"), "class": ("no", "yes"), "b": ("u", "v", "w")}, "class")


def digest(settings: Id3Settings, schema: Schema = SCHEMA, target: str = "class") -> str:
    return job_digest(Id3.of(settings, schema, target).specification())


@pytest.mark.parametrize(
    "change",
    [
        {"tolerance": 0.01},
        {"min_rows": 1},
        {"max_depth": 2},
        {"max_rows": 10},
        {"splits": "multiway"},
        {"prune": "mdl"},
        {"criterion": "gain-ratio"},
        {"prune": "holdout"},
        {"prune": "holdout", "holdout": 0.2},
        {"weights": ("yes:3",)},
        {"engine": "yao"},
        {"ot": "trapdoor"},
    ],
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
    task = ExactTree(Id3Settings(k=1, splits="multiway"), SCHEMA, "class")
    problem = task.problem
    assert (problem.domains, problem.classes, problem.max_rows) == ((2, 3), 2, 65535)
    tree = id3.Split(1, (id3.Leaf(0), id3.Split(0, (id3.Leaf(1), id3.Leaf(0))), id3.Leaf(1)))
    found = named(tree, SCHEMA, "class", task.questions)
    assert found == Split(
        "b", {"u": Leaf("no"), "v": Split("a", {"x": Leaf("yes"), "y": Leaf("no")}), "w": Leaf("yes")}
    )
    assert indexed(found, SCHEMA, "class", task.questions) == tree


def test_a_tree_that_could_not_be_read_back_is_refused() -> None:
    wide = Schema({f"a{i}": ("x", "y") for i in range(202)}, "a0")
    with pytest.raises(InputError, match="--max-depth"):
        Id3.of(Id3Settings(plain=True), wide, "a0").check()
    Id3.of(Id3Settings(plain=True, max_depth=200), wide, "a0").check()
    Id3.of(Id3Settings(), wide, "a0").check()


def test_a_target_of_one_value_is_refused() -> None:
    with pytest.raises(InputError, match=r"^target: 'class' has one value, 'no'; choose another target$"):
        Id3.canonical(Id3Settings(), Schema({"a": ("x", "y"), "class": ("no",)}, "class"))


def test_what_does_not_fit_the_word_is_refused() -> None:
    with pytest.raises(InputError, match="--tolerance"):
        Id3.of(Id3Settings(tolerance=1e-6, max_rows=2**31), SCHEMA, "class").check()


NOISY = {"epsilon": 1.0, "max_depth": 2}


def noisy(**more: object) -> JointTree:
    return Id3.of(Id3Settings(**(NOISY | more)), SCHEMA, "class")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        {"epsilon": 2.0}, {"adjacency": "replace"}, {"quality": "gini"}, {"stop": "off"}, {"leaf_epsilon": 0.25},
        {"trees": 2}, {"max_depth": 1}, {"max_rows": 10}, {"engine": "yao"},
    ],
)  # fmt: skip
def test_every_parameter_of_the_noise_enters_the_job(change: dict[str, object]) -> None:
    job = noisy(**change)
    assert job_digest(job.specification()) != job_digest(noisy().specification())
    assert Id3.agreed(json.loads(json.dumps(job.specification()))).specification() == job.specification()
    assert not {"tolerance", "min_rows"} & set(job.specification())


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"quality": "gini"}, "quality needs epsilon; give epsilon"),
        ({"trees": 3}, "trees needs epsilon"),
        ({"epsilon": 1.0, "weights": ("yes:2",)}, "weights cannot be combined with epsilon; remove one of them"),
        ({"epsilon": 1.0, "prune": "chi2"}, "prune cannot be combined with epsilon; remove one of them"),
        ({"epsilon": 1.0, "plain": True}, "plain cannot be combined with epsilon; remove one of them"),
        (NOISY | {"min_rows": 5}, "min_rows cannot be combined with epsilon"),
        (NOISY | {"tolerance": 0.5}, "tolerance cannot be combined with epsilon"),
        (NOISY | {"leaf_epsilon": 2.0}, "at most epsilon"),
        (NOISY | {"leaf_epsilon": 1.0}, "none is left for the splits"),
        (NOISY | {"max_depth": 201}, "--max-depth"),
        (NOISY | {"quality": "entropy", "max_rows": 2**30}, "choose quality max"),
        (NOISY | {"quality": "gini", "max_rows": 2**30}, "choose quality max"),
    ],
)
def test_what_does_not_go_with_noise_is_refused_in_a_line(settings: dict[str, object], why: str) -> None:
    with pytest.raises(InputError, match=why) as refused:
        Id3.of(Id3Settings(**settings), SCHEMA, "class").check()  # type: ignore[arg-type]
    assert "\n" not in str(refused.value)


def test_a_tree_that_never_stops_is_refused_if_it_would_be_too_large() -> None:
    wide = Schema({f"a{i}": tuple("abcdefghij") for i in range(8)}, "a0")
    with pytest.raises(InputError, match="10,000,000 leaves; choose a smaller max_depth"):
        Id3.of(Id3Settings(epsilon=1, max_depth=7, stop="off"), wide, "a0").check()
    Id3.of(Id3Settings(epsilon=1, max_depth=7), wide, "a0").check()


@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), 2.0**-21])
def test_no_epsilon_is_taken_that_is_none(value: float) -> None:
    with pytest.raises(InputError, match="--epsilon: must be"):
        merge(Id3Settings(), {"epsilon": float(value)})


def test_epsilon_may_be_as_small_and_as_large_as_the_settings_say() -> None:
    for epsilon in (2**-20, 1000):
        for quality in ("max", "gini", "entropy"):
            noisy(epsilon=epsilon, quality=quality, adjacency="replace").check()


def test_a_policy_can_bound_epsilon_and_an_exact_tree_has_none() -> None:
    assert noisy(epsilon=0.5).parameters()["epsilon"] == 0.5
    assert "epsilon" in [one.key for one in public_parameters(Id3Settings) if one.is_number]
    assert "epsilon" not in Id3.of(Id3Settings(), SCHEMA, "class").parameters()


@pytest.mark.parametrize("more", [{}, {"leaf_epsilon": 0.7}, {"trees": 5}, {"stop": "off"}, {"max_depth": 0}])
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_what_is_spent_is_epsilon_in_all(more: dict[str, object], adjacency: str) -> None:
    """Levels one after the other, then the leaves; trees have different rows, and cost no more than one."""
    made = noisy(adjacency=adjacency, **more)
    spent, problem = made.disclosure.spends, made.problem  # type: ignore[attr-defined]
    assert problem.replace == (adjacency == "replace")
    assert float(sum(loss.amount * loss.times for loss in spent)) == pytest.approx(1)
    assert {(loss.adjacency, loss.delta, loss.measure) for loss in spent} == {(adjacency, 0, "epsilon")}
    assert Id3.of(Id3Settings(), SCHEMA, "class").disclosure.spends == ()


def test_the_depth_is_chosen_from_public_numbers_if_it_is_not_given() -> None:
    # 2 x 10 rows leave enough for each of two values and two shares of epsilon; 2 x 4, or 20 in five trees, do not.
    depths = {(10, 1): 1, (4, 1): 0, (10, 5): 0, (10**6, 1): 2}
    for (rows, trees), depth in depths.items():
        task = PrivateTree(Id3Settings(epsilon=1, max_rows=rows, trees=trees), SCHEMA, "class")
        assert task.settings.max_depth == depth
        assert task.problem.leaf_epsilon == Fraction(1, depth + 1)
    assert PrivateTree(Id3Settings(epsilon=1, max_depth=7), SCHEMA, "class").settings.max_depth == 7


def test_an_exact_tree_has_k_and_a_depth_unless_it_is_plain() -> None:
    def chosen(schema: Schema = SCHEMA, **given: Any) -> tuple[int | None, int | None]:
        settings = Id3.of(Id3Settings(**given), schema, "class").settings
        return settings.k, settings.max_depth

    wide = Schema({"class": ("no", "yes"), **{f"a{i}": ("x", "y") for i in range(20)}}, "class")
    assert chosen() == (5, 3)  # a's two values, and two edges of b
    assert chosen(max_rows=39) == (5, 2)  # 39 / 8 is below 5
    assert chosen(max_rows=40) == (5, 3)
    assert chosen(splits="multiway") == (5, 2)
    assert chosen(splits="multiway", max_rows=29) == (5, 1)  # 29 / 6 is below 5, and three values may have 5 each
    assert chosen(splits="multiway", max_rows=30) == (5, 2)
    assert chosen(wide) == (5, 7)  # 2^7 is at most 200 leaves
    assert chosen(wide, max_rows=640) == (5, 7)  # 5 * 2^7 is at most 640
    assert chosen(wide, max_rows=639) == (5, 6)
    assert chosen(wide, k=8, max_rows=640) == (8, 6)
    assert chosen(wide, k=8, max_rows=640, against="public") == (8, 7)  # the union has twice as many
    assert chosen(wide, max_depth=20) == (5, 20)
    assert chosen(wide, max_depth=0) == (5, 0)
    assert chosen(wide, k=1) == (1, 7)
    assert chosen(wide, l=2) == (5, 7)
    assert chosen(wide, plain=True) == (1, None)
    assert chosen(wide, plain=True, max_depth=3, min_rows=4) == (1, 3)


@pytest.mark.parametrize(("columns", "values", "depth"), [(20, 3, 6), (20, 9, 6), (40, 2, 6), (40, 4, 5), (300, 9, 2)])
def test_a_tree_that_asks_in_two_is_no_deeper_than_its_counts_allow(columns: int, values: int, depth: int) -> None:
    """Of a column three edges are compared at most: two counts an edge, of two classes and their sum."""
    wide = {f"a{i}": tuple(map(str, range(values))) for i in range(columns)}
    task = Id3.of(Id3Settings(), Schema({"class": ("no", "yes"), **wide}, "class"), "class")
    each = columns * 2 * min(3, values - 1) * 3
    assert each * (2**depth - 1) <= 25_000 < each * (2 ** (depth + 1) - 1)
    assert task.settings.max_depth == depth
    assert Id3.of(Id3Settings(max_depth=9), task.schema, "class").settings.max_depth == 9


def test_a_tree_asks_in_two_unless_it_is_plain_or_has_noise() -> None:
    ways = [{}, {"plain": True}, {"epsilon": 1.0}, {"support_epsilon": 1.0}, {"prune": "holdout"}]
    chosen = [Id3.of(merge(Id3Settings(), given), SCHEMA, "class").settings.splits for given in ways]
    assert chosen == ["binary", "multiway", "ordered", "binary", "binary"]
    edges = [ExactTree(merge(Id3Settings(splits="binary"), given), SCHEMA, "class").problem.edges for given in ways[:2]]
    assert edges == [3, None]


def test_the_default_is_the_same_by_a_command_a_job_file_and_a_specification(tmp_path: Path) -> None:
    """And a specification that leaves something open is none: the peer might choose otherwise."""
    SCHEMA.save(tmp_path / "schema.toml")
    said = Id3.planned(Id3Settings(schema=tmp_path / "schema.toml", max_rows=40)).specification()
    assert said == proposal_of(SCHEMA, max_rows=100).specification | {"max_rows": 40}
    assert (said["k"], said["max_depth"], said["splits"], said["plain"]) == (5, 3, "binary", False)
    for change in ({"k": None}, {"max_depth": None}, {"splits": None}):
        assert Id3.agreed(said | change).specification() != said | change
    plain = proposal_of(SCHEMA, plain=True).specification
    assert (plain["k"], plain["max_depth"], plain["plain"]) == (1, None, True)
    assert Id3.agreed(plain).specification() == plain
    assert "A leaf may describe a single person" in " ".join(Id3.agreed(plain).disclosure.reveals("bob"))


@pytest.mark.parametrize("rule", [{"k": 5}, {"l": 2.0}, {"t": 0.5}])
def test_plain_goes_with_no_rule(rule: dict[str, Any]) -> None:
    (name,) = rule
    line = f"plain cannot be combined with {name}; remove one of them"
    with pytest.raises(InputError) as flags:
        merge(Id3Settings(), {"plain": True, **rule})
    with pytest.raises(InputError) as file:
        proposal_of(SCHEMA, plain=True, **rule)
    assert str(flags.value) == str(file.value) == line


def test_states_and_results_of_a_forest() -> None:
    job = noisy(trees=2)
    state = (id3.Split(0, (id3.Leaf(1), id3.Leaf(0))), id3.Leaf(1))
    assert job.states.decode(json.loads(json.dumps(job.states.encode(state)))) == state
    assert job.states.encode(job.states.beginning) is None
    assert job.states.decode(None) == job.states.beginning == (id3.Open(), id3.Open())
    assert [(job.states.steps(one), job.states.is_done(one)) for one in (job.states.beginning, state)] == [
        (0, False),
        (2, True),
    ]
    assert job.states.cut(state, 1) == (id3.Split(0, (id3.Open(), id3.Open())), id3.Leaf(1))
    assert job.states.cut(state, 2) == state  # the deepest tree counts
    document = job.document(state)
    assert (document["epsilon"], document["adjacency"], document["quality"]) == (1, "add-remove", "max")
    assert len(document["trees"]) == 2
    assert job.state_of(TreeFile.parse(document)) == state
    assert "tree 2: yes" in job.text(document, 0)
    with pytest.raises(InputError, match="not a result of 1 trees"):
        noisy().state_of(TreeFile.parse(document))
    with pytest.raises(InputError, match="made with noise"):
        Id3.of(Id3Settings(), SCHEMA, "class").state_of(TreeFile.parse(document))
    assert any("e^1 (differential privacy)" in line for line in job.disclosure.reveals("them"))


def test_columns_are_all_that_the_job_is_about() -> None:
    """The same job as one on a schema that has no other columns; both parties have to name the same."""
    alone = Schema({"class": SCHEMA.attributes["class"], "b": SCHEMA.attributes["b"]}, "class")
    chosen = Id3.canonical(merge(Id3Settings(), {"columns": ("b",)}), SCHEMA)
    assert chosen.specification() == Id3.canonical(Id3Settings(), alone).specification()
    assert chosen.specification() != Id3.canonical(Id3Settings(), SCHEMA).specification()
    for columns in ((), ("class",), ("b", "b"), ("c",)):
        with pytest.raises(InputError):
            Id3.canonical(merge(Id3Settings(), {"columns": columns}), SCHEMA)
