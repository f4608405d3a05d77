"""A party that leaves the protocol in one message, and what the other party then sees.

A small program opens products of both parties' numbers and joint random bits, on every engine and kind of OT. The
cheater runs it as it is, but for one of its messages, or for one step of its own work. What it sends instead is a
`Change`, what it does instead a `Deviation`. an `Outcome` says how the honest party fares.
"""

from __future__ import annotations

import hmac
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, Literal, get_args

import numpy as np
import pytest
from numpy.typing import NDArray
from typing_extensions import override

from smc.channel import Buffer, Channel
from smc.circuit import Builder, Netlist
from smc.engines import Choice, Engine, make_engine
from smc.errors import JobMismatchError, ProtocolError
from smc.local import run_local
from smc.ot import columns, ferret, ggm_tree, trapdoor
from smc.ot.lpn import Parameters
from smc.primitives import bits as bitpack
from smc.recipes import EngineName, OTKind
from smc.session import AnnouncedOpenings, Session
from tests.support.delta_thief import FILL
from tests.support.duels import Wrap, duel
from tests.support.toy_curve import lay

WIDTH, BATCH = 6, 8
RANDOM_BITS = 4
FACTOR = 5
SMALL_MODULUS = 1024  # bits: RSA keys of 3072 take a hundred times as long
SMALL_SETS = (Parameters(trees=28, depth=6, log_secret=7), Parameters(trees=24, depth=7, log_secret=8))

# caught: an error before it sends what follows from its secrets; late: an error after that; right: the result of the
# inputs; other: that of other inputs of the cheater; wrong: another result; left: the cheater ended it
Seen = Literal["caught", "late", "right", "other", "wrong", "left"]


@dataclass(frozen=True)
class Outcome:
    """What the honest party saw, and its error."""

    seen: Seen
    error: str = ""


@dataclass(frozen=True)
class Case:
    """What the program runs on."""

    engine: EngineName
    ot: OTKind
    variant: Literal["", "table", "few", "plain"] = ""  # four-row tables; few OTs; openings that nobody announces

    def __str__(self) -> str:
        return f"{self.engine} {self.ot} {self.variant}".strip()

    def make(self, session: Session) -> Engine:
        """Return the engine of one party."""
        if self.variant != "plain":
            session.openings = AnnouncedOpenings()
        engine = make_engine(session, self.engine, self.ot, True if self.variant == "table" else None)
        if self.variant == "few":
            engine.expect((WIDTH + RANDOM_BITS) * BATCH)
        return engine


CASES = (
    *(Case(engine, ot) for engine in ("yao", "gmw", "mixed", "lean") for ot in get_args(OTKind)),
    *(Case("gmw", ot, "table") for ot in get_args(OTKind) if ot != "trapdoor"),
    Case("yao", "extension", "few"),
    Case("mixed", "extension", "few"),
    Case("yao", "extension", "plain"),
)


@lru_cache
def _product() -> Netlist:
    builder = Builder("size")
    builder.output(builder.input(WIDTH) * builder.input(WIDTH))
    return builder.build()


def own_numbers(party: int) -> NDArray[np.int64]:
    """Return the party's numbers."""
    return np.random.default_rng(party).integers(8, 1 << WIDTH, BATCH)


def program(case: Case, session: Session, change: Callable[[Any], None] = lambda _: None) -> tuple[NDArray[Any], ...]:
    """Open products x y, random bits and, but for few OTs, FACTOR y where x is odd. `change` may change the engine."""
    engine = case.make(session)
    change(engine)
    x, y = engine.both(bitpack.from_integers(own_numbers(engine.party), WIDTH))
    drawn = engine.random(RANDOM_BITS, BATCH)
    (product,) = engine.run(_product(), x, y)
    opened = engine.reveal(product, drawn)
    if case.variant != "few":
        word = engine.words.select([Choice(x[:1], [[FACTOR]])], FACTOR.bit_length() + 1)[0][0]
        opened += engine.reveal(engine.words.bits(engine.words.multiply(y, 0, word, WIDTH + 4)))
    return tuple(bitpack.to_words(bits) for bits in opened)


def _explained(result: tuple[NDArray[Any], ...], honest: int) -> bool:
    """Whether the result is right for some numbers of the cheater; its share of the random bits is its own anyway."""
    products, _, *selected = result
    known, any_number = own_numbers(honest)[:, None], np.arange(1 << WIDTH)[None]
    fits = products[:, None] == known * any_number
    for opened in selected:
        x, y = (known, any_number) if honest == 0 else (any_number, known)
        fits &= opened[:, None] == FACTOR * (x & 1) * y
    return bool(fits.any(axis=1).all())


# Messages.


@dataclass(frozen=True)
class Message:
    """A message of a run: its label, and its number from 0 among those of this label that its sender sends."""

    sender: int
    label: str
    number: int


def kind_of(case: Case, label: str) -> str:
    """Return the kind of a message: what it is, whatever role, direction or place it has."""
    kind = re.sub(r"^ot[01]\.", "ot.", label)
    if case.ot == "ferret":
        kind = re.sub(r"^ot\.(trees|flips|challenge|proof)$", r"ferret.\1", kind)
    return kind.replace("ot.first.", "ot.").replace("ot.base.base.", "ot.base.")


_cheating = threading.local()


def _is_equal(left: bytes, right: bytes) -> bool:
    """Compare digests of a check; a cheater goes on whatever its own checks say."""
    return getattr(_cheating, "now", False) or hmac.compare_digest(left, right)


@contextmanager
def arena() -> Iterator[None]:
    """Make sessions quick, and let cheaters pass their own checks.

    Public-key operations cost little, RSA's values are shorter, and Ferret's iterations are small and many.
    """
    with pytest.MonkeyPatch.context() as patch:
        lay(patch)
        patch.setattr(trapdoor, "MODULUS_BITS", SMALL_MODULUS)
        patch.setattr(trapdoor, "MODULUS_BYTES", SMALL_MODULUS // 8)
        for role in (ferret.FerretSender, ferret.FerretReceiver):
            patch.setattr(role.__init__, "__defaults__", (SMALL_SETS,))
        for module in (columns, ferret, ggm_tree):
            patch.setattr(module, "hmac", SimpleNamespace(compare_digest=_is_equal))
        yield


class _Tape(Channel):
    """Keeps what is sent."""

    def __init__(self, inner: Channel, sent: list[tuple[str, bytes]]) -> None:
        self._inner = inner
        self._sent = sent

    @override
    def send(self, step: str, payload: Buffer) -> None:
        self._sent.append((step, bytes(payload)))
        self._inner.send(step, payload)

    @override
    def receive(self, step: str, size: int) -> Buffer:
        return self._inner.receive(step, size)


@lru_cache(maxsize=256)
def honest_run(case: Case, seed: bytes) -> tuple[tuple[NDArray[Any], ...], dict[Message, bytes], dict[Message, bytes]]:
    """Return the result of a run without a cheater, its messages in order, and the digests in front of them."""
    tapes: tuple[list[tuple[str, bytes]], ...] = ([], [])
    sizes: tuple[list[int], ...] = ([], [])

    def noting(session: Session) -> tuple[NDArray[Any], ...]:
        send = session.send

        def noted(step: str, array: NDArray[Any]) -> None:
            sizes[session.party].append(array.nbytes)
            send(step, array)

        session.send = noted  # type: ignore[method-assign]
        return program(case, session)

    result, _ = run_local(noting, seed=seed, wrap=lambda p, c: _Tape(c, tapes[p]))
    messages: dict[Message, bytes] = {}
    digests: dict[Message, bytes] = {}
    for party, tape in enumerate(tapes):
        counts: dict[str, int] = {}
        for (label, payload), size in zip(tape, sizes[party], strict=True):
            number = counts[label] = counts.get(label, -1) + 1
            message = Message(party, label, number)
            digests[message], messages[message] = payload[: len(payload) - size], payload[len(payload) - size :]
    return result, messages, digests


def messages_of(case: Case, seed: bytes) -> list[Message]:
    """Return the first and the last message of each label and sender."""
    found = list(honest_run(case, seed)[1])
    last = {(message.sender, message.label): message for message in found}
    return [message for message in found if message.number == 0 or message in last.values()]


# What is sent instead.

Change = Callable[[Case, Message, bytes, bytes, np.random.Generator], list[tuple[str, bytes]]]


def _same_label(change: Callable[[bytes, np.random.Generator], bytes]) -> Change:
    return lambda _case, message, payload, _seed, rng: [(message.label, change(payload, rng))]


def _flip(payload: bytes, rng: np.random.Generator) -> bytes:
    octets = np.frombuffer(payload, dtype=np.uint8).copy()
    place = int(rng.integers(8 * len(octets)))
    octets[place // 8] ^= np.uint8(1 << place % 8)
    return octets.tobytes()


def _garbage(payload: bytes, rng: np.random.Generator) -> bytes:
    return rng.bytes(len(payload))


def _earlier(
    case: Case, message: Message, payload: bytes, seed: bytes, _: np.random.Generator
) -> list[tuple[str, bytes]]:
    """Send the message before this one of the same label once more, if its size is right."""
    before = honest_run(case, seed)[1].get(Message(message.sender, message.label, message.number - 1), b"")
    return [(message.label, before)] if len(before) == len(payload) else []


def _other_session(
    case: Case, message: Message, _: bytes, seed: bytes, __: np.random.Generator
) -> list[tuple[str, bytes]]:
    """Send the message that another session of the same program had here."""
    return [(message.label, honest_run(case, bytes(octet ^ 1 for octet in seed))[1][message])]


def _early(_case: Case, message: Message, *_: object) -> list[tuple[str, bytes]]:
    return [] if message.label in ("reveal", "ready") else [("reveal", b"\0")]


CHANGES: dict[str, Change] = {
    "flip": _same_label(_flip),
    "garbage": _same_label(_garbage),
    "zeros": _same_label(lambda payload, _: bytes(len(payload))),
    "replay": _earlier,
    "other session": _other_session,
    "truncated": _same_label(lambda payload, _: payload[:-1]),
    "oversized": _same_label(lambda payload, _: payload + b"\0"),
    "early output": _early,
}


class _Rewriter(Channel):
    """The cheater's channel: something else goes out in place of one message."""

    def __init__(self, inner: Channel, message: Message, instead: list[tuple[str, bytes]]) -> None:
        self._inner = inner
        self._message = message
        self._instead = instead
        self._seen = -1

    @override
    def send(self, step: str, payload: Buffer) -> None:
        self._seen += step == self._message.label
        if step == self._message.label and self._seen == self._message.number:
            for label, data in self._instead:
                self._inner.send(label, data)
        else:
            self._inner.send(step, payload)

    @override
    def receive(self, step: str, size: int) -> Buffer:
        return self._inner.receive(step, size)


def sent_instead(case: Case, message: Message, change: str, seed: bytes, place: int = 0) -> Outcome | None:
    """Return what the honest party sees of a message that is changed; None if there is nothing to change."""
    payload, digest = (kind[message] for kind in honest_run(case, seed)[1:])
    instead = CHANGES[change](case, message, payload, seed, np.random.default_rng([place, *seed]))
    if not instead or instead == [(message.label, payload)]:
        return None
    instead = [(label, digest + data if label == message.label else data) for label, data in instead]
    wrap = lambda party, channel: _Rewriter(channel, message, instead) if party == message.sender else channel  # noqa: E731
    return _judged(case, message, seed, wrap=wrap)


def _judged(
    case: Case, message: Message, seed: bytes, apply: Callable[[Any], None] = lambda _: None, wrap: Wrap | None = None
) -> Outcome:
    """Run a session with a cheater, whose message this is, and return how the honest party fares."""
    honest = 1 - message.sender

    def party(session: Session) -> tuple[NDArray[Any], ...]:
        if session.party == honest:
            return program(case, session)
        _cheating.now = True
        return program(case, session, apply)

    end = duel((party, party), seed, wrap)[honest]
    gave_away = end.gave_away(message.label, message.number)
    if isinstance(end.error, ProtocolError | JobMismatchError):
        return Outcome("late" if gave_away else "caught", str(end.error))
    if end.error is not None:
        return Outcome("left", str(end.error))
    if all(np.array_equal(*pair) for pair in zip(end.result, honest_run(case, seed)[0], strict=True)):
        return Outcome("right")
    return Outcome("other" if _explained(end.result, honest) else "wrong")


# What is done instead, in its own work.


def _transfers_of(engine: Any) -> Any:
    """Return the OTs of an engine."""
    gates = getattr(engine, "_gates", None)
    owners = (engine, gates, getattr(gates, "_source", None))
    return next(owner._transfers for owner in owners if hasattr(owner, "_transfers"))


def _extension(role: Any) -> Any:
    """Return the role that extends OTs: Ferret's is below it."""
    return getattr(role, "_base", role)


def _inconsistent(engine: Any, trees: slice = slice(None)) -> None:
    """Correct each of these trees to another choice, in an OT of its own, in the first batch."""
    receiver = _extension(_transfers_of(engine).receiver)
    fill, done = getattr(receiver, FILL), []

    def correct(choices: Any, corrections: NDArray[np.uint64], *more: Any) -> None:
        fill(choices, corrections, *more)
        if not done:
            done.append(True)
            octets = corrections.view(np.uint8)
            for tree in range(len(octets))[trees]:
                octets[tree, tree // 8 % BATCH] ^= np.uint8(1 << tree % 8)

    setattr(receiver, FILL, correct)


def _one_inconsistent(engine: Any) -> None:
    """Correct one tree to another choice, for a party that guesses its bits of delta to be 0."""
    _inconsistent(engine, slice(1, 2))


def _other_seed(engine: Any) -> None:
    """Use other seeds than base OT has handed out, wherever the sender may have the first of both."""
    receiver = _extension(_transfers_of(engine).receiver)
    seed = receiver._seed

    def other(keys: NDArray[np.uint64], *more: Any) -> None:
        changed = keys.copy()
        changed[0] ^= np.uint64(1)
        seed(changed, *more)

    receiver._seed = other


def _other_silent_delta(engine: Any) -> None:
    """Grow the trees of the first iteration by another delta."""
    sender = _transfers_of(engine).sender
    start = sender._start

    def other(*arguments: Any) -> Any:
        right = sender.delta
        sender.delta = right ^ np.uint64(2)
        check = start(*arguments)
        sender.delta = right
        return check

    sender._start = other


def _other_garbling(engine: Any) -> None:
    garbler = engine._work.__self__
    garbler._delta = garbler._delta ^ np.uint64(2)


def _other_few(engine: Any) -> None:
    few = _transfers_of(engine).sender._few
    few.delta = few.delta ^ np.uint64(2)


def _other_digest(engine: Any) -> None:
    engine.session.note("another step")


@dataclass(frozen=True)
class Deviation:
    """A step of the cheater's own work that is done otherwise."""

    shown_by: tuple[str, ...]  # kinds of messages of which the first depends on it
    apply: Callable[[Any], None]

    def message(self, case: Case, party: int) -> Message | None:
        """Return the first message of the cheater that follows from it; None if it sends none."""
        found = honest_run(case, b"deviates" * 2)[1]
        return next((m for m in found if m.sender == party and kind_of(case, m.label) in self.shown_by), None)

    def is_in(self, case: Case, party: int) -> bool:
        """Return whether a party can deviate so."""
        return self.message(case, party) is not None


FIRST = (
    "ot.base.public",
    "ot.base.points",
    "ot.few.base.public",
    "ot.few.base.points",
    "ot.trapdoor.modulus",
    "ot.trapdoor.values",
)
DEVIATIONS = {
    "inconsistent choices": Deviation(("ot.matrix",), _inconsistent),
    "another choice in one tree": Deviation(("ot.matrix",), _one_inconsistent),
    "other seed": Deviation(("ot.trees", "ot.matrix"), _other_seed),
    "other delta in silent trees": Deviation(("ferret.trees",), _other_silent_delta),
    "other delta in tables": Deviation(("yao.tables",), _other_garbling),
    "other delta in few OTs": Deviation(("ot.few.correlation",), _other_few),
    "another digest": Deviation(FIRST, _other_digest),
}


def deviated(case: Case, party: int, name: str, seed: bytes) -> Outcome:
    """Return what the honest party sees of a deviation."""
    message = DEVIATIONS[name].message(case, party)
    assert message is not None
    return _judged(case, message, seed, apply=DEVIATIONS[name].apply)
