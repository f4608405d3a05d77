"""What no honest peer specifies is refused in one line that names the field."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from parties.jobs.kind import Inputs
from parties.node.proposal import read_job
from smc.errors import InputError
from tests.support.specified import CLASSIFIER, ESTIMATOR, SCHEMA, changed, made, refusal

WHOLE = "hours in ['1', 4]"  # numbers of events
GOOD: dict[str, dict[str, Any]] = {
    "id3": {"table": "days"},
    "millionaires": {"table": "days", "of": "wind=weak"},
    "equality": {},
    "majority": {"classes": ["p", "q"]},
    "circuit": {"circuit": "adder"},
    "release count": {"table": "days", "where": "wind = weak", "epsilon": 1},
    "release histogram": {"table": "days", "by": "rain", "epsilon": 1},
    "release table": {"table": "days", "by": ["rain", "play"], "epsilon": 1},
    "release sum": {"table": "days", "column": "hours", "epsilon": 1},
    "release mean": {"table": "days", "column": "hours", "exact": True},
    "release deviation": {"table": "days", "column": "hours", "exact": True},
    "release correlation": {"table": "days", "numeric": ("hours", "wind"), "exact": True},
    "release median": {"table": "days", "column": "hours", "epsilon": 1},
    "release top": {"table": "days", "column": "rain", "epsilon": 1},
    "release choose": {"table": "days", "column": "hours", "prices": "1,2", "epsilon": 1},
    "release edges": {"table": "days", "numeric": ["hours"], "epsilon": 1},
    "evaluate report": {"table": "days", "classifier": CLASSIFIER, "epsilon": 1},
    "evaluate error": {"table": "days", "classifier": ESTIMATOR, "epsilon": 1},
    "release risks": {"table": "days", "target": "play", "by": "wind", "epsilon": 1},
    "release rates": {"table": "days", "target": "hours", "by": "wind", "where": WHOLE, "epsilon": 1},
    "release difference": {"table": "days", "column": "hours", "by": "wind", "epsilon": 1},
    "evaluate auc": {"table": "days", "classifier": CLASSIFIER, "at_least": 0.6},
    "evaluate better": {"table": "days", "classifier": CLASSIFIER, "than": "hours"},
    "evaluate drift": {"table": "days", "columns": ["hours", "rain"]},
    "survive curve": {"table": "days", "time": "hours", "event": "play", "epsilon": 1},
    "survive compare": {"table": "days", "time": "hours", "event": "play", "arm": "wind"},
    "quantile": {"table": "days", "column": "hours", "epsilon": 1},
    "rank": {"table": "days", "target": "play"},
    "rules": {"table": "days", "columns": ["wind", "rain"]},
    "scorecard": {"table": "days", "target": "play", "epsilon": 1},
    "test chi2": {"table": "days", "columns": ["rain", "play"]},
    "test proportions": {"table": "days", "target": "play", "by": "wind"},
    "test trend": {"table": "days", "target": "play", "by": "hours"},
    "test welch": {"table": "days", "column": "hours", "by": "wind"},
    "release naive-bayes": {"table": "days", "columns": ["wind", "rain"], "epsilon": 1},
    "cluster": {"table": "days", "columns": ["hours"], "bounds": ["0:5"], "k": 2, "epsilon": 1},
    "boost": {"table": "days", "columns": ["wind", "hours"], "epsilon": 1},
    "regress joint": {"table": "days", "columns": ["wind", "hours"], "epsilon": 1},
    "regress logistic": {"table": "days", "target": "play", "columns": ["wind", "hours"], "epsilon": 1},
    "regress poisson": {"table": "days", "target": "hours", "columns": ["wind"], "where": WHOLE, "epsilon": 1},
    "survive cox": {"table": "days", "time": "hours", "event": "play", "columns": ["wind"], "epsilon": 1},
    "release marginals": {"table": "days", "columns": ["rain", "play"], "epsilon": 1},
    "release triangles": {"table": "days", "columns": ["rain", "play"], "epsilon": 1},
    "synthesise": {"table": "days", "columns": ["rain", "play"], "epsilon": 1, "delta": 1e-9},
    "publish joint": {"table": "days", "recode": ["wind", "rain"], "k": 5},
    "publish joint-table": {"table": "days", "by": "rain", "epsilon": 1},
    "publish lattice": {"table": "days", "recode": ["wind", "rain"], "k": 5},
}
EFFECTS = ("regress logistic", "regress poisson", "survive cox")
JOINT = [name for name, settings in GOOD.items() if "recode" in settings]
NOISY = [name for name in GOOD if name.startswith(("release ", "cluster")) and "epsilon" in GOOD[name]]
GAUSSIAN = ("release count", "release naive-bayes", "release marginals", "release triangles")  # those with a delta
WRONG_NUMBERS = (-1, 10**100, 1.0, True, "1", [1], {})
WRONG = [
    *((name, {"bits": value}, "bits") for name in ("millionaires", "equality") for value in (0, 65, *WRONG_NUMBERS)),
    *(("majority", {"bits": value}, "bits") for value in (0, 63, *WRONG_NUMBERS)),
    *(("id3", {"min_rows": value}, "min-rows") for value in (*WRONG_NUMBERS[:1], *WRONG_NUMBERS[2:])),
    *(("id3", {"max_rows": value}, "max-rows") for value in (0, 2**31 + 1, *WRONG_NUMBERS)),
    *(("id3", {"max_depth": value}, "max-depth") for value in (-1, 201, 0.0, True, "1")),
    *(("id3", {"tolerance": value}, "tolerance") for value in (0, -1, 1.5, float("nan"), "1", True, None)),
    *(("id3", {"k": value}, "k") for value in (0, 2**32 + 1, *WRONG_NUMBERS)),
    *(("id3", {"l": value}, "l") for value in (0.5, -1, float("inf"), "1", True, None)),
    *(("id3", {"t": value}, "t") for value in (0, -1, 1.5, float("nan"), "1", True, None)),
    *(("id3", {"plain": value}, "plain") for value in (1, "yes", None)),
    *(("id3", {"plain": True, **rule}, "plain") for rule in ({"k": 5}, {"l": 2}, {"t": 0.5})),
    *(("id3", {"against": value}, "against") for value in ("nobody", 1, None)),
    *((name, {"engine": value}, "engine") for name in GOOD for value in ("clear", "YAO", 1, None, ["yao"])),
    *(
        (name, {"engine": value}, "engine")
        for name in GOOD
        if name not in ("id3", "boost")
        for value in ("mixed", "lean")
    ),
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
        if (name, value) != ("release rates", "")  # whose target is of numbers of events by its where
    ),
    *((name, {"max_rows": value}, "max-rows") for name in NOISY for value in (0, 2**31 + 1, *WRONG_NUMBERS)),
    *((name, {"schema": value}, "schema") for name in NOISY for value in ([], {}, {"attributes": []}, None)),
    *((name, {"schema": SCHEMA.public()}, "schema") for name in NOISY),
    *(("release count", {"delta": value}, "delta") for value in (0, 1, -1e-9, float("nan"), "1", 1e-2, 5e-3)),
    *((name, {"delta": 1e-9}, "delta") for name in NOISY if name not in GAUSSIAN),
    *(("release marginals", {"ways": value}, "ways") for value in (0, 3, *WRONG_NUMBERS)),
    *(("release marginals", {"columns": value}, "columns") for value in (["hail"], ["play", "rain"], "play", [])),
    *(("release marginals", {"sets": value}, "sets") for value in ("rain", "", 1, ["rain"])),
    *(("release triangles", {"delta": value}, "delta") for value in (0, 1, -1e-9, float("nan"), "1")),
    *(
        ("release triangles", {"columns": value}, "columns")
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
    *(
        (name, {"column": value}, "column")
        for name in ("release sum", "release median")
        for value in ("rain", "", 1, None)
    ),
    *(("release histogram", {"by": value}, "by") for value in ("hail", ["rain"], 1)),
    *(("release table", {"by": value}, "by") for value in ("rain", [], ["rain", "rain"], ["rain", ""], None)),
    *(("release top", {"first": value}, "first") for value in (0, 4, *WRONG_NUMBERS)),
    *(
        ("release naive-bayes", {"columns": value}, "columns")
        for value in ([], ["wind", "play"], ["rain", "wind"], "wind")
    ),
    *(("publish joint-table", {"by": value}, "by") for value in ("hail", "", ["rain"], 1, None)),
    *(("publish joint-table", {"across": value}, "across") for value in ("hail", "", ["wind"], 1)),
    *(("publish joint-table", {"sum": value}, "sum") for value in ("hail", "", ["hours"], 1)),
    *(("publish joint-table", {"threshold": value}, "threshold") for value in (0, 2, 201, *WRONG_NUMBERS)),
    *(("publish joint-table", {"zeros": value}, "zeros") for value in ("gone", "shown", 1, None)),
    ("publish joint-table", {"against": "peer"}, "against"),
    *(("regress joint", {"lambda": value}, "lambda") for value in (1e-300, 9e-6, 0, 2)),
    *(("regress joint", {"huber": value}, "huber") for value in (1e-9, 0.009, 1)),
    *(("publish joint-table", {"epsilon": value}, "epsilon") for value in (0, -1, 17.0, True, "1", None)),
    *(("publish joint-table", {"epsilon": None, "analyst": value}, "analyst") for value in ("QUJD", "?", "", 1)),
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
    *(("publish joint", {"score": value}, "score") for value in ("", "entropy", 1, None)),
    *(("publish lattice", {"rules": value}, "rules") for value in ("wind tree", "hail ranges 5", "", 1)),
    *(("publish lattice", {"max_suppressed_rows": value}, "suppressed") for value in (201, *WRONG_NUMBERS)),
    *(("publish lattice", {"max_classes": value}, "max-classes") for value in (0, 2**24 + 1, *WRONG_NUMBERS)),
    *(
        ("regress joint", {"columns": value}, "columns")
        for value in ([], ["hail"], ["wind", "play"], ["wind", "wind"], "wind")
    ),
    *(("regress joint", {"numeric": value}, "numeric") for value in ([], ["hail"], ["rain"], ["wind"], "hours")),
    *(("regress joint", {"target": value}, "target") for value in ("hail", "", "rain", 1, ["play"])),
    *(("regress joint", {"lambda": value}, "lambda") for value in (0, -1, 1.5, float("nan"), "1", True)),
    *(("regress joint", {"delta": value}, "delta") for value in (0, 1, -1e-9, float("nan"), "1", 1e-2)),
    *(("regress joint", {"epsilon": value}, "epsilon") for value in (0, -1, 17, float("nan"), "1", True, None)),
    *(("regress joint", {"steps": value}, "steps") for value in (0, 1001, *WRONG_NUMBERS)),
    *(("regress joint", {"method": value}, "method") for value in ("", "newton", 1, None)),
    *(("regress joint", {"schema": value}, "schema") for value in ([], {"attributes": []}, SCHEMA.public(), None)),
    *((name, {"steps": value}, "steps") for name in EFFECTS for value in (3, 21, *WRONG_NUMBERS)),
    *((name, {"columns": value}, "columns") for name in EFFECTS for value in ([], ["hail"], ["play"], "wind", None)),
    *((name, {"epsilon": value}, "epsilon") for name in EFFECTS for value in (0, -1, 17, "1", True, None)),
    *((name, {"delta": value}, "delta") for name in EFFECTS for value in (0, 1, -1e-9, "1", 1e-2)),
    *(("survive cox", {"limit": value}, "limit") for value in (0.5, 21, "1", True, None)),
    *(("survive cox", {"ties": value}, "ties") for value in ("exact", 1, None)),
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


@pytest.mark.slow
@pytest.mark.parametrize(("name", "changes", "field"), WRONG, ids=lambda value: str(value)[:40])
def test_what_no_honest_peer_specifies(
    inputs: Callable[[dict[str, Any]], Inputs], name: str, changes: dict[str, Any], field: str
) -> None:
    """One line that names the field, whatever its value; and the own reading of such a thing is no other."""
    job = made(inputs, protocol=name, **GOOD[name])
    told = refusal(changed(job, changes))
    assert field in told, told


@pytest.mark.parametrize("name", sorted(GOOD))
def test_a_specification_lacks_nothing(name: str, inputs: Callable[[dict[str, Any]], Inputs]) -> None:
    """A default that one side would fill in is no agreement: what is not said is refused, field by field."""
    job = made(inputs, protocol=name, **GOOD[name])
    optional = (
        {"of", "where"}
        if name in ("millionaires", "release count", "release rates", "regress poisson")
        else {"k"}
        if name == "cluster"
        else set()
    )
    keys = set(job.specification) - optional  # without it the task is another one, which is whole
    for key in keys:
        told = refusal(changed(job, {}, left_out=key))
        assert key in told.replace("the specification names no protocol", "protocol"), told


@pytest.mark.parametrize("key", ["classes", "bits", "engine"])
def test_a_file_of_ours_names_the_key(key: str) -> None:
    with pytest.raises(InputError, match=f"^{key}"):
        read_job({"protocol": "majority", key: 0})
