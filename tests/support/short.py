"""Short forms of tests with many cases: `make test` has one of N of them, `make campaign` all.

`@pytest.mark.one_of(N)` marks a test. Of N cases that follow each other one is taken, and each time the next place, so
that every value of a parameter with up to N values is met.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest


def is_taken(place: int, share: int) -> bool:
    """Return whether `make test` has a case.

    Args:
        place: Place of the case among those of its test.
        share: One of so many cases is taken.
    """
    return place % share == place // share % share


def mark_the_rest(items: Iterable[pytest.Item]) -> None:
    """Mark the cases that `make test` leaves out as campaigns."""
    seen: Counter[str] = Counter()
    for item in items:
        if mark := item.get_closest_marker("one_of"):
            test = item.nodeid.partition("[")[0]
            if not is_taken(seen[test], mark.args[0]):
                item.add_marker("campaign")
            seen[test] += 1
