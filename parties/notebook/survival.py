"""Estimators of survival in both parties' rows: curves with noise, and the exact test of two arms."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted
from typing_extensions import override

from parties.jobs.kinds.survive.compare import Compare
from parties.jobs.kinds.survive.curve import Curve
from parties.notebook.parameters import parameters
from parties.notebook.study import JointStudy
from parties.tables.schema import Schema

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
