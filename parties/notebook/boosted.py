"""Boosted trees as scikit-learn knows them, whose training data may be another organisation's as well.

    JointBoostClassifier("schema.toml", exact=True).fit(X, y)                     alone: one's own rows only
    JointBoostRegressor("schema.toml", epsilon=1, peer="party.toml").fit(X, y)    with the peer: both parties' rows
    JointBoostClassifier(epsilon=1, peer=node).fit(table="patients")              by one's node

What is learnt, and what that leaks, is that of `smc boost`; alone, the same program runs on the clear engine.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from parties.base.settings import validated
from parties.jobs.boost.settings import BoostSettings
from parties.jobs.kinds.boost import Boost
from parties.jobs.running import Report
from parties.models.boosted import BoostedModel, Margins, xgboost_text
from parties.notebook import coded
from parties.notebook.parameters import parameters
from parties.notebook.study import JointEstimator
from parties.tables import categories
from parties.tables import schema as schemas
from parties.tables.delimited import Columns
from parties.tables.schema import Schema
from protocols.counts import RowCounts
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.operator.interface import Operator

DEFAULTS = BoostSettings()
PARAMETERS = (
    "target", "rounds", "depth", "bins", "rate", "gamma", "min_child_weight", "epsilon", "delta", "exact", "max_rows",
)  # fmt: skip


@parameters(
    BoostSettings, "target",
    then=("rounds", "depth", "bins", "rate", "reg_lambda", "gamma", "min_child_weight", "epsilon", "delta", "exact",
          "max_rows"),
    fixed={"rounds": None, "rate": None, "epsilon": None, "delta": None, "exact": False},
    defaults=True, renamed={"reg_lambda": "regularisation"},
)  # fmt: skip
class _JointBoost(JointEstimator):
    """What the classifier and the regressor share.

    After `fit`: `model_`; `document_`, the content of model.json; `cost_`, what the conversation cost (None alone);
    `job_`, the node's job (None otherwise).
    """

    _squared = False
    schema: Schema | Path | str | None
    reg_lambda: float

    def fit(
        self,
        X: Any = None,
        y: Any = None,
        *,
        table: str | None = None,
        peer_table: str | None = None,
        purpose: str | None = None,
        job: str | None = None,
        deadline: float | None = None,
    ) -> Self:
        """Learn the trees; returns the estimator itself.

        Alone or with the peer: X is a data frame with the schema's columns, or an array of them in the schema's order,
        y the classes or numbers. At a node: `table` is its name for the rows, `job` one that was submitted before.

        `InputError`: a parameter is wrong, or a cell is outside the schema. `LinkError`, `JobMismatchError`: the peer
        is not there or wants another job.
        """
        settings = {name: value for name in PARAMETERS if (value := getattr(self, name)) is not None}
        settings |= {"lambda": float(self.reg_lambda)} | ({"objective": "squared"} if self._squared else {})
        self.cost_: Report | None = None
        self.job_: str | None = None
        if hasattr(self.peer, "submit"):
            if X is not None or y is not None or (table is None) == (job is None):
                raise InputError("a node reads its own tables: give table=NAME, or job=ID, instead of rows")
            fields = {"protocol": "boost", "table": table, "peer_table": peer_table, "purpose": purpose, **settings}
            view, result = coded.by_node(cast("Operator", self.peer), fields, job, deadline)
            self.job_ = view.id
            return self._take(result.document)
        if X is None or y is None:
            raise InputError("X and y are missing: the rows, and their classes or numbers")
        if self.schema is None:
            raise InputError("schema is missing: bins and classes are public, `smc schema` proposes one")
        agreed = schemas.load(Path(self.schema)) if isinstance(self.schema, str | Path) else self.schema
        task = Boost.canonical(validated(BoostSettings, settings), agreed)
        counts = _rows(task, X, y)
        state, self.cost_ = coded.learnt(task, counts, self.peer)
        return self._take(task.document(state))

    def to_xgboost(self, path: Path | str) -> None:
        """Write the model as XGBoost reads it."""
        check_is_fitted(self)
        Path(path).write_text(xgboost_text(self.document_), encoding="utf-8")

    def _take(self, document: dict[str, Any]) -> Self:
        self.document_, self.model_ = document, BoostedModel.parse(document)
        self.n_features_in_ = len(self.model_.columns)
        if self.model_.classes is not None:
            self.classes_ = np.array(self.model_.classes, dtype=object)
        return self

    def _margins(self, X: Any) -> Margins:
        check_is_fitted(self)
        columns = coded.columns_of(X, tuple(self.model_.columns))
        cells = {column.name: [categories.spell(cell) for cell in column.cells] for column in columns}
        return self.model_.margins(Columns(Path("X"), cells, range(len(columns[0].cells)), unit="row"))


class JointBoostClassifier(ClassifierMixin, _JointBoost):  # type: ignore[misc]
    """Boosted trees that tell classes apart; see `smc boost`. After `fit` also `classes_`, in the schema's order."""

    classes_: NDArray[Any]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the chance of every class, float64[rows, classes]."""
        return self.model_.chances(self._margins(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of every row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class JointBoostRegressor(RegressorMixin, _JointBoost):  # type: ignore[misc]
    """Boosted trees for a number, or with `rounds=1` a regression tree; see `smc boost`."""

    _squared = True

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return the number of every row, within the schema's bounds."""
        margins = self._margins(X)[0]
        assert self.model_.bounds is not None
        return np.clip(margins, *self.model_.bounds)


def _rows(task: Boost, X: Any, y: Any) -> RowCounts:
    """Return rows in memory, as the schema counts them."""
    columns = coded.columns_of(X, task.schema.features(task.target))
    target = categories.column(task.target, np.asarray(y).tolist())
    if len(target.cells) != len(columns[0].cells):
        raise InputError(f"X has {len(columns[0].cells)} rows, y {len(target.cells)}")
    return coded.counted(task, [*columns, target])
