"""Small cells of joint tables and masked sums: what is opened, on every engine, and its cost known beforehand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.publish.small_cells import CellProblem, cell_states, chosen, masked_sums, noisy_cells
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError, ProtocolError
from smc.local import run_local
from smc.meter import Meter
from smc.primitives.prg import Prg
from smc.session import Session
from tests.support.joint_tables import state
from tests.support.questions import Known

CLEAR = Profile("clear")
RULES = [(against, zeros) for against in ("public", "peer") for zeros in ("hidden", "shown")]
PROFILES = [Profile("yao"), Profile("gmw"), Profile("mixed"), Profile("lean")]


def states(problem: CellProblem, own: list[list[int]], profile: Profile = CLEAR) -> tuple[list[int], dict[int, Meter]]:
    meters: dict[int, Meter] = {}

    def both(session: Session) -> list[int]:
        meters[session.party] = session.meter
        return cell_states(engine_of(session, profile), problem, np.array(own[session.party])).tolist()

    found, same = run_local(both)
    assert found == same
    return found, meters


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=20),
    st.integers(3, 12),
    st.sampled_from(RULES),
)
def test_the_states_are_those_of_the_definition(
    cells: list[tuple[int, int]], threshold: int, rule: tuple[Any, Any]
) -> None:
    own = [[pair[party] for pair in cells] for party in (0, 1)]
    found, _ = states(CellProblem(len(cells), 12, threshold, *rule), own)
    assert found == [state(pair, threshold, *rule) for pair in cells]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("profile", PROFILES, ids=str)
def test_every_engine_finds_them_for_the_cost_that_was_forecast(profile: Profile, rule: tuple[Any, Any]) -> None:
    pairs = [(a, b) for a in (0, 2, 4, 5, 9) for b in (0, 1, 3, 5)]
    own = [[pair[party] for pair in pairs] for party in (0, 1)]
    problem = CellProblem(len(pairs), 9, 5, *rule)
    found, meters = states(problem, own, profile)
    assert found == [state(pair, 5, *rule) for pair in pairs]
    assert len(set(found)) == (2 if rule[1] == "hidden" else 3)
    none = np.zeros(len(pairs), dtype=np.int64)
    counted = forecast(lambda engine: cell_states(engine, problem, none), profile)
    for party in (0, 1):
        cost, said = meters[party].total.as_dict(), counted.meters[party].total.as_dict()
        assert {**cost, "seconds": 0} == {**said, "seconds": 0}
        assert cost["bits_opened"] == len(pairs) * problem.bits


@pytest.mark.parametrize("profile", [CLEAR, *PROFILES], ids=str)
def test_masks_and_what_is_opened_make_the_sums(profile: Profile) -> None:
    own = np.array([[0, 5, 1000, 1023, 17] * 40, [0, 6, 24, 1023, 0] * 40])

    def both(session: Session) -> tuple[Any, Any]:
        return masked_sums(engine_of(session, profile), own[session.party], 10)

    (opened, mine), (same, theirs) = run_local(both, seed=b"masks")
    assert (opened == same).all()
    assert opened.shape == mine.shape == (11, 200)
    sums = ((opened ^ mine ^ theirs).astype(np.int64) << np.arange(11)[:, None]).sum(axis=0)
    assert (sums == own.sum(axis=0)).all()
    # Each of 2,200 coins is fair, whatever the sums: six standard deviations, which five checks of five engines exceed
    # with probability 5 10^-8; the seed is fixed.
    for bits in (opened, mine, theirs, opened ^ mine, opened ^ theirs):
        assert abs(int(bits.sum()) - 1100) < 6 * np.sqrt(2200) / 2


def test_every_bit_of_every_sum_has_a_mask_of_its_own() -> None:
    """No two bits of the sums go together, nor two sums, in what a party sees or draws: a mask that served twice tells.

    The sum over 4,096 numbers of one bit's sign times another's has a standard deviation of 64: of 10,000 such sums
    one is 8 of them off with probability 10^-11. Two of 4,096 masks of 63 bits are equal with probability 10^-12. The
    seed is fixed.
    """
    own = np.zeros((2, 4096), dtype=np.int64)

    def both(session: Session) -> tuple[Any, Any]:
        return masked_sums(engine_of(session, CLEAR), own[session.party], 62)

    (opened, mine), (_, theirs) = run_local(both, seed=b"masks of their own")
    for seen in (opened, mine, theirs, opened ^ mine, opened ^ theirs):
        signs = 1 - 2 * seen.astype(np.int64)
        assert np.abs(signs @ signs.T - 4096 * np.eye(63)).max() < 8 * 64
        assert len(np.unique(seen, axis=1).T) == 4096
    assert (mine != theirs).any()


def test_a_repeated_run_makes_the_same_masks() -> None:
    def both(session: Session) -> list[Any]:
        engine, found = engine_of(session, CLEAR), []
        for _ in (0, 1):
            with session.contribute(Prg(bytes([session.party]) * 16)):
                found.append(masked_sums(engine, np.array([3, 4]), 4))
        return found

    for first, second in run_local(both):
        assert all((a == b).all() for a, b in zip(first, second, strict=True))


def test_both_take_the_same_cells_to_be_hidden() -> None:
    found = np.array([0, 1, 2, 1])

    def both(session: Session, hidden: list[int]) -> list[bool]:
        mask = np.array(hidden, dtype=bool)
        return chosen(engine_of(session, CLEAR), found, mask if session.party == 0 else None).tolist()

    for hidden in ([0, 1, 0, 1], [1, 1, 1, 1]):
        assert run_local(lambda session, h=hidden: both(session, h)) == (list(map(bool, hidden)),) * 2
    with pytest.raises(ProtocolError, match="lack one that must be hidden"):
        run_local(lambda session: both(session, [1, 1, 1, 0]))


@pytest.mark.parametrize("profile", [CLEAR, Profile("gmw")], ids=str)
@pytest.mark.parametrize(("noise", "of_rows"), [(-2, None), (1, None), (1, -2), (-1, 1)])
def test_noisy_cells_are_hidden_by_their_noisy_rows_alone(profile: Profile, noise: int, of_rows: int | None) -> None:
    """With numbers, a cell's rows have a width and noise of their own, and both are told apart."""
    rows = np.array([[0, 1, 2, 3, 4, 7], [0, 1, 2, 2, 3, 7]])
    numbers = rows if of_rows is None else np.array([[9, 0, 30, 5, 0, 31], [9, 31, 30, 6, 0, 31]])
    law, behind = Known(noise), None if of_rows is None else (3, Known(of_rows))

    def both(session: Session) -> tuple[list[bool], list[int]]:
        values = np.stack([rows[session.party], numbers[session.party]])
        hidden, shown = noisy_cells(engine_of(session, profile), values, 5, law, 5, behind)
        return hidden.tolist(), shown.tolist()

    few = rows.sum(axis=0) + (noise if of_rows is None else of_rows) < 5
    assert 0 < few.sum() < 6
    assert run_local(both) == ((few.tolist(), (numbers.sum(axis=0) + noise)[~few].tolist()),) * 2


def test_what_does_not_fit_is_refused() -> None:
    assert CellProblem(1, 2, 4, "public").cells == 1
    for fields, words in (
        ({"threshold": 2}, "at least 3, or a hidden cell would disclose its count"),
        ({"threshold": 10}, "at most 9 rows of a party"),
        ({"threshold": 19, "against": "public"}, "at most 18 rows in all"),
        ({"cells": 0}, "a cell"),
    ):
        with pytest.raises(InputError, match=words):
            CellProblem(**{"cells": 2, "max_rows": 9, "threshold": 3, **fields})  # type: ignore[arg-type]
    problem = CellProblem(2, 9, 3)
    for own, words in (([10, 0], "more than the agreed maximum of 9"), ([1, 2, 3], "expected 2 cells")):
        with pytest.raises(InputError, match=words):
            states(problem, [own, own])
