"""A job between an honest party and one that changes what it sends: how the honest one ends, by its exit code.

Both run as their commands do, over the real link's frames and deadlines, joined in memory. The liar changes messages
on their way out of its own session: it may lie to its peer alone, or believe its own lie, by changing what it takes in
in the same way.
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from parties.cli import EXIT_CODES
from parties.jobs import kinds
from parties.jobs.execution import profiles
from parties.jobs.execution.engine_selection import usual
from parties.jobs.execution.running import note_code
from parties.jobs.inputs import Inputs, Opened
from parties.jobs.kind import Kind, digest
from parties.link.handshake import make_hello
from parties.link.identity import Identity
from parties.link.opening import Link, link_over, outbox_for
from parties.link.options import LinkOptions
from parties.link.outbox import Outbox
from parties.link.transport import Stream
from parties.node.proposal import propose, read_job
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema
from smc.channel import Buffer, Channel
from smc.engines import engine_of
from smc.errors import SmcError
from tests.support.frame_faults import Fault
from tests.support.matched import matched
from tests.support.waiting import PATIENCE

Lie = Callable[[int, str, bytes], bytes]  # the number of a message, its step, what the protocol says to send


class Lying(Channel):
    """Changes what is sent; if it is `believed`, what comes at the same steps, too, as if both had the wrong shares."""

    def __init__(self, inner: Channel, lie: Lie) -> None:
        self._inner = inner
        self._lie = lie
        self.sent: list[tuple[str, int]] = []

    def send(self, step: str, payload: Buffer) -> None:
        self.sent.append((step, len(payload)))
        self._inner.send(step, self._lie(len(self.sent) - 1, step, bytes(payload)))

    def receive(self, step: str, size: int) -> Buffer:
        return self._inner.receive(step, size)


class Believing(Lying):
    """Opens the same wrong values itself: what it has sent wrongly at a reveal is xored to what comes there."""

    def __init__(self, inner: Channel, lie: Lie) -> None:
        super().__init__(inner, lie)
        self._due: list[np.ndarray] = []

    def send(self, step: str, payload: Buffer) -> None:
        true = bytes(payload)
        self.sent.append((step, len(true)))
        said = self._lie(len(self.sent) - 1, step, true)
        if step == "reveal":
            self._due.append(np.frombuffer(true, np.uint8) ^ np.frombuffer(said, np.uint8))
        self._inner.send(step, said)

    def receive(self, step: str, size: int) -> Buffer:
        payload = self._inner.receive(step, size)
        if step == "reveal":
            return bytes(np.frombuffer(payload, np.uint8) ^ self._due.pop(0))
        return payload


@dataclass
class Ending:
    """How a party ended: the exit code and line of its command, and what it showed."""

    code: int = 0
    line: str = ""
    shown: Any = None
    sent: list[tuple[str, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Case:
    """A job's fields, each party's rows as CSV, and what each types."""

    fields: Mapping[str, Any]
    schema: Schema
    rows: tuple[str, str]
    typed: tuple[Mapping[str, Any], Mapping[str, Any]] = ({}, {})
    circuits: Mapping[str, str] = field(default_factory=dict)

    def task(self, directory: Path) -> tuple[Kind, tuple[Inputs, Inputs]]:
        """The task as both read it, and what each brings."""
        inputs = tuple(self._means(directory, party) for party in (0, 1))
        return propose(read_job(self.fields), inputs[0]).task, (inputs[0], inputs[1])

    def _means(self, directory: Path, party: int) -> Inputs:
        place = directory / str(party)
        place.mkdir(exist_ok=True)
        self.schema.save(place / "schema.toml")
        (place / "rows.csv").write_text(self.rows[party])
        for name, text in self.circuits.items():
            (place / name).write_text(text)
        settings = {"source": str(place / "rows.csv"), "schema": str(place / "schema.toml"), "max_rows": 1000}
        table = TableSettings.model_validate(settings) if "table" in self.fields else None
        circuits = {name: place / name for name in self.circuits}
        return Inputs(party, table, self.schema if table else None, circuits, self.typed[party])


class MatchedCase(Case):
    """A case of columns that lie apart, of 50 people."""

    def _means(self, directory: Path, party: int) -> Inputs:
        return matched(super()._means(directory, party), directory, 50)


class OpenedOnce(ExitStack):
    """Both parties' tables of a case, opened once for all its runs, until this is closed; what is typed is used up."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[int, Opened] = {}

    def open(self, task: Kind, inputs: Inputs) -> AbstractContextManager[Opened]:
        if not task.reads_table:
            return task.open(inputs)
        if inputs.party not in self._kept:
            self._kept[inputs.party] = self.enter_context(task.open(inputs))
        return nullcontext(self._kept[inputs.party])


class Ways:
    """What is on its way from each party to the other, and who waits for it; None is the end.

    `is_still`: whether both parties wait and nothing is on its way. So each would wait until its time is over.
    """

    def __init__(self, boxes: Sequence[Outbox]) -> None:
        self._boxes = boxes
        self._frames: tuple[deque[bytes | None], ...] = (deque(), deque())
        self._waiting: set[int] = set()
        self._changed = threading.Condition()

    def put(self, party: int, frame: bytes | None) -> None:
        with self._changed:
            self._frames[party].append(frame)
            self._changed.notify_all()

    def take(self, party: int) -> bytes | None:
        """What comes to a party."""
        frames = self._frames[1 - party]
        with self._changed:
            self._waiting.add(party)
            self._changed.wait_for(lambda: frames)
            self._waiting.remove(party)
            return frames.popleft()

    def is_still(self) -> bool:
        with self._changed:
            if len(self._waiting) < 2 or any(self._frames):
                return False
            return not any(box._frames or box._under_way for box in self._boxes)


def joined(
    options: Sequence[LinkOptions], hellos: Sequence[Any], faults: Mapping[int, Fault], in_vain: bool = True
) -> list[Stream]:
    """Both ends of a stream in memory: a thread each way takes what is sent, as gRPC's do. `faults` are of parties.

    Where both parties wait for each other, the stream ends at once, unless they shall wait `in_vain`.
    """
    boxes = [outbox_for(one, hello) for one, hello in zip(options, hellos, strict=True)]
    ways = Ways(boxes)
    left = [0, 1]

    def cancel() -> None:
        for party, stream in enumerate(streams):
            stream.end()
            ways.put(party, None)

    def carry(party: int) -> None:
        for frame in faults[party](boxes[party], cancel) if party in faults else boxes[party]:
            ways.put(party, frame)
        left.remove(party)
        ways.put(party, None)
        if not left:
            for stream in streams:
                stream.ended.set()

    def watch() -> None:
        while not streams[0].ended.wait(0.02):
            if ways.is_still():
                cancel()

    streams = [Stream(iter(partial(ways.take, party), None), boxes[party], cancel) for party in (0, 1)]
    if not in_vain:
        threading.Thread(target=watch, daemon=True).start()
    for party in (0, 1):
        threading.Thread(target=carry, args=(party,), daemon=True).start()
    return streams


def endings(
    case: Case,
    directory: Path,
    identities: Mapping[str, Identity],
    lie: Lie | None = None,
    liar: int = 1,
    believed: bool = False,
    timeout: float = PATIENCE,
    faults: Mapping[int, Fault] = MappingProxyType({}),
    kept: OpenedOnce | None = None,
) -> tuple[Ending, Ending]:
    """How parties 0 and 1 end of whom one lies, or whose frames suffer `faults`.

    Whoever is lied to or suffers also writes and draws what it shows, as its command does, which takes a while.
    No party waits longer than `timeout` seconds for a message. Without faults, two that wait for each other end sooner.
    """
    task, inputs = case.task(directory)
    alice, bob = identities["alice"], identities["bob"]
    ways: tuple[dict[str, str], dict[str, str]] = ({"listen": "a:1"}, {"connect": "a:1"})
    waits: dict[str, Any] = {"timeout": timeout, "goodbye": timeout}
    options = [
        LinkOptions(alice, bob.certificate, **ways[0], **waits),
        LinkOptions(bob, alice.certificate, **ways[1], **waits),
    ]
    hellos = [make_hello(party, task.specification()) for party in (0, 1)]
    streams = joined(options, hellos, faults, in_vain=bool(faults))
    ends = (Ending(), Ending())

    def run(party: int) -> None:
        try:
            with (
                kept.open(task, inputs[party]) if kept else task.open(inputs[party]) as ours,
                link_over(streams[party], options[party], hellos[party]) as link,
            ):
                state = computed(link, ours.data, ends[party], lie if party == liar else None)
                link.finish(digest(task, state))
            ends[party].shown = shown(state, party)
        except SmcError as error:
            ends[party].code = next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind))
            ends[party].line = f"{type(error).__name__}: {error}"
        except BaseException as error:
            ends[party].code, ends[party].line = 1, f"{type(error).__name__}: {error} ({where(error)})"

    def computed(link: Link, data: Any, end: Ending, lying: Lie | None) -> Any:
        session = link.session()
        channel = (Believing if believed else Lying)(session.channel, lying or (lambda number, step, payload: payload))
        end.sent = channel.sent
        session.channel = channel if lying is not None or not believed else Lying(session.channel, _truth)
        profile = profiles.named(task.specification()) or usual(task.settings)
        note_code(session, task)
        return task.run(engine_of(session, profile), data, task.states.beginning, lambda step: None)

    def shown(state: Any, party: int) -> Any:
        document = task.document(state)
        if faults or (lie is not None and party != liar):
            type(task).text(document, party)
            for one in type(task).files():
                if "graphviz" not in one.needs:
                    one.content(document)
        assert task.states.is_done(task.states.decode(task.states.encode(state)))
        return document

    threads = [threading.Thread(target=run, args=(party,), daemon=True) for party in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    for thread, end in zip(threads, ends, strict=True):
        if thread.is_alive():
            end.code, end.line = -1, "it hangs"
    return ends


def _truth(number: int, step: str, payload: bytes) -> bytes:
    return payload


def where(error: BaseException) -> str:
    """The line of ours in which an error arose."""
    place = error.__traceback__
    found = ""
    while place is not None:
        if "/site-packages/" not in (name := place.tb_frame.f_code.co_filename):
            found = f"{name}:{place.tb_lineno}"
        place = place.tb_next
    return found or str(sys.exc_info()[0])


__all__ = ["Case", "Ending", "Lie", "endings", "kinds"]
