"""All questions with noisy answers between two nodes, and by the one-shot command between two processes."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parties import cli
from parties.jobs import kinds
from parties.models.load import load_model
from parties.operator.interface import JobView
from parties.sources.delimited import csv_columns as columns
from parties.tables.schema import Schema
from smc.engines import Profile, engine_of
from smc.local import run_local
from smc.session import Session
from tests.support.nodes import NodeProcess, Nodes, cost_as_predicted, job, verified
from tests.support.processes import Processes
from tests.support.questions import counts

SCHEMA = """
target = "outcome"
[attributes]
age = ["young", "middle", "old"]
visits = ["0", "1", "2.5"]
outcome = ["good", "bad"]
"""
SMALL = Schema({"age": ("young", "middle", "old"), "visits": ("0", "1", "2.5"), "outcome": ("good", "bad")}, "outcome")
MOST_ROWS = 65535  # the bound of a table without one
AGES = ["young", "old", "old"]  # of a row's outcome, good, bad, bad


def table(times: int) -> str:
    """Rows: a third young, who have a good outcome, the others old and bad; 0 visits or 2.5, as many."""
    rows = [f"{age},{visits},{'good' if age == 'young' else 'bad'}" for age, visits in product(AGES, ["0", "2.5"])]
    return "age,visits,outcome\n" + "\n".join(rows * times) + "\n"


ROWS = (table(100), table(200))  # 600 and 1,200 rows
TRUE = {"young": 600, "middle": 0, "old": 1200}
MISSED = 50  # a noisy count at epsilon 1 or more is further off with probability e^-50
EPSILON = 8.0

ASKED: dict[str, dict[str, Any]] = {
    "release count": {"where": "age in [young, middle]; age = old and outcome = good"},
    "release histogram": {"by": "age"},
    "release table": {"by": ["age", "outcome"]},
    "release sum": {"column": "visits"},
    "release mean": {"column": "visits", "by": ["outcome"]},
    "release deviation": {"column": "visits"},
    "release correlation": {"numeric": ["visits", "outcome"]},
    "release median": {"column": "visits", "where": "visits != 0"},
    "release top": {"column": "age", "first": 2},
    "release choose": {"column": "visits", "prices": "1,2.5"},
    "release edges": {"numeric": ["visits"], "parts": 3},
    "cluster": {"columns": ["visits"], "bounds": ["0:2.5"], "k": 2, "method": "in-process"},
    "release marginals": {"sets": "age; age,outcome", "delta": 1e-9},
    "release triangles": {"columns": ["age", "outcome"], "delta": 1e-18},  # the bound is 3 but for a chance of e^-32
    "release risks": {
        "target": "outcome",
        "target_value": "bad",
        "by": "visits",
        "where": "visits in [0, 2.5]",
    },
    "release rates": {"target": "visits", "by": "outcome", "where": "visits in [0, 1]"},
    "release difference": {"column": "visits", "by": "outcome"},
    "release naive-bayes": {"columns": ["age"], "delta": 1e-9},
}


TREE = json.dumps(
    {
        "schema_digest": SMALL.digest(), "target": "outcome", "tolerance": 0.1,
        "tree": {"attribute": "age", "branches": {
            "young": {"class": "good"}, "middle": {"class": "bad"}, "old": {"class": "bad"}}},
    }
)  # fmt: skip
OF_MODEL = {"classifier": TREE, "target_value": "bad"}
OF_SURVIVAL = {"time": "visits", "event": "outcome", "event_value": "bad", "arm": "age"}
EXACT: list[dict[str, Any]] = [  # what is opened is what one table with all rows has
    {"protocol": "rules", "support": 0.2, "confidence": 0.9},
    {"protocol": "survive compare", **OF_SURVIVAL, "where": "age in [young, old]"},
    {"protocol": "evaluate auc", "scores": "visits", "target": "outcome", "target_value": "bad", "at_least": 0.5},
    {"protocol": "evaluate better", **OF_MODEL, "than": "visits"},
    {"protocol": "test chi2", "columns": ["age", "outcome"]},
    {"protocol": "test welch", "column": "visits", "by": "outcome"},
    {"protocol": "test proportions", "target": "outcome", "by": "age", "where": "age in [young, old]"},
    {"protocol": "test trend", "target": "outcome", "by": "visits"},
    {"protocol": "rank", "target": "outcome", "first": 1},
    {"protocol": "variance", "column": "visits", "above": 1.0},
]
NOISY: list[dict[str, Any]] = [  # what is opened has noise, or follows from each party's own choices
    {"protocol": "rules", "epsilon": EPSILON, "first": 3},
    {"protocol": "forest", "target": "outcome", "trees": 2},
    {"protocol": "quantile", "column": "visits", "epsilon": EPSILON},
    {"protocol": "boost", "target": "outcome", "rounds": 2, "depth": 1, "epsilon": EPSILON},
    {"protocol": "survive curve", **OF_SURVIVAL, "epsilon": EPSILON},
    {"protocol": "evaluate report", **OF_MODEL, "epsilon": EPSILON},
    {"protocol": "evaluate drift", "columns": ["age"]},
    {"protocol": "scorecard", "target": "outcome", "columns": ["age"], "epsilon": EPSILON},
    {"protocol": "test proportions", "target": "outcome", "value": "bad", "by": "age", "epsilon": EPSILON,
     "where": "age in [young, old]"},
]  # fmt: skip


def near(name: str, document: dict[str, Any]) -> None:
    """The answer is the true one but for the noise."""

    def values(lines: list[dict[str, Any]]) -> list[float]:
        return [one["value"] for one in lines]

    found = document.get("numbers", [])
    if name == "release count":
        assert values(found) == [pytest.approx(600, abs=MISSED), pytest.approx(0, abs=MISSED)]
    elif name == "release histogram":
        assert {one["cell"]["age"]: one["value"] for one in found} == pytest.approx(TRUE, abs=MISSED)
    elif name == "release table":
        assert values(found) == pytest.approx([600, 0, 0, 0, 0, 1200], abs=MISSED)
        assert sum(values(document["margins"])) == 2 * document["total"]["value"]
    elif name == "release sum":
        assert values(found) == [pytest.approx(900 * 2.5, abs=3 * MISSED)]
    elif name == "release mean":
        assert values(found) == pytest.approx([1.25, 1.25], abs=0.5)
        assert all(one["low"] <= one["value"] <= one["high"] for one in found)
    elif name == "release correlation":
        assert values(found) == [pytest.approx(0, abs=0.1)]
    elif name == "release deviation":
        assert values(found) == [pytest.approx(1.25, abs=0.1)]
    elif name == "release median":
        assert values(found) == [2.5]
    elif name == "cluster":
        assert [one["rows"] for one in found_clusters(document)] == [pytest.approx(900, abs=MISSED)] * 2
        assert [one["centroid"][0] for one in found_clusters(document)] == pytest.approx([0, 2.5], abs=0.1)
    elif name == "release edges":
        assert document["edges"] == [{"column": "visits", "edges": [1]}]  # half have 0, and none has 1
    elif name == "release choose":
        assert [one["first"] for one in found] == [["2.5"]]  # half of the rows pay it
    elif name == "release risks":
        assert values(found)[:3] == pytest.approx([2 / 3, 2 / 3, 0], abs=0.1)
    elif name == "release rates":
        assert {one["of"]: one["value"] for one in found}["rate difference"] == pytest.approx(0, abs=0.1)
    elif name == "release difference":
        assert values(found)[:3] == pytest.approx([1.25, 1.25, 0], abs=0.5)
    elif name == "release top":
        assert [one["first"] for one in found] == [["old", "young"]]
    elif name == "release marginals":
        assert [one["columns"] for one in document["marginals"]] == [["age"], ["age", "outcome"]]
        flat = [count for one in document["marginals"] for count in np.array(one["counts"]).reshape(-1).tolist()]
        assert flat == pytest.approx([600, 0, 1200, 600, 0, 0, 0, 0, 1200], abs=MISSED)
    elif name == "release triangles":  # an edge from young to good, one from old to bad
        assert values(found) == [pytest.approx(0, abs=MISSED)]
        assert (document["vertices"], document["sensitivity"]) == (5, 3)
    else:
        assert document["columns"]["age"]["old"] == pytest.approx([0, 1200], abs=4 * MISSED)


def found_clusters(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The clusters by their place."""
    return sorted(document["clusters"], key=lambda one: one["centroid"])


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    nodes = Nodes(tmp_path_factory.mktemp("questions"))
    nodes.furnish(ROWS, SCHEMA, ("", ""))
    try:
        nodes.start()
        yield nodes
    finally:
        nodes.close()


def test_the_cases_are_all_questions() -> None:
    assert set(ASKED) == {name for name in kinds.BUILT_IN if kinds.group(name) == "release"} | {"cluster"}


def test_all_questions_between_two_nodes(pair: Nodes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Proposed by either; both have the same answer, near the true one, signed and recorded."""
    proposers = [pair.a, pair.b] * len(ASKED)
    jobs = []
    for proposer, (name, fields) in zip(proposers, ASKED.items(), strict=False):
        asked = {"protocol": name, "table": "rows", "epsilon": EPSILON, **fields}
        jobs.append(proposer.client.submit(asked).id)
    for proposer, identifier in zip(proposers, jobs, strict=False):
        other = pair.b if proposer is pair.a else pair.a
        view = job(other, identifier)
        assert "with noise that neither knows" in view.reveals[0]
        assert view.parameters["epsilon"] == EPSILON
        other.client.approve(identifier)
    for identifier, name in zip(jobs, ASKED, strict=True):
        left, right = pair.finished(identifier)
        assert (left.state, right.state) == ("done", "done"), (name, left.why, right.why)
        document = pair.a.client.result(identifier).document
        assert pair.b.client.result(identifier).document == document
        near(name, document)
        opened = pair.a.client.result(identifier).opened
        assert len(opened) == 1
        assert sum(opened.values()) > 0
        proposed = next(e for e in pair.b.client.audit(1000) if (e.kind, e.job) == ("proposed", identifier))
        assert proposed.fields["parameters"]["exact"] is False
        assert proposed.fields["parameters"]["adjacency"] == "add-remove"
    for node in (pair.a, pair.b):
        assert verified(node)["ok"]
    model = tmp_path / "model.json"
    model.write_text(json.dumps(pair.a.client.result(jobs[-1]).document))
    (tmp_path / "new.csv").write_text("age,outcome\nyoung,good\nold,bad\nold,bad\n")
    assert load_model(model).predict(columns(tmp_path / "new.csv")) == ["good", "bad", "bad"]
    capsys.readouterr()
    assert cli.run(["predict", "--model", str(model), "--data", str(tmp_path / "new.csv"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] == 1


def flags_of(fields: dict[str, Any]) -> list[str]:
    """Settings of a job as a command has them."""
    texts = {name: value if isinstance(value, list) else [value] for name, value in fields.items()}
    return [f"--{name.replace('_', '-')}={','.join(map(str, values))}" for name, values in texts.items()]


def by_oneself(fields: dict[str, Any], place: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """The result of a command on the rows of both, with no peer."""
    (place / "all.csv").write_text("".join([ROWS[0], *ROWS[1].splitlines(keepends=True)[1:]]))
    (place / "schema.toml").write_text(SCHEMA)
    (place / "tree.json").write_text(TREE)
    asked = {name: value for name, value in fields.items() if name not in ("protocol", "classifier")}
    model = [f"--model={place / 'tree.json'}"] if "classifier" in fields else []
    rows = [f"--data={place / 'all.csv'}", f"--schema={place / 'schema.toml'}"]
    assert cli.run([*fields["protocol"].split(), *flags_of(asked), *model, *rows, "--alone", "--json"]) == 0
    told = capsys.readouterr()
    assert "no budget is kept by this command" in told.err
    document: dict[str, Any] = json.loads(told.out)
    return document


@pytest.mark.parametrize("name", ASKED)
def test_the_same_of_own_rows_alone(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a table with the rows of both, which answers as the two do."""
    near(name, by_oneself({"protocol": name, "epsilon": EPSILON, **ASKED[name]}, tmp_path, capsys))


def test_what_is_not_asked_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "all.csv").write_text(ROWS[0])
    (tmp_path / "schema.toml").write_text(SCHEMA)
    count = ["release", "count", f"--data={tmp_path / 'all.csv'}", f"--schema={tmp_path / 'schema.toml'}", "--alone"]
    for more, message in (
        (["--epsilon=1", "--listen=127.0.0.1:1"], "--alone: there is no peer and no link; remove --listen"),
        (["--epsilon=1", f"--report={tmp_path / 'r.json'}"], "--alone: there is no peer and no link"),
    ):
        assert cli.run([*count, *more]) == 2
        assert message in capsys.readouterr().err
    assert not (tmp_path / "r.json").exists()
    assert cli.run([*count, "--exact", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["numbers"][0]["value"] == 600


def test_synthetic_rows_between_two_nodes(pair: Nodes) -> None:
    """Rounds are steps; both have the same rows in the end, nearly as many of each kind as the true ones."""
    fields = {"columns": ["age", "outcome"], "epsilon": EPSILON, "delta": 1e-9}
    identifier = pair.b.client.submit({"protocol": "synthesise", "table": "rows", **fields}).id
    pair.a.client.approve(identifier)
    left, right = pair.finished(identifier)
    assert (left.state, right.state) == ("done", "done"), (left.why, right.why)
    results = [node.client.result(identifier) for node in (pair.a, pair.b)]
    document = results[0].document
    assert results[1].document == document
    assert {"choice with noise", "number with noise"} == set(results[0].opened)
    rows = document["rows"]
    counts = np.zeros((3, 2), dtype=np.int64)
    np.add.at(counts, (rows["age"], rows["outcome"]), 1)
    assert counts.reshape(-1).tolist() == pytest.approx([600, 0, 0, 0, 0, 1200], abs=2 * MISSED)


def test_what_a_node_refuses(pair: Nodes) -> None:
    """One line that names what is wrong, before anything is told to the peer."""
    for fields, message in (
        ({"protocol": "release mean", "column": "age", "epsilon": 1}, "column: a mean needs bounds"),
        ({"protocol": "release count", "epsilon": 0}, "epsilon: must be >= "),
        ({"protocol": "release count", "epsilon": -1}, "epsilon: must be >= "),
        ({"protocol": "release count"}, "epsilon: is missing"),
        ({"protocol": "release count", "epsilon": 1, "exact": True}, "exact: excludes epsilon"),
        ({"protocol": "release count", "epsilon": 1, "delta": 0.001}, "is too large, since it would permit"),
        ({"protocol": "release count", "epsilon": 1, "where": "aeg = old"}, "did you mean 'age'"),
        ({"protocol": "release histogram", "epsilon": 1}, "by"),
        (
            {"protocol": "release top", "column": "age", "first": 4, "epsilon": 1},
            "first: 'age' has only 3 values; ask for 3 at most",
        ),
    ):
        with pytest.raises(Exception, match=message) as failed:
            pair.a.client.submit({"table": "rows", **fields})
        assert "\n" not in str(failed.value)


# One-shot.


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    started = Processes(tmp_path)
    for name, rows in zip("ab", ROWS, strict=True):
        (tmp_path / f"{name}.csv").write_text(rows)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    yield started
    started.stop()


def words(party: str, *more: object) -> list[object]:
    return ["release", *more, "--data", f"{party}.csv", "--schema", "schema.toml"]


def test_a_histogram_between_two_processes(processes: Processes) -> None:
    done = processes.pair(
        words("a", "histogram", "--by", "age", "--epsilon", EPSILON, "--json", "--svg", "ages.svg"),
        words("b", "histogram", "--by", "age", "--epsilon", EPSILON),
    )
    assert [one.code for one in done] == [0, 0], done[0].err + done[1].err
    found = json.loads(done[0].out)
    near("release histogram", found)
    assert f"old     {found['numbers'][2]['value']:,}" in done[1].out
    assert "no budget is kept by this command" in done[1].err
    assert "Rows by age" in (processes.directory / "ages.svg").read_text()


def test_predicates_mean_the_same_however_they_are_written(processes: Processes) -> None:
    """And without noise, if both say so: who does is warned."""
    done = processes.pair(
        words("a", "count", "--where", "age=old", "--where", "outcome != bad", "--exact", "--json"),
        words("b", "count", "--where", "age not in [young, 'middle'] ; outcome = good", "--exact"),
    )
    assert [one.code for one in done] == [0, 0], done[0].err + done[1].err
    assert [one["value"] for one in json.loads(done[0].out)["numbers"]] == [1200, 600]
    assert "this tells each party the other's number" in done[1].err


def test_what_the_two_want_must_be_the_same(processes: Processes) -> None:
    """The peer that asks for another adjacency, epsilon or for no noise is told so, and nothing is opened."""
    done = processes.pair(words("a", "count", "--epsilon", 1, "--adjacency", "replace"), words("b", "count", "--exact"))
    for one in done:
        assert (one.code, one.out) == (4, "")
        assert all(word in one.message for word in ("adjacency", "epsilon", "exact")), one.message


def of_all_rows(fields: dict[str, Any]) -> Any:
    """The result of one table with both parties' rows, by the clear engine, and of a peer without rows."""
    kind = kinds.find(fields["protocol"])
    said = {name: value for name, value in fields.items() if name != "protocol"}
    task: Any = kind.canonical(kind.Settings.model_validate({**said, "max_rows": MOST_ROWS}), SMALL)  # type: ignore[attr-defined]
    rows = [line for text in ROWS for line in csv.DictReader(text.splitlines())]

    def party(session: Session) -> Any:
        own = task.own_rows(counts(task, rows if session.party == 0 else []))
        return task.run(engine_of(session, Profile("clear")), own, task.states.beginning, lambda step: None)

    return task.document(run_local(party)[0])


def test_studies_between_two_nodes(pair: Nodes) -> None:
    """Both have the same result, of exact ones that of all rows in one table; cost, noise and bits are as foreseen."""
    known = [bits(node) for node in (pair.a, pair.b)]
    jobs = [pair.a.client.submit({"table": "rows", **fields}).id for fields in (*EXACT, *NOISY)]
    for identifier in jobs:
        job(pair.b, identifier)
        pair.b.client.approve(identifier)
    for identifier, fields in zip(jobs, (*EXACT, *NOISY), strict=True):
        left, right = pair.finished(identifier)
        assert (left.state, right.state) == ("done", "done"), (fields["protocol"], left.why, right.why)
        results = [node.client.result(identifier) for node in (pair.a, pair.b)]
        assert results[0].document == results[1].document
        assert results[0].opened == results[1].opened
        if fields in EXACT:
            assert results[0].document == json.loads(json.dumps(of_all_rows(fields))), fields["protocol"]
        all_noisy = "epsilon" in fields and fields["protocol"] != "boost"  # whose splits are decided without noise
        for node, view in ((pair.a, left), (pair.b, right)):
            assert (view.exposure is None) == all_noisy, fields["protocol"]
            assert (view.price is None) == ("epsilon" not in fields), fields["protocol"]
            assert view.price is None or 0 < view.price.epsilon <= EPSILON, fields["protocol"]
            foreseen(node, view)
    assert not pair.a.client.result(jobs[-3]).document["differ"]["age"], "both tables have the same shares"
    for node, before in zip((pair.a, pair.b), known, strict=True):
        assert verified(node)["ok"]
        booked(node, jobs, before)


def bits(node: NodeProcess) -> int:
    """How many bits exact answers have opened of a node's table."""
    (table,) = node.client.budget()
    assert table.bits is not None
    return table.bits.ever


def foreseen(node: NodeProcess, view: JobView) -> None:
    """A job's cost is the one that was predicted, or within its bound; its bits are within theirs."""
    assert view.cost is not None
    if view.cost.estimate == "exact":
        cost_as_predicted(node, view)
    elif view.cost.most is not None:
        total = node.client.result(view.id).cost["total"]
        assert total["bytes_sent"] + total["bytes_received"] <= view.cost.most, view.protocol
    if view.exposure is not None:
        assert 0 < view.exposure.opened <= (view.exposure.at_most or view.exposure.opened), view.protocol


def booked(node: NodeProcess, jobs: list[str], before: int) -> None:
    """Noise is charged once, bits step by step, both in the log; the table's bits are those of its jobs."""
    views = [job(node, identifier) for identifier in jobs]
    entries = node.client.audit(1000)
    spent = [entry.job for entry in entries if entry.kind == "spent" and entry.job in jobs]
    assert sorted(filter(None, spent)) == sorted(view.id for view in views if view.price is not None)
    for view in views:
        counted = sum(entry.fields["bits"] for entry in entries if (entry.kind, entry.job) == ("counted", view.id))
        assert counted == (view.exposure.opened if view.exposure else 0), view.protocol
    assert bits(node) - before == sum(view.exposure.opened for view in views if view.exposure)
