"""Joint Mondrian: the classes of Mondrian on the union, on every engine, whole or resumed; costs known beforehand."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocols.publish.cost_model import halving, with_classes, with_cuts
from protocols.publish.cuts import Cut, Cuts, decode, encode, final_boxes, halves
from protocols.publish.mondrian import Progress, mondrian
from protocols.publish.openings import Asked, opened
from protocols.publish.precheck import passed
from protocols.publish.problem import Problem
from protocols.rules import Rules
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError, ProtocolError
from smc.local import run_local
from smc.meter import Meter
from smc.session import Session
from tests.support.joint_mondrian import Model, Row, any_rows, classes, close, distinct, entropy, keeps, known

CLEAR, GMW = Profile("clear"), Profile("gmw")


def lines(rows: list[Row], columns: int) -> np.ndarray:
    found = [(*row, count) for row, count in Counter(rows).items()]
    return np.array(found, dtype=np.int64).reshape(-1, columns + 1)


def run(
    problem: Problem, rows: list[list[Row]], profile: Profile = CLEAR, start: Cuts = (), on_step: Any = None
) -> tuple[Cuts, dict[int, Meter]]:
    meters: dict[int, Meter] = {}

    def both(session: Session) -> Cuts:
        meters[session.party] = session.meter
        own = lines(rows[session.party], len(problem.columns))
        tell = on_step if session.party == 0 else None
        return mondrian(engine_of(session, profile), problem, own, tell, start)

    cuts, same = run_local(both)
    assert cuts == same
    return cuts, meters


def random_rows(domains: tuple[int, ...], number: int, seed: int) -> list[list[Row]]:
    rng = np.random.default_rng(seed)
    drawn = [[rng.integers(0, n, number) ** 2 // max(1, n - 1) for n in domains] for _ in (0, 1)]
    return [[tuple(map(int, row)) for row in zip(*columns, strict=True)] for columns in drawn]


SCORES = st.sampled_from(["balance", "ncp"])


@st.composite
def tables(draw: st.DrawFn) -> tuple[tuple[int, ...], list[list[Row]], int, str]:
    domains = tuple(draw(st.lists(st.integers(1, 6), min_size=1, max_size=3)))
    row = st.tuples(*(st.integers(0, n - 1) for n in domains))
    rows = [draw(st.lists(row, max_size=30)) for _ in (0, 1)]
    return domains, rows, draw(st.integers(1, 5)), draw(st.sampled_from(["public", "peer"]))


@settings(max_examples=60)
@given(tables(), SCORES)
def test_the_classes_are_those_of_mondrian_on_the_union(case: tuple[Any, ...], score: Any) -> None:
    domains, rows, k, against = case
    problem = Problem(domains, 30, k, against, score=score)
    shared = all({r[i] for r in rows[0]} & {r[i] for r in rows[1]} for i in range(len(domains)))
    if not keeps(rows, rows, k, against) or (all(rows) and not shared):
        with pytest.raises(InputError, match=r"fewer than k|owner of each row"):
            run(problem, rows)
        return
    cuts, _ = run(problem, rows)
    assert set(final_boxes(domains, cuts)) == classes(domains, rows, k, against, score=score)
    assert decode(encode(cuts)) == cuts


MODELS: dict[str, tuple[dict[str, Any], Model]] = {
    "l = 2": ({"l": 2}, distinct(2)),
    "l = 3": ({"l": 3}, distinct(3)),
    "t = 0.2": ({"t": 0.2}, close(Fraction("0.2"))),
    "t = 0.15, ordered": ({"t": 0.15, "distance": "ordered"}, close(Fraction("0.15"), 4)),
    "l = 2.2, entropy": ({"l": 2.2, "diversity": "entropy"}, entropy(Fraction("2.2"))),
}


@settings(max_examples=40)
@given(tables(), st.sampled_from(sorted(MODELS)), SCORES, st.sampled_from([None, 0, 4]), st.data())
def test_other_models_are_kept_as_well(
    case: tuple[Any, ...], name: str, score: Any, missing: int | None, data: st.DataObject
) -> None:
    """Also if a value of five is missing: of the last column's rows with a known value, and of at least one."""
    domains, rows, k, against = case
    fields, model = MODELS[name]
    size, model = (4, model) if missing is None else (5, known(model, missing))
    if "diversity" in fields:
        against = "peer"  # of the union it is known to within an error only
    drawn = st.sampled_from([0, 0, 0, 1, 1, 2, 3] if missing is None else [0, 0, 0, 1, 1, 2, 3, 4, 4])
    rows = [[(*row, data.draw(drawn)) for row in own] for own in rows]
    problem = Problem(domains, 30, k, against, (size,), Rules(**fields, against=against), score, missing)
    shared = all({r[i] for r in rows[0]} & {r[i] for r in rows[1]} for i in range(len(domains) + 1))
    if not keeps(rows, rows, k, against, model) or (all(rows) and not shared):
        with pytest.raises(InputError, match=r"do not satisfy l|owner of each row"):
            run(problem, rows)
        return
    cuts, _ = run(problem, rows)
    assert set(final_boxes(domains, cuts)) == classes(domains, rows, k, against, model, score)


@pytest.mark.parametrize(("name", "missing"), [*((name, None) for name in sorted(MODELS)), ("l = 2", 0)])
def test_models_of_the_union_are_decided_by_circuits_for_the_cost_that_was_forecast(
    name: str, missing: int | None
) -> None:
    domains = (7, 5, 4)
    fields, model = MODELS[name]
    model = model if missing is None else known(model, missing)
    problem = Problem(domains, 60, 2, "public", (4,), Rules(**fields, against="public"), missing=missing)
    rows = random_rows((*domains, 4), 60, 4)
    cuts, meters = run(problem, rows, GMW)
    found = set(final_boxes(domains, cuts))
    assert found == classes(domains, rows, 2, "public", model)
    assert len(found) > 1
    assert found != classes(domains, rows, 2, "public", any_rows)
    counted = forecast(lambda engine: with_cuts(engine, problem, cuts), GMW)
    for party in (0, 1):
        cost, said = meters[party].total.as_dict(), counted.meters[party].total.as_dict()
        assert {**cost, "seconds": 0} == {**said, "seconds": 0}


@pytest.mark.parametrize(("against", "score"), [("public", "balance"), ("peer", "balance"), ("public", "ncp")])
@pytest.mark.parametrize(
    "profile", [Profile("yao"), Profile("gmw", "ferret"), Profile("mixed"), Profile("lean")], ids=str
)
def test_every_engine_finds_them_for_the_cost_that_was_forecast(profile: Profile, against: Any, score: Any) -> None:
    domains = (7, 3, 1, 4)
    problem = Problem(domains, 60, 4, against, others=(2,), score=score)
    rows = random_rows((*domains, 2), 60, 3)
    cuts, meters = run(problem, rows, profile)
    assert set(final_boxes(domains, cuts)) == classes(domains, rows, 4, against, score=score)
    assert len(final_boxes(domains, cuts)) > 5
    counted = forecast(lambda engine: with_cuts(engine, problem, cuts), profile)
    for party in (0, 1):
        found, said = meters[party].total.as_dict(), counted.meters[party].total.as_dict()
        assert {**found, "seconds": 0} == {**said, "seconds": 0}


def test_an_edge_takes_a_sum_of_as_many_bits_as_a_balance_has() -> None:
    """Of up to 60 rows 2 L - T has 7 bits: as many ANDs, one of them of what both parties allow."""
    _, meters = run(Problem((8,), 30, 2, "public"), random_rows((8,), 30, 1), Profile("yao"))
    assert meters[0].phases["level 0/sums"].and_gates == 7 * 7


def test_a_run_that_nobody_knows_yet_is_counted_for_a_number_of_classes() -> None:
    problem = Problem((7, 3, 1, 4), 60, 4)
    few, many = (forecast(lambda engine, n=n: with_classes(engine, problem, n), GMW).bytes for n in (3, 9))
    assert few < many
    assert many == forecast(lambda engine: with_cuts(engine, problem, halving(problem.domains, 9)), GMW).bytes
    assert [len(final_boxes(problem.domains, halving(problem.domains, n))) for n in (1, 3, 9, 1000)] == [1, 3, 9, 84]


@pytest.mark.parametrize("against", ["public", "peer"])
def test_a_run_goes_on_from_any_level(against: Any) -> None:
    domains = (8, 5)
    problem = Problem(domains, 80, 5, against)
    rows = random_rows(domains, 80, 5)
    seen: list[Progress] = []
    cuts, _ = run(problem, rows, on_step=seen.append)
    assert [step.cuts for step in seen] == [cuts[:i] for i in range(len(cuts))]
    assert len(cuts) > 3
    for i in range(1, len(cuts) + 1):
        assert run(problem, rows, start=cuts[:i])[0] == cuts


def test_against_the_peer_no_class_shows_few_rows_of_a_party() -> None:
    domains = (9, 6)
    rows = random_rows(domains, 90, 8)
    small: dict[str, int] = {}
    for against in ("public", "peer"):
        boxes = final_boxes(domains, run(Problem(domains, 90, 6, against), rows)[0])  # type: ignore[arg-type]
        sizes = [
            [sum(all(low <= v < high for v, (low, high) in zip(row, box, strict=True)) for row in own) for own in rows]
            for box in boxes
        ]
        assert min(map(sum, sizes)) >= 6
        small[against] = sum(0 < n < 6 for pair in sizes for n in pair)
    assert small["public"] > 0 == small["peer"]


def test_columns_that_tell_the_party_are_refused() -> None:
    rows = [[(0, 0)] * 9, [(0, 1)] * 9]
    for problem in (Problem((2, 2), 9, 2), Problem((2,), 9, 2, others=(2,))):
        with pytest.raises(InputError, match="number 2 would reveal the owner of each row"):
            run(problem, rows)


def test_rows_that_do_not_fit_are_refused() -> None:
    assert (Problem((1,), 1, 1).k, Problem((2,), 3, 6, "public").k) == (1, 6)
    with pytest.raises(InputError, match="more than the agreed maximum of 3"):
        run(Problem((2,), 3, 2), [[(0,)] * 4] * 2)
    with pytest.raises(InputError, match=r"outside 0\.\.1"):
        run(Problem((2,), 3, 2), [[(2,)] * 3] * 2)
    for case, words in (
        ({"k": 0}, "from 1 up"),
        ({"k": 4}, "at most 3 rows of a party"),
        ({"k": 7, "against": "public"}, "at most 6 rows in all"),
        ({"domains": ()}, "attribute"),
        ({"models": Rules(l=2)}, "a sensitive column that is published unchanged"),
        ({"models": Rules(l=2, against="public"), "others": (2,)}, "the value of against that k has"),
        ({"models": Rules(k=2, l=2), "others": (2,)}, "the value of against that k has"),
        ({"models": Rules(l=3), "others": (2,)}, "2 classes at most"),
    ):
        with pytest.raises(InputError, match=words):
            Problem(**{"domains": (2,), "max_rows": 3, "k": 2, **case})  # type: ignore[arg-type]


def test_wrong_bits_are_refused() -> None:
    asked = Asked((6, 3), (((0, 6), (0, 3)),), ((0, 1),))
    assert asked.read(asked.bits([Cut(1, 2)])) == [Cut(1, 2)]
    for bits in ([1, 1, 0, 1, 0], [1, 0, 1, 0, 1], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0]):
        with pytest.raises(ProtocolError):
            asked.read(np.array(bits, dtype=np.uint8)[:, None])


def test_a_cut_leaves_something_of_both_parts() -> None:
    box = ((0, 3), (2, 4))
    assert halves(box, Cut(1, 3)) == (((0, 3), (2, 3)), ((0, 3), (3, 4)))
    for value in (1, 2, 4, 5):
        with pytest.raises(ValueError, match=r"not inside 2\.\.3"):
            halves(box, Cut(1, value))


def test_what_is_opened_is_counted() -> None:
    cuts: Cuts = ((Cut(0, 1),), (None, Cut(1, 2)), (None, None))
    assert list(opened(3, cuts).values()) == [4, 5, 2]
    assert np.concatenate(passed(3)).tolist() == [[1], [0], [0], [0]]
    assert [list(opened(3, cuts, i).values()) for i in range(3)] == [[4, 1, 1], [0, 2, 1], [0, 2, 0]]
