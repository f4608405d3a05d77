"""People, not rows: two real nodes, and two commands, whose tables say whose row it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from smc.errors import InputError
from tests.support.nodes import RESEARCH, NodeProcess, Nodes, job, submit, verified
from tests.support.waiting import eventually

SCHEMA = '[attributes]\nsex = ["f", "m"]\nyear = ["2020", "2021"]\n'
RULES = RESEARCH + '[[policy]]\nname = "exact"\neffect = "permit"\nexact = true\npurpose = "research"\n'
PEOPLE = 'person = "patient"\nat_most = 2\n'
BUDGET = "[tables.rows.budget]\nepsilon = 2\n"
ROWS = "patient,sex,year\n" + "".join(f"p{i},{'fm'[i % 2]},{2020 + j % 2}\n" for i in range(20) for j in range(i % 5))
HISTOGRAM = {"protocol": "release histogram", "by": "year", "epsilon": 1.0, "purpose": "research"}


def start(nodes: Nodes, ours: str = PEOPLE + BUDGET, theirs: str = PEOPLE) -> None:
    nodes.furnish((ROWS + ",f,2020\n", ROWS), SCHEMA, (ours + RULES, theirs + RULES))
    nodes.start()


def ended(nodes: Nodes, **more: Any) -> tuple[str, Any, Any]:
    identifier = submit(nodes.a, **(HISTOGRAM | more))
    return identifier, *nodes.finished(identifier)


def spent(node: NodeProcess) -> list[dict[str, Any]]:
    return [entry.fields for entry in node.client.audit(1000) if entry.kind == "spent"]


def again_with(nodes: Nodes, node: NodeProcess, old: str, new: str) -> None:
    """Start a node anew with another party.toml."""
    node.stop()
    path = node.directory / "party.toml"
    path.write_text(path.read_text().replace(old, new))
    node.start()
    nodes.await_both()


@pytest.fixture(scope="module")
def bounded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    nodes = Nodes(tmp_path_factory.mktemp("bounded"))
    try:
        start(nodes)
        yield nodes
    finally:
        nodes.close()


def test_people_are_bounded_told_and_charged(bounded: Nodes) -> None:
    nodes = bounded
    identifier, ours, theirs = ended(nodes)
    assert (ours.state, theirs.state) == ("done", "done")
    told = " ".join(theirs.reveals)
    assert "whether one person is there (at most 2 rows of each)" in told
    assert "A person with rows at both parties counts at both: for such a person epsilon is twice as much." in told
    for node in (nodes.a, nodes.b):
        (entry,) = spent(node)
        assert entry["person"] == "patient"
        assert [use["epsilon"] for use in entry["uses"]] == [1.0]
    document = nodes.a.client.result(identifier).document
    assert (document["at_most"], document["scale"]) == (2, 2.0)
    (budget,) = [one for one in nodes.a.client.budget() if one.table == "rows"]
    assert (budget.people, budget.spent, budget.left) == (True, 1.0, 1.0)
    for node in (nodes.a, nodes.b):
        verified(node)


def test_exact_answers_count_bounded_rows(bounded: Nodes) -> None:
    nodes = bounded
    identifier = submit(nodes.a, protocol="release count", exact=True, purpose="research")
    ours, _ = nodes.finished(identifier)
    assert ours.state == "done"
    own = Counter(line.split(",")[0] for line in ROWS.splitlines()[1:])
    expected = 2 * sum(min(2, rows) for rows in own.values())
    assert nodes.a.client.result(identifier).document["numbers"][0]["value"] == expected


@pytest.mark.parametrize(
    ("theirs", "why"), [("", "of rows, not of people"), (PEOPLE.replace("2", "3"), "at_most of the job must be 3")]
)
def test_both_tables_say_the_same(nodes: Nodes, theirs: str, why: str) -> None:
    start(nodes, theirs=theirs)
    identifier = submit(nodes.a, **HISTOGRAM)
    eventually(lambda: job(nodes.a, identifier).state == "refused")
    assert why in job(nodes.a, identifier).why
    assert not spent(nodes.a)


def test_a_ledger_of_rows_is_not_continued_by_people(nodes: Nodes) -> None:
    start(nodes, BUDGET, "")
    assert ended(nodes, epsilon=0.5)[1].state == "done"
    again_with(nodes, nodes.a, BUDGET, PEOPLE + BUDGET)
    again_with(nodes, nodes.b, 'schema = "schema.toml"\n', 'schema = "schema.toml"\n' + PEOPLE)
    with pytest.raises(InputError, match="has charges for a row and is now for a person"):
        submit(nodes.a, **HISTOGRAM)
    assert len(spent(nodes.a)) == 1
    again_with(nodes, nodes.a, "tables.rows", "tables.visits")
    (renamed,) = [one for one in nodes.a.client.budget() if one.table == "visits"]
    assert (renamed.left, renamed.also) == (0.0, ["rows"])  # another name of the same rows is no new budget
