"""Holders of rows at a computing node: their links, the job that they see, and the sums of their shares.

Messages to a holder: the job, then a question for each level or batch, then the end. A holder answers the job with its
consent, and a question with its share for this node: a seed to party 0, masked numbers to party 1 (`protocols.shares`).
"""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from parties.base.address import parse_address
from parties.base.canonical import canonical
from parties.base.console import StatusLine
from parties.link.identity import Identity, common_name, fingerprint, load_certificate, short_fingerprint
from parties.link.listening import Admit, Port, RefusedError, Take
from parties.link.measurement import MeteredChannel
from parties.link.opening import Link, hello_for, link_over, outbox_for
from parties.link.options import KEEPALIVE_SECONDS, LinkOptions
from parties.link.outbox import Outbox
from parties.link.settings import LinkSettings, require_link
from parties.link.transport import Stream
from smc.errors import InputError, LinkError, ProtocolError

if TYPE_CHECKING:
    from cryptography import x509

    from protocols.shares import Ask, Question, Shares
    from smc.channel import Channel
    from smc.meter import Meter

LINK_JOB = {"protocol": "contribute"}  # job in the hellos between a node and a holder
MOST_HOLDERS = 64
MOST_BYTES = 1 << 26  # of a job or a question
SIZE_BYTES = 8
CONSENT, DECLINED, UNFIT = b"\x01", b"\x00", b"\x02"  # a holder's answers to the job
REFUSALS = {DECLINED: "{holder} did not consent", UNFIT: "the job does not fit {holder}'s table or settings"}
SLICE_SECONDS = 0.25  # between two looks at the peer, while a holder is awaited


@dataclass(frozen=True)
class Terms:
    """Terms of a job besides the task: the computing nodes, the holders, and the row bound of each."""

    nodes: tuple[str, str]  # fingerprints of party 0 and party 1
    holders: tuple[str, ...]  # fingerprints, ascending
    holder_rows: int  # row bound of each party that gives rows
    nodes_give: bool  # whether the nodes may have rows too

    def public(self) -> dict[str, Any]:
        """Return the terms as JSON, to be compared by both nodes and shown to the holders."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Self:
        """Return the terms in a job. Raise KeyError, TypeError or ValueError if it has none."""
        first, second = map(str, document["nodes"])
        holders = tuple(map(str, document["holders"]))
        return cls((first, second), holders, int(document["holder_rows"]), bool(document["nodes_give"]))

    @property
    def givers(self) -> int:
        """Number of parties that may have rows: the holders, and both nodes if `nodes_give`."""
        return len(self.holders) + 2 * self.nodes_give

    @property
    def max_rows(self) -> int:
        """The task's bound on the rows of a party: half the rows of all, as if two parties had them."""
        return half_of_all(self.givers, self.holder_rows)


def half_of_all(givers: int, rows: int) -> int:
    """Return half the rows of all, rounded up: the task's bound, as if two parties had all rows.

    Args:
        givers: Number of parties that may have rows.
        rows: Greatest number of rows of each.
    """
    return -(-rows * givers // 2)


def check_holders(
    holders: Mapping[str, x509.Certificate], own: x509.Certificate, peer: x509.Certificate, compute_only: bool
) -> None:
    """Raise InputError if there are too many holders, or one is a node, listed twice, or alone with `compute_only`.

    Args:
        holders: Certificates by the names of their files.
        own: This node's certificate.
        peer: The other node's certificate.
        compute_only: True if neither node has rows.
    """
    if len(holders) > MOST_HOLDERS:
        raise InputError(f"--holders: {len(holders)} are too many; list {MOST_HOLDERS} at most")
    names: dict[str, str] = {}
    for file, certificate in holders.items():
        if certificate in (own, peer):
            whose = "this node's own" if certificate == own else "the peer's"
            raise InputError(f"--holders: {file} is {whose} certificate; a node that computes gives rows with --data")
        if (other := names.setdefault(fingerprint(certificate), file)) != file:
            raise InputError(f"--holders: {other} and {file} are one certificate; list each holder once")
    if compute_only and len(holders) < 2:
        raise InputError("--compute-only: with one holder the answer could be of its rows alone; list two at least")


@dataclass(frozen=True)
class Givers:
    """The holders that a command names, before they have connected."""

    certificates: tuple[x509.Certificate, ...]
    address: str  # HOST:PORT to listen on for them
    rows: int  # row bound of each party that gives rows
    nodes_give: bool  # whether the nodes may have rows too

    @property
    def number(self) -> int:
        """Number of parties that may have rows: the holders, and both nodes if `nodes_give`."""
        return len(self.certificates) + 2 * self.nodes_give

    def terms(self, party: int, own: x509.Certificate, peer: x509.Certificate) -> Terms:
        """Return the terms of a job: both nodes, the holders, the row bound of each, and whether the nodes give rows.

        Args:
            party: Number of this node.
            own: Certificate of this node.
            peer: Certificate of the other node.
        """
        ours, theirs = fingerprint(own), fingerprint(peer)
        holders = tuple(sorted(map(fingerprint, self.certificates)))
        nodes = (ours, theirs) if party == 0 else (theirs, ours)
        return Terms(nodes, holders, self.rows, self.nodes_give)


def givers_in(files: Sequence[str], address: str, rows: int, compute_only: bool, link: LinkSettings) -> Givers:
    """Return the holders whose certificates are in these files.

    Args:
        files: Files of certificates.
        address: HOST:PORT to listen on for the holders.
        rows: Greatest number of rows of each party that gives rows; public.
        compute_only: True if neither node has rows.
        link: Settings of the link to the other node.

    Raises:
        InputError: No file is given, one is no certificate, the address is that of --listen, or `check_holders` fails.
    """
    if not files:
        raise InputError("--holders: names no certificate; give at least one, as anna.crt,bert.crt")
    if len(set(files)) < len(files):
        twice = next(file for file in files if files.count(file) > 1)
        raise InputError(f"--holders: {twice} is listed twice; list each holder once")
    if _same_door(address, link.listen):
        raise InputError("--holders-at: is the address of --listen; give another port, the holders need their own")
    certificates = {file: load_certificate(Path(file)) for file in files}
    way = require_link(link)
    check_holders(certificates, load_certificate(way.certificate), load_certificate(way.peer), compute_only)
    return Givers(tuple(certificates.values()), address, rows, not compute_only)


def _same_door(one: str, other: str | None) -> bool:
    if other is None:
        return False
    ours, theirs = (parse_address(text, lowest_port=0) for text in (one, other))
    return ours.port == theirs.port != 0 and (
        ours.host == theirs.host or {"0.0.0.0", "::"} & {ours.host, theirs.host} != set()
    )


def joined(data: Any, ask: Ask) -> Any:
    """Return this party's shares of the sum of all parties' data: its own data plus the shares from the holders.

    Args:
        data: This party's data, as the task's `run` takes them: numbers, or a source of counts or of sums; private.
        ask: Function that sends a question to the holders and returns the sum of their shares.

    Raises:
        InputError: The data are of another form.
    """
    from protocols.shares import SharedCounts, SharedSums

    if isinstance(data, np.ndarray) and data.dtype.kind in "iu":
        numbers = data.astype(np.uint64).reshape(-1) + ask(None, data.size)
        return numbers.astype(np.int64).reshape(data.shape)
    if hasattr(data, "level"):
        return SharedCounts(data, ask)
    if hasattr(data, "sums"):
        return SharedSums(data, ask)
    raise InputError("this kind of job cannot read rows of holders; remove --holders")


class Holders:
    """Open links to all holders of a job. All of them have consented."""

    def __init__(self, party: int, links: Sequence[Link]) -> None:
        self._party, self.links = party, links
        self.channels = [MeteredChannel(link.channel, link.session().meter) for link in links]
        self._number = 0

    def add_cost(self, meter: Meter) -> None:
        """Add the messages to and from all holders to the meter of the session with the other node."""
        with meter.phase("holders"):
            meter.together([channel.meter for channel in self.channels])

    def ask(self, question: Question, size: int) -> Shares:
        """Return the sum of the shares of all holders modulo 2^64, uint64[size]; see `protocols.shares.Ask`.

        Args:
            question: The question; public.
            size: Number of numbers of an answer; public.

        Raises:
            LinkError: A holder does not answer.
            ProtocolError: A share has another length.
        """
        from protocols.shares import SEED_BYTES, mask

        asked = question_bytes(question, self._number)
        self.send(asked)
        total = np.zeros(size, dtype=np.uint64)
        for link, channel in zip(self.links, self.channels, strict=True):
            if self._party == 0:
                seed = bytes(_share(link, channel, SEED_BYTES))
                total += mask(seed, asked, self._number, size)
            else:
                total += np.frombuffer(_share(link, channel, 8 * size), dtype="<u8")
        self._number += 1
        return total

    def end(self) -> None:
        """Send the end to all holders, without a digest of the answer: it would reveal a small number."""
        self.send(canonical({"end": True}).encode())

    def send(self, question: bytes) -> None:
        """Send one message to all holders."""
        for channel in self.channels:
            send_sized(channel, "question", question)


def _share(link: Link, channel: Channel, size: int) -> Any:
    try:
        return channel.receive("share", size)
    except ProtocolError as error:
        assert link.options is not None
        raise ProtocolError(f"the share of holder {common_name(link.options.peer)}: {error}") from None


def question_bytes(question: Question, number: int) -> bytes:
    """Return a question as canonical JSON, which both nodes must send alike.

    Args:
        question: The question.
        number: Number of the question in the run.
    """
    from protocols.tree import encode

    if question is None:
        return canonical({"number": number}).encode()
    if isinstance(question, list):
        return canonical({"number": number, "after": question}).encode()
    trees, attributes = question
    state = {"trees": [*map(encode, trees)]} if isinstance(trees, tuple) else {"tree": encode(trees)}
    return canonical({"number": number, **state, "attributes": attributes}).encode()


def send_sized(channel: Channel, step: str, data: bytes) -> None:
    """Send a message of any size: its size first.

    Args:
        channel: The channel.
        step: Label of the step.
        data: The message.
    """
    channel.send(f"{step} size", len(data).to_bytes(SIZE_BYTES, "little"))
    channel.send(step, data)


def receive_sized(channel: Channel, step: str) -> bytes:
    """Return a message of any size, whose size the peer sends first.

    Args:
        channel: The channel.
        step: Label of the step.

    Raises:
        ProtocolError: The message is too large.
    """
    size = int.from_bytes(bytes(channel.receive(f"{step} size", SIZE_BYTES)), "little")
    if size > MOST_BYTES:
        raise ProtocolError(
            f"step '{step}': the peer sent {size:,} bytes, but the limit is {MOST_BYTES:,}; propose a smaller job"
        )
    return bytes(channel.receive(step, size))


@contextmanager
def open_holders(
    identity: Identity,
    givers: Givers,
    party: int,
    job: Mapping[str, Any],
    wait: float,
    timeout: float,
    status: StatusLine,
    classical: bool = False,
    check_peer: Callable[[], object] = lambda: None,
) -> Iterator[Holders]:
    """Wait until all holders have connected and consent to the job; yield their links.

    Args:
        identity: Key and certificate of this node.
        givers: The holders and the address for them.
        party: Number of this node.
        job: The task's specification with the `Terms`; both nodes show the same.
        wait: Seconds to wait for all of them.
        timeout: Seconds of silence that end a link.
        status: Progress line.
        classical: Whether a link's key exchange may be other than post-quantum.
        check_peer: Raises LinkError if the other node has left.

    Raises:
        InputError: The address cannot be used.
        LinkError: A holder does not connect in time, or does not consent; or the other node has left.
        ProtocolError: A holder's answer is neither consent nor refusal.
    """
    data, deadline = canonical(job).encode(), time.monotonic() + wait
    more: dict[str, Any] = {"listen": givers.address, "timeout": timeout, "classical": classical}
    doors = [Door(LinkOptions(identity, peer, **more), LINK_JOB) for peer in givers.certificates]
    port = Port(
        parse_address(givers.address, lowest_port=0),
        identity,
        {door.options.peer: door.admit for door in doors},
        KEEPALIVE_SECONDS,
        streams=1,
        classical=classical,
    )
    with ExitStack() as stack:
        stack.callback(port.close)
        links = []
        for door in doors:
            name = common_name(door.options.peer)
            waiting = f"waiting for holder {name} on {port.address}"
            status.doing(waiting)
            status.log(waiting)
            with status.waiting(waiting, deadline - time.monotonic(), first=30, again=30):
                stream = door.accepted(deadline, check_peer)
            if stream is None:
                raise LinkError(
                    f"holder {name} did not connect to {port.address} within {wait:g} s (expecting certificate {name} "
                    f"{short_fingerprint(door.options.peer)}; another one is refused; check --holders)"
                )
            links.append(stack.enter_context(link_over(stream, door.options, door.hello)))
            send_sized(links[-1].channel, "job", data)
        for door, link in zip(doors, links, strict=True):
            name = common_name(door.options.peer)
            waiting = f"waiting for the consent of holder {name}"
            status.doing(waiting)
            with status.waiting(waiting, timeout, first=30, again=30):
                answer = bytes(link.channel.receive("consent", len(CONSENT)))
            if answer in REFUSALS:
                with suppress(LinkError):  # the holder's end comes next
                    link.channel.receive("consent", 0)
                raise LinkError(REFUSALS[answer].format(holder=name))
            if answer != CONSENT:
                raise ProtocolError(f"holder {name} sent an unexpected answer instead of its consent")
        status.doing("computing")
        yield Holders(party, links)


class Door:
    """Entry for one holder: accepts its first stream and refuses others. The hellos compare `job`."""

    def __init__(self, options: LinkOptions, job: Mapping[str, Any]) -> None:
        self.options = options
        self.hello = hello_for(0, job, options)
        self._outbox = outbox_for(options, self.hello)
        self._streams: queue.Queue[Stream] = queue.Queue()
        self._free: queue.Queue[None] = queue.Queue()
        self._free.put(None)
        self._closed = False

    @property
    def admit(self) -> Admit:
        """The function that admits a stream."""

        def admit(label: str) -> tuple[Outbox, Take]:
            del label
            try:
                self._free.get_nowait()
            except queue.Empty:
                raise RefusedError("this holder is connected already") from None
            return self._outbox, self._take

        return admit

    def _take(self, stream: Stream) -> None:
        self._streams.put(stream)
        if self._closed:
            self.close()

    def close(self) -> None:
        """Close the entry: cut the holder's stream unless a session has taken it, and each stream that comes later.

        The holder dials again for another session.
        """
        self._closed = True
        with suppress(queue.Empty):
            self._streams.get_nowait().cancel()

    def accepted(self, deadline: float, check_peer: Callable[[], object]) -> Stream | None:
        """Return the holder's stream, or None if it did not arrive in time.

        Args:
            deadline: The deadline, in `time.monotonic`.
            check_peer: Called several times a second; raises LinkError if the other node has left.
        """
        while True:
            left = deadline - time.monotonic()
            try:
                return self._streams.get(timeout=max(0.0, min(SLICE_SECONDS, left)))
            except queue.Empty:
                if left <= 0:
                    return None
            check_peer()
