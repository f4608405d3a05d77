"""Estimators of models in sums: naive Bayes, scorecards, logistic and ridge regression, boosted trees.

JointNaiveBayes("schema.toml", epsilon=1).fit(X, y)                       alone: your own rows only
JointLogisticRegression("schema.toml", epsilon=1, peer="party.toml").fit(X)    with the peer; X has the target
JointRidge(epsilon=1, peer=node).fit(table="patients")                    by your node
JointBoostClassifier("schema.toml", exact=True).fit(X, y)                 alone: your own rows only

Boosted trees and their leakage are those of `smc boost`. Without a peer, the program runs on the clear engine.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted
from typing_extensions import override

from parties.jobs.boost.settings import BoostSettings
from parties.jobs.kinds.boost import Boost
from parties.jobs.kinds.regress.joint import RegressJoint
from parties.jobs.kinds.release.naive_bayes import NaiveBayes
from parties.jobs.kinds.scorecard import Scorecard
from parties.jobs.tabular import BySchema
from parties.models.bayes import NaiveBayesModel
from parties.models.boosted import BoostedModel, xgboost_text
from parties.models.linear import LinearModel
from parties.models.scored import Margins, Scored
from parties.notebook import coded
from parties.notebook.parameters import of_kind, parameters
from parties.notebook.study import JointStudy
from parties.tables import categories
from parties.tables.schema import Schema
from smc.errors import InputError


class ModelStudy(JointStudy):
    """Base class of estimators whose result predicts a target, which is a column of the frame or stands apart as y.

    After `fit` there are `model_` and `n_features_in_`; for other attributes see `JointStudy`.
    """

    _learns_alone = True
    model_: Scored
    _labels: NDArray[Any] | None = None  # y of fit, in whose type the classes are

    def _model_of(self, document: dict[str, Any]) -> Scored:
        return LinearModel.parse(document)

    @override
    def _rows_of(self, task: BySchema, X: Any, y: Any) -> Any:
        features = task.schema.features(task.target)
        if y is None:
            *columns, target = coded.columns_of(categories.named_frame(X).to_native(), (*features, task.target))
        else:
            columns, target = coded.columns_of(X, features), categories.column(task.target, np.asarray(y).tolist())
        if len(target.cells) != len(columns[0].cells):
            raise InputError(f"X has {len(columns[0].cells)} rows, but y {len(target.cells)}; give equally many")
        self._labels = np.array(target.cells[:1] if y is None else np.asarray(y))
        return coded.counted(task, [*columns, target])

    @override
    def _take(self, document: dict[str, Any], agreed: Schema | None) -> Self:
        self.model_ = self._model_of(document)
        self.n_features_in_ = len(self.model_.columns)
        if self.model_.classes is not None:
            classes, like = self.model_.classes, self.__dict__.pop("_labels", None)
            self.classes_ = np.array(classes, dtype=object) if like is None else categories.typed(classes, like)
        return super()._take(document, agreed)

    def _margins(self, X: Any) -> Margins:
        check_is_fitted(self)
        columns = coded.columns_of(X, tuple(self.model_.columns))
        return self.model_.margins(coded.spelled(columns, len(columns[0].cells)))


class ModelClassifier(ClassifierMixin, ModelStudy):  # type: ignore[misc]
    """Base class of classifiers. After `fit` there is also `classes_`, in the model's order and the type of the rows'.

    For other attributes see `ModelStudy`.
    """

    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of every class, float64[rows, classes]."""
        return self.model_.chances(self._margins(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of every row, [rows]."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class ModelRegressor(RegressorMixin, ModelStudy):  # type: ignore[misc]
    """Base class of estimators of a number; see `ModelStudy`."""

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the number of every row, float64[rows], within the schema's bounds."""
        return self.model_.numbers(self._margins(X))


@of_kind(NaiveBayes)
class JointNaiveBayes(ModelClassifier):
    """Naive Bayes classifier of both parties' rows: `smc release naive-bayes`. See `ModelClassifier`."""

    kind = NaiveBayes

    @override
    def _model_of(self, document: dict[str, Any]) -> Scored:
        return NaiveBayesModel.parse(document).form


@of_kind(Scorecard)
class JointScorecard(JointNaiveBayes):
    """Scorecard of both parties' rows: `smc scorecard`. It predicts as the naive Bayes classifier that it rounds.

    After `fit` there is `points_`: the points of each value of each column. See also `ModelClassifier`.
    """

    kind = Scorecard

    @override
    def _take(self, document: dict[str, Any], agreed: Schema | None) -> Self:
        self.points_ = {
            column["column"]: {value["value"]: value["points"] for value in column["values"]}
            for column in document["scorecard"]["columns"]
        }
        return super()._take(document, agreed)


@of_kind(RegressJoint)
class JointLogisticRegression(ModelClassifier):
    """Linear classifier of both parties' rows: `smc regress joint` for a target of two classes.

    See `ModelClassifier`.
    """

    kind = RegressJoint


@of_kind(RegressJoint, method="ridge")
class JointRidge(ModelRegressor):
    """Ridge regression of both parties' rows: `smc regress joint --method ridge`, or `least-squares`.

    See `ModelRegressor`.
    """

    kind = RegressJoint


@parameters(
    BoostSettings, "target",
    then=("rounds", "depth", "bins", "rate", "reg_lambda", "gamma", "min_child_weight", "epsilon", "delta", "exact",
          "max_rows", "held_out", "fold"),
    fixed={"rounds": None, "rate": None, "epsilon": None, "delta": None, "exact": False},
    defaults=True, renamed={"reg_lambda": "regularisation"},
)  # fmt: skip
class _JointBoost(ModelStudy):
    """Base class of the boosted classifier and regressor.

    After `fit` there is `model_`; for other attributes see `JointStudy`.
    """

    kind = Boost
    _squared = False
    reg_lambda: float

    def to_xgboost(self, path: Path | str) -> None:
        """Write the model in the format of XGBoost."""
        check_is_fitted(self)
        Path(path).write_text(xgboost_text(self.document_), encoding="utf-8")

    @override
    def _settings(self) -> dict[str, Any]:
        settings = {name: value for name, value in super()._settings().items() if name != "reg_lambda"}
        return settings | {"lambda": float(self.reg_lambda)} | ({"objective": "squared"} if self._squared else {})

    @override
    def _model_of(self, document: dict[str, Any]) -> Scored:
        return BoostedModel.parse(document)


class JointBoostClassifier(_JointBoost, ModelClassifier):
    """Boosted trees that classify; see `smc boost`. After `fit` there is also `classes_`, in the schema's order."""


class JointBoostRegressor(_JointBoost, ModelRegressor):
    """Boosted trees for a number, or with `rounds=1` a regression tree; see `smc boost`."""

    _squared = True
