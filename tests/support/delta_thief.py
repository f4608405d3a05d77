"""An evaluator that finds the garbler's delta by wrong corrections, and reads the garbler's numbers of noisy sums.

For an OT of each cell it corrects one tree of the extension to another choice. The garbler's label of that bit is then
wrong by the k bits of delta that belong to the tree. At `reveal` the evaluator waits for the honest share. It tries the
2^k values of these bits until the opened number is plausible. The trees together give delta. With delta it evaluates
the tables again, with one bit of the garbler's numbers flipped: the change of the sum tells that bit. Then it sends a
share that is correct.

Only the check of the extension stands against this. It has to fail before the garbler sends tables.

    python -m tests.support.delta_thief     prints how many numbers are read with each kind of OT
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from protocols.release.laplace import DiscreteLaplace
from protocols.release.laws import Law
from protocols.release.numbers import noisy_sums
from smc.circuit import Netlist
from smc.engines import make_engine
from smc.engines.yao import YaoEngine
from smc.hashing import Blocks
from smc.ot.columns import KAPPA
from smc.primitives import bits as bitpack
from smc.recipes import OTKind
from smc.session import AnnouncedOpenings, Openings, Session
from smc.yao.evaluator import Evaluator
from tests.support.duels import End, duel

FILL = "_fill"  # writes corrections, before any check is made
TREE_BITS: dict[OTKind, int] = {"extension": 4, "softspoken2": 2, "softspoken4": 4, "softspoken8": 8, "iknp": 1}


WIDTH = 16
LAW = DiscreteLaplace(Fraction(1))  # epsilon 1
LARGEST = 200  # of a number
PLAUSIBLE = 1 << 9  # more than two numbers and the noise, which is shifted by 32, come to


class _Tape:
    """Stands for a session whose tables came in before."""

    def __init__(self, session: Session, tables: Sequence[NDArray[Any]]) -> None:
        self.derive = session.derive
        self._tables = iter(tables)

    def receive(self, *_: object) -> NDArray[Any]:
        return next(self._tables)


class Thief(Openings):
    """The evaluator's openings, in place of the session's; `numbers` are the garbler's once the sums are opened.

    Sums below `plausible`, before they are shifted back, pass for right ones.
    """

    numbers: NDArray[np.uint64]

    def __init__(self, session: Session, kind: OTKind, plausible: int, announced: bool = False) -> None:
        self._session, self._plausible, self._announced = session, plausible, announced
        self._k = TREE_BITS[kind]
        self._trees = KAPPA // self._k
        self._tables: list[NDArray[Any]] = []
        self._is_begun = False
        engine = make_engine(session, "yao", kind)
        assert isinstance(engine, YaoEngine)
        self._engine = engine
        session.openings = self

    def noisy_sums(self, own: NDArray[np.int64], width: int, law: Law) -> NDArray[np.int64]:
        """Do as `noisy_sums`; read the other party's numbers meanwhile."""
        self._batch, self._width = len(own), width
        self._watch(self._engine)
        return noisy_sums(self._engine, own, width, law)

    def _watch(self, engine: YaoEngine) -> None:
        """Leave the protocol in the first batch of OTs, and keep circuit, labels and tables."""
        receiver: Any = engine._transfers.receiver
        fill, execute, receive = getattr(receiver, FILL), engine._execute, self._session.receive

        def correct(choices: Any, corrections: Blocks, *more: Any) -> None:
            fill(choices, corrections, *more)
            if not self._is_begun:
                self._is_begun = True
                octets = corrections.view(np.uint8)
                for cell in range(self._batch):  # the OTs of the numbers' lowest bits come first
                    octets[cell % self._trees, cell // 8] ^= np.uint8(1 << cell % 8)

        def keep(netlist: Netlist, inputs: Sequence[Blocks], batch: int) -> Blocks:
            self._netlist, self._inputs = netlist, [np.array(part) for part in inputs]
            return execute(netlist, inputs, batch)

        def taped(step: str, *shape: Any) -> NDArray[Any]:
            array = receive(step, *shape)
            if step == "yao.tables":
                self._tables.append(np.array(array))
            return array

        setattr(receiver, FILL, correct)
        engine._execute = keep  # type: ignore[method-assign]
        self._session.receive = taped  # type: ignore[method-assign]

    @override
    def open(self, session: Session, share: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Wait for the honest share, take what it gives, and send a correct share."""
        if self._announced:
            session.send("ready", np.ones(1, dtype=np.uint8))
            session.receive("ready", np.uint8, (1,))
        honest = self._unmasked(session.receive("reveal", np.uint8, share.shape))
        self._find_delta(honest)
        self._correct(self.delta)
        own = bitpack.pack(self._evaluate().reshape(-1))
        self._read(honest)
        session.send("reveal", self._unmasked(own))
        return own ^ honest

    def _unmasked(self, share: NDArray[np.uint8]) -> NDArray[np.uint8]:
        return share if self._announced else self._session.masked(share)

    def _evaluate(self) -> NDArray[np.uint8]:
        """Return this party's shares of the outputs for the labels it now has, uint8[width, batch]."""
        tape: Any = _Tape(self._session, self._tables)
        labels = Evaluator(tape).evaluate(self._netlist, self._inputs, self._batch)
        return (labels[..., 0] & np.uint64(1)).astype(np.uint8)

    def _sums(self, honest: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return what the outputs open to, before they are shifted back."""
        shares = self._evaluate()
        opened = shares ^ bitpack.unpack(honest, *shares.shape)
        return bitpack.to_words(opened).astype(np.int64)

    def _correct(self, error: Blocks) -> None:
        """Add to the wrong labels what is wrong in them by this value of delta."""
        for cell in range(self._batch):
            self._inputs[1][0, cell] ^= error & self._tree(cell % self._trees, (1 << self._k) - 1)

    def _tree(self, tree: int, value: int) -> Blocks:
        """Return a value of delta's bits that belong to a tree, as a block."""
        return np.frombuffer((value << self._k * tree).to_bytes(16, "little"), dtype=np.uint64)

    def _find_delta(self, honest: NDArray[np.uint8]) -> None:
        """Try every value for all trees at a time; the one with plausible sums is that of delta."""
        likely = np.zeros((1 << self._k, self._trees), dtype=np.int64)
        for value in range(1 << self._k):
            guess = np.bitwise_xor.reduce([self._tree(tree, value) for tree in range(self._trees)])
            self._correct(guess)
            is_likely = self._sums(honest) < self._plausible
            self._correct(guess)
            np.add.at(likely[value], np.arange(self._batch) % self._trees, is_likely)
        found = likely.argmax(axis=0)
        self.delta = np.bitwise_xor.reduce([self._tree(tree, int(value)) for tree, value in enumerate(found)])

    def _read(self, honest: NDArray[np.uint8]) -> None:
        """Read the garbler's numbers, bit by bit: a bit that is 0 adds to the sum if it is flipped."""
        before = self._sums(honest)
        self.numbers = np.zeros(self._batch, dtype=np.uint64)
        for bit in range(self._width):
            self._inputs[0][bit] ^= self.delta
            self.numbers |= (self._sums(honest) < before).astype(np.uint64) << np.uint64(bit)
            self._inputs[0][bit] ^= self.delta


def stolen(kind: OTKind, announced: bool) -> tuple[End, End]:
    """Open noisy sums of 64 cells, or two a tree, with a thief, who returns how many numbers it read, and of how many.

    With `announced` both parties announce their shares before any leaves, as nodes do.
    """
    cells = max(64, 2 * KAPPA // TREE_BITS[kind])
    numbers = np.random.default_rng(1).integers(0, LARGEST, (2, cells))

    def garbler(session: Session) -> list[int]:
        if announced:
            session.openings = AnnouncedOpenings()
        return noisy_sums(make_engine(session, "yao", kind), numbers[0], WIDTH, LAW).tolist()

    def evaluator(session: Session) -> tuple[int, int]:
        thief = Thief(session, kind, PLAUSIBLE, announced)
        shown.append(thief.noisy_sums(numbers[1], WIDTH, LAW).tolist())
        return int((thief.numbers == numbers[0]).sum()), cells

    shown: list[list[int]] = []
    ends = duel((garbler, evaluator), seed=bytes(16))
    assert ends[0].error or [ends[0].result] == shown  # nothing is to be seen in the result
    return ends


def main() -> None:
    """Try every kind of OT."""
    for kind in TREE_BITS:
        for announced in (False, True):
            garbler, thief = stolen(kind, announced)
            read = f"{garbler.error}" if garbler.error else "{} of {} numbers read".format(*thief.result)
            print(f"{kind}{', announced openings' if announced else ''}: {read}")


if __name__ == "__main__":
    main()
