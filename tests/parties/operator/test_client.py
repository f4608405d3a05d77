"""`NodeClient` against a real server with a node that only pretends, and against others."""

from __future__ import annotations

import inspect
import os
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from parties.models.trees.tree import MAX_DEPTH
from parties.operator import client, starting
from parties.operator.client import NodeClient
from parties.operator.interface import ENDED, JobView, Operator
from parties.operator.starting import Starting
from parties.party_file import state_directory
from smc.errors import InputError, LinkError
from tests.support.api_server import KEY, LINK, application, serving, write_access
from tests.support.fake_node import APPROVED, NOON, FakeNode, deep_tree, progress
from tests.support.waiting import PATIENCE

A, B, C = "a1b2" + "0" * 28, "a1c3" + "1" * 28, "c" * 32


@dataclass
class Party:
    """A node, its URL, the directory it is started in, and a client for it."""

    node: FakeNode
    url: str
    directory: Path
    client: NodeClient


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[FakeNode, str]]:
    node = FakeNode(NOON)
    with serving(application(node)) as url:
        yield node, url


@pytest.fixture
def party(server: tuple[FakeNode, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Party:
    monkeypatch.setattr(client, "LONGEST_WAIT_SECONDS", 0.01)
    node, url = server
    node.clear()
    node.add(A)
    node.add(B, state="done")
    node.add(C, state="queued", proposed_by="us")
    make_directory(tmp_path)
    write_access(tmp_path / "var", url)
    return Party(node, url, tmp_path, NodeClient.from_config(tmp_path / "party.toml", timeout=PATIENCE))


def make_directory(path: Path) -> Path:
    (path / "var").mkdir()
    (path / "party.toml").write_text('[node]\nstate = "var"\n')
    return path


def test_the_client_offers_what_the_node_does() -> None:
    for name, call in inspect.getmembers(Operator, inspect.isfunction):
        if not name.startswith("_"):
            assert inspect.signature(getattr(NodeClient, name)) == inspect.signature(call)


def test_what_is_typed_goes_to_no_other_users_program(party: Party, monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that was killed leaves `api.json`; whoever takes its port is told nothing."""
    users = {os.geteuid(), 4711}
    monkeypatch.setattr(client, "owners", lambda _: users)
    for call in (lambda: party.client.submit({"protocol": "millionaires", "value": 7}), party.client.login):
        with pytest.raises(LinkError, match=r"^no node is running here: .*another user's program listens at http://"):
            call()
    assert party.node.submitted == []
    users.remove(4711)
    assert party.client.login() == LINK


def test_a_job_is_asked_for_soon_after_a_new_state_and_then_ever_less_often(
    party: Party, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node is to answer when the job has ended. One where too many wait answers at once: then it is left alone."""
    waits, pauses, now = [], [], [1.0]
    states = iter([*["waiting"] * 12, *["running"] * 3, "done"])

    def job(_: NodeClient, identifier: str, wait: float = 0.0) -> JobView:
        waits.append(wait)
        now[0] += 0.25 * wait
        return party.node.known[A].model_copy(update={"state": next(states)})

    monkeypatch.setattr(client, "LONGEST_WAIT_SECONDS", 0.5)
    monkeypatch.setattr(client.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(client.time, "sleep", pauses.append)
    monkeypatch.setattr(NodeClient, "job", job)
    assert party.client.wait("a1b2").state == "done"
    longer = [0.1 * 1.25**place for place in range(8)]
    assert waits == pytest.approx([0.0, *longer, *[0.5] * 4, *longer[:3]])
    assert pauses == pytest.approx([0.75 * wait for wait in waits[1:-1]])


def test_every_call_reaches_the_node(party: Party) -> None:
    asked, node = party.client, party.node
    assert asked.node() == node.node()
    assert asked.jobs() == node.jobs()
    assert asked.job("A1B2") == node.known[A]
    assert asked.submit({"table": "visits", "deep": {"x": [1, 2.5, None]}}).table == "visits"
    assert node.submitted == [{"table": "visits", "deep": {"x": [1, 2.5, None]}}]
    assert asked.approve(A).state == "queued"
    assert asked.cancel(A, "wrong").why == "wrong"
    node.add(A)
    assert asked.refuse(A, "späť").ours.reason == "späť"
    assert asked.result(B) == node.result(B)
    assert asked.audit(5, before=3) == node.audit(5, before=3)
    assert asked.audit() == node.audit()
    assert node.asked == 2 * [(5, 3)] + 2 * [(100, None)]
    assert asked.verify() == node.verify()
    assert asked.login() == LINK


def test_the_deepest_tree_arrives(party: Party) -> None:
    party.node.finish(B, deep_tree())
    seen = party.client.result(B).tree["tree"]
    for _ in range(MAX_DEPTH):
        seen = seen["branches"]["yes"]
    assert seen == {"class": "yes"}


def test_what_the_node_says_is_wrong_is_the_callers_error(party: Party) -> None:
    asked = party.client
    for call, message in (
        (lambda: asked.submit({}), "table is missing"),
        (lambda: asked.job("ffff"), "is no job"),
        (lambda: asked.job(A[:2] * 2), "is no job"),
        (lambda: asked.submit({"table": "x" * 70_000}), "64 KiB"),
        (lambda: asked.refuse(A, "\udcff"), "not valid JSON"),
        (lambda: asked.audit(0), "last"),
    ):
        with pytest.raises(InputError, match=message):
            call()


@pytest.mark.parametrize("identifier", ["", "abc", "../node", "abcd/approve", "abcg", "a" * 33, "abcd\n", "１２３４"])
def test_what_names_no_job_is_not_asked(tmp_path: Path, identifier: str) -> None:
    with pytest.raises(InputError, match="at least 4"):
        NodeClient(tmp_path).job(identifier)


def test_the_node_is_found_again_after_a_restart(party: Party) -> None:
    asked, state = party.client, party.directory / "var"
    with serving(application(FakeNode())) as url:
        write_access(state, url)
        assert asked.jobs() == []
    with pytest.raises(LinkError, match="no node is running here"):
        asked.jobs()
    write_access(state, party.url)
    assert len(asked.jobs()) == 3


def test_no_proxy_is_asked(party: Party, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert len(party.client.jobs()) == 3


@pytest.mark.parametrize(
    "content",
    [None, "", "{", "[]", '{"url": "x"}', '{"url": "ftp://h", "key": "k"}', '{"url": "http://h", "key": "a\\nb"}'],
)
def test_without_a_node_it_is_said_how_to_start_one(tmp_path: Path, content: str | None) -> None:
    directory = make_directory(tmp_path)
    if content is not None:
        (directory / "var/api.json").write_text(content)
    with pytest.raises(LinkError, match=r"no node is running here: start it with smc node --config .*party\.toml"):
        NodeClient.from_config(directory / "party.toml").jobs()


def test_a_node_that_has_gone_is_no_node(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    write_access(tmp_path, f"http://127.0.0.1:{port}")
    with pytest.raises(LinkError, match=rf"no node is running here.*nothing answers at http://127\.0\.0\.1:{port}"):
        NodeClient(tmp_path).jobs()


def test_a_node_that_is_starting_is_waited_for(party: Party) -> None:
    """With each step that it tells, whether the last one left `api.json` or not."""
    state, told = party.directory / "var", []
    (state / "api.json").unlink()
    mark = Starting(state)

    def on_start(step: str) -> None:
        told.append(step)
        if step == "starting":
            mark.tell("compiling the inner loops", 1, 2)
        else:
            write_access(state, party.url)
            mark.over()

    assert len(NodeClient(state, on_start=on_start).jobs()) == 3
    assert told == ["starting", "compiling the inner loops, 1 of 2 done"]
    assert not (state / "starting").exists()


def test_the_mark_of_a_start_that_was_killed_is_none(tmp_path: Path) -> None:
    (tmp_path / "starting").write_text('["compiling the inner loops", 1, 2]')
    with pytest.raises(LinkError, match="no node is running here"):
        NodeClient(tmp_path).jobs()
    mark = Starting(tmp_path)
    assert starting.step(tmp_path) == "starting"
    mark.over()
    mark.over()
    assert starting.step(tmp_path) is None


def test_a_silent_node_is_not_waited_for_without_end(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        write_access(tmp_path, f"http://127.0.0.1:{listener.getsockname()[1]}")
        with pytest.raises(LinkError, match=r"has not answered for 0\.2 s"):
            NodeClient(tmp_path, timeout=0.2).jobs()


def test_a_key_of_another_node(party: Party) -> None:
    write_access(party.directory / "var", party.url, KEY + "x")
    with pytest.raises(LinkError, match=r"does not accept the key in .*var/api\.json"):
        party.client.jobs()


@pytest.mark.parametrize("broken", [ValueError("secret"), KeyError("secret")])
def test_a_bug_in_the_node(party: Party, broken: Exception) -> None:
    party.node.failing = broken
    with pytest.raises(LinkError, match="internal error; its log says more"):
        party.client.node()


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ("<h1>hello</h1>", 200, "sent an unknown answer"),
        ("[{}]", 200, "sent an unknown answer"),
        ("[" * 100_000, 200, "sent an unknown answer"),
        ("<h1>hello</h1>", 404, "is not a node of smc"),
        ('{"error": 3}', 400, "is not a node of smc"),
        ('{"error": "there is no such \\u001b path"}', 404, r"failed: there is no such \\x1b path"),
        ('{"error": "so \\u001b[2J not"}', 400, r"so \\x1b\[2J not"),
    ],
)
def test_whoever_else_answers(tmp_path: Path, body: str, status: int, message: str) -> None:
    app = Starlette(routes=[Route("/api/jobs", lambda request: PlainTextResponse(body, status))])
    with serving(app) as url:
        write_access(tmp_path, url)
        with pytest.raises(InputError if status == 400 and "so" in body else LinkError, match=message):
            NodeClient(tmp_path).jobs()


def test_who_breaks_off(tmp_path: Path) -> None:
    async def cut(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"10")]})
        await send({"type": "http.response.body", "body": b"[", "more_body": False})

    with serving(cut) as url:
        write_access(tmp_path, url)
        with pytest.raises(LinkError, match="broke off"):
            NodeClient(tmp_path).jobs()


def test_waiting_reports_each_change_once(party: Party) -> None:
    running = {"state": "running", "ours": APPROVED}
    party.node.script = [{}, {}, running, running, {"progress": progress(1, 2)}, {"state": "done", "progress": None}]
    seen: list[JobView] = []
    done = party.client.wait("a1b2", on_change=seen.append)
    assert [job.state for job in seen] == ["waiting", "running", "running", "done"]
    assert done == seen[-1] == party.node.known[A]


@pytest.mark.parametrize("state", ENDED)
def test_a_job_that_has_ended_is_not_waited_for(party: Party, state: str) -> None:
    party.node.add(A, state=state)
    assert party.client.wait(A).state == state


@pytest.mark.parametrize("timeout", [0.0, 0.05])
def test_waiting_may_end_before_the_job(party: Party, timeout: float) -> None:
    assert party.client.wait(A, timeout=timeout).state == "waiting"


def test_where_the_state_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "party.toml"

    def of(text: str) -> Path:
        file.write_text(text)
        return state_directory(file)

    monkeypatch.setenv("HOME", "/home/somebody")
    assert of("") == of("[node]\n") == tmp_path / "state"
    assert of('[node]\nstate = "../there"') == tmp_path / "../there"
    assert of('[node]\nstate = "/var/lib/smc"') == Path("/var/lib/smc")
    assert of('[node]\nstate = "~/smc"') == Path("/home/somebody/smc")
    for text in ("node = 3", "[node]\nstate = 3", '[node]\nstate = ""'):
        with pytest.raises(InputError, match=r"party\.toml: node\.state"):
            of(text)
