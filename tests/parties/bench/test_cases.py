"""The cases of the bench: each knows its right result, and each has a title of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parties.bench import cases
from parties.bench.measuring import COUNTS
from smc.link_shape import PRESETS
from tests.support.bench import played

EVERY = (*cases.default_cases(), *cases.batch_cases(), *cases.crossover_cases())


@pytest.mark.parametrize("workload", {case.workload.name: case for case in EVERY}.values(), ids=lambda c: c.title)
def test_every_workload_knows_a_right_result_from_a_wrong_one(workload: cases.Case) -> None:
    small = cases.Case(workload.workload, cases.YAO, 3)
    result, meters = played(small)
    small.check(result)
    for meter, counted in zip(meters, small.forecast().costs, strict=True):
        assert {name: getattr(meter.total, name) for name in COUNTS} == {
            name: getattr(counted, name) for name in COUNTS
        }
    wrong: Any = None
    match result:
        case np.ndarray():
            wrong = result.copy()
            wrong[1] = 1 - wrong[1]
        case [np.ndarray(), *_]:
            wrong = [result[0] ^ 1, *result[1:]]
    with pytest.raises(RuntimeError, match="wrong result"):
        small.check(tuple(wrong) if isinstance(result, tuple) else wrong)


def test_titles_name_one_case_and_batches_suit_the_link() -> None:
    on = {name: [case for case in cases.default_cases() if case.suits(shape)] for name, shape in PRESETS.items()}
    for name, chosen in on.items():
        titles = [case.title for case in chosen]
        assert len(set(titles)) == len(titles)
        assert [cases.find(title).title for title in titles] == titles
        assert len({case.workload.name for case in chosen}) == 7
        assert any(case.batch == 10**6 for case in chosen) == (name == "loopback")
