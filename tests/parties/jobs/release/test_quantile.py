"""Quantiles of both parties' rows against sorted values."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.jobs import kinds
from parties.jobs.release.noise import Noise
from parties.tables.schema import Schema
from parties.tables.types import Domain, read_type
from protocols.counts import RowCounts
from protocols.quantile import PARTS, most_opened, quantile, rounds
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from smc.session import Session
from tests.support.questions import counts, known_noise

SCHEMA = Schema({"age": tuple(map(str, range(40))), "sex": ("m", "f")})
SHARES = st.fractions(0, 1, max_denominator=20)


def of_values(profile: str, sides: Any, places: int, share: Fraction) -> Any:
    def party(session: Session) -> Any:
        own = np.sort(np.array(sides[session.party], dtype=np.int64))
        found = quantile(
            engine_of(session, Profile(profile)),
            lambda at: np.searchsorted(own, at, side="right"),
            len(own), places, share, 1000,
        )  # fmt: skip
        return found, [
            phase for phase in session.meter.total.__dict__ if phase == "rounds"
        ] and session.meter.total.rounds

    (one, _), (other, _) = run_local(party)
    assert one == other
    return one


@given(st.data(), st.integers(1, 700), SHARES)
def test_it_is_the_one_of_the_sorted_union(data: st.DataObject, places: int, share: Fraction) -> None:
    value = st.integers(0, places - 1)
    sides = [data.draw(st.lists(value, max_size=12)) for _ in range(2)]
    union = sorted([*sides[0], *sides[1]])
    at = of_values("clear", sides, places, share)
    if not union:
        assert at == (places - 1 if share == 0 else 0)  # every place has a share of nothing, and none a row
    elif share == 0:
        assert at == union[0]  # a number that some row has, not the schema's bound
    else:
        assert at == union[-(-share.numerator * len(union) // share.denominator) - 1]


@pytest.mark.parametrize("profile", ["yao", "gmw"])
def test_engines_agree(profile: str) -> None:
    assert of_values(profile, ([3, 900, 17], [20, 21]), 1 << 20, Fraction(1, 2)) == 20


def test_rounds_halve_in_sixteenths() -> None:
    assert [rounds(places) for places in (1, 2, PARTS, PARTS + 1, PARTS**2, PARTS**2 + 1)] == [0, 1, 1, 2, 2, 3]


def document(ages: Any, kind: str = "quantile", **said: Any) -> Any:
    task = task_of(kind, **said)

    def party(session: Session) -> Any:
        rows = [{"age": str(age), "sex": "mf"[age % 2]} for age in ages[session.party]]
        return task.run(
            engine_of(session, Profile("clear")), task.own_rows(counts(task, rows)), None, lambda step: None
        )

    one, other = run_local(party)
    assert one == other
    return task.document(one)


def task_of(name: str = "quantile", schema: Schema = SCHEMA, **said: Any) -> Any:
    kind: Any = kinds.find(name)
    return kind.canonical(kind.Settings.model_validate({"max_rows": 500, "column": "age", **said}), schema)


def test_rounded_it_is_a_range() -> None:
    ages = ([1, 7, 13], [12, 30])
    assert document(ages, exact=True)["value"] == 12
    assert {"from": 10, "to": 14, "value": 14}.items() <= document(ages, exact=True, round_to=5.0).items()
    assert [document(ages, exact=True, at=at)["value"] for at in (0.0, 1.0)] == [1, 30]


@given(st.lists(st.integers(0, 39), min_size=1, max_size=20), st.sampled_from([None, 1.0, 3.0, 7.0]), st.booleans())
def test_medians_of_groups(ages: list[int], step: float | None, grouped: bool) -> None:
    """Without noise: the middle one of each group's rows, or the range that it is in."""
    said: dict[str, Any] = {"exact": True, "round_to": step} | ({"by": ("sex",)} if grouped else {})
    numbers = document((ages[::2], ages[1::2]), "release median", **said)["numbers"]
    assert len(numbers) == 1 + grouped
    for parity, answer in enumerate(numbers):
        group = sorted(age for age in ages if not grouped or age % 2 == parity)
        if not group:
            continue
        wide = int(step or 1)
        low, high = [half // wide for half in sorted((group[(len(group) - 1) // 2], group[len(group) // 2]))]
        assert low <= answer["value"] // wide <= high
        if step is not None:
            assert answer["from"] == answer["value"] // wide * wide
            assert answer["to"] == min(answer["from"] + wide - 1, 39) == answer["value"]


@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 39), min_size=1, max_size=20),
    st.sampled_from([Fraction(1, 10), Fraction(1, 2), Fraction(3, 4), Fraction(9, 10)]),
)
def test_noise_of_nothing_leaves_a_quantile(ages: list[int], share: Fraction) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Noise, "law", known_noise(0))
        value = document((ages, []), epsilon=1.0, at=float(share))["value"]
    below, above = sum(age < value for age in ages), sum(age > value for age in ages)
    exact = Fraction(str(float(share)))
    assert below <= exact * len(ages)
    assert above <= (1 - exact) * len(ages)


def test_noise_is_what_one_row_more_changes() -> None:
    """Of 0.9 one of both numbers by 1.8 at most, in fifths 9; another row both by 1, and any way."""

    def scales(**said: Any) -> list[Fraction]:
        return [noise.scale for noise in task_of(epsilon=0.5, **said).query.mechanisms]

    assert [scales(at=at) for at in (0.9, 0.5, 0.25)] == [[18], [2], [6]]
    assert [scales(at=at, adjacency="replace") for at in (0.9, 0.5, 0.25)] == [[20], [4], [8]]


@pytest.mark.parametrize(("at", "max_rows"), [(0.01, 500), (0.999, 600)])
def test_extremes_that_the_noise_hides_are_refused(at: float, max_rows: int) -> None:
    """A number that no row has, beyond all rows, would be as good by the rows between: fewer than the noise."""
    with pytest.raises(InputError, match=r"lie beyond .*, but the noise hides .* ask for --at 0\.\d+"):
        task_of(epsilon=1.0, at=at, max_rows=max_rows)
    assert task_of(exact=True, at=at, max_rows=max_rows)


@pytest.mark.parametrize("at", [0.0, 1.0])
def test_extremes_leave_a_known_number_of_rows_beyond(at: float) -> None:
    """2 / epsilon x ln(20 x 40) = 13.4 rows: 14 of them; without noise the answer has 7 of one party's to each side."""
    rows = [age for age in range(5, 35) for _ in range(3)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Noise, "law", known_noise(0))
        answer = document((rows[::2], rows[1::2]), epsilon=1.0, at=at)
    assert answer["rows_beyond"] == 14
    beyond, reached = (age > answer["value"] for age in rows), (age >= answer["value"] for age in rows)
    if at == 0:
        beyond, reached = (age < answer["value"] for age in rows), (age <= answer["value"] for age in rows)
    assert sum(beyond) <= 14 <= sum(reached)
    assert "with about 14 rows beyond it (0 to 28 with 95 %)" in kinds.find("quantile").text(answer, 0)
    with pytest.raises(
        InputError,
        match=r"at: with this noise about 14 rows lie beyond an answer at [01], more than max_rows = 13: give",
    ):
        task_of(epsilon=1.0, at=at, max_rows=13)
    assert [task_of(epsilon=1.0, at=at, adjacency=a).query.mechanisms[0].scale for a in ("add-remove", "replace")] == [
        2,
        2,
    ]


def test_bounds_for_clipping_from_a_wide_public_range() -> None:
    """Of 401 numbers 18 rows lie beyond each bound: 2 ln(20 x 401) = 17.98, rounded up to an even number."""
    wide = Schema({"age": Domain(read_type({"type": "real", "low": 0, "high": 4000, "step": 10}))})
    rows = np.repeat(np.arange(100, 300), 5)  # indices of 1,000 to 2,990
    for at, bound in ((0.0, 1030), (1.0, 2960)):
        task = task_of(schema=wide, epsilon=1.0, at=at, max_rows=1000)
        assert task.query.noise["rows_beyond"] == 18
        numbers = task.own_rows(RowCounts([], 401, np.zeros((1000, 0), dtype=np.int64), rows))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Noise, "law", known_noise(0))
            quiet = task_of(schema=wide, epsilon=1.0, at=at, max_rows=1000)
            state = run_local(
                lambda s, quiet=quiet, numbers=numbers: quiet.query.open(
                    engine_of(s, Profile("clear")), numbers if s.party else 0 * numbers
                )
            )[0]
        assert task.document(state)["value"] == bound


def test_what_a_refusal_asks_for_is_answered() -> None:
    assert task_of(epsilon=1.0, at=0.97, max_rows=500)
    assert task_of(epsilon=4.0, at=0.99, max_rows=600)


@pytest.mark.parametrize("at", [0.1, 0.9])
def test_deciles_are_no_extremes(at: float) -> None:
    assert task_of(epsilon=0.1, at=at, max_rows=100)


def test_cost_is_counted_ahead() -> None:
    assert forecast(task_of(exact=True).cost(None).program, Profile("yao")).bytes > 0


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({}, "epsilon: is missing"),
        ({"exact": True, "at": 1 / 3}, "give at most three"),
        ({"exact": True, "column": "sex"}, "column: a quantile needs bounds"),
    ],
)
def test_wrong_questions_are_refused(said: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        task_of(**said)


@pytest.mark.parametrize("name", ["quantile", "release median"])
def test_any_number_of_values(name: str) -> None:
    """Rounded, they are as few as it takes; what is refused says what would do."""
    real = Domain(read_type({"type": "real", "low": 0, "high": 600, "step": 0.01}))
    schema = Schema({"age": real, "sex": ("m", "f")})
    with pytest.raises(InputError, match=r"6,001 numbers would be compared, .* give round_to, 0.2 for"):
        task_of(name, schema, epsilon=1.0)
    task = task_of(name, schema, epsilon=1.0, round_to=0.5)
    source = RowCounts([], 6001, np.zeros((3, 0), dtype=np.int64), np.array([0, 4, 6000]))
    below, above = np.split(task.own_rows(source), 2) if name != "quantile" else (None, None)
    if below is not None:
        assert below[[0, 1, -1]].tolist() == [0, 2, 2]
        assert above[[0, 1, -1]].tolist() == [1, 1, 0]
    else:
        assert np.flatnonzero(task.own_rows(source)).tolist() == [0, 1200]


def test_bits_are_no_fewer_than_are_opened() -> None:
    for places in (1, 2, 16, 17, 100, 300):

        def party(session: Session, places: int = places) -> int:
            own = np.arange(places) if session.party else np.arange(0)
            engine = engine_of(session, Profile("clear"))
            quantile(engine, lambda at: np.searchsorted(own, at, side="right"), len(own), places, Fraction(9, 10), 1000)
            return session.meter.total.bits_opened

        assert run_local(party)[0] <= most_opened(places) <= max(0, places - 1)
    assert task_of(exact=True).query.bits == 30  # of 40 places: 15 thresholds and 3, at most 30
    assert task_of(epsilon=1.0).query.bits is None
