"""Reconstruction of a yes or no of each person from noisy counts of random subsets.

I. Dinur, K. Nissim, "Revealing information while preserving privacy" (PODS 2003): n questions or more about random
subsets of n people, each answered within an error much below the root of n, give nearly every person's answer away.
Least squares find it; the noise's variance against that of an answer is the weight of the prior. Discrete Laplace noise
of scale 1 / epsilon keeps epsilon for one count, and k epsilon for k counts: a budget limits k. If all counts cost E
together, no attacker guesses a person's answer correctly with a probability above q e^E / (q e^E + 1 - q), by Bayes'
rule, where q is the share of the more frequent answer.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Truth = NDArray[np.bool_]


def success(truth: Truth, questions: int, epsilon: float, random: np.random.Generator) -> float:
    """Return the share of people whose answer the attack finds.

    Args:
        truth: each person's answer, bool[people]
        questions: number of noisy counts
        epsilon: privacy loss of each count
        random: source of subsets and noise
    """
    subsets = random.integers(0, 2, (questions, len(truth))).astype(np.float64)
    chance = -math.expm1(-epsilon)
    noise = random.geometric(chance, questions) - random.geometric(chance, questions)
    answers = subsets @ (truth - 0.5) + noise
    weight = 2 * (1 - chance) / chance**2 / 0.25
    offsets = np.linalg.solve(subsets.T @ subsets + weight * np.eye(len(truth)), subsets.T @ answers)
    return float(np.mean((offsets > 0) == truth))


def most_success(share: float, spent: float) -> float:
    """Return the greatest probability of guessing a person's answer correctly, given the loss of all counts.

    Args:
        share: share of people with the more frequent answer
        spent: epsilon of all counts together
    """
    return share / (share + (1 - share) * math.exp(-spent))
