"""Boosted trees with scikit-learn's interface, trained on your own rows or jointly with another organisation's.

    JointBoostClassifier("schema.toml", exact=True).fit(X, y)                     alone: your own rows only
    JointBoostRegressor("schema.toml", epsilon=1, peer="party.toml").fit(X, y)    with the peer: both parties' rows
    JointBoostClassifier(epsilon=1, peer=node).fit(table="patients")              by your node

The model and its leakage are those of `smc boost`. Without a peer, the program runs on the clear engine.
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
from parties.jobs.tabular import BySchema
from parties.models.boosted import BoostedModel, xgboost_text
from parties.models.scored import Margins
from parties.notebook import coded
from parties.notebook.parameters import parameters
from parties.notebook.study import JointStudy
from parties.tables import categories
from parties.tables.schema import Schema
from smc.errors import InputError


@parameters(
    BoostSettings, "target",
    then=("rounds", "depth", "bins", "rate", "reg_lambda", "gamma", "min_child_weight", "epsilon", "delta", "exact",
          "max_rows", "held_out"),
    fixed={"rounds": None, "rate": None, "epsilon": None, "delta": None, "exact": False},
    defaults=True, renamed={"reg_lambda": "regularisation"},
)  # fmt: skip
class _JointBoost(JointStudy):
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
    def _missing(self, X: Any, y: Any, agreed: Schema | None) -> str:
        if X is None or y is None:
            return "X and y are missing: the rows, and their classes or numbers"
        return "" if agreed else "schema is missing: bins and classes are public, `smc schema` proposes one"

    @override
    def _rows_of(self, task: BySchema, X: Any, y: Any) -> Any:
        columns = coded.columns_of(X, task.schema.features(task.target))
        target = categories.column(task.target, np.asarray(y).tolist())
        if len(target.cells) != len(columns[0].cells):
            raise InputError(f"X has {len(columns[0].cells)} rows, y {len(target.cells)}")
        return coded.counted(task, [*columns, target])

    @override
    def _take(self, document: dict[str, Any], agreed: Schema | None) -> Self:
        self.model_ = BoostedModel.parse(document)
        self.n_features_in_ = len(self.model_.columns)
        if self.model_.classes is not None:
            self.classes_ = np.array(self.model_.classes, dtype=object)
        return super()._take(document, agreed)

    def _margins(self, X: Any) -> Margins:
        check_is_fitted(self)
        columns = coded.columns_of(X, tuple(self.model_.columns))
        return self.model_.margins(coded.spelled(columns, len(columns[0].cells)))


class JointBoostClassifier(ClassifierMixin, _JointBoost):  # type: ignore[misc]
    """Boosted trees that classify; see `smc boost`. After `fit` there is also `classes_`, in the schema's order."""

    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of every class, float64[rows, classes]."""
        return self.model_.chances(self._margins(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of every row, [rows]."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class JointBoostRegressor(RegressorMixin, _JointBoost):  # type: ignore[misc]
    """Boosted trees for a number, or with `rounds=1` a regression tree; see `smc boost`."""

    _squared = True

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the number of every row, float64[rows], within the schema's bounds."""
        margins = self._margins(X)[0]
        assert self.model_.bounds is not None
        return np.clip(margins, *self.model_.bounds)
