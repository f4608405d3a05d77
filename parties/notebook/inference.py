"""Estimators of both parties' rows: significance tests, quantiles, and rankings of columns."""

from __future__ import annotations

from typing import Any

from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted
from typing_extensions import override

from parties.jobs.kinds.quantile import Quantile
from parties.jobs.kinds.rank import Rank
from parties.jobs.kinds.test.chi2 import Chi2
from parties.jobs.kinds.test.proportions import Proportions
from parties.jobs.kinds.test.trend import Trend
from parties.jobs.kinds.test.welch import Welch
from parties.notebook.parameters import parameters
from parties.notebook.study import JointStudy
from parties.tables import categories
from parties.tables.schema import Schema
from smc.errors import InputError

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
        return categories.select(categories.named_frame(X), self.order_).to_native()

    @override
    def _take(self, document: dict[str, Any], agreed: Schema | None) -> JointRanking:
        self.order_: list[str] = document["order"]
        return super()._take(document, agreed)
