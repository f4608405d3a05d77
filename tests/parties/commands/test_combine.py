"""`smc combine`: one model from several models that their holders learned alone."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from parties import cli
from parties.tables.example import demo

DIGEST = "0" * 64
YES: dict[str, Any] = {"class": "yes"}
NO: dict[str, Any] = {"class": "no"}


def tree(node: dict[str, Any], **other: Any) -> dict[str, Any]:
    return {"schema_digest": DIGEST, "target": "play", "tolerance": 0.001, "tree": node} | other


def linear(weight: float, slope: float, **other: Any) -> dict[str, Any]:
    columns = {
        "wind": {"weights": {"weak": weight, "strong": -weight}},
        "age": {"weight": slope, "middle": 40, "least": 0, "greatest": 90},
    }
    return {"target": "play", "classes": ["no", "yes"], "intercept": weight, "columns": columns, "rows": 3} | other


def rules(*texts: str) -> dict[str, Any]:
    return {"rules": [{"if": text.split(" > ")[0].split(), "then": text.split(" > ")[1].split()} for text in texts]}


def clusters(*centres: tuple[Any, int], bounds: tuple[int, int] = (0, 10)) -> dict[str, Any]:
    found = [{"centroid": [at], "rows": rows} for at, rows in centres]
    return {"columns": ["age"], "bounds": [list(bounds)], "clusters": found}


def combined(folder: Path, *models: object, flags: tuple[str, ...] = ()) -> tuple[int, Any]:
    paths = [folder / f"model{i}.json" for i in range(len(models))]
    for path, model in zip(paths, models, strict=True):
        path.write_text(json.dumps(model))
    out = folder / "out.json"
    code = cli.run(["combine", *map(str, paths), "--out", str(out), *flags])
    return code, json.loads(out.read_text()) if out.exists() else None


def test_trees_and_forests_vote(tmp_path: Path) -> None:
    split = {"attribute": "wind", "branches": {"weak": YES, "strong": NO}}
    forest = {key: value for key, value in tree(YES).items() if key != "tree"} | {"trees": [NO, split]}
    assert combined(tmp_path, tree(YES), forest)[1] == {**forest, "trees": [YES, NO, split]}


def test_a_holder_of_all_days_learns_quinlans_tree_alone(tmp_path: Path) -> None:
    bundled, rows, out = demo(), tmp_path / "all.csv", tmp_path / "tree.json"
    rows.write_text(bundled.clinic_a.read_text() + bundled.clinic_b.read_text().partition("\n")[2])
    own = ["--alone", "--plain", "--data", str(rows), "--schema", str(bundled.schema)]
    assert cli.run(["id3", *own, "--splits", "multiway", "--out", str(out)]) == 0
    days = json.loads(out.read_text())["tree"]
    assert days["attribute"] == "outlook"
    assert days["branches"]["overcast"] == YES
    assert [days["branches"][value]["attribute"] for value in ("sunny", "rain")] == ["humidity", "wind"]


def test_rules_of_own_rows_are_those_of_counting(tmp_path: Path) -> None:
    bundled, out = demo(), tmp_path / "rules.json"
    own = ["--alone", "--data", str(bundled.clinic_a), "--schema", str(bundled.schema), "--k", "1"]
    assert cli.run(["rules", *own, "--max-length", "2", "--show", "all", "--lift", "0", "--out", str(out)]) == 0
    header, *lines = (line.split(",") for line in bundled.clinic_a.read_text().split())
    rows = [{f"{name}={value}" for name, value in zip(header, line, strict=True)} for line in lines]
    items = {item for row in rows for item in row}

    def count(*wanted: str) -> int:
        return sum(set(wanted) <= row for row in rows)

    expected = {(a, b) for a, b in permutations(items, 2) if count(a, b) >= max(1, 0.8 * count(a))}
    found = json.loads(out.read_text())["rules"]
    assert {(rule["if"][0], rule["then"][0]) for rule in found} == expected


def test_the_trees_of_both_clinics_vote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bundled = demo()
    paths = [str(tmp_path / name) for name in ("a.json", "b.json")]
    for path, data in zip(paths, (bundled.clinic_a, bundled.clinic_b), strict=True):
        rows = ["--data", str(data), "--schema", str(bundled.schema)]
        assert cli.run(["id3", "--alone", "--plain", *rows, "--out", path]) == 0
    forest = str(tmp_path / "forest.json")
    assert cli.run(["combine", *paths, "--out", forest]) == 0
    capsys.readouterr()
    assert cli.run(["predict", "--tree", forest, "--data", str(bundled.clinic_a), "--score", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["accuracy"] == 1.0  # a tie goes to the first tree, which is a's


def test_a_file_that_is_listed_twice_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, link = tmp_path / "tree.json", tmp_path / "link.json"
    path.write_text(json.dumps(tree(YES)))
    link.symlink_to(path)
    for second in (path, link):
        assert cli.run(["combine", str(path), str(second), "--out", str(tmp_path / "out.json")]) == 2
        assert f"{second}: is listed twice" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize(
    ("models", "ties", "equal"),
    [((YES, NO), True, False), ((YES, YES), True, True), ((YES, NO, YES), False, True)],
)
def test_ties_of_two_trees_and_equal_trees_are_stated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], models: Any, ties: bool, equal: bool
) -> None:
    assert combined(tmp_path, *map(tree, models))[0] == 0
    shown = capsys.readouterr()
    assert ("two trees: the first decides ties; three or more vote" in shown.out + shown.err) == ties
    assert ("both count, as the files of two holders" in " ".join((shown.out + shown.err).split())) == equal


def test_weights_are_averaged(tmp_path: Path) -> None:
    _, model = combined(tmp_path, linear(1.0, 0.5), linear(3.0, 0.25), linear(2.0, 0.0))
    assert model == {key: value for key, value in linear(2.0, 0.25).items() if key != "rows"}


def test_counts_add_up(tmp_path: Path) -> None:
    def bayes(*counts: int) -> dict[str, Any]:
        first, second = counts[:2], counts[2:]
        sums = {"no": first[0] + second[0], "yes": first[1] + second[1]}
        return {"target": "play", "classes": sums, "columns": {"wind": {"weak": list(first), "strong": list(second)}}}

    assert combined(tmp_path, bayes(1, 2, 3, 4), bayes(10, 20, 30, 40))[1] == bayes(11, 22, 33, 44)


@pytest.mark.parametrize(("at_least", "found"), [(1, {"a": 3, "b": 2, "c": 1}), (2, {"a": 3, "b": 2}), (3, {"a": 3})])
def test_rules_of_enough_holders_stay(tmp_path: Path, at_least: int, found: dict[str, int]) -> None:
    a, b, c = "x=1 y=1 > a=1", "x=2 > b=1", "y=2 > c=1"
    parts = rules(b, a), rules("y=1 x=1 > a=1", c), rules(a, b)
    _, model = combined(tmp_path, *parts, flags=("--at-least", str(at_least)))
    assert {rule["then"][0][0]: rule["holders"] for rule in model["rules"]} == found
    assert model["rules"][0]["if"] == ["x=1", "y=1"]  # in the order of the first file that has it


def test_centroids_are_clustered_by_their_rows(tmp_path: Path) -> None:
    _, model = combined(tmp_path, clusters((1, 30), (8, 10)), clusters((2, 10), (9, 30)))
    assert [cluster["rows"] for cluster in model["clusters"]] == [40, 40]
    assert [cluster["centroid"][0] for cluster in model["clusters"]] == pytest.approx([1.25, 8.75], abs=1e-3)


@pytest.mark.parametrize(
    ("models", "flags", "message"),
    [
        ((tree(YES),), (), "FILE: give two files or more"),
        ((tree(YES), rules("x=1 > a=1")), (), "model1.json: this is a file of rules, but "),
        ((tree(YES), {"columns": {}}), (), "model1.json: cannot be combined; give files of trees, rules, clusters"),
        ((tree(YES), tree(NO, target="rain")), (), "model1.json: answers another question than "),
        ((tree(YES), tree(NO, schema_digest="1" * 64)), (), "model1.json: answers another question than "),
        ((linear(1, 1), linear(1, 1, classes=["yes", "no"])), (), "answers another question"),
        ((linear(1, 1), linear(1, 1, columns={"wind": {"weights": {"weak": 1}}})), (), "answers another question"),
        ((rules("x=1 > a=1"), rules("x=1 > a=1") | {"transaction": "bill"}), (), "answers another question"),
        ((rules("x=1 > a=1"),) * 2, ("--at-least", "3"), "--at-least: is 3, but there are 2 files; give 2 or less"),
        ((tree(YES), tree(NO)), ("--at-least", "2"), "--at-least: counts rules; remove it"),
        ((clusters((1, 3)), clusters((1, 3), bounds=(0, 9))), (), "answers another question"),
        ((clusters((1, 3)), {"clusters": [], "columns": ["age"], "bounds": [[0, 1]]}), (), "not a file of smc cluster"),
        ((clusters((1, 3)), clusters((1, -3))), (), "a bound or a number of rows is impossible"),
        ((clusters((1, 3)), clusters(("1/0", 3))), (), "'1/0' is not a number"),
        ((clusters((1, 3)), clusters((1, 3))), (), "model1.json: has the content of "),
        ((linear(1, 1), linear(2, 1), linear(1, 1)), (), "model2.json: has the content of "),
    ],
)
def test_files_that_do_not_fit_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], models: Any, flags: Any, message: str
) -> None:
    assert combined(tmp_path, *models, flags=flags) == (2, None)
    assert message in capsys.readouterr().err
