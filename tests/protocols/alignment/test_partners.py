"""Best partners, against a search of all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.alignment.partners import partners
from smc.engines import make_engine
from smc.local import run_local
from smc.primitives.bits import from_integers
from smc.recipes import EngineName
from smc.session import Session

WIDTH = 3


def stays(numbers: list[list[list[int]]], engine: EngineName) -> list[int]:
    tables = np.array(numbers)
    bits = from_integers(tables.reshape(-1), WIDTH)

    def program(session: Session) -> list[int]:
        work = make_engine(session, engine)
        secret = work.input(0, bits if session.party == 0 else None, *bits.shape)
        (opened,) = work.reveal(partners(work, secret, *tables.shape[1:]))
        return opened[0].tolist()  # type: ignore[no-any-return]

    return run_local(program)[1]


def expected(numbers: list[list[list[int]]]) -> list[int]:
    """A pair stays if it is the first largest of its row and of its column."""
    return [
        int(
            value > 0
            and row.index(max(row)) == j
            and [other[j] for other in table].index(max(o[j] for o in table)) == i
        )
        for table in numbers
        for i, row in enumerate(table)
        for j, value in enumerate(row)
    ]


SIZES = st.tuples(st.integers(1, 3), st.integers(1, 6), st.integers(1, 6))
TABLES = SIZES.flatmap(
    lambda size: st.lists(
        st.lists(st.lists(st.integers(0, 7), min_size=size[2], max_size=size[2]), min_size=size[1], max_size=size[1]),
        min_size=size[0],
        max_size=size[0],
    )
)


@settings(max_examples=40)
@given(TABLES)
def test_a_pair_stays_if_both_prefer_it(numbers: list[list[list[int]]]) -> None:
    assert stays(numbers, "clear") == expected(numbers)


@pytest.mark.parametrize("engine", ["gmw", "yao"])
def test_on_secrets(engine: EngineName) -> None:
    numbers = [[[5, 5, 0], [5, 7, 7]], [[0, 0, 0], [0, 1, 0]]]
    assert stays(numbers, engine) == expected(numbers) == [1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0]
