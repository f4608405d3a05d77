"""Disclosure of a sensitive value: how much a publication improves guesses of it.

Each attacker is compared with the most frequent published value (prior). Guessing from the rows that could be the
person's (class) shows homogeneity and skewness, if the person is in the table. Naive Bayes also guesses values of
people outside the table. Its gain is general knowledge from the publication; the further gain of other attackers
concerns those inside it.
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
    """Return the share of known people whose sensitive value each attacker guesses correctly, as JSON.

    There must be known people and published rows.

    Args:
        columns: agreement of each known column
        published: sensitive value of every published row
        known: true sensitive value of every known person
    """
    secret = attackers.Secret.of(published, known)
    release = attackers.Release(columns, secret.published)
    named = {name: attacker(release) for name, attacker in attackers.ATTACKERS.items()}
    right = {name: secret.is_right(guess.rows) for name, guess in named.items()}
    prior = float(secret.is_right(attackers.most_frequent(release).rows).mean())
    shares = {KEYS[name]: float(np.mean(hits)) for name, hits in right.items()}
    sure = {name: guess.sure for name, guess in named.items()}
    frequencies = 2 * release.whole / len(release.values)  # near numbers are right: those of the same group or the next
    return {
        **headline(
            right, sure, prior, {name: frequencies[release.values[guess.rows]] for name, guess in named.items()}
        ),
        "prior": prior,
        **shares,
        "gain_of_classifier": shares["classifier"] - prior,
        "gain_of_class": shares["class"] - prior,
    }
