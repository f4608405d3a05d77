"""The mean of a column of numbers over the rows of both parties, of all or of each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from typing_extensions import override

from parties.jobs.release.kind import Release
from parties.jobs.release.noise import CONFIDENCE, Noise
from parties.jobs.release.question import Part, Question, own_vector, plain, sums
from parties.jobs.release.sum import SumSettings
from parties.jobs.release.values import Values, read

EACH = 1 - (1 - CONFIDENCE) / 2  # of the two intervals that the one of a mean is made of
HALF = Fraction(1, 2)  # of epsilon is for the sums, the other for the numbers of rows


class Mean(Release):
    """What is the mean of a column of numbers over the rows of both parties? Both learn it, with noise.

    Two noisy numbers are opened, each with half of epsilon: the sum of the distances from the middle of the column's
    public bounds, and the number of rows. Groups (--by) cost nothing more. Missing values do not count.
    """

    name = "release mean"
    title = "Noisy mean"
    example = "--data mine.csv --schema schema.toml --column visits --by sex --epsilon 1 --config party.toml"
    estimate_example = "--schema schema.toml --column visits --epsilon 1 "
    noun = "mean"
    Settings = SumSettings
    draws = True
    streamed = True

    @override
    def ask(self) -> Question:
        cells, rows = self.summed(*self.named(self.settings)), self.settings.max_rows
        of, many = cells.by[-1], cells.groups.number
        values = read(of, cells.domains[-1], "a mean")
        whole = values.centred.whole
        noise = self.noise(max(1, values.centred.change(self.replaced, many)), HALF)
        noise_of_rows = self.noise(min(many, 2) if self.replaced else 1, HALF)
        present = np.array([value is not None for value in values.numbers], dtype=np.int64)
        return sums(
            f"the mean of {of} over the rows of both tables{cells.groups.words}, from two numbers of each: "
            "their number and the sum of their distances from the middle of its bounds",
            [Part(many, rows * max(map(abs, whole)), True, noise), Part(many, rows, False, noise_of_rows)],
            lambda rows: own_vector(cells.sums(rows, values.centred.vector, present)),
            lambda state: cells.grouped(means(state, values, 2 * rows, noise, noise_of_rows)),
            values.centred.unit,
            subject=of,
            target=of,
            noise={} if noise_of_rows is None else {"scale_of_rows": float(noise_of_rows.scale)},
        )


def means(
    state: Sequence[int], values: Values, most: int, noise: Noise | None, noise_of_rows: Noise | None
) -> list[Mapping[str, Any]]:
    """Return the mean of each group with the least and greatest that both intervals allow, of at most `most` rows.

    `state` are the sums of all groups in units, then their numbers of rows. There is no value without a row.
    """
    unit = values.centred.unit

    def mean(opened: int, rows: int) -> Fraction:
        return min(max(values.middle + opened * unit / rows, values.least), values.greatest)

    pairs = list(zip(state[: len(state) // 2], state[len(state) // 2 :], strict=True))
    if noise is None or noise_of_rows is None:
        return [{"value": plain(mean(opened, rows)) if rows else None, "rows": rows} for opened, rows in pairs]
    reach, reach_of_rows = noise.reach(confidence=EACH), noise_of_rows.reach(confidence=EACH)
    answers: list[Mapping[str, Any]] = []
    for opened, rows in pairs:
        low, high = values.least, values.greatest
        if rows - reach_of_rows >= 1:  # else the mean may be any
            counts = [min(max(rows + step, 1), most) for step in (-reach_of_rows, reach_of_rows)]
            ends = [mean(opened + step, count) for step in (-reach, reach) for count in counts]
            low, high = min(ends), max(ends)
        value = plain(mean(opened, rows)) if rows >= 1 else None
        noisy = [plain(opened * unit), rows]
        answers.append({"value": value, "low": plain(low), "high": plain(high), "rows": max(rows, 0), "noisy": noisy})
    return answers
