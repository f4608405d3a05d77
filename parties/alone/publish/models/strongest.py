"""Headline of every report on attacks: the strongest attack, and the worst-hit people.

The mean over people and attacks hides both. A table that discloses ten people of a thousand, or by one attack of five,
is not safe.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parties.base.binomial import log_tail
from protocols.arrays import Codes, Floats

WORST = 0.01  # share of people that count as worst hit: those an attacker is surest of
LEAST_WORST = 10  # least number of worst-hit people
CHANCE = 0.001  # probability of a false finding


def facts(found: Mapping[str, Any]) -> dict[str, str]:
    """Return the lines of a headline in a `Report`."""
    hit = "{worst_hit[right]} of {worst_hit[people]} right, the surest of {worst_hit[attack]}"
    return {
        "strongest attack": "{strongest[attack]}: {strongest[right]:.1%} right ({strongest[gain]:+.1%})",
        "worst-hit people": hit if found["worst_hit"]["worse_than_all"] else f"{hit}; no worse hit than all people",
    }


def surest(sure: Floats) -> Codes:
    """Return the people that an attacker is surest of: one in a hundred, and at least ten."""
    count = min(len(sure), max(LEAST_WORST, math.ceil(WORST * len(sure))))
    return np.argsort(-sure, kind="stable")[:count]


def is_found(hits: int, tries: int, chance: float, attempts: int = 1) -> bool:
    """Return whether an attack has significantly more hits than chance gives.

    Args:
        hits: number of right guesses
        tries: number of guesses
        chance: probability of a right guess without any disclosure
        attempts: number of attackers, or thresholds, of which this is the best
    """
    return hits > chance * tries and log_tail(hits, tries, chance) < math.log(CHANCE / attempts)


def headline(
    right: Mapping[str, NDArray[np.bool_]],
    sure: Mapping[str, Floats],
    chance: float,
    chances: Mapping[str, Floats] | None = None,
) -> dict[str, Any]:
    """Return the attack that is right most often, and the one that is right most often when surest, as JSON.

    Args:
        right: for each attack, whether it is right about each person, bool[people]
        sure: for each attack, its certainty about each person, float64[people]
        chance: share of people about whom a guess without the publication is right
        chances: for each attack, the probability that its guess about each person is right if the publication discloses
            nothing; a guess of a rare value is less likely than `chance`, the default
    """
    best = max(right, key=lambda name: right[name].mean())
    worst = {name: surest(sure[name]) for name in right}
    hit = max(right, key=lambda name: right[name][worst[name]].mean())
    hits, people = int(right[hit][worst[hit]].sum()), len(worst[hit])
    share = float(right[best].mean())
    luck = chance if chances is None else float(np.minimum(chances[hit][worst[hit]], chance).mean())
    return {
        "strongest": {
            "attack": best,
            "right": share,
            "gain": share - chance,
            "found": is_found(int(right[best].sum()), len(right[best]), chance, len(right)),
        },
        "worst_hit": {
            "attack": hit,
            "right": hits,
            "people": people,
            "found": is_found(hits, people, luck, len(right)),
            "worse_than_all": hits > share * people,
        },
    }
