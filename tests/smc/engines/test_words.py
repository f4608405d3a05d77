"""Secret integers against Python's, in both representations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smc.engines import Bits, Choice, Engine, Word
from smc.primitives import bits as bitpack

pytestmark = pytest.mark.slow

ENGINES = ["clear", "yao", "gmw", "mixed", "lean", "mixed three-halves"]
QUICK = settings(max_examples=8)


def onehot(engine: Engine, choices: list[int], entries: int) -> Bits:
    """Secret one-hot bits, those of odd instances from party 1; -1 for none."""
    matrix = np.zeros((entries, len(choices)), dtype=np.uint8)
    for j, choice in enumerate(choices):
        if choice >= 0:
            matrix[choice, j] = 1
    even = np.arange(0, len(choices), 2)
    odd = np.arange(1, len(choices), 2)
    parts = []
    for owner, mine in enumerate((even, odd)):
        parts.append(engine.input(owner, matrix[:, mine] if engine.party == owner else None, entries, len(mine)))
    order = np.argsort(np.concatenate([even, odd]))
    return Bits.join(parts).take(order)


def secret(engine: Engine, values: list[int], width: int) -> Word:
    """Secret words with these (public) values, by way of a selection."""
    return engine.words.select([Choice(onehot(engine, list(range(len(values))), len(values)), [values])], width)[0][0]


def opened(engine: Engine, word: Word) -> list[int]:
    return bitpack.to_integers(engine.reveal(engine.words.bits(word))[0], signed=True)


@pytest.mark.parametrize("name", ENGINES)
def test_select(play, name: str) -> None:
    tables = [[5, -3, 2**40], [0, -1, 7]]

    def program(engine: Engine) -> Any:
        chosen = onehot(engine, [2, 0, 1, -1, 2], 3)
        other = onehot(engine, [1, 1, 0, 0, -1], 2)
        groups = engine.words.select([Choice(chosen, tables), Choice(other, [[11, -12]])], 50)
        return [[opened(engine, word) for word in group] for group in groups]

    assert play(program, name).agreed == [[[2**40, 5, -3, 0, 2**40], [7, 0, -1, 0, 7]], [[-12, -12, 11, 11, 0]]]


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("width", [1, 7, 63, 64])
def test_sums_wrap_at_the_width(play, name: str, width: int) -> None:
    half = 1 << (width - 1)
    left, right = [-half, half - 1, -1, 0], [half - 1, half - 1, -half, 0]

    def program(engine: Engine) -> Any:
        a, b = secret(engine, left, width), secret(engine, right, width)
        return opened(engine, engine.words.add(a, b, width)), opened(engine, engine.words.subtract(a, b, width))

    wrap = [[(op(a, b) + half) % (2 * half) - half for a, b in zip(left, right, strict=True)] for op in
            (int.__add__, int.__sub__)]  # fmt: skip
    assert list(play(program, name).agreed) == wrap


@pytest.mark.parametrize("name", ENGINES)
@QUICK
@given(data=st.data())
def test_products(play, name: str, data: st.DataObject) -> None:
    factor_width = data.draw(st.integers(1, 12))
    word_width = data.draw(st.integers(2, 40))
    offset = data.draw(st.sampled_from([0, 1 << (factor_width - 1), 3]))
    factors = data.draw(st.lists(st.integers(0, (1 << factor_width) - 1), min_size=1, max_size=5))
    half = 1 << (word_width - 1)
    words = data.draw(st.lists(st.integers(-half, half - 1), min_size=len(factors), max_size=len(factors)))
    width = min(64, factor_width + word_width + 2)

    def program(engine: Engine) -> Any:
        matrix = bitpack.from_integers(factors, factor_width)
        factor = engine.input(1, matrix if engine.party == 1 else None, factor_width, len(factors))
        return opened(engine, engine.words.multiply(factor, offset, secret(engine, words, word_width), width))

    expected = [(factor - offset) * word for factor, word in zip(factors, words, strict=True)]
    assert play(program, name).agreed == expected


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("members", [0, 1, 2, 3, 5, 8])
def test_totals_of_uneven_groups(play, name: str, members: int) -> None:
    values = [3, -50, 7, 1000, -1, 6]
    rng = np.random.default_rng(members)
    groups = rng.integers(-1, len(values), (4, members))
    expected = [sum(values[i] for i in group if i >= 0) for group in groups]

    def program(engine: Engine) -> Any:
        return opened(engine, engine.words.total(secret(engine, values, 12), groups, 16))

    assert play(program, name).agreed == expected


@pytest.mark.parametrize("name", ENGINES)
def test_join(play, name: str) -> None:
    def program(engine: Engine) -> Any:
        return opened(engine, engine.words.join([secret(engine, [1, -2], 8), secret(engine, [3], 8)]))

    assert play(program, name).agreed == [1, -2, 3]


@pytest.mark.parametrize("value", [0, 1])
def test_additive_shares_of_a_product_are_uniform(play, value: int) -> None:
    def program(engine: Engine) -> Any:
        factor = engine.constant(np.full((1, 4000), value, dtype=np.uint8))
        word = engine.words.select([Choice(engine.constant(np.ones((1, 4000), np.uint8)), [[77]])], 8)[0][0]
        return engine.words.multiply(factor, 0, word, 20).data, word.data

    (left, y0), (right, y1) = play(program, "mixed", seed=bytes([value]) * 16).results
    assert np.array_equal(left + right, np.full(4000, 77 * value, dtype=np.uint64))
    # Not only the share, but what is new in it beside the party's own share of the word, must be even.
    for share in (left, right, left - y0, right - y1):
        assert abs((share >> np.uint64(63)).mean() - 0.5) < 0.04  # 5 standard deviations, 4 10^-7; the seed is fixed


def test_additive_shares_of_a_bit_are_uniform(play) -> None:
    # Each party's share of the same bit, many times: top bits must be even, whatever the bit is.
    def program(engine: Engine) -> Any:
        bits = engine.constant(np.ones((1, 4000), dtype=np.uint8))
        return engine.words.select([Choice(bits, [[1]])], 8)[0][0].data

    left, right = play(program, "mixed", seed=b"shares of a bit.").results
    assert np.array_equal(left + right, np.ones(4000, dtype=np.uint64))
    for share in (left, right):
        assert abs((share >> np.uint64(63)).mean() - 0.5) < 0.04  # 5 standard deviations, 4 10^-7; the seed is fixed
