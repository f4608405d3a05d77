"""How sure somebody may be that a person is in a table, from what it costs if that is misused.

M. E. Nergiz, M. Atzori, C. Clifton, "Hiding the presence of individuals from shared databases" (SIGMOD 2007), section
on choosing delta: a table has all its people in common a property (a disease) of which the rate r among everybody is
known. Of T people so many as pi T are in the table, who all have it; so of those who are not there
(r - pi) / (1 - pi) have it. Whoever believes with probability p that somebody is there believes with
b(p) = p + (1 - p) (r - pi) / (1 - pi) that the person has it. If that knowledge is worth d, a gain of b(p) - r is worth
(b(p) - r) d: less than a cost c that does not matter. The other way round, to know that somebody is not there must not
be worth more than a cost of its own.
"""

from __future__ import annotations

from smc.errors import InputError


def bounds(rate: float, share: float, gain: float, exclusion: float) -> tuple[float, float]:
    """Return the least and the most probability of presence, between 0 and 1.

    `rate` is r, `share` pi; `gain` and `exclusion` are the tolerated costs c / d of believing too much and too little.
    `InputError` if more people are in the table than have the property, or if everybody has it.
    """
    if rate >= 1:
        raise InputError("everybody has the property at a rate of 1: that somebody is in the table tells nothing")
    if share > rate:
        raise InputError(f"the share of people in the table, {share:g}, is more than the rate, {rate:g}: all have it")
    outside = (rate - share) / (1 - share)
    least, most = ((belief - outside) / (1 - outside) for belief in (rate - exclusion, rate + gain))
    return max(0.0, least), min(1.0, most)
