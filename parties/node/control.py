"""The standing link between two nodes, over which each tells the other what it has to say about jobs.

The connecting node dials until it is told to stop; the listening node takes the newest stream. Both sides send all
that is open as soon as there is a link, then every change, and a sign of life now and then. A statement goes as two
messages, its size and itself; size 0 is the sign of life.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace

import numpy as np

from parties.base.own_trouble import own_trouble
from parties.base.rate import Rate
from parties.link.handshake import make_hello
from parties.link.listening import Take
from parties.link.opening import Link, link_over, open_link, outbox_for
from parties.link.options import LinkOptions
from parties.link.outbox import Outbox
from parties.link.transport import Stream, Wire
from parties.node.log.heads import RolledBackError
from parties.node.log.statement import MAX_BYTES
from parties.node.records.sealed import errors
from smc.errors import LinkError, ProtocolError, SmcError
from smc.session import Session

LABEL = "control"
JOB = {"protocol": "node", "statements": 4}  # the form of what is said: nodes that know another one are told at once
ALIVE_SECONDS = 5.0  # between signs of life
STOPPING = "the node is stopping"  # what a node that hangs up says
UNWRITTEN = "this node cannot write its records now"
SILENCE_SECONDS = 20.0  # without one: the link is dead
DIAL_SECONDS = 5.0
STOP_SECONDS = 5.0
LONGEST_PAUSE = 10.0  # between attempts to dial
STATEMENTS_AT_ONCE, STATEMENTS_A_SECOND = 500, 20  # that are heard of a peer; what is above waits, and so does the peer
STATEMENT_BYTES = 16 << 10  # so many more count as one more statement


class Control:
    """One node's end. `hear` is called with each statement of the peer, `greet` names what to speak of on a new link.

    What is said is named by a key, and `read` only when it is sent: so nothing is overtaken by what was true before.

    `changed` is told when the link comes up, with the dialling peer's address, or breaks; `troubled` why there is none,
    when that changes. `trouble` says it at any time, and `tls` and `group` what protects the present link or protected
    the last.

    `meet` is called first on each link, and tells why nothing may be said on it, if so; `held` is that of the last one.
    `successor` are other options, by turns with which it dials; once it is connected by them, `succeeded` is called.
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
        self._outgoing: queue.Queue[str | None] | None = None  # of the link that is up
        self._link: Link | None = None  # that is up
        self._stream: Stream | None = None
        self._stopped = threading.Event()
        self._rate = Rate(STATEMENTS_AT_ONCE, STATEMENTS_A_SECOND)
        self._dialler = threading.Thread(target=self._dial, name="smc-control", daemon=True)
        self._down = threading.Event()  # no conversation is under way
        self._down.set()
        waiting = "it has not dialled since this node was started, or with another certificate than is named here"
        self.trouble = "not connected yet" if options.connect is not None else waiting
        self.tls, self.group = "", ""
        self.held = "the two nodes have not compared their records yet"

    @property
    def connected(self) -> bool:
        """True if there is a link now."""
        return self._outgoing is not None

    @property
    def connection(self) -> Wire | None:
        """The connection of the link that is up, if we have dialled it: sessions of little can do with it."""
        link = self._link
        return None if link is None else link.connection

    def start(self) -> None:
        """Begin to dial, if this node is the one that connects."""
        if self._options.connect is not None:
            self._dialler.start()

    def admit(self) -> tuple[Outbox, Take]:
        """Return what the peer's stream will be given, and who takes it, for the listening node's port."""
        hello = make_hello(0, JOB)

        def take(stream: Stream) -> None:
            def converse() -> None:
                with self._lock:
                    older, self._stream = self._stream, stream
                if older is not None:
                    older.cancel()  # the peer has dialled anew: it knows better which of the two is alive
                try:
                    with link_over(stream, self._options, hello) as link:
                        self._converse(link, stream.address)
                except Exception as error:  # whatever it is, the peer will dial anew
                    self._failed(error)

            threading.Thread(target=converse, name="smc-control", daemon=True).start()

        return outbox_for(self._options, hello), take

    def say(self, key: str) -> None:
        """Tell the peer, if there is a link; if not, it will hear when there is one."""
        with self._lock:
            if self._outgoing is not None:
                self._outgoing.put(key)

    def succeed(self, options: LinkOptions) -> None:
        """Dial and talk by these options from now on."""
        self._options, self._successor = options, None

    def stop(self) -> None:
        """Hang up, and dial no more; returns when the link is down, or after `STOP_SECONDS`."""
        self._stopped.set()
        with self._lock:
            if self._outgoing is not None:
                self._outgoing.put(None)
        self._down.wait(STOP_SECONDS)

    def _dial(self) -> None:
        pause, tries = 0.2, 0
        while not self._stopped.wait(pause):
            begun = time.monotonic()
            options, tries = self._successor if tries % 2 and self._successor else self._options, tries + 1
            try:
                with open_link(options, JOB) as link:
                    if options is not self._options:
                        self.succeed(options)
                        self._succeeded()
                    self._converse(link)
            except Exception as error:  # whatever it is, the link must come back
                self._failed(error)
            pause = 0.2 if time.monotonic() - begun > DIAL_SECONDS + 1 else min(2 * pause, LONGEST_PAUSE)

    def _failed(self, error: Exception) -> None:
        """Keep why there is no link. Other errors than our own may quote anything."""
        why = str(error) if isinstance(error, SmcError) else f"internal error: {type(error).__name__}"
        if isinstance(error, LinkError) and why.endswith(f": {STOPPING}"):
            why = f"it hung up: {STOPPING}"
        if why != self.trouble:
            self.trouble = why
            self._troubled(why)

    def _converse(self, link: Link, address: str | None = None) -> None:
        """Talk until the link breaks (which is an error) or the node stops (which the peer is told)."""
        with link.session().phase("heads"):
            self.held = self._meet(link.session())
        if self.held:
            with suppress(LinkError):  # part in order: the peer finds the same
                link.finish()
            raise RolledBackError(self.held)
        outgoing: queue.Queue[str | None] = queue.Queue()
        over = threading.Event()
        teller = threading.Thread(
            target=_tell, args=(link, outgoing, self._read, over), name="smc-control-out", daemon=True
        )
        with self._lock:
            self._outgoing, self._link = outgoing, link
            self._down.clear()
            if self._stopped.is_set():  # while the link was being made
                outgoing.put(None)
        teller.start()
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
            self._failed(error)  # before anybody hears that the link is down
            raise
        finally:
            over.set()
            with self._lock:
                current = self._outgoing is outgoing
                if current:
                    self._outgoing = self._link = None
            outgoing.put("")
            teller.join(SILENCE_SECONDS)
            if current:
                self._changed(False, None)
                self._down.set()


def _tell(link: Link, outgoing: queue.Queue[str | None], read: Callable[[str], bytes], over: threading.Event) -> None:
    """Send what is put into the queue until there is nothing more to say, in a thread of its own."""
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
                )  # with a new link all is said again
                return
            session.send("statement.size", np.array([len(statement)], dtype=np.int64))
            if statement:
                session.send("statement", np.frombuffer(statement, dtype=np.uint8))
    except LinkError:
        return  # the other thread notices too, and tells why


def _receive(session: Session) -> bytes:
    """Return the peer's next statement; empty for a sign of life."""
    size = int(session.receive("statement.size", np.int64, (1,))[0])
    if not 0 <= size <= MAX_BYTES:
        raise ProtocolError(f"the peer announced a statement of {size} bytes, at most {MAX_BYTES} are allowed")
    return session.receive("statement", np.uint8, (size,)).tobytes() if size else b""


def control_options(options: LinkOptions) -> LinkOptions:
    """Return a node's way to its peer, made fit for the standing link."""
    return replace(options, label=LABEL, wait=DIAL_SECONDS, timeout=SILENCE_SECONDS, shape=None, kernels=())
