"""What is done with opened numbers: it is local, the same for both parties, and costs no privacy."""

from __future__ import annotations

import numpy as np

from parties.base.arrays import Counts


def consistent(noisy: Counts, most: int) -> Counts:
    """Counts from 0 up with the same sum, as near to the noisy ones as can be; their sum is at most `most`.

    Noisy counts below 0 are no counts, and to set them to 0 would raise every margin of a table. So what they lack is
    taken from the others in equal parts: the projection onto the counts of that sum (Euclidean distance), rounded. If
    the sum is below 0, all are 0. Margins of the result are sums of it, hence fit each other.
    """
    flat = noisy.reshape(-1)
    total = min(max(int(flat.sum()), 0), most)
    ordered = np.sort(flat)[::-1]
    sums = np.cumsum(ordered)
    counts = np.arange(1, len(flat) + 1)
    places = np.flatnonzero(ordered * counts > sums - total)  # those that stay above 0, by the greatest such place
    if total == 0 or not places.size:
        return np.zeros_like(noisy)
    many = int(places[-1]) + 1
    excess = int(sums[many - 1]) - total  # to be taken from so many in equal parts
    lowered, rest = divmod(excess, many)
    fitting = np.maximum(flat - lowered, 0)
    chosen = np.argsort(-flat, kind="stable")[:many]
    fitting[chosen[many - rest :]] -= 1  # the remainder, one each from the smallest of them
    return np.maximum(fitting, 0).reshape(noisy.shape)
