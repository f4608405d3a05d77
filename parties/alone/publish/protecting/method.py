"""Base class of methods of disclosure control: settings, and the change of rows."""

from __future__ import annotations

from abc import abstractmethod
from typing import Annotated, Any, TypeAlias

import numpy as np
from pydantic import Field

from parties.alone.publish.protecting.rows import Rows
from parties.base.settings import Settings
from parties.sources.settings import Name

Columns: TypeAlias = Annotated[tuple[Name, ...], Field(min_length=1)]
Share: TypeAlias = Annotated[float, Field(strict=True, gt=0, le=1)]
AtLeastTwo: TypeAlias = Annotated[int, Field(strict=True, ge=2)]


class Method(Settings):
    """Settings of a method, as in a table of [[methods]]."""

    @abstractmethod
    def run(self, rows: Rows, random: np.random.Generator) -> tuple[Rows, dict[str, Any]]:
        """Return the changed rows, and figures for the report by name.

        Args:
            rows: the rows after all earlier methods
            random: source of randomness

        Raises:
            InputError: the rows do not suit the method
        """
