"""Joint random bits: the XOR of what both parties draw, uniform as soon as one of them draws uniformly."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from smc.channel import memory_pair
from smc.circuit import Builder
from smc.engines import Engine
from smc.primitives.prg import Prg
from smc.session import Session

pytestmark = pytest.mark.slow

EXTENSIONS = ["iknp", "softspoken2", "softspoken4", "softspoken8", "ferret"]
ENGINES = [
    *((name, "extension") for name in ("clear", "yao", "yao three-halves", "gmw", "gmw table", "mixed", "lean")),
    *((name, ot) for name in ("yao", "gmw") for ot in EXTENSIONS),
]
QUICK = settings(max_examples=8)
CHI_SQUARE = 377.1  # with 255 degrees of freedom: exceeded with probability 10^-6
SEED = b"one honest draw."  # of all but RSA keys, on which no bit depends
DEVIATIONS = 4.9  # of a normal distribution: exceeded, either way, with probability 10^-6


class Zeros(Prg):
    """What a party contributes that wants the joint bits to be the other's."""

    def __init__(self) -> None:
        super().__init__(bytes(16))

    def bytes(self, count: int) -> np.ndarray:
        """No randomness."""
        return np.zeros(count, dtype=np.uint8)


def opened(width: int, batch: int, sources: dict[int, Any] | None = None) -> Any:
    """Draw and open; `sources` makes the generators of the parties' contributions."""

    def program(engine: Engine) -> np.ndarray:
        make = (sources or {}).get(engine.party)
        with engine.session.contribute(make()) if make else nullcontext():
            bits = engine.random(width, batch)
        return engine.reveal(bits)[0]

    return program


@pytest.mark.parametrize("lazy", [0, 1])
@pytest.mark.parametrize(("name", "ot"), ENGINES)
def test_one_honest_draw_makes_the_bits_uniform(play, name: str, ot: str, lazy: int) -> None:
    """False alarms of another seed: one in 10^6 for each of the two assertions."""
    bits = play(opened(8, 20_000, {lazy: Zeros}), name, ot, seed=SEED).agreed_array
    assert bits.shape == (8, 20_000)
    counts = np.bincount(np.packbits(bits, axis=0)[0], minlength=256)
    expected = bits.shape[1] / 256
    assert ((counts - expected) ** 2 / expected).sum() < CHI_SQUARE
    assert abs(bits.mean() - 0.5) * 2 * np.sqrt(bits.size) < DEVIATIONS


@pytest.mark.parametrize("lazy", [0, 1])
@pytest.mark.parametrize("name", ["yao", "gmw"])
def test_so_it_does_over_the_trapdoor(play, name: str, lazy: int) -> None:
    """False alarms of another seed: one in 10^6."""
    bits = play(opened(2, 100, {lazy: Zeros}), name, "trapdoor", seed=SEED).agreed_array
    assert abs(bits.mean() - 0.5) * 2 * np.sqrt(bits.size) < DEVIATIONS


def test_no_contribution_leaves_no_randomness(play) -> None:
    assert not play(opened(3, 50, {0: Zeros, 1: Zeros}), "yao").agreed_array.any()


@pytest.mark.parametrize(("name", "ot"), ENGINES)
@QUICK
@given(width=st.sampled_from([0, 1, 2, 7, 65]), batch=st.sampled_from([0, 1, 63, 129, 1000]))
def test_the_same_contributions_give_their_xor_every_time(play, name: str, ot: str, width: int, batch: int) -> None:
    seeds = [b"party 0 level  7", b"party 1 level  7"]
    sources = {party: lambda seed=seed: Prg(seed) for party, seed in enumerate(seeds)}
    expected = Prg(seeds[0]).bits(width, batch) ^ Prg(seeds[1]).bits(width, batch)
    assert np.array_equal(play(opened(width, batch, sources), name, ot).agreed_array, expected)


def test_two_draws_and_two_runs_differ(play) -> None:
    def program(engine: Engine) -> np.ndarray:
        return np.stack(engine.reveal(engine.random(1, 200), engine.random(1, 200)))

    found = [play(program, "gmw").agreed_array for _ in range(2)]
    assert len({row.tobytes() for pair in found for row in pair}) == 4


@pytest.mark.parametrize("name", ["yao", "gmw", "mixed", "lean"])
def test_the_bits_go_into_circuits(play, name: str) -> None:
    builder = Builder()
    builder.output(builder.input(4) * builder.input(4))

    def program(engine: Engine) -> Any:
        drawn = [engine.random(4, 100) for _ in range(2)]
        return engine.reveal(*engine.run(builder.build(), *drawn), *drawn)

    product, left, right = play(program, name).agreed
    numbers = [np.packbits(bits, axis=0, bitorder="little")[0].astype(int) for bits in (product, left, right)]
    assert np.array_equal(numbers[0], numbers[1] * numbers[2])


def test_on_shares_nothing_is_sent_and_garbled_one_ot_a_bit(play) -> None:
    assert all(not recorder.sent for recorder in play(lambda e: e.random(8, 1000), "gmw").recorders)
    garbled = play(lambda e: e.random(8, 1000), "yao", "softspoken4").recorders
    assert sum(len(data) for step, data in garbled[1].sent if step.endswith("matrix")) == 32 * (1000 + 16) + 48


def test_a_source_serves_the_enclosed_work_only() -> None:
    session = Session(0, memory_pair()[0], bytes(32), Prg(bytes(16)))
    outer, inner = Prg(b"outer contributi"), Prg(b"inner contributi")
    assert session.contributions is session.prg
    with session.contribute(outer):
        with suppress(KeyError), session.contribute(inner):
            assert session.contributions is inner
            raise KeyError
        assert session.contributions is outer
        assert session.branch("level").contributions is outer
    assert session.contributions is session.prg
