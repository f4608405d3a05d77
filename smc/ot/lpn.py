"""Learning parity with noise (LPN): the parameters and the public linear code of Ferret.

From k short secret bits r and a sparse noise e, both uniform in their sets, come n bits A r + e that look uniform
to whoever knows only the public matrix A. Ferret applies the same linear map to blocks: each output is the sum of
eleven of k blocks and one leaf of a tree (smc.ot.half_tree). The choice bit travels in the lowest bit of the
receiver's blocks, so one pass over blocks serves both.

**Code.** d = 11 local, after Yang, Weng, Lan, Zhang, Wang, "Ferret" (CCS 2020): row i is the sum of eleven entries,
fields of 21 bits of AES in counter mode under a public key of the session, two blocks a row, cut to log2 k bits. k is a
power of two, so they are exactly uniform; a row may by chance (about 2^-10 for k = 2^16) name an entry twice, which
cancels. The paper has d = 10. With an even number all columns of A would sum to zero; nine would be faster and lose 15
bits against the attacks below.

**Noise.** Regular: n = t 2^d positions in t bins of 2^d, one noisy position a bin.

**Attacks on uniform codes.** Bits of security by the formulas of Liu, Wang, Yang, Yu, "The Hardness of LPN over Any
Integer Ring and Field for PCG Applications" (EUROCRYPT 2024) and of Wang, Wang, Yang, Liu, Yu, Zhang, Wang, "A Hybrid
Algorithm for the Regular Syndrome Decoding Problem" (ASIACRYPT 2025, eprint 2025/1284), regular noise counted as t
known equations. Of AGB 2.0 the formula is that of its authors' estimator (lpnestimator.com):

                                                              SMALL   LARGE
    pooled Gauss                                                232     241
    information set decoding (Stern, Dumer)                     219     227
    statistical decoding 2.0                                    391     403
    algebraic with guessing (Briaud, Oygarden, EUROCRYPT 2023)  215     237
    algebraic in two steps (AGB 2.0, eprint 2025/1476)          209     228
    hybrid of decoding and quadratic equations (2025/1284)      202     220

Both algebraic attacks take the cheapest of degrees 2, 3 and 4: degree 3 for SMALL, 2 for LARGE. By degree the first
costs 221, 215 and 215 bits for SMALL, 237, 238 and 244 for LARGE; the second 210, 209 and 215, and 228, 235 and 248.

The permutation attack of Esser and Santini (CRYPTO 2024) costs what pooled Gauss does here. Not in the table: decoding
with more levels of lists (BJMM), whose advantage vanishes at such low noise (Canto Torres, Sendrier, PQCrypto 2016).

**Attacks on this code**, whose rows are sparse and many. *Domain reduction* picks N of the k columns and keeps the rows
whose eleven entries all lie among them. At random it needs N = k (k / n)^(1/10): N rows are left then, and if they are
free of noise they determine N bits of the secret. Leaving out the columns of lowest degree first finds a smaller N.
The system stays sparse: block Wiedemann solves it in about 3 d N^2 bit operations, elimination in N^2.8. Every guess of
N rows without noise costs one solution; or one looks for four noisy rows among them, in two halves that meet in the
middle, which takes no longer than the solution and needs less luck:

                                                              SMALL   LARGE
    random columns, elimination                                 187     194
    random columns, sparse solver                               179     186
    greedy columns, elimination                                 173     182
    greedy columns, sparse solver                               166     174
    and a few noisy rows searched for                           145     153
    the best columns there can be, and the same                 136     143

For the last line nobody knows how to find the columns: it takes the smallest N for which a code of these sizes has N
columns with N rows among them with a probability of at least 2^-40. Greedy means about 1 % of the columns at a time;
one by one gains the attacker a bit. Decoding and the hybrid attack on larger parts of the system cost more. The tests
compute both tables, the second from the rows that this code has, and carry the attack out on a small instance.

**Parameters.** Two sets, for 128 bits by every line. A table is read at random, eleven times an output, so its size
decides the time; the depth of the trees decides the bytes. Three sets (t, d, log2 k) that the lines of the second table
tell apart by two bits at most, compared by `python -m benchmarks.ot --sets`:

    (1200, 10, 17)  LARGE: a table of 2 MB, 1.42 bits sent a random OT
    (1300, 11, 18)  4 MB, 0.77 bits; 1.4 times the processor time
    (1520, 12, 19)  8 MB, 0.41 bits; 2 times, and quicker in bulk only where a line has less than about 60 Mbit/s

emp-ot's sets of (t, d, log2 k) = (850, 10, 16) and (1520, 12, 18) with ten entries a row have 131 and 128 by the
hybrid attack, the best on uniform codes, but 96 and 95 by greedy columns with a sparse solver, and 80 with the search.
Ferret's set of 2020, n = 10,180,608, t = 4,971, k = 124,000, is down to 110 by the algebraic attack alone.

**What is assumed.** That no attack uses the sparse rows much better than these do: an assumption of Ferret and of all
its implementations. LPN with so little noise (t / n is 2^-d) is itself studied less than AES or Diffie-Hellman. Who
wants neither takes another kind of OT.
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
    """One iteration: `trees` bins of 2^`depth` outputs (depth 3 or more), 2^`log_secret` secret bits (20 or less)."""

    trees: int
    depth: int
    log_secret: int

    def __post_init__(self) -> None:
        if self.depth < 3:
            raise ValueError(f"trees of depth {self.depth}: the code works on 8 rows at once")
        if self.log_secret > MOST_SECRET:
            raise ValueError(f"2^{self.log_secret} secret bits: the code names at most 2^{MOST_SECRET}")

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
