"""Categorical distortion: k-ary randomised response, and estimates of the true shares.

A person reports the truth with probability `keep`, and otherwise any of the k categories with equal chances (the true
one among them). Source: S. Warner, JASA 1965, for two; W. Du, Z. Zhan, KDD 2003, for trees. Each answer is
differentially private, with epsilon = ln((keep + (1 - keep) / k) / ((1 - keep) / k)).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from parties.alone.blurring.estimation import Estimate, reconstruct
from protocols.arrays import Floats
from smc.errors import InputError


@dataclass(frozen=True)
class Response:
    """Randomised response over `size` >= 2 categories, with 0 <= keep <= 1; otherwise InputError."""

    size: int
    keep: float

    def __post_init__(self) -> None:
        if not 0 <= self.keep <= 1:
            raise InputError(f"keep must be between 0 and 1, not {self.keep:g}")
        if self.size < 2:
            raise InputError("randomised response needs two categories or more")

    @property
    def epsilon(self) -> float:
        """Epsilon of one answer (local differential privacy); infinite if every answer is true."""
        return math.inf if self.keep == 1 else math.log1p(self.keep * self.size / (1 - self.keep))

    @property
    def chances(self) -> Floats:
        """P(answer i | true category j), float64[k, k]."""
        return self.keep * np.eye(self.size) + (1 - self.keep) / self.size

    def blur(self, codes: NDArray[np.int32], rng: np.random.Generator) -> NDArray[np.int32]:
        """Return an answer for each true category, int32[rows].

        Args:
            codes: true categories, int32[rows] below `size`
            rng: source of randomness
        """
        answers = rng.integers(0, self.size, len(codes), dtype=np.int32)
        return np.where(rng.random(len(codes)) < self.keep, codes, answers)

    def inverse(self, counts: Floats) -> Floats:
        """Return the shares of the true categories by the inverse matrix, negative ones set to 0, then normalised.

        Before this correction they are unbiased. InputError if keep is 0: answers then contain no information.
        """
        if not self.keep:
            raise InputError("keep is 0, so answers do not depend on the truth; set keep above 0")
        probabilities = (counts / counts.sum() - (1 - self.keep) / self.size) / self.keep
        probabilities = np.maximum(probabilities, 0)
        return np.asarray(probabilities / probabilities.sum())

    def estimate(self, counts: Floats) -> Estimate:
        """Return the maximum-likelihood shares, by the iteration used for numbers; never negative."""
        return reconstruct(counts, self.chances)


def reassign(answers: NDArray[np.int32], probabilities: Floats, rng: np.random.Generator) -> NDArray[np.int32]:
    """Return categories of rows, int32[rows], changed so that their shares match the probabilities.

    Categories have no order that rows could be sorted in. Each row keeps its answer unless the answer is too frequent.
    Rows chosen at random from the surplus get categories that are too rare.

    Args:
        answers: answer of each row, int32[rows]
        probabilities: share of each category, float64[k]
        rng: source of randomness
    """
    shares = np.bincount(answers, minlength=len(probabilities)) / max(len(answers), 1)
    surplus, lack = shares - probabilities, np.maximum(probabilities - shares, 0)
    if lack.sum() <= 0:
        return answers.copy()
    moves = rng.random(len(answers)) * shares[answers] < surplus[answers]
    categories = answers.copy()
    categories[moves] = rng.choice(len(probabilities), int(moves.sum()), p=lack / lack.sum())
    return categories


def codes_of(values: Sequence[str], categories: Sequence[str]) -> NDArray[np.int32]:
    """Return the index of each value among the categories, int32[rows]; -1 for another value.

    Args:
        values: The answers, list of length rows.
        categories: The allowed answers, in the plan's order.
    """
    index = {category: i for i, category in enumerate(categories)}
    return np.array([index.get(value, -1) for value in values], dtype=np.int32)
