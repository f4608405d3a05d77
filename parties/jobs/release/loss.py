"""What settings with an epsilon mean: decimal numbers as they were written, and which rows are hidden."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from parties.jobs.spending import exact


class BoundedLoss:
    """Of whatever has `settings` with an `epsilon` and an `adjacency`."""

    settings: Any

    @property
    def epsilon(self) -> Fraction:
        """Epsilon as it was written."""
        assert self.settings.epsilon is not None
        return exact(self.settings.epsilon)

    @property
    def replaced(self) -> bool:
        """True if neighbours differ by a row replaced, not by one more or less."""
        return bool(self.settings.adjacency == "replace")
