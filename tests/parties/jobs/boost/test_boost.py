"""Boosted trees as a job: beside XGBoost on the rows of both, by the same bins; what is opened, spent and refused."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parties.jobs.boost import growing
from parties.jobs.boost.settings import DEFAULT_BITS, BoostSettings
from parties.jobs.kind import Step
from parties.jobs.kinds.boost import Boost
from parties.models.boosted import BoostedModel, _check, xgboost_features, xgboost_text
from parties.models.load import load_model
from parties.sources.settings import BudgetSettings
from parties.tables.delimited import Columns
from parties.tables.schema import Schema
from parties.tables.types import Domain, read_type
from protocols.boosting import FINE
from protocols.counts import RowCounts
from smc.counting import forecast
from smc.engines import Profile, engine_of, make_engine
from smc.errors import InputError
from smc.local import run_local

pytestmark = pytest.mark.slow

xgboost = pytest.importorskip("xgboost")

SCHEMA = Schema(
    {
        "age": Domain(read_type({"type": "integer", "low": 18, "high": 57, "missing": True})),
        "pay": Domain(read_type({"type": "integer", "low": 0, "high": 99, "edges": [10, 20, 50]})),
        "town": ("a", "b", "c", "d"),
        "sex": ("f", "m"),
        "visits": Domain(read_type({"type": "integer", "low": 0, "high": 20})),
        "ill": ("no", "yes"),
        "kind": ("p", "q", "r"),
    },
    "ill",
)
NAMES = tuple(SCHEMA.attributes)


def table(seed: int, rows: int = 400) -> np.ndarray:
    """Category numbers of rows, int64[rows, columns]: what is ill depends on the others."""
    draw = np.random.default_rng(seed)
    codes = np.stack([draw.integers(0, len(SCHEMA.attributes[name]), rows) for name in NAMES], axis=1)
    risk = (codes[:, 0] > 25) * 1.5 + (codes[:, 2] == 1) * 2.0 - (codes[:, 1] > 1) + codes[:, 3] * (codes[:, 0] < 9)
    codes[:, 5] = draw.random(rows) < 1 / (1 + np.exp(1.2 - risk))
    codes[:, 6] = np.clip(risk + draw.normal(0, 0.4, rows), 0, 2)
    codes[:, 4] = np.clip(4 + 3 * risk + draw.normal(0, 1, rows), 0, 20)
    return codes


OWN = (table(1), table(2))


def task(target: str = "ill", **fields: Any) -> Boost:
    known = {"exact": True, "max_rows": 1000, "rounds": 6, "depth": 3, "bins": 8, "min_child_weight": 2.0, **fields}
    columns = tuple(name for name in ("age", "pay", "town", "sex"))
    return Boost.canonical(BoostSettings.model_validate({"target": target, "columns": columns, **known}), SCHEMA)


def rows_of(made: Boost, codes: np.ndarray) -> RowCounts:
    places = [NAMES.index(name) for name in made.schema.features(made.target)]
    domains = [len(SCHEMA.attributes[NAMES[place]]) for place in places]
    labels = codes[:, NAMES.index(made.target)]
    return RowCounts(domains, len(made.schema.attributes[made.target]), codes[:, places], labels)


def own_rows(made: Boost, codes: np.ndarray) -> Any:
    return made.own_rows(rows_of(made, codes))


def run(made: Boost, engine: str = "clear", start: Any = (), steps: list[Step] | None = None) -> Any:
    def party(session: Any) -> Any:
        tell = steps.append if steps is not None and session.party == 0 else lambda step: None
        return made.run(make_engine(session, engine), own_rows(made, OWN[session.party]), start, tell)

    one, other = run_local(party)
    assert one == other
    return one


def cells(codes: np.ndarray) -> Columns:
    values = {name: [SCHEMA.attributes[name][code] for code in codes[:, i]] for i, name in enumerate(NAMES)}
    values["pay"] = [str([0, 10, 20, 50][code]) for code in codes[:, 1]]  # as raw numbers
    return Columns(Path("rows.csv"), values, range(len(codes)))


def design(document: dict[str, Any], codes: np.ndarray) -> np.ndarray:
    """The features of XGBoost's model."""
    rows, columns = cells(codes), []
    for name, value in xgboost_features(document):
        texts = rows.values[name]
        as_number = [np.nan if text == "?" else float(text) for text in texts] if value is None else []
        columns.append(as_number if value is None else [float(text == value) for text in texts])
    return np.array(columns).T


CASES = [("ill", "binary:logistic"), ("kind", "multi:softprob"), ("visits", "reg:squarederror")]


@pytest.mark.parametrize(("target", "objective"), CASES)
def test_trees_are_as_good_as_those_of_xgboost(target: str, objective: str, tmp_path: Path) -> None:
    """On the same bins: no loss of the training rows is more than 2 % above; and XGBoost reads the model."""
    made = task(target, rate=0.3)
    document = json.loads(json.dumps(made.document(run(made))))
    model, both = BoostedModel.parse(document), np.concatenate(OWN)
    (tmp_path / "x.json").write_text(xgboost_text(document))
    booster = xgboost.Booster(model_file=str(tmp_path / "x.json"))
    known = design(document, both)
    margins = booster.predict(xgboost.DMatrix(known, feature_names=booster.feature_names), output_margin=True)
    assert np.abs(margins.reshape(len(both), -1) - model.margins(cells(both)).T).max() < 1e-5

    labels = both[:, NAMES.index(target)].astype(float)
    parameters = {"objective": objective, "tree_method": "hist", "max_depth": 3, "eta": 0.3, "lambda": 1.0}
    parameters |= {"min_child_weight": 2.0, "max_bin": 256}
    if target == "kind":
        parameters["num_class"] = 3
    middle, span = (10.0, 20.0) if target == "visits" else (0.0, 1.0)
    parameters["base_score"] = 0.5 if target != "visits" else 0.0
    bins = known.copy()
    bins[:, 0] = np.array(made.features.columns[0].bins)[both[:, 0]]
    theirs = xgboost.train(parameters, xgboost.DMatrix(bins, (labels - middle) / span), 6)
    guess = theirs.predict(xgboost.DMatrix(bins), output_margin=True).reshape(len(both), -1) * span + middle
    ours = model.margins(cells(both)).T
    assert loss(target, ours, labels) <= loss(target, guess, labels) * 1.02
    assert loss(target, ours, labels) < 0.9 * loss(target, np.full(ours.shape, middle), labels)


def loss(target: str, margins: np.ndarray, labels: np.ndarray) -> float:
    if target == "visits":
        return float(((margins[:, 0] - labels) ** 2).mean())
    if target == "ill":
        return float(np.logaddexp(0, np.where(labels > 0, -1, 1) * margins[:, 0]).mean())
    return float((np.logaddexp.reduce(margins, axis=1) - margins[np.arange(len(labels)), labels.astype(int)]).mean())


@pytest.mark.parametrize(("depth", "least", "leaves"), [(2, 2.0, 4), (3, 90.0, 6), (5, 90.0, 6)])
def test_a_regression_tree_has_the_means_of_its_leaves(depth: int, least: float, leaves: int) -> None:
    """Also where some branches end before others."""
    made = task("visits", rounds=1, depth=depth, min_child_weight=least, **{"lambda": 0.0})
    assert made.settings.rate == 1
    document = made.document(run(made))
    both, rows = np.concatenate(OWN), cells(np.concatenate(OWN))
    guessed = np.array(BoostedModel.parse(document).predict(rows), dtype=float)
    assert len(set(guessed)) == leaves
    for leaf in set(guessed):
        assert both[guessed == leaf, 4].mean() == pytest.approx(leaf, abs=1e-4)
    text = made.text(document, 0)
    assert all(f"{leaf - 10:+.2f}"[:4] in text for leaf in set(guessed))
    assert text.endswith("leaves exact: each party can compute the other's sums in the leaves\n")


def test_a_run_goes_on_from_every_step() -> None:
    made, steps = task(rounds=2, depth=2), []
    state = run(made, steps=steps)
    assert [step.number for step in steps] == list(range(len(state)))
    assert made.states.decode(json.loads(json.dumps(made.states.encode(state)))) == state
    assert made.states.is_done(state)
    for cut in range(len(state)):
        assert not made.states.is_done(made.states.cut(state, cut))
        seen: list[Step] = []
        assert run(made, start=made.states.cut(state, cut), steps=seen) == state
        assert [step.number for step in seen] == list(range(cut, len(state)))


@pytest.mark.parametrize("held", [0, 500, 1 << 30])
@pytest.mark.parametrize("target", ["ill", "kind", "visits"])
def test_pieces_in_any_order_have_the_same_sums(target: str, held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pass cuts and orders the rows anew. Margins are kept, computed again, or both. The first sums of each later
    round are those of the model file's margins."""
    made = task(target, rounds=3, depth=2)
    state, source, draw = run(made), rows_of(made, OWN[0]), np.random.default_rng(3)
    ((*_, labels, _),) = (lines.T for lines in source.batches())

    class Shuffled:
        def batches(self) -> Any:
            (lines,) = source.batches()
            pieces = np.split(lines, range(30, len(lines), 30))
            if draw.integers(2):
                pieces = np.array_split(draw.permutation(lines), 7)
            return iter([pieces[place] for place in draw.permutation(len(pieces))])

    whole, cut = made.own_rows(source), made.own_rows(Shuffled())
    for step in range(len(state)):
        monkeypatch.setattr(growing, "HELD", 1 << 30)
        sums = whole.sums(state[:step])
        monkeypatch.setattr(growing, "HELD", held)
        assert cut.sums(state[:step]).tolist() == sums.tolist()
        if step and step % 3 == 0:
            middle, span = map(float, made.scaled)
            margins = BoostedModel.parse(made.document(state[:step])).margins(cells(OWN[0]))
            slopes, _ = made.objective.slopes((margins - middle) / span, (labels - middle) / span)
            assert sums[: 2 * made.trees : 2] / (1 << FINE) == pytest.approx(slopes.sum(axis=1), abs=1e-3)


def test_what_is_opened_is_listed_and_counted() -> None:
    """Of a run whose nodes are all split the estimate is exact; of any other it is no less."""
    for fields, full in (({"rounds": 1, "depth": 1}, True), ({"rounds": 2, "depth": 4}, False)):
        made = task(**fields)
        meters = {}

        def party(session: Any, made: Boost = made, meters: dict[int, Any] = meters) -> Any:
            meters[session.party] = session.meter.total
            return made.run(
                engine_of(session, Profile("mixed")), own_rows(made, OWN[session.party]), (), lambda _: None
            )

        state, _ = run_local(party)
        costs = forecast(made.cost(None).program, Profile("mixed")).costs  # type: ignore[arg-type]
        for party_number, counted in enumerate(costs):
            for field in ("bytes_sent", "bytes_received", "messages", "rounds", "and_gates", "bits_opened"):
                spent, said = getattr(meters[party_number], field), getattr(counted, field)
                assert spent == said if full else spent <= said, field
        splits = sum(
            len(opened) for step, opened in enumerate(state) if made.disclosure.opened(state, step)["best split"]
        )
        leaves = made.disclosure.opened(state)["exact number"]
        assert made.disclosure.opened(state) == {"best split": splits, "exact number": leaves}
        bits = sum(made.disclosure.bits.of_step(Step(n, 0, made.states.cut(state, n), "")) for n in range(len(state)))
        of_leaves = leaves * made.leaves.opened_width
        assert bits == splits * (1 + (len(made.features.candidates) - 1).bit_length()) + of_leaves
        assert (bits == made.disclosure.bits.at_most) if full else (bits <= made.disclosure.bits.at_most)


def test_a_command_says_how_many_bits_are_exact(tmp_path: Path) -> None:
    schema_file, data = tmp_path / "schema.toml", tmp_path / "rows.csv"
    schema_file.write_text('[attributes]\nx = ["a", "b"]\nill = ["no", "yes"]\n')
    data.write_text("x,ill\na,no\nb,yes\n")
    known = {"data": data, "schema": schema_file, "target": "ill", "rounds": 2, "depth": 1, "max_rows": 100}
    made, _, remarks = Boost.alone(BoostSettings.model_validate({**known, "exact": True}), 0)
    of_sum = ((100 << FINE) + 1).bit_length() + 2  # of both parties, with a sign
    most = 2 * (1 + 2 * 2 * of_sum)  # a decision, no bit for one candidate, and two leaves of two sums
    assert remarks[-1].startswith(f"exact, without noise, {most:,} bits at most: ")
    assert made.disclosure.bits.at_most == most
    assert "exact" not in Boost.alone(BoostSettings.model_validate({**known, "epsilon": 1.0}), 0)[2][-1]


@pytest.mark.parametrize("fields", [{}, {"exact": False, "epsilon": 1.0}, {"depth": 2}, {"depth": 6}, {"bins": 2}])
@pytest.mark.parametrize("target", ["ill", "kind", "visits"])
def test_as_many_rounds_as_may_open_their_splits(target: str, fields: dict[str, Any]) -> None:
    """One more would open too much; it is fifty, or the least. Both parties have that number in what they agree on."""
    made = task(target, **{"rounds": None, "depth": 4, **fields})
    of_round = made.disclosure.bits.at_most // made.rounds
    if made.exact:  # of decisions alone
        of_round -= made.trees * 2 * (1 << made.settings.depth) * made.leaves.opened_width
    assert (made.rounds + 1) * of_round > DEFAULT_BITS or made.rounds == 50
    assert made.rounds * of_round <= DEFAULT_BITS or made.rounds == 1
    assert made.settings.rate == round(min(max(0.3, 10 / made.rounds), 1), 2)
    assert made.disclosure.bits.at_least == made.disclosure.bits.at_most  # or it does not begin
    said = made.specification()
    assert said["rounds"] == made.rounds
    assert Boost.agreed(said).specification() == said
    (line,) = (line for line in made.disclosure.reveals("B") if "their splits open" in line)
    assert f"{made.rounds * of_round:,} bits" in line
    assert ("as many as fit" in line) == (1 < made.rounds < 50 or of_round <= DEFAULT_BITS < 2 * of_round)
    assert task(target, **{**fields, "rounds": 7, "depth": 1}).rounds == 7


def test_the_default_leaves_a_quarter_of_a_table_s_bits() -> None:
    assert BudgetSettings(epsilon=1).bits * 3 == DEFAULT_BITS * 4


@pytest.mark.one_of(2)
@pytest.mark.parametrize(("target", "adjacency"), [*product(["ill", "kind", "visits"], ["add-remove", "replace"])])
def test_the_noise_hides_what_a_row_changes(target: str, adjacency: str) -> None:
    """A row more or less, or another: the sums of the leaves, as they are opened, move by no more than was said."""
    made = task(target, exact=False, epsilon=2.0, rounds=3, adjacency=adjacency)
    state = run(made)
    loss_of = made.noise.loss
    said = float(2 * loss_of.rho * made.noise.scale**2)
    assert loss_of.times == 3
    assert made.disclosure.spends == (loss_of,)
    assert not made.disclosure.exact
    assert made.disclosure.past_budget

    def leaves(codes: np.ndarray) -> list[np.ndarray]:
        own, public, found = own_rows(made, codes), made._grown(()), []
        for place, opened in enumerate(state):
            if not public.splitting:
                found.append(own.sums(state[:place]))
            public.step(opened)
        return found

    whole, most = leaves(OWN[0]), 0
    for row in range(0, 60, 3):
        other = np.delete(OWN[0], row, axis=0)
        if adjacency == "replace":
            other = np.concatenate([other, OWN[1][row : row + 1]])
        most = max(most, *(int(((a - b) ** 2).sum()) for a, b in zip(whole, leaves(other), strict=True)))
    assert 0.1 * said < most <= said


def test_noise_makes_trees_that_still_predict() -> None:
    made = task(exact=False, epsilon=16.0, rounds=4)
    document = made.document(run(made))
    guessed = BoostedModel.parse(document).predict(cells(np.concatenate(OWN)))
    assert (
        np.mean([one == ("no", "yes")[is_ill] for one, is_ill in zip(guessed, np.concatenate(OWN)[:, 5], strict=True)])
        > 0.7
    )
    assert "noise of sigma" in made.text(document, 0)
    assert "epsilon 16" in made.text(document, 0)
    assert any("e^16" in line for line in made.disclosure.reveals("B"))


BAD: list[tuple[dict[str, Any], str]] = [
    ({"exact": False}, "epsilon: is missing: the leaves' weights are numbers"),
    ({"epsilon": 1.0}, "exact: excludes epsilon"),
    ({"delta": 1e-9}, "exact: excludes delta"),
    ({"columns": ("ages",)}, "columns: 'ages' is not an attribute of the schema"),
    ({"numeric": ("town",)}, "numeric: .* must be numbers"),
    ({"target": "kind", "objective": "logistic"}, "target: 'kind' has 3 classes; logistic is for two"),
    ({"objective": "squared"}, "target: 'ill' is not a column of numbers"),
    ({"max_rows": 2**31}, "max_rows: sums of so many rows do not fit"),
]


@pytest.mark.parametrize(("fields", "line"), BAD)
def test_bad_settings_are_refused_in_a_line(fields: dict[str, Any], line: str) -> None:
    with pytest.raises(InputError, match=line):
        task(**fields)


def test_a_constant_target_and_too_many_bins_are_refused() -> None:
    constant = Schema({"age": ("1", "2"), "ill": ("no",)}, "ill")
    with pytest.raises(InputError, match="has 1 class;"):
        Boost.canonical(BoostSettings(exact=True), constant)
    wide = Schema({"code": tuple(map(str, range(300))), "ill": ("no", "yes")}, "ill")
    with pytest.raises(InputError, match="'code' has 300 values, more than 256"):
        Boost.canonical(BoostSettings(exact=True), wide)
    with pytest.raises(ValueError, match="less than or equal to 256"):
        BoostSettings(bins=257)


def test_a_party_may_have_no_rows() -> None:
    made = task(rounds=2, depth=2)

    def with_empty(session: Any) -> Any:
        codes = (np.concatenate(OWN), OWN[1][:0])[session.party]
        return made.run(make_engine(session, "clear"), own_rows(made, codes), (), lambda step: None)

    assert run_local(with_empty)[1] == run(made)


@pytest.mark.parametrize("column", [[], {}, None, 3, "gone"])
def test_a_node_that_names_no_column_is_refused(column: Any) -> None:
    leaf = {"leaf": 0.0}
    node = {"column": column, "below": 1.0, "then": leaf, "otherwise": leaf}
    with pytest.raises(ValueError, match="asks for a column that is not there"):
        _check(node, {})


def test_a_model_file_is_checked(tmp_path: Path) -> None:
    made = task(rounds=2, depth=2)
    document = made.document(run(made))
    path = tmp_path / "model.json"
    path.write_text(json.dumps(document))
    assert load_model(path).predict(cells(OWN[0])) == BoostedModel.parse(document).predict(cells(OWN[0]))
    wrong = [
        ({"trees": [[{"leaf": "1"}]]}, "a leaf must be a number"),
        (
            {"trees": [[{"column": "age", "below": 19.5, "then": {"leaf": 1}, "otherwise": {"leaf": 1}}]]},
            "that it lacks",
        ),
        ({"trees": [[{"leaf": 1}, {"leaf": 1}]]}, "each round must have 1"),
        ({"base": None}, "base: must be a number"),
        ({"columns": {"age": {"edges": [3, 2]}}}, "numbers that rise"),
    ]
    for fields, line in wrong:
        path.write_text(json.dumps(document | fields))
        with pytest.raises(InputError, match=f"not a model of boosted trees: .*{line}"):
            load_model(path)
