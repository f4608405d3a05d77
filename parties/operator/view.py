"""What every view has in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class View(BaseModel):
    """A piece of what an operator sees."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)  # most commands need a few of them
