"""Millionaires, equality, majority and circuits against Python's own answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.circuit import evaluate
from protocols.equality import equal
from protocols.inputs import checked
from protocols.logarithm import open_logarithm
from protocols.majority import majority
from protocols.millionaires import comparison, strict, three_way
from smc.agreement import DIGEST_BYTES
from smc.circuit import Builder
from smc.engines import Engine
from smc.errors import InputError
from smc.primitives import bits as bitpack

ENGINES = ["clear", "yao", "gmw", "yao three-halves"]
SIZES = [0, 1, 127, 128, 129, 1000]
QUICK = settings(max_examples=10)


def truth(x: int, y: int) -> str:
    return "party0" if x > y else "party1" if y > x else "equal"


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("batch", SIZES)
def test_comparisons_on_every_batch_size(play, name: str, batch: int) -> None:
    rng = np.random.default_rng(batch)
    values = rng.integers(0, 3, (2, batch), dtype=np.uint64) * np.uint64(0x55555555)
    run = play(lambda e: [program(e, values[e.party]) for program in (three_way, strict, equal)], name)
    for names, greater, same in run.results:
        assert names == [truth(*pair) for pair in values.T.tolist()]
        assert np.array_equal(greater, values[0] > values[1])
        assert np.array_equal(same, values[0] == values[1])


@pytest.mark.parametrize("name", ["yao", "gmw"])
@QUICK
@given(width=st.integers(1, 64), data=st.data())
def test_any_width(play, name: str, width: int, data: st.DataObject) -> None:
    top = (1 << width) - 1
    number = st.sampled_from([0, 1, top, top - 1 if top > 1 else 0, top // 2]) | st.integers(0, top)
    pairs = data.draw(st.lists(st.tuples(number, number), min_size=1, max_size=4))
    sides = [[pair[i] for pair in pairs] for i in (0, 1)]
    run = play(lambda e: (three_way(e, sides[e.party], width), equal(e, sides[e.party], width).tolist()), name)
    assert run.agreed == ([truth(*pair) for pair in pairs], [x == y for x, y in pairs])


@pytest.mark.parametrize("name", ["yao", "gmw"])
def test_millionaires_over_trapdoor_ot(play, name: str) -> None:
    sides = [[9, 200, 7], [9, 100, 8]]
    run = play(lambda e: three_way(e, sides[e.party], 8), name, "trapdoor")
    assert run.agreed == ["equal", "party0", "party1"]
    steps = {step for recorder in run.recorders for step, _ in recorder.sent}
    assert any("trapdoor" in step for step in steps)
    assert not any("matrix" in step or "base" in step for step in steps)


@pytest.mark.parametrize("ot", ["iknp", "softspoken2", "softspoken4", "softspoken8", "ferret"])
@pytest.mark.parametrize("name", ["yao", "gmw", "gmw table", "lean", "mixed three-halves"])
def test_every_engine_over_every_ot_extension(play, name: str, ot: str) -> None:
    rng = np.random.default_rng(5)
    values = rng.integers(0, 4, (2, 131), dtype=np.uint64)
    counts = values.sum(axis=0)

    def program(engine: Engine) -> Any:
        own = values[engine.party]
        return three_way(engine, own), open_logarithm(engine, own, 6, 0.01, times_x=True)

    for names, found in play(program, name, ot).results:
        assert names == [truth(*p) for p in values.T.tolist()]
        assert np.abs(found - counts * np.log(np.maximum(counts, 1))).max() <= 6 * 0.01 / 4


def test_only_the_answer_is_opened(play) -> None:
    sides = [[5] * 40, [6] * 40]
    for program, bits in ((three_way, 80), (strict, 40), (equal, 40)):
        run = play(lambda e, program=program: program(e, sides[e.party], 16), "yao")
        assert [len(data) for step, data in run.recorders[0].sent if step == "reveal"] == [DIGEST_BYTES + bits // 8]


def test_costs_of_a_comparison() -> None:
    assert comparison(32, three_way=False).and_count == 32
    assert comparison(32, three_way=True).and_count == 64


@pytest.mark.parametrize("program", [three_way, strict, equal])
def test_numbers_have_32_bits_unless_something_else_is_said(play, program) -> None:
    play(lambda e: program(e, [(1 << 32) - 1]), "clear")
    with pytest.raises(InputError, match="does not fit 32 bits"):
        play(lambda e: program(e, [1 << 32]), "clear")


@pytest.mark.parametrize(("value", "width"), [(-1, 8), (256, 8), (2, 1), (1 << 64, 64), (0, 0), (0, 65)])
def test_a_value_that_does_not_fit_is_refused_before_anything_is_sent(play, value: int, width: int) -> None:
    with pytest.raises(InputError, match=r"bits|2\^"):
        play(lambda e: three_way(e, [value], width), "yao")


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(("classes", "batch"), [(1, 3), (2, 1), (3, 129), (5, 40), (8, 0)])
def test_majority(play, name: str, classes: int, batch: int) -> None:
    counts = np.random.default_rng(classes).integers(0, 4, (2, classes, batch))
    expected = counts.sum(axis=0).argmax(axis=0)  # numpy too takes the first among equals
    assert play(lambda e: majority(e, counts[e.party], 6), name).agreed.tolist() == expected.tolist()


def test_majority_opens_the_index_only(play) -> None:
    counts = np.arange(5 * 8).reshape(5, 8)
    run = play(lambda e: majority(e, counts, 8), "yao")
    assert [len(data) for step, data in run.recorders[0].sent if step == "reveal"] == [DIGEST_BYTES + 3]
    with pytest.raises(InputError):
        play(lambda e: majority(e, np.zeros((0, 1)), 8), "clear")


def test_a_circuit_with_one_input_and_two_outputs(play) -> None:
    builder = Builder()
    x = builder.input(8)
    builder.output(x + 1)
    builder.output(x == 255)
    netlist = builder.build()

    def program(engine: Any) -> list[list[int]]:
        own = bitpack.from_integers([255], 8) if engine.party == 0 else None
        return [bitpack.to_integers(output) for output in evaluate(engine, netlist, own)]

    assert play(program, "yao").agreed == [[0], [1]]


def test_circuits_that_do_not_suit_are_refused(play) -> None:
    builder = Builder()
    builder.output(builder.input(2) + builder.input(2) + builder.input(2))
    three = builder.build()
    with pytest.raises(InputError, match="3 inputs"):
        play(lambda e: evaluate(e, three, None), "clear")
    builder = Builder()
    builder.output(builder.input(2))
    with pytest.raises(InputError, match="has 2 bits, got 3 bits"):
        play(lambda e: evaluate(e, builder.build(), np.zeros((3, 1), np.uint8)), "clear")


@pytest.mark.parametrize("width", [1, 8, 63, 64])
@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.uint8, object])
def test_inputs_of_every_type_are_checked(width: int, dtype: type) -> None:
    top = min((1 << width) - 1, np.iinfo(dtype).max if dtype is not object else 1 << 64)
    values = np.array([0, top, 1], dtype=dtype)
    assert checked(values, width, "x").tolist() == checked(values.tolist(), width, "x").tolist() == [0, top, 1]
    assert checked(values[:0], width, "x").shape == (0,)
    bad = [
        value for value in (-1, 1 << width) if dtype is object or np.iinfo(dtype).min <= value <= np.iinfo(dtype).max
    ]
    for no_width in (0, 65):
        with pytest.raises(InputError, match="not between 1 and 64"):
            checked(values, no_width, "x")
    for value in bad:
        with pytest.raises(InputError, match=rf"x number 2 does not fit {width} bits"):
            checked(np.array([0, value], dtype=dtype), width, "x")


@pytest.mark.parametrize("name", ["yao", "gmw"])
def test_large_batches_are_cut_without_a_trace_in_the_result(play, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    values = np.random.default_rng(3).integers(0, 8, (2, 50), dtype=np.uint64)
    sizes: list[int] = []

    def program(engine: Engine) -> list[str]:
        whole = engine.run
        monkeypatch.setattr(engine, "comfortable", 20)
        monkeypatch.setattr(engine, "run", lambda netlist, *of: sizes.append(of[0].batch) or whole(netlist, *of))
        return three_way(engine, values[engine.party], 3)

    run = play(program, name)
    assert run.agreed == [truth(*pair) for pair in values.T.tolist()]
    assert sum(step == "reveal" for step, _ in run.recorders[0].sent) == 1
    assert max(sizes) == 20 // 3
