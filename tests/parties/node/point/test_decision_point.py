"""The decision point over real HTTPS: each kind of answer, and each way in which there is none."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from parties.link.identity import Identity
from parties.node.point import decision_point, xacml
from parties.node.point.decision_point import DecisionPoint
from parties.node.point.settings import DecisionSettings
from smc.errors import InputError
from tests.support.decision_points import PointServer, response
from tests.support.policies import request


@pytest.fixture
def server(identities: dict[str, Identity]) -> Iterator[PointServer]:
    """Mallory's certificate is for localhost."""
    made = PointServer(identities["mallory"])
    yield made
    made.close()


def point_of(server: PointServer, identities: dict[str, Identity], **fields: Any) -> DecisionPoint:
    given = {"url": server.url, "ca": identities["mallory"].certificate_path, "seconds": 5.0, **fields}
    return DecisionPoint(
        DecisionSettings.model_construct(**{"certificate": None, "key": None, "token_file": None, **given})
    )


def test_what_is_sent_and_answered(server: PointServer, identities: dict[str, Identity], tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\nand a remark")
    (tmp_path / "token").chmod(0o640)
    point = point_of(server, identities, token_file=tmp_path / "token")
    assert "token can be read by other users" in point.ask(request(runs_today=9)).reason
    assert server.got == []
    (tmp_path / "token").chmod(0o600)
    assert point.ask(request()).permits
    ((sent, headers),) = server.got
    assert sent == xacml.document(request())
    assert headers["content-type"] == headers["accept"] == "application/xacml+json"
    assert headers["authorization"] == "Bearer secret"
    for number, decision in enumerate(["Deny", "NotApplicable", "Indeterminate"], start=10):
        server.body = response(decision, Status={"StatusMessage": "not today"})
        word = point.ask(request(runs_today=number))
        assert (word.decision, word.reason, word.permits) == (decision, "not today", False)


def drip(server: PointServer) -> None:
    """Each byte comes in time, the last one does not."""
    server.drips = 0.05


NOTHING: list[tuple[Callable[[PointServer], object], str]] = [
    (lambda server: setattr(server, "status", 403), "the server answers 403"),
    (lambda server: setattr(server, "status", 302), "the server answers 302"),
    (lambda server: setattr(server, "status", 201), "the server answers 201"),
    (lambda server: setattr(server, "body", b"<html>"), "the answer is not JSON"),
    (lambda server: setattr(server, "body", b" " * (1 << 20)), "the answer has more than 64 KiB"),
    (lambda server: setattr(server, "before", lambda: time.sleep(1.5)), "no answer in time"),
    (drip, "no answer in time"),
    (lambda server: server.close(), "Connection refused"),
]


@pytest.mark.parametrize(("break_", "why"), NOTHING)
def test_no_answer(
    server: PointServer, identities: dict[str, Identity], break_: Callable[[PointServer], object], why: str
) -> None:
    point = point_of(server, identities, seconds=0.4 if "time" in why else 5.0)
    break_(server)
    word = point.ask(request())
    assert (word.decision, word.reason, word.permits) == (None, why, False)
    server.drips = 0.0


def test_a_late_answer_touches_no_other_file(
    server: PointServer, identities: dict[str, Identity], tmp_path: Path
) -> None:
    """What is opened once nobody waits any more has the lowest free number: the connection's, if that was closed."""
    point, path, text = point_of(server, identities, seconds=0.3), tmp_path / "records", b"s" * 100
    drip(server)
    assert point.ask(request()).reason == "no answer in time"
    path.write_bytes(text)
    opened = [os.open(path, os.O_RDWR) for _ in range(8)]
    time.sleep(0.3)  # six bytes more
    places = {os.lseek(number, 0, os.SEEK_CUR) for number in opened}
    for number in opened:
        os.close(number)
    server.drips = 0.0
    assert (path.read_bytes(), places) == (text, {0})


def test_who_is_trusted(server: PointServer, identities: dict[str, Identity]) -> None:
    """The server's own certificate is a pin; another one, or another name, is not asked."""
    word = point_of(server, identities, ca=identities["alice"].certificate_path).ask(request())
    assert word.reason.startswith("the server's certificate is not trusted")
    assert server.got == []
    other = PointServer(identities["bob"])
    word = point_of(other, identities, ca=identities["bob"].certificate_path).ask(request())
    assert "Hostname mismatch" in word.reason
    assert other.got == []
    other.close()


def test_the_node_s_own_certificate_is_shown(identities: dict[str, Identity]) -> None:
    alice, server = identities["alice"], PointServer(identities["mallory"], client=identities["alice"])
    try:
        assert point_of(server, identities).ask(request()).decision is None
        own = {"certificate": alice.certificate_path, "key": alice.key_path}
        assert point_of(server, identities, **own).ask(request()).permits
    finally:
        server.close()


def test_the_same_request_is_remembered_for_a_while(
    server: PointServer, identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr(decision_point.time, "monotonic", lambda: now[0])
    point = point_of(server, identities)
    assert point.ask(request()).permits
    server.body = response("Deny")
    now[0] += 9.9
    assert point.ask(request()).permits
    assert not point.ask(request(runs_today=7)).permits
    now[0] += 0.2
    assert not point.ask(request()).permits
    assert len(server.got) == 3
    server.status = 500
    now[0] += 60
    assert point.ask(request()).decision is None
    server.status, server.body = 200, response("Permit")
    assert point.ask(request()).decision is None, "it would be asked at once again and again"
    now[0] += 4.9
    assert point.ask(request()).decision is None
    now[0] += 0.2
    assert point.ask(request()).permits


def test_one_asking_at_a_time(server: PointServer, identities: dict[str, Identity]) -> None:
    """Ten that ask at once: none beside another; the same question is asked once."""
    under_way, most = [0], [0]
    counting = threading.Lock()

    def before() -> None:
        with counting:
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
        time.sleep(0.02)
        with counting:
            under_way[0] -= 1

    server.before = before
    point, words = point_of(server, identities, seconds=10.0), []
    threads = [
        threading.Thread(target=lambda n=n: words.append(point.ask(request(runs_today=n % 5)))) for n in range(10)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(word.permits for word in words)
    assert len(words) == 10
    assert (most[0], len(server.got)) == (1, 5)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"url": "http://pdp.example"}, "must be an https:// address"),
        ({"url": "https://user:word@pdp.example"}, "no user or password in an address: token_file names"),
        ({"url": "https://pdp.example/authorize#part"}, "the part after # of an address is never sent"),
        ({"url": "https://pdp.example", "seconds": 11}, "less than or equal to 10"),
        ({"url": "https://pdp.example", "seconds": 0}, "greater than 0"),
        ({"url": "https://pdp.example", "key": "a"}, "certificate and key go together"),
        ({"url": "https://pdp.example", "certificate": "a"}, "certificate and key go together"),
        ({}, "url"),
    ],
)
def test_settings_that_are_wrong(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        DecisionSettings.model_validate(fields)


def test_settings_that_are_right() -> None:
    """What docs/policy-points.md names; ours is shown only if both parts of it are there."""
    found = DecisionSettings.model_validate({"url": "https://pdp.example"})
    assert (found.seconds, found.certificate, found.key, found.token_file) == (2.0, None, None, None)
    found = DecisionSettings.model_validate(
        {"url": "https://pdp.example", "certificate": "a", "key": "b", "seconds": 10}
    )
    assert (found.certificate, found.key, found.seconds) == (Path("a"), Path("b"), 10)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none: not a file of certificates"):
        DecisionPoint(DecisionSettings(url="https://localhost:1", ca=tmp_path / "none"))
