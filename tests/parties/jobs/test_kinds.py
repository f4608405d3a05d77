"""Which kinds there are, that a specification is all of a task's public part, and what no honest peer specifies."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.overlap import Overlap
from parties.canonical import canonical
from parties.cli import run
from parties.jobs import kinds
from parties.jobs.circuit import Circuit
from parties.jobs.kind import Kind, Means, typed_value
from parties.jobs.settings import private_parameters, public_parameters
from parties.node.proposal import Proposal, propose, read_job
from parties.node.statement import Statement
from parties.tables.schema import Schema
from smc.errors import InputError, ProtocolError
from smc.recipes import BOOLEAN_ENGINES, ENGINES, Garbling
from tests.support.circuits import ADDER
from tests.support.proposals import means_of
from tests.support.registry import registered

SCHEMA = Schema(
    {"wind": ("weak", "strong"), "hours": ("1", "2.5", "4"), "rain": ("no", "some", "much"), "play": ("yes", "no")},
    "play",
)
OVERLAP = ("overlap", "examples.overlap:Overlap")

# Which kinds there are.


def test_a_kind_of_another_package_stands_behind_ours() -> None:
    with registered(OVERLAP, ("coins", "tests.support.coins:Coins")):
        assert kinds.names() == (*kinds.BUILT_IN, "coins", "overlap")
        assert kinds.find("overlap") is Overlap
        assert kinds.line("overlap") == "How many elements do both have? Both learn the number, and nothing else."
    assert kinds.names() == tuple(kinds.BUILT_IN)
    assert not kinds.is_known("overlap")


@pytest.mark.parametrize("name", ["milionaires", "Millionaires"])
def test_an_unknown_kind_is_told_with_the_nearest_name(name: str) -> None:
    with pytest.raises(InputError) as failed:
        kinds.find(name)
    assert str(failed.value) == f"there is no kind of job {name!r} (did you mean 'millionaires'?)"
    with pytest.raises(InputError, match=r"^protocol: there is no kind of job .*did you mean 'millionaires'"):
        read_job({"protocol": name})


def test_an_unknown_kind_of_the_peer_is_a_line() -> None:
    told = peers({"protocol": "x\n\x1b[2J" + "y" * 10_000})
    assert told.isprintable()
    assert len(told) < 400


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("no_such_package.kinds:Kind", "cannot be loaded: ModuleNotFoundError: No module named 'no_such_package'"),
        ("examples.overlap:Underlap", "cannot be loaded: AttributeError: .*Underlap"),
        ("tests.support.broken_kind:Kind", r"cannot be loaded: ZeroDivisionError: two\\nlines"),
        ("examples.overlap:overlap", "is no kind of job: it must be a class made from parties.jobs.kind.Kind"),
        ("examples.overlap:OverlapSettings", "is no kind of job"),
        ("parties.jobs.kind:Kind", "lacks .*document.*reveals.*run"),
        ("parties.jobs.millionaires:Millionaires", "calls itself 'millionaires', its entry point 'theirs'"),
    ],
)
def test_an_entry_point_that_is_no_kind(place: str, message: str) -> None:
    with registered(("theirs", place)):
        with pytest.raises(InputError, match=message) as failed:
            kinds.find("theirs")
        assert str(failed.value).isprintable()
        assert place in str(failed.value)


def test_a_broken_package_hides_no_other_kind(capsys: pytest.CaptureFixture[str]) -> None:
    with registered(("theirs", "no_such_package:Kind"), OVERLAP):
        for command in (["--help"], ["estimate", "--help"]):
            assert run(command) == 0
            shown = " ".join(capsys.readouterr().out.split())
            assert "millionaires Who has more?" in shown
            assert "overlap How many elements" in shown
            assert "theirs the kind of job 'theirs' (no_such_package:Kind) cannot be loaded" in shown
        assert run(["theirs"]) == 2
        assert capsys.readouterr().err.startswith("smc: the kind of job 'theirs'")


def test_a_name_of_ours_stays_ours() -> None:
    with registered(("id3", "examples.overlap:Overlap")):
        assert kinds.find("id3").__module__ == "parties.jobs.id3"
        assert kinds.names() == tuple(kinds.BUILT_IN)


def test_a_name_that_two_packages_give_is_refused() -> None:
    with registered(OVERLAP, ("overlap", "other.package:Overlap")):
        assert kinds.names().count("overlap") == 1
        with pytest.raises(InputError, match=r"more than once: examples\.overlap:Overlap, other\.package:Overlap"):
            kinds.find("overlap")
    with registered(OVERLAP, OVERLAP):  # seen twice on the path is no contradiction
        assert kinds.find("overlap") is Overlap


# A specification says all that is public, and nothing else.

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=8)


def engines(names: tuple[str, ...]) -> st.SearchStrategy[dict[str, Any]]:
    one = {
        "engine": st.sampled_from(names),
        "ot": st.sampled_from(["extension", "ferret", "iknp"]),
        "garbling": st.sampled_from(get_args(Garbling)),
        "form": st.sampled_from(["size", "depth"]),
    }
    return st.fixed_dictionaries({}, optional=one) | st.just({"engine": "auto"})


def fields(optional: dict[str, st.SearchStrategy[Any]], **always: Any) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({name: st.just(value) for name, value in always.items()}, optional=optional)


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
    optional: dict[str, st.SearchStrategy[Any]] | None = None, exact: bool = True, **always: Any
) -> st.SearchStrategy[dict[str, Any]]:
    """A question about the table with an epsilon, or without noise."""
    some = {**PRIVACY, **(optional or {})}
    with_noise = EPSILON.flatmap(lambda epsilon: fields(some, table="days", epsilon=epsilon, **always))
    without = {name: one for name, one in some.items() if name != "delta"}
    return with_noise | fields(without, table="days", exact=True, **always)


PUBLIC = {
    "id3": fields(
        {
            "target": st.sampled_from(sorted(SCHEMA.attributes)),
            "delta": st.floats(0.001, 1),
            "min_rows": st.integers(0, 10**6),
            "max_depth": st.integers(0, 200),
            "max_rows": st.integers(1, 100_000),
            "k": st.just(1),
            "l": st.sampled_from([1, 1.0]),
            "t": st.floats(0.001, 1).map(lambda t: round(t, 3)),
        },
        table="days",
    ),
    "millionaires": AMOUNT,
    "equality": AMOUNT,
    "majority": fields({"bits": st.integers(1, 62), "target": st.sampled_from(sorted(SCHEMA.attributes))}, table="days")
    | st.lists(TEXTS, min_size=1, max_size=5, unique=True).flatmap(
        lambda classes: fields({"bits": st.integers(1, 62)}, classes=tuple(classes))
    ),
    "circuit": fields({}, circuit="adder"),
    "release-count": noisy(
        {
            "where": st.sampled_from(
                ["wind = weak", "wind = weak; rain = much", "rain = no; rain in [no, much]; play = no"]
            ),
            "delta": st.sampled_from([1e-9, 1e-7]),
        }
    ),
    "release-histogram": noisy(by="rain"),
    "release-table": noisy(by=("wind", "rain")),
    "release-sum": noisy(BY, of="hours"),
    "release-mean": noisy(BY, of="hours"),
    "release-median": noisy(BY, of="hours"),
    "release-top": noisy(
        {**BY, "first": st.integers(1, 3), "where": st.sampled_from(["wind = weak", "rain in [no, much]"])}, of="hours"
    ),
    "release-naive-bayes": noisy(
        {
            "where": st.sampled_from(["rain in [no, much]", "wind = weak and hours in ['1', 4]"]),
            "target": st.sampled_from(["play", "rain"]),
            "columns": st.sampled_from([("wind",), ("wind", "hours")]),
            "delta": st.sampled_from([1e-9, 1e-7]),
        }
    ),
    "cluster": noisy(columns=("hours",), bounds=("0:5",), k=2)
    | noisy(
        {"iterations": st.integers(1, 9), "shares": st.sampled_from(["even", "growing"])},
        columns=("hours",),
        bounds=("-1.5:2",),
        k=3,
        method="in-process",
    ),
    "regress-joint": st.sampled_from(["gradient", "output"]).flatmap(
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
    "release-marginals": noisy(
        {"delta": st.sampled_from([1e-9, 1e-12]), "ways": st.sampled_from([1, 2]), "columns": st.just(("rain", "play"))}
    )
    | noisy(sets="rain,play; wind"),
    "release-triangles": EPSILON.flatmap(
        lambda epsilon: fields(PRIVACY, table="days", epsilon=epsilon, delta=1e-9, columns=("rain", "play"))
    )
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
    "publish-joint": fields(
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
    "publish-lattice": fields(
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
    "publish-joint-table": fields(
        {
            "across": st.sampled_from(["play", "wind"]),
            "sum": st.just("hours"),
            "threshold": st.integers(3, 10),
            "against": st.sampled_from(["peer", "public"]),
            "zeros": st.sampled_from(["hidden", "shown"]),
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
        st.just(name), PUBLIC[name], engines(ENGINES if kinds.find(name).integers else BOOLEAN_ENGINES)
    )
)


@pytest.fixture(scope="module")
def means(tmp_path_factory: pytest.TempPathFactory) -> Callable[[dict[str, Any]], Means]:
    """What a party brings to a job with these fields: a table if it names one, and a circuit."""
    adder = tmp_path_factory.mktemp("circuits") / "adder.txt"
    adder.write_text(ADDER)

    def made(job: dict[str, Any]) -> Means:
        table = means_of(SCHEMA) if "table" in job else Means()
        return Means(1, table.table, table.schema, {"adder": adder})

    return made


def test_the_cases_are_all_kinds() -> None:
    assert set(PUBLIC) == set(PRIVATE) == set(kinds.BUILT_IN)


@settings(deadline=None, max_examples=150)
@given(JOBS)
def test_the_peer_reads_the_same_task(
    means: Callable[[dict[str, Any]], Means], case: tuple[str, dict[str, Any], dict[str, Any]]
) -> None:
    """From the job file of one party over the wire to the other's task: nothing is lost, nothing comes besides."""
    name, what, how = case
    job = {"protocol": name, **what, **how}
    ours = kinds.find(name).proposed(read_job(job).settings, means(job))
    proposal = propose(read_job(job), means(job))
    heard = Statement.from_bytes(Statement(proposal=proposal).to_bytes()).proposal
    assert heard == proposal
    theirs = heard.task
    assert type(theirs) is type(ours)
    assert canonical(theirs.specification()) == canonical(ours.specification())
    assert theirs.parameters() == ours.parameters()
    assert (theirs.subject, theirs.columns, theirs.question) == (ours.subject, ours.columns, ours.question)
    assert (theirs.reads_table, theirs.asked()) == (ours.reads_table, ours.asked())
    assert theirs.reveals("bob") == ours.reveals("bob")
    told = theirs.parameters()
    for key, value in {**what, **how}.items():
        if key in told and key != "circuit":
            assert told[key] == (meaning(name, key, value)), key
    defaults = {one.key: one.default for one in public_parameters(type(theirs).Settings)}
    from_table = {"classes", "target", "circuit", "max_rows", "columns"}
    for key in defaults.keys() & told.keys() - job.keys() - from_table:
        assert told[key] == defaults[key], key


def meaning(name: str, key: str, value: Any) -> Any:
    """How a parameter is told: several names as one text, a predicate in its canonical words."""
    if key == "where":
        return {
            "wind = weak and hours in ['1', 4] and play = yes": "wind = weak and hours in [1, 4] and play = yes"
        }.get(value, value.replace("'1'", "1"))
    names = ["by", "columns", "numeric", "bounds", "recode", "keep"]
    several = {"classes": ["majority"], **dict.fromkeys(names, kinds.names())}
    return ", ".join(value) if name in several.get(key, []) and isinstance(value, tuple) else value


def test_what_a_table_says_comes_into_the_specification(means: Callable[[dict[str, Any]], Means]) -> None:
    """Of id3 the schema, the target and the bound of the table, of a majority its target's values."""
    tree = made(means, protocol="id3", table="days", columns=["rain"]).task
    assert tree.columns == ("rain", "play")
    assert (tree.subject, tree.parameters()["max_rows"]) == ("play", 100)
    vote = made(means, protocol="majority", table="days").task
    assert vote.specification()["classes"] == list(SCHEMA.attributes["play"])
    assert vote.reads_table
    assert not made(means, protocol="majority", table="days", classes=["1", "2"]).task.reads_table


def made(means: Callable[[dict[str, Any]], Means], **job: Any) -> Proposal:
    return propose(read_job(job), means(job))


# What is private is in nothing that is public.

NUMBER = 3735928559
PRIVATE: dict[str, dict[str, Any]] = {
    "id3": {},
    "millionaires": {"value": NUMBER},
    "equality": {"value": NUMBER},
    "majority": {"classes": ["p", "q"], "counts": f"{NUMBER},7"},
    "circuit": {"circuit": "adder", "input": "0xdeadbeef"},
    "synthesise": {},
    **{name: {} for name in kinds.BUILT_IN if name.startswith(("release-", "publish-", "regress-", "cluster"))},
}


@pytest.mark.parametrize("name", [name for name in PRIVATE if PRIVATE[name]])
def test_nothing_private_is_told(name: str, means: Callable[[dict[str, Any]], Means], tmp_path: Path) -> None:
    job = {"protocol": name, **PRIVATE[name]}
    read = read_job(job)
    private = {one.key for one in private_parameters(kinds.find(name).Settings)}
    assert private
    assert read.typed == {key: job[key] for key in private}
    ours = propose(read, means(job))
    adder = tmp_path / "adder.txt"
    adder.write_text(ADDER)
    alone = {key: value for key, value in PRIVATE[name].items() if key != "circuit"}
    typed = kinds.find(name).Settings.model_validate(alone | ({"file": adder} if name == "circuit" else {}))
    for task in (ours.task, kinds.find(name).planned(typed)):
        assert not private & task.specification().keys()
        assert not private & task.parameters().keys()
        said = [*task.reveals("bob"), task.question, task.subject, canonical(task.specification()), task.assumed]
        shown = json.dumps(task.parameters()) + " ".join(said)
        for text in (str(NUMBER), "deadbeef", "DEADBEEF"):
            assert text not in shown
    with pytest.raises(ProtocolError):
        Statement.from_bytes(changed(ours, {key: job[key] for key in private}))


# What no honest peer specifies.


def changed(job: Proposal, changes: dict[str, Any], left_out: str = "") -> bytes:
    statement = json.loads(Statement(proposal=job).to_bytes())
    statement["proposal"]["specification"] |= changes
    statement["proposal"]["specification"].pop(left_out, None)
    return json.dumps(statement).encode()


def peers(specification: dict[str, Any]) -> str:
    """Why a statement of the peer about a job of this specification is refused."""
    base = propose(read_job({"protocol": "equality"}), Means())
    statement = json.loads(Statement(proposal=base).to_bytes())
    statement["proposal"]["specification"] = specification
    return refusal(json.dumps(statement).encode())


def refusal(data: bytes) -> str:
    with pytest.raises(ProtocolError) as failed:
        Statement.from_bytes(data)
    told = str(failed.value)
    assert told.isprintable()
    assert len(told) < 400
    return told


GOOD: dict[str, dict[str, Any]] = {
    "id3": {"table": "days"},
    "millionaires": {"table": "days", "of": "wind=weak"},
    "equality": {},
    "majority": {"classes": ["p", "q"]},
    "circuit": {"circuit": "adder"},
    "release-count": {"table": "days", "where": "wind = weak", "epsilon": 1},
    "release-histogram": {"table": "days", "by": "rain", "epsilon": 1},
    "release-table": {"table": "days", "by": ["rain", "play"], "epsilon": 1},
    "release-sum": {"table": "days", "of": "hours", "epsilon": 1},
    "release-mean": {"table": "days", "of": "hours", "exact": True},
    "release-median": {"table": "days", "of": "hours", "epsilon": 1},
    "release-top": {"table": "days", "of": "rain", "epsilon": 1},
    "release-naive-bayes": {"table": "days", "columns": ["wind", "rain"], "epsilon": 1},
    "cluster": {"table": "days", "columns": ["hours"], "bounds": ["0:5"], "k": 2, "epsilon": 1},
    "release-marginals": {"table": "days", "columns": ["rain", "play"], "epsilon": 1},
    "release-triangles": {"table": "days", "columns": ["rain", "play"], "epsilon": 1, "delta": 1e-9},
    "synthesise": {"table": "days", "columns": ["rain", "play"], "epsilon": 1, "delta": 1e-9},
    "publish-joint": {"table": "days", "recode": ["wind", "rain"], "k": 5},
    "publish-joint-table": {"table": "days", "by": "rain", "epsilon": 1},
    "publish-lattice": {"table": "days", "recode": ["wind", "rain"], "k": 5},
}
JOINT = [name for name, settings in GOOD.items() if "recode" in settings]
NOISY = [name for name in GOOD if name.startswith(("release-", "cluster")) and "epsilon" in GOOD[name]]
GAUSSIAN = ("release-count", "release-naive-bayes", "release-marginals", "release-triangles")  # those with a delta
WRONG_NUMBERS = (-1, 10**100, 1.0, True, "1", [1], {})
WRONG = [
    *((name, {"bits": value}, "bits") for name in ("millionaires", "equality") for value in (0, 65, *WRONG_NUMBERS)),
    *(("majority", {"bits": value}, "bits") for value in (0, 63, *WRONG_NUMBERS)),
    *(("id3", {"min_rows": value}, "min-rows") for value in (*WRONG_NUMBERS[:1], *WRONG_NUMBERS[2:])),
    *(("id3", {"max_rows": value}, "max-rows") for value in (0, 2**31 + 1, *WRONG_NUMBERS)),
    *(("id3", {"max_depth": value}, "max-depth") for value in (-1, 201, 0.0, True, "1")),
    *(("id3", {"delta": value}, "delta") for value in (0, -1, 1.5, float("nan"), "1", True, None)),
    *(("id3", {"k": value}, "k") for value in (0, 2**32 + 1, *WRONG_NUMBERS)),
    *(("id3", {"l": value}, "l") for value in (0.5, -1, float("inf"), "1", True, None)),
    *(("id3", {"t": value}, "t") for value in (0, -1, 1.5, float("nan"), "1", True, None)),
    *(("id3", {"against": value}, "against") for value in ("nobody", 1, None)),
    *((name, {"engine": value}, "engine") for name in GOOD for value in ("clear", "YAO", 1, None, ["yao"])),
    *((name, {"engine": value}, "engine") for name in GOOD if name != "id3" for value in ("mixed", "lean")),
    *((name, {"ot": "none"}, "ot") for name in GOOD),
    *((name, {"garbling": 2}, "garbling") for name in GOOD),
    *((name, {"form": "tree"}, "form") for name in GOOD),
    *((name, {"more": 1}, "more") for name in GOOD),
    *((name, {"out": "result.json"}, "out") for name in GOOD),
    *((name, {"report": "cost.json"}, "report") for name in GOOD),
    *(("millionaires", {"of": value}, "of") for value in ("", "wind", "wind=", "=weak", 1, ["rows"], None)),
    *(("majority", {"classes": value}, "classes") for value in ([], "pq", [1, 2], ["p", ""], ["p", "p"], {"p": 1})),
    *(("majority", {"classes": value}, "classes") for value in (["p" * 201], [str(i) for i in range(4097)], None)),
    *(("majority", {"target": value}, "target") for value in (1, ["play"])),
    *(("circuit", {"circuit": value}, "circuit") for value in ("adder", "0" * 63, "G" * 64, "A" * 64, 1, None)),
    *(("circuit", {"file": "adder.txt"}, "file") for _ in (1,)),
    *(("id3", {"target": value}, "target") for value in ("hail", 1, ["play"], None)),
    *(("id3", {"schema": value}, "schema") for value in ([], {}, {"attributes": []}, None)),
    *(("id3", {"columns": value}, "columns") for value in (["wind"], [])),
    *((name, {"value": 5}, "value") for name in ("millionaires", "equality")),
    *(
        (name, {"epsilon": value}, "epsilon")
        for name in NOISY
        for value in (0, -1, 2**-21, 17, float("nan"), "1", True)
    ),
    *((name, {"exact": True}, "exact") for name in NOISY),
    *((name, {"exact": value}, "exact") for name in NOISY for value in (1, "yes", None)),
    *((name, {"adjacency": value}, "adjacency") for name in NOISY for value in ("add", "remove", 1, None)),
    *(
        (name, {"where": value}, "where")
        for name in NOISY
        for value in ("wind=weak", "wind = week", "", 1, ["wind = weak"])
    ),
    *((name, {"max_rows": value}, "max-rows") for name in NOISY for value in (0, 2**31 + 1, *WRONG_NUMBERS)),
    *((name, {"schema": value}, "schema") for name in NOISY for value in ([], {}, {"attributes": []}, None)),
    *((name, {"schema": SCHEMA.public()}, "schema") for name in NOISY),
    *(("release-count", {"delta": value}, "delta") for value in (0, 1, -1e-9, float("nan"), "1", 1e-2, 5e-3)),
    *((name, {"delta": 1e-9}, "delta") for name in NOISY if name not in GAUSSIAN),
    *(("release-marginals", {"ways": value}, "ways") for value in (0, 3, *WRONG_NUMBERS)),
    *(("release-marginals", {"columns": value}, "columns") for value in (["hail"], ["play", "rain"], "play", [])),
    *(("release-marginals", {"sets": value}, "sets") for value in ("rain", "", 1, ["rain"])),
    *(("release-triangles", {"delta": value}, "delta") for value in (0, 1, -1e-9, float("nan"), "1", 1e-2, None)),
    *(
        ("release-triangles", {"columns": value}, "columns")
        for value in (["rain"], ["rain", "play", "wind"], ["rain", "hail"], ["rain", "rain"], "rain", [], None)
    ),
    *(("synthesise", {"delta": value}, "delta") for value in (0, 1, -1e-9, float("nan"), "1", 1e-2, None)),
    *(("synthesise", {"epsilon": value}, "epsilon") for value in (0, -1, 17, float("nan"), "1", True, None)),
    *(("synthesise", {"ways": value}, "ways") for value in (0, 3, *WRONG_NUMBERS)),
    *(("synthesise", {"columns": value}, "columns") for value in (["hail"], ["play", "rain"], "play", [])),
    *(("synthesise", {"select": value}, "select") for value in ("all", 1, None)),
    *(("synthesise", {"exact": value}, "exact") for value in (True, False)),
    *(("synthesise", {"rows": value}, "rows") for value in (0, *WRONG_NUMBERS)),
    *(("synthesise", {"schema": value}, "schema") for value in ([], {"attributes": []}, SCHEMA.public(), None)),
    *((name, {"of": value}, "of") for name in ("release-sum", "release-median") for value in ("rain", "", 1, None)),
    *(("release-histogram", {"by": value}, "by") for value in ("hail", ["rain"], 1)),
    *(("release-table", {"by": value}, "by") for value in ("rain", [], ["rain", "rain"], ["rain", ""], None)),
    *(("release-top", {"first": value}, "first") for value in (0, 4, *WRONG_NUMBERS)),
    *(
        ("release-naive-bayes", {"columns": value}, "columns")
        for value in ([], ["wind", "play"], ["rain", "wind"], "wind")
    ),
    *(("publish-joint-table", {"by": value}, "by") for value in ("hail", "", ["rain"], 1, None)),
    *(("publish-joint-table", {"across": value}, "across") for value in ("hail", "", ["wind"], 1)),
    *(("publish-joint-table", {"sum": value}, "sum") for value in ("hail", "", ["hours"], 1)),
    *(("publish-joint-table", {"threshold": value}, "threshold") for value in (0, 2, 101, *WRONG_NUMBERS)),
    *(("publish-joint-table", {"zeros": value}, "zeros") for value in ("gone", 1, None)),
    *(("publish-joint-table", {"epsilon": value}, "epsilon") for value in (0, -1, 17.0, True, "1", None)),
    *(("publish-joint-table", {"epsilon": None, "analyst": value}, "analyst") for value in ("QUJD", "?", "", 1)),
    *(
        (name, {"recode": value}, "recode")
        for name in JOINT
        for value in ([], ["hail"], ["wind", "wind"], "wind", None)
    ),
    *((name, {"keep": value}, "keep") for name in JOINT for value in ([], ["hail"], ["wind"], "play")),
    *((name, {"k": value}, "k") for name in JOINT for value in (0, 101, *WRONG_NUMBERS)),
    *((name, {"against": value}, "against") for name in JOINT for value in ("nobody", 1, None)),
    *((name, {"max_rows": value}, "max-rows") for name in JOINT for value in (0, 2**31 + 1, *WRONG_NUMBERS)),
    *(
        (name, {"schema": value}, "schema")
        for name in JOINT
        for value in ([], {"attributes": []}, SCHEMA.public(), None)
    ),
    *((name, {"l": value}, "l") for name in JOINT for value in (0.5, 2, 2.5, -1, float("inf"), "1", True, None)),
    *((name, {"t": value}, "t") for name in JOINT for value in (0, 0.5, 1.5, float("nan"), "1", True, None)),
    *((name, {"sensitive": value}, "sensitive") for name in JOINT for value in ("play", "hail", "wind", 1)),
    *(("publish-joint", {"score": value}, "score") for value in ("", "entropy", 1, None)),
    *(("publish-lattice", {"rules": value}, "rules") for value in ("wind tree", "hail ranges 5", "", 1)),
    *(("publish-lattice", {"max_suppressed_rows": value}, "suppressed") for value in (201, *WRONG_NUMBERS)),
    *(("publish-lattice", {"max_classes": value}, "max-classes") for value in (0, 2**24 + 1, *WRONG_NUMBERS)),
    *(("cluster", {"columns": value}, "columns") for value in ([], ["rain"], ["hail"], "hours", None)),
    *(("cluster", {"bounds": value}, "bounds") for value in ([], ["5:0"], ["0"], ["0:x"], ["0:1", "0:1"], "0:5", None)),
    *(("cluster", {"k": value}, "k") for value in (0, 4, 101, *WRONG_NUMBERS)),
    *(("cluster", {"iterations": value}, "iterations") for value in (0, 5, 21, *WRONG_NUMBERS)),
    *(("cluster", {"parts": value}, "parts") for value in (1, 10**6 + 1, *WRONG_NUMBERS)),
    *(("cluster", {"method": value}, "method") for value in ("", "lloyd", 1, None)),
    *(("cluster", {"shares": value}, "shares") for value in ("even", 1)),
    ("majority", {"counts": "1,2"}, "counts"),
    ("circuit", {"input": "0x1"}, "input"),
]


@pytest.mark.parametrize(("name", "changes", "field"), WRONG, ids=lambda value: str(value)[:40])
def test_what_no_honest_peer_specifies(
    means: Callable[[dict[str, Any]], Means], name: str, changes: dict[str, Any], field: str
) -> None:
    """One line that names the field, whatever its value; and the own reading of such a thing is no other."""
    job = made(means, protocol=name, **GOOD[name])
    told = refusal(changed(job, changes))
    assert field in told, told


@pytest.mark.parametrize("name", sorted(GOOD))
def test_a_specification_lacks_nothing(name: str, means: Callable[[dict[str, Any]], Means]) -> None:
    """A default that one side would fill in is no agreement: what is not said is refused, field by field."""
    job = made(means, protocol=name, **GOOD[name])
    optional = {"of", "where"} if name in ("millionaires", "release-count") else set()
    keys = set(job.specification) - optional  # without it the task is another one, which is whole
    for key in keys:
        told = refusal(changed(job, {}, left_out=key))
        assert key in told.replace("the specification names no protocol", "protocol"), told


@pytest.mark.parametrize("key", ["classes", "bits", "engine"])
def test_a_file_of_ours_names_the_key(key: str) -> None:
    with pytest.raises(InputError, match=f"^{key}"):
        read_job({"protocol": "majority", key: 0})


# What an operator types.


@pytest.mark.parametrize("value", [-1, 2**32, "5", "abc", 5.0, True, [5], None, {"x": 1}])
@pytest.mark.parametrize("name", ["millionaires", "equality"])
def test_a_number_that_is_none(name: str, value: object) -> None:
    """Whatever an operator's program sends: a line that names the field."""
    with pytest.raises(InputError, match="value"):
        kinds.find(name).agreed({"bits": 32}).own({"value": value})  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "text",
    ["", ",", "1", "1,2,3", "1,-2", "1,x", "1,2.0", f"1,{2**32}", "1,²", "1, ,2", "1" * 30 + ",1", 5, [1, 2], None],
)
def test_counts_that_are_none(text: object) -> None:
    task = kinds.find("majority").agreed({"classes": ["p", "q"]})
    with pytest.raises(InputError, match="counts"):
        task.own({"counts": text})


@pytest.mark.parametrize(
    "text", ["", "0x", "0x10000000000", "0b1", "2" * 40, "1" * 39, "1" * 41, "-1", "0x-1", 5, [1], None]
)
def test_an_input_that_is_none(text: object, means: Callable[[dict[str, Any]], Means]) -> None:
    task = made(means, protocol="circuit", circuit="adder").task
    assert isinstance(task, Circuit)
    ours = means({})
    with (
        pytest.raises(InputError, match="input"),
        task.open(Means(ours.party, circuits=ours.circuits, typed={"input": text})),
    ):
        pass


def test_what_was_typed_is_what_is_run() -> None:
    found: type[Kind] = kinds.find("millionaires")
    assert typed_value(found, {"value": NUMBER}, "value") == NUMBER
    assert found.agreed({"bits": 32}).own({"value": NUMBER}) == NUMBER
    assert kinds.find("majority").agreed({"classes": ["p", "q"]}).own({"counts": f"{NUMBER}, 7"}) == [NUMBER, 7]
