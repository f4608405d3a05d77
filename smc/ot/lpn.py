"""Learning parity with noise (LPN): the parameters and the public linear code of Ferret.

From k short secret bits r and a sparse noise e, both uniform in their sets, come n bits A r + e. They look uniform to a
party that knows only the public matrix A. Ferret applies the same linear map to blocks: each output is the sum of
eleven of k blocks and one leaf of a tree (smc.ot.half_tree). The choice bit travels in the lowest bit of the receiver's
blocks, so one pass over blocks serves both.

Code: d = 11 local, after Yang, Weng, Lan, Zhang, Wang, "Ferret" (CCS 2020): row i is the sum of eleven entries, fields
of 21 bits of AES in counter mode under a public key of the session, two blocks a row, cut to log2 k bits. Noise:
regular, n = t 2^d positions in t bins of 2^d, one noisy position a bin.

docs/math/lpn.md has the attacks with the bits of security of both sets (at least 128 by every line), the choice of the
parameters, and the assumptions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smc.hashing import Blocks, RoundKeys, round_keys

LOCALITY = 11
CHECK_BITS = 64  # of the check of an iteration's trees; see `smc.ot.ferret`
MOST_SECRET = 20  # log2 k: an index is a field of 21 bits, whose lowest is not used


@dataclass(frozen=True)
class Parameters:
    """One iteration: `trees` bins of 2^`depth` outputs, and 2^`log_secret` secret bits.

    Raise ValueError for a depth below 3, or a log_secret above 20.
    """

    trees: int
    depth: int
    log_secret: int

    def __post_init__(self) -> None:
        if self.depth < 3:
            raise ValueError(
                f"the depth of the trees is {self.depth}, must be 3 or more: the code works on 8 rows at once"
            )
        if self.log_secret > MOST_SECRET:
            raise ValueError(f"there are 2^{self.log_secret} secret bits, must be at most 2^{MOST_SECRET}")

    @property
    def secret(self) -> int:
        """Length k of the secret vector of learning parity with noise."""
        return 1 << self.log_secret

    @property
    def leaves(self) -> int:
        """Number of outputs of each tree."""
        return 1 << self.depth

    @property
    def outputs(self) -> int:
        """Number n of correlated OTs that an iteration makes."""
        return self.trees << self.depth

    @property
    def base(self) -> int:
        """Correlated OTs consumed: k for the secret, one for each level of each tree, and those of the check."""
        return self.secret + self.trees * self.depth + CHECK_BITS

    @property
    def message_bytes(self) -> int:
        """Bytes of the sender's message of trees: a block for each level of each tree."""
        return 16 * self.trees * self.depth


SMALL = Parameters(trees=1600, depth=9, log_secret=16)
LARGE = Parameters(trees=1200, depth=10, log_secret=17)


class LinearCode:
    """The public matrix A under a key, and one secret r for it: `table`, uint64[2^l, 2].

    A r is never stored alone: the function that grows leaves adds row i times `table` to leaf i (smc.ot.half_tree).
    """

    def __init__(self, key: bytes, table: Blocks) -> None:
        self.keys = round_keys(key)
        self.table = table


def arrays(code: LinearCode | None) -> tuple[RoundKeys, Blocks, Blocks]:
    """Return the kernels' arguments for a code or for None: its keys, its table, and scratch."""
    if code is None:
        return np.empty(22, dtype=np.uint64), np.empty((0, 2), dtype=np.uint64), np.empty((2, 96), dtype=np.uint64)
    return code.keys, code.table, np.empty((2, 96), dtype=np.uint64)
