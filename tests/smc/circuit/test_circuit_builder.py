from __future__ import annotations

import numpy as np
import pytest

from smc.circuit import Builder, all_of, any_of, evaluate, mux, parity
from smc.primitives.bits import from_integers


def truth_table(program, count):
    """The outputs of a program of `count` wires over all 2^count inputs, and its netlist."""
    builder = Builder()
    x = builder.input(count)
    builder.output(program(*x))
    netlist = builder.build()
    return evaluate(netlist, [from_integers(range(1 << count), count)])[0][0].tolist(), netlist


@pytest.mark.parametrize(
    ("program", "expected", "ands"),
    [
        (lambda a, b: a & b, [0, 0, 0, 1], 1),
        (lambda a, b: a | b, [0, 1, 1, 1], 1),
        (lambda a, b: a ^ b, [0, 1, 1, 0], 0),
        (lambda a, b: a == b, [1, 0, 0, 1], 0),
        (lambda a, b: a != b, [0, 1, 1, 0], 0),
        (lambda a, b: ~(a & ~b), [1, 0, 1, 1], 1),
    ],
)
def test_operators(program, expected, ands):
    values, netlist = truth_table(program, 2)
    assert values == expected
    assert netlist.and_count == ands


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (lambda a: a & 0, 0),
        (lambda a: a & False, 0),
        (lambda a: a & 1, "a"),
        (lambda a: 1 & a, "a"),
        (lambda a: a ^ 0, "a"),
        (lambda a: True ^ (a ^ 1), "a"),
        (lambda a: a ^ a, 0),
        (lambda a: a & a, "a"),
        (lambda a: ~~a, "a"),
        (lambda a: a & ~a, 0),
        (lambda a: ~a & a, 0),
        (lambda a: a ^ ~a, 1),
        (lambda a: ~a ^ a, 1),
        (lambda a: a | 0, "a"),
        (lambda a: 1 | a, 1),
        (lambda a: a | a, "a"),
        (lambda a: a | ~a, 1),
        (lambda a: a == a, 1),
        (lambda a: a != 0, "a"),
        (lambda a: mux(a, a, a), "a"),
    ],
)
def test_constants_and_repetitions_are_folded(program, expected):
    values, netlist = truth_table(program, 1)
    assert netlist.gate_count == 0
    assert values == ([0, 1] if expected == "a" else [expected] * 2)


def test_equal_gates_are_shared():
    _, netlist = truth_table(lambda a, b, c: ((a & b) ^ c) & ((b & a) ^ c) & (c ^ (a & b)), 3)
    assert (netlist.and_count, netlist.xor_count) == (1, 1)


def test_dead_gates_are_dropped():
    builder = Builder()
    x = builder.input(8)
    _ = x * x
    builder.output(x[0] & x[1])
    assert builder.build().gate_count == 1


def test_mux_costs_one_and():
    values, netlist = truth_table(mux, 3)  # condition is the lowest bit
    assert values == [(i >> 1 if i & 1 else i >> 2) & 1 for i in range(8)]
    assert netlist.and_count == 1


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8])
def test_trees(count):
    inputs = range(1 << count)
    for program, reference, ands in (
        (all_of, lambda i: i == (1 << count) - 1, count - 1),
        (any_of, lambda i: i != 0, count - 1),
        (parity, lambda i: i.bit_count() & 1, 0),
    ):
        values, netlist = truth_table(lambda *wires, tree=program: tree(wires), count)
        assert values == [int(reference(i)) for i in inputs]
        assert netlist.and_count == ands
        assert netlist.depth == ((count - 1).bit_length() if ands else 0)


def test_wires_have_no_truth_value():
    x = Builder().input(2)
    with pytest.raises(TypeError, match="no value"):
        _ = 1 if x[0] else 0
    with pytest.raises(TypeError, match="no value"):
        _ = x == 1 and x[0]
    with pytest.raises(TypeError, match="no value"):
        bool(x)


@pytest.mark.parametrize("other", [2, -1, "1", None, 1.0])
def test_wires_combine_with_bits_only(other):
    wire = Builder().input(1)[0]
    with pytest.raises(TypeError, match="only with"):
        _ = wire & other


def test_two_builders_do_not_mix():
    a, b = Builder(), Builder()
    x, y = a.input(1), b.input(1)
    with pytest.raises(ValueError, match="builders"):
        _ = x[0] ^ y[0]
    with pytest.raises(ValueError, match="another builder"):
        a.output(y)


def test_no_inputs_no_outputs():
    assert evaluate(Builder().build(), []) == []
    builder = Builder()
    builder.output(builder.constant(6, 4))
    assert evaluate(builder.build(), [])[0].tolist() == [[0], [1], [1], [0]]


def test_empty_arguments_and_batches():
    builder = Builder()
    none, x = builder.input(0), builder.input(3)
    builder.output(none)
    builder.output(x + 1)
    builder.output([])
    netlist = builder.build()
    assert netlist.input_widths == (0, 3)
    assert netlist.output_widths == (0, 3, 0)
    for batch in (0, 1, 5):
        outputs = evaluate(netlist, [np.zeros((0, batch), np.uint8), np.zeros((3, batch), np.uint8)])
        assert [bits.shape for bits in outputs] == [(0, batch), (3, batch), (0, batch)]


def test_evaluate_refuses_wrong_widths():
    builder = Builder()
    builder.output(builder.input(4))
    with pytest.raises(ValueError, match=r"\(4,\) bits, got \(3,\)"):
        evaluate(builder.build(), [np.zeros((3, 1), np.uint8)])


def test_building_twice_is_the_same():
    builder = Builder()
    x = builder.input(16)
    builder.output(x * x)
    first = builder.build()
    assert builder.build().digest() == first.digest()
    builder.output(x)
    assert builder.build().digest() != first.digest()
