"""The linear classifier as a job: what it spends, opens and costs, beside plain references; what it says."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parties.jobs import kinds
from parties.jobs.inputs import Inputs
from parties.jobs.kinds.regress.joint import RegressJoint
from parties.jobs.regress.choice import Choice
from parties.jobs.regress.gradient import Gradient
from parties.jobs.regress.output import Output
from parties.jobs.regress.reading import rows_of
from parties.jobs.regress.settings import RegressSettings, default_delta
from parties.jobs.release.noise import Noise
from parties.jobs.result_files import picture as svg_of
from parties.models.linear import LinearModel
from parties.node.budget.composition import composed, epsilon_at
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema
from parties.tables.unfit import without_cells
from protocols.counts import RowCounts
from protocols.regression.features import ONE, Contrasts
from protocols.regression.losses import radius
from protocols.regression.minimiser import minimise
from protocols.regression.rows import TrainingRows
from protocols.release import descent
from protocols.release.descent import own_numbers
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from tests.support.linear import FEATURES, SCHEMA, matrix, random_rows
from tests.support.questions import Known, known_noise

CONTRASTS = Contrasts(FEATURES.columns)
OWN = (random_rows(11), random_rows(12))
OUTPUT = {"method": "output", "least_rows": 40}
CHOICE = {"method": "choice", "columns": ("age",)}
CHOICES = {"method": "choice", "steps": 3}
METHODS: list[dict[str, Any]] = [{"steps": 5}, OUTPUT, CHOICE, CHOICES]


def task(schema: Schema = SCHEMA, **fields: Any) -> RegressJoint:
    given = {"epsilon": 1.0, "max_rows": 500, "numeric": ("age",), **fields}
    return RegressJoint.canonical(RegressSettings.model_validate(given), schema)


def own_rows(made: RegressJoint, party: int) -> TrainingRows:
    """A party's rows, by the columns of the task."""
    some = OWN[party]
    places = [("town", "age").index(column.name) for column in made.features.columns]
    table = np.repeat(np.column_stack([some.codes, some.signs > 0]).astype(np.int64), some.counts, axis=0)
    return made.own_rows(RowCounts([len(c.values) for c in made.features.columns], 2, table[:, places], table[:, 2]))


def state_of(made: RegressJoint, profile: Profile | None = None, meters: dict[int, Any] | None = None) -> Any:
    def party(session: Any) -> Any:
        if meters is not None:
            meters[session.party] = session.meter
        data = made.method.own(own_rows(made, session.party))
        return made.run(engine_of(session, profile or Profile("clear")), data, made.states.beginning, lambda step: None)

    one, other = run_local(party)
    assert one == other
    return one


def test_the_rows_are_the_distinct_ones() -> None:
    made = task()
    assert made.features == FEATURES
    assert task(**OUTPUT).method.space == FEATURES
    assert made.method.space == CONTRASTS
    found, expected = own_rows(made, 0), replace(OWN[0], features=CONTRASTS)
    assert found.total == OWN[0].total
    weights = np.array([0.5, -1, 2, -0.5])
    loss = made.settings.objective
    assert found.slopes(loss, weights, 9999).tolist() == expected.slopes(loss, weights, 9999).tolist()
    again = rows_of(RowCounts([3, 4], 2, np.zeros((0, 2), int), np.zeros(0, int)), FEATURES)
    assert again.total == 0


def test_gradient_descent_is_that_of_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """With noise that is known: the weights are those of one curator's gradient descent, but for the digits."""
    monkeypatch.setattr(descent.Descent, "law", Known(0))
    made = task(steps=30, clip=1.0, rate=8.0)
    found = made.method.weights(state_of(made))
    scale = FEATURES.unit / ONE
    signed = np.concatenate([matrix(rows) for rows in OWN]) / scale  # a 1 for the value, the number, 1
    apart = np.array([[1, 1], [-1, 1], [0, -2]]) / np.sqrt([2, 6])  # the values of a column, as contrasts
    space = np.block([[apart, np.zeros((3, 2))], [np.zeros((2, 2)), np.diag([1, math.sqrt(1.5)])]])
    space /= math.sqrt(2 / 3 + 1 + 1.5)
    rows, weights, velocity, path = signed @ space, np.zeros(4), np.zeros(4), []
    for step in range(30):
        slope = -(rows.T @ (1 / (1 + np.exp(rows @ weights)))) / len(rows)
        velocity = min(step / (step + 3), 0.9) * velocity - 8 * (slope + made.settings.regularisation * weights)
        weights = weights + velocity
        path.append(weights)
    assert found * scale == pytest.approx(space @ np.mean(path[15:], axis=0), abs=0.05)
    assert np.linalg.norm(found) > 1
    monkeypatch.setattr(descent.Descent, "law", Known(10_000))
    assert np.abs(made.method.weights(state_of(made)) - found).max() > 0.2


def test_output_is_the_mean_of_both_minimisers(monkeypatch: pytest.MonkeyPatch) -> None:
    made = task(**OUTPUT)
    assert isinstance(made.method, Output)
    exact = np.mean(
        [minimise(own_rows(made, p), made.settings.objective, made.method.regularisation).weights for p in (0, 1)],
        axis=0,
    )
    for noise in (0, 777):
        monkeypatch.setattr(Noise, "law", known_noise(noise))
        found = made.method.weights(state_of(made))
        assert found == pytest.approx(exact + noise * made.method.unit / 2, abs=made.method.unit)
    document = made.document(state_of(made))
    sigma = float(made.method.noise.scale) * made.method.unit / 2 * made.features.unit / 2**14
    assert document["sigma"] == pytest.approx(sigma)
    reach = radius(made.settings.objective, made.method.regularisation)
    assert 2 ** (made.method.part.width - 1) > reach / made.method.unit + 1
    moved = 2 / (40 * made.method.regularisation)
    assert made.method.moved == pytest.approx(moved, rel=1e-6)
    inexact = 1e-9 / made.method.regularisation  # both minimisers are off by that, for their gradients are not quite 0
    assert made.method.moved - moved == pytest.approx(2 * inexact, rel=1e-4)
    assert made.method.squared >= (made.method.moved / made.method.unit + np.sqrt(5)) ** 2


def test_weights_that_are_mostly_noise_are_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    """In text, picture and JSON; of a choice nothing is said, and nothing where there are rows enough."""
    monkeypatch.setattr(Noise, "law", known_noise(0))  # the weights are what they are, whatever the noise could be
    monkeypatch.setattr(descent.Descent, "law", Known(0))
    few = {**OUTPUT, "least_rows": 20}
    for fields, word in (({"steps": 5, "epsilon": 0.05}, "may be"), ({**few, "epsilon": 0.05}, "are")):
        made = task(**fields)
        document = made.document(state_of(made))
        assert document["mostly_noise"] is True
        said = f"the weights {word} mostly noise: too few rows for this epsilon"
        assert said in made.text(document, 0).splitlines()
        assert said in svg_of(made.files(), document)
        assert "a constant answer may be as good" in made.text(document, 0).splitlines()
    made = task(**OUTPUT, epsilon=16.0, **{"lambda": 0.5})
    document = made.document(state_of(made))
    assert document["noise"] == pytest.approx(document["sigma"], rel=1e-3)
    assert document["mostly_noise"] is False
    assert "mostly noise" not in made.text(document, 0)
    made = task(**CHOICE)
    assert "noise" not in made.document(state_of(made))


def test_a_choice_is_of_the_weight_of_least_objective() -> None:
    """Without noise to speak of; and no row changes a score by more than is promised."""
    made = task(**CHOICE, epsilon=16.0)
    assert isinstance(made.method, Choice)
    scores = made.method.own(own_rows(made, 0)) + made.method.own(own_rows(made, 1))
    loss, both = made.settings.objective, [own_rows(made, party) for party in (0, 1)]
    totals = [
        sum(rows.total * rows.objective(loss, made.method.regularisation, np.array([w, 0.0])) for rows in both)
        for w in made.method.grid
    ]
    best = int(np.argmin(totals))
    assert scores[best, 0] >= scores.max() - 2 * sum(rows.total for rows in both)
    ((chosen,),) = state_of(made)
    assert scores[chosen, 0] >= scores.max() - 60 * made.method.BEST / 16
    assert made.method.weights(((chosen,),)).tolist() == [made.method.grid[chosen], 0.0]
    every = made.method.own(TrainingRows(made.features, np.array([[1]]), np.array([1.0]), np.array([1])))
    assert 0 <= every.min() <= every.max() <= made.method.BEST
    assert (made.method.law.scale, task(**CHOICE, adjacency="replace").method.law.scale) == (  # type: ignore[attr-defined]
        Fraction(Choice.BEST, 16),
        2 * Choice.BEST,
    )


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("fields", METHODS, ids=str)
def test_what_is_spent_is_epsilon(fields: dict[str, Any], epsilon: float, adjacency: str) -> None:
    """Over all steps, by OpenDP's conversion: no more, and not much less; and the noise is that of the spending."""
    made = task(**fields, epsilon=epsilon, adjacency=adjacency)
    (spent,) = made.disclosure.spends
    assert (spent.adjacency, spent.times) == (adjacency, 1 if fields is CHOICES else made.method.steps)
    loss = composed(made.disclosure.spends, spent.adjacency)
    if fields in (CHOICE, CHOICES):
        assert (loss.epsilon, loss.rho) == (Fraction(str(epsilon)), 0)
        return
    assert made.settings.delta is not None
    told = epsilon_at(loss.concentrated, Fraction(str(made.settings.delta)))
    assert 0.6 * epsilon < told <= epsilon
    method: Any = made.method
    squared = method.change.squared if isinstance(method, Gradient) else method.squared
    assert float(spent.amount) == pytest.approx(squared / (2 * float(method.noise.scale) ** 2))
    if isinstance(method, Gradient):
        assert method.problem.variance == method.noise.scale**2
        assert method.change.replaced == (adjacency == "replace")
    else:  # a minimiser in units of a 2^10th of what a row moves it by, rounded, and 1 for all rounding of doubles
        assert squared >= (1 << 10) ** 2 + 2 * 1024 * (1 + math.sqrt(made.features.number))


@pytest.mark.parametrize("profile", [Profile("yao"), Profile("gmw")], ids=str)
@pytest.mark.parametrize("fields", [{"steps": 2}, OUTPUT, CHOICE, CHOICES], ids=str)
def test_the_estimate_is_what_is_measured(fields: dict[str, Any], profile: Profile) -> None:
    made = task(**fields)
    assert made.cost(Inputs()).is_countable
    counted = forecast(made.cost(Inputs()).program, profile)
    meters: dict[int, Any] = {}
    found = state_of(made, profile, meters)
    for party in (0, 1):
        for field in ("bytes_sent", "bytes_received", "messages", "rounds", "and_gates", "bits_opened"):
            assert getattr(counted.costs[party], field) == getattr(meters[party].total, field), field
    opened = {"gradient": 2 * 5, "output": 5, "choice": fields.get("steps", 1)}[made.settings.method]
    assert sum(made.disclosure.opened(found).values()) == opened
    assert sum(made.disclosure.opened(found, 0).values()) == opened // made.method.steps
    assert sum(made.disclosure.opened(()).values()) == 0


@pytest.mark.parametrize("fields", METHODS, ids=str)
def test_what_is_said_of_a_result(fields: dict[str, Any]) -> None:
    """JSON that predicts, text and picture; states are kept, cut and found again; the peer reads the same task."""
    made = task(**fields)
    state = state_of(made)
    assert made.states.decode(json.loads(json.dumps(made.states.encode(state)))) == state
    assert made.states.decode(made.states.encode(())) == made.states.beginning == made.states.cut(state, 0)
    assert (made.states.steps(state), made.states.is_done(state), made.states.is_done(state[:-1])) == (
        made.method.steps,
        True,
        False,
    )
    document = json.loads(json.dumps(made.document(state)))
    assert document == made.document(state)
    text, picture = made.text(document, 0), svg_of(made.files(), document)
    assert text.endswith("is good\n")
    by = "3 choices among 33 weights" if fields is CHOICES else f"lambda {document['lambda']:g}"
    for said in ("intercept", "epsilon 1", by, "age, each 1 above "):
        assert said in text
    assert "What speaks for end = bad" in picture
    assert {"steps": "town = north"}.get(next(iter(fields)), "age") in picture
    model = LinearModel.parse(document)
    weights, scale = made.method.weights(state), made.features.unit / 2**14
    town = {"town": "south"} if "town" in made.settings.columns else {}  # type: ignore[operator]
    score = weights[-1] + (weights[2] if town else 0) + weights[-2] * 1.0
    row = {"age": "40"} | town
    found = model.intercepts[0] + sum(column.read(row[name])[0] for name, column in model.columns.items())
    assert found == pytest.approx(score * scale, abs=1e-6)
    assert RegressJoint.agreed(made.specification()).specification() == made.specification()
    assert "with noise that neither knows" in made.disclosure.reveals("bob")[0]
    assert "differential privacy" in made.disclosure.reveals("bob")[1]
    assert "nois" in made.disclosure.question


def test_public_numbers_choose_the_rest() -> None:
    """More rows: more steps, nothing clipped; a fixed setting stays; and what was chosen is part of what is agreed."""
    small, large = task(max_rows=100), task(max_rows=10**6)
    assert (small.settings.steps, small.settings.clip) == (15, 0.5)
    assert task(max_rows=10).settings.steps == 5
    assert (large.settings.steps, large.settings.clip) == (60, 1.0)
    assert (small.settings.regularisation, large.settings.regularisation) == (0.0005, 0.00001)
    assert small.settings.rate == pytest.approx(19 / 6 * (15 / 5) / 20 * 8, rel=0.05)  # r is (steps / 5)^2
    assert large.settings.rate == 64
    huber = task(loss="huber", huber=0.25, max_rows=10**6)
    assert isinstance(huber.method, Gradient)
    assert (huber.settings.rate, huber.method.problem.short) == (64, 1)
    assert isinstance(large.method, Gradient)
    assert large.method.problem.short == 8
    assert task(steps=7, rate=0.5, clip=0.25, delta=1e-5, **{"lambda": 0.5}).specification() | {
        "steps": 7, "rate": 0.5, "clip": 0.25, "delta": 1e-5, "lambda": 0.5,
    } == task(steps=7, rate=0.5, clip=0.25, delta=1e-5, **{"lambda": 0.5}).specification()  # fmt: skip
    for rows in (1, 5, 499, 500, 501, 65535):
        delta = Fraction(str(default_delta(rows)))
        assert Fraction(1, 20_000 * rows) < delta <= Fraction(1, 2000 * rows)
    weak, strong = (task(**OUTPUT, epsilon=e).settings.regularisation for e in (0.1, 4.0))
    assert weak is not None
    assert strong is not None
    assert weak > 10 * strong


def test_fewer_rows_than_agreed_are_refused() -> None:
    made = task(method="output", least_rows=450)
    with pytest.raises(InputError, match=f"there are {OWN[0].total} rows, fewer than 450") as failed:
        own_rows(made, 0)
    assert str(OWN[0].total) not in without_cells(failed.value)


def test_it_is_a_kind() -> None:
    assert kinds.find("regress joint") is RegressJoint


FIRST = (500, -900, 700, 100, 4 * 32)  # opened by a first step


def test_from_a_mapped_table(tmp_path: Path) -> None:
    """What a node opens is what a file gives, and is recognised again; other rows are not."""
    lines = [("north", "0", "good"), ("south", "40", "bad"), ("south", "40", "bad"), ("mid", "", "bad")]
    made, digests, sums = task(steps=3), [], []
    for name, some in (("a", lines), ("b", lines[::-1]), ("c", [*lines[:3], ("mid", "10", "bad")])):
        (tmp_path / f"{name}.csv").write_text("end,age,town\n" + "".join(f"{e},{a},{t}\n" for t, a, e in some))
        given = {"source": "x.csv", "schema": "s.toml", "max_rows": 10, "columns": {}}
        table = TableSettings.model_validate(given).model_copy(update={"source": str(tmp_path / f"{name}.csv")})
        with made.open(Inputs(0, table, SCHEMA)) as opened:
            assert opened.fingerprint is not None
            digests.append(opened.fingerprint(b"key"))
            sums.append(opened.data.sums([FIRST]).tolist())
    assert digests[0] == digests[1] != digests[2]
    assert sums[0] == sums[1] != sums[2]
    codes = [[0, 0], [2, 2], [1, 3]]
    expected = TrainingRows(CONTRASTS, np.array(codes), np.array([-1.0, 1, 1]), np.array([1, 2, 1]))
    method: Any = made.method
    slopes = expected.slopes(made.settings.objective, method.problem.path([FIRST])[-1], method.clip)
    assert sums[0] == own_numbers(slopes, 4).tolist()
