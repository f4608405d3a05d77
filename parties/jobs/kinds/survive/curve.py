"""Learn a survival curve, with noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from typing_extensions import override

from parties.base.text import csv_text
from parties.jobs.kind import Description, Document
from parties.jobs.release.kind import Release
from parties.jobs.release.noise import Noise
from parties.jobs.release.postprocessing import consistent
from parties.jobs.release.presenting import INTERVAL, aligned, amount, shown
from parties.jobs.release.question import Part, Question, own_vector, plain, sums
from parties.jobs.release.settings import ApartSettings, DrawnSettings
from parties.jobs.release.survive.drawing import draw_svg
from parties.jobs.release.survive.estimates import curve, is_open, log_rank, median
from parties.jobs.release.survive.times import Times, TimesSettings, arm_column, times
from parties.jobs.settings import Name

DIGITS, BAR = 6, 20  # decimals of a result; letters of a bar


class CurveSettings(TimesSettings, DrawnSettings, ApartSettings):
    """Settings of `smc survive curve`."""

    arm: Name | None = arm_column("the groups", "all rows are one group")


class Curve(Release):
    """Learn a Kaplan-Meier curve from the rows of both parties, with noise unknown to either.

    For each group (arm) and bin of time the numbers of rows with and without the event are opened, with noise of scale
    1 / epsilon (twice that if neighbouring tables differ by a replaced row). Epsilon is spent once on all of them.
    The curve, the median, the mean and a log-rank test follow from these numbers at no further cost. The
    intervals include the noise.
    """

    name = "survive curve"
    about = Description("Survival curve", "survival", example="--time months --event died --arm arm --epsilon 1")
    Settings: ClassVar[type[DrawnSettings]] = CurveSettings
    draws = staticmethod(draw_svg)

    @override
    def ask(self) -> Question:
        known, rows = times(self), self.rows_each
        number = len(known.arms) * 2 * len(known.bins)
        noise = self.noise(2 if self.replaced else 1)
        by_arm = f", by {self.settings.arm}" if self.settings.arm else ""
        return sums(
            f"how many rows of both tables{self.where.words()} there are with and without {self.settings.event}, in "
            f"each of {len(known.bins)} bins of {self.settings.time}{by_arm}",
            [Part(number, rows, False, noise)],
            lambda counts: own_vector(known.count(counts)),
            lambda state: self.shown(state, known, noise),
            target=known.cells.by[-1],
        )

    def shown(self, state: Sequence[int], known: Times, noise: Noise | None) -> Mapping[str, Any]:
        """Return the result: a survival curve for each arm, and a log-rank test if there are several arms.

        Args:
            state: The opened numbers, in the order of the cells.
            known: Bins of time and the arms.
            noise: Noise on each number; None if the numbers are exact.
        """
        variance = 0.0 if noise is None else noise.variance
        noisy = np.array(state, dtype=np.int64).reshape(len(known.arms), 2, -1)
        counts = consistent(noisy, 2 * self.rows_each).astype(np.float64)
        edges = np.array([float(edge) for edge in known.edges])
        lengths, until = np.diff(edges), plain(known.edges[-1])
        if is_open(edges):
            lengths[-1], until = 0, plain(known.edges[-2])
        tables = []
        for arm, of_arm in zip(known.arms, counts, strict=True):
            drawn = curve(of_arm, variance)
            mean = dict(zip(("value", "deviation", "least", "most"), _short(drawn.mean(lengths)), strict=True))
            middle = dict(zip(("after", "value", "low", "high"), median(drawn, edges), strict=True))
            points = zip(known.bins, drawn.at_risk, drawn.events, drawn.survival, drawn.low, drawn.high, strict=True)
            names = ("at_risk", "events", "survival", "low", "high")
            tables.append(
                {"arm": arm, "rows": int(of_arm.sum()), "median": middle}
                | {"restricted_mean": {"until": until, **mean}}
                | {
                    "points": [
                        {"bin": bin_} | dict(zip(names, _short(numbers), strict=True)) for bin_, *numbers in points
                    ]
                }
            )
        test = {}
        if len(tables) > 1:
            statistic, p = log_rank(counts, variance)
            test = {"log_rank": {"chi_square": round(statistic, DIGITS), "degrees": len(tables) - 1, "p": round(p, 9)}}
        asked_of = {"time": self.settings.time, "event": self.settings.event, "arm": self.settings.arm or ""}
        return {
            **asked_of,
            "unit": known.unit,
            "edges": [plain(edge) for edge in known.edges],
            "curves": tables,
            **test,
        }

    @classmethod
    @override
    def lines(cls, document: Document) -> list[str]:
        lines: list[str] = []
        for table in document["curves"]:
            if table["arm"]:
                lines.append(f"{shown(document['arm'])} = {shown(table['arm'])}: {table['rows']:,} rows")
            head = ["", shown(document["time"]), "at risk", "events", "survival", INTERVAL]
            rows = [
                [
                    "█" * round(BAR * point["survival"]), shown(point["bin"]), amount(round(point["at_risk"])),
                    amount(round(point["events"])), f"{point['survival']:.3f}",
                    f"{point['low']:.3f} to {point['high']:.3f}",
                ]
                for point in table["points"]
            ]  # fmt: skip
            lines += aligned([head, *rows], 1)
            middle, mean = table["median"], table["restricted_mean"]
            between = f"between {amount(middle['after'])} and {_time(middle['value'])}"
            if middle["value"] is None:
                between = f"beyond {amount(middle['after'])}"
            lines.append(
                f"median {between} ({INTERVAL}: {_time(middle['low'])} to {_time(middle['high'])}), "
                f"mean up to {amount(mean['until'])}: {amount(round(mean['value'], 2))} "
                f"± {amount(round(2 * mean['deviation'], 2))}, and {amount(round(mean['least'], 2))} to "
                f"{amount(round(mean['most'], 2))} for any position of the events in their bins"
            )
        *_, begin, end = document["edges"]
        if mean["until"] != end:
            lines.append(
                f"the last bin, from {amount(begin)} to {amount(end)}, is far wider than the others: no times in it "
                f"are given; give {shown(document['time'])} more edges in the schema"
            )
        if "log_rank" in document:
            test = document["log_rank"]
            lines.append(
                f"log-rank test, whose p includes the noise: chi-square {test['chi_square']:.4g}, {test['degrees']} "
                f"degrees of freedom, p = {test['p']:.3g}"
            )
        lines.append(
            f"times are in {shown(document['unit'])}, and binned: a row censored in a bin counts as at risk in it"
        )
        return lines

    @classmethod
    @override
    def table(cls, document: Document) -> str:
        rows = [["arm", "bin", "until", "at_risk", "events", "survival", "low", "high"]]
        for table in document["curves"]:
            for point, until in zip(table["points"], document["edges"][1:], strict=True):
                bin_, *numbers = point.values()
                rows.append([table["arm"], bin_, until, *numbers])
        return csv_text(rows)


def _short(numbers: Sequence[float]) -> list[float]:
    return [round(float(number), DIGITS) for number in numbers]


def _time(value: float | None) -> str:
    return "later" if value is None else amount(value)
