"""Top and bottom coding: values beyond a bound are published as the bound, or as the mean of those values.

topBotCoding of sdcMicro; Hundepool et al., "Statistical Disclosure Control" (2012), section 3.3.3.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator
from typing_extensions import override

from parties.alone.publish.protecting.method import Columns, Method
from parties.alone.publish.protecting.rows import Rows, spelled
from parties.base.arrays import Floats
from parties.base.settings import Finite
from smc.errors import InputError

FEWEST = 3  # least number of values in a published mean
Tail = Annotated[float, Field(strict=True, gt=0, lt=0.5)]


class TopBottomCoding(Method):
    """Method that replaces values beyond the bounds `top` and `bottom`: by the bound, or by the mean of these values.

    With a `share` instead, the bounds follow from the rows: at most this share of them lies beyond either bound.
    """

    columns: Columns
    top: Finite | None = None
    bottom: Finite | None = None
    share: Tail | None = None
    replacement: Literal["bound", "mean"] = "bound"

    @model_validator(mode="after")
    def _has_bounds(self) -> TopBottomCoding:
        if (self.share is None) == (self.top is None and self.bottom is None):
            raise ValueError("top-bottom-coding needs top, bottom or both, or share; give one of these")
        if self.top is not None and self.bottom is not None and self.bottom >= self.top:
            raise ValueError(f"bottom must be below top, and {self.bottom:g} is not below {self.top:g}")
        return self

    @override
    def run(self, rows: Rows, random: np.random.Generator) -> tuple[Rows, dict[str, Any]]:
        """Return the rows with replaced values beyond the bounds; raise InputError for a mean of fewer than three."""
        del random
        changed, figures = {}, {}
        for name in self.columns:
            numbers = rows.numbers(name)
            bottom, top = self._bounds(numbers)
            column, counts = rows.column(name).copy(), {}
            for tail, beyond, bound in (("top", numbers > top, top), ("bottom", numbers < bottom, bottom)):
                counts[tail] = int(beyond.sum())
                if not beyond.any():
                    continue
                value = bound
                if self.replacement == "mean":
                    if counts[tail] < FEWEST:
                        raise InputError(
                            f"column {name}: {counts[tail]} value(s) lie beyond the {tail}, so their mean would "
                            f'disclose them; {FEWEST} are required, or set replacement = "bound"'
                        )
                    value = float(numbers[beyond].mean())
                column[beyond] = spelled(np.array([value]))[0]
            changed[name] = column
            figures[name] = counts
        return rows.replaced(changed), figures

    def _bounds(self, numbers: Floats) -> tuple[float, float]:
        """Return the least and the greatest value that stay."""
        if self.share is None:
            return -np.inf if self.bottom is None else self.bottom, np.inf if self.top is None else self.top
        ranked = np.sort(numbers[~np.isnan(numbers)])
        if not len(ranked):
            return -np.inf, np.inf
        beyond = int(len(ranked) * self.share)
        return float(ranked[beyond]), float(ranked[-1 - beyond])
