"""What a party receives says nothing about the other's input: chi-square on labels, tables, shares, openings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from smc.agreement import DIGEST_BYTES
from smc.circuit import Builder, Netlist
from smc.engines import Engine

BATCH = 2000
LIMIT = 5.0  # standard deviations; the seeds are fixed, so this cannot flicker


def products() -> Netlist:
    builder = Builder()
    builder.output(builder.input(8) * builder.input(8))
    return builder.build()


def computing(own: int, opened: bool = False) -> Any:
    """Multiply; every input bit of both parties is `own`."""

    def program(engine: Engine) -> Any:
        bits = np.full((8, BATCH), own, dtype=np.uint8)
        inputs = [engine.input(owner, bits if engine.party == owner else None, 8, BATCH) for owner in (0, 1)]
        (product,) = engine.run(products(), *inputs)
        if opened:
            engine.reveal(product)
        return product

    return program


def received(run: Any, party: int, step: str) -> np.ndarray:
    data = b"".join(payload for name, payload in run.recorders[party].received if name.endswith(step))
    assert data, f"no step {step}"
    return np.unpackbits(np.frombuffer(data, dtype=np.uint8))


def assert_even(bits: np.ndarray) -> None:
    assert abs(bits.mean() - 0.5) * 2 * np.sqrt(bits.size) < LIMIT


def assert_same_bytes_distribution(one: np.ndarray, two: np.ndarray) -> None:
    """Two-sample chi-square over byte values."""
    counts = [np.bincount(np.packbits(bits), minlength=256).astype(float) for bits in (one, two)]
    total = counts[0] + counts[1]
    statistic = sum(((c - total / 2) ** 2 / np.maximum(total / 2, 1)).sum() for c in counts)
    assert (statistic - 255) / np.sqrt(2 * 255) < LIMIT


@pytest.mark.parametrize(("name", "party", "step"), [
    ("yao", 1, "yao.tables"),
    ("yao", 0, "matrix"),
    ("gmw", 0, "gmw.open"),
    ("gmw", 1, "gmw.open"),
    ("gmw", 0, "matrix"),
    ("gmw", 1, "matrix"),
    ("gmw table", 0, "matrix"),
    ("gmw table", 1, "bits"),
])  # fmt: skip
def test_views_of_two_inputs_look_the_same(play, name: str, party: int, step: str) -> None:
    views = [received(play(computing(own), name, seed=bytes([own]) * 16), party, step) for own in (0, 1)]
    for view in views:
        assert_even(view)
    assert_same_bytes_distribution(*views)


@pytest.mark.parametrize("own", [0, 1])
def test_permute_bits_the_evaluator_sees_are_even(play, own: int) -> None:
    run = play(computing(own), "yao", seed=bytes([7 + own]) * 16)
    labels = run.results[1].data
    assert_even((labels[..., 0] & np.uint64(1)).reshape(-1))


def test_the_two_labels_of_a_wire_differ_by_delta_only_the_garbler_knows(play) -> None:
    zero, active = (result.data for result in play(computing(1), "yao").results)
    differences = {block.tobytes() for block in (zero ^ active).reshape(-1, 2)}
    assert len(differences) == 2  # nothing, or delta: 255 * 255 has bits of both kinds
    assert bytes(16) in differences


@pytest.mark.parametrize("own", [0, 1])
@pytest.mark.parametrize("name", ["yao", "gmw", "gmw table"])
def test_output_shares_are_even(play, name: str, own: int) -> None:
    def program(engine: Engine) -> Any:
        return engine.shares(computing(own)(engine))

    for share in play(program, name, seed=bytes([9 + own]) * 16).results:
        assert_even(share.reshape(-1))


@pytest.mark.parametrize("name", ["yao", "gmw", "mixed"])
def test_nothing_travels_but_known_steps(play, name: str) -> None:
    run = play(computing(1, opened=True), name)
    steps = {step for recorder in run.recorders for step, _ in recorder.sent}
    allowed = {"yao.tables", "gmw.open", "reveal"}
    assert all(step in allowed or step.startswith("ot") for step in steps), steps
    opened = sum(len(data) for step, data in run.recorders[0].sent if step == "reveal")
    assert opened == DIGEST_BYTES + 16 * BATCH // 8
