"""Classifier that learns from blurred values and classifies true values.

BlurredTreeClassifier({"salary": ColumnBlur(noise="gaussian", low=20e3, high=150e3, privacy=1.0)}).fit(blurred, y)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from parties.alone.blurring.domain import Domain
from parties.alone.blurring.plan import ColumnBlur
from parties.alone.blurring.strategies import STRATEGIES, Category, Column, Number, learn
from parties.alone.blurring.tree import Growth, Node, predict
from parties.base.settings import Settings
from parties.base.text import instead, quoted
from parties.notebook.parameters import parameters
from protocols.arrays import Floats
from smc.errors import InputError


@parameters(
    Settings, "noise", then=("strategy", "min_rows", "max_depth", "prune", "random_state"),
    fixed={"strategy": "byclass", "min_rows": 1, "prune": True},
    described={
        "noise": "how columns were blurred, a `ColumnBlur` by name (of a frame) or position, as in blur.toml; the "
                 "others are true. Of a column with noise 'response', cells are the indices of categories in its "
                 "`values`.",
        "strategy": "'global', 'byclass' or 'local': which rows are reconstructed together; 'none' takes blurred "
                    "values for true ones.",
        "min_rows": "the fewest rows of a leaf.",
        "max_depth": "the most levels of splits.",
        "prune": "whether the tree is pruned, by description length.",
        "random_state": "the seed; only the true categories are drawn, from the blurred ones.",
    },
    joint=False,
)  # fmt: skip
class BlurredTreeClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Decision tree from rows whose columns were blurred by their owners, after Agrawal, Srikant 2000.

    After `fit`: `tree_`, `columns_`, `classes_`. `predict` and `predict_proba` take true values.
    """

    tree_: Node
    columns_: list[Column]
    classes_: NDArray[Any]
    n_features_in_: int

    def fit(self, X: Any, y: Any) -> BlurredTreeClassifier:
        """Learn from blurred rows and their true classes, and return the classifier itself.

        Args:
            X: Blurred rows, numbers [rows, columns]: an array or a data frame.
            y: True class of each row, [rows].

        Raises:
            InputError: A parameter is wrong, or a cell is not one of its column's categories.
        """
        if self.strategy not in STRATEGIES:
            hint = instead(str(self.strategy), STRATEGIES)
            raise InputError(f"strategy: there is no {quoted(str(self.strategy))}{hint}")
        if self.min_rows < 1 or (self.max_depth is not None and self.max_depth < 1):
            raise InputError("min_rows, max_depth: must be 1 or more")
        cells, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        self.classes_, classes = np.unique(labels, return_inverse=True)
        self.columns_ = self._columns(cells)
        how = Growth(self.min_rows, self.max_depth, self.prune)
        rng = np.random.default_rng(check_random_state(self.random_state).randint(1 << 31))
        classes = classes.astype(np.int64)
        self.tree_ = learn(self.columns_, cells.T, classes, len(self.classes_), self.strategy, how, rng)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most frequent class of each row's leaf, for true values."""
        best = self._counts(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def predict_proba(self, X: Any) -> Floats:
        """Return the shares of the classes in each row's leaf, float64[rows, classes], in the order of `classes_`."""
        counts = self._counts(X)
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    def _counts(self, X: Any) -> NDArray[np.int64]:
        check_is_fitted(self)
        cells = validate_data(self, X, reset=False, dtype=np.float64)
        for i, column in enumerate(self.columns_):
            if isinstance(column, Category):
                _check_categories(cells[:, i], column.size, i)
        codes = np.stack([column.plain(cells[:, i]) for i, column in enumerate(self.columns_)])
        return predict(self.tree_, codes)

    def _columns(self, cells: Floats) -> list[Column]:
        """Return the columns with the law of their blur; columns without a blur keep their values as they are."""
        blurs = self._blurs(cells.shape[1])
        columns: list[Column] = []
        for i, values in enumerate(cells.T):
            blur = blurs[i]
            if blur is None or blur.noise == "none":
                columns.append(Number(Domain.of_values(values, len(values)), None))
            elif blur.noise == "response":
                response = blur.response
                _check_categories(values, response.size, i)
                columns.append(Category(response.size, response))
            else:
                columns.append(blur.number(len(values)))
        return columns

    def _blurs(self, number: int) -> Sequence[ColumnBlur | None]:
        """Return each column's blur, None without one; raise InputError if `noise` names a missing column."""
        names = list(getattr(self, "feature_names_in_", []))
        blurs: list[ColumnBlur | None] = [None] * number
        for key, blur in (self.noise or {}).items():
            place = names.index(key) if key in names else key
            if not isinstance(place, int) or not 0 <= place < number:
                raise InputError(f"noise: there is no column {quoted(str(key))}{instead(str(key), names)}")
            blurs[place] = blur
        return blurs


def _check_categories(values: Floats, size: int, column: int) -> None:
    if ((values < 0) | (values >= size) | (values != np.floor(values))).any():
        raise InputError(f"column {column}: categories must be whole numbers from 0 to {size - 1}")
