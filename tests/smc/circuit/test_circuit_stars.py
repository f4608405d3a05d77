"""Stars hold every AND gate once, with an operand in common, as they are found by walking the netlist."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smc.circuit import Builder, Form, Netlist, decode, multiply, select
from smc.circuit.stars import MOST


def check(netlist: Netlist) -> None:
    """Walk the netlist, giving every value a number; a star's gates have the value of its centre in common."""
    stars = netlist.stars
    value: dict[int, Any] = {slot: ("input", slot) for slot in range(netlist.slots)}
    centre: dict[int, Any] = {}
    places = set()
    gate = 0
    for number, layer in enumerate(netlist.layers):
        for place, (out, left, right) in enumerate(layer.xors.tolist()):
            assert left in value
            assert right in value
            value[out] = (number, "xor", place)
        for star in range(stars.star_ends[number], stars.star_ends[number + 1]):
            centre[star] = value[int(stars.centres[star])]
        assert stars.gate_ends[number] == gate
        before = dict(value)
        for place, (out, left, right) in enumerate(layer.ands.tolist()):
            star, (target, other) = int(stars.star[gate]), stars.gates[gate].tolist()
            assert target == out
            assert {other} <= {left, right}
            assert centre[star] == before[left if other == right else right]
            places.add((star, int(stars.leaf[gate])))
            value[out] = (number, "and", place)
            gate += 1
    assert gate == netlist.and_count == stars.gate_ends[-1] == stars.sizes.sum()
    assert len(stars.centres) == len(stars.sizes) == stars.star_ends[-1]
    assert places == {(star, leaf) for star, size in enumerate(stars.sizes.tolist()) for leaf in range(size)}
    assert stars.sizes.max(initial=0) <= MOST


@settings(max_examples=60)
@given(st.data())
def test_of_random_circuits(programs: st.SearchStrategy[Any], data: st.DataObject) -> None:
    check(data.draw(programs).build())


@pytest.mark.parametrize("form", ["size", "depth"])
def test_of_arithmetic(form: Form) -> None:
    builder = Builder(form)
    x, y = builder.input(24), builder.input(24)
    builder.output(select(x < y, x * y, x - y))
    builder.output(decode(x[:6]))
    check(builder.build())


def stars_of(form: Form, *outputs: Any) -> tuple[int, list[int]]:
    """How many gates and stars; `outputs` make wires of a builder's inputs."""
    builder = Builder(form)
    for output in outputs:
        builder.output(output(builder))
    netlist = builder.build()
    check(netlist)
    return netlist.and_count, sorted(netlist.stars.sizes.tolist())


def test_a_choice_is_one_star() -> None:
    def choice(builder: Builder) -> Any:
        condition, x, y = builder.input(1), builder.input(40), builder.input(40)
        return select(condition[0], x, y)

    assert stars_of("size", choice) == (40, [40])
    assert stars_of("depth", choice, choice) == (80, [40, 40])


def test_a_large_star_is_cut() -> None:
    def choice(builder: Builder) -> Any:
        condition, x = builder.input(1), builder.input(2 * MOST + 3)
        return [condition[0] & wire for wire in x]

    assert stars_of("size", choice) == (2 * MOST + 3, [3, MOST, MOST])


@pytest.mark.parametrize("form", ["size", "depth"])
def test_rows_of_a_product_are_stars_whatever_the_order_of_its_wires(form: Form) -> None:
    """Of n x m products of bits at least n stars, as many as the shorter factor has bits; adders have none."""
    order = np.random.default_rng(1).permutation(20)

    def product(builder: Builder) -> Any:
        wires = builder.input(20)
        mixed = [wires[int(i)] for i in order]
        return [x & y for x in mixed[:8] for y in mixed[8:]]

    assert stars_of(form, product) == (96, [12] * 8)

    def whole(builder: Builder) -> Any:
        return multiply(builder.input(16), builder.input(16), 16)

    gates, sizes = stars_of(form, whole)
    assert len(sizes) <= gates - (16 * 17 // 2 - 16)


def test_no_gates() -> None:
    builder = Builder()
    builder.output(~builder.input(3))
    check(builder.build())
