"""A specification says all that is public of a task, and nothing else: both parties read the same."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.base.canonical import canonical
from parties.jobs import kinds
from parties.jobs.kind import Inputs, asked
from parties.jobs.settings import public_parameters
from parties.jobs.spending import ConcentratedLoss
from parties.node.acts.gate import Circumstances, request
from parties.node.log.statement import Statement
from parties.node.peers import PeerDescription
from parties.node.policy.decisions import decide
from parties.node.proposal import propose, read_job
from parties.node.settings import NodeFile, PeerSettings
from smc.recipes import BOOLEAN_ENGINES, ENGINES, Garbling
from tests.support.policies import rule
from tests.support.specified import CLASSIFIER, ESTIMATOR, SCHEMA, TREE, made

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=8)


AUTO = st.just({"engine": "auto"})


def engines(names: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    one = {
        "engine": st.sampled_from(names),
        "ot": st.sampled_from(["extension", "ferret", "iknp"]),
        "garbling": st.sampled_from(get_args(Garbling)),
        "form": st.sampled_from(["size", "depth"]),
    }
    named = st.fixed_dictionaries({}, optional=one)
    return named.filter(lambda it: it.get("engine") in ("yao", "mixed") or "garbling" not in it) | AUTO


def fields(optional: dict[str, st.SearchStrategy[Any]], **always: Any) -> st.SearchStrategy[dict[str, Any]]:
    """Fields that are there always, some of them also with other values, and fields that may be there."""
    there = {name: st.just(value) | optional.get(name, st.nothing()) for name, value in always.items()}
    return st.fixed_dictionaries(there, optional={name: optional[name] for name in optional if name not in always})


AMOUNT = fields({"bits": st.integers(1, 64)}) | fields(
    {"bits": st.integers(7, 64), "of": st.sampled_from(["rows", "wind=weak", " rain = much "])}, table="days"
)
PRIVACY: dict[str, st.SearchStrategy[Any]] = {
    "where": st.sampled_from(["wind = weak", "rain in [no, much]", "wind = weak and hours in ['1', 4] and play = yes"]),
    "adjacency": st.sampled_from(["add-remove", "replace"]),
    "max_rows": st.integers(100, 10**6),
}
BY: dict[str, st.SearchStrategy[Any]] = {"by": st.sampled_from([("rain",), ("play", "rain")])}
EPSILON = st.sampled_from([0.01, 0.5, 1.0, 3.25])


def noisy(
    optional: dict[str, st.SearchStrategy[Any]] | None = None, without: tuple[str, ...] = (), **always: Any
) -> st.SearchStrategy[dict[str, Any]]:
    """A question about the table with an epsilon, or without noise."""
    some = {name: one for name, one in {**PRIVACY, **(optional or {})}.items() if name not in without}
    with_noise = EPSILON.flatmap(lambda epsilon: fields(some, table="days", epsilon=epsilon, **always))
    plain = {name: one for name, one in some.items() if name != "delta"}
    return with_noise | fields(plain, table="days", exact=True, **always)


EFFECTS = {
    "adjacency": st.sampled_from(["add-remove", "replace"]),
    "delta": st.sampled_from([1e-9, 1e-7]),
    "steps": st.integers(4, 20),
    "max_rows": st.integers(100, 100_000),
}
HELD_OUT = {"held_out": st.just(0.25), "fold": st.none()}
ELSEWHERE = {"where": st.sampled_from(["rain in [no, much]", "rain = no"])}  # times, targets are not restricted
PUBLIC = {
    "id3": fields(
        {
            "target": st.sampled_from(sorted(SCHEMA.attributes)),
            "tolerance": st.floats(0.001, 1),
            "criterion": st.sampled_from(["entropy", "gini", "gain-ratio"]),
            "min_rows": st.integers(0, 10**6),
            "max_depth": st.integers(0, 200),
            "max_rows": st.integers(5, 100_000),
            "k": st.sampled_from([1, 5]),
            "l": st.sampled_from([1, 1.0]),
            "t": st.floats(0.001, 1).map(lambda t: round(t, 3)),
        },
        table="days",
    )
    | fields({"max_depth": st.integers(0, 200), "min_rows": st.integers(0, 10**6)}, table="days", plain=True)
    | fields({"holdout": st.floats(0.01, 0.99)}, table="days", prune="holdout"),
    "forest": fields(
        {
            "trees": st.integers(1, 1000),
            "attributes": st.integers(1, 9),
            "seed": st.integers(0, 10**6),
            "criterion": st.sampled_from(["entropy", "gini"]),
            "prune": st.sampled_from(["off", "mdl", "chi2", "pessimistic"]),
            "max_depth": st.integers(0, 200),
            "max_rows": st.integers(5, 100_000),
            "k": st.sampled_from([1, 5]),
        },
        table="days",
    ),
    "millionaires": AMOUNT,
    "equality": AMOUNT,
    "majority": fields({"bits": st.integers(1, 62), "target": st.sampled_from(sorted(SCHEMA.attributes))}, table="days")
    | st.lists(TEXTS, min_size=2, max_size=5, unique=True).flatmap(
        lambda classes: fields({"bits": st.integers(1, 62)}, classes=tuple(classes))
    ),
    "circuit": fields({}, circuit="adder"),
    "release count": noisy(
        {
            "where": st.sampled_from(
                ["wind = weak", "wind = weak; rain = much", "rain = no; rain in [no, much]; play = no"]
            ),
            "delta": st.sampled_from([1e-9, 1e-7]),
        }
    ),
    "release histogram": noisy(by="rain"),
    "release table": noisy(by=("wind", "rain")),
    "release sum": noisy(BY, column="hours"),
    "release mean": noisy(BY, column="hours"),
    "release deviation": noisy(BY, column="hours"),
    "release correlation": noisy(BY, numeric=("hours", "wind")),
    "release median": noisy({**BY, "round_to": st.sampled_from([1.0, 2.0])}, column="hours"),
    "release choose": noisy(BY, column="hours", prices="0.5, 3, 4"),
    "release top": noisy(
        {**BY, "first": st.integers(1, 3), "where": st.sampled_from(["wind = weak", "rain in [no, much]"])},
        column="hours",
    ),
    "release edges": noisy({"parts": st.integers(2, 9), "groups": st.integers(2, 9)}, numeric=("hours",)),
    "evaluate report": noisy(
        {"bins": st.integers(2, 9), "cutoff": st.sampled_from([0.25, 0.5]), **ELSEWHERE}, classifier=CLASSIFIER
    ),
    "evaluate error": noisy(classifier=ESTIMATOR),
    "release risks": noisy({"strata": st.just(("rain",)), **ELSEWHERE}, target="play", by="wind"),
    "release rates": noisy(
        {"strata": st.just(("rain",)), "where": st.just("hours in ['1', 4]")}, target="hours", by="wind"
    ).filter(lambda settings: "where" in settings),
    "release difference": noisy(ELSEWHERE, column="hours", by="wind"),
    "evaluate auc": fields({"bins": st.integers(2, 9)}, table="days", classifier=CLASSIFIER, at_least=0.6),
    "evaluate better": fields({"bins": st.integers(2, 9)}, table="days", classifier=CLASSIFIER, than="hours"),
    "evaluate drift": fields({"level": st.sampled_from([0.01, 0.1])}, table="days", columns=("hours", "rain")),
    "survive curve": noisy(
        {"event_value": st.sampled_from(["yes", "no"]), **ELSEWHERE}, time="hours", event="play", arm="wind"
    ),
    "survive cox": fields(
        {**EFFECTS, "ties": st.sampled_from(["efron", "breslow"]), "limit": st.sampled_from([1.0, 2.5])},
        table="days",
        time="hours",
        event="play",
        columns=("wind", "rain"),
        epsilon=1.0,
    ),
    "regress logistic": fields(
        {
            **EFFECTS,
            **HELD_OUT,
            "where": st.sampled_from(["wind = weak"]),
            "target_value": st.sampled_from(["yes", "no"]),
        },
        table="days",
        target="play",
        columns=("hours", "rain"),
        numeric=("hours",),
        epsilon=1.0,
    ),
    "regress poisson": fields(
        {**EFFECTS, "exposure": st.just("hours")},
        table="days",
        target="hours",
        columns=("wind",),
        where="hours in ['1', 4]",
        epsilon=1.0,
    ),
    "align exact": fields(
        {
            "forms": st.sampled_from([("hours=zeros",), ("hours=digits", "wind=case+accents")]),
            "opens": st.sampled_from(["rows", "number"]),
            "learns": st.sampled_from(["both", "listener", "dialler"]),
            "method": st.sampled_from(["dh", "auto"]),
            "listener_keys": st.integers(100, 10**6),
            "duplicates": st.sampled_from(["refuse", "first"]),
        },
        table="days",
        by=("wind+hours",),
    ),
    "align fuzzy": fields(
        {
            "forms": st.sampled_from([("hours=zeros",), ("hours=digits", "wind=case+accents")]),
            "threshold_match_weight": st.floats(1, 3),
            "blocking_rules": st.sampled_from([("rain",), ("rain+wind:soundex", "wind")]),
            "listener_keys": st.integers(100, 10**6),
            "bin_rows": st.integers(1, 256),
        },
        table="days",
        comparisons=("wind=exact:0.9:0.5+else:0.1:0.5", "hours=exact:4+dice@0.5:1.5+else:-3"),
        blocking_rules=("rain",),
        threshold_match_weight=2.0,
    ),
    "align hidden": fields(
        {
            "forms": st.sampled_from([("id=zeros",), ("id=digits",)]),
            "listener_keys": st.integers(100, 10**6),
            "duplicates": st.sampled_from(["refuse", "first"]),
        },
        table="days",
        by=("id",),
    ),
    "align lookup": fields(
        {
            "forms": st.just(("hours=zeros",)),
            "list": st.sampled_from(["sent", "kept"]),
            "listener_keys": st.integers(100, 10**6),
            "duplicates": st.sampled_from(["refuse", "first"]),
        },
        table="days",
        by=("wind+hours",),
        learns="dialler",
    ),
    "classify": fields(
        {"learns": st.sampled_from(["listener", "dialler"])},
        table="days",
        classifier=TREE,
        learns="dialler",
        alignment="latest",
    ),
    "survive compare": fields(
        {"level": st.sampled_from([0.01, 0.1]), "max_rows": st.integers(100, 100_000)},
        table="days",
        time="hours",
        event="play",
        arm="wind",
    ),
    "quantile": noisy({"at": st.sampled_from([0.25, 0.9]), "round_to": st.sampled_from([1.0, 2.0])}, column="hours"),
    "rules": fields({"support": st.sampled_from([0.2, 0.5]), "lift": st.sampled_from([0.0, 1.5])}, table="days")
    | noisy({"first": st.integers(1, 9)}, without=("where",)).filter(lambda settings: "exact" not in settings),
    "rank": fields(
        {"measure": st.sampled_from(["mi", "gini"]), "first": st.integers(1, 9)}, table="days", target="play"
    ),
    "scorecard": noisy(
        {"good": st.sampled_from(["yes", "no"]), "where": st.sampled_from(["rain in [no, much]"])}, target="play"
    ),
    "test chi2": fields({"level": st.sampled_from([0.01, 0.1])}, table="days", columns=("rain", "play")),
    "test proportions": fields({"value": st.sampled_from(["yes", "no"])}, table="days", target="play", by="wind"),
    "test trend": fields(
        {"alternative": st.sampled_from(["less", "greater"])}, table="days", target="play", by="hours"
    ),
    "test welch": fields({"epsilon": st.sampled_from([0.5, 2.0])}, table="days", column="hours", by="wind"),
    "release naive-bayes": noisy(
        {
            "where": st.sampled_from(["rain in [no, much]", "wind = weak and hours in ['1', 4]"]),
            "target": st.sampled_from(["play", "rain"]),
            "columns": st.sampled_from([("wind",), ("wind", "hours")]),
            "delta": st.sampled_from([1e-9, 1e-7]),
        }
    ),
    "variance": fields(
        {"where": st.sampled_from(["wind = weak", "rain in [no, much]"]), "max_rows": st.integers(100, 100_000)},
        table="days",
        column="hours",
        above=1.25,
    ),
    "cluster": noisy(columns=("hours",), bounds=("0:5",), k=2)
    | noisy(
        {"iterations": st.integers(1, 9), "shares": st.sampled_from(["even", "growing"])},
        columns=("hours",),
        bounds=("-1.5:2",),
        k=3,
        method="in-process",
    ),
    "boost": noisy(
        {
            "rounds": st.integers(1, 9),
            "depth": st.integers(1, 3),
            "bins": st.integers(2, 9),
            "objective": st.just("logistic"),
            "delta": st.sampled_from([1e-9, 1e-7]),
        },
        without=("where",),
        target="play",
        columns=("wind", "hours"),
        numeric=("hours",),
    ),
    "regress joint": st.sampled_from(["gradient", "output"]).flatmap(
        lambda method: fields(
            {
                "adjacency": st.sampled_from(["add-remove", "replace"]),
                "loss": st.sampled_from(["logistic", "huber"]),
                "huber": st.sampled_from([0.25, 0.5]),
                "columns": st.sampled_from([("wind", "hours"), ("hours", "rain")]),
                "max_rows": st.integers(100, 100_000),
            },
            table="days",
            method=method,
            epsilon=1.0,
            delta=1e-9,
            numeric=("hours",),
            least_rows=50,
            **{"lambda": 0.01},
            **({"steps": 12, "rate": 2.5, "clip": 0.5} if method == "gradient" else {}),
        )
    ),
    "release marginals": noisy(
        {"delta": st.sampled_from([1e-9, 1e-12]), "ways": st.sampled_from([1, 2]), "columns": st.just(("rain", "play"))}
    )
    | noisy(sets="rain,play; wind"),
    "release triangles": EPSILON.flatmap(
        lambda epsilon: fields(PRIVACY, table="days", epsilon=epsilon, delta=1e-9, columns=("rain", "play"))
    )
    | EPSILON.flatmap(lambda epsilon: fields(PRIVACY, table="days", epsilon=epsilon, columns=("rain", "play")))
    | fields(PRIVACY, table="days", exact=True, columns=("rain", "play")),
    "synthesise": EPSILON.flatmap(
        lambda epsilon: fields(
            {**PRIVACY, "select": st.sampled_from(["aim", "mst"]), "rows": st.integers(1, 10**6)},
            table="days",
            epsilon=epsilon,
            delta=1e-9,
            columns=("rain", "play"),
        )
    ),
    "publish joint": fields(
        {
            "keep": st.sampled_from([("play",), ("hours", "play")]),
            "against": st.sampled_from(["peer", "public"]),
            "max_rows": st.integers(10, 100_000),
        },
        table="days",
        recode=("wind", "rain"),
        k=5,
    )
    | fields(
        {"score": st.just("ncp"), "t": st.sampled_from([0.1, 0.25]), "against": st.sampled_from(["peer", "public"])},
        table="days",
        recode=("wind", "rain"),
        sensitive="play",
        l=2,
        k=5,
    ),
    "publish lattice": fields(
        {
            "keep": st.sampled_from([("play",), ("hours", "play")]),
            "against": st.sampled_from(["peer", "public"]),
            "max_rows": st.integers(10, 100_000),
            "max_suppressed_rows": st.integers(0, 20),
            "max_classes": st.integers(1, 100),
            "rules": st.sampled_from(["rain tree no < dry < *, some < wet < *, much < wet < *", "wind prefixes 1"]),
        },
        table="days",
        recode=("wind", "rain"),
        k=5,
    ),
    "publish joint-table": fields(
        {
            "across": st.sampled_from(["play", "wind"]),
            "sum": st.just("hours"),
            "threshold": st.integers(3, 10),
            "against": st.just("public"),
            "zeros": st.just("hidden"),
            "adjacency": st.sampled_from(["add-remove", "replace"]),
            "max_rows": st.integers(10, 100_000),
        },
        table="days",
        by="rain",
        epsilon=0.5,
    ),
}
JOBS = st.sampled_from(sorted(PUBLIC)).flatmap(
    lambda name: st.tuples(
        st.just(name), PUBLIC[name], engines(ENGINES if kinds.find(name).about.integers else BOOLEAN_ENGINES)
    )
)


def test_the_cases_are_all_kinds() -> None:
    assert set(PUBLIC) == set(kinds.BUILT_IN)


@pytest.mark.slow
@settings(max_examples=150)
@given(JOBS)
def test_the_peer_reads_the_same_task(
    inputs: Callable[[dict[str, Any]], Inputs], case: tuple[str, dict[str, Any], dict[str, Any]]
) -> None:
    """From the job file of one party over the wire to the other's task: nothing is lost, nothing comes besides."""
    name, what, how = case
    job = {"protocol": name, **what, **how}
    ours = kinds.find(name).proposed(read_job(job).settings, inputs(job))
    proposal = propose(read_job(job), inputs(job))
    heard = Statement.from_bytes(Statement(proposal=proposal).to_bytes()).proposal
    assert heard == proposal
    theirs = heard.task
    assert type(theirs) is type(ours)
    assert canonical(theirs.specification()) == canonical(ours.specification())
    assert theirs.parameters() == ours.parameters()
    assert (theirs.disclosure.subject, theirs.columns, theirs.disclosure.question) == (
        ours.disclosure.subject,
        ours.columns,
        ours.disclosure.question,
    )
    assert (theirs.reads_table, asked(theirs)) == (ours.reads_table, asked(ours))
    assert theirs.disclosure.reveals("bob") == ours.disclosure.reveals("bob")
    told = theirs.parameters()
    for key, value in {**what, **how}.items():
        if key in told and key not in ("circuit", "classifier", "alignment"):
            assert told[key] == (meaning(name, key, value)), key
    defaults = {one.key: one.default for one in public_parameters(type(theirs).Settings)}
    if name == "publish joint-table" and what["epsilon"]:
        defaults["against"] = "public"  # noise decides by the rows of both
    from_table = {
        "engine",  # the usual one, if more of the profile is said
        "classes",
        "target",
        "circuit",
        "max_rows",
        "keys",
        "listener_keys",
        "columns",
        "k",
        "max_depth",
        "splits",
        "method",
        "attributes",
        "objective",
        "rate",
        "rounds",
        "delta",
        "limit",
    }
    for key in defaults.keys() & told.keys() - job.keys() - from_table:
        assert told[key] == defaults[key], key


@pytest.mark.slow
@settings(max_examples=150)
@given(JOBS)
def test_of_a_table_with_a_budget_every_answer_spends_or_a_rule_says_exact(
    inputs: Callable[[dict[str, Any]], Inputs], case: tuple[str, dict[str, Any], dict[str, Any]]
) -> None:
    """Whatever the kind: a general rule lets nothing pass the budget. Of a table without one it permits as before."""
    name, what, how = case
    job = {"protocol": name, **what, **how}
    proposal = propose(read_job(job), inputs(job))
    anything, exact = rule(), rule(name="exact", exact=True)
    peer = PeerDescription(None, PeerSettings(), "bob")
    for budget in ({}, {"budget": {"epsilon": 1}}):
        table = {"source": "days.csv", "schema": "schema.toml", "max_rows": 100, **budget}
        file = NodeFile.model_validate({"tables": {"days": table}})
        around = Circumstances(0, 0, datetime.now(UTC), None)
        asked = request(proposal, 1, "peer", file, peer, around, unlike={})
        opens_splits = name == "boost"  # without noise, whatever its leaves have
        past = bool(budget) and "table" in job and ("epsilon" not in job or opens_splits) and name != "align hidden"
        assert asked.past_budget == past
        assert decide([anything], asked).effect == ("deny" if past or "exact" in job else "permit")
        assert decide([], asked).effect == ("deny" if past or "exact" in job else "ask")
        assert decide([anything, exact], asked).effect == "permit"


@pytest.mark.slow
@settings(max_examples=150)
@given(JOBS)
def test_a_promise_that_holds_but_for_a_delta_says_so(
    inputs: Callable[[dict[str, Any]], Inputs], case: tuple[str, dict[str, Any], dict[str, Any]]
) -> None:
    """Whoever consents reads the delta of noise that has one, of every kind."""
    name, what, how = case
    task = made(inputs, protocol=name, **what, **how).task
    said = " ".join(task.disclosure.reveals("bob"))
    fails = any(isinstance(use, ConcentratedLoss) or use.delta for use in task.disclosure.spends)
    assert ("but for" in said) == fails
    if fails:
        settings_: Any = task.settings
        assert f"{settings_.delta:g}" in said


def meaning(name: str, key: str, value: Any) -> Any:
    """How a parameter is told: several names as one text, a predicate in its canonical words."""
    if key == "where":
        return {
            "wind = weak and hours in ['1', 4] and play = yes": "wind = weak and hours in [1, 4] and play = yes"
        }.get(value, value.replace("'1'", "1"))
    names = ["by", "columns", "numeric", "bounds", "recode", "keep", "forms", "comparisons", "blocking_rules", "strata"]
    several = {"classes": ["majority"], **dict.fromkeys(names, kinds.names())}
    return ", ".join(value) if name in several.get(key, []) and isinstance(value, tuple) else value


def test_what_a_table_says_comes_into_the_specification(inputs: Callable[[dict[str, Any]], Inputs]) -> None:
    """Of id3 the schema, the target and the bound of the table, of a majority its target's values."""
    tree = made(inputs, protocol="id3", table="days", columns=["rain"]).task
    assert tree.columns == ("rain", "play")
    assert (tree.disclosure.subject, tree.parameters()["max_rows"]) == ("play", 100)
    vote = made(inputs, protocol="majority", table="days").task
    assert vote.specification()["classes"] == list(SCHEMA.attributes["play"])
    assert vote.reads_table
    assert not made(inputs, protocol="majority", table="days", classes=["1", "2"]).task.reads_table
