"""Secret integers left as sums, in the form "depth": the same values, fewer levels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smc.circuit import Netlist
from smc.engines import Bits, Choice, Engine, Word
from smc.primitives import bits as bitpack

pytestmark = pytest.mark.slow

ENGINES = ["clear", "yao", "gmw", "mixed"]
QUICK = settings(max_examples=8)


def secret(engine: Engine, values: list[int], width: int) -> Word:
    """Secret words with these (public) values, by way of a selection."""
    onehot = engine.constant(np.eye(len(values), dtype=np.uint8))
    return engine.words.select([Choice(onehot, [values])], width)[0][0]


def opened(engine: Engine, word: Word) -> list[int]:
    return bitpack.to_integers(engine.reveal(engine.words.bits(word))[0], signed=True)


def signed(value: int, width: int) -> int:
    half = 1 << (width - 1)
    return (value + half) % (2 * half) - half


def in_form(form: str, program: Callable[[Engine], Any]) -> Callable[[Engine], Any]:
    def run(engine: Engine) -> Any:
        engine.form = form  # type: ignore[assignment]
        return program(engine)

    return run


def chain(engine: Engine, values: list[list[int]], factors: list[int], groups: np.ndarray) -> list[list[int]]:
    """Sums of sums, wider and narrower, and a product and a total of them; every way from one to another."""
    words = engine.words
    a, b, c = (secret(engine, column, 10) for column in values)
    matrix = bitpack.from_integers(factors, 5)
    factor = engine.input(1, matrix if engine.party == 1 else None, 5, len(factors))
    low = words.add(words.add(a, b, 10), c, 10)  # modulo 2^10
    wide = words.add(low, a, 14)
    less = words.subtract(wide, words.add(b, low, 14), 13)
    times = words.multiply(factor, 16, words.add(less, c, 13), 20)
    total = words.total(words.add(times, a, 20), groups, 22)
    joined = words.join([wide, words.add(wide, wide, 14)])
    return [opened(engine, word) for word in (low, wide, less, times, total, joined)]


def reference(values: list[list[int]], factors: list[int], groups: np.ndarray) -> list[list[int]]:
    rows = list(zip(*values, factors, strict=True))
    low = [signed(a + b + c, 10) for a, b, c, _ in rows]
    wide = [signed(x + a, 14) for x, (a, _, _, _) in zip(low, rows, strict=True)]
    less = [signed(x - b - y, 13) for x, y, (_, b, _, _) in zip(wide, low, rows, strict=True)]
    times = [signed((f - 16) * signed(x + c, 13), 20) for x, (_, _, c, f) in zip(less, rows, strict=True)]
    summed = [signed(x + a, 20) for x, (a, _, _, _) in zip(times, rows, strict=True)]
    total = [signed(sum(summed[i] for i in group if i >= 0), 22) for group in groups]
    return [low, wide, less, times, total, wide + [signed(2 * x, 14) for x in wide]]


@pytest.mark.parametrize("form", ["size", "depth"])
@pytest.mark.parametrize("name", ["clear", "yao", "gmw"])
@QUICK
@given(data=st.data())
def test_any_chain_of_sums(play, name: str, form: str, data: st.DataObject) -> None:
    batch = data.draw(st.integers(1, 4))
    value = st.sampled_from([-512, 511, 0, -1]) | st.integers(-512, 511)
    values = data.draw(st.lists(st.lists(value, min_size=batch, max_size=batch), min_size=3, max_size=3))
    factors = data.draw(st.lists(st.integers(0, 31), min_size=batch, max_size=batch))
    members = data.draw(st.integers(0, 6))
    groups = np.random.default_rng(members).integers(-1, batch, (3, members))
    found = play(in_form(form, lambda e: chain(e, values, factors, groups)), name).agreed
    assert found == reference(values, factors, groups)


@pytest.mark.parametrize("name", ENGINES)
def test_sums_wrap_at_the_width(play, name: str) -> None:
    for width in (1, 7, 64):
        half = 1 << (width - 1)
        left, right = [-half, half - 1, -1, 0], [half - 1, half - 1, -half, 0]

        def program(engine: Engine, width: int = width, left: Any = left, right: Any = right) -> Any:
            a, b = secret(engine, left, width), secret(engine, right, width)
            return opened(engine, engine.words.add(a, b, width)), opened(engine, engine.words.subtract(a, b, width))

        expected = [[signed(op(a, b), width) for a, b in zip(left, right, strict=True)]
                    for op in (int.__add__, int.__sub__)]  # fmt: skip
        assert list(play(in_form("depth", program), name).agreed) == expected


def test_a_sum_costs_no_level_until_its_bits_are_needed(play) -> None:
    def levels(form: str, sums: int) -> tuple[int, int]:
        """AND levels of all that is run for the sums, and then for the bits."""

        def program(engine: Engine) -> tuple[int, int]:
            depths: list[int] = []
            run = engine.run

            def watched(netlist: Netlist, *inputs: Bits) -> list[Bits]:
                depths.append(netlist.depth)
                return run(netlist, *inputs)

            engine.run = watched  # type: ignore[method-assign]
            word = secret(engine, [5, -7], 32)
            for _ in range(sums):
                word = engine.words.add(word, word, 32)
            before = sum(depths)
            assert opened(engine, word) == [5 << sums, -7 << sums]
            return before, sum(depths) - before

        return play(in_form(form, program), "clear").agreed

    assert [levels("size", sums) for sums in range(4)] == [(31 * sums, 0) for sums in range(4)]
    # Four addends are two after two levels of full adders, eight after three; then comes one adder of five levels.
    assert [levels("depth", sums) for sums in range(4)] == [(0, 0), (0, 5), (0, 7), (0, 8)]
