"""Single-point correlated OT from punctured trees, many at once.

The sender gets leaves v_j. The receiver gets w_j = v_j except at one uniform position a, unknown to the sender, where
w_a = v_a xor delta. Protocol: Guo, Yang, Wang, Zhang, Xie, Zhang, Liu, "Half-Tree: Halving the Cost of Tree Expansion
in COT and DPF" (EUROCRYPT 2023); `smc.ot.ferret` checks the sender. The tree is correlated:

    level 1  k and k xor delta, k uniform
    below    left child = H(node), right child = H(node) xor node,     H(x) = pi(s(x)) xor s(x)

so that each level sums to delta. Let L_i be the sum of the left nodes of level i, and (q_i; r_i, q_i xor r_i delta) a
random correlated OT for each level. The sender sends q_i xor L_i. The receiver gets L_i xor r_i delta, the sum of one
side, and goes to the other: a_i = 1 - r_i. It knows all nodes of a level but the one on its path; this sum
then yields the sibling of the next one. The unknown leaf is the sum of all others xor delta, which is w_a. One
message of `depth` blocks a tree, one AES call for two nodes, nothing from the receiver.

s(high, low) = (high xor low, high) makes H circular correlation robust for an ideal cipher pi (Guo, Katz, Wang, Weng,
Yu, S&P 2020). pi is AES under a separate key for each tree, derived from a public key of session and iteration, so work
on one tree does not help against another. The positions are the receiver's secret: no branch and no index of its kernel
depends on them.

The lowest bits of base blocks and leaves hold the choice: 0 for the sender; at the receiver 1 at its position, else 0.
So the lowest bit of L_i is sent in the clear. The receiver knows L_i up to delta, whose lowest bit is public.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from smc import kernels
from smc.hashing import Blocks, round_keys
from smc.ot.lpn import LinearCode, arrays


class Trees(Protocol):
    """One party's trees. `places`: the punctured leaf of every tree, uint64[trees]; 2^64 - 1 (none) at the sender."""

    places: NDArray[np.uint64]

    def grow(self, first: int, target: Blocks, code: LinearCode | None = None) -> None:
        """Write the leaves of whole trees, plus their rows of a code.

        Args:
            first: Number of the first tree to grow.
            target: Filled in, uint64[trees << depth, 2]; its length gives the number of trees.
            code: Leaf j of tree i gets row (i << depth) + j of the code added. None: no code.
        """


class _Scratch:
    def __init__(self, key: bytes) -> None:
        self.keys = round_keys(key)
        self.schedule = np.empty(22, dtype=np.uint64)
        self.work = np.empty(8, dtype=np.uint64)


class SenderTrees:
    """The sender's trees from uniform `roots`, uint64[trees, 2]. Both parties pass one public `key`, 16 bytes.

    `sums`: the sum L_i of the left nodes of each level, uint64[trees, depth, 2].
    """

    def __init__(self, key: bytes, delta: Blocks, roots: Blocks, depth: int) -> None:
        self._scratch = _Scratch(key)
        self._delta = delta
        self._roots = roots
        self._depth = depth
        self.sums = np.empty((len(roots), depth, 2), dtype=np.uint64)
        self.places: NDArray[np.uint64] = np.full(len(roots), (1 << 64) - 1, dtype=np.uint64)
        # Grown once for the sums, overlaid, and again for the leaves: cheaper than storing them.
        self._grow(0, roots, 0, None, np.empty((1 << depth, 2), dtype=np.uint64), self.sums)

    def _grow(
        self, first: int, roots: Blocks, stride: int, code: LinearCode | None, target: Blocks, sums: Blocks
    ) -> None:
        scratch = self._scratch
        kernels.lpn_grow(
            scratch.keys, first, self._delta, roots, scratch.schedule, scratch.work, stride, *arrays(code), target, sums
        )

    def grow(self, first: int, target: Blocks, code: LinearCode | None = None) -> None:
        """Write all leaves v_j, see `Trees.grow`.

        Args:
            first: Number of the first tree to grow.
            target: Filled in, uint64[trees << depth, 2].
            code: The linear code; None for none.
        """
        roots = self._roots[first : first + (len(target) >> self._depth)]
        sums = np.empty((len(roots), self._depth, 2), dtype=np.uint64)
        self._grow(first, roots, 1 << self._depth, code, target, sums)


class ReceiverTrees:
    """Receiver's side of punctured trees: it knows all leaves of each tree except one.

    `known`, uint64[trees, depth, 2], are the sums of each level that it received. `choices`, uint8[trees, depth], are
    its choice bits. `places`, uint64[trees], is the punctured leaf of every tree.
    """

    def __init__(self, key: bytes, known: Blocks, choices: NDArray[np.uint8]) -> None:
        self._scratch = _Scratch(key)
        self._known = known
        self._depth = known.shape[1]
        path = (choices ^ np.uint8(1)).astype(np.uint64)
        self.places: NDArray[np.uint64] = (path << np.arange(self._depth, dtype=np.uint64)).sum(axis=1, dtype=np.uint64)

    def grow(self, first: int, target: Blocks, code: LinearCode | None = None) -> None:
        """Write leaves w_j, which equal the sender's but for the punctured ones, see `Trees.grow`.

        Args:
            first: Number of the first tree to grow.
            target: Filled in, uint64[trees << depth, 2].
            code: The linear code; None for none.
        """
        trees = slice(first, first + (len(target) >> self._depth))
        known, places, scratch = self._known[trees], self.places[trees], self._scratch
        kernels.lpn_grow_punctured(
            scratch.keys, first, known, places, scratch.schedule, scratch.work, *arrays(code), target
        )
