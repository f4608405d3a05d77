"""Kernel of cuckoo hashing (protocols.alignment.cuckoo): keys in bins, at most one in each.

The search branches on the own keys' digests. The other party sees of it at most the time of all keys together.
"""

from __future__ import annotations

EMPTY = -1


def place(choices, bins, came_from, queue, failed):  # type: ignore[no-untyped-def]
    """Put each key into one of its bins, and move earlier keys along a shortest path to an empty bin.

    Args:
        choices: The bins of each key, i64[n, 3].
        bins: -1 for each bin, i64[bins]; gets the key in the bin.
        came_from: -1 for each bin, i64[bins, 2]; scratch: the last key that reached it, and the bin before it.
        queue: Scratch, i64[bins].
        failed: One 0, i64[1]; gets the number of keys without a bin. No other placement has fewer.
    """
    for key in range(choices.shape[0]):
        first, last, found, mover, before = 0, 0, EMPTY, key, EMPTY
        while True:
            for choice in range(choices.shape[1]):
                reached = choices[mover, choice]
                if came_from[reached, 0] != key:
                    came_from[reached, 0], came_from[reached, 1] = key, before
                    queue[last] = reached
                    last += 1
                    if bins[reached] == EMPTY:
                        found = reached
                        break
            if found != EMPTY or first == last:
                break
            before = queue[first]
            mover = bins[before]
            first += 1
        if found == EMPTY:
            failed[0] += 1
            continue
        while came_from[found, 1] != EMPTY:
            before = came_from[found, 1]
            bins[found] = bins[before]
            found = before
        bins[found] = key
