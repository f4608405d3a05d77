"""Estimator that evaluates scores or a model on the rows of both parties."""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from parties.jobs.kinds.evaluate.report import Report
from parties.notebook.parameters import parameters
from parties.notebook.study import JointStudy
from parties.tables.schema import Schema


@parameters(
    Report.Settings, "scores", "model",
    then=("target", "target_value", "judged_on", "bins", "by", "cutoff", "where", "epsilon", "exact", "adjacency",
          "max_rows"),
    described={"model": "the JSON file of a tree, a linear model, naive Bayes or boosted trees, instead of `scores`."},
)  # fmt: skip
class JointEvaluation(JointStudy):
    """Evaluation of scores or a model on the rows of both parties: `smc evaluate report`.

    By default a model is judged on the rows that its training held out (`held_out` of the estimator that made it).

    After `fit` there are `auc_`, `ks_` and `confusion_`, with their intervals in the form of the JSON file. `roc_`,
    `calibration_` and `lift_` are lists of points. `headline_` describes the rows that judged a model. For other
    attributes see `JointStudy`.
    """

    kind = Report

    @override
    def _take(self, document: dict[str, Any], agreed: Schema | None) -> JointEvaluation:
        self.headline_: str | None = document.get("headline")
        for name in ("auc", "ks", "confusion", "roc", "calibration", "lift"):
            setattr(self, f"{name}_", document[name])
        return super()._take(document, agreed)
