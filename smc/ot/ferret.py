"""Silent correlated OT: millions of random correlated OTs from one short message.

Protocol: Yang, Weng, Lan, Zhang, Wang, "Ferret: Fast Extension for Correlated OT with Small Communication" (CCS 2020),
with the trees of "Half-Tree" (EUROCRYPT 2023). Ideal functionality: random correlated OT; the sender gets
blocks q_j, uniform but for the lowest bit, which is 0, the receiver uniform bits b_j and q_j xor b_j delta.

An iteration with parameters (t trees of depth d, secret of k) turns k + t d + 64 correlated OTs into n = t 2^d:

    t d of them   puncture t trees: n leaves that differ by delta at one random place a tree (smc.ot.half_tree)
    k of them     go through the public linear code, and the leaves are added (smc.ot.lpn)
    64 of them    hide what the receiver reveals in the check

so the receiver's bits are A r + e, pseudo-random by LPN. The first outputs of an iteration are kept for the next one.
The first iteration starts from correlated OTs by extension and has the small parameters, all others have the large
ones. So the work of both parties depends only on the total number of OTs requested. `iterations` returns the number of
iterations for it.

**Check.** A sender that offers wrong sums gives the receiver wrong leaves that depend on the receiver's noise. The
receiver's next messages would then reveal the noise, and with it the choices. So the iteration is checked before use,
as in the paper's Figure 7 (with products over GF(2^64) of each half of a block, and weights that are products of a
tree's and a leaf's):

    receiver sends a seed of the weights, and x' = sum of the weights of its noisy leaves xor its 64 choices
    sender   sends SHA-256 of (sum of weights times leaves) xor its 64 blocks' sum xor x' delta
    receiver compares it with that of its own leaves and 64 blocks: both are equal if all leaves differ as they should

A sender with wrong leaves passes only by guessing noisy positions, or with probability 2^-63. The receiver sends
nothing else in an iteration, so it can break no rule; the extension that it starts from has its own check.

Communication: an iteration has t trees of depth d. It takes 16 t d bytes from the sender and 8 from the receiver. The
reservation of all OTs of a step takes 16 bytes from the receiver and 32 from the sender. These are three flights for
any number of iterations. The first 675,840 OTs take 230,400 bytes, and every 1,085,440 more take 192,000. Before the
first come 80,000 OTs by extension. `correlated` with chosen bits adds one bit an OT, from the receiver. Leakage: a
cheating sender may guess noisy positions; a wrong guess ends the session. Assumptions: LPN (parameters and estimates in
smc.ot.lpn), AES an ideal cipher, those of the extension.

Blocks are made on request, in place, tree by tree. A role holds 16 (k + t d) bytes from which an iteration starts, and
16 t d for its trees until its blocks are used: 2.4 MB for a million reserved OTs.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from smc import kernels
from smc.hashing import Blocks
from smc.ot.correlated import CorrelatedReceiver, CorrelatedSender
from smc.ot.half_tree import ReceiverTrees, SenderTrees, Trees
from smc.ot.interface import Choices, Packed, Role, failed_check
from smc.ot.lpn import CHECK_BITS, LARGE, SMALL, LinearCode, Parameters
from smc.ot.softspoken import SoftSpokenReceiver, SoftSpokenSender
from smc.primitives import bits
from smc.primitives.arrays import Octets
from smc.primitives.prg import Prg
from smc.session import Session

SETS = (SMALL, LARGE)
DIGEST = 32  # bytes of a proof
CHECKED_TREES = 16  # trees grown at a time for a check: they stay in the second-level cache
NOWHERE = np.full(1, (1 << 64) - 1, dtype=np.uint64)  # position of the noisy leaf of a tree without one
BATCH = 1 << 16  # chosen OTs of a message; the blocks of a message stay in the second-level cache


def parameters(number: int, sets: Sequence[Parameters] = SETS) -> Parameters:
    """Return the parameters of an iteration.

    Args:
        number: Number of the iteration, from 0.
        sets: Parameters of the first iterations; the last set serves all later ones. Default: `SMALL`, then `LARGE`.
    """
    return sets[min(number, len(sets) - 1)]


def kept_trees(number: int, sets: Sequence[Parameters] = SETS) -> int:
    """Return the number of trees of an iteration that are kept for the next one.

    Args:
        number: Number of the iteration, from 0.
        sets: Parameters of the first iterations; the last set serves all later ones. Default: `SMALL`, then `LARGE`.
    """
    return -(-parameters(number + 1, sets).base // parameters(number, sets).leaves)


class IterationSchedule:
    """Order of iterations, which depends only on the number of OTs requested."""

    def __init__(self, sets: Sequence[Parameters] = SETS) -> None:
        self._sets = sets
        self._number = 0
        self._left = 0

    def due(self, count: int) -> Iterator[tuple[int, Parameters, int]]:
        """Yield the iterations to run now for `count` more OTs: number, parameters, and trees kept for the next one."""
        while self._left < count:
            here, reserved = parameters(self._number, self._sets), kept_trees(self._number, self._sets)
            yield self._number, here, reserved
            self._left += (here.trees - reserved) * here.leaves
            self._number += 1

    def take(self, count: int) -> None:
        """Record that `count` OTs have been used."""
        self._left -= count


def iterations(count: int, sets: Sequence[Parameters] = SETS) -> int:
    """Return the number of iterations that a sender and receiver run for `count` OTs in total.

    Args:
        count: Number of OTs that were ever requested.
        sets: Parameters of the first iterations; the last set serves all later ones. Default: `SMALL`, then `LARGE`.
    """
    return sum(1 for _ in IterationSchedule(sets).due(count))


class _Iteration:
    """Outputs of one iteration, made on demand and in order; the first `reserved` trees are separate."""

    def __init__(self, trees: Trees, code: LinearCode, here: Parameters, reserved: int) -> None:
        self._trees = trees
        self._code = code
        self._here = here
        self._tree = reserved  # the next tree to grow
        self._rest = np.empty((0, 2), dtype=np.uint64)  # unused outputs of the last tree grown

    @property
    def left(self) -> int:
        return len(self._rest) + (self._here.trees - self._tree) * self._here.leaves

    def _make(self, first: int, target: Blocks) -> None:
        self._trees.grow(first, target, self._code)  # Figure 9: multi-point COT in steps 3 and 4, the code in 5 and 6

    def kept(self, count: int) -> Blocks:
        """Return the first `count` outputs, the base of the next iteration."""
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
    """Iterations of one role whose blocks are not used up, in the order of use."""

    def __init__(self) -> None:
        self._running: list[_Iteration] = []

    def add(self, iteration: _Iteration) -> None:
        """Add an iteration that starts from the kept outputs of the last one."""
        self._running.append(iteration)

    def kept(self, count: int) -> Blocks:
        """Return the blocks that the next iteration starts from."""
        return self._running[-1].kept(count)

    def take(self, target: Blocks) -> None:
        """Fill `target` with the next blocks, uint64[count, 2]."""
        while len(target):
            iteration = self._running[0]
            here = min(len(target), iteration.left)
            iteration.take(target[:here])
            target = target[here:]
            if iteration.left == 0 and len(self._running) > 1:
                self._running.pop(0)


def _times(block: Blocks, factor: np.uint64) -> Packed:
    """Return both words of a block times a factor, over GF(2^64)."""
    sums = np.zeros(3, dtype=np.uint64)
    kernels.lpn_hash_leaves(block[None], np.array([factor]), np.ones(1, dtype=np.uint64), NOWHERE, sums)
    return sums[:2]


def _digest(session: Session, name: str, sums: list[Packed]) -> Octets:
    """Return the digest of iterations' sums, uint8[32]: the sender's proof."""
    return np.frombuffer(session.derive(name, "proof", np.concatenate(sums).tobytes(), size=DIGEST), dtype=np.uint8)


def public_parts(session: Session, name: str, number: int, secret: Blocks) -> tuple[bytes, LinearCode]:
    """Return the public key of an iteration's trees, and its linear code of the blocks `secret`, uint64[k, 2]."""
    return session.derive(name, "trees", number), LinearCode(session.derive(name, "code", number), secret)


class _Check:
    """One party's side of the check of an iteration: its trees, and 64 blocks `base` that hide the revealed values."""

    chosen = np.uint64(0)  # sum of the weights of the noisy leaves, set by `hashed`

    def __init__(self, session: Session, name: str, number: int, trees: Trees, here: Parameters, base: Blocks) -> None:
        self._context = session, name, number
        self._trees = trees
        self._here = here
        self.base = base.copy()

    def hashed(self, seed: Packed) -> Packed:
        """Return the sum of weights times leaves, and of powers of x times the blocks `base`, uint64[2]."""
        session, name, number = self._context
        weights = Prg(session.derive(name, "weights", number, seed.tobytes()))
        here = self._here
        of_trees, of_leaves = weights.words(here.trees), weights.words(here.leaves)
        sums = np.zeros(3, dtype=np.uint64)
        leaves = np.empty((CHECKED_TREES * here.leaves, 2), dtype=np.uint64)
        for first in range(0, here.trees, CHECKED_TREES):
            part = slice(first, min(first + CHECKED_TREES, here.trees))
            some = leaves[: (part.stop - part.start) * here.leaves]
            self._trees.grow(first, some)
            kernels.lpn_hash_leaves(some, of_leaves, of_trees[part], self._trees.places[part], sums)
        powers = np.uint64(1) << np.arange(CHECK_BITS, dtype=np.uint64)
        kernels.lpn_hash_leaves(self.base, powers, np.ones(1, dtype=np.uint64), NOWHERE, sums)
        self.chosen = sums[2]
        return sums[:2]


class FerretSender(CorrelatedSender):
    """Sender of silent OT by Ferret."""

    extension = SoftSpokenSender

    def __init__(self, session: Session, name: str, sets: Sequence[Parameters] = SETS) -> None:
        super().__init__(session, name)
        self._base = self.extension(session, f"{name}.first")
        self.delta = self._base.delta
        self._plan = IterationSchedule(sets)
        self._supply = _Supply()

    @override
    def begin(self) -> None:
        """Set up the OT extension that supplies the first iteration."""
        self._base.begin()
        self.ready = True

    @override
    def build_on(self, other: Role) -> bool:
        """Let this role's extension take its base OTs from the other role's extension, and return whether it does."""
        assert isinstance(other, FerretReceiver)
        return self._base.build_on(other._base)

    @override
    def reserve(self, count: int) -> None:
        checks = []
        for number, here, reserved in self._plan.due(count):
            first = self._base.random_correlated(here.base) if number == 0 else None
            masked = np.empty((here.trees, here.depth, 2), dtype=np.uint64)
            checks.append(self._start(number, here, reserved, first, masked))
            self.session.send(f"{self.name}.trees", masked)
        if checks:
            challenge = self.session.receive(f"{self.name}.challenge", np.uint64, (2 + len(checks),))
            proof = np.empty(DIGEST, dtype=np.uint8)
            self._prove(checks, challenge, proof)
            self.session.send(f"{self.name}.proof", proof)

    def _prove(self, checks: list[_Check], challenge: Packed, proof: Octets) -> None:
        """Write the sender's digest of the leaves of iterations to `proof`; `challenge` is what the receiver sent."""
        sums = [
            check.hashed(challenge[:2]) ^ _times(self.delta, masked)
            for check, masked in zip(checks, challenge[2:], strict=True)
        ]
        proof[:] = _digest(self.session, self.name, sums)

    def _start(self, number: int, here: Parameters, reserved: int, first: Blocks | None, masked: Blocks) -> _Check:
        """Start an iteration from `first` or else the last one's kept blocks; fill in `masked`, its message."""
        if first is None:
            base = self._supply.kept(here.base)
        else:
            base = first
            base[:, 0] &= ~np.uint64(1)
        pairs = base[here.secret : -CHECK_BITS].reshape(masked.shape)
        key, code = public_parts(self.session, self.name, number, base[: here.secret])
        trees = SenderTrees(key, self.delta, self.session.prg.words(here.trees, 2), here.depth)
        np.bitwise_xor(pairs, trees.sums, out=masked)
        self._supply.add(_Iteration(trees, code, here, reserved))
        return _Check(self.session, self.name, number, trees, here, base[-CHECK_BITS:])

    @override
    def random_correlated(self, count: int) -> Blocks:
        """Return random correlated OTs, see `Sender.random_correlated`; all lowest bits are 0."""
        blocks = self._begin(count)
        self._take(blocks)
        return blocks

    def _begin(self, count: int) -> Blocks:
        """Reserve `count` OTs, and return uninitialised memory for their blocks, uint64[count, 2]."""
        self.reserve(count)
        self._plan.take(count)
        return self._room(count, 2)

    def _take(self, blocks: Blocks) -> None:
        self._supply.take(blocks)

    @override
    def correlated(self, count: int) -> Blocks:
        blocks = self._begin(count)
        for start in range(0, count, BATCH):
            part = blocks[start : start + BATCH]
            self._take(part)
            self._flip(part, self.session.receive(f"{self.name}.flips", np.uint8, ((len(part) + 7) // 8,)))
        return blocks

    def _flip(self, blocks: Blocks, flips: NDArray[np.uint8]) -> None:
        kernels.lpn_flip(blocks, flips, self.delta)


class FerretReceiver(CorrelatedReceiver):
    """Receiver of silent OT by Ferret."""

    batch = BATCH
    extension = SoftSpokenReceiver

    def __init__(self, session: Session, name: str, sets: Sequence[Parameters] = SETS) -> None:
        super().__init__(session, name)
        self._base = self.extension(session, f"{name}.first")
        self._plan = IterationSchedule(sets)
        self._supply = _Supply()

    @override
    def begin(self) -> None:
        """Set up the OT extension that supplies the first iteration."""
        self._base.begin()
        self.ready = True

    @override
    def build_on(self, other: Role) -> bool:
        """Let this role's extension take its base OTs from the other role's extension, and return whether it does."""
        assert isinstance(other, FerretSender)
        return self._base.build_on(other._base)

    @override
    def reserve(self, count: int) -> None:
        checks = []
        for number, here, reserved in self._plan.due(count):
            first = self._base.random_correlated(here.base) if number == 0 else None
            masked = self.session.receive(f"{self.name}.trees", np.uint64, (here.trees, here.depth, 2))
            checks.append(self._start(number, here, reserved, first, masked))
        if checks:
            challenge = self.session.prg.words(2 + len(checks))
            expected = self._challenge(checks, challenge)
            self.session.send(f"{self.name}.challenge", challenge)
            proof = self.session.receive(f"{self.name}.proof", np.uint8, (DIGEST,))
            self._compare(expected, proof)

    def _challenge(self, checks: list[_Check], challenge: Packed) -> Octets:
        """Write each check's revealed values after the seed of a challenge, and return the expected proof."""
        sums = []
        for place, check in enumerate(checks, 2):
            hashed = check.hashed(challenge[:2])
            sums.append(hashed)
            challenge[place] = check.chosen ^ np.bitwise_or.reduce(
                (check.base[:, 0] & np.uint64(1)) << np.arange(CHECK_BITS, dtype=np.uint64)
            )
        return _digest(self.session, self.name, sums)

    def _compare(self, expected: Octets, proof: Octets) -> None:
        if not hmac.compare_digest(expected.tobytes(), proof.tobytes()):
            raise failed_check(f"{self.name}.trees")

    def _start(
        self, number: int, here: Parameters, reserved: int, first: tuple[Choices, Blocks] | None, masked: Blocks
    ) -> _Check:
        """Start an iteration from the sender's message, and from `first` or else the last one's kept blocks."""
        if first is None:
            base = self._supply.kept(here.base)
        else:
            choice, base = first
            base[:, 0] = (base[:, 0] & ~np.uint64(1)) | choice
        pairs = base[here.secret : -CHECK_BITS].reshape(masked.shape)
        key, code = public_parts(self.session, self.name, number, base[: here.secret])
        trees = ReceiverTrees(key, pairs ^ masked, (pairs[..., 0] & np.uint64(1)).astype(np.uint8))
        self._supply.add(_Iteration(trees, code, here, reserved))
        return _Check(self.session, self.name, number, trees, here, base[-CHECK_BITS:])

    @override
    def random_correlated(self, count: int) -> tuple[Choices, Blocks]:
        """Return random correlated OTs, see `Receiver.random_correlated`; the lowest bits are the choices."""
        choice, blocks = self._begin(count)
        for start in range(0, count, BATCH):
            part = slice(start, start + BATCH)
            self._take(choice[part], blocks[part])
        return choice, blocks

    def _begin(self, count: int) -> tuple[Choices, Blocks]:
        """Reserve `count` OTs, and return uninitialised memory for choices uint8[count] and blocks uint64[count, 2]."""
        self.reserve(count)
        self._plan.take(count)
        return self._bytes(count), self._room(count, 2)

    def _take(self, choice: Choices, blocks: Blocks) -> None:
        self._supply.take(blocks)
        kernels.lpn_low_bits(blocks, choice)

    @override
    def correlated(self, choice: Choices) -> Blocks:
        """Return the chosen blocks, see `Receiver.correlated`; one bit an OT is sent to the sender."""
        random_choice, blocks = self._begin(len(choice))
        for start in range(0, len(choice), BATCH):
            part = slice(start, min(start + BATCH, len(choice)))
            flips = np.empty((part.stop - start + 7) // 8, dtype=np.uint8)
            self._take(random_choice[part], blocks[part])
            self._flip(random_choice[part], choice[part], flips)
            self.session.send(f"{self.name}.flips", flips)
        return blocks

    def _flip(self, random_choice: Choices, choice: Choices, flips: NDArray[np.uint8]) -> None:
        flips[:] = bits.pack(random_choice ^ choice)
