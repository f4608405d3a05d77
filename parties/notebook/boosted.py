"""Boosted trees with scikit-learn's interface, trained on your own rows or jointly with another organisation's.

    JointBoostClassifier("schema.toml", exact=True).fit(X, y)                     alone: your own rows only
    JointBoostRegressor("schema.toml", epsilon=1, peer="party.toml").fit(X, y)    with the peer: both parties' rows
    JointBoostClassifier(epsilon=1, peer=node).fit(table="patients")              by your node

The model and its leakage are those of `smc boost`. Without a peer, the program runs on the clear engine.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted
from typing_extensions import override

from parties.jobs.boost.settings import BoostSettings
from parties.jobs.kinds.boost import Boost
from parties.models.boosted import BoostedModel, xgboost_text
from parties.models.scored import Scored
from parties.notebook.models import ModelClassifier, ModelRegressor, ModelStudy
from parties.notebook.parameters import parameters


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
