"""Estimate the effects of columns on the odds of an outcome, with noise."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from typing_extensions import override

from parties.base.text import quoted
from parties.jobs.kind import Description, Document
from parties.jobs.release.effects.kind import Effects
from parties.jobs.release.effects.settings import ClassifiedSettings
from parties.jobs.release.ordered import two_values
from protocols.arrays import Floats, Numbers

if TYPE_CHECKING:
    from protocols.release.likelihoods import Likelihood


class LogisticRegression(Effects):
    """Estimate a logistic regression on the rows of both parties. Both learn its coefficients and odds ratios, with
    standard errors, intervals and tests that include the noise.
    """

    name = "regress logistic"
    about = Description("Logistic regression", "effects", example="--target died --columns age,arm --epsilon 1")
    Settings = ClassifiedSettings
    best = "each outcome in half of them"
    ratio, outcome_columns = "odds ratio", ("target",)

    @cached_property
    def _classes(self) -> Floats:
        """Outcome of each selected value of the target, float64[values]; nan for a missing one."""
        target, domain = self.settings.target, self.where.values(self.settings.target, self.schema)
        classes = np.full(len(domain), np.nan)
        no, yes = two_values("target", target, domain, self.settings.target_value, "a logistic regression")
        classes[[no, yes]] = 0.0, 1.0
        return classes

    @property
    @override
    def likelihood(self) -> Likelihood:
        from protocols.release.likelihoods import Logistic

        return Logistic(self.design.size, self.design.square)

    @override
    def outcomes(self, codes: dict[str, Numbers]) -> tuple[Floats, Floats]:
        outcome = self._classes[codes[self.settings.target]]
        return outcome, np.zeros(len(outcome))

    @override
    def predicts(self) -> Document:
        values, classes = self.where.values(self.settings.target, self.schema), self._classes
        return {"classes": [values[int(np.nanargmin(classes))], values[int(np.nanargmax(classes))]]}

    @property
    @override
    def learnt(self) -> str:
        value = self.where.values(self.settings.target, self.schema)[int(np.nanargmax(self._classes))]
        return f"the odds of {self.settings.target} = {quoted(value)}"
