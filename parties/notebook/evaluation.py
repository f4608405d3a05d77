"""How good scores, or a model, are on the rows of both parties, as an estimator."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from parties.base import files
from parties.jobs.evaluate.report import Report
from parties.link.settings import LinkSettings
from parties.notebook.study import JointStudy
from parties.tables.schema import Schema

if TYPE_CHECKING:
    from parties.operator.interface import Operator


class JointEvaluation(JointStudy):
    """A report on scores or a model by the rows of both parties: `smc evaluate report`.

    Parameters. `schema`: the public schema, a file or a `Schema`, which a node has itself; `scores`: a column, or
    `model`: the JSON file of a tree, a linear model, naive Bayes or boosted trees; others as for the command, and
    None is what it takes. `peer`: see `parties.notebook.study`.

    After `fit`: `auc_`, `ks_`, `confusion_`, with their intervals as the JSON has them; `roc_`, `calibration_`,
    `lift_`, lists of points; for others see `JointStudy`.
    """

    kind = Report

    def __init__(
        self,
        schema: Schema | Path | str | None = None,
        scores: str | None = None,
        model: Path | str | None = None,
        *,
        target: str | None = None,
        target_value: str | None = None,
        bins: int | None = None,
        by: str | None = None,
        cutoff: float | None = None,
        where: str | None = None,
        epsilon: float | None = None,
        exact: bool | None = None,
        adjacency: str | None = None,
        max_rows: int | None = None,
        peer: LinkSettings | Path | str | Operator | None = None,
    ) -> None:
        self._keep(locals())

    @override
    def _settings(self) -> dict[str, Any]:
        settings = super()._settings()
        model = settings.pop("model", None)
        return settings if model is None else {**settings, "classifier": files.read_text(Path(model))}

    @override
    def _take(self, document: dict[str, Any], agreed: Schema | None) -> JointEvaluation:
        for name in ("auc", "ks", "confusion", "roc", "calibration", "lift"):
            setattr(self, f"{name}_", document[name])
        return super()._take(document, agreed)
