"""The link to the peer from dialling to goodbye: opening, agreement, and handover with its session."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any

from parties.base.address import Address, parse_address
from parties.base.machine_failure import OURS, own_trouble
from parties.link import tls
from parties.link.channel import HELLO_STEP, GrpcChannel
from parties.link.data_connection import data_connection
from parties.link.emulation import Line
from parties.link.exchange_pb2 import HELLO, Hello
from parties.link.frames import FrameWriter
from parties.link.handshake import agree, make_hello
from parties.link.identity import common_name, short_fingerprint
from parties.link.listening import Listener
from parties.link.measurement import MeteredChannel, measure
from parties.link.options import LinkOptions
from parties.link.outbox import Outbox
from parties.link.pace import agreed_pace, own_pace
from parties.link.preflight import await_peer, unreached
from parties.link.transport import Stream, Wire, dial
from smc.errors import InputError, JobMismatchError, JointRefusalError, LinkError, ProtocolError, ShardError, SmcError
from smc.link_shape import LinkShape
from smc.meter import Cost

if TYPE_CHECKING:
    from smc.session import Session


ANSWER_SECONDS = 1.0  # for the answer to a call, even if loading used up the whole waiting time


class Link:
    """A ready link: the peer is the pinned one and has the same job.

    `measured` is the link's speed if it was measured. `pace` is that of the slower machine, as a factor of the usual
    machine's time. Both sides have the same numbers. `measuring` is the cost of the measurement. `tls` is the version
    that protects the link, if this end knows it, and `group` that of its key exchange. `options` are those with which
    this party has opened the link.
    """

    def __init__(
        self,
        party: int,
        channel: GrpcChannel,
        identifier: bytes,
        goodbye: float,
        measured: LinkShape | None,
        tls: str = "",
        group: str = "",
        pace: float = 1.0,
        measuring: Cost | None = None,
        options: LinkOptions | None = None,
        connection: Wire | None = None,
    ) -> None:
        self.party = party
        self.options, self.connection = options, connection
        self.tls, self.group = tls, group
        self.channel = channel
        self.identifier = identifier
        self.measured, self.pace, self.measuring = measured, pace, measuring
        from smc.session import Session  # loads numpy: not before the peer has been called

        self._goodbye = goodbye
        self._finished = False
        self._session = Session(party, channel, identifier)

    def session(self) -> Session:
        """Return the session over this link: always the same one, since an identifier may serve only once."""
        return self._session

    def finish(self, digest: bytes = b"") -> None:
        """Exchange goodbyes, so that both parties know that the other has everything. A second call does nothing.

        Party 0 sends its goodbye first. So party 1 could repeat the digest of party 0, whatever its own result.

        Args:
            digest: Digest of the common result.

        Raises:
            LinkError: The peer's goodbye is late.
            ProtocolError: The digests of the parties differ; both parties raise it.
        """
        if not self._finished:
            self._finished = True
            theirs = self.channel.goodbye(first=self.party == 0, timeout=self._goodbye, word=digest)
            if theirs != digest:
                raise ProtocolError("the two parties have come to different results: do not rely on any of them")


@contextmanager
def open_link(options: LinkOptions, job: Mapping[str, Any]) -> Iterator[Link]:
    """Reach the peer, agree on the job, and yield the link; finish it on the way out, or abort on an exception.

    Kernels are compiled before: no peer waits for that, no deadline runs and no meter counts it.

    Args:
        options: Options of the link.
        job: The job, as JSON values.

    Raises:
        InputError: An address is bad or a port is taken.
        JobMismatchError: The jobs differ; raised on both sides.
        LinkError: The peer does not come, is not the pinned one, does not trust us, or is lost.
    """
    from smc.kernels import warm  # loads LLVM, which a mere search for a peer does not need

    warm.warm(options.kernels, options.on_compile or warm.on_standard_error)
    party = 0 if options.listen is not None else 1
    hello = hello_for(party, job, options)
    with _open_stream(options, lambda: outbox_for(options, hello)) as stream, link_over(stream, options, hello) as link:
        yield link


def decline(options: LinkOptions) -> None:
    """Tell a waiting peer that this party gives up because of its own input; no error if there is no peer.

    The peer gets no other information, and is dialled only once. A listening party waits `options.wait` seconds for it.
    """
    outbox = Outbox(options.buffer)
    with suppress(SmcError), _open_stream(options, lambda: outbox, again=False) as stream:
        GrpcChannel(stream, common_name(options.peer), options.timeout).abort(_public_reason(InputError()))


def hello_for(party: int, job: Mapping[str, Any], options: LinkOptions) -> Hello:
    """Return our hello. With `options.measure` it states this machine's time, in hundredths of the usual machine's.

    Args:
        party: Number of this party.
        job: The job.
        options: Options of the link.
    """
    pace = own_pace() if options.measure else 0
    return make_hello(party, job, options.measure, pace, options.takes_data_connection)


@contextmanager
def link_over(stream: Stream, options: LinkOptions, hello: Hello) -> Iterator[Link]:
    """Yield the link over an open stream, on which our hello is sent already. The link is finished or aborted at exit.

    If the block raises a JointRefusalError, the peer must refuse equally, else ProtocolError is raised.

    Args:
        stream: The stream.
        options: Options of the link.
        hello: Our hello.
    """
    channel = control = GrpcChannel(stream, common_name(options.peer), options.timeout, written=1)
    opened = ExitStack()
    try:
        identifier, theirs = _shake_hands(channel, hello, options.goodbye)
        if hello.data_connection and theirs.data_connection:
            channel = opened.enter_context(data_connection(control, stream, options))
        measured, pace, measuring = None, 1.0, None
        if options.measure:
            pace, metered = agreed_pace(hello.pace, theirs.pace), MeteredChannel(channel)
            measured, measuring = measure(metered, hello.party), metered.cost
        of_stream = (stream.tls, stream.group, pace, measuring, options, stream.connection)
        link = Link(hello.party, channel, identifier, options.goodbye, measured, *of_stream)
        try:
            yield link
        except JointRefusalError as refusal:
            link.finish(hashlib.sha256(str(refusal).encode()).digest())
            raise
        link.finish()
        channel.part()
    except BaseException as error:
        channel.part()
        channel.abort(_public_reason(error))
        raise
    finally:
        opened.close()
        control.close()


@contextmanager
def _open_stream(options: LinkOptions, filled: Callable[[], Outbox], again: bool = True) -> Iterator[Stream]:
    """Yield the stream to the pinned peer, dialled or accepted on our port.

    `filled` makes the outbox, whose content is then on its way. `again` permits further calls if the first one fails.
    """
    if options.connect is not None:
        with _dialled(options, parse_address(options.connect), filled, again) as stream:
            yield stream
        return
    address = parse_address(options.listen or "", lowest_port=0)
    listener = Listener(
        address, options.identity, options.peer, options.keepalive, filled(), options.window, options.classical
    )
    try:
        if options.on_listening is not None:
            options.on_listening(str(listener.address))
        if options.meanwhile is not None:
            options.meanwhile()
        accepted = listener.accept(options.wait)
        if accepted is None:
            raise LinkError(
                f"no trusted peer connected to {listener.address} within {options.wait:g} s "
                f"(expecting certificate {common_name(options.peer)} {short_fingerprint(options.peer)}; a peer with "
                f"another certificate is refused and sees its own fingerprint; compare the two)"
            )
        yield accepted
    finally:
        listener.close()


@contextmanager
def _dialled(options: LinkOptions, address: Address, filled: Callable[[], Outbox], again: bool) -> Iterator[Stream]:
    """Yield the stream to the peer at `address`. It is dialled at once, since it usually answers.

    Only if a call fails, and `again` permits it, is the peer examined, waited for and dialled again.
    """

    def call(first: bool) -> AbstractContextManager[Stream]:
        return dial(
            address,
            options.identity,
            options.peer,
            options.keepalive,
            filled(),
            options.wait,
            options.label,
            options.window,
            options.connection if first else None,
        )

    deadline = time.monotonic() + options.wait
    is_first, is_there = True, False
    while True:
        with call(is_first) as stream:
            if is_first and options.meanwhile is not None:
                options.meanwhile()
            is_first = False
            is_reached = stream.reached(max(ANSWER_SECONDS, deadline - time.monotonic()))
            if is_reached:
                _accept_group(stream, options)
            if not is_reached and is_there and options.identity.token is not None:
                raise unreached(address, options.identity)
            if is_reached or is_there:
                yield stream
                return
        if not again:
            raise LinkError(f"no program answers at {address}; is the peer running, and is the address right?")
        is_there = await_peer(address, options.identity, options.peer, options.wait, deadline, options.on_waiting, True)


def _accept_group(stream: Stream, options: LinkOptions) -> None:
    """Raise LinkError if the stream's key exchange is not permitted; a call that ends at once has its own reason."""
    why = tls.objection(stream.group, options.classical)
    if why and (stream.group or not stream.ended.wait(ANSWER_SECONDS)):
        raise LinkError(f"{common_name(options.peer)}: {why}")


def outbox_for(options: LinkOptions, hello: Hello) -> Outbox:
    """Return an outbox with our hello in it: it leaves as soon as there is a connection.

    Args:
        options: Options of the link.
        hello: Our hello.
    """
    outbox = Outbox(options.buffer, Line(options.shape) if options.shape is not None else None)
    outbox.append(FrameWriter().write(HELLO, HELLO_STEP, hello.SerializeToString()))
    return outbox


def _shake_hands(channel: GrpcChannel, hello: Hello, timeout: float) -> tuple[bytes, Hello]:
    """Receive the peer's hello; return the session identifier and the hello.

    If the jobs differ, exchange goodbyes, waiting up to `timeout` seconds, and raise JobMismatchError.
    """
    theirs = channel.hear_hello()
    try:
        return agree(hello, theirs), theirs
    except JobMismatchError:
        with suppress(LinkError):  # part in order, so that the peer gets our hello and sees the same difference
            channel.goodbye(first=hello.party == 0, timeout=timeout)
        raise


def _public_reason(error: BaseException) -> str:
    """Return the part of an error that the peer may see. Only the link's own errors cannot quote private data."""
    if not isinstance(error, LinkError) and (reason := own_trouble(error)):
        return f"{OURS}: {reason}"
    match error:
        case ShardError():
            return "a shard has failed twice"
        case LinkError():
            return str(error)
        case KeyboardInterrupt():
            return "interrupted"
        case InputError():
            return "an error in its own input"
        case _:
            return "internal error"
