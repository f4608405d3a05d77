"""Tests, quantiles and the order of columns, of the rows of both parties, as estimators."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted
from typing_extensions import override

from parties.jobs.inference.chi2 import Chi2
from parties.jobs.inference.proportions import Proportions
from parties.jobs.inference.quantile import Quantile
from parties.jobs.inference.rank import Rank
from parties.jobs.inference.trend import Trend
from parties.jobs.inference.welch import Welch
from parties.link.settings import LinkSettings
from parties.notebook.study import JointStudy
from parties.tables import categories
from parties.tables.schema import Schema
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.operator.interface import Operator

TESTS = {kind.name.removeprefix("test "): kind for kind in (Chi2, Welch, Proportions, Trend)}


class JointTest(JointStudy):
    """A test of significance on both parties' rows, as `smc test` asks it.

    Parameters. `schema`: the public schema, a file or a `Schema`, which a node has itself; `test`: "chi2", "welch",
    "proportions" or "trend"; others as for the command, and None is what it takes. `peer`: see
    `parties.notebook.study`.

    After `fit`: `differ_`, the verdict; for others see `JointStudy`.
    """

    test: str

    def __init__(
        self,
        schema: Schema | Path | str | None = None,
        test: str = "chi2",
        *,
        columns: Sequence[str] | None = None,
        column: str | None = None,
        target: str | None = None,
        value: str | None = None,
        by: str | None = None,
        alternative: str | None = None,
        level: float | None = None,
        where: str | None = None,
        epsilon: float | None = None,
        adjacency: str | None = None,
        max_rows: int | None = None,
        peer: LinkSettings | Path | str | Operator | None = None,
    ) -> None:
        self._keep(locals())

    @property
    def kind(self) -> Any:
        """The kind of job. `InputError` for a test that there is none of."""
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


class JointQuantile(JointStudy):
    """Below which number lies a share of both parties' rows: `smc quantile`.

    Parameters: as of `JointTest`; `column`, and `at`, the share.

    After `fit`: `document_`, with the number or the range as the command has it; for others see `JointStudy`.
    """

    kind = Quantile

    def __init__(
        self,
        schema: Schema | Path | str | None = None,
        column: str | None = None,
        at: float | None = None,
        *,
        round_to: float | None = None,
        where: str | None = None,
        epsilon: float | None = None,
        exact: bool | None = None,
        adjacency: str | None = None,
        max_rows: int | None = None,
        peer: LinkSettings | Path | str | Operator | None = None,
    ) -> None:
        self._keep(locals())


class JointRanking(TransformerMixin, JointStudy):  # type: ignore[misc]
    """The columns that tell most of a target, in their order, by both parties' rows: `smc rank`; keeps the first.

    Parameters: as of `JointTest`; `measure` and `first` as for the command.

    After `fit`: `order_`, the names; `transform` returns these columns of a frame. For others see `JointStudy`.
    """

    kind = Rank

    def __init__(
        self,
        schema: Schema | Path | str | None = None,
        target: str | None = None,
        *,
        columns: Sequence[str] | None = None,
        measure: str | None = None,
        first: int | None = None,
        where: str | None = None,
        max_rows: int | None = None,
        peer: LinkSettings | Path | str | Operator | None = None,
    ) -> None:
        self._keep(locals())

    def transform(self, X: Any) -> Any:
        """Return the columns of a frame that were told, in their order. `InputError` if one is missing."""
        check_is_fitted(self)
        return categories.select(categories.named_frame(X), self.order_).to_native()

    @override
    def _take(self, document: dict[str, Any], agreed: Schema | None) -> JointRanking:
        self.order_: list[str] = document["order"]
        return super()._take(document, agreed)
