"""A stream of frames as a `Channel`: numbered, with deadlines, from the hello to the goodbye."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

from google.protobuf.message import DecodeError
from typing_extensions import override

from parties.base.machine_failure import OURS
from parties.link.exchange_pb2 import ABORT, GOODBYE, HELLO, Hello, Kind
from parties.link.frames import FrameReader, FrameWriter, Received, assemble
from parties.link.outbox import OutboxClosedError, OutboxStuckError
from parties.link.transport import Stream, one_line
from smc.channel import Buffer, Channel
from smc.errors import LinkError, ProtocolError

LOOK_SECONDS = 0.1  # largest delay of the watchdog


class Watchdog:
    """Calls `expire` once, in a separate thread, if an armed wait exceeds its timeout: gRPC's reads have no deadline.

    Arming costs two stores; the thread checks periodically whether the deadline has passed. `progress` returns the time
    at which the link last made progress; the wait counts from there, so a slow link is not a dead one.
    """

    def __init__(self, progress: Callable[[], float], expire: Callable[[], None]) -> None:
        self._progress = progress
        self._expire = expire
        self._timeout = math.inf
        self._since = math.inf
        self._stopped = threading.Event()
        self.expired = False
        threading.Thread(target=self._watch, name="smc-watchdog", daemon=True).start()

    def arm(self, timeout: float) -> None:
        """Start a wait of at most `timeout` seconds."""
        self._timeout = timeout
        self._since = time.monotonic()

    def disarm(self) -> None:
        """Stop watching: the wait that was armed is over."""
        self._since = math.inf

    def stop(self) -> None:
        """End the thread of the watchdog."""
        self._stopped.set()

    def _watch(self) -> None:
        while not self._stopped.wait(LOOK_SECONDS):
            if time.monotonic() > max(self._since, self._progress()) + self._timeout:
                self.expired = True
                self._expire()
                return


MAX_REASON_CHARACTERS = 300
HELLO_STEP = "hello"
GRACE_SECONDS = 3.0  # for the last frame to be read before the stream is cut: the peer may still be sending


class PeerTroubleError(LinkError):
    """The peer ended the session because of trouble of its own machine."""


class GrpcChannel(Channel):
    """A channel over one end of the stream; both ends use this class. Only one thread at a time may use it.

    `written` is the number of frames that are in the stream's outbox at the start: those of the handshake.
    """

    def __init__(self, stream: Stream, peer: str, timeout: float, written: int = 0) -> None:
        self._stream = stream
        self._peer = peer
        self._timeout = timeout
        self._limit = timeout  # of the present wait
        self._reader = FrameReader()
        self._writer = FrameWriter(written)
        self._step = HELLO_STEP
        self._order = threading.Lock()  # frames are numbered and queued in one step, even while another thread aborts
        self._last_word = threading.Lock()  # taken for good by a goodbye or an abort
        self._parting = 0.0  # seconds that the stream may take to end after a goodbye
        self._watchdog = Watchdog(lambda: stream.outbox.last_taken, self._expire)

    @override
    def send(self, step: str, payload: Buffer) -> None:
        """Send a message, as `Channel.send`. It is admitted whole once fewer than `buffer` bytes wait to be sent."""
        self._step = step
        try:
            self._stream.outbox.admit(self._timeout)
        except OutboxStuckError:
            raise LinkError(f"{self._peer} accepted no data for {self._timeout:g} s at step '{step}'") from None
        except OutboxClosedError:
            raise self._ended() from None
        with self._order:
            is_sent = [self._stream.outbox.append(frame) for frame in self._writer.cut(step, payload)]
        if not all(is_sent):
            time.sleep(0)  # lets gRPC's thread run now: a fifth off the latency of short messages

    @override
    def receive(self, step: str, size: int) -> Buffer:
        self._step = step
        return assemble(step, size, self._next_frame)

    @property
    def ended(self) -> threading.Event:
        """An event, set once either party has ended the stream."""
        return self._stream.ended

    def hear_hello(self) -> Hello:
        """Return the hello in the peer's first frame. Raise ProtocolError if it holds no hello."""
        frame = self._next_frame()
        if frame.kind != HELLO:
            raise ProtocolError(f"the peer's first frame is {Kind.Name(frame.kind)}, expected HELLO")
        try:
            return Hello.FromString(bytes(frame.payload))
        except DecodeError:
            raise ProtocolError("the peer's hello is unreadable") from None

    def goodbye(self, first: bool, timeout: float, word: bytes = b"") -> bytes:
        """Run the closing handshake. Raise ProtocolError if the peer is at an earlier step, LinkError if it is silent.

        The first party sends its goodbye. The other party reads all earlier messages and the goodbye, then answers.
        After this method, the peer has received all earlier messages. The second party's answer may still be in
        transit: `part` waits for it.

        Args:
            first: Whether this party says goodbye first.
            timeout: Seconds to wait for the peer's goodbye.
            word: This party's closing word.

        Returns:
            The peer's closing word.
        """
        self._step, self._limit = "goodbye", timeout
        if first:
            self._say(GOODBYE, word)
        frame = self._next_frame()
        if frame.kind != GOODBYE:
            raise ProtocolError(f"the peer is at step '{frame.step}' while this party has finished")
        if not first:
            self._say(GOODBYE, word)
        self._last_word.acquire(blocking=False)
        self._stream.outbox.close()
        self._parting = timeout
        return bytes(frame.payload)

    def part(self) -> None:
        """Wait after a goodbye, for its timeout at most, until the stream is over: its last frames must leave."""
        if self._parting:
            self._stream.ended.wait(self._parting)
            self._parting = 0.0

    def abort(self, reason: str) -> None:
        """Cut the stream, and send the peer the reason unless a goodbye or an abort has already ended the session.

        The reason leaves before the messages that wait to be sent, which are dropped.
        """
        if self._last_word.acquire(blocking=False) and not self._stream.ended.is_set():
            with self._order:
                reason = reason[:MAX_REASON_CHARACTERS]
                self._stream.outbox.cut(self._writer.write(ABORT, self._step, reason.encode(errors="replace")))
            self._stream.ended.wait(GRACE_SECONDS)
        self._stream.cancel()

    def close(self) -> None:
        """End the stream, and release its threads and buffers."""
        self._watchdog.stop()
        self._stream.outbox.close(discard=True)

    def _say(self, kind: Kind, payload: bytes = b"") -> None:
        with self._order:
            self._stream.outbox.append(self._writer.write(kind, self._step, payload))

    def _next_frame(self, step: str = "", left: int = 0) -> Received:
        self._watchdog.arm(self._limit)
        data = self._stream.take()
        self._watchdog.disarm()
        if data is None:
            raise self._lost()
        frame = self._reader.read(data, step, left)
        if frame.kind == ABORT:
            self._last_word.acquire(blocking=False)
            reason = one_line(bytes(frame.payload).decode(errors="replace"))
            kind = PeerTroubleError if reason.startswith(f"{OURS}: ") else LinkError
            raise kind(f"{self._peer} gave up at step '{frame.step}': {reason}")
        return frame

    def _expire(self) -> None:
        self.abort(f"waited {self._limit:g} s in vain")

    def _ended(self) -> LinkError:
        """Return the reason why the stream is over; the peer's may stand behind messages that are not read yet."""
        try:
            while not self._last_word.locked():
                self._next_frame()
        except LinkError as error:
            return error
        return self._lost()

    def _lost(self) -> LinkError:
        if self._watchdog.expired:
            return LinkError(f"{self._peer} was silent for {self._limit:g} s at step '{self._step}'")
        return LinkError(f"lost the peer {self._peer} at step '{self._step}': {self._stream.cause}")
