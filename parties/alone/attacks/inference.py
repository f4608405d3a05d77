"""What a publication tells of a sensitive value: how much better it is guessed with it than without.

Beside the most frequent published value (prior) stands each of the attackers. By the rows that could be this person's
(class) homogeneity and skewness show, where the person is in the table; by naive Bayes also people who are not there
are guessed. What naive Bayes gains is what the publication teaches; what others gain beyond it is about those in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from parties.alone.attacks import attackers
from parties.alone.attacks.agreement import Agreement
from parties.alone.publish.models.strongest import headline

KEYS = {
    "possible rows": "class",
    "naive Bayes": "classifier",
    "nearest row": "nearest",
    "ten nearest rows": "neighbours",
    "rare match": "rare",
}


def infer(columns: Sequence[Agreement], published: Sequence[str], known: Sequence[str]) -> dict[str, Any]:
    """Return the shares of known people whose value is guessed rightly, ready for JSON. There must be rows of both.

    Args:
        columns: How each known column agrees.
        published: The sensitive value of every published row.
        known: The true one of every known person.
    """
    secret = attackers.Secret.of(published, known)
    release = attackers.Release(columns, secret.published)
    named = {name: attacker(release) for name, attacker in attackers.ATTACKERS.items()}
    right = {name: secret.is_right(guess.rows) for name, guess in named.items()}
    prior = float(secret.is_right(attackers.most_frequent(release).rows).mean())
    shares = {KEYS[name]: float(np.mean(hits)) for name, hits in right.items()}
    sure = {name: guess.sure for name, guess in named.items()}
    often = 2 * release.whole / len(release.values)  # a number is right if it is near: in its group, or in the next
    return {
        **headline(right, sure, prior, {name: often[release.values[guess.rows]] for name, guess in named.items()}),
        "prior": prior,
        **shares,
        "gain_of_classifier": shares["classifier"] - prior,
        "gain_of_class": shares["class"] - prior,
    }
