"""Estimator that makes synthetic rows of both parties' rows."""

from __future__ import annotations

from typing import Any, Self

from typing_extensions import override

from parties.jobs.kinds.synthesise import Synthesise
from parties.notebook.parameters import of_kind
from parties.notebook.study import JointStudy
from parties.tables.schema import Schema


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
