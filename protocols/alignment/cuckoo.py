"""Keys in bins by cuckoo hashing with three hashes: at most one key in each bin, and no stash.

Source: Pagh, Rodler, "Cuckoo hashing" (J. Algorithms 51, 2004); bins for matching: Pinkas, Schneider, Zohner, "Faster
Private Set Intersection Based on OT Extension" (USENIX Security 2014). The bins have three parts of p bins. Hash i of a
key names a bin of part i, so the three bins of a key differ. A shortest path to an empty bin is sought for each key, so
n keys fail only if no placement exists.

**Failure.** By Hall's theorem a placement fails if k + 1 keys have only k bins. A smallest such set of keys has at
least two keys in each of its bins. So the probability is at most the sum over k = a + b + c, from 3 to n - 1, of

    C(n, k+1)  C(p, a) C(p, b) C(p, c)  N(k+1, a) N(k+1, b) N(k+1, c)  p^(-3 (k+1))

with N(j, a) the number of maps of j keys to a bins that hit each bin twice or more often. N(j, a) is at most
j! (e^x - 1 - x)^a x^-j, for each x > 0. Four keys with one set of bins have the term C(n, 4) / p^9, which decides for
small n. We take p = max(ninth root of 2^41 C(n, 4), 13 n / 30 + 16), both rounded up. The sum is then at most 2^-40.9
for every n from 4 to 3,000 and 148 more up to 2^22: 2^-41.0 for 100 keys, 2^-44.0 for 1,000, 2^-71 for 50,000, 2^-93
for 2^20. With fewer bins, counted failures stay below this sum: 10 keys in 12, 15 and 18 bins fail with a probability
of 2^-5.0, 2^-9.6 and 2^-13.2, where the sum is 2^-4.6, 2^-9.3 and 2^-12.9. 50 keys in 60 and 63 bins fail with 2^-6.1
and 2^-8.9. The sum is far above, 2^0.1 and 2^-3.8: it adds up events of many keys that happen together.
"""

from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import NDArray

from protocols.alignment.keys import Rows
from smc import kernels
from smc.errors import ProtocolError
from smc.kernels.cuckoo import EMPTY as EMPTY

HASHES = 3
FAILURE_BITS = 41  # minus log2 of the probability that four keys share all their bins


def part_size(keys: int) -> int:
    """Return the number of bins of each of the three parts, for at most this number of keys."""
    least = comb(keys, 4) << FAILURE_BITS
    part = int(least ** (1 / 9))
    while part**9 < least:
        part += 1
    return max(part, -(-13 * keys // 30) + 16)


def choices(words: NDArray[np.uint64], part: int) -> Rows:
    """Return the three bins of each key, int64[n, 3]: bin i is one of part i.

    Args:
        words: Three uniform words of each key, uint64[n, 3].
        part: Number of bins of a part.
    """
    return (words % np.uint64(part)).astype(np.int64) + part * np.arange(HASHES)


def placed(bins_of_keys: Rows, part: int) -> Rows:
    """Return the key in each bin, or `EMPTY`, int64[bins].

    Args:
        bins_of_keys: The three bins of each key, int64[n, 3].
        part: Number of bins of a part.

    Raises:
        ProtocolError: No placement exists. For `part_size` bins this has a probability below 2^-40.
    """
    count = HASHES * part
    bins, came_from = np.full(count, EMPTY, dtype=np.int64), np.full((count, 2), EMPTY, dtype=np.int64)
    failed = np.zeros(1, dtype=np.int64)
    kernels.cuckoo_place(np.ascontiguousarray(bins_of_keys), bins, came_from, np.empty(count, dtype=np.int64), failed)
    if failed[0]:
        raise ProtocolError("matching keys: no bins fit these keys, by rare chance; propose the job anew")
    return bins
