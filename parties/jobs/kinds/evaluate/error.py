"""Judge a model of numbers, with noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from parties.jobs.kind import Description, Document
from parties.jobs.release import reading
from parties.jobs.release.evaluate import models
from parties.jobs.release.evaluate.scored import JudgedSettings, Scoring
from parties.jobs.release.noise import CONFIDENCE, Noise
from parties.jobs.release.presenting import OF_NOISE, aligned, amount, shown
from parties.jobs.release.question import Part, Question, own_vector, sums
from parties.jobs.release.settings import ReleaseSettings
from parties.jobs.release.values import Values, read
from parties.jobs.settings import Name, public
from parties.models.load import columns_of
from protocols.arrays import Numbers
from protocols.counts import Rows

EACH = 1 - (1 - CONFIDENCE) / 4  # confidence of each noise, so that all four hold together
FINE = 1024  # least number of steps between the bounds of the numbers


class ErrorSettings(JudgedSettings, ReleaseSettings):
    """Settings of `smc evaluate error`."""

    target: Name | None = public(
        None, "Target", "Column of the numbers that the model predicts", none="the model's", column=True
    )


class Error(Scoring):
    """Judge a model of numbers on the rows of both parties. Both learn its error and R2, with noise unknown to either.

    The error is the root of the mean squared difference of prediction and number. R2 is the part of the numbers'
    variance that the model explains. They follow from four sums that share epsilon: that of the squared differences,
    and the three of a deviation (`smc release deviation`). Rows without a number do not count.
    """

    name = "evaluate error"
    about = Description(
        "Error of a model of numbers",
        "evaluation",
        example="--model model.json --epsilon 1",
        job_example="""--classifier '{"target": "visits", "least": 0, "greatest": 9, "intercept": 2, "columns": {}}' """
        "--epsilon 1",
    )
    Settings: ClassVar[type[ErrorSettings]] = ErrorSettings
    lacking = "model: is missing; give a model of numbers"

    @property
    @override
    def number_columns(self) -> tuple[str, ...]:
        return (*super().number_columns, self.settings.target)

    @classmethod
    @override
    def numbered(cls, settings: Any) -> tuple[str, ...]:
        return (settings.target,)

    @override
    def ask(self) -> Question:
        target, model = self.settings.target, self.model
        assert model is not None
        models.check_numbers(model, self.schema)
        self.check_joint_table()
        values = read(target, self.where.values(target, self.schema), "an error", "target")
        steps = values.span * _fineness(values)
        noise = self.noise(2 * steps**2 * (2 if self.replaced else 1))
        return sums(
            f"the error of {self.words_of_model} for {target} over the rows of both tables{self.where.words()}"
            f"{self.words_of_rows}, from four sums: of its square, of the square of {target}'s excess above the lower "
            "bound, of the square of its shortfall below the upper bound, and of twice their product",
            [Part(4, self.rows_each * steps**2, False, noise)],
            lambda rows: self._own(rows, values),
            lambda state: {
                **self.judged,
                "target": target,
                "model": self.words_of_model,
                **_shown(state, values, noise),
            },
            (values.from_zero.unit / _fineness(values)) ** 2,
            target=target,
        )

    def _own(self, rows: Rows, values: Values) -> Numbers:
        target, model, fineness = self.settings.target, self.model, _fineness(values)
        above, below, steps = values.from_zero.vector * fineness, values.below * fineness, values.span * fineness
        assert model is not None
        per_value = np.array([below**2, 2 * above * below, above**2])
        domains = {name: self.where.values(name, self.schema) for name in columns_of(model)}
        total = np.zeros(4, dtype=np.int64)
        for codes, counts in reading.pieces(rows, self.schema, target, self.where, [target, *domains]):
            predicted = models.numbers(model, domains, codes, len(counts))
            guess = np.clip((predicted - float(values.least)) * (fineness / float(values.from_zero.unit)), 0, steps)
            off = np.rint((above[codes[target]] - guess) ** 2).astype(np.int64) * values.ones[codes[target]]
            total += own_vector(off @ counts, per_value[:, codes[target]] @ counts)
        return total

    @classmethod
    @override
    def lines(cls, document: Document) -> list[str]:
        table = [["", "value", OF_NOISE]]
        for name, words in (("rmse", "error (root of the mean square)"), ("r2", "R2")):
            number = document[name]
            interval = f"{amount(number['low'])} to {amount(number['high'])}" if "low" in number else ""
            table.append([words, amount(number["value"]), interval])
        mean = f"mean of {shown(document['target'])} {amount(document['mean'])}, {document['rows']:,} rows"
        return [f"{shown(document['model'])}, for {shown(document['target'])}", *aligned(table, 1), mean]


def _fineness(values: Values) -> int:
    return math.ceil(FINE / values.span)


def _shown(state: Sequence[int], values: Values, noise: Noise | None) -> Mapping[str, Any]:
    """Return error and R2 with their intervals.

    While each noise is at most q, the error of the squares about the mean is at most q, and that of their greatest sum,
    the number of rows times the squared width of the bounds, at most 3 q (`release deviation`).
    """
    off, first, second, third = state
    most, wide = first + second + third, float(values.greatest - values.least)
    rows = max(round(most / (values.span * _fineness(values)) ** 2), 0)
    if not rows:
        return {"rows": 0, "mean": None, "rmse": {"value": None}, "r2": {"value": None}}
    m = min(max((second / 2 + third) / most, 0.0), 1.0)
    squares = m**2 * first - m * (1 - m) * second + (1 - m) ** 2 * third
    q = 0 if noise is None else noise.reach(confidence=EACH)

    def rmse(off: float, most: float) -> float:
        return wide * math.sqrt(min(max(off, 0) / most, 1)) if most > 0 else wide

    def r2(off: float, squares: float) -> float | None:
        return 1 - max(off, 0) / squares if squares > 0 else None

    found: dict[str, dict[str, Any]] = {"rmse": {"value": rmse(off, most)}, "r2": {"value": r2(off, squares)}}
    if noise is not None:
        found["rmse"] |= {"low": rmse(off - q, most + 3 * q), "high": rmse(off + q, most - 3 * q)}
        found["r2"] |= {"low": r2(off + q, squares - q), "high": r2(off - q, squares + q)}
    return {"rows": rows, "mean": float(values.least) + m * wide, **found}
