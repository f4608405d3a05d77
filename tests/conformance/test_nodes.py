"""Two nodes: jobs from both sides, consent by rule and by hand, a refusal, a table or a peer that is away, an end.

The tests share one pair of nodes, which each leaves up, and look only at jobs of their own.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import grpc
import httpx
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from parties.models.trees.tree import to_json
from parties.tables import example
from smc.errors import InputError
from tests.support.chromium import chromium
from tests.support.nodes import RESEARCH, NodeProcess, Nodes, clear_tree, job, submit, verified
from tests.support.places import ENVIRONMENT
from tests.support.processes import here
from tests.support.waiting import PATIENCE, eventually

NOT_FOR_FUN = '[[policy]]\nname = "not for fun"\neffect = "deny"\npurpose = "fun"\n'


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    """The bundled clinics, where the second permits research by a rule and denies fun."""
    nodes = Nodes(tmp_path_factory.mktemp("days"))
    demo = example.demo()
    rows = demo.clinic_a.read_text(), demo.clinic_b.read_text()
    nodes.furnish(rows, demo.schema.read_text(), more=("", RESEARCH + NOT_FOR_FUN))
    try:
        nodes.start()
        yield nodes
    finally:
        nodes.close()


def test_jobs_of_both_sides_by_rule_by_hand_and_refused(days: Nodes) -> None:
    a, b = days.a, days.b
    by_rule = submit(a, purpose="research")
    left, right = days.finished(by_rule)
    assert left.state == right.state == "done"
    assert right.ours.by == "rule research" == left.theirs.by
    assert a.client.result(by_rule).tree == b.client.result(by_rule).tree
    assert a.client.result(by_rule).tree["tree"] == clear_tree(days)

    by_hand = submit(b, purpose="teaching", max_depth=1)
    assert job(a, by_hand).state == "waiting"
    time.sleep(1.0)  # nothing may begin by itself
    assert job(a, by_hand).state == job(b, by_hand).state == "waiting"
    a.client.approve(by_hand[:12])
    left, right = days.finished(by_hand)
    assert left.state == right.state == "done"
    assert left.ours.by == "operator"
    assert a.client.result(by_hand).tree["tree"] == clear_tree(days, max_depth=1)

    refused = submit(b, purpose="curiosity")
    job(a, refused)
    a.client.refuse(refused, "patients did not agree to that")
    left, right = days.finished(refused)
    assert left.state == right.state == "refused"
    assert right.why == "a: patients did not agree to that"

    denied = submit(a, purpose="fun")
    left, right = days.finished(denied)
    assert left.state == right.state == "refused"
    assert "not for fun" in left.why
    assert left.ours.verdict == "approved"

    for node in (a, b):
        assert verified(node)["ok"]
        asked = {by_rule, by_hand, refused, denied}
        kinds = [entry.kind for entry in node.client.audit(1000) if entry.job in asked]
        assert kinds.count("proposed") == 4
        assert kinds.count("signed") == kinds.count("finished") == 2


def test_approved_in_the_browser(days: Nodes) -> None:
    """The operator signs in by a link, reads the proposal, approves it, and sees the tree."""
    with chromium() as browser:
        identifier = submit(days.b, purpose="teaching", max_depth=1)
        job(days.a, identifier)
        page = browser.new_page()
        problems: list[str] = []
        page.on("console", lambda message: message.type == "error" and problems.append(message.text))
        page.goto(days.a.client.login())
        page.locator(f"#job-{identifier} h3 a").click()
        assert "teaching" in page.content()
        page.get_by_role("button", name="Approve").click()
        page.wait_for_selector("#tree svg[data-explored]", timeout=1000 * PATIENCE)
        assert not problems
        page.goto(page.url.split("/jobs")[0] + "/audit")
        assert "approved" in page.content()
        page.close()
    left, right = days.finished(identifier)
    assert (left.state, right.state, left.ours.by) == ("done", "done", "operator")


def test_two_operators_ask_the_same(days: Nodes) -> None:
    """Whoever is first, it is one job, on the standing link's connection; what is wrong is told as by the command that
    dials."""
    connections = days.cable.carried
    words = ["millionaires", "--node", "--purpose", "beds", "--value"]
    first = subprocess.Popen(
        [sys.executable, "-m", "parties.cli", *words, "9"], cwd=days.b.directory, env=ENVIRONMENT,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    eventually(lambda: any(job.needs_us for job in days.a.client.jobs(1)))
    answered = here(days.a.directory, *words, 7)
    out, err = first.communicate(timeout=PATIENCE)
    assert (answered.code, first.returncode) == (0, 0), answered.err + err
    assert "the peer has more" in answered.out
    assert "this party has more" in out
    assert "answering b, who asked at 20" in answered.err
    assert "cost of the conversation" in err
    assert [job.state for job in days.a.client.jobs() if job.purpose == "beds"] == ["done"]
    assert days.cable.carried == connections
    days.finished(submit(days.a, purpose="research", engine="yao"))
    assert days.cable.carried > connections  # perhaps anew on a busy machine; a tree by circuits alone has more to say
    for more, message in (
        (["--listen", "127.0.0.1:0"], "--node: the node has its own link; remove --listen"),
        (["--node", "c"], "peer: there is no peer 'c'"),
        (["--out", "party.toml"], "--out"),
    ):
        done = here(days.a.directory, *words, 7, *more)
        assert (done.code, message in done.message) == (2, True), done.message
    assert "--value is missing" in here(days.a.directory, *words[:-1]).message
    assert here(days.a.directory, "millionaires", "--purpose", "x", "--value", 1).code == 2


def test_two_side_by_side(days: Nodes) -> None:
    first, second = submit(days.a, purpose="research"), submit(days.b, purpose="research", max_depth=1)
    job(days.a, second)
    days.a.client.approve(second)
    for identifier in (first, second):
        assert [(view.state, view.why) for view in days.finished(identifier)] == [("done", "")] * 2
    assert days.a.client.result(first).tree["tree"] == clear_tree(days)
    assert days.a.client.result(second).tree["tree"] == clear_tree(days, max_depth=1)


def test_cancelled_and_withdrawn(days: Nodes) -> None:
    waiting = submit(days.b, purpose="teaching")
    job(days.a, waiting)
    days.b.client.cancel(waiting, "a mistake")
    left, right = days.finished(waiting)
    assert left.state == right.state == "cancelled"
    assert (left.why, right.why) == ("b: a mistake", "a mistake")


def test_a_result_is_withdrawn_and_learnt_anew(days: Nodes) -> None:
    """By the command at the party that did not propose it; both show it, and both logs are whole."""
    learnt = submit(days.a, purpose="research")
    days.finished(learnt)
    assert here(days.b.directory, "forget", "--job", learnt, "--why", "art. 17", "--config", "party.toml").code == 0
    eventually(lambda: days.a.client.job(learnt).withdrawn)
    shown = here(days.a.directory, "result", learnt, "--config", "party.toml")
    assert shown.code == 0
    assert "this result is withdrawn; do not use it: by b, " in shown.err
    assert shown.err.count("art. 17") == 1
    again = days.a.client.repeat(learnt).id
    assert [view.state for view in days.finished(again)] == ["done", "done"]
    assert days.a.client.result(again).withdrawn == []
    assert days.a.client.result(again).tree == days.a.client.result(learnt).tree
    assert all(node.client.verify().ok for node in (days.a, days.b))


def test_what_a_proposal_may_not_be(days: Nodes) -> None:
    """Refused where it is made, or where it is heard, with the reason."""
    for fields, message in (
        ({"table": "row"}, "no table 'row'"),
        ({"table": "rows", "columns": ["winde"]}, "did you mean 'wind'"),
        ({"table": "rows", "tolerance": 0}, "tolerance"),
        ({"table": "rows", "colums": ["wind"]}, "colums"),
        ({"table": "rows", "data": "x.csv"}, "data"),
        ({"table": "rows", "target": "nobody"}, "nobody"),
        ({}, "table"),
    ):
        with pytest.raises(InputError, match=message):
            days.a.client.submit(fields)
    elsewhere = submit(days.a, peer_table="nowhere", purpose="research")
    eventually(lambda: job(days.a, elsewhere).state == "refused")
    assert "no table 'nowhere'" in job(days.a, elsewhere).why
    assert elsewhere not in [view.id for view in days.b.client.jobs()], "what does not fit is kept"


def test_the_peer_is_away_when_a_job_is_proposed_and_decided(days: Nodes) -> None:
    days.b.kill()
    eventually(lambda: not days.a.client.node().connected)
    identifier = submit(days.a, purpose="teaching")
    assert job(days.a, identifier).state == "waiting"
    days.b.start()
    days.await_both()
    job(days.b, identifier)
    days.a.kill()
    days.b.client.approve(identifier)
    days.a.start()
    days.await_both()
    assert {view.state for view in days.finished(identifier)} == {"done"}


def test_health_metrics_and_logs(days: Nodes) -> None:
    ready = {}
    for node in (days.a, days.b):
        started = [event for event in map(json.loads, node.log().splitlines()) if event["event"] == "ready"]
        ready[node] = started[-1]
    before = {node: measured(ready[node]["metrics"]) for node in ready}
    identifier = submit(days.a, purpose="research")
    days.finished(identifier)
    for node in (days.a, days.b):
        url, health = ready[node]["metrics"], ready[node]["health"]
        sessions, done = before[node]
        eventually(lambda url=url, expected=(sessions + 1, done + 1): measured(url) == expected)
        with grpc.insecure_channel(health) as channel:
            answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=PATIENCE)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        events = [json.loads(line) for line in node.log().splitlines()]
        assert {"node started", "connected", "session began", "session finished"} <= {e["event"] for e in events}
        known = {"event", "timestamp", "level", "name", "peer", "job", "state", "depth", "profile", "why", "remark"}
        known |= {"bytes_sent", "bytes_received", "rounds", "listens", "connects", "web", "metrics", "health"}
        assert not {name: event for event in events for name in set(event) - known}


def measured(url: str) -> tuple[float, float]:
    """How many sessions a node has had since its start, and how many jobs it has done."""
    lines = dict(line.rsplit(" ", 1) for line in httpx.get(url, trust_env=False, timeout=PATIENCE).text.splitlines())
    return float(lines["smc_sessions_total"]), float(lines.get('smc_jobs{state="done"}', 0))


def test_a_notebook_asks_its_own_node(days: Nodes) -> None:
    estimator = pytest.importorskip("parties.notebook.estimator", reason="scikit-learn is not installed")
    joint = estimator.JointID3Classifier(max_depth=1, peer=days.a.client, plain=True)
    joint.fit(table="rows", purpose="research", deadline=PATIENCE)
    assert to_json(joint.tree_) == clear_tree(days, max_depth=1)
    assert days.finished(joint.job_)[1].state == "done"


@pytest.mark.parametrize(
    "command", [["result", "latest", "--svg"], ["audit", "export", "--config", "party.toml", "--out"]]
)
def test_no_output_overwrites_what_the_party_needs(days: Nodes, command: list[str]) -> None:
    days.finished(submit(days.a, purpose="research"))
    for name in ("a.key", "b.crt", "rows.csv", "schema.toml", "party.toml", "state/node.sqlite"):
        before = (days.a.directory / name).read_bytes()
        done = here(days.a.directory, *command, name)
        assert done.code == 2, name
        assert "would be overwritten" in done.err
        if not name.startswith("state"):
            assert (days.a.directory / name).read_bytes() == before


def test_a_second_node_keeps_out(days: Nodes) -> None:
    second = here(days.b.directory, "node", "--config", "party.toml")
    assert second.code == 2
    assert "in use by another node" in second.err
    assert days.b.client.node().connected


@pytest.fixture
def copied(days: Nodes, tmp_path: Path) -> NodeProcess:
    """What b has on its disk, elsewhere and not running."""
    folder = tmp_path / "b"
    shutil.copytree(days.b.directory, folder, ignore=shutil.ignore_patterns("state", "log"))
    (folder / "state").mkdir(mode=0o700)
    (folder / "state" / "node.sqlite").touch(mode=0o600)
    with (
        closing(sqlite3.connect(days.b.directory / "state" / "node.sqlite")) as known,
        closing(sqlite3.connect(folder / "state" / "node.sqlite")) as copy,
    ):
        known.backup(copy)
    return NodeProcess(folder)


def test_a_mapping_that_does_not_fit_is_told_at_the_start(copied: NodeProcess) -> None:
    file = copied.directory / "party.toml"
    file.write_text(file.read_text() + '[tables.rows.columns.winde]\ncolumn = "x"\n')
    done = here(copied.directory, "node", "--config", "party.toml")
    assert done.code == 2
    assert "tables.rows" in done.err
    assert "did you mean 'wind'" in done.err


def test_a_node_refuses_changed_records(copied: NodeProcess) -> None:
    with closing(sqlite3.connect(copied.directory / "state" / "node.sqlite")) as database, database:
        database.execute("DROP TRIGGER audit_no_update")
        database.execute("UPDATE audit SET kind = 'connected' WHERE number = 1")
    copied.start()
    assert copied.process is not None
    assert copied.process.wait(PATIENCE) == 2
    assert "entry 1 was changed" in copied.log().splitlines()[-1]


def test_a_table_that_is_away_is_told_at_the_start_and_ends_no_job(days: Nodes) -> None:
    """The job waits for it, and runs when it is there. A node that is told to stop ends in order."""
    rows, elsewhere = (days.b.directory / name for name in ("rows.csv", "elsewhere.csv"))
    assert days.b.stop() == 0
    assert not (days.b.directory / "state" / "api.json").exists()
    (days.b.directory / "log").write_text("")
    rows.rename(elsewhere)
    days.b.start()
    days.await_both()
    eventually(lambda: "table not available" in days.b.log())
    identifier = submit(days.a, purpose="research")
    eventually(lambda: "rows.csv" in job(days.b, identifier).why)
    assert job(days.b, identifier).state == "queued"
    assert job(days.b, identifier).why.startswith("waits for its table: ")
    eventually(lambda: job(days.a, identifier).why == "b waits for its table")
    elsewhere.rename(rows)
    assert [view.state for view in days.finished(identifier)] == ["done", "done"]
