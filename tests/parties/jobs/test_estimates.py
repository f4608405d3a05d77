"""What an estimate says of itself, for every kind: "exact" is what is measured, "at most" is never exceeded."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from parties.jobs import kinds
from parties.jobs.kind import Counted, Inputs, Kind, Step
from parties.node.proposal import propose, read_job
from parties.sources.settings import TableSettings
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from smc.meter import Cost
from smc.session import Session
from tests.support.circuits import ADDER
from tests.support.examples import EXPLORING
from tests.support.matched import matched
from tests.support.specified import CLASSIFIER, ESTIMATOR, SCHEMA, TREE

FIELDS = ("bytes_sent", "bytes_received", "messages", "rounds", "and_gates", "bits_opened")
NOISE: dict[str, Any] = {"epsilon": 1.0, "max_rows": 40}
FUZZY: dict[str, Any] = {
    "comparisons": ["hours=exact:2+dice@0.5:1+else:-1", "wind=exact:1+else:-1"],
    "blocking_rules": ["rain", "wind:soundex"],
    "threshold_match_weight": 2.0,
    "bin_rows": 5,
}
BIG: dict[str, Any] = {"epsilon": 12.0, "delta": 1e-3, "max_rows": 40}

# What a job of each kind asks, and the word for what `smc estimate` counts of it.
CASES: list[tuple[str, dict[str, Any], str]] = [
    ("millionaires", {"bits": 7, "of": "rows"}, "exact"),
    ("equality", {"bits": 7, "of": "wind=weak"}, "exact"),
    ("majority", {"bits": 7, "target": "rain"}, "exact"),
    ("circuit", {"circuit": "adder"}, "exact"),
    ("release count", {"where": "wind = weak; rain = much", "delta": 1e-6, **NOISE}, "exact"),
    ("release count", {**BIG, "where": "wind = weak"}, "exact"),
    ("release histogram", {"by": "rain", "exact": True, "max_rows": 40}, "exact"),
    ("release table", {"by": ["wind", "rain"], **NOISE, "epsilon": 16.0}, "exact"),
    ("release sum", {"column": "hours", **NOISE}, "exact"),
    ("release mean", {"column": "hours", "by": ["rain"], **NOISE}, "exact"),
    ("release deviation", {"column": "hours", **NOISE}, "exact"),
    ("release correlation", {"numeric": ["hours", "wind"], "by": ["rain"], **NOISE}, "exact"),
    ("release choose", {"utility": "a: 1 * hours if wind = weak | b: 2 if rain = no", **NOISE}, "exact"),
    ("release median", {"column": "hours", **NOISE}, "exact"),
    ("release choose", {"column": "hours", "prices": "1,2,4", "by": ["rain"], **NOISE}, "exact"),
    ("release top", {"column": "hours", "first": 2, **NOISE, "adjacency": "replace"}, "exact"),
    ("release edges", {"numeric": ["hours"], **NOISE}, "exact"),
    ("release edges", {"numeric": ["hours"], "exact": True, "max_rows": 40}, "exact"),
    ("evaluate report", {"classifier": CLASSIFIER, **NOISE}, "exact"),
    ("evaluate error", {"classifier": ESTIMATOR, **NOISE}, "exact"),
    ("release risks", {"target": "play", "by": "wind", "strata": ["rain"], **NOISE}, "exact"),
    ("release rates", {"target": "hours", "by": "wind", "where": "hours in ['1', 4]", **NOISE}, "exact"),
    ("release difference", {"column": "hours", "by": "wind", **NOISE}, "exact"),
    ("evaluate auc", {"classifier": CLASSIFIER, "at_least": 0.6, "max_rows": 40}, "exact"),
    ("evaluate better", {"classifier": CLASSIFIER, "than": "hours", "max_rows": 40}, "exact"),
    ("evaluate drift", {"columns": ["hours", "rain"], "max_rows": 40}, "exact"),
    ("survive curve", {"time": "hours", "event": "play", "arm": "wind", **NOISE}, "exact"),
    ("survive compare", {"time": "hours", "event": "play", "arm": "wind", "max_rows": 40}, "exact"),
    ("quantile", {"column": "hours", **NOISE}, "exact"),
    ("quantile", {"column": "hours", "exact": True, "at": 0.9, "max_rows": 40}, "exact"),
    ("rank", {"target": "play", "measure": "iv", "max_rows": 40}, "exact"),
    ("rank", {"target": "play", "measure": "gini", "first": 1, "max_rows": 40}, "exact"),
    ("rules", {"columns": ["wind", "rain"], "support": 0.3, "k": 1, "max_rows": 40}, "typical"),
    ("rules", {"columns": ["wind", "rain"], "support": 0.1, "confidence": 0.1, "most": 20, "max_rows": 40}, "typical"),
    ("rules", {"columns": ["wind", "rain", "play"], "first": 7, **NOISE}, "at most"),
    ("rules", {"columns": ["rain"], "transaction": "visit", "support": 0.3, "k": 1, "max_rows": 40}, "typical"),
    ("rules", {"support": 0.1, "confidence": 0.1, "lift": 0.0, "k": 90, "max_rows": 40}, "typical"),
    ("scorecard", {"target": "play", **NOISE}, "exact"),
    ("test chi2", {"columns": ["rain", "play"], "max_rows": 40}, "exact"),
    ("test proportions", {"target": "play", "by": "wind", **NOISE}, "exact"),
    ("test trend", {"target": "play", "by": "hours", "max_rows": 40}, "exact"),
    ("test welch", {"column": "hours", "by": "wind", "max_rows": 40}, "exact"),
    ("release naive-bayes", {"delta": 1e-6, **NOISE}, "exact"),
    ("release marginals", {"delta": 1e-6, "ways": 2, **NOISE}, "exact"),
    ("release triangles", {"columns": ["rain", "hours"], "delta": 1e-6, **NOISE}, "typical"),
    ("release triangles", {"columns": ["rain", "hours"], **NOISE}, "exact"),
    ("release triangles", {"columns": ["rain", "hours"], "exact": True, "max_rows": 40}, "exact"),
    ("variance", {"column": "hours", "above": 1.25, "max_rows": 40}, "exact"),
    ("cluster", {"columns": ["hours"], "bounds": ["0:5"], "k": 2, **NOISE}, "exact"),
    (
        "cluster",
        {"columns": ["hours"], "bounds": ["0:5"], "k": 2, "method": "in-process", "iterations": 2, **NOISE},
        "exact",
    ),
    ("regress logistic", {"target": "play", "columns": ["wind", "hours"], "steps": 4, **NOISE}, "exact"),
    ("survive cox", {"time": "hours", "event": "play", "columns": ["wind"], "steps": 4, **NOISE}, "exact"),
    ("regress poisson", {"target": "hours", "columns": ["wind"], "where": "hours in ['1', 4]", **NOISE}, "exact"),
    ("regress joint", {"method": "gradient", "steps": 3, "columns": ["wind", "hours"], **NOISE}, "exact"),
    ("boost", {"target": "play", "rounds": 2, "depth": 2, "exact": True, "max_rows": 40}, "at most"),
    ("boost", {"target": "rain", "rounds": 1, "depth": 2, **NOISE}, "at most"),
    ("id3", {"max_rows": 40}, "typical"),
    ("id3", {"max_rows": 40, "criterion": "gini"}, "typical"),
    ("id3", {"max_rows": 40, "criterion": "gain-ratio"}, "typical"),
    ("id3", {"max_rows": 40, "k": 1, "prune": "holdout"}, "typical"),
    ("forest", {"max_rows": 40, "trees": 3}, "typical"),
    ("align exact", {"by": ["hours", "wind+rain"], "duplicates": "first"}, "exact"),
    ("align exact", {"by": ["hours"], "listener_keys": 90, "duplicates": "first", "learns": "dialler"}, "exact"),
    ("align exact", {"by": ["hours"], "duplicates": "first", "opens": "number"}, "exact"),
    ("align exact", {"by": ["hours", "wind+rain"], "duplicates": "first", "method": "fast"}, "exact"),
    ("align exact", {"by": ["hours"], "duplicates": "first", "opens": "at-least", "at_least": 2}, "exact"),
    ("align hidden", {"by": ["id"], "keys": 50, "listener_keys": 40}, "exact"),
    ("align fuzzy", FUZZY, "exact"),
    ("align fuzzy", {**FUZZY, "learns": "dialler", "blocking_rules": ["rain"], "listener_keys": 30}, "exact"),
    ("align lookup", {"by": ["hours"], "duplicates": "first", "learns": "listener"}, "exact"),
    ("classify", {"classifier": TREE, "learns": "listener", "alignment": "latest"}, "exact"),
    ("id3", {"epsilon": 4.0, "max_rows": 40}, "typical"),
    ("synthesise", BIG, "typical"),
    ("synthesise", {**BIG, "rows": 9, "ways": 3, "epsilon": 2.0}, "typical"),
    ("synthesise", {**BIG, "select": "mst", "generator": "relaxed"}, "at most"),
    ("publish joint", {"k": 2, "recode": ["hours", "rain"], "max_rows": 40}, "typical"),
    ("publish joint-table", {"by": "wind", "across": "rain", "threshold": 3, **NOISE}, "exact"),
    ("publish joint", {"k": 2, "recode": ["hours", "rain"], "max_rows": 40, "against": "public"}, "typical"),
    ("publish lattice", {"k": 2, "recode": ["hours", "rain"], "max_rows": 40}, "typical"),
    ("publish lattice", {"k": 2, "recode": ["hours", "rain"], "max_rows": 40, "against": "public"}, "typical"),
]

SLOW = pytest.mark.slow
ESTIMATED = [
    pytest.param(
        *case,
        profile,
        id=f"{case[0]}-{place}-{profile}",
        marks=[SLOW] * (profile.ot == "ferret" or case[0] == "synthesise")
        + [pytest.mark.campaign] * (profile.ot == "ferret" and place % 2),
    )
    for place, case in enumerate(CASES)
    for profile in (Profile("yao"), Profile("gmw", "ferret"))
]
ROW = st.tuples(*(st.sampled_from(values) for values in SCHEMA.attributes.values()))


def test_the_cases_are_all_kinds() -> None:
    assert {name for name, _, _ in CASES} == set(kinds.names())


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Inputs]:
    place = tmp_path_factory.mktemp("tables")
    (place / "adder.txt").write_text(ADDER)
    SCHEMA.save(place / "schema.toml")

    def made(party: int, rows: list[tuple[str, ...]]) -> Inputs:
        path: Path = place / f"{party}.csv"
        with path.open("w", newline="") as file:
            visits = [[*row, number // 2] for number, row in enumerate(rows)]  # two rows each
            csv.writer(file).writerows([[*SCHEMA.attributes, "visit"], *visits])
        table = TableSettings.model_validate(
            {"source": str(path), "schema": str(place / "schema.toml"), "max_rows": 40}
        )
        return Inputs(party, table, SCHEMA, {"adder": place / "adder.txt"}, {"number": 9, "input": "0x5"})

    return made


def drawn(chance: random.Random) -> list[tuple[str, ...]]:
    """4 to 30 rows."""
    columns = list(SCHEMA.attributes.values())
    return [tuple(map(chance.choice, columns)) for _ in range(chance.randint(4, 30))]


Bits = list[tuple[int, int]]  # of each step those that it may open, and that it has


def measured(task: Kind, both: list[Inputs], profile: Profile) -> list[tuple[Cost, Bits]]:
    """What each party's run has cost, and the bits of its steps."""

    def party(session: Session) -> tuple[Cost, Bits]:
        said, before = [], []

        def on_step(step: Step) -> None:
            said.append(task.disclosure.bits.of_step(step))
            before.append(session.meter.total.bits_opened)

        with task.open(both[session.party]) as opened:
            task.run(engine_of(session, profile), opened.data, task.states.beginning, on_step)
        assert not before or before[0] == 0, "nothing is opened before the first step begins"
        total = session.meter.total
        after = [*before[1:], total.bits_opened]
        return total, [(bits, last - first) for bits, first, last in zip(said, before, after, strict=True)]

    return list(run_local(party))


def bounded_beforehand(task: Kind, bits: Bits) -> Bits:
    """The steps with exact answers, none of which opened more bits than it said; nor did all of them."""
    exact = [(said, opened) for said, opened in bits if said or not task.disclosure.spends]  # a step may have noise
    assert all(opened <= said for said, opened in exact)
    assert task.disclosure.bits.at_least in (0, task.disclosure.bits.at_most) or task.disclosure.bits.at_least <= sum(
        said for said, _ in exact
    )
    assert task.disclosure.bits.at_most is None or sum(said for said, _ in exact) <= task.disclosure.bits.at_most
    return exact


@pytest.mark.one_of(2)
@pytest.mark.parametrize(("name", "asked", "word", "profile"), ESTIMATED)
@given(seed=st.integers(0, 1 << 32))
@settings(max_examples=4 if EXPLORING else 1)
def test_an_estimate_is_what_it_says(
    inputs: Callable[..., Inputs], name: str, asked: dict[str, Any], word: str, profile: Profile, seed: int
) -> None:
    """Of what a run costs and of the bits of exact answers, for tables that are drawn.

    `make test` has every second case with the second engine, too: whatever one asks of engines is counted by its own.
    """
    chance = random.Random(f"{name} {asked} {profile} {seed}")
    both = [inputs(party, drawn(chance)) for party in (0, 1)]
    if "alignment" in asked or name == "align hidden":
        both = [matched(each, Path(each.required()[0].source).parent, 4) for each in both]
    fields = {"protocol": name, **({} if name == "circuit" else {"table": "days"}), **asked}
    task = propose(read_job(fields), both[0]).task
    ahead = task.cost(both[0], task.about.extra())
    assert ahead.estimate == word
    costs, most = forecast(ahead.program, profile).costs, ahead.most(profile)
    try:
        runs = measured(task, both, profile)
    except InputError as refused:  # of a table of which every cell would be hidden
        assume("nothing can be published" not in str(refused))
        raise
    assert (most is not None) == (word == "typical"), "what is typical has a bound, what is exact or a bound needs none"
    assert most is None or sum(cost.bytes_sent for cost, _ in runs) <= most
    if name not in ("circuit", "synthesise"):  # whose bits are any, or of noise alone
        opens_bits(task)
        assert runs[0][1] == runs[1][1]
        if task.disclosure.bits.at_most != 0:
            bounded_beforehand(task, runs[0][1])
    for (own, _), counted in zip(runs, costs, strict=True):
        for field in FIELDS:
            seen, said = getattr(own, field), getattr(counted, field)
            assert word == "typical" or seen <= said, (field, seen, said)
            assert word != "exact" or seen == said, (field, seen, said)


EXACT: dict[str, Any] = {"exact": True, "max_rows": 40}
RECODED: dict[str, Any] = {"k": 2, "recode": ["hours", "rain"], "max_rows": 40}
DECIDING: list[tuple[str, dict[str, Any], bool]] = [  # whether as many bits are opened whatever the rows
    ("millionaires", {"bits": 7, "of": "rows"}, True),
    ("equality", {"bits": 7, "of": "wind=weak"}, True),
    ("majority", {"bits": 7, "target": "rain"}, True),
    ("variance", {"column": "hours", "above": 1.25, "max_rows": 40}, True),
    *(
        (f"release {name}", {**asked, **EXACT}, True)
        for name, asked in {
            "count": {"where": "wind = weak; rain = much"},
            "histogram": {"by": "rain"},
            "table": {"by": ["wind", "rain"]},
            "sum": {"column": "hours"},
            "mean": {"column": "hours", "by": ["rain"]},
            "median": {"column": "hours", "by": ["rain"]},
            "top": {"column": "hours", "first": 2},
            "edges": {"numeric": ["hours"], "parts": 3},
            "marginals": {"sets": "wind,rain; hours"},
        }.items()
    ),
    ("release triangles", {"columns": ["rain", "hours"], **EXACT}, True),
    ("cluster", {"columns": ["hours"], "bounds": ["0:5"], "k": 2, **EXACT}, True),
    ("cluster", {"columns": ["hours"], "bounds": ["0:5"], "k": 2, "method": "in-process", **EXACT}, True),
    ("id3", {"max_rows": 40, "plain": True}, False),
    ("id3", {"max_rows": 40, "support_epsilon": 1.0}, False),
    ("publish joint", RECODED, False),
    ("publish lattice", RECODED, False),
    ("publish lattice", {**RECODED, "against": "public"}, False),
]


def opens_bits(task: Kind) -> None:
    """Whether it opens bits is said by all that say it."""
    assert (task.disclosure.bits.at_most == 0) == (not task.disclosure.past_budget), (
        "only what has noise alone opens none"
    )
    assert task.disclosure.bits.at_most != 0 or task.disclosure.bits.of_step(Step(0, 1, task.states.beginning, "")) == 0


@pytest.mark.one_of(2)
@pytest.mark.parametrize(("name", "asked", "fixed"), DECIDING)
@given(rows=st.tuples(*[st.lists(ROW, min_size=4, max_size=30)] * 2))
@settings(max_examples=2, deadline=None)
def test_bits_of_exact_answers_are_known_before_a_step_opens_them(
    inputs: Callable[..., Inputs], name: str, asked: dict[str, Any], fixed: bool, rows: Any
) -> None:
    """Of what is in a few steps or in some that depend on the rows; of all other kinds with their costs above."""
    both = [inputs(party, own) for party, own in enumerate(rows)]
    task = propose(read_job({"protocol": name, "table": "days", **asked}), both[0]).task
    opens_bits(task)
    assert task.disclosure.bits.at_most != 0
    try:
        (_, left), (_, right) = measured(task, both, Profile("yao"))
    except InputError as refused:
        assume("nothing can be published" not in str(refused))
        raise
    assert left == right
    exact = bounded_beforehand(task, left)
    assert not fixed or all(opened == bits for bits, opened in exact)


def test_the_word_stands_before_what_it_is_for() -> None:
    assert str(Counted(lambda engine: None, "exact")) == "exact"
    assert str(Counted(lambda engine: None, "at most", "any tree")) == "at most, for any tree"
