"""Shares of holders: their sums, their law, and the cut of a joint number into two numbers."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocols.association import Problem, frequent
from protocols.counts import LevelCounts, RowCounts
from protocols.feasibility import Grouped, left_netlist
from protocols.inputs import both_inputs, both_rows, split_netlist
from protocols.shares import SEED_BYTES, SharedCounts, flat, mask, masked, unflattened
from protocols.tree import Leaf, Open, Split
from smc.circuit import evaluate
from smc.engines import make_engine
from smc.local import run_local
from smc.primitives.bits import from_integers, to_integers
from tests.support.shares import offsets

SEED = bytes(range(SEED_BYTES))


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=20), st.binary(min_size=32, max_size=32))
def test_both_shares_add_up_to_the_numbers(numbers: list[int], seed: bytes) -> None:
    own = np.array(numbers, dtype=np.int64)
    first, second = mask(seed, b"q", 3, len(own)), masked(own, seed, b"q", 3)
    assert ((first + second).astype(np.int64) == own).all()


def test_a_seed_gives_other_masks_for_other_questions() -> None:
    masks = [mask(SEED, question, number, 4) for question, number in ((b"a", 0), (b"a", 1), (b"b", 0))]
    assert len({word for one in masks for word in one.tolist()}) == 12
    with pytest.raises(ValueError, match="32 bytes"):
        mask(SEED[:31], b"a", 0, 4)


@pytest.mark.parametrize("number", [0, 1, 1 << 40])
def test_masked_numbers_are_uniform(number: int) -> None:
    """Chi-square of each byte of 2^14 words, 255 degrees of freedom: wrong in 8 x 3 tests once in 4,000 choices."""
    words = masked(np.full(1 << 14, number), SEED, b"q", 0)
    for octet in words.view(np.uint8).reshape(-1, 8).T:
        observed = np.bincount(octet, minlength=256)
        statistic = ((observed - 64) ** 2 / 64).sum()
        assert 255 - 5 * (2 * 255) ** 0.5 < statistic < 255 + 5 * (2 * 255) ** 0.5


@pytest.mark.parametrize("form", ["size", "depth"])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("width", [1, 3])
def test_every_joint_number_is_cut_into_two(width: int, signed: bool, form: Any) -> None:
    sums = range(-(1 << width), (1 << width) - 1) if signed else range((2 << width) - 1)
    pairs = list(itertools.product(sums, range(2 << width)))
    shift = (1 << width) * signed
    rows = [[r for _, r in pairs], [(joint + shift - r) % (2 << width) for joint, r in pairs]]
    netlist = split_netlist(width, signed, form)
    left, right = (to_integers(out, signed) for out in evaluate(netlist, [from_integers(r, width + 1) for r in rows]))
    assert [a + b for a, b in zip(left, right, strict=True)] == [joint for joint, _ in pairs]


@pytest.mark.parametrize("engine", ["clear", "gmw", "yao"])
@pytest.mark.parametrize("signed", [False, True])
def test_shares_enter_as_two_numbers_with_the_joint_sum(engine: Any, signed: bool) -> None:
    width, own = 5, np.array([[0, 31, 17, 31], [0, 31, 9, 0]]) - 16 * signed

    def party(session: Any) -> Any:
        secure = make_engine(session, engine)
        secure.masked_numbers = True
        numbers = own[session.party].astype(np.uint64) + offsets(session.party, 7)(None, 4)
        several = both_rows(secure, [(numbers, width, signed), (numbers[::-1], width, signed)])
        sides = [*both_inputs(secure, numbers, width, signed=signed), *several]
        return [to_integers(bits, signed) for bits in secure.reveal(*sides[:2], *(s[:width] for s in sides[2:]))]

    left, right, again, other = run_local(party)[0]
    assert [a + b for a, b in zip(left, right, strict=True)] == own.sum(axis=0).tolist()
    assert (again, other) == (left, right)


def test_a_level_has_the_shares_of_all_holders_and_is_asked_once() -> None:
    random = np.random.default_rng(2)
    tables = [RowCounts((2, 3), 2, random.integers(0, 2, (n, 2)), random.integers(0, 2, n)) for n in (9, 5, 0, 7)]
    tree = Split(0, (Open(), Leaf(1)))
    asked: list[Any] = []

    def ask(party: int) -> Any:
        def answer(question: Any, size: int) -> Any:
            asked.append((party, question, size))
            numbers = [flat(table.level(*question)) for table in tables[2:]]
            shares = [mask(SEED, b"", 0, size) if party == 0 else masked(own, SEED, b"", 0) for own in numbers]
            return sum(shares, np.zeros(size, dtype=np.uint64))

        return answer

    sources = [SharedCounts(tables[party], ask(party)) for party in (0, 1)]
    levels = [source.level(tree, attributes=True) for source in sources]
    assert [source.level(tree, attributes=True) for source in sources] == levels
    assert len(asked) == 2
    whole = sum(flat(table.level(tree, attributes=True)) for table in tables)
    joint = flat(levels[0]) + flat(levels[1])
    assert (joint == whole).all()
    for level in levels:
        assert level.are_shares
        level.check(1, 2, 0)  # no bound on rows applies to shares


def test_levels_with_repeated_rows_keep_both_counts() -> None:
    single = LevelCounts(np.array([[1, 2]]), (np.array([[[3, 4], [5, 6]]]),))
    level = LevelCounts(single.classes * 10, tuple(table * 10 for table in single.values), single)
    again = unflattened(flat(level).astype(np.uint64), level)
    assert again.distinct is not None
    assert (flat(again) == flat(level)).all()
    assert again.distinct.are_shares


@pytest.mark.parametrize("form", ["size", "depth"])
@pytest.mark.parametrize(("parties", "k"), [(2, 3), (3, 3), (4, 2)])
def test_whoever_subtracts_its_own_rows_is_left_with_none_or_k(parties: int, k: int, form: Any) -> None:
    """All numbers of rows up to 2 k + 1 at each party: by the definition, and with two parties by each one alone."""
    tables = list(itertools.product(range(2 * k + 2), repeat=parties))
    own = Grouped(None, k)._numbers(np.array(tables)[..., None])  # by party, int64[tables, parties, 2]
    few, many = own.sum(axis=1).T
    width = int(few.max()).bit_length()
    offset = np.arange(len(tables)) * 7
    sides = [few - offset, many + offset, offset, -offset]
    netlist = left_netlist(width, k, form)
    (kept,) = evaluate(netlist, [from_integers(side.astype(np.uint64), width) for side in sides])
    for numbers, found in zip(tables, kept[0].tolist(), strict=True):
        left = [sum(numbers) - number for number in numbers]
        safe = all(rest == 0 or rest >= k for rest in left)
        if parties == 2:
            assert found == all(number == 0 or number >= k for number in numbers) == safe
        elif found != safe:  # refused, though safe
            assert not found
            assert max(numbers) < k <= sum(numbers) <= 2 * k - 2


def test_a_share_of_all_rows_is_compared_modulo_2_64() -> None:
    """Shares of 20 rows that wrap around as signed numbers: 7 of 20 are 35 %, 6 are not."""
    problem = Problem(columns=(0, 1), max_rows=20, support=Fraction(35, 100))
    rows, counts = (-(1 << 63), 20 - (1 << 63)), np.array([[5, -(1 << 63)], [2, 6 - (1 << 63)]])

    def party(session: Any) -> Any:
        engine = make_engine(session, "clear")
        engine.masked_numbers = True
        return frequent(engine, problem, [(0,), (1,)], counts[session.party], rows[session.party])

    assert run_local(party)[0] == [(0,)]
