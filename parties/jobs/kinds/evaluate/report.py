"""Judge scores or a model, with noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field
from typing_extensions import override

from parties.base.text import csv_text, quoted
from parties.jobs.kind import Description, Document
from parties.jobs.release.evaluate.drawing import draw_svg
from parties.jobs.release.evaluate.figures import Figures, stability
from parties.jobs.release.evaluate.scored import Scored, Scoring, TargetSettings
from parties.jobs.release.noise import Noise
from parties.jobs.release.postprocessing import consistent
from parties.jobs.release.presenting import INTERVAL, aligned, shown
from parties.jobs.release.question import Part, Question, own_vector, sums
from parties.jobs.release.settings import DrawnSettings
from parties.jobs.settings import Name, public
from smc.errors import InputError


class ReportSettings(TargetSettings, DrawnSettings):
    """Settings of `smc evaluate report`."""

    by: Name | None = public(
        None,
        "Groups",
        "Column of two or more groups: the scores of its first value are compared with those of the others",
        none="none",
        column=True,
    )
    cutoff: Annotated[float, Field(strict=True, ge=0, le=1)] = public(
        0.5, "Cutoff", "Least score that counts as positive, rounded up to a bin"
    )


class Report(Scoring):
    """Judge scores, or a model, on the rows of both parties. Both learn the figures, with noise unknown to either.

    For each bin of the score, the number of rows with each label is opened, with noise of scale 1 / epsilon. The area
    under the ROC curve, Kolmogorov-Smirnov distance, calibration, confusion matrix, lift and stability of groups
    follow from these numbers without further epsilon. Their intervals include the noise.
    """

    name = "evaluate report"
    about = Description(
        "Report on a model",
        "evaluation",
        example="--model model.json --epsilon 1",
        job_example="--scores score --target outcome --epsilon 1",
    )
    Settings: ClassVar[type[DrawnSettings]] = ReportSettings
    draws = staticmethod(draw_svg)

    @override
    def ask(self) -> Question:
        known, rows = self.scored(self.settings.scores, self.settings.by), self.rows_each
        if known.edges[0] < 0 or known.edges[-2] > 1:
            low, high = float(known.edges[0]), float(known.edges[-1])
            raise InputError(
                f"scores: {quoted(str(known.column))} goes from {low:g} to {high:g} in the schema, "
                "not from 0 to 1; choose a column of scores"
            )
        number = max(1, len(known.groups)) * 2 * (len(known.edges) - 1)
        noise = self.noise(2 if self.replaced else 1)
        of_groups = f", by {known.by}" if known.by else ""
        return sums(
            f"how many rows of both tables{self.where.words()}{self.words_of_rows} with either value of {known.target} "
            f"are in each of {len(known.edges) - 1} bins of {known.words}{of_groups}",
            [Part(number, rows, False, noise)],
            lambda counts: own_vector(known.count(counts)),
            lambda state: self.shown(state, known, noise),
            target=known.target,
        )

    def shown(self, state: Sequence[int], known: Scored, noise: Noise | None) -> Mapping[str, Any]:
        """Return the result: areas, curves and tables that follow from the opened numbers.

        Args:
            state: The opened numbers, in the order of the cells.
            known: Bins of the scores and the groups.
            noise: Noise on each number; None if the numbers are exact.
        """
        variance = 0.0 if noise is None else noise.variance
        noisy = np.array(state, dtype=np.int64).reshape(max(1, len(known.groups)), 2, -1)
        counts = consistent(noisy, 2 * self.rows_each).astype(np.float64)
        figures = Figures(counts.sum(axis=0), variance * len(counts))
        edges = np.array([float(edge) for edge in known.edges])
        distance, place = figures.distance()
        start = int(np.searchsorted(edges[:-1], self.settings.cutoff))
        result = {
            **self.judged,
            "target": known.target,
            "value": known.positive,
            "scores": known.column or self.words_of_model,
            "rows": {
                "negative": round(float(figures.counts[0].sum())),
                "positive": round(float(figures.counts[1].sum())),
            },
            "auc": figures.area(),
            "ks": {**distance, "at": float(edges[place + 1])},
            "confusion": {"from": float(edges[start]) if start < len(edges) - 1 else None, **figures.confusion(start)},
            "roc": figures.roc(edges),
            "calibration": figures.calibration(edges),
            "lift": figures.lift(edges),
        }
        if len(known.groups) > 1:
            of_groups = counts.sum(axis=1)
            result["stability"] = [
                {"group": group, "than": known.groups[0], **stability(of_groups[0], rows, variance)}
                for group, rows in zip(known.groups[1:], of_groups[1:], strict=True)
            ]
        return result

    @classmethod
    @override
    def lines(cls, document: Document) -> list[str]:
        confusion = document["confusion"]
        figures = [["", "value", INTERVAL]]
        names = {"area under the ROC curve": document["auc"], "Kolmogorov-Smirnov": document["ks"]}
        names |= {name: confusion[name] for name in ("accuracy", "precision", "recall")}
        names |= {f"stability of {shown(line['group'])}": line for line in document.get("stability", ())}
        for name, line in names.items():
            value = "-" if line["value"] is None else f"{line['value']:.4f}"
            figures.append([name, value, f"{line['low']:.4f} to {line['high']:.4f}"])
        table = [["score from", "rows", "share", INTERVAL, "lift"]]
        lifts = {line["from"]: line["value"] for line in document["lift"]}
        for line in document["calibration"]:
            value = "-" if line["value"] is None else f"{line['value']:.3f}"
            interval = f"{line['low']:.3f} to {line['high']:.3f}"
            table.append([f"{line['from']:g}", f"{line['rows']:,}", value, interval, f"{lifts[line['from']]:.2f}"])
        cells = ("true_positives", "false_positives", "false_negatives", "true_negatives")
        start = "no score" if confusion["from"] is None else f"scores from {confusion['from']:g}"
        return [
            f"{shown(document['scores'])}, for {shown(document['target'])} = {shown(document['value'])}",
            *aligned(figures, 1),
            f"{start} called positive: "
            + ", ".join(f"{confusion[name]['value']:,} {name.replace('_', ' ')}" for name in cells),
            *aligned(table, 1),
        ]

    @classmethod
    @override
    def table(cls, document: Document) -> str:
        lifts = {line["from"]: line["value"] for line in document["lift"]}
        rows = ([*line.values(), lifts[line["from"]]] for line in document["calibration"])
        return csv_text([["from", "to", "rows", "share", "low", "high", "lift"], *rows])
