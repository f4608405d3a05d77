"""Every kind on shares: party 0's numbers plus r, party 1's minus r modulo 2^64, give the same answer and bytes."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cache
from typing import Any

import numpy as np
import pytest

from parties.jobs import kinds
from parties.jobs.inputs import Inputs
from parties.jobs.kind import Counted
from parties.jobs.tree.joint import JointTree
from parties.tables.schema import Schema
from parties.tables.types import Domain, FlagType, IntegerType, RealType
from protocols.counts import RowCounts
from smc.counting import forecast
from smc.engines import Profile
from tests.support.blame_cases import office
from tests.support.shares import outcome

SCHEMA = Schema(
    {
        "age": ("young", "middle", "old"),
        "sex": ("male", "female"),
        "visits": ("3.5", "0", "-1", "?", "2"),
        "n": tuple(map(str, range(6))),
        "days": Domain(IntegerType(low=0, high=1800, edges=(30, 90, 365), missing=True)),
        "score": Domain(RealType(low=0, high=1, edges=(0.2, 0.4, 0.6, 0.8), missing=True)),
        "older": Domain(RealType(low=0, high=1, edges=(0.5,))),
        "died": Domain(FlagType(missing=True)),
        "outcome": ("good", "bad"),
    },
    "outcome",
)
ROWS = 63  # of party 0: all bits of the bound are in use
NOISY, EXACT = {"epsilon": 1.0}, {"exact": True}
PLAIN = {"plain": True, "max_depth": 3}
ESTIMATOR = '{"target": "n", "least": 0, "greatest": 5, "intercept": 2, "columns": {}}'
SCORES = {"scores": "score", "target": "died"}
REGRESSIONS: list[dict[str, Any]] = [
    {"method": "gradient", "steps": 3, "target": "outcome"},
    {"method": "choice", "steps": 4, "target": "outcome"},
    {"method": "choice", "columns": ("n",), "target": "outcome"},
    {"method": "ridge", "target": "visits"},
]
RULES: list[dict[str, Any]] = [
    {"support": 0.07, "confidence": 0.3},
    {"support": 0.02, "confidence": 0.4, "lift": 1.05},
    {"k": 40, "support": 0.05, "confidence": 0.3},  # k is the larger bound
    {"support": 0.05, "first": 6, **NOISY},
]
AGAINST_PEER: list[tuple[int, dict[str, Any]]] = [
    (2, {}),
    (4, {"splits": "multiway", "weights": ("good:2",)}),
    (3, {"support_epsilon": 1.0}),
]
TABLES: list[dict[str, Any]] = [
    {**NOISY},
    {**NOISY, "sum": "n"},
    {"analyst": office(), "against": "public", "zeros": "shown"},
]
CASES: list[tuple[str, dict[str, Any]]] = [
    ("release count", {"where": "sex = male; age = old", **NOISY}),
    ("release count", {"where": "sex = male", **EXACT}),
    ("release count", {"where": "sex = male", **NOISY, "delta": 1e-9}),
    ("release sum", {"column": "visits", **NOISY}),
    ("release sum", {"column": "visits", **EXACT}),
    ("release mean", {"column": "visits", "by": ("age",), **EXACT}),
    ("release mean", {"column": "visits", **NOISY}),
    ("release histogram", {"by": "age", **NOISY}),
    ("release histogram", {"by": "age", **EXACT}),
    ("release table", {"by": ("age", "sex"), **NOISY}),
    ("release table", {"by": ("age", "sex"), **EXACT}),
    ("release deviation", {"column": "visits", **NOISY}),
    ("release correlation", {"numeric": ("visits", "n"), **EXACT}),
    ("release median", {"column": "n", **NOISY}),
    ("release top", {"column": "age", **NOISY}),
    ("release top", {"column": "age", "first": 2, **EXACT}),
    ("release choose", {"column": "n", "prices": "1, 2.5", **NOISY}),
    ("release edges", {"numeric": ("n",), "parts": 2, **NOISY}),
    ("release edges", {"numeric": ("n", "visits"), "parts": 3, **EXACT}),
    ("release marginals", {"ways": 2, **NOISY, "delta": 1e-9}),
    ("release naive-bayes", {"target": "outcome", **EXACT}),
    ("synthesise", {**NOISY, "delta": 1e-9, "columns": ("age", "sex")}),
    ("variance", {"column": "n", "above": 2.0}),
    ("quantile", {"column": "n", "at": 0.5, **NOISY}),
    ("scorecard", {"target": "outcome", **NOISY}),
    *(("rank", {"target": "outcome", "measure": measure}) for measure in ("mi", "iv", "chi2", "gini")),
    ("test chi2", {"columns": ("age", "sex")}),
    ("test chi2", {"columns": ("age", "sex"), **NOISY}),
    ("test proportions", {"target": "outcome", "by": "sex"}),
    ("test trend", {"target": "outcome", "by": "n"}),
    ("test welch", {"column": "n", "by": "sex"}),
    ("survive curve", {"time": "days", "event": "died", **NOISY}),
    ("survive cox", {"time": "days", "event": "died", "columns": ("sex", "n"), "numeric": ("n",), "steps": 4, **NOISY}),
    ("regress logistic", {"target": "outcome", "target_value": "bad", "columns": ("age",), "steps": 4, **NOISY}),
    ("regress poisson", {"target": "n", "columns": ("age",), "steps": 4, **NOISY}),
    ("survive compare", {"time": "days", "event": "died", "arm": "sex"}),
    ("evaluate auc", {**SCORES, "at_least": 0.5}),
    ("evaluate better", {**SCORES, "than": "older"}),
    ("evaluate report", {**SCORES, **NOISY}),
    ("evaluate error", {"classifier": ESTIMATOR, **NOISY}),
    ("release risks", {"target": "died", "by": "sex", "strata": ("age",), **NOISY}),
    ("release rates", {"target": "n", "by": "sex", **NOISY}),
    ("release difference", {"column": "visits", "by": "sex", **NOISY}),
    ("cluster", {"columns": ("n", "visits"), "bounds": ("0:5", "-1:4"), "k": 2, **NOISY}),
    *(
        ("boost", {"target": target, "columns": ("sex", "score", "visits"), "rounds": 2, "depth": 2, **how})
        for target, how in (("outcome", EXACT), ("age", NOISY), ("n", NOISY), ("days", EXACT))
    ),
    *(("regress joint", {"columns": ("age", "n"), **how, **NOISY}) for how in REGRESSIONS),
    *(("rules", {"columns": ("age", "sex", "outcome"), "k": 2, **how}) for how in RULES),
    *(("publish joint-table", {"by": "age", "across": "outcome", "threshold": 5, **how}) for how in TABLES),
    ("id3", PLAIN),
    ("id3", {**PLAIN, "splits": "binary", "min_rows": 4}),
    ("id3", {**PLAIN, "criterion": "gini"}),
    ("id3", {**PLAIN, "criterion": "gain-ratio"}),
    ("id3", {**PLAIN, "weights": ("good:3",)}),
    *(("id3", {**PLAIN, "prune": way}) for way in ("mdl", "chi2", "pessimistic")),
    ("id3", {"k": 3, "against": "public", "max_depth": 3}),
    *(("id3", {"k": k, "max_depth": 3, **more}) for k, more in AGAINST_PEER),
    ("id3", {"l": 2.0, "t": 0.9, "against": "public", "max_depth": 2}),
    ("id3", {"l": 1.2, "diversity": "entropy", "against": "public", "max_depth": 2}),
    ("id3", {**PLAIN, "support_epsilon": 1.0}),
    *(("id3", {**NOISY, "quality": quality, "max_depth": 2}) for quality in ("max", "gini", "entropy")),
    ("id3", {**NOISY, "trees": 3, "max_depth": 2}),
    ("forest", {"trees": 3, "plain": True, "max_depth": 2}),
    ("forest", {"trees": 2, "k": 2, "max_depth": 2}),
    ("forest", {"trees": 2, "k": 2, "l": 2.0, "against": "public", "max_depth": 2}),
]
BARRED: dict[str, dict[str, Any] | None] = {  # kinds that read rows of two parties only, with the settings of one task
    "align exact": None,
    "align hidden": None,
    "align lookup": None,
    "align fuzzy": None,
    "classify": None,
    "evaluate drift": {"columns": ("age",)},
    "publish joint": {"recode": ("age", "sex"), "k": 3},
    "publish lattice": {"recode": ("age", "sex"), "k": 3},
    "release triangles": {"columns": ("age", "sex"), **NOISY},
}
ENGINES = ("yao", "gmw", "mixed", "lean")
IN_CIRCUITS: list[tuple[str, dict[str, Any]]] = [  # without noise, which depends on the order of draws
    ("rules", {"columns": ("age", "outcome"), "k": 2, "support": 0.07, "confidence": 0.3, "lift": 1.05}),
    ("boost", {"target": "outcome", "columns": ("sex", "n"), "rounds": 1, "depth": 2, **EXACT}),
    ("release sum", {"column": "visits", **EXACT}),
    ("release edges", {"numeric": ("n",), "parts": 2, **EXACT}),
    ("test chi2", {"columns": ("age", "sex")}),
    ("quantile", {"column": "n", "at": 0.5, **EXACT}),
    ("id3", {"plain": True, "max_depth": 2, "columns": ("age", "sex", "n")}),
    ("id3", {"k": 3, "against": "public", "max_depth": 1, "columns": ("age", "sex")}),
    ("id3", {"k": 2, "max_depth": 2, "columns": ("age", "sex")}),
    ("id3", {"plain": True, "criterion": "gini", "max_depth": 1, "columns": ("age", "sex")}),
]


@cache
def task_of(name: str, items: tuple[tuple[str, Any], ...]) -> Any:
    kind: Any = kinds.find(name)
    return kind.canonical(kind.Settings.model_validate({"max_rows": ROWS, **dict(items)}), SCHEMA)


def data_of(task: Any, seed: int = 1, sizes: Sequence[int] = (ROWS, 30)) -> list[Any]:
    """Own rows of parties, by default of two: one has as many as allowed."""
    return [task.data_of(rows, b"") for rows in rows_of(task, seed, sizes)]


def rows_of(task: Any, seed: int, sizes: Sequence[int]) -> list[RowCounts]:
    random, domains = np.random.default_rng(seed), task.schema.attributes
    names = task.schema.features(task.target)

    def drawn(column: str, rows: int) -> Any:
        return random.integers(0, len(domains[column]), rows)

    bounds, cells = np.cumsum(sizes)[:-1], [drawn(name, sum(sizes)) for name in (*names, task.target)]
    table = np.array(cells[:-1], dtype=np.int64).reshape(len(names), sum(sizes)).T
    parts = zip(np.split(table, bounds), np.split(cells[-1], bounds), strict=True)
    return [RowCounts([len(domains[name]) for name in names], len(domains[task.target]), *part) for part in parts]


@pytest.mark.one_of(2)
@pytest.mark.slow  # every kind in both forms
@pytest.mark.parametrize("form", ["size", "depth"])
@pytest.mark.parametrize("case", range(len(CASES)), ids=lambda i: f"{CASES[i][0]}-{i}")
def test_shares_of_joint_numbers_give_the_answer_of_own_numbers(case: int, form: Any) -> None:
    name, settings = CASES[case]
    task = task_of(name, tuple(settings.items()))
    assert task.without_holders is None
    data, profile = data_of(task), Profile("clear", form=form)
    sizes = list[int]()
    own, cost_of_own = outcome(task, data, profile, shares=False)
    random, cost = outcome(task, data, profile, random=case, sizes=sizes)
    assert own == random  # the noise too: it follows from the seed
    check_asked(counted_with(task, task.states.decode(own)), sizes)
    assert cost_of_own["bits_opened"] == cost["bits_opened"]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", range(len(IN_CIRCUITS)), ids=lambda i: IN_CIRCUITS[i][0])
def test_shares_on_every_engine(case: int, engine: Any) -> None:
    name, settings = IN_CIRCUITS[case]
    task = task_of(name, tuple(settings.items()))
    data, profile, sizes = data_of(task), Profile(engine), list[int]()
    own, _ = outcome(task, data, profile, shares=False)
    zero, cost_of_zero = outcome(task, data, profile, sizes=sizes)
    random, cost = outcome(task, data, profile, random=case)
    assert own == zero == random
    assert cost_of_zero == cost  # bytes, messages, gates and opened bits
    counted = counted_with(task, task.states.decode(own))
    said = forecast(counted.program, profile).costs[0].as_dict()
    if counted.estimate == "exact":
        assert {name: value for name, value in said.items() if name in cost} == cost
    check_asked(counted, sizes)


def check_asked(counted: Counted, sizes: list[int]) -> None:
    """What the estimate says that a holder sends is what was asked."""
    asked = [*counted.asked()]
    if counted.estimate == "exact":
        assert asked == sizes
    elif counted.estimate == "at most":
        assert len(asked) >= len(sizes)
        assert sum(asked) >= sum(sizes)


def counted_with(task: Any, state: Any) -> Counted:
    """The cost on shares of the run that ends in this state."""
    if isinstance(task, JointTree):
        program, levels = task.with_result(state), task.levels_of(state)
        return Counted(program, asked=lambda: task.asked(levels)).on_shares()
    on_shares = copy(task)
    on_shares.on_shares = True
    return on_shares.cost_of_run(Inputs())


@pytest.mark.parametrize("holders", [3, 7])
@pytest.mark.parametrize("case", range(len(IN_CIRCUITS)), ids=lambda i: IN_CIRCUITS[i][0])
def test_holders_give_the_answer_of_the_union(case: int, holders: int) -> None:
    """One holder has no row, and neither party that computes."""
    name, settings = IN_CIRCUITS[case]
    task = task_of(name, tuple(settings.items()))
    union = data_of(task, sizes=(ROWS, 30))
    sizes = [0, 50, 13, *(5,) * (holders - 4), 30 - 5 * (holders - 4)] if holders > 3 else [0, ROWS, 30]
    given = data_of(task, sizes=sizes)
    expected, _ = outcome(task, union, Profile("clear"), shares=False)
    nothing = [task.of_nobody() for _ in (0, 1)]
    assert outcome(task, nothing, Profile("clear"), holders=given)[0] == expected


def test_every_kind_on_rows_takes_shares_or_has_a_reason() -> None:
    on_rows = {name for name in kinds.BUILT_IN if "own_table" in kinds.find(name).Settings.model_fields}
    assert on_rows == {name for name, _ in CASES} | BARRED.keys()
    for name, settings in BARRED.items():
        if settings is not None:
            assert task_of(name, tuple(settings.items())).without_holders
    assert "--against public" in task_of("id3", (("l", 2.0),)).without_holders
    assert task_of("id3", (("prune", "holdout"),)).without_holders
    output = {"method": "output", "target": "outcome", "least_rows": 9, **NOISY}
    assert "--method output" in task_of("regress joint", tuple(output.items())).without_holders


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_shards_of_an_engine_take_shares(criterion: str) -> None:
    task = task_of("id3", (("plain", True), ("max_depth", 1), ("criterion", criterion), ("columns", ("age", "n"))))
    data = data_of(task)
    alone, _ = outcome(task, data, Profile("gmw"), shares=False)
    assert outcome(task, data, Profile("gmw", shards=2), random=3)[0] == alone
