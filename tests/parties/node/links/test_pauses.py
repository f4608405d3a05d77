"""How long a job is left alone after it went wrong."""

from __future__ import annotations

import math

import pytest

from parties.node.links import pauses
from parties.node.links.pauses import Pauses

pytestmark = pytest.mark.slow


def test_it_is_longer_each_time_until_it_goes_well(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(pauses.time, "monotonic", lambda: now[0])
    alone = Pauses(0.5, 3.0)
    assert alone.left() == math.inf
    for seconds in (0.5, 1.0, 2.0, 3.0, 3.0):
        alone.put("a")
        assert alone.lasts("a")
        assert alone.left() == seconds
        now[0] += seconds
        assert not alone.lasts("a")
        assert alone.left() == math.inf
    alone.put("a", longer=False)
    alone.put("b")
    now[0] += 0.25
    alone.put("c")
    assert (alone.left(), alone.lasts("d")) == (0.25, False)  # of the first, not of the last
    alone.forget("a")
    alone.forget("b")
    assert (alone.left(), alone.lasts("a")) == (0.5, False)
