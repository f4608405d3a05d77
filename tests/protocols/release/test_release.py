"""Noisy sums and choices by two parties: against the clear twin, and what they open and cost."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from protocols.release.choice import TIE_BITS, choice_law, noisy_choice
from protocols.release.geometric import OneSidedGeometric
from protocols.release.laplace import DiscreteLaplace
from protocols.release.laws import Law, netlist, sample
from protocols.release.numbers import noisy_sums, opened_with_noise, sum_width
from smc.agreement import DIGEST_BYTES
from smc.circuit import evaluate
from smc.counting import forecast
from smc.engines import Bits, Engine, Profile
from smc.errors import InputError
from smc.primitives import bits as bitpack
from smc.primitives.prg import Prg

ENGINES = ["clear", "yao", "gmw", "mixed", "lean"]
SEEDS = [b"party 0 draws of", b"party 1 draws of"]
NOISE = DiscreteLaplace(Fraction(3), 10)
LAWS: list[Law] = [NOISE, OneSidedGeometric(Fraction(2), 8), DiscreteLaplace(Fraction(1, 100), 5)]


def seeded(program: Callable[[Engine], Any]) -> Callable[[Engine], Any]:
    """The program with contributions to joint randomness that are known here."""

    def run(engine: Engine) -> Any:
        with engine.session.contribute(Prg(SEEDS[engine.party])):
            return program(engine)

    return run


def drawn(law: Law, *batches: int) -> np.ndarray:
    """The samples that `seeded` programs draw, by parts of these sizes, one after another."""
    sources = [Prg(seed) for seed in SEEDS]
    parts = []
    for batch in batches:
        random = sources[0].bits(law.bits, batch) ^ sources[1].bits(law.bits, batch)
        (values,) = evaluate(netlist(law), [random])
        parts.append(np.array(bitpack.to_integers(values, signed=law.least < 0), dtype=np.int64))
    return np.concatenate(parts)


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("batch", [0, 1, 7, 129])
def test_sums_are_those_of_both_parties_and_the_noise(play, name: str, law: Law, batch: int) -> None:
    own = np.random.default_rng(batch).integers(0, 32, (2, batch))
    opened = play(seeded(lambda e: noisy_sums(e, own[e.party], 5, law)), name).agreed_array
    assert opened.tolist() == (own.sum(axis=0) + drawn(law, batch)).tolist()


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("signed", [False, True])
def test_the_largest_and_the_least_integers_do_not_overflow(play, law: Law, signed: bool) -> None:
    ends = [-16, 15] if signed else [0, 31]
    own = np.repeat(np.array([[a, b] for a in ends for b in ends]), 200, axis=0).T
    opened = play(seeded(lambda e: noisy_sums(e, own[e.party], 5, law, signed)), "gmw").agreed_array
    assert opened.tolist() == (own.sum(axis=0) + drawn(law, own.shape[1])).tolist()


@pytest.mark.parametrize("name", ["yao", "gmw"])
def test_large_batches_are_cut_and_opened_at_once(play, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    size = 13

    def program(engine: Engine) -> Any:
        monkeypatch.setattr(engine, "comfortable", size * (2 * 5 + NOISE.bits))
        return noisy_sums(engine, np.arange(30) + engine.party, 5, NOISE)

    run = play(seeded(program), name)
    assert run.agreed_array.tolist() == (2 * np.arange(30) + 1 + drawn(NOISE, 13, 13, 4)).tolist()
    opened = [len(data) for step, data in run.recorders[0].sent if step == "reveal"]
    assert opened == [DIGEST_BYTES - (-30 * sum_width(5, NOISE) // 8)]


@pytest.mark.parametrize("name", ["yao", "gmw"])
@pytest.mark.parametrize("batch", [0, 1, 30])
def test_samples_alone(play, monkeypatch: pytest.MonkeyPatch, name: str, batch: int) -> None:
    def program(engine: Engine) -> Any:
        monkeypatch.setattr(engine, "comfortable", 13 * NOISE.bits)
        return engine.reveal(sample(engine, NOISE, batch))[0]

    opened = bitpack.to_integers(play(seeded(program), name).agreed_array, signed=True)
    assert opened == drawn(NOISE, *([13, 13, 4] if batch == 30 else [batch])).tolist()


@pytest.mark.parametrize("name", ["clear", "yao", "gmw"])
@pytest.mark.parametrize("law", LAWS, ids=str)
def test_secrets_are_opened_with_noise_of_their_own(play, monkeypatch: pytest.MonkeyPatch, name: str, law: Law) -> None:
    secrets = np.arange(30)

    def program(engine: Engine) -> Any:
        monkeypatch.setattr(engine, "comfortable", 13 * (5 + law.bits))
        return opened_with_noise(engine, engine.constant(bitpack.from_integers(secrets.tolist(), 5)), law)

    assert play(seeded(program), name).agreed_array.tolist() == (secrets + drawn(law, 13, 13, 4)).tolist()


def drawn_with_ties(law: Law, *batches: int) -> np.ndarray:
    """The same samples, each with the bits below it that decide between equals."""
    sources = [Prg(seed) for seed in SEEDS]
    parts = []
    for batch in batches:
        random, ties = (sources[0].bits(n, batch) ^ sources[1].bits(n, batch) for n in (law.bits, TIE_BITS))
        (values,) = evaluate(netlist(law), [random])
        parts.append((np.array(bitpack.to_integers(values), dtype=np.int64) << TIE_BITS) + bitpack.to_integers(ties))
    return np.concatenate(parts)


def expected_choices(own: np.ndarray, noise: np.ndarray) -> list[int]:
    """numpy too takes the first among equals, of which there are few."""
    return ((own.sum(axis=0) << TIE_BITS) + noise.reshape(own.shape[1:])).argmax(axis=0).tolist()


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(("candidates", "batch"), [(1, 3), (2, 1), (3, 40), (5, 0), (13, 7), (100, 1)])
def test_the_choice_is_the_greatest_score_with_its_noise(play, name: str, candidates: int, batch: int) -> None:
    law = OneSidedGeometric(Fraction(1), 8)  # ties are frequent
    own = np.random.default_rng(candidates).integers(0, 3, (2, candidates, batch))
    chosen = play(seeded(lambda e: noisy_choice(e, own[e.party], 2, law)), name).agreed_array
    assert chosen.tolist() == expected_choices(own, drawn_with_ties(law, candidates * batch))


@pytest.mark.parametrize("name", ["yao", "gmw"])
@pytest.mark.parametrize(("candidates", "batch", "at_once"), [(50, 1, 8), (50, 1, 2), (9, 3, 12), (1000, 1, 100)])
def test_candidates_in_groups(
    play, monkeypatch: pytest.MonkeyPatch, name: str, candidates: int, batch: int, at_once: int
) -> None:
    law = OneSidedGeometric(Fraction(1), 8)
    own = np.random.default_rng(at_once).integers(0, 3, (2, candidates, batch))

    def program(engine: Engine) -> Any:
        monkeypatch.setattr(engine, "comfortable", at_once * (2 * 2 + law.bits))
        return noisy_choice(engine, own[engine.party], 2, law)

    group = 1 << (at_once // batch).bit_length() - 1
    sizes = [min(group, candidates - start) * batch for start in range(0, candidates, group)]
    run = play(seeded(program), name)
    assert run.agreed_array.tolist() == expected_choices(own, drawn_with_ties(law, *sizes))
    opened = [len(data) for step, data in run.recorders[0].sent if step == "reveal"]
    assert opened == [DIGEST_BYTES - (-batch * (candidates - 1).bit_length() // 8)]


@pytest.mark.parametrize("ot", ["extension", "ferret"])
@pytest.mark.parametrize("name", ["yao", "gmw", "mixed", "lean"])
@pytest.mark.parametrize(
    "program",
    [
        lambda e: noisy_sums(e, np.arange(20), 5, NOISE),
        lambda e: noisy_choice(e, np.arange(20).reshape(5, 4), 5, choice_law(Fraction(1), 1, True, 5)),
    ],
    ids=["sums", "choice"],
)
def test_a_run_costs_what_was_forecast(play, program: Callable[[Engine], Any], name: str, ot: str) -> None:
    counted = forecast(program, Profile(name, ot))  # type: ignore[arg-type]
    for meter, cost in zip(play(program, name, ot).meters, counted.costs, strict=True):
        measured = meter.total
        for field in ("bytes_sent", "bytes_received", "messages", "rounds", "and_gates", "bits_opened"):
            assert getattr(measured, field) == getattr(cost, field), field


def test_the_narrowest_and_the_widest_numbers(play) -> None:
    """A bit of each party; and 62 bits, which with noise are the 63 that are opened at most."""
    own, widest = np.array([[0, 1, 1], [0, 0, 1]]), (1 << 62) - 1
    opened = play(seeded(lambda e: noisy_sums(e, own[e.party], 1, NOISE)), "clear").agreed_array
    assert opened.tolist() == (own.sum(axis=0) + drawn(NOISE, 3)).tolist()
    opened = play(seeded(lambda e: opened_with_noise(e, constant(e, widest, 62), NOISE)), "clear").agreed_array
    assert opened.tolist() == [widest + int(drawn(NOISE, 1)[0])]
    with pytest.raises(InputError, match="take 64 bits, at most 63"):
        play(lambda e: opened_with_noise(e, constant(e, widest, 63), NOISE), "clear")


def constant(engine: Engine, value: int, width: int) -> Bits:
    return engine.constant(bitpack.from_integers([value], width))


def test_integers_that_do_not_fit_are_refused(play) -> None:
    def refused(words: str, program: Callable[[Engine], Any]) -> None:
        with pytest.raises(InputError, match=words):
            play(program, "clear")

    refused("integer number 2 is 32, must be from 0 to 31", lambda e: noisy_sums(e, np.array([1, 32]), 5, NOISE))
    refused("integer is -17, must be from -16 to 15", lambda e: noisy_sums(e, np.array([-17]), 5, NOISE, signed=True))
    refused("take 65 bits; give 1 bit or more", lambda e: noisy_sums(e, np.array([0]), 63, NOISE))
    refused("at least one candidate", lambda e: noisy_choice(e, np.zeros((0, 2), dtype=np.int64), 5, NOISE))
    refused("does not fit 5 bits", lambda e: noisy_choice(e, np.array([[1], [-1]]), 5, NOISE))
    refused("at most 63", lambda e: noisy_choice(e, np.array([[1], [1]]), 63, NOISE))
