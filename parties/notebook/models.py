"""Estimators of models in sums: naive Bayes, scorecards, logistic and ridge regression, boosted trees.

JointNaiveBayes("schema.toml", epsilon=1).fit(X, y)                       alone: your own rows only
JointLogisticRegression("schema.toml", epsilon=1, peer="party.toml").fit(X)    with the peer; X has the target
JointRidge(epsilon=1, peer=node).fit(table="patients")                    by your node
JointBoostClassifier("schema.toml", exact=True).fit(X, y)                 alone: your own rows only

Boosted trees and their leakage are those of `smc boost`. Without a peer, the program runs on the clear engine.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils import Tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d
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
from parties.notebook.reading import own_domain
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

    def _target_cells(self, name: str, X: Any, y: Any) -> categories.Column:
        """Return the target, from a column of the frame X if y is None."""
        if y is not None:
            return categories.column(name, column_or_1d(y, warn=True).tolist())
        return categories.frame_columns(categories.select(categories.named_frame(X), [name]), [name], [name])[0]

    @override
    def _own_schema(self, X: Any, y: Any) -> Schema:
        table, name = categories.frame(X), self._target_name(y)
        self._check_target(table, y, None)
        target = self._target_cells(name, X, y)
        columns, rows = self._columns(X if table is None or y is not None else table.drop(name).to_native(), None, True)
        if not rows:
            raise InputError("there are no rows to learn from")
        if is_classifier(self):
            check_classification_targets(np.asarray(target.cells))
        values = target.domain() if is_classifier(self) else own_domain(target)
        if len(values) < 2:
            raise ValueError("y: the rows have only one class; give rows of two classes")
        if getattr(self, "_takes_two_classes", False) and len(values) > 2:
            raise ValueError("y: Only binary classification is supported. The type of the target is multiclass")
        return Schema({**{column.name: own_domain(column) for column in columns}, target.name: values}, target.name)

    @override
    def _rows_of(self, task: BySchema, X: Any, y: Any) -> Any:
        features = task.schema.features(task.target)
        target = self._target_cells(task.target, X, y)
        columns = self._cells(X, features, reset=True)
        check_consistent_length(target.cells, columns[0].cells)
        self._labels = np.array(target.cells[:1] if y is None else np.asarray(y))
        return coded.counted(task, [*columns, target])

    @override
    def _take(self, document: dict[str, Any], agreed: Schema | None) -> Self:
        self.model_ = self._model_of(document)
        if self.job_ is not None:
            self._take_names(tuple(self.model_.columns))
        if self.model_.classes is not None:
            classes, like = self.model_.classes, self.__dict__.pop("_labels", None)
            self.classes_ = np.array(classes, dtype=object) if like is None else categories.typed(classes, like)
        return super()._take(document, agreed)

    def _margins(self, X: Any) -> Margins:
        check_is_fitted(self)
        labelled = [name for name, column in self.model_.columns.items() if column.values]
        return self.model_.margins(self._texts(X, labelled))


class ModelClassifier(ClassifierMixin, ModelStudy):  # type: ignore[misc]
    """Base class of classifiers. After `fit` there is also `classes_`, in the model's order and the type of the rows'.

    For other attributes see `ModelStudy`.
    """

    classes_: NDArray[Any]
    _takes_two_classes: ClassVar[bool] = False

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = not self._takes_two_classes
        tags.classifier_tags.poor_score = tags.non_deterministic  # noise on few rows
        return tags

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of every class, float64[rows, classes]."""
        margins = self._margins(X)
        return self.model_.chances(margins)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of every row, [rows]."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]


class ModelRegressor(RegressorMixin, ModelStudy):  # type: ignore[misc]
    """Base class of estimators of a number; see `ModelStudy`."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = tags.non_deterministic  # noise on few rows
        return tags

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the number of every row, float64[rows], within the schema's bounds."""
        margins = self._margins(X)
        return self.model_.numbers(margins)


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
    _takes_two_classes = True

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
    _takes_two_classes = True


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
