"""Perturbation of columns of numbers: additive noise, and rank swapping.

Additive noise: normal, independent for each column or with the columns' correlations.

Kim, "A method for limiting disclosure in microdata based on random noise and transformation" (1986). Noise of
covariance d S keeps correlations, where S is the columns' covariance. If the noisy values are shrunk by sqrt(1 + d),
their covariance is S itself. This is not differential privacy: an attacker with much knowledge can remove the noise
(see `smc blur attack`).

Rank swapping: each value is exchanged with a value whose rank differs by at most P percent of the rows.

Moore, "Controlled data-swapping techniques for masking public use microdata sets" (1996). The values of a column stay,
and with them every statistic of one column; dependencies between columns are blurred.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import override

from parties.alone.publish.protecting.method import Columns, Method
from parties.alone.publish.protecting.rows import Rows, spelled
from protocols.arrays import Counts, Floats
from smc.errors import InputError


class Noise(Method):
    """Method that adds noise, whose variance is the share `d` of each column's; if `transformed`, covariances stay."""

    columns: Columns
    d: Annotated[float, Field(strict=True, gt=0, le=100)] = 0.1
    by: Literal["additive", "correlated"] = "additive"
    transformed: bool = False

    @model_validator(mode="after")
    def _fits(self) -> Noise:
        if self.transformed and self.by != "correlated":
            raise ValueError('transformed is for noise by = "correlated"')
        return self

    @override
    def run(self, rows: Rows, random: np.random.Generator) -> tuple[Rows, dict[str, Any]]:
        """Return the rows with noise, rounded to the column's decimals; raise InputError for fewer than two rows."""
        values = rows.matrix(self.columns)
        if len(values) < 2:
            raise InputError(f"{rows.place}: noise needs at least two rows, to measure their variance")
        noisy = added(values, self.d, self.by == "correlated", self.transformed, random)
        changed = {
            name: spelled(np.round(column, _decimals(rows, name)))
            for name, column in zip(self.columns, noisy.T, strict=True)
        }
        return rows.replaced(changed), {"variance_of_noise": self.d}


def added(values: Floats, d: float, correlated: bool, transformed: bool, random: np.random.Generator) -> Floats:
    """Return values with noise, float[rows, columns].

    Args:
        values: numbers to change, float[rows, columns]
        d: variance of the noise as a share of each column's variance
        correlated: whether the noise has the columns' correlations
        transformed: whether the result keeps the columns' covariance
        random: source of randomness
    """
    covariance = np.atleast_2d(np.cov(values, rowvar=False))
    if not correlated:
        covariance = np.diag(np.diag(covariance))
    eigenvalues, directions = np.linalg.eigh(covariance)  # a covariance may be singular, where Cholesky fails
    root = directions * np.sqrt(np.maximum(eigenvalues, 0) * d)
    noisy = values + random.standard_normal(values.shape) @ root.T
    if transformed:
        mean = values.mean(axis=0)
        noisy = mean + (noisy - mean) / np.sqrt(1 + d)
    return np.asarray(noisy)


def _decimals(rows: Rows, name: str) -> int:
    return max(len(text.partition(".")[2].partition("e")[0]) for text in set(rows.column(name).tolist()))


class RankSwapping(Method):
    """Method that exchanges values whose ranks differ by at most `p` percent of the rows with a value."""

    columns: Columns
    p: Annotated[float, Field(strict=True, gt=0, le=100)] = 5.0

    @override
    def run(self, rows: Rows, random: np.random.Generator) -> tuple[Rows, dict[str, Any]]:
        """Return the rows with each column's values exchanged; missing values stay."""
        changed, not_swapped = {}, {}
        for name in self.columns:
            numbers = rows.numbers(name)
            present = np.flatnonzero(~np.isnan(numbers))
            mixed = random.permutation(present)  # ties are ranked at random
            order = mixed[np.argsort(numbers[mixed], kind="stable")]
            partner = partners(len(order), int(len(order) * self.p / 100), random)
            column = rows.column(name).copy()
            column[order] = column[order[partner]]
            changed[name] = column
            not_swapped[name] = int((partner == np.arange(len(order))).sum())
        return rows.replaced(changed), {"not_swapped": not_swapped}


def partners(number: int, window: int, random: np.random.Generator) -> Counts:
    """Return the rank with which each rank is exchanged, int64[number]: at most `window` away, or itself.

    Args:
        number: number of ranks
        window: greatest distance
        random: source of randomness
    """
    partner, free = np.arange(number), np.ones(number, dtype=bool)
    for rank in range(number):
        if not free[rank]:
            continue
        candidates = np.flatnonzero(free[rank + 1 : rank + 1 + window])
        if len(candidates):
            other = rank + 1 + int(random.choice(candidates))
            partner[rank], partner[other] = other, rank
            free[other] = False
    return partner
