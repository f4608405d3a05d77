"""Jobs of two nodes on rows that an earlier job of theirs has matched: each node has other columns of the people."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from parties.base.files import write_json
from parties.jobs.kinds.evaluate.auc import Auc
from parties.jobs.kinds.rank import Rank
from parties.jobs.release.kind import MADE_UP
from smc.errors import InputError
from tests.support.columns_apart import Two, write
from tests.support.nodes import NodeProcess, Nodes, cost_as_predicted, verified
from tests.support.processes import here
from tests.support.waiting import eventually

BANK = '[attributes]\nincome = ["high", "low", "middle"]\nemployed = ["no", "yes"]\n'
SHOP = 'target = "late"\n[attributes]\norders = ["0", "1", "2"]\nlate = ["False", "True"]\n'
MORE = """max_rows = {rows}
beside = "{peer}.toml"

[tables.rows.budget]
epsilon = 20.0
adjacency = "replace"
bits = 100_000

[[policy]]
name = "matching"
effect = "permit"
protocol = "align exact"
exact = true

[[policy]]
name = "hidden matching"
effect = "permit"
protocol = "align hidden"

[[policy]]
name = "own columns"
effect = "permit"
purpose = "research"
columns.within = {columns}

[[policy]]
name = "own columns without noise"
effect = "permit"
purpose = "research"
columns.within = {columns}
exact = true

[[policy]]
name = "number of people"
effect = "permit"
purpose = "number"

[template.late]
protocol = "rank"
table = "rows"
purpose = "follow-up"
target = "late"
first = 3
parameters = {{ alignment = {{ at_least = 60 }} }}

[[policy]]
name = "asked once"
effect = "permit"
template = "late"
exact = true
"""
BY = {"protocol": "align exact", "by": ["tax"], "purpose": "research"}
TREE: dict[str, Any] = {"protocol": "id3", "alignment": "latest", "against": "public", "purpose": "research"}
TABLE = {"protocol": "release table", "by": ["income", "late"]}
RISKS = {"protocol": "release risks", "target": "late", "by": "employed"}
NOISE: dict[str, Any] = {"epsilon": 1.0, "adjacency": "replace"}
CERTAIN = NOISE | {"epsilon": 16.0}  # so little noise that an answer 4 off has a chance below 2^-80


def people() -> list[dict[str, str]]:
    rng = random.Random(4)
    values = {"income": ["low", "middle", "high"], "employed": ["no", "yes"], "orders": ["0", "1", "2"]}
    rows = [{name: rng.choice(some) for name, some in values.items()} for _ in range(80)]
    for number, row in enumerate(rows):
        row["tax"] = str(number)
        row["late"] = str((row["income"] == "low") == (row["orders"] > "0"))
    return rows


def text(rows: list[dict[str, str]], names: list[str]) -> str:
    return "".join(",".join(line) + "\n" for line in [names, *([row[name] for name in names] for row in rows)])


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    nodes, rows = Nodes(tmp_path_factory.mktemp("matched")), people()
    own = (text(rows[:70], ["tax", "income", "employed"]), text(rows[:9:-1], ["late", "orders", "tax"]))
    more = [
        MORE.format(rows=100, peer="b", columns='["income", "employed"]'),
        MORE.format(rows=90, peer="a", columns='["orders", "late"]'),
    ]
    nodes.furnish(own, SHOP, (more[0], more[1]))
    (nodes.a.directory / "schema.toml").write_text(BANK)
    (nodes.a.directory / "b.toml").write_text(SHOP)
    (nodes.b.directory / "a.toml").write_text(BANK)
    try:
        nodes.start()
        yield nodes
    finally:
        nodes.close()


def done(nodes: Nodes, proposer: NodeProcess, **fields: Any) -> Any:
    """The result of a job at both nodes, and its view at the other node."""
    identifier = proposer.client.submit({"table": "rows", **fields}).id
    left, right = nodes.finished(identifier)
    assert (left.state, right.state) == ("done", "done"), (left.why, right.why)
    results = [node.client.result(identifier) for node in (nodes.a, nodes.b)]
    assert results[0].document == results[1].document
    assert left.cost is not None
    assert "alignment" not in fields or left.cost.most is None  # no bound counts the messages that share the numbers
    if left.cost.estimate != "typical":
        cost_as_predicted(proposer, left)
    return results[0].document, right if proposer is nodes.a else left


def of_joined(two: Two, **settings: Any) -> Any:
    """The answer from the joined rows, as a document."""
    task, _ = two._joined(0, settings)
    return task.document(two.as_joined(**settings))


def test_jobs_of_both_nodes_on_the_matched_rows(pair: Nodes, tmp_path: Path) -> None:
    """Each answer is that of the joined rows; two jobs on one matching are charged twice."""
    document, _ = done(pair, pair.a, **BY)
    assert document["matched"] == 60
    tree, view = done(pair, pair.b, **TREE)
    matching = view.parameters["alignment"]
    assert f"people who are in both tables, as both parties know from alignment {str(matching)[:8]}." in view.reveals[1]
    joined = [{name: row[name] for name in view.columns} for row in people()[10:70]]
    two = Two(tmp_path, joined, "late", ["income", "employed"])
    assert tree["tree"] == of_joined(two, against="public")["tree"]
    two.kind = Rank
    columns = {"target": "late", "columns": ("employed", "income", "orders"), "first": 3}
    asked = {"protocol": "rank", "alignment": str(matching)[:6], "purpose": "research", "target": "late", "first": 3}
    order, view = done(pair, pair.a, **asked)
    assert order["order"] == of_joined(two, **columns)["order"]
    assert view.parameters["alignment"] == matching
    (pair.b.directory / "tree.toml").write_text(tomli_w.dumps(TREE | {"table": "rows"}))
    judged = json.loads(here(pair.b.directory, "policy", "--job", "tree.toml", "--json").out)
    assert judged["decision"]["rules"] == ["own columns", "own columns without noise"]
    (pair.b.directory / "tree.toml").write_text(tomli_w.dumps(TREE | {"table": "rows", "alignment": "0" * 32}))
    lacking = here(pair.b.directory, "policy", "--job", "tree.toml")
    assert lacking.err == (
        "smc: alignment: no job '00000000' has matched rows of this table and of the peer's for both parties; name one "
        "job of smc align\n"
    )
    alone = pair.b.directory / "alone.toml"
    alone.write_text((pair.b.directory / "party.toml").read_text().replace('beside = "a.toml"\n', ""))
    judged = json.loads(here(pair.b.directory, "policy", view.id[:8], "--config", "alone.toml", "--json").out)
    assert judged["decision"]["rules"] == ["own columns", "own columns without noise"]
    differing = judged["rules"][-1]["unlike"]["late"]
    assert differing == 'purpose: the template "follow-up", the job "research"'
    by_template = pair.b.client.submit({"template": "late", "alignment": "latest"}).id
    assert [view.state for view in pair.finished(by_template)] == ["done", "done"]
    assert pair.a.client.result(by_template).document["order"] == order["order"]
    for question in ({"protocol": "release count", "where": "late = True and income = low"}, TABLE, RISKS):
        done(pair, pair.a, **question, **NOISE, alignment="latest", purpose="research")
    two.kind, judged = Auc, {"classifier": json.dumps(tree), "at_least": 0.9}
    answer, view = done(pair, pair.b, protocol="evaluate auc", **judged, alignment="latest", purpose="research")
    assert answer == of_joined(two, **judged)
    assert MADE_UP in view.reveals
    asked = {"protocol": "classify", "classifier": json.dumps(tree), "alignment": "latest", "purpose": "research"}
    answer, view = done(pair, pair.a, **asked, learns="dialler")
    assert answer["classified"] == 60
    kept = [node for node in (pair.a, pair.b) if here(node.directory, "align", "rows", view.id).code == 0]
    (learner,) = kept
    lines = here(learner.directory, "align", "rows", view.id).out.splitlines()
    assert here(learner.directory, "align", "rows", "latest").out.startswith("tax,row of ")
    write(tmp_path / "joined.csv", people()[10:70], ["tax", "income", "employed", "orders"])
    write_json(tmp_path / "tree.json", tree)
    predicted = here(tmp_path, "predict", "--tree", "tree.json", "--data", "joined.csv").out.splitlines()
    assert sorted(lines[1:]) == sorted(
        f"{row['tax']},{late}" for row, late in zip(people()[10:70], predicted, strict=True)
    )
    for node in (pair.a, pair.b):
        (budget,) = node.client.budget()
        assert budget.spent == 3.0
        assert verified(node)


@pytest.mark.parametrize("kind", ["exact", "hidden"])
def test_a_table_whose_people_have_changed_waits_without_a_reason_for_the_peer(pair: Nodes, kind: str) -> None:
    rows = pair.a.directory / "rows.csv"
    before = rows.read_text()
    matching = {"protocol": f"align {kind}", "by": ["tax"], "purpose": "research"}
    _, view = done(pair, pair.a, **matching)
    rows.write_text(before + "99,low,no\n")
    job = TREE | {"alignment": view.id, "tolerance": 0.004}
    identifier = pair.b.client.submit({"table": "rows", **job}).id
    eventually(lambda: "key columns" in pair.a.client.job(identifier).why)
    assert "key columns, or this node's key, have changed since job" in pair.a.client.job(identifier).why
    assert "key columns" not in pair.b.client.job(identifier).why
    rows.write_text(before)
    pair.a.client.cancel(identifier, "changed")


def test_hidden_rows_answer_later_jobs_with_the_values_of_the_matching(pair: Nodes, tmp_path: Path) -> None:
    before = pair.a.client.budget()
    document, _ = done(pair, pair.a, protocol="align hidden", by=["tax"], purpose="research")
    assert document["bins"] > 100
    assert pair.a.client.budget() == before
    rows = pair.a.directory / "rows.csv"
    text_before = rows.read_text()
    rows.write_text(text_before.replace("low", "high"))
    tree, view = done(pair, pair.b, **TREE)
    rows.write_text(text_before)
    assert "Neither party knows who they are, nor how many." in view.reveals[1]
    joined = [{name: row[name] for name in ("income", "employed", "orders", "late")} for row in people()[10:70]]
    two = Two(tmp_path, joined, "late", ["income", "employed"])
    assert tree["tree"] == of_joined(two, against="public")["tree"]
    question = {"protocol": "release count", "where": "late = True and income = low"}
    done(pair, pair.a, **question, **NOISE, alignment="latest", purpose="research")
    number, view = done(pair, pair.b, protocol="release count", alignment="latest", purpose="number", **CERTAIN)
    assert number["numbers"][0]["noisy"] == pytest.approx(60, abs=4)
    assert any("gives no column" in line for line in view.reveals)
    with pytest.raises(InputError, match="the classes would show who is in both tables"):
        pair.a.client.submit(
            {"protocol": "classify", "table": "rows", "classifier": json.dumps(tree), "learns": "dialler"}
            | {"alignment": "latest"}
        )
