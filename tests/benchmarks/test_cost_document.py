"""docs/cost.md is what the code says now, and the formulas in it are right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks import cost_document
from benchmarks import cost_rows as costs
from parties.bench.cases import THREE_HALVES, YAO
from protocols import equality, majority, millionaires
from smc.agreement import DIGEST_BYTES
from smc.arithmetic import bits_to_shares, product
from smc.circuit.library import aes128
from smc.counting import forecast
from smc.engines import Profile
from smc.ot import OTKind

COUNTS = [1, 7, 128, 1000, 65_408, 65_409, 200_001]
BATCH = 65_408  # OTs a message of an extension
BASE = 4096  # what the sender of an extension sends once, for 128 base OTs
TREES = 4096 + 32  # what the receiver of SoftSpoken sends once, for its trees and their check


def matrices(count: int, k: int = 4) -> int:
    """What the receiver of an extension sends for so many OTs in one call."""
    sizes = [BATCH] * (count // BATCH) + [count % BATCH] * (count % BATCH > 0)
    return sum(128 // k * (-(-size // 8) + 16) + 48 for size in sizes)


def test_the_committed_file_is_up_to_date() -> None:
    assert cost_document.TARGET.read_text(encoding="utf-8") == cost_document.document(), "run: make cost"
    assert cost_document.TREES_TARGET.read_text(encoding="utf-8") == cost_document.trees(), "run: make cost"


def test_a_module_without_a_formula_is_refused() -> None:
    with pytest.raises(LookupError, match=r"smc\.errors has no paragraph"):
        cost_document.formula("smc.errors")


@pytest.mark.parametrize("count", [1, 128])
def test_base(count: int) -> None:
    sender, receiver = costs.base(count)
    assert (sender.bytes_sent, receiver.bytes_sent) == (32, 32 * count)


@pytest.mark.parametrize(("kind", "k"), [("iknp", 1), ("softspoken2", 2), ("softspoken4", 4), ("softspoken8", 8)])
@pytest.mark.parametrize("count", COUNTS)
def test_extensions(kind: OTKind, k: int, count: int) -> None:
    sender, receiver = costs.counted(kind, costs.correlated(count))
    assert sender.bytes_sent == BASE
    assert receiver.bytes_sent == 32 + TREES * (k > 1) + matrices(count, k)
    assert receiver.messages == 2 + (k > 1) + -(-count // BATCH)


@pytest.mark.parametrize(("count", "choices"), [(1, 2), (3, 4), (128, 2), (129, 2)])
def test_trapdoor(count: int, choices: int) -> None:
    sender, receiver = costs.counted("trapdoor", costs.random(count, choices))
    assert (sender.bytes_sent, receiver.bytes_sent) == (9 * 384, 384 * count)
    assert sender.messages == 1 + -(-count // 128)


@pytest.mark.parametrize(("count", "iterations"), [(1, 1), (675_840, 1), (675_841, 2), (1_761_280, 2), (1_761_281, 3)])
def test_ferret(count: int, iterations: int) -> None:
    sender, _ = costs.counted("ferret", costs.correlated(count))
    assert sender.bytes_sent == BASE + 230_400 + (iterations - 1) * 192_000 + 32


@pytest.mark.parametrize("batch", [1, 256])
@pytest.mark.parametrize(("profile", "row"), [(YAO, 32), (THREE_HALVES, 25)])
def test_garbling(batch: int, profile: Profile, row: int) -> None:
    garbler, evaluator = forecast(costs.gates(aes128(), batch), profile).costs
    assert (garbler.bytes_sent, evaluator.bytes_sent) == (DIGEST_BYTES + row * 6400 * batch, 0)
    assert evaluator.rounds == 1


@pytest.mark.parametrize("batch", [1, 5, 64, 100])
def test_gmw(batch: int) -> None:
    """Triples, then openings, each rounded up as the formula says."""
    netlist = aes128()
    own, _ = forecast(costs.gates(netlist, batch), Profile("gmw")).costs
    counted = batch if batch < 64 else -(-batch // 8) * 8
    sizes = netlist.stars.sizes.tolist()
    assert set(sizes) == {1, 2, 3}  # each of its own width
    triples = sum(8 * -(-sizes.count(size) * counted // 8) for size in set(sizes))
    layers = np.diff(netlist.stars.star_ends) + np.diff(netlist.stars.gate_ends)
    opened = sum(-(-bits * counted // 8) for bits in layers.tolist())
    assert own.bytes_sent == BASE + TREES + matrices(triples) + opened + DIGEST_BYTES


@pytest.mark.parametrize("batch", [1, 100])
def test_gmw_by_tables(batch: int) -> None:
    netlist = aes128()
    own, peer = forecast(costs.gates(netlist, batch), Profile("gmw", table_gates=True)).costs
    layers = [len(layer.ands) for layer in netlist.layers if len(layer.ands)]
    assert own.bytes_sent == BASE + DIGEST_BYTES + sum(-(-4 * gates * batch // 8) for gates in layers)
    assert peer.bytes_sent == 32 + TREES + DIGEST_BYTES + sum(matrices(2 * gates * batch) for gates in layers)


@pytest.mark.parametrize("width", [1, 8, 64])
def test_additive_shares(width: int) -> None:
    zeros = np.zeros((width, 1000), dtype=np.uint8)
    words = np.zeros(1000, dtype=np.uint64)
    own, peer = costs.counted("extension", lambda transfers: bits_to_shares(transfers, zeros))
    ots = matrices(1000 * width)
    assert (own.bytes_sent, peer.bytes_sent) == (BASE + 8000 * width, 32 + TREES + ots)
    own, peer = costs.counted("extension", lambda transfers: product(transfers, zeros, words))
    assert own.bytes_sent == BASE + TREES + ots + 8000 * width
    assert peer.bytes_sent == 32 + TREES + matrices(128) + ots + 8000 * width


def found(program: Any, form: str) -> tuple[int, int]:
    """AND gates, and rounds of AND gates: those of GMW but for base OTs, triples and the opening."""
    profile = Profile("gmw", form="size" if form == "size" else "depth")
    own, _ = forecast(program, profile).costs
    return own.and_gates, own.rounds - 3


@pytest.mark.parametrize("width", [2, 8, 13, 32, 64])
def test_comparisons_and_equality(width: int) -> None:
    levels = (width - 1).bit_length()
    zeros = np.zeros(1, dtype=np.uint64)
    assert found(lambda engine: millionaires.strict(engine, zeros, width), "size") == (width, width)
    assert found(lambda engine: millionaires.three_way(engine, zeros, width), "size") == (2 * width, width)
    for protocol, most in ((millionaires.strict, 2.5), (millionaires.three_way, 4)):
        gates, rounds = found(lambda engine, run=protocol: run(engine, zeros, width), "depth")
        assert gates < most * width
        assert rounds <= levels + 1
    assert found(lambda engine: equality.equal(engine, zeros, width), "size") == (width - 1, levels)


@pytest.mark.parametrize("width", [8, 16])
@pytest.mark.parametrize("classes", [2, 3, 4, 5, 8])
def test_majority(width: int, classes: int) -> None:
    def program(engine: Any) -> object:
        return majority.majority(engine, np.zeros((classes, 1), dtype=np.uint64), width)

    least = (3 * classes - 3) * width + 2 * classes - 3
    gates, _ = found(program, "size")
    assert least <= gates < least + classes
    gates, levels = found(program, "depth")
    pairs = classes * (classes - 1) // 2
    assert 4 * width * pairs <= gates <= 4.5 * width * pairs
    assert levels <= (width - 1).bit_length() + (classes - 1).bit_length() + 3
