"""Silent correlated OT: millions of random correlated OTs from one short message.

Protocol: Yang, Weng, Lan, Zhang, Wang, "Ferret: Fast Extension for Correlated OT with Small Communication" (CCS 2020),
semi-honest, with the trees of "Half-Tree" (EUROCRYPT 2023). Ideal functionality: random correlated OT; the sender gets
blocks q_j, uniform but for the lowest bit, which is 0, the receiver uniform bits b_j and q_j xor b_j delta.

An iteration with parameters (t trees of depth d, secret of k) turns k + t d correlated OTs into n = t 2^d:

    t d of them   puncture t trees: n leaves that differ by delta at one random place a tree (smc.ot.half_tree)
    k of them     go through the public linear code, and the leaves are added (smc.ot.lpn)

so the receiver's bits are A r + e, pseudo-random by LPN. What an iteration makes first is kept for the next one. The
first iteration starts from correlated OTs by extension and has the small parameters, all others have the large ones:
what both parties do depends only on how many OTs were ever asked for. `iterations` says how many it takes.

Communication: 16 t d bytes an iteration, from the sender, one flight: 136,000 for the first 589,824 OTs, 291,840 for
every 5,943,296 more; before the first, 74,036 OTs by extension. `correlated` with chosen bits adds one bit an OT, from
the receiver. Leakage: none. Assumptions: LPN (parameters and estimates in smc.ot.lpn), AES an ideal cipher, those of
the extension.

Blocks are made when they are asked for, in place, a few trees at a time: a role holds a table of 16 k bytes and 16 t to
16 t d bytes for the trees, whatever the number of OTs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from smc import kernels
from smc.hashing import Blocks
from smc.ot.correlated import CorrelatedReceiver, CorrelatedSender
from smc.ot.extension import ExtensionReceiver, ExtensionSender
from smc.ot.half_tree import ReceiverTrees, SenderTrees, Trees
from smc.ot.interface import Choices
from smc.ot.lpn import LARGE, SMALL, LinearCode, Parameters
from smc.primitives import bits
from smc.session import Session

SETS = (SMALL, LARGE)
BATCH = 1 << 16  # chosen OTs a message
CHUNK = 1 << 14  # blocks made at once: they stay in the second-level cache from the tree to the code


def parameters(number: int, sets: Sequence[Parameters] = SETS) -> Parameters:
    """The parameters of iteration `number` = 0, 1, ..."""
    return sets[min(number, len(sets) - 1)]


def kept_trees(number: int, sets: Sequence[Parameters] = SETS) -> int:
    """How many trees of iteration `number` are kept for the next one."""
    return -(-parameters(number + 1, sets).base // parameters(number, sets).leaves)


def iterations(count: int, sets: Sequence[Parameters] = SETS) -> int:
    """How many iterations a sender and receiver have run when they have been asked for `count` OTs in all."""
    number = 0
    while count > 0:
        here = parameters(number, sets)
        count -= (here.trees - kept_trees(number, sets)) * here.leaves
        number += 1
    return number


class _Iteration:
    """The outputs of one iteration, made on demand and in order; the first `kept` trees are apart."""

    def __init__(self, trees: Trees, code: LinearCode, here: Parameters, kept: int) -> None:
        self._trees = trees
        self._code = code
        self._here = here
        self._tree = kept  # the next one to be grown
        self._rest = np.empty((0, 2), dtype=np.uint64)  # of the last one grown

    @property
    def left(self) -> int:
        return len(self._rest) + (self._here.trees - self._tree) * self._here.leaves

    def _make(self, first: int, target: Blocks) -> None:
        leaves = self._here.leaves
        step = max(CHUNK, leaves)
        for start in range(0, len(target), step):
            part = target[start : start + step]
            tree = first + start // leaves
            self._trees.grow(tree, part)
            self._code.add(tree * leaves, part)

    def kept(self, count: int) -> Blocks:
        """The first `count` outputs."""
        whole = -(-count // self._here.leaves) * self._here.leaves
        out = np.empty((whole, 2), dtype=np.uint64)
        self._make(0, out)
        return out[:count]

    def take(self, target: Blocks) -> None:
        """Fill `target` with the next outputs, at most `left`."""
        ready = min(len(target), len(self._rest))
        target[:ready] = self._rest[:ready]
        self._rest = self._rest[ready:]
        target = target[ready:]
        trees, more = divmod(len(target), self._here.leaves)
        self._make(self._tree, target[: len(target) - more])
        self._tree += trees
        if more:
            rest = np.empty((self._here.leaves, 2), dtype=np.uint64)
            self._make(self._tree, rest)
            self._tree += 1
            target[len(target) - more :] = rest[:more]
            self._rest = rest[more:]


class _Supply:
    """The iterations of one role.

    `first(count)` gives the base blocks of iteration 0, uint64[count, 2], `plant(key, blocks)` trees from a base block
    for each level, uint64[trees, depth, 2]; lowest bits as smc.ot.half_tree wants them.
    """

    def __init__(
        self,
        session: Session,
        name: str,
        sets: Sequence[Parameters],
        first: Callable[[int], Blocks],
        plant: Callable[[bytes, Blocks], Trees],
    ) -> None:
        self._session = session
        self._name = name
        self._sets = sets
        self._first = first
        self._plant = plant
        self._number = 0
        self._running: list[_Iteration] = []  # in the order of use; the next one starts from the last

    def reserve(self, count: int) -> None:
        """Run iterations until `count` blocks can be taken without a message."""
        while sum(iteration.left for iteration in self._running) < count:
            here = parameters(self._number, self._sets)
            base = self._running[-1].kept(here.base) if self._running else self._first(here.base)
            pairs = base[here.secret :].reshape(here.trees, here.depth, 2)
            trees = self._plant(self._session.derive(self._name, "trees", self._number), pairs)
            code = LinearCode(self._session.derive(self._name, "code", self._number), base[: here.secret])
            self._running.append(_Iteration(trees, code, here, kept_trees(self._number, self._sets)))
            self._number += 1

    def take(self, count: int) -> Blocks:
        """The next blocks, uint64[count, 2]."""
        self.reserve(count)
        out = np.empty((count, 2), dtype=np.uint64)
        done = 0
        while done < count:
            iteration = self._running[0]
            here = min(count - done, iteration.left)
            iteration.take(out[done : done + here])
            done += here
            if iteration.left == 0 and len(self._running) > 1:
                self._running.pop(0)
        return out


class FerretSender(CorrelatedSender):
    """Sender of Ferret."""

    def __init__(self, session: Session, name: str, sets: Sequence[Parameters] = SETS) -> None:
        super().__init__(session, name)
        self._base = ExtensionSender(session, f"{name}.first")
        self.delta = self._base.delta
        self._supply = _Supply(session, name, sets, self._first, self._plant)

    def steps(self) -> Iterator[None]:
        """See `Role.steps`: those of the extension."""
        yield from self._base.steps()
        self.ready = True

    def reserve(self, count: int) -> None:
        """See `Role.reserve`."""
        self._supply.reserve(count)

    def _first(self, count: int) -> Blocks:
        blocks = self._base.random_correlated(count)
        blocks[:, 0] &= ~np.uint64(1)
        return blocks

    def _plant(self, key: bytes, base: Blocks) -> Trees:
        trees = SenderTrees(key, self.delta, self.session.prg.words(len(base), 2), base.shape[1])
        self.session.send(f"{self.name}.trees", base ^ trees.sums)
        return trees

    def random_correlated(self, count: int) -> Blocks:
        """See `Sender.random_correlated`; all lowest bits are 0."""
        return self._supply.take(count)

    def correlated(self, count: int) -> Blocks:
        """See `Sender.correlated`."""
        blocks = self._supply.take(count)
        for start in range(0, count, BATCH):
            part = blocks[start : start + BATCH]
            flips = self.session.receive(f"{self.name}.flips", np.uint8, ((len(part) + 7) // 8,))
            kernels.lpn_flip(part, flips, self.delta)
        return blocks


class FerretReceiver(CorrelatedReceiver):
    """Receiver of Ferret."""

    batch = BATCH

    def __init__(self, session: Session, name: str, sets: Sequence[Parameters] = SETS) -> None:
        super().__init__(session, name)
        self._base = ExtensionReceiver(session, f"{name}.first")
        self._supply = _Supply(session, name, sets, self._first, self._plant)

    def steps(self) -> Iterator[None]:
        """See `Role.steps`: those of the extension."""
        yield from self._base.steps()
        self.ready = True

    def reserve(self, count: int) -> None:
        """See `Role.reserve`."""
        self._supply.reserve(count)

    def _first(self, count: int) -> Blocks:
        choice, blocks = self._base.random_correlated(count)
        blocks[:, 0] = (blocks[:, 0] & ~np.uint64(1)) | choice
        return blocks

    def _plant(self, key: bytes, base: Blocks) -> Trees:
        sums = self.session.receive(f"{self.name}.trees", np.uint64, base.shape)
        return ReceiverTrees(key, base ^ sums, (base[..., 0] & np.uint64(1)).astype(np.uint8))

    def random_correlated(self, count: int) -> tuple[Choices, Blocks]:
        """See `Receiver.random_correlated`; the lowest bits are the choices."""
        blocks = self._supply.take(count)
        choice = np.empty(count, dtype=np.uint8)
        kernels.lpn_low_bits(blocks, choice)
        return choice, blocks

    def correlated(self, choice: Choices) -> Blocks:
        """See `Receiver.correlated`. One bit an OT goes to the sender."""
        own, blocks = self.random_correlated(len(choice))
        flips = own ^ choice
        for start in range(0, len(choice), BATCH):
            self.session.send(f"{self.name}.flips", bits.pack(flips[start : start + BATCH]))
        return blocks
