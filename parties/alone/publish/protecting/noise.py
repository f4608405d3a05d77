"""Additive noise: normal, independent for each column or with the columns' correlations.

Kim, "A method for limiting disclosure in microdata based on random noise and transformation" (1986). Noise of
covariance d S keeps correlations, where S is the columns' covariance. If the noisy values are shrunk by sqrt(1 + d),
their covariance is S itself. This is not differential privacy: an attacker with much knowledge can remove the noise
(see `smc blur attack`).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import override

from parties.alone.publish.protecting.method import Columns, Method
from parties.alone.publish.protecting.rows import Rows, spelled
from parties.base.arrays import Floats
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
    """Return the largest number of decimals among a column's values."""
    return max(len(text.partition(".")[2].partition("e")[0]) for text in set(rows.column(name).tolist()))
