"""A holder's session with two nodes: it gives nothing unless both ask alike, and pays before it says so."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from parties.base.canonical import canonical
from parties.base.code_digest import code_of_kind
from parties.jobs.holders import SIZE_BYTES
from parties.jobs.kind import Step
from parties.link.identity import Identity, fingerprint
from parties.link.listening import RefusedError
from parties.link.options import LinkOptions
from parties.node.exchanges.counting import PastBitsError
from parties.node.links import giving
from parties.node.links.giving import (
    FITS,
    ROWS_REFUSE,
    TOO_MUCH,
    BothNodes,
    Givers,
    Turn,
    give,
    opened_doors,
)
from parties.node.links.sessions import Sessions
from parties.node.peers import PeerIdentity, Peers
from protocols.shares import SEED_BYTES, mask
from smc.errors import JobMismatchError, JointRefusalError, LinkError, ProtocolError
from smc.meter import Meter

JOB: Any = SimpleNamespace(task=SimpleNamespace(states=SimpleNamespace(decode=lambda state: state)))
NUMBERS = np.array([3, 0, 5], dtype=np.int64)
Messages = list[dict[str, Any]]
START = {"start": 0, "code": code_of_kind(SimpleNamespace)}
STEP, GO = {"step": 0, "size": 1, "words": "", "state": None}, {"go": 0}
QUESTION, END = {"number": 0}, {"end": True, "state": None}


class Channel:
    """A node that has sent all its messages, and keeps what it gets."""

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self.waiting = []
        for message in messages:
            data = canonical(message).encode()
            self.waiting += [len(data).to_bytes(SIZE_BYTES, "little"), data]
        self.got: list[tuple[str, bytes]] = []

    def receive(self, step: str, size: int) -> bytes:
        data = self.waiting.pop(0)
        assert len(data) == size, step
        return data

    def send(self, step: str, data: bytes) -> None:
        self.got.append((step, bytes(data)))


def link_of(channel: Channel) -> Any:
    session = SimpleNamespace(meter=Meter())
    return SimpleNamespace(channel=channel, session=lambda: session)


def given(first: Messages, second: Messages, fits: bool = True) -> tuple[list[Any], list[Any]]:
    """What the holder has done, and what each node got, if they send these messages."""
    done: list[Any] = []
    channels = [Channel(first), Channel(second)]

    def go(step: int) -> bytes:
        done.append(("paid", step, sum(len(channel.got) for channel in channels)))
        return b"word"

    def shown(step: Step) -> bool:
        done.append(step.number)
        return fits

    turn = Turn(lambda step: done.append(("start", step)), shown, go)
    try:
        give(BothNodes([*map(link_of, channels)]), JOB, NUMBERS, turn)  # type: ignore[misc]
    except (ProtocolError, JobMismatchError) as error:
        done.append(error)
    return done, [channel.got for channel in channels]


def test_a_holder_pays_before_its_word_leaves_and_gives_shares_of_its_numbers() -> None:
    messages: Messages = [START, QUESTION, STEP, GO, END]
    done, (first, second) = given(messages, messages)
    assert done == [("start", 0), 0, ("paid", 0, 4)]  # share and fits have left to each, no word
    assert [step for step, _ in first] == ["share", "fits", "paid size", "paid"]
    assert (first[1][1], first[3][1]) == (FITS, b"word")
    assert len(first[0][1]) == SEED_BYTES
    seed, masked = first[0][1], np.frombuffer(second[0][1], dtype="<u8")
    shares = masked + mask(seed, canonical(QUESTION).encode(), 0, len(NUMBERS))
    assert shares.astype(np.int64).tolist() == NUMBERS.tolist()


def test_a_step_whose_bits_do_not_fit_is_not_paid() -> None:
    done, (first, second) = given([START, STEP, END], [START, STEP, END], fits=False)
    assert first == second == [("fits", TOO_MUCH)]
    assert done == [("start", 0), 0]


@pytest.mark.parametrize(
    ("first", "second", "acts"),
    [
        ([START], [{**START, "start": 1}], 0),
        ([START, STEP], [START, {**STEP, "state": {"attribute": 0}}], 1),
        ([START, STEP, GO], [START, STEP, {"go": 1}], 2),
        ([START, QUESTION], [START, {"number": 1}], 1),
        ([START, STEP, END], [START, STEP, {"end": True, "state": 7}], 2),
    ],
)
def test_nodes_that_differ_get_nothing_more(first: list[Any], second: list[Any], acts: int) -> None:
    done, got = given(first, second)
    assert isinstance(done[-1], JobMismatchError)
    assert len(done) == acts + 1
    assert not any(step in ("share", "paid") for sent in got for step, _ in sent)


@pytest.mark.parametrize(
    "messages",
    [
        [START, GO],
        [START, STEP, {"go": 1}],
        [START, STEP, GO, GO],
        [START, START],
        [QUESTION],
        [STEP],
        [START, STEP, QUESTION],
        [START, {"number": 1}],
        [START, {"tree": 3}],
        [START, {"step": "x"}],
    ],
)
def test_what_does_not_come_next_is_refused(messages: Messages) -> None:
    """A step is paid once, and only after it was shown; questions come in turn, and not before the step has begun."""
    done, got = given(messages, messages)
    assert isinstance(done[-1], ProtocolError)
    assert not any(step == "share" for sent in got for step, _ in sent)
    assert [one for one in done if isinstance(one, tuple) and one[0] == "paid"] == done[2:-1]


def test_a_step_whose_bits_do_not_fit_does_not_begin() -> None:
    done, got = given([START, STEP, GO], [START, STEP, GO], fits=False)
    assert isinstance(done[-1], ProtocolError)
    assert done[:-1] == [("start", 0), 0]
    assert got == [[("fits", TOO_MUCH)]] * 2


def test_nodes_with_other_code_get_nothing() -> None:
    start = {**START, "code": "0123456789ab"}
    done, got = given([start, QUESTION], [start, QUESTION])
    assert isinstance(done[-1], JobMismatchError)
    assert "0123456789ab" in str(done[-1])
    assert (len(done), got) == (1, [[], []])


def test_holders_read_no_refusal_that_depends_on_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    channel, meter = Channel([]), Meter()
    peer = SimpleNamespace(party=0, session=lambda: SimpleNamespace(meter=meter))
    monkeypatch.setattr(giving, "Givers", lambda party, _: Givers(party, {"anna": link_of(channel)}))  # type: ignore[dict-item]
    for refusal in (JointRefusalError("there are fewer than 7 rows"), PastBitsError("no bits left")):
        with pytest.raises(JointRefusalError, match=str(refusal)), opened_doors(peer, {}):  # type: ignore[arg-type]
            raise refusal
    sent = [data for step, data in channel.got if step == "question"]
    assert sent == [canonical({"refused": text}).encode() for text in (ROWS_REFUSE, "no bits left")]
    assert meter.phases["holders"].bytes_sent == meter.total.bytes_sent == sum(map(len, sent)) + 2 * SIZE_BYTES


@pytest.mark.parametrize("number", [None, 2])
def test_a_session_has_exactly_the_participants_of_its_job(identities: dict[str, Identity], number: int | None) -> None:
    """A node opens a door to each holder, and a holder dials both nodes, in the order of the job; else none begins."""
    whos = {name: PeerIdentity(identities["alice"], identities[name].certificate, 1) for name in ("bob", "mallory")}
    bob, mallory = (fingerprint(who.peer) for who in whos.values())
    ways: Any = {name: SimpleNamespace(peer=who.peer) for name, who in whos.items()}
    everyone = ("A", "B", bob, mallory) if number is None else (bob, mallory, "A")
    proposal = SimpleNamespace(holding=SimpleNamespace(everyone=everyone), job={})
    record: Any = SimpleNamespace(number=number, names=["a", *ways], proposal=proposal)
    log = SimpleNamespace(peers=Peers([*whos.values()]))
    node: Any = SimpleNamespace(_ledger=SimpleNamespace(log=log), _jobs=SimpleNamespace(known=lambda _: record))
    node._are_listed = partial(Sessions._are_listed, node)
    for names in (["mallory", "bob"], ["bob"], ["bob", "bob"], ["bob", "mallory", "bob"]):
        found = [ways[name] for name in names]
        node._ways = lambda _, found=found: dict(enumerate(found if number is None else found[1:]))
        if number is None:
            with pytest.raises(RefusedError, match="not those of the participants"):
                Sessions._doors(node, "job")
            continue
        node._options, node._standing = LinkOptions(identities["alice"], found[0].peer, connect="a:1"), lambda: None
        with pytest.raises(LinkError, match="not those of the participants"):
            Sessions._dialled(node, record)
