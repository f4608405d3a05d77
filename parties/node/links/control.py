"""Standing link between two nodes, which carries their statements about jobs.

The connecting node dials until it is stopped; the listening node takes the newest stream. Once there is a link, both
sides send the statements of all open jobs, then every change, and a sign of life at intervals. A statement takes two
messages: its size and its content. Size 0 is the sign of life.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace

import numpy as np

from parties.base.machine_failure import own_trouble
from parties.base.rate import Rate
from parties.link.handshake import make_hello
from parties.link.listening import Take
from parties.link.opening import Link, link_over, open_link, outbox_for
from parties.link.options import LinkOptions
from parties.link.outbox import Outbox
from parties.link.transport import Stream, Wire
from parties.node.log.heads import RolledBackError, Shown, receive
from parties.node.log.statement import MAX_BYTES
from parties.node.records.sealed import errors
from smc.errors import LinkError, ProtocolError, SmcError
from smc.session import Session

LABEL = "control"
JOB = {"protocol": "node", "statements": 5}  # wire form of statements: a node with another form is refused at once
ALIVE_SECONDS = 5.0  # between signs of life
STOPPING = "the node is stopping"  # abort message of a node that hangs up
UNWRITTEN = "this node cannot write its records now"
SILENCE_SECONDS = 20.0  # without a sign of life: the link is dead
DIAL_SECONDS = 5.0
STOP_SECONDS = 5.0
LONGEST_PAUSE = 10.0  # between attempts to dial
# statements read from a peer; more than these wait, and so does the peer
STATEMENTS_AT_ONCE, STATEMENTS_A_SECOND = 500, 20
STATEMENT_BYTES = 16 << 10  # each further 16 KiB count as one more statement


class _HungUpError(LinkError):
    """This side has ended the link at once."""


class Control:
    """One node's end of the standing link.

    `hear` is called with each statement of the peer. `greet` returns the keys of statements to send on a new link. A
    statement is queued by its key. `read` returns its text when it is sent, so an outdated statement never overtakes a
    newer one.

    `changed` is called when the link comes up (True) or breaks (False). It also gets the address of a peer that
    dialled, and None otherwise. `troubled` is called with the reason why there is no link, when the reason changes;
    `trouble` holds the present reason. `tls` and `group` name the protection of the present link, or of the last one.

    `meet` is called first on each link. It returns the reason why the link must end before any statement, or "". `held`
    is the reason on the last link. `successor` are options with the peer's next certificate; the dialler tries both in
    turn. `succeeded` is called once a link is made with `successor`.
    """

    def __init__(
        self,
        options: LinkOptions,
        hear: Callable[[bytes], None],
        greet: Callable[[], Iterable[str]],
        read: Callable[[str], bytes],
        changed: Callable[[bool, str | None], None],
        troubled: Callable[[str], None] = lambda _: None,
        meet: Callable[[Session], str] = lambda _: "",
        successor: LinkOptions | None = None,
        succeeded: Callable[[], None] = lambda: None,
    ) -> None:
        self._options = options
        self._hear, self._greet, self._read = hear, greet, read
        self._changed, self._troubled, self._meet = changed, troubled, meet
        self._successor, self._succeeded = successor, succeeded
        self._lock = threading.Lock()
        self._outgoing: queue.Queue[str | None] | None = None  # of the present link
        self._link: Link | None = None  # the present link
        self._stream: Stream | None = None
        self._stopped = threading.Event()
        self._rate = Rate(STATEMENTS_AT_ONCE, STATEMENTS_A_SECOND)
        self._dialler = threading.Thread(target=self._dial, name="smc-control", daemon=True)
        self._down = threading.Event()  # no conversation is under way
        self._down.set()
        waiting = "it has not dialled since this node started, or only with a certificate that is not configured here"
        self.trouble = "not connected yet" if options.connect is not None else waiting
        self.tls, self.group = "", ""
        self.held = "the two nodes have not compared their records yet"

    @property
    def connected(self) -> bool:
        """True if there is a link now."""
        return self._outgoing is not None

    @property
    def connection(self) -> Wire | None:
        """The present link's connection if this node has dialled it; short sessions can share it."""
        link = self._link
        return None if link is None else link.connection

    def start(self) -> None:
        """Start to dial, if this node is the connecting one."""
        if self._options.connect is not None:
            self._dialler.start()

    def admit(self) -> tuple[Outbox, Take]:
        """Return the outbox for the peer's stream and the function that takes it, for the listening node's port."""
        hello = make_hello(0, JOB)

        def take(stream: Stream) -> None:
            def converse() -> None:
                with self._lock:
                    older, self._stream = self._stream, stream
                if older is not None:
                    older.cancel()  # the peer has dialled anew, so it considers the older stream dead
                try:
                    with link_over(stream, self._options, hello) as link:
                        self._converse(link, stream.address)
                except Exception as error:  # whatever the error, the peer will dial anew
                    self._failed(error)

            threading.Thread(target=converse, name="smc-control", daemon=True).start()

        return outbox_for(self._options, hello), take

    def say(self, key: str) -> None:
        """Send the statement of this key if there is a link. Otherwise `greet` covers it on the next link."""
        with self._lock:
            if self._outgoing is not None:
                self._outgoing.put(key)

    def succeed(self, options: LinkOptions) -> None:
        """Dial and converse with these options from now on."""
        self._options, self._successor = options, None

    def stop(self) -> None:
        """Hang up and stop dialling; returns when the link is down, or after `STOP_SECONDS`."""
        self._stopped.set()
        with self._lock:
            if self._outgoing is not None:
                self._outgoing.put(None)
        self._down.wait(STOP_SECONDS)

    def _dial(self) -> None:
        pause, attempt = 0.2, 0
        while not self._stopped.wait(pause):
            began_at = time.monotonic()
            options, attempt = self._successor if attempt % 2 and self._successor else self._options, attempt + 1
            try:
                with open_link(options, JOB) as link:
                    if options is not self._options:
                        self.succeed(options)
                        self._succeeded()
                    self._converse(link)
            except Exception as error:  # whatever the error, the link must come back
                if self._successor is None or attempt % 2 == 0:  # else the peer's other certificate comes next
                    self._failed(error)
            pause = 0.2 if time.monotonic() - began_at > DIAL_SECONDS + 1 else min(2 * pause, LONGEST_PAUSE)

    def _failed(self, error: Exception) -> None:
        """Keep the reason why there is no link. The text of unexpected errors is dropped: it may quote anything."""
        why = str(error) if isinstance(error, SmcError) else f"internal error: {type(error).__name__}"
        if isinstance(error, LinkError) and why.endswith(f": {STOPPING}"):
            why = f"it hung up: {STOPPING}"
        if why != self.trouble:
            self.trouble = why
            self._troubled(why)

    def _converse(self, link: Link, address: str | None = None) -> None:
        """Converse until the link breaks, which raises an error, or the node stops, which is announced to the peer."""
        with link.session().phase("heads"):
            self.held = self._meet(link.session())
        if self.held:
            with suppress(LinkError):  # part in order: the peer comes to the same finding
                link.finish()
            raise RolledBackError(self.held)
        outgoing: queue.Queue[str | None] = queue.Queue()
        over = threading.Event()
        sender = threading.Thread(
            target=_tell, args=(link, outgoing, self._read, over), name="smc-control-out", daemon=True
        )
        with self._lock:
            self._outgoing, self._link = outgoing, link
            self._down.clear()
            if self._stopped.is_set():  # stopped while the link was being made
                outgoing.put(None)
        sender.start()
        try:
            for key in self._greet():
                outgoing.put(key)
            self.trouble, self.tls, self.group = "", link.tls, link.group
            self._changed(True, address)
            with link.session().phase("statements"):
                while True:
                    statement = _receive(link.session())
                    if delay := self._rate.delay(1 + len(statement) / STATEMENT_BYTES):
                        self._stopped.wait(delay)
                    if statement:
                        self._hear(statement)
        except Exception as error:
            self._failed(error)  # before any caller learns that the link is down
            raise
        finally:
            over.set()
            with self._lock:
                current = self._outgoing is outgoing
                if current:
                    self._outgoing = self._link = None
            outgoing.put("")
            sender.join(SILENCE_SECONDS)
            if current:
                self._changed(False, None)
                self._down.set()


def _tell(link: Link, outgoing: queue.Queue[str | None], read: Callable[[str], bytes], over: threading.Event) -> None:
    """Send the queued statements until the end of the queue, in a separate thread."""
    session = link.session()
    try:
        while not over.is_set():
            try:
                key = outgoing.get(timeout=ALIVE_SECONDS)
            except queue.Empty:
                key = ""  # a sign of life
            if key is None:
                link.channel.abort(STOPPING)
                return
            try:
                statement = read(key) if key else b""
            except errors() as error:
                link.channel.abort(
                    f"{UNWRITTEN}: {own_trouble(error)}".rstrip(": ")
                )  # a new link sends all statements again
                return
            session.send("statement.size", np.array([len(statement)], dtype=np.int64))
            if statement:
                session.send("statement", np.frombuffer(statement, dtype=np.uint8))
    except LinkError:
        return  # the other thread notices too, and reports the reason


def _receive(session: Session) -> bytes:
    """Return the peer's next statement; empty for a sign of life."""
    size = int(session.receive("statement.size", np.int64, (1,))[0])
    if not 0 <= size <= MAX_BYTES:
        raise ProtocolError(f"the peer announced a statement of {size} bytes, at most {MAX_BYTES} are allowed")
    return session.receive("statement", np.uint8, (size,)).tobytes() if size else b""


def shown_by_peer(options: LinkOptions) -> Shown:
    """Dial a peer, and return the heads that it shows first on a standing link. It receives nothing, and logs nothing.

    Raise SmcError if there is no link.
    """
    shown: list[Shown] = []
    with suppress(_HungUpError), open_link(control_options(options), JOB) as link, link.session().phase("heads"):
        shown.append(receive(link.session(), Shown))
        raise _HungUpError(STOPPING)  # without a goodbye: the peer waits for our heads
    return shown[0]


def control_options(options: LinkOptions) -> LinkOptions:
    """Return a copy of a peer's link options with the label and time limits of the standing link."""
    return replace(options, label=LABEL, wait=DIAL_SECONDS, timeout=SILENCE_SECONDS, shape=None, kernels=())
