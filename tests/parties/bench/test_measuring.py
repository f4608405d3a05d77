"""Measuring a case: what is checked on the way, its phases, and what is left out."""

from __future__ import annotations

import pytest

from parties.bench import cases
from parties.bench.measuring import COUNTS, _compare, _Run, exclusive, measure
from smc.link_shape import LinkShape
from tests.support.bench import played

TREE = cases.find("ID3, tennis, yao extension three-halves, batch 1")
ONE = cases.find("millionaires 32, gmw extension depth, batch 1")


@pytest.mark.parametrize("name", COUNTS)
@pytest.mark.parametrize("party", [0, 1])
def test_a_forecast_that_is_off_by_one_is_an_error(name: str, party: int) -> None:
    _, meters = played(ONE)
    cost = meters[party].total
    setattr(cost, name, getattr(cost, name) + 1)
    with pytest.raises(RuntimeError, match=f"party {party} measured {name}"):
        # By hand, since `measure` has processes of its own, which are right.
        _compare(ONE, ONE.forecast(), _Run(0.1, (meters[0], meters[1].total)))


def test_phases_add_up_to_the_total() -> None:
    _, (meter, _) = played(cases.Case(cases.TREE, cases.MIXED, 1))
    shares = exclusive(meter, 5.0)
    steps = {"normalise", "look up", "series", "times x"}
    assert {"base ot", "leaves", "entropy", "argmin", "other"} | steps == set(shares)
    assert sum(share["bytes"] for share in shares.values()) == meter.total.bytes_sent + meter.total.bytes_received
    assert sum(share["seconds"] for share in shares.values()) == pytest.approx(5.0)


def test_what_would_take_too_long_is_left_out_before_any_peer_starts() -> None:
    rows, skipped = measure("slow", LinkShape.parse("1kbit"), [TREE], 1, lambda step: None)
    assert rows == []
    (one,) = skipped
    assert (one.protocol, one.batch) == ("ID3, tennis", 1)
    assert one.predicted_seconds > 1000
