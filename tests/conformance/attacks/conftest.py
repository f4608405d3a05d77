"""What a hostile party tries: above OT, so that sessions in this process have theirs in a group that costs nothing."""

from __future__ import annotations

from tests.support.toy_curve import toy_curve

__all__ = ["toy_curve"]
