"""Triangles of two parties' edges: against the cubes of matrices, and the noise against the proof's."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.release import triangles
from protocols.release.tails import tail
from protocols.release.triangles import Edges, answer_law, bounded, common_netlist, exact_triangles, noisy_triangles
from smc.counting import forecast
from smc.engines import Engine, Profile
from smc.errors import InputError
from smc.meter import Meter
from smc.primitives import bits as bitpack
from tests.support.graphs import drawn, expected, played
from tests.support.questions import Known

ONE, DELTA = Fraction(1), Fraction(1, 10**6)


CLEAR = Profile("clear")


def secrets(engine: Engine, own: Edges, vertices: int) -> tuple[int, int]:
    """What stays secret, opened for the test: the most common neighbours, and three times the triangles."""
    most, thrice = engine.reveal(*triangles._counted(engine, own, vertices))
    return bitpack.to_integers(most)[0], bitpack.to_integers(thrice)[0]


@settings(max_examples=30)
@given(st.integers(3, 14), st.integers(0, 10**6), st.sampled_from([0.0, 0.2, 0.5, 1.0]))
def test_numbers_of_any_graph(vertices: int, seed: int, share: float) -> None:
    edges = drawn(seed, vertices, share)
    most, number = expected(*edges, vertices)
    assert played(edges, lambda engine, own: secrets(engine, own, vertices), CLEAR) == (most, 3 * number)
    assert played(edges, lambda engine, own: exact_triangles(engine, own, vertices), CLEAR) == number


@pytest.mark.parametrize("profile", [Profile("yao"), Profile("gmw"), Profile("gmw", form="depth")], ids=str)
def test_every_engine_in_several_batches(profile: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    edges, vertices = drawn(3, 11, 0.4), 11

    def cut(engine: Engine, own: Edges) -> tuple[int, int]:
        monkeypatch.setattr(type(engine), "comfortable", 2 * vertices * 20)  # 55 pairs: 20, 20 and 15
        return secrets(engine, own, vertices)

    most, number = expected(*edges, vertices)
    assert number > 10
    assert played(edges, cut, profile) == (most, 3 * number)


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize("noise", [-9, 0, 4])
def test_noise_that_is_known(noise: int, replaced: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is added to both; the law of the second is that of the bound that was opened."""
    scales: list[Fraction] = []

    def known(scale: Fraction, security: int) -> Known:
        scales.append(scale)
        return Known(noise)

    monkeypatch.setattr(triangles, "DiscreteLaplace", known)
    edges, vertices, delta = drawn(5, 20, 0.3), 20, Fraction(1, 10)
    most, number = expected(*edges, vertices)
    found = played(edges, lambda engine, own: noisy_triangles(engine, own, vertices, ONE, delta, replaced), CLEAR)
    bound = min(max(most + noise + tail(Fraction(2), delta) - 1, 1), vertices - 2)
    assert found == (bound, number + noise)
    assert set(scales) == {Fraction(2), Fraction(2 * bound * (2 if replaced else 1))}


def test_where_a_bound_can_be() -> None:
    shift = tail(Fraction(2), DELTA) - 1
    assert [bounded(noisy, 100, ONE, DELTA) for noisy in (-1000, -shift, 3, 1000)] == [1, 1, 3 + shift, 98]
    assert answer_law(7, ONE).scale == 14
    assert answer_law(7, ONE, replaced=True).scale == 28


@settings(max_examples=40)
@given(st.integers(3, 9), st.integers(0, 10**6), st.data())
def test_what_an_edge_can_change(vertices: int, seed: int, data: st.DataObject) -> None:
    """What the proof rests on: T by LS of either graph at most, LS by 1; a replaced one T by 2 LS."""
    edges, none = drawn(seed, vertices, 0.5)[0], np.zeros(vertices * (vertices - 1) // 2, dtype=np.uint8)
    other = edges.copy()
    other[data.draw(st.integers(0, len(edges) - 1))] ^= 1
    (most, number), (most_other, number_other) = (expected(one, none, vertices) for one in (edges, other))
    assert abs(most - most_other) <= 1
    assert abs(number - number_other) <= min(most, most_other)
    there, free = np.flatnonzero(edges), np.flatnonzero(edges == 0)
    if len(there) and len(free):
        moved = edges.copy()
        moved[data.draw(st.sampled_from(there.tolist()))] = 0
        moved[data.draw(st.sampled_from(free.tolist()))] = 1
        most_moved, number_moved = expected(moved, none, vertices)
        assert abs(most - most_moved) <= 1
        assert abs(number - number_moved) <= 2 * min(most, most_moved)


def test_the_circuit_of_a_pair_takes_two_ands_a_vertex() -> None:
    assert common_netlist(100).and_count <= 2 * 100 + 10


def test_a_run_costs_what_was_foreseen_and_opens_no_more_bits_than_numbers_have() -> None:
    """Of a complete graph the bound is the greatest, but with a chance of delta."""
    everything, none = np.ones(15, np.uint8), np.zeros(15, np.uint8)
    meters: dict[int, Meter] = {}

    def noisy(engine: Engine, own: Edges) -> int:
        meters[engine.party] = engine.session.meter
        return noisy_triangles(engine, own, 6, ONE, Fraction(1, 10**12))[0]

    assert played((everything, none), noisy, Profile("gmw")) == 4
    counted = forecast(lambda engine: triangles.foreseen(engine, 6, ONE), Profile("gmw"))
    for party in (0, 1):
        found, said = meters[party].total.as_dict(), counted.meters[party].total.as_dict()
        assert {**found, "seconds": 0} == {**said, "seconds": 0}

    def exact(engine: Engine, own: Edges) -> tuple[int, int]:
        return exact_triangles(engine, own, 6), engine.session.meter.total.bits_opened

    assert played((everything, none), exact, CLEAR) == (20, (3 * 20).bit_length())


@pytest.mark.parametrize("vertices", [0, 2, 1001])
def test_too_few_or_too_many_vertices(vertices: int) -> None:
    with pytest.raises(InputError, match=r"must be from 3 to 1,000"):
        triangles.pairs(vertices)


def test_edges_of_other_vertices() -> None:
    with pytest.raises(InputError, match="4 pairs of vertices, must be 3"):
        played((np.zeros(4, np.uint8),) * 2, lambda engine, own: exact_triangles(engine, own, 3), CLEAR)
