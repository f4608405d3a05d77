from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from smc.circuit import Builder, Form, Integer, Netlist, Wire, evaluate
from smc.primitives.bits import from_integers, to_integers
from tests.support.places import SHARED
from tests.support.slow import pytest_ignore_collect, pytest_itemcollected

__all__ = ["pytest_ignore_collect", "pytest_itemcollected"]

Argument = tuple[int, bool, Sequence[int]]  # width, signed, one value for each instance


@dataclass
class Program:
    """A random circuit: values are 0, 1, the input bits, then one a step; numbers are taken modulo those so far."""

    widths: list[int]
    steps: list[tuple[str, int, int]]
    chosen: list[list[int]]  # one list of value numbers an output argument

    def build(self) -> Netlist:
        """Through the builder."""
        builder = Builder()
        zero = builder.constant(0, 1)[0]
        values = [zero, ~zero]
        for width in self.widths:
            values += builder.input(width).wires
        for op, i, j in self.steps:
            a, b = values[i % len(values)], values[j % len(values)]
            values.append({"&": a & b, "|": a | b, "^": a ^ b, "~": ~a}[op])
        for numbers in self.chosen:
            builder.output([values[i % len(values)] for i in numbers])
        return builder.build()

    def run(self, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """Directly, step by step, on uint8[width, batch] a input."""
        batch = inputs[0].shape[1]
        values = [np.zeros(batch, np.uint8), np.ones(batch, np.uint8), *np.concatenate(inputs)]
        for op, i, j in self.steps:
            a, b = values[i % len(values)], values[j % len(values)]
            values.append({"&": a & b, "|": a | b, "^": a ^ b, "~": 1 - a}[op])
        return [np.array([values[i % len(values)] for i in numbers]).reshape(-1, batch) for numbers in self.chosen]

    def depth(self) -> int:
        """The AND depth of the steps as written."""
        depths = [0] * (2 + sum(self.widths))
        for op, i, j in self.steps:
            a, b = depths[i % len(depths)], depths[j % len(depths)]
            depths.append(a if op == "~" else max(a, b) + (op in "&|"))
        return max((depths[i % len(depths)] for numbers in self.chosen for i in numbers), default=0)

    def inputs(self) -> list[np.ndarray]:
        """The same random instances every time."""
        random = np.random.default_rng(1)
        return [random.integers(0, 2, (width, 40), dtype=np.uint8) for width in self.widths]


@pytest.fixture(scope="session")
def programs() -> st.SearchStrategy[Program]:
    """Random circuits, for `data.draw`."""
    number = st.integers(0, 200)
    step = st.tuples(st.sampled_from("&&|^^~"), number, number)
    return st.builds(
        Program,
        st.lists(st.integers(0, 5), min_size=1, max_size=3),
        st.lists(step, max_size=80),
        st.lists(st.lists(number, max_size=6), max_size=3),
    )


@dataclass
class Computed:
    """A netlist and what it made of some integers: one list of values, width and sign an output."""

    netlist: Netlist
    values: list[list[int]]
    widths: list[int]
    signed: list[bool]


def _compute(program: Callable[..., object], *arguments: Argument, form: Form = "size") -> Computed:
    builder = Builder(form)
    inputs = [builder.input(width, signed) for width, signed, _ in arguments]
    made = program(*inputs)
    outputs = list(made) if isinstance(made, tuple | list) else [made]
    for output in outputs:
        assert isinstance(output, Integer | Wire)
        builder.output(output)
    netlist = builder.build()
    rows = [from_integers(list(values), width) for width, _, values in arguments]
    results = evaluate(netlist, rows)
    signed = [isinstance(output, Integer) and output.signed for output in outputs]
    values = [to_integers(bits, sign) for bits, sign in zip(results, signed, strict=True)]
    return Computed(netlist, values, [len(bits) for bits in results], signed)


@pytest.fixture(scope="session")
def compute() -> Callable[..., Computed]:
    """Build a circuit from Integers, run it on a batch of Python ints."""
    return _compute


@pytest.fixture(scope="session")
def wrap() -> Callable[[int, int, bool], int]:
    """An int modulo 2^width, read as unsigned or in two's complement."""

    def wrapped(value: int, width: int, signed: bool) -> int:
        value &= (1 << width) - 1
        return value - (1 << width) if signed and width and value >> (width - 1) else value

    return wrapped


@pytest.fixture(scope="session")
def bristol_files() -> Path:
    """The published Bristol circuits, kept beside the repository."""
    folder = SHARED / "circuits"
    if not folder.is_dir():
        pytest.skip(f"the published circuits are not at {folder}")
    return folder


@pytest.fixture(scope="session")
def in_batches() -> Callable[[Netlist, Sequence[np.ndarray], int], list[np.ndarray]]:
    """Run a netlist with the ANDs of a layer in order, in batches of a given size."""

    def run(netlist: Netlist, inputs: Sequence[np.ndarray], size: int) -> list[np.ndarray]:
        state = np.full((netlist.slots, *inputs[0].shape[1:]), 2, dtype=np.uint8)  # 2: read before written
        state[0], state[1] = 0, 1
        state[2 : 2 + sum(netlist.input_widths)] = np.concatenate(inputs)
        for layer in netlist.layers:
            for out, left, right in layer.xors:
                state[out] = state[left] ^ state[right]
            for start in range(0, len(layer.ands), size):
                out, left, right = layer.ands[start : start + size].T
                state[out] = state[left] & state[right]
        assert state[netlist.outputs].max(initial=0) <= 1
        return np.split(state[netlist.outputs], np.cumsum(netlist.output_widths))[:-1]

    return run
