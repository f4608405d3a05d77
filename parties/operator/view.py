"""Base class of views."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class View(BaseModel):
    """Base of the objects that the operator's calls return."""

    # most commands need only a few of the views
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
