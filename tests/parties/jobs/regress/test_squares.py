"""Least squares from noisy second moments: against numpy on all rows at once, and the law of its noise."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.jobs.inputs import Inputs
from parties.jobs.kinds.regress.joint import RegressJoint
from parties.jobs.regress import squares
from parties.jobs.regress.settings import RegressSettings
from parties.jobs.regress.squares import Squares
from parties.jobs.release.noise import Noise
from parties.jobs.result_files import picture as svg_of
from parties.models.linear import LinearModel
from parties.models.linear import score as score_of
from parties.tables.delimited import Columns
from parties.tables.schema import Schema
from parties.tables.types import Domain, read_type
from protocols.counts import RowCounts
from protocols.regression.features import ONE
from protocols.regression.moments import Moments
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from tests.support.questions import Known

pytestmark = pytest.mark.slow

SCHEMA = Schema(
    {
        "town": ("north", "mid", "south"),
        "age": Domain(read_type({"type": "integer", "low": 18, "high": 90, "edges": [40]})),
        "bmi": Domain(read_type({"type": "real", "low": 15, "high": 45, "step": 0.5, "missing": True})),
        "cost": Domain(read_type({"type": "real", "low": -100, "high": 900, "step": 0.5, "missing": True})),
    }
)
NAMES = ("town", "age", "bmi")
ODD = (1 << 26) + 1  # rows that are alike: their products have more digits than a float


def task(method: str = "least-squares", **fields: Any) -> RegressJoint:
    made = {"method": method, "target": "cost", "epsilon": 1.0, "max_rows": 5000, **fields}
    return RegressJoint.canonical(RegressSettings.model_validate(made), SCHEMA)


def table_of(seed: int, many: int, made: RegressJoint) -> tuple[RowCounts, np.ndarray]:
    """Rows as the task counts them, and as categories."""
    rng = np.random.default_rng(seed)
    schema = made.schema.attributes
    table = np.column_stack([rng.integers(len(schema[name]), size=many) for name in (*NAMES, "cost")])
    numbers = [np.array([math.nan if v == "?" else float(v) for v in schema[name]]) for name in ("age", "bmi", "cost")]
    age, bmi = numbers[0][table[:, 1]], np.nan_to_num(numbers[1][table[:, 2]], nan=30.0)
    cost = 3 * age + 5 * bmi - 40 * (table[:, 0] == 2) + rng.normal(size=many) * 20
    table[:, 3] = np.abs(cost[:, None] - np.nan_to_num(numbers[2], nan=1e9)).argmin(axis=1)
    table[rng.random(many) < 0.05, 3] = schema["cost"].index("?")
    sizes = [len(schema[name]) for name in NAMES]
    return RowCounts(sizes, len(schema["cost"]), table[:, :3], table[:, 3]), table


def state_of(
    made: RegressJoint, parts: list[RowCounts], meters: dict[int, Any] | None = None, of: str = "clear"
) -> Any:
    def party(session: Any) -> Any:
        if meters is not None:
            meters[session.party] = session.meter
        data = made.method.own(made.own_rows(parts[session.party]))
        return made.run(engine_of(session, Profile(of)), data, made.states.beginning, lambda step: None)

    one, other = run_local(party)
    assert one == other
    return one


def design(made: RegressJoint, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows as vectors by the definition of features, and their targets in [-1, 1]; rows without one left out."""
    schema = made.schema.attributes
    table = table[table[:, 3] != schema["cost"].index("?")]

    def number(name: str, place: int, low: float, high: float) -> np.ndarray:
        known = np.array([(low + high) / 2 if value == "?" else float(value) for value in schema[name]])
        return (known[table[:, place]] - (low + high) / 2) / ((high - low) / 2)

    towns = np.eye(3)[table[:, 0]]
    x = np.column_stack([towns, number("age", 1, 18, 90), number("bmi", 2, 15, 45), np.ones(len(table))])
    return x * made.features.unit / ONE, number("cost", 3, -100, 900)


def test_without_noise_it_is_numpys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Least squares of the pooled rows, to what rounding to multiples of 2^-10 leaves; and ridge by its formula."""
    monkeypatch.setattr(Noise, "law", lambda self, numbers: Known(0))
    monkeypatch.setattr(squares.Squares, "_sigma", 1 / 1024)  # of rounding alone
    for made in (task(), task("ridge", **{"lambda": 0.05})):
        (left, one), (right, other) = table_of(1, 900, made), table_of(2, 700, made)
        state = state_of(made, [left, right])
        x, y = design(made, np.concatenate([one, other]))
        if made.settings.method == "ridge":
            expected = np.linalg.solve(x.T @ x + 0.05 * len(x) * np.eye(6), x.T @ y)
        else:
            expected = np.linalg.lstsq(x, y, rcond=None)[0]
        found = made.method.weights(state)
        assert x @ found == pytest.approx(x @ expected, abs=2e-3)
        assert made.document(state)["rows"] == len(x)
        off = math.sqrt(float(np.mean((x @ expected - y) ** 2))) * 500
        assert made.document(state)["rmse"] == pytest.approx(off, rel=0.02)


@pytest.mark.parametrize(("columns", "alike", "sigma"), [(4, 0.0, 12.0), (8, 0.95, 12.0), (8, 0.5, 50.0)])
def test_the_error_that_is_told_is_that_of_the_rows(columns: int, alike: float, sigma: float) -> None:
    """By simulation: what noisy moments say of weights that were fitted to them is less; corrected, it is right."""
    rng, rows, trials = np.random.default_rng(1), 3600, 200
    x = np.clip(alike * rng.uniform(-1, 1, (rows, 1)) + (1 - alike) * rng.uniform(-1, 1, (rows, columns - 1)), -1, 1)
    x = np.column_stack([x, np.ones(rows)]) / math.sqrt(columns)
    y = np.clip(x @ rng.normal(size=columns) * 0.5 + 0.15 * rng.normal(size=rows), -1, 1)
    features = SimpleNamespace(number=columns, unit=ONE / math.sqrt(columns))
    moments = Moments(features, None, None)  # type: ignore[arg-type]  # what it takes of rows is not asked for
    upper = np.triu_indices(columns + 1)
    exact = (np.column_stack([x, y]).T @ np.column_stack([x, y]))[upper]
    squares, within = np.zeros((trials, 2)), 0
    found, said = np.zeros((trials, columns)), np.zeros((trials, columns))
    for trial in range(trials):
        noisy = exact + rng.normal(size=len(exact)) * sigma
        weights = moments.weights(noisy, 0.0, sigma)
        error, (low, high) = moments.error(noisy, weights, 0.0, sigma)
        squares[trial] = np.mean((x @ weights - y) ** 2), error**2
        found[trial], said[trial] = weights, moments.deviations(noisy, weights, 0.0, sigma)
        within += low <= math.sqrt(squares[trial, 0]) <= high
    off = squares[:, 1] - squares[:, 0]
    assert abs(off.mean()) < 4 * off.std() / math.sqrt(trials), "without the correction 0.57 to 0.94 of it are told"
    assert within / trials > 0.9
    assert np.median(said, axis=0) == pytest.approx(found.std(axis=0), rel=0.2)


def test_with_noise_it_is_near_and_the_noise_has_its_law() -> None:
    made = task(epsilon=4.0)
    method = made.method
    assert isinstance(method, Squares)
    (left, one), (right, other) = table_of(3, 4900, made), table_of(4, 4900, made)
    exact = sum(method.own(made.own_rows(part)) for part in (left, right))
    off = [np.array(state_of(made, [left, right])[0]) - exact for _ in range(12)]
    samples = np.concatenate(off)
    sigma = float(method.noise.scale)
    assert abs(samples.mean()) < 5 * sigma / math.sqrt(len(samples))
    assert samples.var() == pytest.approx(sigma**2, rel=5 * math.sqrt(2 / len(samples)))
    x, y = design(made, np.concatenate([one, other]))
    found = method.weights((tuple((exact + off[0]).tolist()),))
    best = np.linalg.lstsq(x, y, rcond=None)[0]
    assert np.mean((x @ found - y) ** 2) < 1.3 * np.mean((x @ best - y) ** 2)


@settings(max_examples=30, deadline=None)
@given(
    st.integers(0, 2), st.integers(0, 72), st.integers(0, 61), st.integers(0, 2001), st.booleans(), st.integers(0, 99)
)
def test_a_row_changes_no_more_than_is_promised(
    town: int, age: int, bmi: int, cost: int, replaced: bool, seed: int
) -> None:
    """What both parties round, too: the change of all numbers together, in the Euclidean norm."""
    made = task(adjacency="replace" if replaced else "add-remove")
    method = made.method
    assert isinstance(method, Squares)
    _, table = table_of(seed, 7, made)
    sizes, classes = [len(made.schema.attributes[name]) for name in NAMES], len(made.schema.attributes["cost"])
    row = np.array([[town, min(age, sizes[1] - 1), min(bmi, sizes[2] - 1), min(cost, classes - 1)]])
    both = []
    for rows in (table, np.concatenate([table[1:] if replaced else table, row])):
        both.append(method.own(made.own_rows(RowCounts(sizes, classes, rows[:, :3], rows[:, 3]))))
    assert int(((both[0] - both[1]) ** 2).sum()) <= method.squared


def test_the_bound_on_a_row_is_not_far_from_what_rows_change() -> None:
    """All numbers at a bound change nearly so much: a smaller bound would be wrong."""
    made = task()
    method = made.method
    assert isinstance(method, Squares)
    sizes, classes = [len(made.schema.attributes[name]) for name in NAMES], len(made.schema.attributes["cost"])
    place = made.schema.attributes["cost"].index("900")
    bmi = made.schema.attributes["bmi"].index("45")
    row = RowCounts(sizes, classes, np.array([[2, sizes[1] - 1, bmi]]), np.array([place]))
    changed = math.sqrt(int((method.own(made.own_rows(row)) ** 2).sum()))
    assert changed <= math.sqrt(method.squared)
    assert 0.97 * math.sqrt(method.squared) < changed + math.isqrt(method.numbers) + 2
    spent = Fraction(method.squared) / (2 * method.noise.scale**2)
    assert float(made.disclosure.spends[0].amount) == pytest.approx(float(spent), rel=1e-9)


def test_grouped_rows_have_the_same_moments() -> None:
    made = task()
    rows, _ = table_of(5, 300, made)
    lines = rows.distinct()
    many = RowCounts([3, 73, 62], 2002, lines[:, :3], lines[:, 3], lines[:, 4] * ODD)
    one = made.own_rows(rows)
    assert (made.own_rows(many).sums == one.sums * ODD).all()  # type: ignore[union-attr]
    assert made.own_rows(many).total == 300 * ODD


@pytest.mark.parametrize("engine", ["yao", "gmw"])
def test_the_estimate_is_what_is_measured(engine: str) -> None:
    made, meters = task(columns=("age",)), dict[int, Any]()
    counted = forecast(made.cost(Inputs()).program, Profile(engine))
    schema = made.schema.attributes
    none = RowCounts([len(schema["age"])], len(schema["cost"]), np.zeros((0, 1), int), np.zeros(0, int))
    state_of(made, [none, none], meters, engine)
    for party in (0, 1):
        for field in ("bytes_sent", "bytes_received", "messages", "rounds", "and_gates", "bits_opened"):
            assert getattr(counted.costs[party], field) == getattr(meters[party].total, field), field


def test_the_model_predicts_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Noise, "law", lambda self, numbers: Known(0))
    monkeypatch.setattr(squares.Squares, "_sigma", 1 / 1024)  # of rounding alone
    made = task()
    (left, one), (right, other) = table_of(1, 900, made), table_of(2, 700, made)
    state = state_of(made, [left, right])
    document = made.document(state)
    model = LinearModel.parse(document)
    schema = made.schema.attributes
    table = np.concatenate([one, other])
    values = {name: [schema[name][code] for code in table[:, i]] for i, name in enumerate((*NAMES, "cost"))}
    found = model.predict(Columns(Path("x"), values, range(len(table))))
    about = score_of(found, values["cost"])
    assert about is not None
    assert about["rmse"] == pytest.approx(document["rmse"], rel=0.05)
    low, high = document["rmse_interval"]
    assert low < document["rmse"] < high
    assert about["r2"] > 0.8
    told = document["weight_noise"]["columns"]
    deviations = made.method.moments.deviations(np.array(state[0]) / 1024, made.method.weights(state), 0.0, 1 / 1024)  # type: ignore[attr-defined]
    assert list(told["town"].values()) == pytest.approx(deviations[:3] * made.features.unit / ONE * 500, abs=1e-9)
    assert told["age"] == pytest.approx(deviations[3] * made.features.unit / ONE * 500 / 36, abs=1e-9)
    assert document["weight_noise"]["intercept"] == pytest.approx(
        deviations[-1] * made.features.unit / ONE * 500, abs=1e-9
    )
    assert made.text(document, 0).splitlines()[1].split()[-1] == f"{document['weight_noise']['intercept']:.3g}"
    assert made.text(document, 0).splitlines()[-1] == "a row's number is the sum of its cells, from -100 to 900"
    assert "What adds to cost" in svg_of(made.files(), document)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"target": "town"}, "target: a number needs bounds"),
        ({"steps": 3}, "steps: does not apply to least-squares"),
        ({"lambda": 0.1}, "lambda: applies to ridge only"),
        ({"least_rows": 3}, "least_rows: does not apply to least-squares"),
    ],
)
def test_what_makes_no_sense_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        task(**fields)
