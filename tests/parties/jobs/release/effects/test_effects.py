"""Regressions with intervals as jobs: statsmodels' numbers in the columns' units, resumed runs, results, refusals."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm
from statsmodels.duration.hazard_regression import PHReg

from parties.jobs import kinds
from parties.jobs.kind import Step
from parties.jobs.release.effects.design import Design, column
from parties.jobs.release.effects.kind import Effects
from parties.jobs.release.noise import Noise
from parties.jobs.result_files import picture as svg_of
from parties.tables.schema import Schema
from parties.tables.types import Domain, FlagType, IntegerType, RealType
from protocols.release.scoring import Scoring, Walk
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from tests.support.questions import Known, counts

EDGES = (6, 12, 24, 36)
SCHEMA = Schema(
    {
        "age": Domain(IntegerType(low=18, high=90, edges=(40, 60), missing=True)),
        "arm": ("placebo", "low", "high", "?"),
        "died": Domain(FlagType(missing=True)),
        "years": Domain(RealType(low=0.5, high=4, step=0.5, edges=(1, 2))),
        "visits": Domain(IntegerType(low=0, high=6, edges=(2,))),
        "months": Domain(IntegerType(low=0, high=60, edges=EDGES)),
    }
)
SETTINGS: dict[str, dict[str, Any]] = {
    "regress logistic": {"target": "died"},
    "regress poisson": {"target": "visits", "exposure": "years"},
    "survive cox": {"time": "months", "event": "died", "limit": 20.0},
}
Row = dict[str, str]


def table(rows: int = 2500) -> tuple[list[Row], np.ndarray, dict[str, np.ndarray]]:
    """Rows as texts, their design matrix with an intercept, and their outcomes."""
    rng = np.random.default_rng(4)
    age, arm = rng.integers(18, 91, rows), rng.integers(0, 3, rows)
    line = 0.03 * (age - 50) + np.array([0, 0.4, -0.5])[arm]
    died = rng.random(rows) < 1 / (1 + np.exp(0.5 - line))
    years = rng.integers(1, 9, rows) / 2
    visits = np.minimum(rng.poisson(0.2 * years * np.exp(line / 2)), 6)
    months = np.minimum(rng.exponential(40 * np.exp(-line), rows), 60).astype(int)
    bins = np.searchsorted(EDGES, months, side="right")
    labels = [SCHEMA.attributes["months"][place] for place in bins]
    lines = [
        {
            "age": str(age[i]), "arm": ("placebo", "low", "high")[arm[i]], "died": "yes" if died[i] else "no",
            "years": f"{years[i]:g}", "visits": str(visits[i]), "months": labels[i],
        }
        for i in range(rows)
    ]  # fmt: skip
    design = np.column_stack([np.ones(rows), age, arm == 1, arm == 2]).astype(float)
    return lines, design, {"died": died.astype(float), "years": years, "visits": visits, "bins": bins}


def task_of(name: str, schema: Schema = SCHEMA, **settings: Any) -> Effects:
    kind = kinds.find(name)
    privacy = {} if settings.get("exact") else {"epsilon": 2.0}
    made = {"columns": ("arm", "age"), **privacy, "max_rows": 3000, **SETTINGS[name], **settings}
    task = kind.canonical(kind.Settings.model_validate(made), schema)  # type: ignore[attr-defined]
    assert isinstance(task, Effects)
    return task


def ran(task: Effects, parts: list[list[Row]], start: Any = (), engine: str = "clear") -> Any:
    def party(session: Any) -> Any:
        own = task.own_rows(counts(task, parts[session.party]))
        return task.run(engine_of(session, Profile(engine)), own, start, lambda step: None)

    one, other = run_local(party)
    assert one == other
    return one


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """No noise, and errors that count none."""
    monkeypatch.setattr(Noise, "law", lambda self, numbers: Known(0))
    monkeypatch.setattr(Effects, "scoring", property(lambda self: Scoring(self.likelihood, 3.0)))


def reference(name: str, design: np.ndarray, outcomes: dict[str, np.ndarray]) -> Any:
    if name == "survive cox":
        return PHReg(outcomes["bins"] + 1, design[:, 1:], status=outcomes["died"].astype(int), ties="efron").fit()
    if name == "regress poisson":
        family = sm.families.Poisson()
        return sm.GLM(outcomes["visits"], design, family=family, offset=np.log(outcomes["years"])).fit(tol=1e-13)
    return sm.Logit(outcomes["died"], design).fit(disp=0, tol=1e-12)


@pytest.mark.usefixtures("silent")
@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_without_noise_it_is_statsmodels(name: str) -> None:
    """In the units of the columns, from the rows of two parties, some of which lack a value."""
    lines, design, outcomes = table()
    task = task_of(name, steps=16)
    lacking = [{**lines[0], key: "?"} for key in ("age", "arm", *(["died"] if name != "regress poisson" else []))]
    document = task.document(ran(task, [[*lacking, *lines[::3]], lines[1::3] + lines[2::3]]))
    expected = reference(name, design, outcomes)
    found = document["effects"] if name == "survive cox" else [document["intercept"], *document["effects"]]
    low, high = expected.conf_int().T
    fields = {"coefficient": expected.params, "error": expected.bse, "low": low, "high": high, "p": expected.pvalues}
    for key, numbers in fields.items():
        assert [line[key] for line in found] == pytest.approx(numbers, abs=1e-6), key
    assert [line["ratio"] for line in found] == pytest.approx(np.exp(expected.params), rel=1e-5)
    labels = [(line["column"], line.get("value"), line.get("reference")) for line in document["effects"]]
    assert labels == [("age", None, None), ("arm", "low", "placebo"), ("arm", "high", "placebo")]
    slopes = np.array(expected.params)[-3:]
    covariance = np.array(expected.cov_params())[-3:, -3:]
    chi = slopes @ np.linalg.solve(covariance, slopes)
    assert document["wald"]["chi_square"] == pytest.approx(chi, rel=1e-5)
    assert document["wald"]["degrees"] == 3
    (of_arm,) = document["wald_of_columns"]
    rows = np.eye(len(expected.params))[-2:]
    reference_test = expected.wald_test(rows, use_f=False, scalar=True)
    assert (of_arm["column"], of_arm["degrees"]) == ("arm", 2)
    assert of_arm["chi_square"] == pytest.approx(float(reference_test.statistic), rel=1e-5)
    assert of_arm["p"] == pytest.approx(float(reference_test.pvalue), rel=1e-4)
    assert document["settled"]
    exact = {"died": outcomes["died"].sum(), "visits": outcomes["visits"].sum()}
    assert document["events"] == pytest.approx(exact["visits" if name == "regress poisson" else "died"], abs=1)
    rows = outcomes["years"].sum() if name == "regress poisson" else len(lines)
    assert document["total_exposure" if name == "regress poisson" else "rows"] == pytest.approx(rows, abs=1)


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_an_exact_result_is_statsmodels(name: str) -> None:
    """Of a real run, with its openings and bits; Cox's limit is out of the way by default."""
    lines, design, outcomes = table()
    task = task_of(name, exact=True, steps=8, **({"limit": None} if name == "survive cox" else {}))
    state = ran(task, [lines[::3], lines[1::3] + lines[2::3]], engine="gmw")
    document, expected = task.document(state), reference(name, design, outcomes)
    found = document["effects"] if name == "survive cox" else [document["intercept"], *document["effects"]]
    for key, numbers in {"coefficient": expected.params, "error": expected.bse}.items():
        assert [line[key] for line in found] == pytest.approx(numbers, abs=1e-6), key
    counted = "total_exposure" if name == "regress poisson" else "rows"
    exact = outcomes["years"].sum() if name == "regress poisson" else len(lines)
    events = outcomes["visits" if name == "regress poisson" else "died"].sum()
    assert (document[counted], document["events"]) == (round(exact), events)
    assert (document["exact"], "epsilon" in document, f"{counted}_within" in document) == (True, False, False)
    disclosure, numbers = task.disclosure, task.scoring.numbers
    assert disclosure.opened(state) == {"exact number": 8 * numbers}
    step = disclosure.bits.of_step(Step(0, numbers, (), ""))
    assert disclosure.bits.at_most == 8 * step == 8 * numbers * task.query.parts[0].opened_width
    assert disclosure.bits.at_least == disclosure.bits.at_most, "a part of the steps is worth nothing"
    assert disclosure.spends == ()
    assert "each party subtracts its own sums and learns the other's" in disclosure.reveals("b")[0]
    assert disclosure.exact in disclosure.reveals("b")[0]
    text = task.text(document, 0)
    assert "errors and intervals count the sample; rows with" in text
    assert "noise" not in text.replace("without noise", "")
    assert task.warnings == []


def test_exact_sums_tell_what_is_said() -> None:
    """A party that subtracts its own sums has the other's: in the first step counts of pairs of values."""
    lines, _, _ = table(200)
    task = task_of("regress logistic", exact=True, columns=("arm",))
    own, other = lines[::2], lines[1::2]
    opened = np.array(ran(task, [own, other])[0])
    apart = opened - task.own_rows(counts(task, own)).sums([])
    scoring = task.scoring
    information = apart[scoring.likelihood.size] / scoring.weight / 2**20  # a quarter of the rows
    assert round(4 * information) == len(other)


def test_exact_sums_of_several_steps_tell_the_number_of_each_combination() -> None:
    """The other party's, to one that follows the protocol: each step weighs the combinations in another way."""
    names, rng = ["a", "b", "c"], np.random.default_rng(1)
    task = task_of(
        "regress logistic", Schema(dict.fromkeys([*names, "died"], ("no", "yes"))), exact=True, columns=names
    )
    lines = [dict(zip([*names, "died"], row, strict=True)) for row in rng.choice(["no", "yes"], (400, 4))]
    lines = [line | {"died": line["a"]} if place % 3 else line for place, line in enumerate(lines)]  # an effect of a
    parts = [lines[::2], lines[1::2]]
    opened, own, theta = ran(task, parts), task.own_rows(counts(task, parts[0])), Walk(task.scoring)
    combinations = list(product(["no", "yes"], repeat=3))
    codes = dict(zip(names, (np.array(combinations) == "yes").T.astype(np.int64), strict=True))
    x = np.column_stack([np.ones(8), task.design.coordinates(codes)])
    left, right = task.likelihood.pairs
    weights, sums = [], []
    for step, whole in enumerate(opened):
        apart = (np.array(whole) - own.sums(opened[:step])) / 2.0**20 / task.scoring.weights
        chance = 1 / (1 + np.exp(-x @ theta.point.theta))
        weights += list((chance * (1 - chance))[None] * x.T[left] * x.T[right])
        sums += list(apart[task.likelihood.size :])
        theta.take(whole)
    found = np.linalg.lstsq(np.array(weights), np.array(sums), rcond=1e-7)[0]
    assert found == pytest.approx(
        [sum(tuple(row[n] for n in names) == one for row in parts[1]) for one in combinations], abs=0.5
    )
    assert "how many of these rows have each combination of the columns' values" in task.disclosure.reveals("b")[0]


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_exact_rows_without_information(name: str) -> None:
    """No estimate, whatever the steps; and the reason names the column."""
    lines, _, _ = table(200)
    task = task_of(name, exact=True)
    document = task.document(ran(task, [[line for line in lines if line["arm"] != "high"], []]))
    assert document["drowned"] == [{"column": "arm", "value": "high", "reference": "placebo"}]
    assert "the rows have no information on arm = high against placebo" in task.text(document, 0)
    assert task.document(ran(task, [[], []]))["wald"] is None


def test_a_run_goes_on_where_it_ended() -> None:
    """The steps that are opened stay; the rest follows from them."""
    lines, _, _ = table(300)
    task = task_of("regress logistic", steps=4)
    state = ran(task, [lines[::2], lines[1::2]])
    states = task.states
    assert states.steps(state) == 4
    assert states.is_done(state)
    cut = states.cut(state, 2)
    again = ran(task, [lines[::2], lines[1::2]], states.decode(states.encode(cut)))
    assert again[:2] == state[:2]
    assert task.disclosure.opened(state) == {"number with noise": 4 * task.scoring.numbers}
    assert task.disclosure.opened(state, 1) == {"number with noise": task.scoring.numbers}


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_a_result_is_read_and_drawn(name: str) -> None:
    lines, _, _ = table()
    task = task_of(name, epsilon=16.0, max_rows=2500, **({"limit": 1.0} if name == "survive cox" else {}))
    document = task.document(ran(task, [lines[::2], lines[1::2]]))
    text = task.text(document, 0)
    assert task.ratio in text
    assert "arm = high against placebo" in text
    assert f"{task.ratio}: the {task.ratio.split()[0]} of" in text
    assert "not adjusted for unobserved confounders" in text
    assert "< 1e-16" in text
    assert "events" in text
    assert "epsilon 16, delta 1e-07" in text
    drawn, first = svg_of(task.files(), document), document["effects"][0]
    assert "age, each 1 more" in drawn
    ends = f"{first['ratio_low']:.2f} to {first['ratio_high']:.2f}"
    assert f"{first['ratio']:.2f} ({ends})" in drawn
    assert len(task.table(document).splitlines()) == 4
    assert {line["low"] < line["coefficient"] < line["high"] for line in document["effects"]} == {True}
    assert "3 sums" not in task.disclosure.reveals("b")[0]
    assert f"{task.scoring.numbers} sums over rows" in task.disclosure.reveals("b")[0]


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_too_much_noise_is_no_result(name: str) -> None:
    task = task_of(name, epsilon=0.1)
    document = task.document(ran(task, [[], []]))
    assert document["wald"] is None
    assert document["reason"] in task.text(document, 0)
    assert document["enough_epsilon"] > 0.1
    assert "the noise is too great" in task.text(document, 0)
    assert "the noise is too great" in svg_of(task.files(), document)
    assert len(task.table(document).splitlines()) == 4


@pytest.mark.usefixtures("silent")
def test_a_rare_value_is_named_by_the_reason() -> None:
    """The others have an estimate without it."""
    lines, _, _ = table()
    rare = [line for i, line in enumerate(lines) if line["arm"] != "high" or i % 60 == 0]
    task = task_of("regress logistic")
    noisy = Scoring(task.likelihood, 2.0**20 * 3.0 * task.scoring.weight)
    state = [tuple(step) for step in ran(task, [rare[::2], rare[1::2]])]
    document = task._too_noisy(noisy.estimate(state))
    assert document["drowned"] == [{"column": "arm", "value": "high", "reference": "placebo"}]
    assert "arm = high against placebo does not exceed its noise. Epsilon is spent" in document["reason"]


@pytest.mark.parametrize("name", sorted(SETTINGS))
def test_noise_is_forecast_from_public_numbers(name: str) -> None:
    """With the epsilon that is named, values in about 5 % of rows have an estimate."""
    (warning,) = task_of(name, epsilon=0.01).warnings
    assert "values in 5% of rows have no estimate: about epsilon " in warning
    task = task_of(name, epsilon=0.5)
    weight = 6000 * task.likelihood.typical
    better = task_of(name, epsilon=task.enough(weight))
    assert better.scoring.least(6) == pytest.approx(weight * 0.05 * 0.95, rel=0.35)
    (warning,) = task_of(name, max_rows=10**8, epsilon=4.0).warnings
    assert "has a standard error of at least" in warning


def test_coordinates_keep_their_bounds() -> None:
    """All within 1, no row longer than the bound; and the origin is the reference and the number 0."""
    design = Design((column("arm", SCHEMA.attributes["arm"], False), column("n", ("-2", "6", "?", "10"), True)))
    codes = {"arm": np.repeat(np.arange(3), 3), "n": np.tile([0, 1, 3], 3)}
    rows = design.coordinates(codes)
    assert np.abs(rows).max() <= 1
    assert (rows**2).sum(axis=1).max() == pytest.approx(design.square)
    assert design.origin == pytest.approx([*rows[0][:2], -4 / 6])
    assert np.isnan(design.coordinates({"arm": np.array([3]), "n": np.array([2])})).all()


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("regress logistic", {"columns": ("died", "age")}, "columns: 'died' is the outcome"),
        ("regress logistic", {"columns": ()}, "columns"),
        ("regress logistic", {"numeric": ("years",)}, "numeric: 'years' is not one of the columns"),
        ("regress logistic", {"target": "arm", "columns": ("age",)}, "target: 'arm' has 3 values"),
        (
            "regress logistic",
            {"target": "arm", "columns": ("age",), "where": "arm in [low, high]"},
            "target_value: name",
        ),
        ("regress logistic", {"where": "arm = low"}, "columns: 'arm' has a single value"),
        ("regress logistic", {"columns": ("age", "years"), "numeric": ("age",), "max_rows": 2**31}, ""),
        ("regress poisson", {"target": "years", "exposure": None}, "target: numbers of events are 0, 1, 2"),
        ("regress poisson", {"exposure": "visits", "target": "visits"}, "exposure: a time at risk is above 0"),
        ("regress logistic", {"exact": True, "epsilon": 1.0}, "exact: excludes epsilon"),
        ("regress logistic", {"exact": True, "delta": 1e-9}, "exact: excludes delta"),
        ("regress logistic", {"epsilon": None}, "epsilon: is missing: give the privacy loss, 1 for example, or exact"),
        ("survive cox", {"where": "months = '[0, 6)'"}, "where"),
        ("survive cox", {"time": "arm"}, "time: an order needs bounds|columns: 'arm' is the outcome"),
        ("survive cox", {"event": "arm", "columns": ("age",)}, "event: 'arm' has 3 values"),
    ],
)
def test_what_makes_no_sense_is_refused(name: str, settings: dict[str, Any], message: str) -> None:
    if not message:
        assert task_of(name, **settings).query.parts[0].opened_width <= 63
        return
    with pytest.raises((InputError, ValueError), match=message):
        task_of(name, **settings)
