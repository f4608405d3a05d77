"""Association rules with scikit-learn's transformer interface, on your own or both parties' rows; see `study`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted
from typing_extensions import override

from parties.jobs.kinds.rules import AssociationRules
from parties.jobs.rules.settings import RulesSettings
from parties.jobs.tabular import BySchema
from parties.models.rules import Rules, words
from parties.notebook import coded
from parties.notebook.parameters import parameters
from parties.notebook.study import JointStudy
from parties.tables import categories
from parties.tables.schema import Schema


@parameters(
    RulesSettings, "columns",
    then=("transaction", "support", "confidence", "lift", "max_length", "k", "show", "most", "epsilon", "first",
          "adjacency", "max_rows"),
    fixed={"columns": None, "transaction": None, "most": None, "epsilon": None, "first": None}, defaults=True,
)  # fmt: skip
class JointRules(TransformerMixin, JointStudy):  # type: ignore[misc]
    """Frequent sets and association rules of both parties' rows.

    After `fit` there are `sets_`, lists of "column=value", and `rules_`, {"if": [...], "then": [...]}. For other
    attributes see `JointStudy`.
    """

    kind = AssociationRules

    transaction: str | None

    @override
    def _rows_of(self, task: BySchema, X: Any, y: Any) -> Any:
        if self.transaction is None:
            return super()._rows_of(task, X, y)
        columns = self._cells(X, (*task.schema.features(task.target), task.target), reset=True)
        keys = categories.select(categories.named_frame(X), (self.transaction,))[self.transaction].to_list()
        return coded.in_baskets(task, columns, keys)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # truth values
        return tags

    def transform(self, X: Any) -> NDArray[np.bool_]:
        """Return whether each row has all items of a rule's condition, bool[rows, rules], in the order of `rules_`."""
        check_is_fitted(self)
        return self.model_.fire(self._texts(X, self._order))

    def holds(self, X: Any) -> NDArray[np.bool_]:
        """Return whether each row has all items of a rule, condition and conclusion, bool[rows, rules]."""
        check_is_fitted(self)
        return self.model_.hold(self._texts(X, self._order))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the rules as texts, for the columns of `transform`."""
        check_is_fitted(self)
        return np.array([f"if {words(a)} then {words(b)}" for a, b in self.model_.rules], dtype=object)

    @override
    def _take(self, document: dict[str, Any], agreed: Schema | None) -> JointRules:
        self.model_, self.sets_, self.rules_ = Rules.parse(document), document["sets"], document["rules"]
        return super()._take(document, agreed)
