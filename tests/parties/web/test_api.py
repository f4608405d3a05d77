"""The JSON API in one process: who may call it, what it takes, what it answers."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from parties.models.trees.tree import MAX_DEPTH
from parties.operator.interface import JobView
from parties.web import api
from smc.errors import InputError
from tests.support.api_server import KEY
from tests.support.fake_node import NOON, FakeNode, deep_tree

A, B = "a" * 32, "b" * 32
AUTHORIZED = {"Authorization": f"Bearer {KEY}"}


@pytest.fixture
def node() -> FakeNode:
    node = FakeNode(NOON)
    node.add(A)
    node.add(B, state="done")
    return node


@pytest.fixture
def client(node: FakeNode) -> Iterator[TestClient]:
    links = iter(range(100))
    app = Starlette(routes=api.routes(node, KEY, lambda: f"http://127.0.0.1:7080/login?token={next(links)}"))
    with TestClient(app, base_url="http://127.0.0.1:7080", headers=AUTHORIZED) as client:
        yield client


def test_every_call_of_the_operator_has_its_path(client: TestClient, node: FakeNode) -> None:
    def get(path: str) -> Any:
        answer = client.get(path)
        assert answer.status_code == 200
        assert answer.headers["cache-control"] == "no-store"
        return answer.json()

    assert get("/api/node")["name"] == "hospital"
    assert [job["id"] for job in get("/api/jobs")] == [B, A]
    assert JobView.model_validate(get("/api/jobs/aaaa")) == node.known[A]
    assert get("/api/jobs/bbbb/result")["opened"]["class of a leaf"] == 9
    assert get("/api/audit")[0]["number"] == 2
    assert get("/api/audit?last=5&before=40")[0]["kind"] == "proposed"
    assert node.asked == [(100, None), (5, 40)]
    node.tamper(1, by="us")
    assert get("/api/audit/state")["ok"] is False

    proposed = client.post("/api/jobs", json={"table": "patients", "tolerance": 0.01})
    assert (proposed.status_code, proposed.json()["proposed_by"]) == (201, "us")
    assert node.submitted == [{"table": "patients", "tolerance": 0.01}]
    assert client.post("/api/jobs/aaaa/approve").json()["state"] == "queued"
    assert client.post("/api/jobs/aaaa/cancel", json={"why": "späť"}).json()["why"] == "späť"
    node.add(A)
    assert client.post(f"/api/jobs/{A}/refuse", json={"why": "no"}).json()["ours"]["reason"] == "no"
    assert [one["budget"] for one in get("/api/budget")] == [4, None]
    assert get("/api/budget?group=4")[0]["now"]["epsilon"] == 4 * get("/api/budget")[0]["now"]["epsilon"]
    simulated = [client.post("/api/budget/simulate", json={"epsilon": e}).json()["refused"] for e in (1.0, 3.0)]
    assert simulated == [False, True]
    assert get("/api/budget/register")["entry"] == {"party": "clinic-a"}
    assert [client.post("/api/login").json()["url"][-1] for _ in range(2)] == ["0", "1"]


def test_a_reason_may_be_left_out_of_cancel_only(client: TestClient) -> None:
    assert client.post("/api/jobs/aaaa/refuse").status_code == 400
    assert client.post("/api/jobs/aaaa/cancel").json()["state"] == "cancelled"


@pytest.mark.parametrize("path", ["/api/node", "/api/jobs", "/api/nothing", "/api/login"])
@pytest.mark.parametrize("key", ["", "Bearer ", "Bearer wrong", KEY, f"Basic {KEY}", f"Bearer {KEY}é"])
def test_nothing_is_told_without_the_key(node: FakeNode, path: str, key: str) -> None:
    app = Starlette(routes=api.routes(node, KEY, lambda: pytest.fail("a link was made")))
    with TestClient(app, base_url="http://localhost") as client:
        for method in ("GET", "POST"):
            answer = client.request(method, path, headers={"Authorization": key.encode()} if key else {})
            assert answer.status_code == 401
            assert "api.json" in answer.json()["error"]


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:7080", "127.0.0.1", "127.0.0.1:1", "127.3.2.1", "[::1]", "[::1]:7080"]
)
def test_names_of_this_machine_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/api/node", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost.evil.example",
        "evil.example:7080",
        "127.0.0.1.evil",
        "x@localhost",
        "10.0.0.1",
        "::1",
        "",
    ],
)
def test_other_names_are_refused(client: TestClient, host: str) -> None:
    answer = client.get("/api/node", headers={"Host": host})
    assert answer.status_code == 403
    assert "this machine" in answer.json()["error"]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"{", "not valid JSON"),
        (b"\xff\xfe{", "not valid JSON"),
        (b'{"table": "\\ud800"}', "not valid JSON"),
        (b"[" * 60_000, "not valid JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not valid JSON"),
        (b"[]", "must be a JSON object"),
        (b"null", "must be a JSON object"),
        (b'"table"', "must be a JSON object"),
        (b"", "table is missing"),
        (b"{}", "table is missing"),
    ],
)
def test_what_is_no_object_is_refused(client: TestClient, node: FakeNode, body: bytes, reason: str) -> None:
    answer = client.post("/api/jobs", content=body)
    assert answer.status_code == 400
    assert reason in answer.json()["error"]
    assert not node.submitted


@pytest.mark.parametrize("body", [{}, {"why": None}, {"why": 3}, {"reason": "x"}, {"why": "x", "more": 1}])
def test_a_refusal_is_a_reason_and_nothing_else(client: TestClient, node: FakeNode, body: dict[str, Any]) -> None:
    assert client.post("/api/jobs/aaaa/refuse", json=body).status_code == 400
    assert node.known[A].state == "waiting"


def test_a_body_is_bounded(client: TestClient, node: FakeNode) -> None:
    def sized(size: int) -> bytes:
        frame = len(json.dumps({"table": "patients", "purpose": ""}))
        return json.dumps({"table": "patients", "purpose": "x" * (size - frame)}).encode()

    assert client.post("/api/jobs", content=sized(api.MAX_BODY)).status_code == 201
    for body in (sized(api.MAX_BODY + 1), iter([sized(api.MAX_BODY), b" "])):  # declared, and in pieces
        answer = client.post("/api/jobs", content=body)
        assert (answer.status_code, answer.json()) == (413, {"error": "the request has more than 64 KiB"})
    assert len(node.submitted) == 1


@pytest.mark.parametrize(
    "query", ["last=0", "last=1001", "last=-1", "last=x", "last=", "before=-1", "before=1e3", "before=" + "9" * 30]
)
def test_bad_numbers_are_refused(client: TestClient, node: FakeNode, query: str) -> None:
    answer = client.get(f"/api/audit?{query}")
    assert answer.status_code == 400
    assert query.split("=")[0] in answer.json()["error"]
    assert not node.asked


@pytest.mark.parametrize("path", ["jobs/aaaa", "changes"])
@pytest.mark.parametrize("wait", ["x", "", "-1", "1e-3", "nan", "1.1", "99999"])
def test_nobody_waits_longer_than_a_thread_may_be_kept(client: TestClient, path: str, wait: str) -> None:
    answer = client.get(f"/api/{path}?wait={wait}")
    assert (answer.status_code, answer.json()) == (400, {"error": "wait: must be a number of seconds from 0 to 1"})
    assert client.get(f"/api/{path}?wait=0.125").status_code == 200


def test_what_is_not_there(client: TestClient) -> None:
    assert client.get("/api/jobs/ffff").json() == {"error": "there is no job 'ffff'"}
    assert client.get("/api/jobs/ffff").status_code == 400
    for path in ("/api/nothing", "/api/jobs/a/b/c", "/api/jobs/aaaa/approve/now"):
        answer = client.post(path)
        assert (answer.status_code, answer.json()) == (404, {"error": "there is no such path"})
    wrong = client.get("/api/jobs/aaaa/approve")
    assert (wrong.status_code, wrong.json()) == (405, {"error": "Method Not Allowed"})


def test_a_bug_tells_nothing_but_is_logged(
    client: TestClient, node: FakeNode, caplog: pytest.LogCaptureFixture
) -> None:
    node.failing = RuntimeError("the password is hunter2")
    with caplog.at_level(logging.ERROR):
        answer = client.get("/api/node")
    assert (answer.status_code, answer.json()) == (500, {"error": "internal error"})
    assert "hunter2" in caplog.text
    assert "GET /api/node failed" in caplog.text


def test_calls_do_not_block_the_loop(client: TestClient, node: FakeNode) -> None:
    assert client.get("/api/node").status_code == 200
    (thread,) = node.threads
    assert "worker" in thread


def test_the_deepest_tree_is_told(client: TestClient, node: FakeNode) -> None:
    node.finish(B, deep_tree())
    seen = client.get("/api/jobs/bbbb/result").json()["document"]["tree"]
    for _ in range(MAX_DEPTH):
        seen = seen["branches"]["yes"]
    assert seen == {"class": "yes"}


def test_an_error_is_one_line(client: TestClient, node: FakeNode) -> None:
    node.failing = InputError("first\n  second\x1b[2J")
    assert client.get("/api/node").json() == {"error": "first second\x1b[2J"}
