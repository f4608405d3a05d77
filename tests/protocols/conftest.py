"""What protocols compute, on engines whose base OTs are in a group that costs nothing."""

from __future__ import annotations

from tests.support.toy_curve import toy_curve

__all__ = ["toy_curve"]
