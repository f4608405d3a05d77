"""Nothing is opened twice: shares are on the disk before they leave, and a session that goes on repeats them.

A secret is opened when both parties have sent their shares (`smc.session.Openings`). An opening has four moments here:

1. *written*: this party's share, and the seed of its contributions in the step, are on the disk (0600).
2. *announced*: the peer is told so, and has told so too.
3. *leaving*: on the disk it stands that the share leaves; in the same transaction the job is charged, if it is not yet.
4. *sent*: the share goes out, the peer's is awaited.

A session that goes on compares with the peer which openings of the step are written, and which have left
(`checkpoint.common`). Let `left` be the number that left at either party.

- Openings before `left` were announced by both, so both have written them. They are made again by the stored shares:
  what is computed for them anew is thrown away. Whatever the peer brings to that, it gets the bytes that it has got.
- Openings from `left` on: no share has left, at either party that follows the protocol. They are computed anew. If no
  opening of the step has left, with fresh contributions; else with the stored ones, so that masks stay what they were
  when an opening of the step was made under them. Either way they go into openings of which nobody has seen anything.
- If a share has left at one party that the other has not written, a disk has lost what it held, or somebody pretends
  so: the job ends at both. To ask again is another job, with a charge of its own.

**What each party has seen when the line breaks.** Before 3: nothing of this opening. The peer has its own share, which
is uniform by itself. After 3: the peer may have our share and so the value, once; we have it if the peer's share came.
From a session that goes on it can have the same share again: one value for one charge. A peer that leaves the protocol
has no more: it may send another share of its own (we then read a wrong value), contribute other bits or bring other
rows to what is computed anew, but no other share of an opening that has left ever goes out. Other rows, or other bits,
in openings that are still to come are open to it in a session that does not break, too.

A share that was written and has left at neither party is replaced. Shares stay until the next step writes its first,
which both have reached by then, or until the job has ended.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from smc.errors import ProtocolError
from smc.primitives.prg import KEY_BYTES, Prg
from smc.session import AnnouncedOpenings, Session

LOST = "a party has lost what this job has opened: it cannot go on, propose it anew"


@dataclass(frozen=True)
class Written:
    """An opening of a step, on the disk before its share leaves. `seed` is of our contributions in the step."""

    step: int
    place: int
    share: bytes
    seed: bytes


@dataclass(frozen=True)
class Leaving:
    """The share of an opening that is written leaves next."""

    step: int
    place: int


@dataclass(frozen=True)
class Stored:
    """The openings of the last step that has any: our shares in their order, how many of them have left, the seed."""

    step: int = -1
    left: int = 0
    shares: tuple[bytes, ...] = ()
    seed: bytes = b""


def to_repeat(own: Stored, theirs: tuple[int, int, int], start: int) -> Stored:
    """Return what of `own` is opened again by stored shares in step `start`, from which a session goes on.

    `theirs` are the peer's last step with openings, and how many of that are written and have left. `ProtocolError` if
    what has left at one party is not written at the other.
    """
    if max(own.step, theirs[0]) > start:
        raise ProtocolError(LOST)
    written, left = (len(own.shares), own.left) if own.step == start else (0, 0)
    their_written, their_left = theirs[1:] if theirs[0] == start else (0, 0)
    most = max(left, their_left)
    if not 0 <= most <= min(written, their_written):
        raise ProtocolError(LOST)
    return Stored(start, left, own.shares[:most], own.seed) if most else Stored(start)


class WrittenFirst(AnnouncedOpenings):
    """The openings of one session. `keep` returns when what it is given is on the disk, or raises."""

    def __init__(self, session: Session, repeated: Stored, keep: Callable[[Written | Leaving], object]) -> None:
        self._session, self._repeated, self._keep = session, repeated, keep
        self._step, self._place, self._seed = -1, 0, b""

    def begin(self, step: int) -> None:
        """Begin a step: its contributions to joint randomness are fresh, unless an opening of it has left before."""
        again = step == self._repeated.step and bool(self._repeated.shares)
        self._step, self._place = step, 0
        self._seed = self._repeated.seed if again else os.urandom(KEY_BYTES)
        self._session.contributions = Prg(self._seed)

    def ready(self, own: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the share of this opening that was written before; write this one, if there is none."""
        if self._is_repeated:
            stored = np.frombuffer(self._repeated.shares[self._place], dtype=np.uint8)
            if stored.shape != own.shape:
                raise ProtocolError("another opening than before stands at this place: the job cannot go on")
            return stored
        self._keep(Written(self._step, self._place, own.tobytes(), self._seed))
        return own

    def leaves(self) -> None:
        """Write down that the share leaves, unless it is known to have left."""
        if not (self._is_repeated and self._place < self._repeated.left):
            self._keep(Leaving(self._step, self._place))
        self._place += 1

    @property
    def _is_repeated(self) -> bool:
        return self._step == self._repeated.step and self._place < len(self._repeated.shares)
