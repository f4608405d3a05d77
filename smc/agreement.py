"""Running digest of the function that a session computes, compared with the peer's digest to detect mistakes.

Each party notes what it does: steps, their sizes, and public contents such as circuits. The first message each way
after a note carries the digest in front, so the comparison costs 16 bytes and no extra message. A share sent before the
comparison is masked with bits drawn from the whole state, so a peer that computes another function cannot read it. A
share whose step was noted beforehand is sent after the comparison. The digest protects from mistakes only: a hostile
peer may send any digest.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from smc.errors import JobMismatchError, ProtocolError, SmcError

# last message of a party that has seen a difference: one byte, the number of the differing chain
DIFFERS = "another function"
# label prefix of the nodes' messages between steps: they are no part of the function and carry no digest
ASIDE = "checkpoint."
CHAINS = (
    ("their steps differ", 5),
    ("the numbers of values or their bits differ", 5),
    ("circuits or public numbers differ", 6),
)  # each chain with its digest bytes
DIGEST_BYTES = sum(size for _, size in CHAINS)
SHOWN_NOTES = 3
# units of the sizes shown in errors
SHOWN_SIZES = {"width": "bits", "widths": "bits", "batch": "values", "batches": "values"}
SHOWN_CHARACTERS = 120

Size = int | Sequence[int]


class Agreement:
    """Running digest of the steps that one party has noted, in several hash chains (`CHAINS`).

    `is_told`: this party has sent its digest. `is_heard`: the peer's digest has arrived and is equal.
    """

    def __init__(self) -> None:
        self._chains = tuple(hashlib.sha256() for _ in CHAINS)
        self._recent: deque[tuple[str, dict[str, Size]]] = deque(
            maxlen=SHOWN_NOTES
        )  # steps noted since the last equal digest of the peer
        self.is_told = self.is_heard = True
        self._holds_code = self._has_same_code = False

    def note(self, step: str, content: Callable[[], bytes] | None, sizes: dict[str, Size]) -> None:
        """Add a step of the computed function; the next message each way then carries the digest.

        Args:
            step: The name of the step.
            content: A function that returns public bytes, such as a circuit's digest. None: no content.
            sizes: Public sizes by their names, such as width and batch.
        """
        words = ", ".join(f"{name} {_numbers(size)}" for name, size in sizes.items())
        parts = (step.encode(), words.encode(), content() if content is not None else b"")
        for chain, part in zip(self._chains, parts, strict=True):
            chain.update(len(part).to_bytes(8, "little") + part)
        self._recent.append((step, sizes))
        self.expect()

    def note_code(self, step: str) -> None:
        """Add a step whose name holds the digest of the protocol's code."""
        self._holds_code = True
        self.note(step, None, {})

    def expect(self) -> None:
        """Announce digests: each party's next message then begins with its digest, and the receiver compares it."""
        self.is_told = self.is_heard = False

    def digest(self) -> bytes:
        """Return the digest of all steps noted so far."""
        return b"".join(chain.digest()[:size] for chain, (_, size) in zip(self._chains, CHAINS, strict=True))

    def agreed(self) -> None:
        """Record that the peer's digest of all noted steps equals this party's."""
        self.is_heard = True
        self._has_same_code = self._holds_code
        self._recent.clear()

    def masked(self, share: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return a share XORed with bits that only a party that has noted equal steps can compute."""
        key = b"".join(chain.digest() for chain in self._chains)
        return share ^ np.frombuffer(hashlib.shake_256(key).digest(share.size), dtype=np.uint8).reshape(share.shape)

    def differing(self, theirs: bytes) -> int:
        """Return the index of the first hash chain in which the peer's digest differs from ours."""
        ends = np.cumsum([size for _, size in CHAINS])
        place = next(i for i, (ours, their) in enumerate(zip(self.digest(), theirs, strict=True)) if ours != their)
        return int(np.searchsorted(ends, place, side="right"))

    def error(self, chain: int) -> SmcError:
        """Return the error for a difference in a hash chain; it blames the peer if both have the same protocol code."""
        what, _ = CHAINS[min(chain, len(CHAINS) - 1)]
        steps = f"{what}. Last steps here: {'; '.join(_shown(*note) for note in self._recent) or 'none'}"
        if self._has_same_code:
            return ProtocolError(f"the peer does not compute what both parties agreed on: {steps}")
        return JobMismatchError(
            f"the two parties compute different functions: {steps}. "
            "Give both parties the same program, public arguments and release"
        )


def _shown(step: str, sizes: dict[str, Size]) -> str:
    words = ", ".join(f"{SHOWN_SIZES.get(name, name)} {_numbers(size)}" for name, size in sizes.items())
    return f"{step} ({words})"[:SHOWN_CHARACTERS] if words else step


def _numbers(size: Size) -> str:
    return " ".join(str(int(number)) for number in ([size] if isinstance(size, int | np.integer) else size))
