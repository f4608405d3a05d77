"""Bounds of the probability of presence in a table, from the tolerated cost of misuse.

M. E. Nergiz, M. Atzori, C. Clifton, "Hiding the presence of individuals from shared databases" (SIGMOD 2007), section
on choosing delta: all people in a table have a property (a disease), whose rate r among everybody is known. Of T
people, pi T are in the table, all with the property; so (r - pi) / (1 - pi) of the others have it. An attacker who
believes with probability p that a person is present believes with b(p) = p + (1 - p) (r - pi) / (1 - pi) that the
person has it. If that knowledge is worth d, a gain of b(p) - r is worth (b(p) - r) d, which must be below a tolerable
cost c. Conversely, the knowledge that a person is absent must not be worth more than a cost of its own.
"""

from __future__ import annotations

from smc.errors import InputError


def bounds(rate: float, share: float, gain: float, exclusion: float) -> tuple[float, float]:
    """Return the least and the greatest tolerable probability of presence, between 0 and 1.

    Args:
        rate: share r of everybody with the property
        share: share pi of everybody in the table
        gain: tolerated cost c / d of believing too much
        exclusion: tolerated cost c / d of believing too little

    Raises:
        InputError: more people are in the table than have the property, or everybody has it
    """
    if rate >= 1:
        raise InputError(
            "at a rate of 1, everybody has the property, so presence in the table discloses nothing; "
            "give a --rate below 1"
        )
    if share > rate:
        raise InputError(
            f"the share of people in the table, {share:g}, is more than the rate, {rate:g}, "
            "although all people in the table have the property; correct --share or --rate"
        )
    outside = (rate - share) / (1 - share)
    least, most = ((belief - outside) / (1 - outside) for belief in (rate - exclusion, rate + gain))
    return max(0.0, least), min(1.0, most)
