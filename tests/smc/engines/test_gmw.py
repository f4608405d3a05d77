"""The packed GMW engine: right on random circuits and batches, and exactly as dear as its formulas say."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smc import kernels
from smc.circuit import Builder, Netlist, evaluate
from smc.engines import Engine, GmwEngine, gmw, make_engine
from smc.gmw.gates import TripleGates
from smc.gmw.triples import TripleSource
from smc.local import run_local
from smc.session import Session

pytestmark = pytest.mark.slow

BATCHES = [0, 1, 63, 64, 65, 1000]


class Dealer:
    """Random OTs from a trusted dealer in place of `Transfers`: both parties draw from the same stream."""

    def __init__(self, session: Session) -> None:
        self._party = session.party
        self._rng = np.random.default_rng(0)
        self.words = 0

    def random_bits(self, words: int) -> tuple[np.ndarray, ...]:
        self.words += words
        drawn = self._rng.integers(0, 1 << 64, (2, 3, words), dtype=np.uint64)
        zero, one, choice = drawn[self._party]
        peer_zero, peer_one, _ = drawn[1 - self._party]
        return zero, one, choice, (peer_one & choice) | (peer_zero & ~choice)


@st.composite
def netlists(draw: st.DrawFn) -> Netlist:
    """Random gates over random earlier wires; outputs anywhere, inputs and constants among them."""
    builder = Builder()
    wires = [*builder.input(draw(st.integers(0, 4))), *builder.input(draw(st.integers(1, 4)))]
    wires += [*builder.constant(2, 2)]
    for _ in range(draw(st.integers(0, 40))):
        left, right = (wires[draw(st.integers(0, len(wires) - 1))] for _ in range(2))
        wires.append(draw(st.sampled_from([left & right, left ^ right, ~left])))
    places = draw(st.lists(st.integers(0, len(wires) - 1), max_size=12))
    builder.output([wires[place] for place in places])
    builder.output(wires[-6:])
    return builder.build()


def product(width: int) -> Netlist:
    builder = Builder()
    builder.output(builder.input(width) * builder.input(width))
    return builder.build()


def values_of(netlist: Netlist, batch: int) -> list[np.ndarray]:
    rng = np.random.default_rng(batch)
    return [rng.integers(0, 2, (width, batch)).astype(np.uint8) for width in netlist.input_widths]


def opened(netlist: Netlist, values: list[np.ndarray]) -> tuple[list[np.ndarray], list[tuple[str, int]], int]:
    """The outputs of the two inputs, one from each party; the sizes of what party 1 received; words of triples."""

    def program(session: Session) -> Any:
        dealer = Dealer(session)
        received = []
        receive = session.channel.receive
        session.channel.receive = lambda step, size: received.append((step, size)) or receive(step, size)  # type: ignore
        engine = GmwEngine(session, TripleGates(session, dealer))  # type: ignore[arg-type]
        inputs = [engine.input(i, bits if i == engine.party else None, *bits.shape) for i, bits in enumerate(values)]
        return engine.reveal(*engine.run(netlist, *inputs)), received, dealer.words

    left, right = run_local(program)
    assert all(np.array_equal(a, b) for a, b in zip(left[0], right[0], strict=True))
    assert left[1:] == right[1:]
    return right


@pytest.mark.parametrize("batch", BATCHES)
@settings(max_examples=25)
@given(netlist=netlists())
def test_random_circuits_on_every_layout(batch: int, netlist: Netlist) -> None:
    values = values_of(netlist, batch)
    for found, expected in zip(opened(netlist, values)[0], evaluate(netlist, values), strict=True):
        assert found.shape == expected.shape
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("batch", [*BATCHES, 2, 7, 8, 9])
def test_messages_and_triples_are_of_the_size_foretold(batch: int) -> None:
    netlist = product(9)
    width = batch if batch < 64 else 8 * -(-batch // 8)  # bits of one gate
    gates = [len(layer.ands) for layer in netlist.layers if len(layer.ands)] if batch else []
    _, received, words = opened(netlist, values_of(netlist, batch))
    assert [size for step, size in received if step == "gmw.open"] == [-(-2 * count * width // 8) for count in gates]
    assert words == -(-sum(-(-count * width // 8) for count in gates) // 8)


@pytest.mark.parametrize(
    ("live_bytes", "live_triples", "size"), [(1 << 26, 1, 64), (1, 1 << 26, 64), (1 << 26, 150 * 66, 128)]
)
def test_large_batches_are_cut(monkeypatch: pytest.MonkeyPatch, live_bytes: int, live_triples: int, size: int) -> None:
    monkeypatch.setattr(gmw, "LIVE_BYTES", live_bytes)
    monkeypatch.setattr(gmw, "LIVE_TRIPLES", live_triples)
    reserved: list[int] = []
    reserve = TripleSource.reserve
    monkeypatch.setattr(TripleSource, "reserve", lambda self, size: (reserved.append(size), reserve(self, size))[1])
    netlist, batch = product(6), 333
    assert netlist.and_count == 66
    values = values_of(netlist, batch)
    for found, expected in zip(opened(netlist, values)[0], evaluate(netlist, values), strict=True):
        assert np.array_equal(found, expected)
    assert len(reserved) == 2 * -(-batch // size)
    assert max(reserved) == 66 * size // 8


def test_no_triple_serves_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[tuple[int, int, int]] = []  # bytes of which store, as they open gates
    stores: list[np.ndarray] = []  # kept, so that a store's address is its own
    step = kernels.gmw_step

    def recording(*arguments: Any) -> None:
        closing, opening, width, triples, first = (arguments[i] for i in (1, 3, 4, 6, 7))
        start = first + -(-len(closing) * width // 8)
        if len(opening):
            stores.append(triples)
            used.append((triples.ctypes.data, start, start + -(-len(opening) * width // 8)))
        if len(closing):  # with the triples that opened these gates
            assert (triples.ctypes.data, first, start) in used
        step(*arguments)

    monkeypatch.setattr(kernels, "gmw_step", recording)
    circuits, batches = [product(4), product(5)], [3, 200, 1]

    def program(session: Session) -> None:
        engine = GmwEngine(session, TripleGates(session, Dealer(session)))  # type: ignore[arg-type]
        for netlist in circuits:
            for batch in batches:
                engine.run(netlist, *(engine.constant(bits) for bits in values_of(netlist, batch)))

    run_local(program)
    assert len(used) == 2 * len(batches) * sum(netlist.depth for netlist in circuits)
    for (store, _, end), (following, start, _) in pairwise(sorted(used)):
        assert store != following or end <= start


def test_a_circuit_without_and_gates_sends_nothing() -> None:
    builder = Builder()
    x, y = builder.input(5), builder.input(5)
    builder.output([*(x ^ y), *~x])
    netlist = builder.build()
    values = values_of(netlist, 100)
    found, received, words = opened(netlist, values)
    assert np.array_equal(found[0], evaluate(netlist, values)[0])
    assert ([step for step, _ in received], words) == (["reveal"], 0)


@pytest.mark.parametrize("batch", [0, 1, 64, 70])
def test_table_gates_on_every_layout(play: Any, batch: int) -> None:
    netlist = product(4)
    values = values_of(netlist, batch)

    def program(engine: Engine) -> list[np.ndarray]:
        inputs = [engine.input(i, bits if i == engine.party else None, *bits.shape) for i, bits in enumerate(values)]
        return engine.reveal(*engine.run(netlist, *inputs))

    assert np.array_equal(play(program, "gmw table").agreed[0], evaluate(netlist, values)[0])


def test_circuits_are_of_least_depth_unless_asked_otherwise() -> None:
    def forms(session: Session) -> list[str]:
        asked = [("gmw", None), ("yao", None), ("gmw", "size"), ("yao", "depth"), ("clear", "depth")]
        return [
            make_engine(session.branch(f"{name} {form}"), name, form=form).form  # type: ignore[arg-type]
            for name, form in asked
        ]

    assert run_local(forms)[0] == ["depth", "size", "size", "depth", "depth"]
