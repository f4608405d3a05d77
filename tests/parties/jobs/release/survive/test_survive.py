"""Survival of both parties' rows: curves against statsmodels', intervals by drawing, a test by one bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.duration.survfunc import SurvfuncRight, survdiff

from parties.jobs.kinds.survive.compare import Compare, CompareSettings
from parties.jobs.kinds.survive.curve import Curve, CurveSettings
from parties.jobs.release.noise import laplace
from parties.jobs.release.postprocessing import consistent
from parties.jobs.release.survive.estimates import curve, log_rank, median
from parties.jobs.result_files import picture as svg_of
from parties.tables.schema import Schema
from parties.tables.types import DateType, Domain, FlagType, IntegerType
from protocols.quantiles import chi2_quantile, chi2_tail
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from tests.support.questions import counts, state_of

SCHEMA = Schema(
    {
        "days": Domain(IntegerType(low=0, high=1800, edges=(30, 90, 180, 365, 730, 1095), missing=True)),
        "died": Domain(FlagType(missing=True)),
        "arm": ("young", "old", "?"),
        "status": ("1", "2"),
        "stage": ("1", "2", "3"),
        "years": ("10", "2", "30", "?"),
        "site": ("a", "b"),
        "sex": Domain(FlagType()),
    }
)
COLUMNS = {"time": "days", "event": "died", "arm": "arm", "max_rows": 1000}
BINS = SCHEMA.attributes["days"][:-1]
EDGES = np.array([0, 30, 90, 180, 365, 730, 1095, 1801])


def curve_task(schema: Schema = SCHEMA, **more: Any) -> Curve:
    return Curve.canonical(CurveSettings.model_validate({**COLUMNS, "epsilon": 1.0, **more}), schema)


def compare_task(schema: Schema = SCHEMA, **more: Any) -> Compare:
    return Compare.canonical(CompareSettings.model_validate({**COLUMNS, **more}), schema)


def rows_of(days: np.ndarray, died: np.ndarray, arm: np.ndarray) -> list[dict[str, str]]:
    bins = np.searchsorted(EDGES, days, side="right") - 1
    rest = {"status": "1", "stage": "1", "years": "2"}
    return [
        {"days": BINS[b], "died": "yes" if d else "no", "arm": ("young", "old")[a], **rest}
        for b, d, a in zip(bins, died, arm, strict=True)
    ]


def heart() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Stanford's heart transplants: days, whether the patient died, whether 50 or older."""
    data = sm.datasets.heart.load_pandas().data
    return data["survival"].to_numpy(), data["censors"].to_numpy() == 1, (data["age"] >= 50).to_numpy().astype(int)


UNKNOWN = [
    {"days": "?", "died": "yes", "arm": "old", "status": "1", "stage": "1", "years": "2"},
    {"days": BINS[0], "died": "?", "arm": "old", "status": "1", "stage": "1", "years": "2"},
    {"days": BINS[0], "died": "yes", "arm": "?", "status": "1", "stage": "1", "years": "2"},
]  # none of which is meant


def test_the_interval_of_a_median_begins_where_its_bin_does() -> None:
    """Deaths of days 20 to 25 are counted at 25: a median of 21 must be in the interval."""
    drawn = curve(np.array([[0, 0, 40.0], [0, 45.0, 15.0]]), 0.0)
    assert drawn.survival[1] > 0.5 > drawn.low[1]
    assert median(drawn, np.array([0.0, 20, 25, 81])) == (25, 81, 20, None)


def test_a_last_bin_far_wider_than_the_others_is_open() -> None:
    """As `smc prepare` leaves it: edges over the middle of the times, and a bound far beyond them."""
    schema = Schema({"days": Domain(IntegerType(low=0, high=2000, edges=(5, 10, 15))), "died": Domain(FlagType())})
    days = np.random.default_rng(4).geometric(1 / 30, 400)
    bins = np.searchsorted([5, 10, 15], days, side="right")
    rows = [{"days": schema.attributes["days"][b], "died": "yes"} for b in bins]
    task = curve_task(schema, arm=None, epsilon=None, exact=True)
    document = task.document(state_of(task, [rows, []], "clear"))
    assert np.median(days) > 15
    assert document["curves"][0]["median"] == {"after": 15, "value": None, "low": 15, "high": None}
    mean = document["curves"][0]["restricted_mean"]
    assert mean["until"] == 15
    assert mean["least"] < np.minimum(days, 15).mean() < mean["most"]
    assert mean["value"] == pytest.approx(np.minimum(days, 15).mean(), abs=0.5)
    text = task.text(document, 0)
    assert "median beyond 15" in text
    assert "the last bin, from 15 to 2001, is far wider than the others" in text.replace("2,001", "2001")


def test_the_mean_lies_where_bins_let_it() -> None:
    """The least is that of times at the beginnings of bins, the most that of times at their ends."""
    days, died, arm = heart()
    died[:] = True
    task = curve_task(epsilon=None, exact=True)
    document = task.document(state_of(task, [rows_of(days, died, arm), []], "clear"))
    bins = np.searchsorted(EDGES, days, side="right") - 1
    for place, table in enumerate(document["curves"]):
        there = bins[arm == place]
        mean = table["restricted_mean"]
        assert mean["least"] == pytest.approx(EDGES[there].mean(), abs=1e-4)
        assert mean["most"] == pytest.approx(EDGES[there + 1].mean(), abs=1e-4)
        assert mean["least"] < days[arm == place].mean() < mean["most"]
        assert "far wider" not in task.text(document, 0)


def test_the_bit_is_statsmodels_of_the_binned_times() -> None:
    days, died, arm = heart()
    rows = rows_of(days, died, arm)
    _, p = survdiff(np.searchsorted(EDGES, days, side="right"), died.astype(int), arm)
    for level in (p * 0.98, p * 1.02):
        task = compare_task(level=float(level))
        document = task.document(state_of(task, [[*rows[::2], *UNKNOWN], rows[1::2]], "clear"))
        assert document["differ"] == (level > p)
        assert ("yes" in task.text(document, 0)) == document["differ"]
    assert task.disclosure.opened([1]) == {"decision": 1}
    assert not task.disclosure.spends
    assert "number" not in " ".join(task.disclosure.reveals("b")[:1])


@pytest.mark.parametrize("rows", [[], rows_of(np.array([5.0] * 4), np.array([1] * 4), np.array([0, 0, 1, 1]))])
def test_nothing_differs_where_there_is_nothing_to_compare(rows: list[dict[str, str]]) -> None:
    """Also: all die in the first bin; and one party has no rows at all."""
    task = compare_task(level=0.5)
    assert not task.document(state_of(task, [rows, []], "clear"))["differ"]


def test_an_exact_curve_is_statsmodels() -> None:
    days, died, arm = heart()
    rows = rows_of(days, died, arm)
    task = curve_task(epsilon=None, exact=True)
    document = task.document(state_of(task, [[*rows[::2], *UNKNOWN], rows[1::2]], "clear"))
    bins = np.searchsorted(EDGES, days, side="right") - 1
    for place, table in enumerate(document["curves"]):
        there = arm == place
        reference = SurvfuncRight(bins[there], died[there].astype(int))
        expected = dict(zip(reference.surv_times.tolist(), reference.surv_prob.tolist(), strict=True))
        deviations = dict(zip(reference.surv_times.tolist(), reference.surv_prob_se.tolist(), strict=True))
        for b, point in enumerate(table["points"]):
            if b in expected:
                assert point["survival"] == pytest.approx(expected[b], abs=1e-6)
                if deviations[b] > 0:
                    spread = np.log(point["survival"] / point["low"]) / 1.959964
                    assert spread == pytest.approx(deviations[b] / expected[b], rel=1e-3)  # Greenwood's
    chi, p = survdiff(bins, died.astype(int), arm)
    assert document["log_rank"]["chi_square"] == pytest.approx(chi, abs=1e-5)
    assert document["log_rank"]["p"] == pytest.approx(p, abs=1e-6)
    text = task.text(document, 0)
    assert "log-rank" in text
    assert "median" in text
    assert svg_of(Curve.files(), document).startswith("<?xml")
    assert Curve.table(document).count("\n") == 1 + 2 * len(BINS)


def test_the_test_of_three_arms_is_statsmodels() -> None:
    table = np.random.default_rng(3).integers(0, 9, (3, 2, 6))
    arm, event, time = (np.repeat(places, table.reshape(-1)) for places in np.indices(table.shape).reshape(3, -1))
    assert log_rank(table.astype(float), 0.0) == pytest.approx(survdiff(time, event, arm), rel=1e-6)


@pytest.mark.parametrize(("degrees", "x", "p"), [(1, 3.841459, 0.05), (2, 5.991465, 0.05), (5, 15.08627, 0.01)])
def test_tails_are_those_of_tables(degrees: int, x: float, p: float) -> None:
    assert chi2_tail(x, degrees) == pytest.approx(p, rel=1e-5)
    assert float(chi2_quantile(p, degrees)) == pytest.approx(x, rel=1e-5)


def drawn(rows: int, bins: int, random: np.random.Generator) -> np.ndarray:
    """Rows as in a trial: Weibull lifetimes, follow-up of different length; int[2, bins]."""
    life, follow_up = random.weibull(1.3, rows) * 420, random.uniform(100, 1100, rows)
    places = np.minimum((np.minimum(life, follow_up) * bins / 1022).astype(int), bins - 1)
    table = np.zeros((2, bins), dtype=np.int64)
    np.add.at(table, ((life <= follow_up).astype(int), places), 1)
    return table


def laplacian(shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
    chance = 1 - np.exp(-1.0)
    return random.geometric(chance, shape) - random.geometric(chance, shape)


def test_a_curve_is_near_and_its_intervals_cover() -> None:
    """At epsilon 1, 12 bins and 228 rows; the intervals count that rows are a sample, and the noise."""
    random, bins = np.random.default_rng(7), 12
    noise = laplace(1, 1, "add-remove").variance  # type: ignore[arg-type]
    survivors = curve(drawn(400_000, bins, random).astype(float), 0).survival
    errors, inside = [], []
    for _ in range(400):
        table = drawn(228, bins, random)
        noisy = consistent(table + laplacian(table.shape, random), 10**6).astype(float)
        result = curve(noisy, noise)
        errors.append(np.mean((result.survival - curve(table.astype(float), 0).survival) ** 2))
        inside.append((result.low <= survivors) & (survivors <= result.high))
    assert np.sqrt(np.mean(errors)) <= 0.03
    assert np.mean(inside) >= 0.93


def test_the_variance_of_noise_is_that_of_its_law() -> None:
    assert laplace(1, 1, "add-remove").variance == pytest.approx(  # type: ignore[arg-type]
        laplacian((10**6,), np.random.default_rng(1)).var(), rel=0.02
    )


def test_arms_alike_are_told_to_differ_by_chance_only() -> None:
    """The p-value counts the noise: at the level 0.05 about a twentieth of noisy comparisons of equal arms differ."""
    random = np.random.default_rng(11)
    noise = laplace(1, 1, "add-remove").variance  # type: ignore[arg-type]
    values = []
    for _ in range(400):
        table = np.stack([drawn(150, 12, random) for _ in range(2)])
        noisy = consistent(table + laplacian(table.shape, random), 10**6).astype(float)
        values.append(log_rank(noisy, noise)[1])
    assert 0.01 <= np.mean(np.array(values) < 0.05) <= 0.09


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"event": "stage"}, "event: 'stage' has 3 values ('1', '2', '3'), an event needs two values"),
        ({"event": "status"}, "event_value: name the value of 'status' that means yes: '1', '2'"),
        ({"event": "status", "event_value": "3"}, "event_value: '3' is not a value of 'status'"),
        ({"time": "site"}, "time: an order needs bounds"),
        ({"time": "sex"}, "time: 'sex' is a flag"),
        ({"time": "weeks"}, "'weeks'"),
        ({"where": "days = 'under 30'"}, "where: must not restrict the column of time"),
        ({"event": None}, "survive"),
        ({"time": "arm", "arm": "arm"}, "name each column once"),
    ],
)
def test_what_makes_no_sense_is_refused(fields: dict[str, Any], message: str) -> None:
    for task in (curve_task, compare_task):
        with pytest.raises(InputError) as error:
            task(**fields)
        assert message in str(error.value)
        assert "\n" not in str(error.value)


def test_too_many_bins_or_arms_are_refused() -> None:
    fine = Schema({**SCHEMA.attributes, "days": Domain(IntegerType(low=0, high=1800))})
    with pytest.raises(InputError, match="1801 bins, more than 256"):
        curve_task(fine, arm=None)
    with pytest.raises(InputError, match=r"3 values .*two arms are compared: --where 'stage in"):
        compare_task(arm="stage")
    assert compare_task(arm="stage", where="stage in [1, 3]").query.numbers == 4 * len(BINS)
    assert curve_task(arm="stage").query.numbers == 6 * len(BINS)


def test_times_are_numbers_or_dates() -> None:
    """Numbers that are listed are put in order; days are bins without numbers."""
    listed = curve_task(time="years", arm=None)
    state = state_of(listed, [[{**UNKNOWN[0], "years": year} for year in ("2", "30")], []], "clear")
    assert [point["bin"] for point in listed.document(state)["curves"][0]["points"]] == ["2", "10", "30"]
    assert listed.document(state)["edges"] == [2, 10, 30, 50]
    dates = Domain(DateType.model_validate({"low": "2020-01-01", "high": "2020-12-31", "granularity": "quarter"}))
    by_date = curve_task(Schema({**SCHEMA.attributes, "days": dates}), arm=None)
    assert by_date.document([3] * 8)["unit"] == "bins"


def test_costs_are_foreseen() -> None:
    task = compare_task(max_rows=60)
    sizes = [rows_of(np.array([5.0] * n), np.array([1] * n), np.array([0] * n)) for n in (1, 4)]

    def party(session: Any) -> Any:
        engine = engine_of(session, Profile("yao"))
        task.run(engine, task.own_rows(counts(task, sizes[session.party])), None, lambda step: None)
        return session.meter.total

    costs = run_local(party)
    expected = forecast(task.cost(None).program, Profile("yao")).costs  # type: ignore[arg-type]
    assert [(c.bytes_sent, c.rounds) for c in costs] == [(c.bytes_sent, c.rounds) for c in expected]
