"""Vector oblivious linear evaluation (VOLE) over GF(2^128): C = A delta + B, by silent expansion.

Ideal functionality: the sender gets a uniform `delta` (with lowest bit 1) and B, the receiver uniform A and C. Source:
Boyle, Couteau, Gilboa, Ishai, "Compressing Vector OLE" (CCS 2018), with the iterations, trees and code of Ferret
(smc.ot.ferret). The field is that of `smc.kernels.field`.

**From correlated OTs.** 128 of Ferret's make an entry: A = sum b_j x^j, B = sum q_j x^j, C = sum (q_j + b_j delta) x^j.

**Expansion.** From t trees of depth d and a secret of k entries: k + t entries and t d correlated OTs become n = t 2^d.

    t d OTs    puncture t trees; leaves are hashed, so the receiver knows all h_j but one, h_a
    t entries  (y; c = y delta + b): the sender sends s = sum h_j + b; so the receiver gets s + c + (the sum of its h_j)
               = h_a + y delta
    k entries  go through the public linear code, at either party, and are added

So A = M r + e, with r uniform and e zero but for one uniform value in each bin: pseudo-random by LPN over GF(2^128).

**Parameters.** M has entries 0 and 1. So each of the 128 bits of A is an LPN instance over GF(2), all with the same
noisy positions, where a bit is noisy with probability 1/2. The sets have twice the trees of Ferret's, of half the
leaves: each bit has as many noisy positions as Ferret has. docs/math/lpn.md has what sums of bits save an attacker:
under 6 bits.

**Check**, as in Ferret, of all entries at once, and of one more, a*, that hides what the receiver sends:

    receiver sends a point u, and f_A(u); f_A has the coefficients A, the first of them a*
    sender   sends SHA-256 of f_B(u) + f_A(u) delta
    receiver compares it with that of f_C(u): they are equal if all entries are right

A sender with wrong entries passes only by guessing noisy positions, or with probability n 2^-128. The receiver sends
nothing else. Assumptions: those of Ferret; LPN as above; the hash (smc.hashing) correlation robust with h_a + y delta
too, for known y.

Cost beyond Ferret's: an iteration takes 16 t (d + 1) bytes of the sender; the check 32 bytes of either party.
"""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from typing_extensions import override

from smc import kernels
from smc.hashing import Blocks, LabelHash
from smc.ot.ferret import FerretReceiver, FerretSender, IterationSchedule, public_parts
from smc.ot.half_tree import ReceiverTrees, SenderTrees
from smc.ot.interface import Choices, Packed, Role, failed_check
from smc.ot.lpn import LARGE, SMALL, Parameters, arrays
from smc.primitives.arrays import Octets
from smc.session import Session

WIDTH = 128  # correlated OTs of an entry
BATCH = 1 << 10  # entries made of correlated OTs at a time
DIGEST = 32  # bytes of a proof
KERNELS = ("labels", "ot", "lpn", "field")  # modules of `smc.kernels` that vector OLE calls
X = np.array([2, 0], dtype=np.uint64)


@dataclass(frozen=True)
class VoleParameters(Parameters):
    """One iteration. It starts from an entry for each place of the secret and for each tree."""

    @property
    @override
    def base(self) -> int:
        return self.secret + self.trees


SETS = tuple(VoleParameters(2 * here.trees, here.depth - 1, here.log_secret) for here in (SMALL, LARGE))


class _Vole(Role):
    """Either party's side. Entries are uint64[kinds, n, 2]: the B of the sender, or the A and C of the receiver."""

    kinds: int
    _cots: Any  # Ferret's role of this party

    def __init__(self, session: Session, name: str, sets: Sequence[Parameters] = SETS) -> None:
        super().__init__(session, name)
        self._sets = sets
        self._hash = LabelHash(session, f"{name} leaves")

    @override
    def begin(self) -> None:
        self._cots.begin()
        self.ready = True

    def entries(self, count: int) -> Blocks:
        """Return `count` fresh entries, at the sender uint64[1, count, 2], at the receiver uint64[2, count, 2]."""
        self.setup()
        total = count + 1  # the first one hides what the receiver sends in the check
        plan = list(IterationSchedule(self._sets).due(total)) if total > self._sets[0].base else []
        first = plan[0][1].base if plan else total
        self._cots.reserve(WIDTH * first + sum(here.trees * here.depth for _, here, _ in plan))
        made = self._room(self.kinds, first, 2)
        for start in range(0, first, BATCH):
            part = made[:, start : start + BATCH]
            self._combine(self._cots.random_correlated(WIDTH * part.shape[1]), part)
        finished = []
        for number, here, reserved in plan:
            grown = self._expand(number, here, made[:, : here.base])
            made, rest = np.split(grown, [reserved * here.leaves], axis=1)
            finished.append(rest)
        if plan:
            made = self._joined(finished, total)
        self._check(made)
        return made[:, 1:]

    def _joined(self, parts: list[Blocks], total: int) -> Blocks:
        return np.concatenate(parts, axis=1)[:, :total]

    def _combine(self, cots: Any, out: Blocks) -> None:
        """Fill in entries, each from 128 correlated OTs."""
        raise NotImplementedError

    def _expand(self, number: int, here: Parameters, base: Blocks) -> Blocks:
        """Exchange the message of an iteration, and return its entries."""
        raise NotImplementedError

    def _check(self, made: Blocks) -> None:
        """Exchange the messages of the check of all entries."""
        raise NotImplementedError

    def _encode(self, number: int, secret: Blocks, out: Blocks) -> None:
        """Add the rows of an iteration's code to entries of one kind."""
        _, code = public_parts(self.session, self.name, number, secret)
        kernels.lpn_encode(*arrays(code), out)

    def _proof(self, value: Blocks) -> Octets:
        """Return the digest of the value of a polynomial, uint8[32]."""
        return np.frombuffer(self.session.derive(self.name, "proof", value.tobytes(), size=DIGEST), dtype=np.uint8)


def _evaluated(point: Blocks, coefficients: Blocks) -> Blocks:
    """Return the value of a polynomial at a point, uint64[2]."""
    value = np.empty((1, 2), dtype=np.uint64)
    kernels.field_evaluate(point, np.ascontiguousarray(coefficients), value)
    out: Blocks = value[0]
    return out


def _message(here: Parameters) -> tuple[int, int, int]:
    """Return the shape of an iteration's message: a block for each level of each tree, and one for its value."""
    return here.trees, here.depth + 1, 2


class VoleSender(_Vole):
    """Sender of VOLE: it knows `delta` and B."""

    kinds = 1
    cot = FerretSender

    def __init__(self, session: Session, name: str, sets: Sequence[Parameters] = SETS) -> None:
        super().__init__(session, name, sets)
        self._cots = self.cot(session, f"{name}.cot")
        self.delta: Blocks = self._cots.delta

    @override
    def _combine(self, cots: Blocks, out: Blocks) -> None:
        kernels.field_evaluate(X, cots, out[0])

    @override
    def _expand(self, number: int, here: Parameters, base: Blocks) -> Blocks:
        pairs = self._cots.random_correlated(here.trees * here.depth)
        message = np.empty(_message(here), dtype=np.uint64)
        out = self._grow(number, here, base[0], pairs, message)
        self.session.send(f"{self.name}.trees", message)
        return out

    def _grow(self, number: int, here: Parameters, base: Blocks, pairs: Blocks, message: Blocks) -> Blocks:
        key, _ = public_parts(self.session, self.name, number, base)
        trees = SenderTrees(key, self.delta, self.session.prg.words(here.trees, 2), here.depth)
        leaves = np.empty((here.outputs, 2), dtype=np.uint64)
        trees.grow(0, leaves)
        (out,) = self._hash(leaves)
        message[:, :-1] = pairs.reshape(trees.sums.shape) ^ trees.sums
        message[:, -1] = _sums(here, out) ^ base[here.secret :]
        self._encode(number, base[: here.secret], out)
        return out[None]

    @override
    def _check(self, made: Blocks) -> None:
        challenge = self.session.receive(f"{self.name}.challenge", np.uint64, (2, 2))
        self.session.send(f"{self.name}.proof", self._proven(made, challenge))

    def _proven(self, made: Blocks, challenge: Blocks) -> Octets:
        value = _evaluated(challenge[0], made[0])[None]
        kernels.field_add_products(self.delta, challenge[1:], value)
        return self._proof(value)


class VoleReceiver(_Vole):
    """Receiver of VOLE: it knows A and C."""

    kinds = 2
    cot = FerretReceiver

    def __init__(self, session: Session, name: str, sets: Sequence[Parameters] = SETS) -> None:
        super().__init__(session, name, sets)
        self._cots = self.cot(session, f"{name}.cot")

    @override
    def _combine(self, cots: tuple[Choices, Blocks], out: Blocks) -> None:
        choices, blocks = cots
        out[0] = np.packbits(choices, bitorder="little").view(np.uint64).reshape(-1, 2)
        kernels.field_evaluate(X, blocks, out[1])

    @override
    def _expand(self, number: int, here: Parameters, base: Blocks) -> Blocks:
        choices, pairs = self._cots.random_correlated(here.trees * here.depth)
        message = self.session.receive(f"{self.name}.trees", np.uint64, _message(here))
        return self._grow(number, here, base, choices, pairs, message)

    def _grow(
        self, number: int, here: Parameters, base: Blocks, choices: Choices, pairs: Blocks, message: Blocks
    ) -> Blocks:
        key, _ = public_parts(self.session, self.name, number, base[0])
        known = pairs.reshape(here.trees, here.depth, 2) ^ message[:, :-1]
        trees = ReceiverTrees(key, known, choices.reshape(here.trees, here.depth))
        leaves = np.empty((here.outputs, 2), dtype=np.uint64)
        trees.grow(0, leaves)
        out = np.zeros((2, here.outputs, 2), dtype=np.uint64)
        (out[1],) = self._hash(leaves)
        values, products = base[:, here.secret :]
        _add_at(here, trees.places, values, out[0])
        _add_at(here, trees.places, message[:, -1] ^ products ^ _sums(here, out[1]), out[1])
        for kind, secret in zip(out, base[:, : here.secret], strict=True):
            self._encode(number, secret, kind)
        return out

    @override
    def _check(self, made: Blocks) -> None:
        challenge, expected = self._challenge(made)
        self.session.send(f"{self.name}.challenge", challenge)
        self._compare(expected, self.session.receive(f"{self.name}.proof", np.uint8, (DIGEST,)))

    def _challenge(self, made: Blocks) -> tuple[Blocks, Octets]:
        point = self.session.prg.words(2)
        value, product = (_evaluated(point, kind) for kind in made)
        return np.stack([point, value]), self._proof(product)

    def _compare(self, expected: Octets, proof: Octets) -> None:
        if not hmac.compare_digest(expected.tobytes(), proof.tobytes()):
            raise failed_check(f"{self.name}.trees")


def _sums(here: Parameters, leaves: Blocks) -> Blocks:
    """Return the sum of each tree's leaves, uint64[trees, 2]."""
    sums: Blocks = np.bitwise_xor.reduce(leaves.reshape(here.trees, here.leaves, 2), axis=1)
    return sums


def _add_at(here: Parameters, places: Packed, values: Blocks, leaves: Blocks) -> None:
    """Add a value to a secret leaf of each tree. All leaves are written."""
    here_ones = np.uint64(0) - (places[:, None] == np.arange(here.leaves, dtype=np.uint64)).astype(np.uint64)
    by_tree = leaves.reshape(here.trees, here.leaves, 2)
    by_tree ^= here_ones[..., None] & values[:, None]
