"""Whom a question through the node answers, and whom it asks: by a node that only pretends."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typing_extensions import override

from parties.cli import run
from parties.commands import through_node
from parties.jobs.kind import shown_parameters
from parties.jobs.kinds.millionaires import Millionaires
from parties.jobs.small.amounts import AmountSettings
from parties.operator import client
from parties.operator.interface import Asked, JobResult, JobView
from smc.errors import InputError, JobMismatchError, LinkError
from tests.support.fake_node import APPROVED, NOON, WAITING, FakeNode

VALUE = Asked(name="value", title="Own number", help="private")
EARLY, LATE = "0" * 32, "f" * 32  # before and behind what the fake node calls its own


class Node(FakeNode):
    """Jobs ask who has more; those with our consent are done as soon as they are followed."""

    comes: Callable[[], object] = staticmethod(lambda: None)  # what happens right after we have asked

    @override
    def add(self, identifier: str = "", **fields: Any) -> JobView:
        public = shown_parameters(Millionaires(AmountSettings(value=1, bits=fields.pop("bits", 32))))
        usual = {"protocol": "millionaires", "parameters": public, "asked": [VALUE]}
        return super().add(identifier, **usual | fields)

    @override
    def submit(self, job: dict[str, Any]) -> JobView:
        asked = self.change(super().submit(job).id, asked=[])
        self.comes()
        return asked

    @override
    def approve(self, identifier: str, typed: dict[str, Any] | None = None) -> JobView:
        if self.known[identifier].state != "queued":
            return super().approve(identifier, typed)
        self.typed = typed
        return self.change(identifier, asked=[])

    def follow(self, job: JobView, on_change: object) -> JobView:
        assert self.known[job.id].state == "queued"
        return self.finish(job.id)

    @override
    def result(self, identifier: str) -> JobResult:
        return super().result(identifier).model_copy(update={"id": identifier})


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Node:
    made = Node(NOON)
    monkeypatch.setattr(through_node, "node_of", lambda *_: made)
    return made


def ask(peer: str = "", purpose: str | None = None, bits: int = 32) -> str:
    settings = AmountSettings(value=7, bits=bits)
    return through_node.ask(Millionaires(settings), settings, None, peer, purpose, wait=0.03).id


@pytest.mark.parametrize(
    ("words", "typed"),
    [
        (["millionaires", "--value", "7"], {"value": 7}),
        (["equality", "--value", "7"], {"value": 7}),
        (["majority", "--classes", "a,b", "--counts", "1,2"], {"counts": "1,2"}),
    ],
)
def test_the_node_is_told_what_was_typed(
    node: Node, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: list[str], typed: dict[str, Any]
) -> None:
    jobs: list[dict[str, Any]] = []
    monkeypatch.setattr(node, "submit", lambda job: jobs.append(job) or node.cancel(EARLY))
    monkeypatch.chdir(tmp_path)
    assert run([words[0], "--node", *words[1:]]) == 2
    assert jobs[0].items() >= typed.items()


@pytest.mark.parametrize("peer", ["", "university"])
@pytest.mark.parametrize("by_rule", [False, True])
def test_who_was_asked_the_same_answers_the_oldest(node: Node, peer: str, by_rule: bool) -> None:
    """A rule may have consented to it: then it waits for the number alone."""
    state = {"state": "queued", "ours": APPROVED} if by_rule else {}
    first, _ = node.add(LATE, **state), node.add(EARLY, **state)
    assert ask(peer) == first.id
    assert (node.typed, node.submitted) == ({"value": 7}, [])


@pytest.mark.parametrize(
    "other",
    [
        {"bits": 16},
        {"protocol": "equality"},
        {"peer": "hospital"},
        {"state": "refused"},
        {"state": "queued", "ours": APPROVED, "asked": []},
        {"proposed_by": "us", "ours": APPROVED, "theirs": WAITING, "asked": []},
    ],
)
def test_nobody_else_is_answered(node: Node, other: dict[str, Any]) -> None:
    there = node.add(EARLY, **other)
    with pytest.raises(LinkError, match=r"university has not answered within 0\.03 s"):
        ask("university", "beds")
    (own,) = (job for job in node.known.values() if job.id != EARLY)
    assert (own.state, node.known[EARLY], node.typed) == ("cancelled", there, None)
    assert node.submitted == [
        {"protocol": "millionaires", "peer": "university", "purpose": "beds", "bits": 32, "value": 7}
    ]


def test_of_two_who_ask_at_once_the_first_by_its_digits_stays(node: Node) -> None:
    node.comes = lambda: node.add(EARLY)
    assert ask() == EARLY
    (own,) = (job for job in node.known.values() if job.id != EARLY)
    assert (own.state, own.why, node.typed) == ("cancelled", through_node.THE_SAME, {"value": 7})
    node.clear()
    node.comes = lambda: node.add(LATE)
    with pytest.raises(LinkError):
        ask()
    assert (node.known[LATE].state, node.typed) == ("waiting", None)


def test_nothing_waits_once_our_job_is_decided(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses = list[float]()
    for module in (through_node, client):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 0.0, sleep=pauses.append))
    node.comes = lambda: [node.finish(identifier) for identifier in list(node.known)]
    monkeypatch.setattr(node, "follow", lambda job, on_change: job)
    assert ask() in node.known
    assert pauses == []


def test_of_several_peers_one_must_be_named(node: Node) -> None:
    """Or whoever asks first, of all whom the node knows, would have the answer."""
    node.peers.append("hospital")
    node.add(EARLY, peer="hospital")
    with pytest.raises(InputError, match="there are several peers; name one: 'university', 'hospital'"):
        ask()
    assert (node.typed, node.submitted) == (None, [])
    assert ask("hospital") == EARLY


def test_what_has_begun_is_not_begun_again(node: Node) -> None:
    """The peer has consented to our job and asked the same: the number goes into one of them."""

    def both() -> None:
        (own,) = node.known.values()
        node.add(EARLY)
        node.change(own.id, state="running", theirs=APPROVED)

    node.comes = both
    node.follow = lambda job, on_change: node.finish(job.id)  # type: ignore[method-assign]
    assert ask() != EARLY
    assert (node.known[EARLY].state, node.typed) == ("waiting", None)


def test_what_begins_while_it_is_taken_back_is_the_only_answer(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """The peer consents to our job between our look at it and its cancelling: it may know what that has opened."""
    cancel = node.cancel

    def late(identifier: str, why: str = "") -> JobView:
        node.change(identifier, state="running", theirs=APPROVED, begun=True)
        return cancel(identifier, why)

    monkeypatch.setattr(node, "cancel", late)
    node.comes = lambda: node.add(EARLY)
    with pytest.raises(InputError, match="university has proposed the same job, and your own had begun already"):
        ask()
    assert (node.known[EARLY].state, node.typed) == ("waiting", None)


def test_a_peer_that_always_does_something_keeps_nobody_waiting(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    changes = count()
    monkeypatch.setattr(node, "changes", lambda since, wait: str(next(changes)))
    with pytest.raises(LinkError, match="has not answered"):
        ask()


def test_a_refusal_ends_it(node: Node) -> None:
    node.comes = lambda: _refuse(node)
    with pytest.raises(JobMismatchError):
        ask()


def _refuse(node: Node) -> None:
    for job in list(node.known.values()):
        node.change(job.id, state="refused", why="no", ended_by="peer")
    node.follow = lambda job, on_change: node.known[job.id]  # type: ignore[method-assign]


def test_what_the_node_refuses_is_told(node: Node) -> None:
    node.trouble = "a rule denies it"
    with pytest.raises(InputError, match="a rule denies it"):
        ask()


@pytest.mark.parametrize("purpose", ["", "beds", "b" * 81, "\x1b[2Jbeds\nand more"])
def test_whom_one_answers_is_said(node: Node, purpose: str, capsys: pytest.CaptureFixture[str]) -> None:
    """On one line, whatever the peer writes."""
    node.add(EARLY, purpose=purpose)
    ask()
    (line,) = (line for line in capsys.readouterr().err.splitlines() if line.startswith("answering"))
    assert line.startswith("answering university, who asked at ")
    said = {"": "no purpose given", "beds": "beds", "b" * 81: "b" * 79 + "…"}.get(purpose, r"\x1b[2Jbeds\nand more")
    assert line.endswith(f" UTC: {said}")


def test_the_peer_is_waited_for_as_long_as_was_said(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    """And where the node has no room to let us wait, it is not asked all the time."""
    now, pauses = 100.0, list[float]()

    def sleep(seconds: float) -> None:
        nonlocal now
        pauses.append(seconds)
        now += seconds

    for module in (through_node, client):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now, sleep=sleep))
    settings = AmountSettings(value=7, bits=32)
    with pytest.raises(LinkError, match="has not answered within 60 s"):
        through_node.ask(Millionaires(settings), settings, None, "university", None, wait=60)
    (job,) = node.known.values()
    assert (job.state, job.why) == ("cancelled", "nobody waits for it any more")
    assert 60 <= sum(pauses) <= 61
    assert len(pauses) <= 122


def test_who_interrupts_cancels(
    node: Node, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    for module in (through_node, client):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 0.0, sleep=interrupted))
    with pytest.raises(KeyboardInterrupt):
        ask()
    (job,) = node.known.values()
    assert (job.state, job.why) == ("cancelled", "nobody waits for it any more")
    assert capsys.readouterr().err == f"job {job.id[:8]}: cancelled: nobody waits for it any more\n"
