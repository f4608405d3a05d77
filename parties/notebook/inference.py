"""Estimators of both parties' rows: tests, quantiles, rankings, evaluations, clusters, synthetic rows, survival."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted
from typing_extensions import override

from parties.jobs.kinds.cluster import Cluster
from parties.jobs.kinds.evaluate.report import Report
from parties.jobs.kinds.quantile import Quantile
from parties.jobs.kinds.rank import Rank
from parties.jobs.kinds.survive.compare import Compare
from parties.jobs.kinds.survive.curve import Curve
from parties.jobs.kinds.synthesise import Synthesise
from parties.jobs.kinds.test.chi2 import Chi2
from parties.jobs.kinds.test.proportions import Proportions
from parties.jobs.kinds.test.trend import Trend
from parties.jobs.kinds.test.welch import Welch
from parties.jobs.tabular import BySchema
from parties.notebook.parameters import of_kind, parameters
from parties.notebook.study import JointStudy
from parties.tables import categories
from parties.tables.schema import Schema
from smc.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


TESTS = {kind.name.removeprefix("test "): kind for kind in (Chi2, Welch, Proportions, Trend)}


SOME = ("columns", "column", "target", "value", "by", "alternative")  # each test takes some of these


@parameters(
    Welch.Settings,
    "test",
    then=(*SOME, "level", "where", "epsilon", "adjacency", "max_rows"),
    fixed={"test": "chi2"},
    described={
        "test": "chi2, welch, proportions or trend.",
        **dict.fromkeys(SOME, "as for the command `smc test` of that test."),
    },
)
class JointTest(JointStudy):
    """A test of significance on both parties' rows, one of `smc test`.

    After `fit` there is `differ_`, the verdict; for other attributes see `JointStudy`.
    """

    test: str

    @property
    def kind(self) -> Any:
        """The kind of job. Raise InputError if no test has this name."""
        if self.test not in TESTS:
            raise InputError(f"test: is one of {', '.join(TESTS)}, not {self.test!r}")
        return TESTS[self.test]

    @override
    def _settings(self) -> dict[str, Any]:
        return {name: value for name, value in super()._settings().items() if name != "test"}

    @override
    def _take(self, document: dict[str, Any], agreed: Schema | None) -> JointTest:
        self.differ_: bool | None = document["differ"]
        return super()._take(document, agreed)


@parameters(
    Quantile.Settings, "column", "at",
    then=("round_to", "where", "epsilon", "exact", "adjacency", "max_rows"),
)  # fmt: skip
class JointQuantile(JointStudy):
    """A quantile of both parties' rows: `smc quantile`.

    After `fit` there is `document_`, with the number or the range; for other attributes see `JointStudy`.
    """

    kind = Quantile


@parameters(Rank.Settings, "target", then=("columns", "measure", "first", "where", "max_rows"))
class JointRanking(TransformerMixin, JointStudy):  # type: ignore[misc]
    """A ranking of columns by their information on a target, from both parties' rows: `smc rank`.

    After `fit` there is `order_`, the names. `transform` returns these columns of a frame. See also `JointStudy`.
    """

    kind = Rank

    def transform(self, X: Any) -> Any:
        """Return the columns of a frame that `order_` names, in this order.

        Raises:
            InputError: A column is missing.
        """
        check_is_fitted(self)
        self._cells(X, ())
        table = categories.frame(X)
        if table is None:
            return np.asarray(X)[:, [self._column_names().index(name) for name in self.order_]]
        return categories.select(table, self.order_).to_native()

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the columns of `transform`."""
        check_is_fitted(self)
        return np.array(self.order_, dtype=object)

    @override
    def _take(self, document: dict[str, Any], agreed: Schema | None) -> JointRanking:
        self.order_: list[str] = document["order"]
        return super()._take(document, agreed)


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


@of_kind(Cluster)
class JointKMeans(ClusterMixin, JointStudy):  # type: ignore[misc]
    """Clusters of both parties' rows by k-means, with noise: `smc cluster`.

    After `fit` there is `cluster_centers_`, float64[k, columns], those with the most rows first; and `labels_`, the
    index of the centre of each of your rows, unless a node read them. For other attributes see `JointStudy`.
    """

    kind = Cluster

    def predict(self, X: Any) -> NDArray[np.int64]:
        """Return the index of the nearest centre of every row, int64[rows]; columns are scaled by their bounds."""
        check_is_fitted(self)
        cells = [column.cells for column in self._cells(X, tuple(self.document_["columns"]))]
        low, high = np.array(self.document_["bounds"], dtype=np.float64).T
        points, centres = ((of - low) / (high - low) for of in (np.array(cells, float).T, self.cluster_centers_))
        nearest: NDArray[np.int64] = ((points.clip(0, 1)[:, None] - centres[None]) ** 2).sum(axis=2).argmin(axis=1)
        return nearest

    @override
    def _rows_of(self, task: BySchema, X: Any, y: Any) -> Any:
        self._own = X
        return super()._rows_of(task, X, y)

    @override
    def _take(self, document: dict[str, Any], agreed: Schema | None) -> Self:
        self.cluster_centers_ = np.array([cluster["centroid"] for cluster in document["clusters"]], dtype=np.float64)
        super()._take(document, agreed)
        if (own := self.__dict__.pop("_own", None)) is not None:
            self.labels_ = self.predict(own)
        return self


@of_kind(Synthesise)
class JointSynthesizer(JointStudy):
    """Synthetic rows from noisy marginals of both parties' rows: `smc synthesise`.

    After `fit` there is `sample_`, the cells of each column: `pandas.DataFrame(estimator.sample_)` is a frame of the
    rows. For other attributes see `JointStudy`.
    """

    kind = Synthesise

    @override
    def _take(self, document: dict[str, Any], agreed: Schema | None) -> Self:
        values = document["values"]
        self.sample_ = {name: [values[name][code] for code in codes] for name, codes in document["rows"].items()}
        return super()._take(document, agreed)


@parameters(
    Curve.Settings, "time", "event", "arm",
    then=("event_value", "where", "epsilon", "exact", "adjacency", "max_rows"),
)  # fmt: skip
class JointSurvival(JointStudy):
    """Kaplan-Meier curves of both parties' rows: `smc survive curve`.

    After `fit` there are:

    - `curves_`: the points for each value of the arm ("" without an arm);
    - `medians_`: for each value of the arm a dict of value, low, high;
    - `log_rank_`: the test of the arms (None with a single arm).

    For other attributes see `JointStudy`.
    """

    kind = Curve

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the curves with their intervals on matplotlib's axes, or on new ones, and return the axes."""
        check_is_fitted(self)
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.figure().add_subplot()
        edges = self.document_["edges"]
        for arm, points in self.curves_.items():
            heights, low, high = ([1.0, *(point[name] for point in points)] for name in ("survival", "low", "high"))
            (line,) = ax.step(edges, heights, where="post", label=arm)
            ax.fill_between(edges, low, high, step="post", color=line.get_color(), alpha=0.2)
        ax.set_xlabel(self.document_["unit"])
        ax.set_ylabel("survival")
        ax.set_ylim(0, 1.02)
        if len(self.curves_) > 1:
            ax.legend(title=self.document_["arm"])
        return ax

    @override
    def _take(self, document: dict[str, Any], agreed: Schema | None) -> JointSurvival:
        self.curves_ = {curve["arm"]: curve["points"] for curve in document["curves"]}
        self.medians_ = {curve["arm"]: curve["median"] for curve in document["curves"]}
        self.log_rank_ = document.get("log_rank")
        return super()._take(document, agreed)


@parameters(Compare.Settings, "time", "event", "arm", then=("event_value", "level", "where", "max_rows"))
class JointLogRank(JointStudy):
    """A test whether two arms of both parties' rows survive differently: `smc survive compare`, which opens one bit.

    After `fit` there is `differ_`, true or false; for other attributes see `JointStudy`.
    """

    kind = Compare

    @override
    def _take(self, document: dict[str, Any], agreed: Schema | None) -> JointLogRank:
        self.differ_: bool = document["differ"]
        return super()._take(document, agreed)
