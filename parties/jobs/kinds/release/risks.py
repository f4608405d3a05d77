"""Compare the risk of an outcome between two groups, with noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from parties.jobs.kind import Description, Document
from parties.jobs.release.comparison import Comparison, StratifiedSettings, Sums
from parties.jobs.release.ordered import two_values
from parties.jobs.release.postprocessing import short
from parties.jobs.release.question import Part
from parties.jobs.settings import Name, public
from protocols.arrays import Floats, Numbers


class RisksSettings(StratifiedSettings):
    """Settings of `smc release risks`."""

    target: Name | None = public(None, "Target", "Column of the outcome; it has two values", column=True)
    target_value: Name | None = public(
        None, "Value that is meant", "Value of the target whose risk is compared", none="yes"
    )


class Risks(Comparison):
    """Compare the risk of an outcome between two groups of the rows of both parties. Both learn the risks, their
    difference and ratio, the odds ratio and Cohen's h, with noise.

    One table of counts is opened, with noise of scale 1 / epsilon. With strata, the odds ratio common to all of them
    follows too (Mantel and Haenszel), at no further cost. Intervals include the noise.
    """

    name = "release risks"
    about = Description("Compared risks", "comparison", "--target outcome --target-value yes --by arm --epsilon 1")
    Settings = RisksSettings
    measures = 2  # rows without the outcome, and with it

    @override
    def parts(self, cells: int) -> list[Part]:
        return [Part(2 * cells, self.rows_each, False, self.noise(2 if self.replaced else 1))]

    @cached_property
    def _outcomes(self) -> NDArray[np.bool_]:
        target = self.settings.target
        domain = self.where.values(target, self.schema)
        outcomes = two_values("target", target, domain, self.settings.target_value, "a risk")
        return np.array([np.arange(len(domain)) == outcome for outcome in outcomes])

    @override
    def of_rows(self, codes: Mapping[str, Numbers]) -> tuple[Numbers, NDArray[np.bool_]]:
        outcomes = self._outcomes[:, codes[self.settings.target]]
        return outcomes.astype(np.int64), np.asarray(outcomes.any(axis=0))

    @property
    @override
    def learnt(self) -> str:
        domain = self.where.values(self.settings.target, self.schema)
        return f"the risk of {self.settings.target} = {domain[int(self._outcomes[1].argmax())]!r}"

    @override
    def estimates(self, known: Sums) -> Document:
        whole = known.over_strata()

        def chance(gradient: Floats) -> float:
            return float((np.maximum(whole.x, 0) * gradient**2).sum())

        def cell(outcome: int, group: int) -> Any:
            return lambda x: x[outcome, 0, group]

        def rows(group: int) -> Any:
            return lambda x: x[:, 0, group].sum()

        def risk(group: int) -> Any:
            return lambda x: x[1, 0, group] / x[:, 0, group].sum()

        def arc(x: Any, group: int) -> Any:
            return 2 * np.arctan(np.sqrt(x[1, 0, group] / x[0, 0, group]))  # of twice the arc sine of the risk's root

        of, both, every = self.groups, [rows(0), rows(1)], [cell(i, j) for i in (0, 1) for j in (0, 1)]
        risks = [
            whole.estimate(f"risk in {of[g]}", risk(g), chance, [rows(g)], tests=False) for g in (0, 1)
        ]  # fmt: skip
        for line in risks:
            if line["value"] is not None:
                line |= {key: min(max(line[key], 0.0), 1.0) for key in ("value", "low", "high")}
        numbers = [
            *risks,
            whole.estimate("risk difference", lambda x: risk(1)(x) - risk(0)(x), chance, both),
            whole.estimate(
                "risk ratio",
                lambda x: np.log(risk(1)(x) / risk(0)(x)),
                chance,
                [*both, cell(1, 0), cell(1, 1)],
                is_ratio=True,
            ),
            whole.estimate("odds ratio", lambda x: np.log(_odds(x).sum()), chance, every, is_ratio=True),
            whole.estimate("Cohen's h", lambda x: arc(x, 1) - arc(x, 0), chance, every),
        ]
        if not self.strata:
            return {"target": self.settings.target, "numbers": numbers}
        used, left_out = self.stratified(known, lambda x: x.sum())
        adjusted = used.common_ratio("common odds ratio", _products, _robins(used.x))
        return {"target": self.settings.target, "numbers": [*numbers, adjusted], "test": _test(used), **left_out}


def _odds(x: Any) -> Any:
    return x[1, :, 1] * x[0, :, 0] / (x[0, :, 1] * x[1, :, 0])


def _products(x: Any) -> tuple[Any, Any]:
    rows = x.sum(axis=(0, 2))
    return x[1, :, 1] * x[0, :, 0] / rows, x[0, :, 1] * x[1, :, 0] / rows


def _robins(x: Floats) -> float:
    """Return the variance of the logarithm of the common odds ratio (Robins, Breslow and Greenland 1986)."""
    (r, s), rows = _products(x), x.sum(axis=(0, 2))
    p, q = (x[1, :, 1] + x[0, :, 0]) / rows, (x[0, :, 1] + x[1, :, 0]) / rows
    whole = r.sum(), s.sum()
    if not (min(whole) > 0):
        return 0.0
    parts = (p * r).sum() / whole[0] ** 2, (p * s + q * r).sum() / whole[0] / whole[1], (q * s).sum() / whole[1] ** 2
    return max(float(sum(parts)) / 2, 0.0)


def _test(used: Sums) -> Document | None:
    """Return the test of no association in any stratum (Cochran, Mantel and Haenszel); None without strata."""
    from protocols.quantiles import chi2_tail

    def excess(x: Any) -> Any:
        return (x[1, :, 1] - x[:, :, 1].sum(axis=0) * x[1].sum(axis=1) / x.sum(axis=(0, 2))).sum()

    x = np.maximum(used.x, 0)
    rows, margins = x.sum(axis=(0, 2)), x.sum(axis=0).prod(axis=1) * x.sum(axis=2).prod(axis=0)
    whole = rows > 1
    variance = math.fsum((margins[whole] / rows[whole] ** 2 / (rows[whole] - 1)).tolist()) + used.noise_variance(excess)
    if not variance:
        return None
    statistic = short(float(excess(used.x)) ** 2 / variance)
    return {"chi_square": statistic, "p": short(chi2_tail(statistic, 1))}
