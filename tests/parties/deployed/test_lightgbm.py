"""`smc export --to lightgbm`: LightGBM reads the text, and says what `smc predict` says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties import cli
from parties.deployed.columns import asked
from parties.deployed.lightgbm import to_lightgbm
from parties.models.boosted import BoostedModel
from parties.tables.delimited import MISSING, Columns
from smc.errors import InputError
from tests.support import deployed

pytestmark = pytest.mark.slow

LISTS = {"town": ["a b", "it's", MISSING], "grade": [MISSING, "low", "mid", "high"], "many": list(map(str, range(70)))}
COLUMNS: dict[str, dict[str, Any]] = {
    "pay, net": {"edges": [-3.5, 0.0, 0.1, 7.0]},
    "town": {"values": LISTS["town"], "ordered": False},
    "grade": {"values": LISTS["grade"], "ordered": True},
    "many": {"values": LISTS["many"], "ordered": False},
    "pay_ net": {"edges": [10.0, 20.0], "values": ["-10", "10-20", "20-"]},
}
TARGETS: dict[str, dict[str, Any]] = {
    "logistic": {"classes": ["no", "yes"], "base": 0.0},
    "softmax": {"classes": ["p", "q", "r"], "base": 0.25},
    "squared": {"least": -2.0, "greatest": 3.0, "base": 0.5},
}
LEAVES = st.floats(-2, 2).map(lambda leaf: {"leaf": leaf})
NUMBERS = st.one_of(
    st.sampled_from([MISSING, "0", "-0.0", "1e-30", "-1e-30", "0.1", "7", "7.000000000000001", "6.999999999999999"]),
    st.floats(-30, 30).filter(lambda x: x == 0 or abs(x) > 1e-35).map(repr),
    st.sampled_from(["10", "20", "9.999999999999998", "-3.5", "-3.5000000000000004"]),
)


def splits(below: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    asks = [{"column": name, "below": edge} for name, column in COLUMNS.items() for edge in column.get("edges", ())]
    asks += [{"column": name, "is": value} for name in ("town", "many") for value in LISTS[name]]
    asks += [{"column": "grade", "below": value} for value in LISTS["grade"][1:]]
    node = st.tuples(st.sampled_from(asks), below, below)
    return node.map(lambda parts: {**parts[0], "then": parts[1], "otherwise": parts[2]})


TREES = st.recursive(LEAVES, splits, max_leaves=8)


@st.composite
def documents(draw: st.DrawFn, rounds: st.SearchStrategy[int]) -> dict[str, Any]:
    """The content of a model's file."""
    objective = draw(st.sampled_from(sorted(TARGETS)))
    width, number = 3 if objective == "softmax" else 1, draw(rounds)
    trees = [[draw(TREES) for _ in range(width)] for _ in range(number)]
    return {"target": "t", "objective": objective, **TARGETS[objective], "columns": COLUMNS, "trees": trees}


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[str]]:
    """Cells as the model has them."""
    number = draw(st.integers(1, 12))
    kinds = {name: NUMBERS if "edges" in column else st.sampled_from(LISTS[name]) for name, column in COLUMNS.items()}
    return {name: draw(st.lists(cells, min_size=number, max_size=number)) for name, cells in kinds.items()}


def features(rows: dict[str, list[str]]) -> np.ndarray:
    """As the first lines of the module have them."""
    columns = [
        [LISTS[name].index(cell) for cell in cells]
        if name in LISTS
        else [np.nan if cell == MISSING else float(cell) for cell in cells]
        for name, cells in rows.items()
    ]
    return np.array(columns, dtype=float).T


def frame(rows: dict[str, list[str]]) -> pandas.DataFrame:
    """Texts of categories, numbers of others."""
    kinds = {name: pandas.CategoricalDtype(LISTS[name][::-1]) for name in LISTS}  # in whatever order
    made = pandas.DataFrame(
        {name: rows[name] if name in LISTS else column for name, column in zip(rows, features(rows).T, strict=True)}
    )
    return made.astype(kinds)


@settings(max_examples=60, deadline=None)
@given(document=documents(st.integers(1, 4)), rows=tables())
def test_the_scores_are_those_of_predict_to_the_bit(document: dict[str, Any], rows: dict[str, list[str]]) -> None:
    """Also at edges, beside them, where cells are missing, and by names of categories."""
    lightgbm = pytest.importorskip("lightgbm")
    model = BoostedModel.parse(json.loads(json.dumps(document)))
    booster = lightgbm.Booster(model_str=to_lightgbm(model, asked(model)))
    cells = Columns(Path("rows"), rows, list(range(len(rows["town"]))))
    scores = booster.predict(features(rows), raw_score=True).reshape(len(cells.lines), -1)
    margins = model.margins(cells)
    if model.bounds is not None and len(model.rounds) == 1:
        margins = np.clip(margins, *model.bounds)
    assert np.array_equal(scores, margins.T)
    assert np.array_equal(booster.predict(frame(rows), raw_score=True).reshape(scores.shape), scores)
    said = booster.predict(features(rows))
    if model.classes is None:
        assert [f"{number:.6g}" for number in np.clip(said, *model.bounds or ())] == model.predict(cells)
    else:
        chances = np.stack([1 - said, said], axis=1) if len(model.classes) == 2 else said
        assert np.abs(chances - model.chances(model.margins(cells))).max() < 1e-12


@settings(max_examples=30, deadline=None)
@given(document=documents(st.integers(1, 3)))
def test_the_text_is_as_the_format_has_it(document: dict[str, Any]) -> None:
    """Sizes of trees in bytes, lists as long as their trees, every node and leaf below the root once."""
    model = BoostedModel.parse(document)
    text = to_lightgbm(model, asked(model))
    head, trees = text.encode().split(b"\n\n", 1)
    fields = dict(line.split("=") for line in head.decode().splitlines()[1:])
    assert fields["feature_names"].split() == ["pay__net", "town", "grade", "many", "pay__net_4"]
    assert len(fields["feature_infos"].split()) == int(fields["max_feature_idx"]) + 1 == len(COLUMNS)
    assert json.loads(text.rpartition("pandas_categorical:")[2]) == list(LISTS.values())
    for number, size in enumerate(map(int, fields["tree_sizes"].split())):
        tree, trees = trees[:size].decode(), trees[size:]
        assert tree.startswith(f"Tree={number}\n")
        assert tree.endswith("\n\n")
        lists = dict(line.split("=") for line in tree.splitlines()[1:] if line)
        leaves, sets = int(lists["num_leaves"]), int(lists["num_cat"])
        assert len(lists["leaf_value"].split()) == leaves
        if leaves > 1:
            children = [int(child) for side in ("left_child", "right_child") for child in lists[side].split()]
            assert sorted(children) == [*range(-leaves, 0), *range(1, leaves - 1)]
            decided = list(zip(lists["decision_type"].split(), lists["threshold"].split(), strict=True))
            assert [limit for kind, limit in decided if kind == "1"] == list(map(str, range(sets)))
            assert {kind for kind, _ in decided} <= {"1", "10"}
    assert trees.startswith(b"end of trees\n")


def test_a_model_that_was_learnt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From the command, of a file."""
    lightgbm = pytest.importorskip("lightgbm")
    rows = deployed.typed_rows().drop(columns="came").replace("", "?")
    rows["town"] = rows.town.replace({"b": "else", "c": "else"})
    document = deployed.typed_model("boosted")
    model, table = deployed.written(tmp_path, document, rows)
    out = tmp_path / "model.txt"
    assert cli.run(["export", "--model", str(model), "--to", "lightgbm", "--out", str(out)]) == 0
    assert capsys.readouterr().err == f"written: {out}\n"
    numbers = {name: pandas.to_numeric(rows[name], errors="coerce") for name in ("age", "pay")}
    known = rows[["age", "pay", "town"]].assign(**numbers).astype({"town": "category"})
    scores = lightgbm.Booster(model_file=str(out)).predict(known)
    said = deployed.said(model, table)
    assert len(set(said)) > 1
    assert [document["classes"][int(score > 0.5)] for score in scores] == said


def test_numbers_beyond_their_bounds_are_remarked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = {"target": "t", "objective": "squared", **TARGETS["squared"], "columns": COLUMNS}
    for leaf, remarks in [(1.2, 0), (1.3, 1)]:
        model, _ = deployed.written(tmp_path, document | {"trees": [[{"leaf": leaf}]] * 2}, deployed.typed_rows(1))
        assert cli.run(["export", "--model", str(model), "--to", "lightgbm", "--out", str(tmp_path / f"{leaf}")]) == 0
        said = capsys.readouterr().err
        assert said.count("\n") == remarks + 1
        assert remarks == ("keep its numbers from -2 to 3" in said)


STUMP = {"target": "t", "objective": "logistic", **TARGETS["logistic"], "columns": COLUMNS, "trees": [[{"leaf": 1}]]}
RANGE = {"column": "pay_ net", "is": "10-20", "then": {"leaf": 1}, "otherwise": {"leaf": 0}}
BAD: list[tuple[dict[str, Any], str]] = [
    ({"trees": []}, "has no trees, or no columns"),
    ({"columns": {}}, "has no trees, or no columns"),
    ({"columns": {"x": {"edges": [0, 1e-36]}}}, "'x' has the edge 1e-36"),
    ({"columns": {"x": {"edges": [-1e300, 2]}}}, "'x' has the edge -1e.300"),
    ({"trees": [[RANGE]]}, "a range of 'pay_ net'"),
]


@pytest.mark.parametrize(("fields", "line"), BAD)
def test_what_lightgbm_cannot_hold_is_refused(fields: dict[str, Any], line: str) -> None:
    model = BoostedModel.parse(STUMP | fields)
    with pytest.raises(InputError, match=line):
        to_lightgbm(model, asked(model))


def test_other_models_and_raw_cells_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    deployed.configured(tmp_path)
    for kind, more, line in [
        ("linear", [], "works only for boosted trees"),
        ("boosted", ["--schema", str(tmp_path / "schema.toml")], "remove --schema and --config"),
    ]:
        model, _ = deployed.written(tmp_path, deployed.typed_model(kind), deployed.typed_rows(1))
        assert cli.run(["export", "--model", str(model), "--to", "lightgbm", *more]) == 2
        assert line in capsys.readouterr().err
