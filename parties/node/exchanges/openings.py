"""Openings that survive a broken session: shares are stored before they are sent, and repeated afterwards.

A secret is opened when both parties have sent their shares (`smc.session.Openings`). An opening has four moments here:

1. *written*: this party's share, and the seed of its contributions in the step, are on the disk (0600).
2. *announced*: each party has told the other that its share is written.
3. *leaving*: the disk records that the share leaves; the same transaction charges the job, if it is not charged yet.
4. *sent*: the share goes out, the peer's is awaited.

A session that goes on compares with the peer which openings of the step are written, and which have left
(`checkpoint.common`). Let `left` be the number that left at either party.

- Openings before `left` were announced by both, so both have written them. They are repeated with the stored shares;
  newly computed shares are discarded. Whatever inputs the peer brings, it gets the bytes that it got before.
- Openings from `left` on: no share has left, at either party that follows the protocol. They are computed anew. If no
  opening of the step has left, contributions are fresh. Otherwise the stored ones are used, so that masks stay the same
  as in the step's earlier openings. Either way, nobody has seen anything of these openings.
- If a share has left at one party and is not written at the other, a disk has lost data or a party claims so. The job
  ends at both. To ask again takes another job, with a charge of its own.

**What each party has seen when the line breaks.** Before 3: nothing of this opening. The peer has its own share, which
is uniform by itself. After 3: the peer may have our share and so the value, once; we have it if the peer's share came.
From a session that goes on it can have the same share again: one value for one charge. A peer that leaves the protocol
gains no more. It may send another share of its own (we then read a wrong value), contribute other bits or bring other
rows to what is computed anew. But no other share of an opening that has left ever goes out. Such a peer can bring other
rows or bits to openings that are still to come in an unbroken session, too.

A share that was written and has left at neither party is replaced. Shares are kept until the next step writes its
first, which both parties have reached by then, or until the job has ended.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from smc.errors import ProtocolError
from smc.primitives.prg import KEY_BYTES, Prg
from smc.session import AnnouncedOpenings, Session

LOST = "a party has lost its record of this job's openings: it cannot go on, propose it anew"


@dataclass(frozen=True)
class Written:
    """An opening of a step, on the disk before its share leaves. `seed` is that of our contributions in the step."""

    step: int
    place: int
    share: bytes
    seed: bytes


@dataclass(frozen=True)
class Leaving:
    """The share of a written opening leaves next."""

    step: int
    place: int


@dataclass(frozen=True)
class Stored:
    """The openings of the last step that has any: our shares in order, the number of those that have left, the seed."""

    step: int = -1
    left: int = 0
    shares: tuple[bytes, ...] = ()
    seed: bytes = b""


def to_repeat(ours: Stored, theirs: tuple[int, int, int], start: int) -> Stored:
    """Return the openings of `ours` to repeat with stored shares in step `start`, from which a session goes on.

    Args:
        ours: Openings that this party has stored.
        theirs: The peer's last step with openings, the number written, and the number that have left.
        start: Step from which the session goes on.

    Raises:
        ProtocolError: A share has left at one party and its opening is not written at the other.
    """
    if max(ours.step, theirs[0]) > start:
        raise ProtocolError(LOST)
    written, left = (len(ours.shares), ours.left) if ours.step == start else (0, 0)
    their_written, their_left = theirs[1:] if theirs[0] == start else (0, 0)
    left_at_either = max(left, their_left)
    if not 0 <= left_at_either <= min(written, their_written):
        raise ProtocolError(LOST)
    return Stored(start, left, ours.shares[:left_at_either], ours.seed) if left_at_either else Stored(start)


class WrittenFirst(AnnouncedOpenings):
    """The openings of one session. `keep` returns once its argument is on the disk, or raises."""

    def __init__(self, session: Session, repeated: Stored, keep: Callable[[Written | Leaving], object]) -> None:
        self._session, self._repeated, self._keep = session, repeated, keep
        self._step, self._place, self._seed = -1, 0, b""

    def begin(self, step: int) -> None:
        """Begin a step with fresh random bits for what both parties draw jointly.

        If a share of this step has left before, in an earlier session, the bits of that session are used again.
        """
        is_repeated = step == self._repeated.step and bool(self._repeated.shares)
        self._step, self._place = step, 0
        self._seed = self._repeated.seed if is_repeated else os.urandom(KEY_BYTES)
        self._session.contributions = Prg(self._seed)

    def ready(self, share: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the stored share, or store and return `share`. Raise ProtocolError if their shapes differ."""
        if self.is_repeated:
            stored = np.frombuffer(self._repeated.shares[self._place], dtype=np.uint8)
            if stored.shape != share.shape:
                raise ProtocolError("the opened value differs from the stored one; propose the job anew")
            return stored
        self._keep(Written(self._step, self._place, share.tobytes(), self._seed))
        return share

    def leaves(self) -> None:
        """Record that the share leaves, also if it has left before: the session has opened something."""
        self._keep(Leaving(self._step, self._place))
        self._place += 1

    @property
    @override
    def is_repeated(self) -> bool:
        return self._step == self._repeated.step and self._place < len(self._repeated.shares)
