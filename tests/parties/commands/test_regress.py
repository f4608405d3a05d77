"""`smc regress`: its commands, and what is wrong with what an operator gives them; one's own table alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parties.cli import run
from parties.commands import regress_alone
from tests.support.refused import refused

SCHEMA = (
    '[attributes]\nage = ["young", "middle", "old"]\nvisits = [0, 1, 2.5]\noutcome = ["good", "bad"]\n'
    'ward = ["a", "b", "c"]\n'
).replace("2.5]", '"2.5"]')

JOINT = [
    ("--epsilon 0", "--epsilon: must be >= 2^-20 (about 1e-06), not 0"),
    ("", "--epsilon: is missing: give the privacy loss"),
    ("--epsilon 1 --steps 0", "--steps: must be >= 1, not 0"),
    ("--epsilon 1 --delta 0.1", "delta: 0.1 is too large, since it would permit the publication of whole rows"),
    (
        "--epsilon 1 --numeric age",
        "numeric: a number needs bounds, which are public: the values that the schema gives 'age'",
    ),
    ("--epsilon 1 --numeric aeg", "numeric: 'aeg' is not an attribute of the schema (did you mean 'age'?)"),
    ("--epsilon 1 --columns age --numeric visits", "numeric: 'visits' is not one of the columns to predict from"),
    ("--epsilon 1 --columns outcome", "columns: 'outcome' is the target"),
    ("--epsilon 1 --columns age,age", "columns: name each column once"),
    (
        "--epsilon 1 --target ward",
        "target: 'ward' has 3 classes, but a linear classifier needs two; choose two with where",
    ),
    ("--epsilon 1 --method output", "--least-rows: is missing: the method output needs a public lower bound"),
    ("--epsilon 1 --method output --least-rows 9 --steps 3", "steps: applies to gradient descent only; remove it"),
    ("--epsilon 1 --method output --least-rows 2 --data mine.csv", "there are 1 rows, fewer than 2, the agreed bound"),
    ("--epsilon 1 --least-rows 9 --max-rows 8", "--least-rows: is more than max_rows"),
    (
        "--epsilon 1 --method choice --lambda 0.1",
        "lambda: applies to method choice only with a single column, of numbers, and without steps",
    ),
    (
        "--epsilon 1 --method choice --columns age --loss huber",
        "loss: applies to method choice only with a single column",
    ),
    ("--epsilon 1 --method choice --columns visits --delta 1e-9", "delta: does not apply to method choice"),
    ("--epsilon 1 --clip 0", "--clip: must be >= 0.01, not 0"),
    ("--epsilon 1 --lambda 2", "--lambda: must be <= 1, not 2"),
    ("--epsilon 1 --huber 1", "--huber: must be < 1, not 1"),
]
ALONE = [
    ("--epsilon 1", "--lambda: is missing; choose it without a look at the rows"),
    ("--epsilon 1 --lambda 0.1 --delta 1e-9", "--delta: applies only to least squares and ridge"),
    ("--epsilon 1 --lambda 0.1 --method least-squares --target visits", "lambda: applies to ridge only; remove it"),
    (
        "--epsilon 1 --method ridge",
        "target: a number needs bounds, which are public: the values that the schema gives 'out",
    ),
    ("--epsilon 1 --method ridge --target visits --max-rows 5 --data many.csv", "1200 rows, more than 5, the agreed"),
    ("--lambda 0.1", "Missing option '--epsilon'"),
    ("--epsilon 0 --lambda 0.1", "Invalid value for '--epsilon'"),
    ("--epsilon nan --lambda 0.1", "--epsilon: must be a number"),
    (
        "--epsilon 0.1 --lambda 0.1",
        "lambda: 0.1 is too small for objective perturbation of 1 rows at epsilon 0.1: it must",
    ),
    ("--epsilon 1 --lambda 0.1 --numeric age", "numeric: a number needs bounds"),
    ("--epsilon 1 --lambda 0.1 --columns ,", "name at least one column"),
    ("--epsilon 1 --lambda 0.1 --data none.csv", "there are no rows to learn from"),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("place")
    (directory / "schema.toml").write_text(SCHEMA)
    (directory / "mine.csv").write_text("age,visits,outcome,ward\nold,1,bad,a\n")
    (directory / "none.csv").write_text("age,visits,outcome,ward\n")
    lines = [f"{age},{visits},{'bad' if age == 'old' or visits == '2.5' else 'good'},a\n" for age in ("young", "old")
             for visits in ("0", "1", "2.5")]  # fmt: skip
    (directory / "many.csv").write_text("age,visits,outcome,ward\n" + "".join(lines) * 200)
    return directory


@pytest.mark.parametrize(
    ("line", "message"), [*(("joint " + a, b) for a, b in JOINT), *(("alone " + a, b) for a, b in ALONE)]
)
def test_what_is_wrong_is_a_line(
    line: str, message: str, place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    more = ["--schema", "schema.toml"]
    more += [] if "--data" in line else ["--data", "mine.csv"]
    more += [] if "--target" in line else ["--target", "outcome"]
    more += ["--listen", "127.0.0.1:0"] if line.startswith("joint") else []
    assert message in refused(["regress", *line.split(), *more], capsys)


@pytest.mark.parametrize("method", ["objective", "output"])
def test_a_few_rows_that_teach_nothing_but_noise_say_so(
    method: str, place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(regress_alone, "private", lambda: np.random.default_rng(1))
    (place / "few.csv").write_text((place / "mine.csv").read_text() + "young,0,good,b\n")
    files = ["--schema", str(place / "schema.toml"), "--target", "outcome", "--lambda", "0.3", "--method", method]
    for data, epsilon, few in (("few.csv", "2", True), ("many.csv", "8", False)):
        words = [*files, "--data", str(place / data), "--epsilon", epsilon]
        assert run(["regress", "alone", *words]) == 0
        assert ("mostly noise: too few rows for this epsilon" in capsys.readouterr().out) == few
        assert run(["regress", "alone", *words, "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["mostly_noise"] == few


@pytest.mark.parametrize(("method", "loss"), [("objective", "logistic"), ("output", "huber")])
def test_alone_learns_from_its_own_rows(
    method: str, loss: str, place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With little noise: a model that predicts, written, drawn and told; accuracy is computed on one's own rows."""
    monkeypatch.chdir(place)
    words = "--data many.csv --schema schema.toml --target outcome --columns age,visits --numeric visits --epsilon 16"
    words += f" --lambda 0.01 --method {method} --loss {loss} --out model.json --svg model.svg --force"
    assert run(["regress", "alone", *words.split(), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == json.loads((place / "model.json").read_text())
    assert (document["rows"], document["adjacency"], document["method"]) == (1200, "replace", method)
    assert document["epsilon_of_noise"] <= 16
    assert document["gradient"] <= 1e-9
    assert "What speaks for outcome = bad" in (place / "model.svg").read_text()
    assert run(["predict", "--model", "model.json", "--data", "many.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] > 0.8
    assert run(["regress", "alone", *words.split()]) == 0
    told = capsys.readouterr()
    assert "of 1,200 rows" in told.out
    assert "epsilon 16 (replace)" in told.out
    assert "written: model.json, model.svg" in told.err


def test_alone_reads_raw_values_of_the_schemas_types(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The weights are those of the categories that the values fall into, written out; a number may be one, too."""
    for name in ("raw", "words"):
        rows = [
            f"{age if name == 'raw' else 'under 40' if age < 40 else '40 and over'},{age % 5},{age > 44}\n"
            for age in (18 + 7 * number % 60 for number in range(300))
        ]
        (tmp_path / f"{name}.csv").write_text("age,visits,outcome\n" + "".join(rows))
    (tmp_path / "schema.toml").write_text(
        'target = "outcome"\n[attributes]\nage = { type = "integer", low = 0, high = 99, edges = [40] }\n'
        'visits = { type = "integer", low = 0, high = 4 }\noutcome = ["False", "True"]\n'
    )
    files = ["--schema", str(tmp_path / "schema.toml"), "--lambda", "0.01", "--epsilon", "8", "--json"]

    def learnt(data: str, *more: str) -> Any:
        monkeypatch.setattr(regress_alone, "private", lambda: np.random.default_rng(1))
        assert run(["regress", "alone", "--data", str(tmp_path / data), *files, *more]) == 0
        return json.loads(capsys.readouterr().out)

    assert learnt("raw.csv")["columns"] == learnt("words.csv")["columns"]
    assert learnt("raw.csv", "--numeric", "age")["columns"] != learnt("raw.csv")["columns"]
    (tmp_path / "raw.csv").write_text("age,visits,outcome\nx,1,True\n")
    assert "'x' is not a number" in refused(["regress", "alone", "--data", str(tmp_path / "raw.csv"), *files], capsys)


@pytest.mark.parametrize("method", ["least-squares", "ridge"])
def test_alone_a_number_is_predicted(method: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With little noise: the weights of numpy's least squares; noise is drawn anew each time."""
    rows = "".join(
        f"{age},{visits},{visits * 0.6 + (age == 'old'):.1f}\n" for age in ("young", "old") for visits in (0, 1, 2.5)
    )
    (place / "numbers.csv").write_text("age,visits,pay\n" + rows * 2000)
    (place / "numbers.toml").write_text(
        'target = "pay"\n[attributes]\nage = ["young", "old"]\nvisits = ["0", "1", "2.5"]\n'
        f"pay = {[f'{tenths / 10:.1f}' for tenths in range(30)]}\n"
    )
    words = ["regress", "alone", "--data", str(place / "numbers.csv"), "--schema", str(place / "numbers.toml")]
    words += ["--numeric", "visits", "--method", method, "--epsilon", "16", "--json"]
    found = []
    for _ in range(2):
        assert run(words) == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0]["intercept"] != found[1]["intercept"]
    for document in found:
        assert (document["method"], document["adjacency"]) == (method, "add-remove")
        assert document["rows"] == pytest.approx(12_000, abs=20)
        old, young = (document["columns"]["age"]["weights"][age] for age in ("old", "young"))
        assert old - young == pytest.approx(1, abs=0.02)
        assert document["columns"]["visits"]["weight"] == pytest.approx(0.6, abs=0.02)


def test_the_commands_of_the_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["regress", "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "joint Learn a linear classifier" in shown
    assert "alone Learn a linear model" in shown
    for name in ("joint", "alone"):
        assert run(["regress", name, "--help"]) == 0
        assert f"Example:  smc regress {name} --data mine.csv" in capsys.readouterr().out
