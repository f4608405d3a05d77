"""The link: a gRPC stream to the peer as a `Channel`, from dialling to goodbye."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cryptography import x509
from google.protobuf.message import DecodeError

from parties.address import Address, parse_address
from parties.config import TIMEOUT_SECONDS, WAIT_SECONDS
from parties.emulation import Line
from parties.frames import FrameReader, FrameWriter, assemble
from parties.handshake import agree, make_hello
from parties.identity import Identity, common_name, short_fingerprint
from parties.listening import Listener
from parties.measurement import measure
from parties.outbox import Outbox, OutboxClosedError, OutboxStuckError
from parties.preflight import await_peer
from parties.transport import Stream, dial, one_line
from parties.watchdog import Watchdog
from proto.exchange_pb2 import ABORT, GOODBYE, HELLO, Frame, Hello, Kind
from smc.channel import Buffer, Channel
from smc.errors import InputError, JobMismatchError, LinkError, ProtocolError
from smc.link_shape import LinkShape

if TYPE_CHECKING:
    from smc.session import Session

KEEPALIVE_SECONDS = 10.0
GOODBYE_SECONDS = 20.0
BUFFER_BYTES = 8 * 1024 * 1024
MAX_REASON_CHARACTERS = 300
ANSWER_SECONDS = 1.0  # for the answer to a call, even if loading took all the time there was to wait
HELLO_STEP = "hello"
GRACE_SECONDS = 1.0  # for the last frame to leave before the stream is cut


@dataclass(frozen=True)
class LinkOptions:
    """How to reach the peer. Exactly one of `listen` (party 0) and `connect` (party 1) is HOST:PORT.

    `wait`: seconds until the peer must have come; `timeout`: seconds of silence in the middle of a session
    that are an error; `keepalive`: half the seconds until a frozen or vanished peer is noticed, even while it
    may be silent; `goodbye`: seconds to wait for the peer's goodbye; `buffer`: bytes that may wait to be sent.
    `shape` makes what this party sends as slow as such a link; for a slow link both parties give it. `measure`:
    find out how fast the link is before the session starts; both parties must want it, or neither.
    `label` tells the node at the other end what the stream is for. `on_listening` is told the address once the port is
    open. `meanwhile` is called once, while the connection is
    being made: the place to load what the session will need.
    """

    identity: Identity
    peer: x509.Certificate
    listen: str | None = None
    connect: str | None = None
    wait: float = WAIT_SECONDS
    timeout: float = TIMEOUT_SECONDS
    keepalive: float = KEEPALIVE_SECONDS
    goodbye: float = GOODBYE_SECONDS
    buffer: int = BUFFER_BYTES
    shape: LinkShape | None = None
    measure: bool = False
    label: str = ""
    on_listening: Callable[[str], None] | None = None
    meanwhile: Callable[[], object] | None = None

    def __post_init__(self) -> None:
        if (self.listen is None) == (self.connect is None):
            raise InputError("give one address: either to listen on or to connect to")
        for name in ("wait", "timeout", "keepalive", "goodbye", "buffer"):
            if not getattr(self, name) > 0:
                raise InputError(f"{name} must be more than 0, got {getattr(self, name)}")
        if self.peer == self.identity.certificate:
            raise InputError(f"--peer is our own certificate ({self.identity.name}); give the peer's")


class GrpcChannel(Channel):
    """A channel over one end of the stream; both ends use this class. Not for several threads at once.

    `written` is how many frames, all of the handshake, are in the stream's outbox already.
    """

    def __init__(self, stream: Stream, peer: str, timeout: float, written: int = 0) -> None:
        self._stream = stream
        self._peer = peer
        self._timeout = timeout
        self._limit = timeout  # of the present wait
        self._reader = FrameReader()
        self._writer = FrameWriter(written)
        self._step = HELLO_STEP
        self._order = threading.Lock()  # frames are numbered and queued at once, whoever aborts meanwhile
        self._last_word = threading.Lock()  # taken, for good, by whoever says goodbye or aborts
        self._watchdog = Watchdog(lambda: stream.outbox.last_taken, self._expire)

    def send(self, step: str, payload: Buffer) -> None:
        """See `Channel.send`. A message is taken whole once fewer than `buffer` bytes wait to be sent."""
        self._step = step
        try:
            self._stream.outbox.admit(self._timeout)
        except OutboxStuckError:
            raise LinkError(f"{self._peer} took nothing for {self._timeout:g} s at step '{step}'") from None
        except OutboxClosedError:
            raise self._lost() from None
        with self._order:
            for frame in self._writer.cut(step, payload):
                self._stream.outbox.append(frame)
        time.sleep(0)  # lets gRPC's thread have the interpreter now: a fifth off the latency of short messages

    def receive(self, step: str, size: int) -> Buffer:
        """See `Channel.receive`."""
        self._step = step
        return assemble(step, size, self._next_frame)

    def hear_hello(self) -> Hello:
        """The peer's first frame."""
        frame = self._next_frame()
        if frame.kind != HELLO:
            raise ProtocolError(f"the peer's first frame is {Kind.Name(frame.kind)}, expected HELLO")
        try:
            return Hello.FromString(frame.payload)
        except DecodeError:
            raise ProtocolError("the peer's hello is unreadable") from None

    def goodbye(self, first: bool, timeout: float) -> None:
        """End a good session: afterwards each party knows that the other has received everything.

        The one that is not `first` answers only when it has read all that came before, and the first one waits
        for that, so neither process exits with bytes on the way.
        """
        self._step, self._limit = "goodbye", timeout
        if first:
            self._say(GOODBYE)
        frame = self._next_frame()
        if frame.kind != GOODBYE:
            raise ProtocolError(f"the peer is at step '{frame.step}' while this party has finished")
        if not first:
            self._say(GOODBYE)
        self._last_word.acquire(blocking=False)
        self._stream.outbox.close()
        self._stream.ended.wait(timeout)

    def abort(self, reason: str) -> None:
        """Cut the stream, telling the peer why if this party has not had its last word yet."""
        if self._last_word.acquire(blocking=False) and not self._stream.ended.is_set():
            self._say(ABORT, reason[:MAX_REASON_CHARACTERS].encode(errors="replace"))
            self._stream.outbox.close()
            self._stream.ended.wait(GRACE_SECONDS)
        self._stream.cancel()

    def close(self) -> None:
        """Let go of the stream."""
        self._watchdog.stop()
        self._stream.outbox.close(discard=True)

    def _say(self, kind: Kind, payload: bytes = b"") -> None:
        with self._order:
            self._stream.outbox.append(self._writer.write(kind, self._step, payload))

    def _next_frame(self) -> Frame:
        self._watchdog.arm(self._limit)
        data = self._stream.take()
        self._watchdog.disarm()
        if data is None:
            raise self._lost()
        frame = self._reader.read(data)
        if frame.kind == ABORT:
            self._last_word.acquire(blocking=False)
            reason = one_line(frame.payload.decode(errors="replace"))
            raise LinkError(f"{self._peer} gave up at step '{frame.step}': {reason}")
        return frame

    def _expire(self) -> None:
        self.abort(f"LinkError: waited {self._limit:g} s in vain")

    def _lost(self) -> LinkError:
        if self._watchdog.expired:
            return LinkError(f"{self._peer} was silent for {self._limit:g} s at step '{self._step}'")
        return LinkError(f"lost the peer {self._peer} at step '{self._step}': {self._stream.cause}")


class Link:
    """A ready link: the peer is the pinned one and wants the same job.

    `measured` is the link's speed if that was asked for: the same numbers on both sides.
    """

    def __init__(
        self, party: int, channel: GrpcChannel, identifier: bytes, goodbye: float, measured: LinkShape | None
    ) -> None:
        self.party = party
        self.channel = channel
        self.identifier = identifier
        self.measured = measured
        from smc.session import Session  # loads numpy: not before the peer has been called

        self._goodbye = goodbye
        self._finished = False
        self._session = Session(party, channel, identifier)

    def session(self) -> Session:
        """The session over this link: always the same one, since an identifier may serve only once."""
        return self._session

    def finish(self) -> None:
        """Exchange goodbyes, once: then both parties have everything. `LinkError` if the peer says none in time."""
        if not self._finished:
            self._finished = True
            self.channel.goodbye(first=self.party == 0, timeout=self._goodbye)


@contextmanager
def open_link(options: LinkOptions, job: Mapping[str, Any]) -> Iterator[Link]:
    """Reach the peer, agree on the job, and yield the link; finish it on the way out, or abort on an exception.

    Raises `InputError` for a bad address or a taken port, `JobMismatchError` on both sides if the jobs differ,
    `LinkError` if the peer does not come, is not the pinned one, does not trust us, or is lost.
    """
    party = 0 if options.listen is not None else 1
    hello = make_hello(party, job, options.measure)
    with _open_stream(options, hello) as stream, link_over(stream, options, hello) as link:
        yield link


@contextmanager
def link_over(stream: Stream, options: LinkOptions, hello: Hello) -> Iterator[Link]:
    """The link over a stream that is there and has our hello on its way; finished on the way out, or aborted."""
    channel = GrpcChannel(stream, common_name(options.peer), options.timeout, written=1)
    try:
        identifier = _shake_hands(channel, hello, options.goodbye)
        measured = measure(channel, hello.party) if options.measure else None
        link = Link(hello.party, channel, identifier, options.goodbye, measured)
        yield link
        link.finish()
    except BaseException as error:
        channel.abort(_public_reason(error))
        raise
    finally:
        channel.close()


@contextmanager
def _open_stream(options: LinkOptions, hello: Hello) -> Iterator[Stream]:
    """The stream to the pinned peer, dialled or accepted on our port; our hello is on its way already."""
    if options.connect is not None:
        with _dialled(options, parse_address(options.connect), hello) as stream:
            yield stream
        return
    address = parse_address(options.listen or "", lowest_port=0)
    listener = Listener(address, options.identity, options.peer, options.keepalive, outbox_for(options, hello))
    try:
        if options.on_listening is not None:
            options.on_listening(str(listener.address))
        if options.meanwhile is not None:
            options.meanwhile()
        accepted = listener.accept(options.wait)
        if accepted is None:
            raise LinkError(
                f"no trusted peer connected to {listener.address} within {options.wait:g} s "
                f"(expecting certificate {common_name(options.peer)} {short_fingerprint(options.peer)})"
            )
        yield accepted
    finally:
        listener.close()


@contextmanager
def _dialled(options: LinkOptions, address: Address, hello: Hello) -> Iterator[Stream]:
    """The stream to the peer at `address`: dialled at once, as it is there as a rule, and else when it is.

    Only if the first call fails is the peer examined, waited for and dialled again.
    """

    def call() -> AbstractContextManager[Stream]:
        outbox = outbox_for(options, hello)
        return dial(address, options.identity, options.peer, options.keepalive, outbox, options.wait, options.label)

    deadline = time.monotonic() + options.wait
    with call() as stream:
        if options.meanwhile is not None:
            options.meanwhile()
        if stream.reached(max(ANSWER_SECONDS, deadline - time.monotonic())):
            yield stream
            return
    await_peer(address, options.identity, options.peer, options.wait, deadline)
    with call() as stream:
        yield stream


def outbox_for(options: LinkOptions, hello: Hello) -> Outbox:
    """An outbox with our hello in it: it leaves as soon as there is a connection."""
    outbox = Outbox(options.buffer, Line(options.shape) if options.shape is not None else None)
    outbox.append(FrameWriter().write(HELLO, HELLO_STEP, hello.SerializeToString()))
    return outbox


def _shake_hands(channel: GrpcChannel, hello: Hello, timeout: float) -> bytes:
    """Hear the peer's hello and return the session identifier."""
    theirs = channel.hear_hello()
    try:
        return agree(hello, theirs)
    except JobMismatchError:
        with suppress(LinkError):  # part in order, so that the peer has our hello and sees the same difference
            channel.goodbye(first=hello.party == 0, timeout=timeout)
        raise


def _public_reason(error: BaseException) -> str:
    """What the peer may know of our error. Others than the link's own may quote private data."""
    match error:
        case LinkError():
            return f"{type(error).__name__}: {error}"
        case KeyboardInterrupt():
            return "interrupted"
        case InputError():
            return "an error in its own input"
        case _:
            return "internal error"
