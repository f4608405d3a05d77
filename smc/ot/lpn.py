"""Learning parity with noise (LPN): the parameters and the public linear code of Ferret.

From k short secret bits r and a sparse noise e, both uniform in their sets, come n bits A r + e that look uniform
to whoever knows only the public matrix A. Ferret applies the same linear map to blocks: each output is the sum of ten
of k blocks and one leaf of a tree (smc.ot.half_tree). The choice bit travels in the lowest bit of the receiver's
blocks, so one pass over blocks serves both.

**Code.** d = 10 local, as in Yang, Weng, Lan, Zhang, Wang, "Ferret" (CCS 2020): row i is the sum of ten entries whose
indices are 32-bit pieces of AES in counter mode under a public key of the session, cut to log2 k bits. k is a power of
two, so they are exactly uniform; a row may by chance (about 2^-10 for k = 2^16) name an entry twice, which cancels.

**Noise.** Regular: n = t 2^d positions in t bins of 2^d, one noisy position a bin.

**Parameters.** Two sets (t, d, log2 k) of emp-ot's current Ferret (emp-ot/tuning.h, there called b10 and b12), stated
there to give about 128 bits against the published attacks on regular LPN, a hybrid one being the best. They replace
the sets of 2020, of which n = 10,180,608, t = 4,971, k = 124,000 is down to 110 bits by the algebraic attack. Bits of
security by the formulas of Liu, Wang, Yang, Yu, "The Hardness of LPN over Any Integer Ring and Field for PCG
Applications" (EUROCRYPT 2024), regular noise counted as t known equations (the tests compute this table):

                                                              SMALL   LARGE
    pooled Gauss                                                139     144
    information set decoding (Stern, Dumer)                     131     138
    statistical decoding 2.0                                    205     205
    algebraic with guessing (Briaud, Oygarden, EUROCRYPT 2023)  145     143

The permutation attack of Esser and Santini (CRYPTO 2024) costs what pooled Gauss does here. Not in the table: decoding
with more levels of lists (BJMM), whose advantage vanishes at such low noise (Canto Torres, Sendrier, PQCrypto 2016).

**What is assumed.** The estimates are for uniform A. That the sparse A is no weaker, though its dual code has lighter
words than a random one, is an assumption of Ferret and of all its implementations. LPN with so little noise (t / n is
2^-d) is itself studied less than AES or Diffie-Hellman. Who wants neither takes another kind of OT.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from smc import kernels
from smc.hashing import Blocks, round_keys

LOCALITY = 10


@dataclass(frozen=True)
class Parameters:
    """One iteration: `trees` bins of 2^`depth` outputs (depth at least 3), 2^`log_secret` secret bits."""

    trees: int
    depth: int
    log_secret: int

    def __post_init__(self) -> None:
        if self.depth < 3:
            raise ValueError(f"trees of depth {self.depth}: the code works on 8 rows at once")

    @property
    def secret(self) -> int:
        """k: the length of the secret."""
        return 1 << self.log_secret

    @property
    def leaves(self) -> int:
        """Outputs a tree."""
        return 1 << self.depth

    @property
    def outputs(self) -> int:
        """n: correlated OTs made."""
        return self.trees << self.depth

    @property
    def base(self) -> int:
        """Correlated OTs consumed: k for the secret and one for each level of each tree."""
        return self.secret + self.trees * self.depth

    @property
    def message_bytes(self) -> int:
        """The sender's only message: a block for each level of each tree."""
        return 16 * self.trees * self.depth


SMALL = Parameters(trees=850, depth=10, log_secret=16)
LARGE = Parameters(trees=1520, depth=12, log_secret=18)


class LinearCode:
    """A r for one secret: adds row i of A times `table`, uint64[2^l, 2], to output number i."""

    def __init__(self, key: bytes, table: Blocks) -> None:
        self._keys = round_keys(key)
        self._table = table
        self._indices = np.empty(8 * LOCALITY, dtype=np.uint32)

    def add(self, first: int, target: Blocks) -> None:
        """target[i] ^= row first + i, uint64[n, 2]; `first` and n are multiples of 8."""
        kernels.lpn_encode(self._keys, first, self._table, self._indices, target)
