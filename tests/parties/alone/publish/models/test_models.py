"""Models: the figures of the literature, and that joining classes never breaks what held."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from parties.alone.publish.hierarchy import Hierarchy
from parties.alone.publish.models.classes import Classes
from parties.alone.publish.models.closeness import (
    NAMES,
    TCloseness,
    hierarchical,
    kullback_leibler,
    ordered,
    variational,
)
from parties.alone.publish.models.disclosure import NegativeDisclosure, PositiveDisclosure
from parties.alone.publish.models.diversity import EntropyLDiversity, LDiversity, RecursiveLDiversity
from parties.alone.publish.models.model import KAnonymity, PrivacyModel, monotone, suppressed
from parties.alone.publish.models.presence import Presence
from parties.alone.publish.recoding.rollup import Rollup
from smc.errors import InputError
from tests.support.anonymity import FOUR_ANONYMOUS, SALARIES, THREE_DIVERSE, all_nodes, classes_of, hierarchies, tables

MODELS: list[PrivacyModel] = [
    KAnonymity(3),
    LDiversity("s", 2),
    EntropyLDiversity("s", 1.8),
    RecursiveLDiversity("s", 1.5, 2),
    *(TCloseness("s", 0.3, name) for name in NAMES),
    PositiveDisclosure("s", 0.6),
    NegativeDisclosure("s", 0.1),
]


def test_twelve_patients_of_lesson_8() -> None:
    left, right = classes_of(FOUR_ANONYMOUS), classes_of(THREE_DIVERSE)
    assert KAnonymity(4).reached(left) == KAnonymity(4).reached(right) == 4
    assert LDiversity("s", 2).measure(left).tolist() == [2, 3, 1]
    assert LDiversity("s", 3).fits(right).all()
    assert EntropyLDiversity("s", 3).reached(right) == pytest.approx(2.83, abs=0.005)
    assert not EntropyLDiversity("s", 3).fits(right).any()
    assert EntropyLDiversity("s", 2.82).fits(right).all()
    assert RecursiveLDiversity("s", 2, 3).measure(right).tolist() == [2, 2, 2]
    assert not RecursiveLDiversity("s", 2, 3).fits(right).any()
    assert RecursiveLDiversity("s", 2.01, 3).fits(right).all()
    assert PositiveDisclosure("s", 0.5).fits(left).tolist() == [True, True, False]
    ruled_out = np.count_nonzero(left.whole("s")) - np.count_nonzero(left.histogram("s"), axis=1)
    assert ruled_out.max() == 2
    assert NegativeDisclosure("s", 0.25).fits(right).all()


def test_nine_salaries_of_lesson_8() -> None:
    classes = classes_of({zip_: [s for s, _ in rows] for zip_, rows in SALARIES.items()}, order=range(3, 12))
    assert TCloseness("s", 0.2, "ordered").measure(classes) == pytest.approx([1 / 6, 1 / 6, 1 / 12])
    lowest = classes_of({0: [3, 4, 5], 1: [6, 7, 8, 9, 10, 11]}, order=range(3, 12))
    assert TCloseness("s", 0.2, "ordered").measure(lowest)[0] == pytest.approx(0.375)
    diseases = classes_of({zip_: [disease for _, disease in rows] for zip_, rows in SALARIES.items()})
    assert TCloseness("s", 0.2, "variational").measure(diseases) == pytest.approx([5 / 9, 4 / 9, 1 / 3])
    assert TCloseness("s", 0.2).measure(diseases) == pytest.approx([5 / 9, 4 / 9, 1 / 3])


@given(st.data(), hierarchies("s"))
def test_earth_movers_distances_are_least_costs(data: st.DataObject, hierarchy: Hierarchy) -> None:
    m = len(hierarchy.values)
    counts = st.lists(st.integers(0, 5), min_size=m, max_size=m).filter(any)
    p, q = (np.array(data.draw(counts), dtype=float) for _ in range(2))
    p, q = p / p.sum(), q / q.sum()
    levels = np.zeros((m, m))
    for group in hierarchy.groups[:-1]:
        levels += group[:, None] != group[None, :]
    places = np.arange(m)
    steps = np.abs(places[:, None] - places[None, :]) / max(1, m - 1)
    for distance, costs in [
        (variational(p[None], q[None]), (places[:, None] != places[None, :]).astype(float)),
        (ordered(p[None], q[None]), steps),
        (hierarchical(p[None], q[None], hierarchy), levels / hierarchy.height),
    ]:
        assert distance[0] == pytest.approx(_moved(p, q, costs), abs=1e-7)


def _moved(p: Any, q: Any, costs: Any) -> float:
    """The least cost of turning one distribution into another, as a linear programme."""
    m = len(p)
    rows, columns = np.kron(np.eye(m), np.ones(m)), np.kron(np.ones(m), np.eye(m))
    return float(linprog(costs.ravel(), A_eq=np.vstack([rows, columns]), b_eq=np.concatenate([p, q])).fun)


def test_kullback_leibler() -> None:
    p, q = np.array([[0.5, 0.5, 0.0]]), np.array([[0.25, 0.25, 0.5]])
    assert kullback_leibler(p, q)[0] == pytest.approx(math.log(2))


@given(tables(public=True), st.sampled_from([*MODELS, Presence(0.1, 0.7), Presence(0.0, 0.5)]))
def test_models_are_monotone(cells: Any, model: PrivacyModel) -> None:
    """Of any two nodes one above the other: without suppression, and with it if the model says so."""
    rollup = Rollup(cells)
    for node in all_nodes(cells):
        for upper in rollup.lattice.successors(node):
            below, above = rollup.classes(node), rollup.classes(upper)
            if model.fits(below).all():
                assert model.fits(above).all()
            if model in monotone([model], 5):
                assert suppressed(above, [model]) <= suppressed(below, [model])


def test_entropy_with_suppression_is_not_monotone() -> None:
    """What joins a class that fits may spoil it: why such models do not lift."""
    apart, joined = classes_of({0: ["a", "b"], 1: ["a"] * 10}), classes_of({0: ["a", "b"] + ["a"] * 10})
    assert suppressed(apart, [EntropyLDiversity("s", 2)]) == 10
    assert suppressed(joined, [EntropyLDiversity("s", 2)]) == 12


def test_a_row_that_presence_misses_cannot_be_left_out() -> None:
    counts = np.array([[2, 2, 4], [1, 1, 4]])
    layout = classes_of({0: ["a"]}).layout
    layout = type(layout)(layout.sensitive, True, counts.sum(axis=0))
    assert suppressed(Classes(counts, layout), [Presence(0.3, 0.6)]) == 4
    assert suppressed(Classes(counts, layout), [Presence(0.0, 0.4)]) == 2


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: KAnonymity(0), "k must be >= 1, not 0"),
        (lambda: LDiversity("s", 0), "l must be >= 1"),
        (lambda: EntropyLDiversity("s", 0.5), "l must be >= 1"),
        (lambda: RecursiveLDiversity("s", 0, 2), "c must be > 0"),
        (lambda: TCloseness("s", -1), "t must be >= 0"),
        (lambda: TCloseness("s", 0.1, "orderd"), r"distance must be .*, not 'orderd' \(did you mean 'ordered'"),
        (lambda: Presence(0.5, 0.4), "needs least <= most, not 0.5 and 0.4"),
        (lambda: PositiveDisclosure("s", 0), "most must be > 0"),
        (lambda: NegativeDisclosure("s", 2), "least must be <= 1"),
        (lambda: LDiversity("t", 2).measure(classes_of({0: ["a"]})), "'t' is not a sensitive column"),
        (lambda: Presence(0, 1).measure(classes_of({0: ["a"]})), "presence needs a public table"),
    ],
)
def test_models_that_are_none(make: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        make()


def test_a_missing_value_makes_no_class_more_diverse() -> None:
    """A class without a known value fails."""
    classes = classes_of({1: ["flu", "?"], 2: ["flu", "cold", "?"], 3: ["?", "?"]})
    assert LDiversity("s", 2).measure(classes).tolist() == [1, 2, 0]
    assert LDiversity("s", 1).fits(classes).tolist() == [True, True, False]
    assert EntropyLDiversity("s", 1).measure(classes) == pytest.approx([1, 2, 0])
    assert RecursiveLDiversity("s", 3, 1).fits(classes).tolist() == [True, True, False]


MODELS_OF_KNOWN: list[PrivacyModel] = [*MODELS[1:], TCloseness("s", 1), PositiveDisclosure("s", 1)]


@pytest.mark.parametrize("model", MODELS_OF_KNOWN, ids=lambda model: model.words)
def test_missing_values_count_in_no_model_but_k(model: PrivacyModel) -> None:
    """A class is measured as if its rows with a missing value were not there."""
    known = {1: ["flu", "cold"], 2: ["flu", "flu", "cold", "angina"], 3: ["angina"] * 3}
    gaps = {name: ["?"] * name + values for name, values in known.items()} | {4: ["?", "?"]}
    measures = model.measure(classes_of(gaps))
    assert measures[:3] == pytest.approx(model.measure(classes_of(known)))
    assert not model.fits(classes_of(gaps))[3]
