"""Two nodes: jobs from both sides, consent by rule and by hand, a refusal, crashes at any moment, an orderly stop."""

from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from parties.jobs.running import named
from parties.tables import example, schema
from parties.tables.rows import load
from parties.tables.schema import Schema
from parties.trees.tree import to_json
from protocols.counts import RowCounts
from protocols.id3 import Problem, id3
from smc.engines import make_engine
from smc.errors import InputError
from smc.local import run_local
from tests.support.chromium import chromium
from tests.support.nodes import ENVIRONMENT, Nodes, job
from tests.support.waiting import eventually

RESEARCH = '[[policy]]\nname = "research"\neffect = "permit"\npurpose = "research"\n'
NOT_FOR_FUN = '[[policy]]\nname = "not for fun"\neffect = "deny"\npurpose = "fun"\n'


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    made = Nodes(tmp_path)
    yield made
    made.close()


@pytest.fixture
def days(nodes: Nodes) -> Nodes:
    """The bundled clinics, where the second permits research by a rule and denies fun."""
    demo = example.demo()
    rows = demo.clinic_a.read_text(), demo.clinic_b.read_text()
    nodes.furnish(rows, demo.schema.read_text(), more=("", RESEARCH + NOT_FOR_FUN))
    nodes.start()
    return nodes


def submit(node: Any, **fields: Any) -> str:
    return node.client.submit({"table": "rows", **fields}).id


def verified(node: Any) -> dict[str, Any]:
    """The audit log as the command says."""
    done = subprocess.run(
        [sys.executable, "-m", "parties.cli", "audit", "verify", "--config", "party.toml", "--json"],
        cwd=node.directory,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def clear_tree(nodes: Nodes, **parameters: Any) -> Any:
    """The tree of both parties' rows that the clear engine finds, as tree.json has it."""
    agreed = schema.load(nodes.a.directory / "schema.toml")
    target = agreed.choose_target()
    halves = [load(node.directory / "rows.csv", agreed, target, 10**6) for node in (nodes.a, nodes.b)]
    problem = _problem(agreed, target, **parameters)

    def program(session: Any) -> Any:
        own = halves[session.party]
        counts = RowCounts(problem.domains, problem.classes, own.rows, own.classes)
        return id3(make_engine(session, "clear"), problem, counts)

    return to_json(named(run_local(program)[0], agreed, target))


def _problem(agreed: Schema, target: str, **parameters: Any) -> Problem:
    domains = tuple(len(agreed.attributes[name]) for name in agreed.features(target))
    return Problem(domains, len(agreed.attributes[target]), 65535, **parameters)


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
    a.client.approve(by_hand[:6])
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
        state = verified(node)
        assert state["ok"]
        kinds = [entry.kind for entry in node.client.audit(1000)]
        assert kinds.count("proposed") == 4
        assert kinds.count("signed") == kinds.count("finished") == 2
        assert node.stop() == 0
        assert not (node.directory / "state" / "api.json").exists()


def test_approved_in_the_browser(days: Nodes) -> None:
    """The operator signs in by a link, reads the proposal, approves it, and sees the tree."""
    with chromium() as browser:
        identifier = submit(days.b, purpose="teaching", max_depth=1)
        job(days.a, identifier)
        page = browser.new_page()
        problems: list[str] = []
        page.on("console", lambda message: message.type == "error" and problems.append(message.text))
        page.goto(days.a.client.login())
        page.get_by_role("link", name="Decision tree for play").first.click()
        assert "teaching" in page.content()
        page.get_by_role("button", name="Approve").click()
        page.wait_for_selector("#tree-chart[data-drawn=done]", timeout=30_000)
        assert not problems
        page.goto(page.url.split("/jobs")[0] + "/audit")
        assert "approved" in page.content()
        page.close()
    left, right = days.finished(identifier)
    assert (left.state, right.state, left.ours.by) == ("done", "done", "operator")


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


def test_what_a_proposal_may_not_be(days: Nodes) -> None:
    """Refused where it is made, or where it is heard, with the reason."""
    for fields, message in (
        ({"table": "row"}, "no table 'row'"),
        ({"table": "rows", "columns": ["winde"]}, "did you mean 'wind'"),
        ({"table": "rows", "delta": 0}, "delta"),
        ({"table": "rows", "colums": ["wind"]}, "colums"),
        ({"table": "rows", "data": "x.csv"}, "data"),
        ({"table": "rows", "target": "nobody"}, "nobody"),
        ({}, "table"),
    ):
        with pytest.raises(InputError, match=message):
            days.a.client.submit(fields)
    elsewhere = submit(days.a, peer_table="nowhere", purpose="research")
    left, _ = days.finished(elsewhere)
    assert left.state == "refused"
    assert "no table 'nowhere'" in left.why


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
    identifier = submit(days.a, purpose="research")
    days.finished(identifier)
    for node in (days.a, days.b):
        ready = next(event for event in map(json.loads, node.log().splitlines()) if event["event"] == "ready")
        url, health = ready["metrics"], ready["health"]
        eventually(lambda url=url: "smc_sessions_total 1.0" in httpx.get(url, trust_env=False).text)
        assert 'smc_jobs{state="done"} 1.0' in httpx.get(url, trust_env=False).text
        with grpc.insecure_channel(health) as channel:
            answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=5)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        events = [json.loads(line) for line in node.log().splitlines()]
        assert {"node started", "connected", "session began", "session finished"} <= {e["event"] for e in events}
        known = {"event", "timestamp", "name", "peer", "job", "state", "depth", "profile", "why"}
        known |= {"bytes_sent", "bytes_received", "rounds", "listens", "connects", "web", "metrics", "health"}
        assert all(set(event) <= known for event in events)


def test_a_notebook_asks_its_own_node(days: Nodes) -> None:
    estimator = pytest.importorskip("parties.notebook.estimator", reason="scikit-learn is not installed")
    joint = estimator.JointID3Classifier(max_depth=1, peer=days.a.client)
    joint.fit(table="rows", purpose="research", deadline=60)
    assert to_json(joint.tree_) == clear_tree(days, max_depth=1)
    assert days.b.client.job(joint.job_).state == "done"


def test_told_to_stop_in_the_middle_of_a_job(nodes: Nodes) -> None:
    """What has a level to go is cut where it is, and goes on after the start; the peer is told."""
    big, text = _random_table(3, 600)
    nodes.furnish(big, text, more=("", RESEARCH), link='emulate = "25mbit,5ms"')
    for node in (nodes.a, nodes.b):
        file = node.directory / "party.toml"
        file.write_text(file.read_text().replace("stop = 5.0", "stop = 0.2"))
    nodes.start()
    identifier = submit(nodes.a, purpose="research")
    eventually(lambda: (progress := job(nodes.b, identifier).progress) is not None and progress.depth >= 1)
    assert nodes.b.stop() == 0
    eventually(lambda: job(nodes.a, identifier).state == "interrupted")
    assert "stopping" in job(nodes.a, identifier).why
    nodes.b.start()
    assert [view.state for view in nodes.finished(identifier)] == ["done", "done"]
    started = [entry.fields["depth"] for entry in nodes.b.client.audit(100) if entry.kind == "started"]
    assert started[0] >= 1, "it began anew"
    assert nodes.a.client.result(identifier).tree["tree"] == clear_tree(nodes)


def test_a_link_cut_twice_in_the_middle_of_a_job(nodes: Nodes) -> None:
    big, text = _random_table(5, 600)
    nodes.furnish(big, text, more=("", RESEARCH), link='emulate = "25mbit,5ms"')
    nodes.start()
    identifier = submit(nodes.a, purpose="research")
    for depth in (1, 2):
        eventually(lambda depth=depth: (at := job(nodes.b, identifier).progress) is not None and at.depth >= depth)
        nodes.cable.cut()
        eventually(lambda: {job(node, identifier).state for node in (nodes.a, nodes.b)} == {"interrupted"})
        eventually(lambda: not nodes.a.client.node().connected and not nodes.b.client.node().connected)
        nodes.cable.mend()
    assert [view.state for view in nodes.finished(identifier)] == ["done", "done"]
    assert nodes.a.client.result(identifier).tree["tree"] == clear_tree(nodes)
    starts = [entry.fields["depth"] for entry in nodes.a.client.audit(100) if entry.kind == "started"]
    assert len(starts) == 3
    assert starts[2] == 0 < starts[1] <= starts[0]
    assert verified(nodes.a)["ok"]
    assert verified(nodes.b)["ok"]


def test_a_table_that_is_away_is_told_at_the_start_and_ends_no_job(nodes: Nodes) -> None:
    """The job waits for it, and runs when it is there."""
    demo = example.demo()
    nodes.furnish((demo.clinic_a.read_text(), demo.clinic_b.read_text()), demo.schema.read_text(), ("", RESEARCH))
    rows = nodes.b.directory / "rows.csv"
    rows.rename(nodes.b.directory / "elsewhere.csv")
    nodes.start()
    eventually(lambda: "table not available" in nodes.b.log())
    identifier = submit(nodes.a, purpose="research")
    eventually(lambda: "rows.csv" in job(nodes.b, identifier).why)
    assert job(nodes.b, identifier).state == "queued"
    (nodes.b.directory / "elsewhere.csv").rename(rows)
    assert [view.state for view in nodes.finished(identifier)] == ["done", "done"]


def test_a_mapping_that_does_not_fit_is_told_at_the_start(days: Nodes) -> None:
    days.b.stop()
    file = days.b.directory / "party.toml"
    file.write_text(file.read_text() + '[tables.rows.columns.winde]\ncolumn = "x"\n')
    (days.b.directory / "log").write_text("")
    days.b.start()
    assert days.b.process is not None
    assert days.b.process.wait(60) == 2
    assert "tables.rows" in days.b.log()
    assert "did you mean 'wind'" in days.b.log()


@pytest.mark.parametrize("name", ["a.key", "b.crt", "rows.csv", "schema.toml", "party.toml", "state/node.sqlite"])
def test_no_output_overwrites_what_the_party_needs(days: Nodes, name: str) -> None:
    identifier = submit(days.a, purpose="research")
    days.finished(identifier)
    before = (days.a.directory / name).read_bytes()
    for command in (["result", "latest", "--svg", name], ["audit", "export", "--config", "party.toml", "--out", name]):
        done = subprocess.run(
            [sys.executable, "-m", "parties.cli", *command],
            cwd=days.a.directory,
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 2, command
        assert "would be overwritten" in done.stderr
    if not name.startswith("state"):
        assert (days.a.directory / name).read_bytes() == before


def test_a_second_node_keeps_out(days: Nodes) -> None:
    second = subprocess.run(
        [sys.executable, "-m", "parties.cli", "node", "--config", "party.toml"],
        cwd=days.b.directory,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert second.returncode == 2
    assert "in use by another node" in second.stderr
    assert days.b.client.node().connected


def test_a_node_refuses_changed_records(days: Nodes) -> None:
    days.b.stop()
    with sqlite3.connect(days.b.directory / "state" / "node.sqlite") as database:
        database.execute("DROP TRIGGER audit_no_update")
        database.execute("UPDATE audit SET kind = 'connected' WHERE number = 1")
    database.close()
    (days.b.directory / "log").write_text("")
    days.b.start()
    assert days.b.process is not None
    assert days.b.process.wait(60) == 2
    assert "not whole" in days.b.log().splitlines()[-1]


def test_rows_that_changed_end_the_job_with_a_reason(nodes: Nodes) -> None:
    """A job that was cut short does not go on with other rows; both sides see that it failed, one sees why."""
    big, text = _random_table(7, 600)
    nodes.furnish(big, text, more=("", RESEARCH), link='emulate = "8mbit,5ms"')
    nodes.start()
    identifier = submit(nodes.a, purpose="research")
    eventually(lambda: (progress := job(nodes.b, identifier).progress) is not None and progress.depth >= 1)
    nodes.b.kill()
    with (nodes.b.directory / "rows.csv").open("a") as rows:
        rows.write(nodes.b.directory.joinpath("rows.csv").read_text().splitlines()[1] + "\n")
    nodes.b.start()
    left, right = nodes.finished(identifier)
    assert left.state == right.state == "failed"
    assert "rows have changed" in right.why
    assert left.why == "b: an error in its own input"


def _random_table(seed: int, rows: int) -> tuple[tuple[str, str], str]:
    """Two parties' CSV files of one random table, and its schema."""
    chosen = random.Random(seed)
    names = [f"x{i}" for i in range(5)]
    lines = [[str(chosen.randrange(3)) for _ in names] + [chosen.choice("pq")] for _ in range(rows)]
    head = ",".join([*names, "y"])
    halves = ["\n".join([head, *(",".join(line) for line in lines[part::2])]) + "\n" for part in (0, 1)]
    text = (
        'target = "y"\n[attributes]\n' + "".join(f'{name} = ["0", "1", "2"]\n' for name in names) + 'y = ["p", "q"]\n'
    )
    return (halves[0], halves[1]), text


@pytest.mark.parametrize("kills", [4, pytest.param(10, marks=pytest.mark.campaign)])
def test_killed_at_random_moments(nodes: Nodes, shared: Path, kills: int) -> None:
    """kill -9 of either node while a job runs: it completes, with the tree of an uninterrupted run, records whole.

    The link is emulated so that the job lasts; the moments are drawn from the system's randomness.
    """
    with (shared / "data" / "car.csv").open() as stream:
        header, *lines = stream.read().splitlines()
    agreed = schema.propose(shared / "data" / "car.csv", "class").schema
    agreed.save(nodes.directory / "car.toml")
    halves = tuple("\n".join([header, *lines[part::2]]) + "\n" for part in (0, 1))
    nodes.furnish(halves, (nodes.directory / "car.toml").read_text(), ("", RESEARCH), 'emulate = "30mbit,10ms"')
    nodes.start()
    identifier = submit(nodes.a, purpose="research", min_rows=0)
    chosen = random.SystemRandom()
    done = 0
    for _ in range(kills):
        time.sleep(chosen.uniform(0.1, 2.0))
        if job(nodes.a, identifier).state == "done":
            break
        victim = chosen.choice([nodes.a, nodes.b])
        victim.kill()
        victim.start()
        nodes.await_both()
        done += 1
    left, right = nodes.finished(identifier)
    assert left.state == right.state == "done", (left.why, right.why)
    assert done == kills, "the job was too quick to be killed that often"
    trees = [node.client.result(identifier).tree["tree"] for node in (nodes.a, nodes.b)]
    assert trees[0] == trees[1] == clear_tree(nodes)
    for node in (nodes.a, nodes.b):
        assert verified(node)["ok"]
        entries = node.client.audit(1000)
        assert sum(entry.kind == "node started" for entry in entries) >= 1
        decided = 0
        for entry in reversed(entries):  # each level once a session, and no session begins more than one level back
            if entry.kind == "started":
                assert entry.fields["depth"] in (decided - 1, decided)
                decided = entry.fields["depth"]
            if entry.kind == "opened":
                assert entry.fields["depth"] == decided
                decided += 1
