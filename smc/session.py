"""Session: one party's end of one run, and the only interface of protocol code to the layers below.

It holds the party's number (0 or 1), the channel to the peer, the public session identifier that enters every key
derivation, the meter, and this party's private randomness.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from typing_extensions import override

from smc.agreement import ASIDE, DIFFERS, DIGEST_BYTES, Agreement, Size
from smc.channel import Channel
from smc.errors import LinkError, ProtocolError
from smc.meter import Cost, Meter
from smc.primitives.prg import Prg


class Openings:
    """Opening of secrets: each party sends its share to the other."""

    @property
    def is_repeated(self) -> bool:
        """True if the share of the next opening has left in an earlier session, or may have."""
        return False

    def open(self, session: Session, share: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Open bits: exchange this party's share of them for the peer's.

        The share is masked when sent: a peer that computes another function cannot read it.

        Args:
            session: This party's end of the run.
            share: This party's share of the bits, packed uint8[bytes].

        Returns:
            The opened bits, packed uint8[bytes].
        """
        # the masks of both parties cancel if they compute one function
        return _exchanged(session, session.masked(share))


def _exchanged(session: Session, share: NDArray[np.uint8]) -> NDArray[np.uint8]:
    session.send("reveal", share)
    return share ^ session.receive("reveal", np.uint8, share.shape)


class AnnouncedOpenings(Openings):
    """Openings that send no share before both parties have announced theirs.

    This costs a byte each way and one more round. The digests in front of the announcements are compared first, so
    shares are sent without a mask.
    """

    @override
    def open(self, session: Session, share: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Open bits after both parties have announced their shares; `ready` may replace the share first."""
        share = self.ready(share)
        session.send("ready", np.ones(1, dtype=np.uint8))
        session.receive("ready", np.uint8, (1,))
        self.leaves()
        return _exchanged(session, share)

    def ready(self, share: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the share to announce and send: this one, or in a subclass another in its place."""
        return share

    def leaves(self) -> None:
        """Record that the share is sent next: both parties have announced theirs."""


class Session:
    """One party's end of a two-party run.

    `identifier` is 32 public bytes, equal at both parties and never used for another session. `prg` is this party's
    private randomness; only tests pass a seeded one. `contributions` is the source of its share of joint randomness
    (`smc.engines.Engine.random`): `prg`, unless `contribute` replaces it. `openings` exchanges the shares of opened
    bits. Raise ValueError for a party other than 0 and 1, or an identifier of another length.
    """

    def __init__(self, party: int, channel: Channel, identifier: bytes, prg: Prg | None = None) -> None:
        if party not in (0, 1):
            raise ValueError(f"party is {party}, must be 0 or 1")
        if len(identifier) != 32:
            raise ValueError(f"a session identifier has 32 bytes, got {len(identifier)}")
        self.party = party
        self.channel = channel
        self.identifier = identifier
        self.meter = Meter()
        self.prg = prg if prg is not None else Prg.from_system()
        self.contributions = self.prg
        self.openings = Openings()
        self.agreement = Agreement()
        self._taken: set[str] = set()

    def take(self, purpose: str) -> None:
        """Claim a purpose for this session, once: keys derived for it must never be used twice.

        Raises:
            ValueError: The purpose is claimed already.
        """
        if purpose in self._taken:
            raise ValueError(f"this session has its {purpose} already; use a branch of it for another")
        self._taken.add(purpose)

    def branch(self, name: str) -> Session:
        """Return a new session over this channel, with another identifier and an empty meter.

        Raises:
            ValueError: This session has a branch of that name already.
        """
        self.take(f"branch {name}")
        branch = Session(self.party, self.channel, self.derive("branch", name, size=32), self.prg)
        branch.contributions, branch.openings = self.contributions, self.openings
        return branch

    @contextmanager
    def contribute(self, prg: Prg) -> Iterator[None]:
        """Take this party's contributions to joint randomness from `prg` in the enclosed work.

        Both parties may repeat work, each with a generator of its first seed. The work then draws equal joint bits. A
        seed is this party's secret and is used for one piece of work: equal seeds give equal contributions.
        """
        before, self.contributions = self.contributions, prg
        try:
            yield
        finally:
            self.contributions = before

    @contextmanager
    def phase(self, name: str) -> Iterator[Cost]:
        """Count the cost of the `with` block under `name`."""
        with self.meter.phase(name) as cost:
            yield cost

    def note(self, step: str, content: Callable[[], bytes] | None = None, **sizes: Size) -> None:
        """Add a step to this party's description of the computed function.

        Both parties must add equal steps. Their digests are compared before anything is opened, see `smc.agreement`.

        Args:
            step: The name of the step.
            content: A function that returns public bytes: a circuit's digest, a constant. None: no content.
            sizes: Public sizes by their names: widths, batches, the owner of an input.
        """
        self.agreement.note(step, content, sizes)

    def masked(self, share: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return a share XORed with bits derived from all noted steps; masking twice returns the share."""
        return self.agreement.masked(share)

    def send(self, step: str, array: NDArray[Any]) -> None:
        """Send an array, after the digest of the steps noted since the last message.

        Args:
            step: The label of the message; the peer expects an equal one.
            array: Any array; its bytes are sent, little-endian and in C order.

        Raises:
            LinkError: The link is down, or the deadline passes.
        """
        payload = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
        if not self.agreement.is_told and not step.startswith(ASIDE):
            self.agreement.is_told = True
            payload = memoryview(b"".join((self.agreement.digest(), payload)))
        self.channel.send(step, payload)
        self.meter.sent(payload.nbytes)

    def receive(self, step: str, dtype: DTypeLike, shape: Sequence[int]) -> NDArray[Any]:
        """Receive an array of known dtype and shape.

        Args:
            step: The label that the message must have.
            dtype: The dtype of an item.
            shape: The shape of the array; public.

        Returns:
            The array, read-only.

        Raises:
            ProtocolError: The message has another label or size.
            JobMismatchError: The digest in front of the message differs: the parties compute different functions.
                `ProtocolError` instead, if the peer has named this protocol's code before.
            LinkError: The peer is gone, or silent past the deadline.
        """
        kind = np.dtype(dtype)
        head = 0 if self.agreement.is_heard or step.startswith(ASIDE) else DIGEST_BYTES
        size = head + kind.itemsize * math.prod(shape)
        try:
            payload = self.channel.receive(step, size)
        except ProtocolError as error:
            label, theirs = error.refused
            if label == DIFFERS and theirs:
                raise self.agreement.error(theirs[0]) from None
            self._compare(theirs if len(theirs) == head else b"")
            raise
        self.meter.received(size)
        if head:
            self._compare(bytes(memoryview(payload)[:head]))
            self.agreement.agreed()
        return np.frombuffer(payload, dtype=kind, offset=head).reshape(shape)

    def _compare(self, theirs: bytes) -> None:
        """Raise `Agreement.error` and report the difference to the peer if the peer's digest differs."""
        if theirs and theirs != self.agreement.digest():
            chain = self.agreement.differing(theirs)
            with suppress(LinkError):
                self.channel.send(DIFFERS, bytes([chain]))
            raise self.agreement.error(chain) from None

    def derive(self, *context: str | int | bytes, size: int = 16) -> bytes:
        """Derive a public key bound to this session and to `context`: SHA-256, cut to size.

        Type and length precede each part, so two different contexts never give equal hash inputs.

        Args:
            context: Protocol step and counters; unique for each use of a key.
            size: Bytes of the key, 32 at most. Default: 16, a key of AES-128.
        """
        return derive(self.identifier, *context, size=size)


def derive(secret: bytes, *context: str | int | bytes, size: int = 16) -> bytes:
    """Derive a key: SHA-256(secret, context...), cut to size.

    Args:
        secret: The secret, or the public identifier of a session.
        context: Protocol step and counters. Every part is prefixed by its type and length.
        size: Bytes of the key, 32 at most. Default: 16, a key of AES-128.
    """
    state = hashlib.sha256()
    for part in (secret, *context):
        data = part if isinstance(part, bytes) else str(part).encode()
        state.update(type(part).__name__[:1].encode() + len(data).to_bytes(8, "little") + data)
    return state.digest()[:size]
