"""Two processes make a table over gRPC and a third one opens it; two nodes make one as a job, with noise and sealed."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from parties.jobs.publish import analyst
from parties.link.identity import create
from tests.support.nodes import Nodes, job
from tests.support.processes import Processes
from tests.support.waiting import eventually

TELLS = "whoever holds the analyst's key and one party's rows has the other's numbers"
RULE = '[[policy]]\nname = "the office"\neffect = "permit"\nexact = true\nprotocol = "publish joint-table"\n'
COUNTIES = {"A": (9, 1, 8), "B": (7, 12, 6), "C": (8, 9, 30)}
BENEFITS = ("low", "middle", "high")
SCHEMA = f"[attributes]\ncounty = {list(COUNTIES)}\nbenefit = {list(BENEFITS)}\n"
QUESTION = ["--schema", "schema.toml", "--by", "county", "--across", "benefit", "--to", "analyst.crt"]
QUESTION += ["--against", "public"]


def table(party: int) -> str:
    """Every second row of the cells."""
    rows = [(c, b) for c, counts in COUNTIES.items() for b, n in zip(BENEFITS, counts, strict=True) for _ in range(n)]
    return "county,benefit\n" + "".join(f"{c},{b}\n" for c, b in rows[party::2])


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    running = Processes(tmp_path)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    for party, name in enumerate("ab"):
        (tmp_path / f"{name}.csv").write_text(table(party))
    try:
        yield running
    finally:
        running.stop()


def test_an_analyst_reads_what_neither_party_can(processes: Processes) -> None:
    assert processes.here("identity", "create", "analyst").code == 0
    left, right = (
        ["publish", "joint-table", "--data", f"{n}.csv", *QUESTION, "--out", f"{n}.sealed", "--report", f"{n}.cost"]
        for n in "ab"
    )
    ends = processes.pair(left, right)  # type: ignore[arg-type]
    assert [end.code for end in ends] == [0, 0], ends
    assert ends[0].out == ends[1].out
    place = processes.directory
    assert (place / "a.sealed").read_bytes() == (place / "b.sealed").read_bytes()
    cost = json.loads((place / "a.cost").read_text())["total"]
    hidden = str("".join(json.loads((place / "a.sealed").read_text())["hidden"]).count("1"))
    estimate = processes.here(*["estimate", "publish joint-table", *QUESTION, "--hidden", hidden, "--json"])
    assert estimate.code == 0, estimate.err
    assert f"{cost['bytes_sent']}" in estimate.out
    opened = processes.here("publish", "open", "a.sealed", "b.sealed", "--key", "analyst.key", "--out", "t.csv")
    assert opened.code == 0, opened.err
    with (place / "t.csv").open(newline="") as stream:
        _, *lines = csv.reader(stream)
    found = {(name, column): text for name, *line in lines for column, text in zip(BENEFITS, line, strict=False)}
    assert found["A", "middle"] == "x"
    assert 4 <= sum(text == "x" for text in found.values()) < 9
    assert all(text in ("x", str(COUNTIES[c][BENEFITS.index(b)])) for (c, b), text in found.items() if c in COUNTIES)
    assert lines[-1][-1] == "90"


def test_two_nodes_make_one_as_a_job(tmp_path: Path) -> None:
    nodes = Nodes(tmp_path)
    nodes.furnish((table(0), table(1)), SCHEMA, ("", ""))
    try:
        nodes.start()
        asked = {"protocol": "publish joint-table", "table": "rows", "by": "county", "against": "public", "epsilon": 1}
        identifier = nodes.a.client.submit(asked).id
        assert "with noise that neither knows" in " ".join(job(nodes.b, identifier).reveals)
        nodes.b.client.approve(identifier)
        left, right = nodes.finished(identifier)
        assert (left.state, right.state) == ("done", "done"), (left.why, right.why)
        result = nodes.a.client.result(identifier)
        assert result.document == nodes.b.client.result(identifier).document
        assert result.opened["number with noise"] == 4
        assert all(one["noisy"] is not None for line in result.document["cells"] for one in line)
    finally:
        nodes.close()


def test_two_nodes_seal_one_to_whom_both_name(tmp_path: Path) -> None:
    nodes = Nodes(tmp_path)
    for name in ("reader", "office"):
        create(name, [], tmp_path)
    reader, office = (analyst.in_file(tmp_path / f"{name}.crt") for name in ("reader", "office"))
    named = f"analysts = ['{analyst.of(reader)}']\n"
    theirs = f"analysts = ['{analyst.of(reader)}', '{analyst.of(office)}']\n"
    nodes.furnish((table(0), table(1)), SCHEMA, (named + RULE, theirs + RULE))
    try:
        nodes.start()
        asked = {"protocol": "publish joint-table", "table": "rows", "by": "county", "against": "public"}
        refused = nodes.b.client.submit({**asked, "analyst": office}).id
        eventually(lambda: job(nodes.b, refused).state == "refused")  # a answers, and keeps nothing of it
        assert f"sealed to nobody with the fingerprint {analyst.of(office)}" in job(nodes.b, refused).why
        identifier = nodes.b.client.submit({**asked, "analyst": reader}).id
        left, right = nodes.finished(identifier)
        assert (left.state, right.state) == ("done", "done"), (left.why, right.why)
        assert "Whoever holds that key and one party's rows has the other's numbers" in " ".join(left.reveals)
        assert left.reveals[-1] == f"It is exact, without noise: {TELLS}."
        recorded = [one for one in nodes.a.client.audit(100) if one.kind == "proposed" and one.job == identifier]
        assert [one.fields["exact"] for one in recorded] == [TELLS]
    finally:
        nodes.close()
