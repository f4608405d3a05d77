from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smc.circuit import Builder, Netlist, all_of, evaluate, multiply


def check_form(netlist: Netlist) -> None:
    """What every executor relies on."""
    assert len(netlist.layers) in (netlist.depth, netlist.depth + 1)
    assert all(len(layer.ands) for layer in netlist.layers[: netlist.depth])
    assert all(len(layer.xors) for layer in netlist.layers[netlist.depth :])
    assert netlist.outputs.dtype == np.int32
    assert len(netlist.outputs) == sum(netlist.output_widths)
    for layer in netlist.layers:
        for gates in (layer.xors, layer.ands):
            assert gates.dtype == np.int32
            assert gates.flags.c_contiguous
            assert gates.shape[1:] == (3,)
            assert ((gates >= 0) & (gates < netlist.slots)).all()
            assert (gates[:, 0] > 1).all()  # constants are never overwritten
        outs = layer.ands[:, 0]
        assert len(set(outs.tolist())) == len(outs)
        for row, out in enumerate(outs):
            assert out not in layer.ands[row + 1 :, 1:]


def check_lateness(netlist: Netlist) -> None:
    """Every gate stands in the last layer that still serves its first consumer."""
    owner: dict[int, int] = {}  # slot to the gate whose value it holds
    placed: list[tuple[str, int]] = []
    wanted: list[int] = []  # for each gate the first layer that reads it
    for number, layer in enumerate(netlist.layers):
        for kind, gates in (("xor", layer.xors), ("and", layer.ands)):
            for out, *operands in gates.tolist():
                for slot in operands:
                    if slot in owner:
                        wanted[owner[slot]] = min(wanted[owner[slot]], number)
                owner[out] = len(placed)
                placed.append((kind, number))
                wanted.append(netlist.depth)
    for (kind, number), first in zip(placed, wanted, strict=True):
        assert number == first - (kind == "and")


@settings(max_examples=150)
@given(data=st.data())
def test_random_circuits(data, programs, in_batches):
    program = data.draw(programs)
    netlist = program.build()
    check_form(netlist)
    check_lateness(netlist)
    assert netlist.depth <= program.depth()
    inputs = program.inputs()
    expected = program.run(inputs)
    results = [evaluate(netlist, inputs), *(in_batches(netlist, inputs, size) for size in (1, 2, 3, 1000))]
    for result in results:
        assert len(result) == len(expected)
        for got, want in zip(result, expected, strict=True):
            np.testing.assert_array_equal(got, want)


def test_outputs_may_repeat_and_be_inputs_or_constants():
    builder = Builder()
    x, y = builder.input(1), builder.input(2)
    both = x[0] & y[1]
    builder.output([both, y[0], both])
    builder.output(builder.constant(2, 2))
    builder.output([both, x[0], ~both])
    netlist = builder.build()
    check_form(netlist)
    first, second, third = evaluate(netlist, [np.array([[1, 1]], np.uint8), np.array([[0, 1], [1, 0]], np.uint8)])
    assert first.tolist() == [[1, 0], [0, 1], [1, 0]]
    assert second.tolist() == [[0, 0], [1, 1]]
    assert third.tolist() == [[1, 0], [1, 1], [0, 1]]


def test_multiplier_needs_few_slots(in_batches):
    builder = Builder()
    x, y = builder.input(32), builder.input(32)
    builder.output(multiply(x, y, 32))
    netlist = builder.build()
    check_form(netlist)
    check_lateness(netlist)
    assert netlist.and_count == 993
    assert netlist.gate_count > 2500
    assert netlist.slots <= 220
    random = np.random.default_rng(2)
    inputs = [random.integers(0, 2, (32, 50), dtype=np.uint8) for _ in range(2)]
    for size in (1, 7):
        np.testing.assert_array_equal(in_batches(netlist, inputs, size)[0], evaluate(netlist, inputs)[0])


def test_input_slots_are_reused():
    builder = Builder()
    x = builder.input(100)
    builder.output(all_of(x[:64].wires))  # the other 36 are never used
    netlist = builder.build()
    assert netlist.slots == 2 + 100
    assert (netlist.and_count, netlist.depth, len(netlist.layers)) == (63, 6, 6)


@pytest.mark.parametrize("width", [1, 2, 31, 64])
def test_depth_of_an_adder(width):
    builder = Builder()
    builder.output(builder.input(width) + builder.input(width))
    netlist = builder.build()
    assert netlist.depth == width - 1
    assert len(netlist.layers) == width  # the last sum bit is XORed after the last carry


def test_instances_may_have_more_dimensions():
    builder = Builder()
    builder.output(builder.input(3) * builder.input(3))
    netlist = builder.build()
    inputs = [np.random.default_rng(3).integers(0, 2, (3, 4, 5), dtype=np.uint8) for _ in range(2)]
    flat = evaluate(netlist, [bits.reshape(3, 20) for bits in inputs])[0]
    np.testing.assert_array_equal(evaluate(netlist, inputs)[0].reshape(6, 20), flat)


def test_digest_is_stable_and_tells_netlists_apart():
    def build(operation, split=(4, 4)):
        builder = Builder()
        wires = [wire for width in split for wire in builder.input(width)]
        builder.output(operation(builder.integer(wires[:4]), builder.integer(wires[4:])))
        return builder.build().digest()

    digests = {
        build(lambda a, b: a + b),
        build(lambda a, b: a - b),
        build(lambda a, b: b + a),
        build(lambda a, b: (a + b)[:3]),
        build(lambda a, b: a + b, split=(3, 5)),
    }
    assert len(digests) == 5
    assert build(lambda a, b: a + b) in digests
    assert all(len(digest) == 64 for digest in digests)
