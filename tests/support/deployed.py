"""Models of every kind with rows to predict for: what is deployed must say of them what `smc predict` says."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from parties.models.load import load_any, predicted
from parties.notebook import JointBoostClassifier, JointForestClassifier, JointID3Classifier
from parties.sources.delimited import csv_columns as columns
from parties.tables.schema import Schema
from parties.tables.types import Domain, read_type
from tests.support.places import ROOT

SHARED = ROOT.parent / "shared" / "data"
DATA = {  # and the target of each
    "tennis": "Play",
    "car": "class",
    "house-votes-84": "class",
    "tic-tac-toe": "Class",
    "wisconsin": "Class",
    "balance-scale": "Class Name",
}
KINDS = ["tree", "forest", "boosted", "linear", "bayes"]  # see `learnt`
# Each kind of every second table, of the smallest all: what a kind is exported as does not depend on what it tells.
LEARNT = [
    pytest.param(name, kind, marks=pytest.mark.campaign if place and (place + turn) % 2 else ())
    for place, name in enumerate(DATA)
    for turn, kind in enumerate(KINDS)
]
TYPED = Schema(
    {
        "age": Domain(read_type({"type": "integer", "low": 18, "high": 57, "missing": True})),
        "pay": Domain(read_type({"type": "real", "low": 0.0, "high": 99.5, "edges": [10.5, 50.0], "missing": True})),
        "came": Domain(read_type({"type": "date", "low": "2024-01-01", "high": "2025-12-31", "missing": True})),
        "town": Domain(read_type({"type": "category", "values": ["a", "it's"], "other": "else"})),
        "ill": ("no", "yes"),
    },
    "ill",
)


def frame(name: str) -> pandas.DataFrame:
    """A data set of ../shared as text."""
    path = SHARED / f"{name}.csv"
    if not path.is_file():
        pytest.skip("the shared data sets are not here")
    return pandas.read_csv(path, dtype=str, keep_default_na=False)


def learnt(rows: pandas.DataFrame, target: str, kind: str) -> dict[str, Any]:
    """The content of a model's file, learnt from these rows alone."""
    if kind == "bayes":
        return bayes(rows, target)
    if kind == "boosted":
        schema = Schema({name: tuple(sorted(set(rows[name]))) for name in rows.columns}, target)
        made = JointBoostClassifier(schema, exact=True, rounds=4, depth=3, min_child_weight=1.0)
        return made.fit(rows.drop(columns=target), rows[target]).document_
    if kind == "linear":
        draw = np.random.default_rng(3)
        weights = {n: {v: draw.normal() for v in sorted(set(rows[n]))} for n in rows.columns if n != target}
        columns = {name: {"weights": column} for name, column in weights.items()}
        return {"target": target, "classes": sorted(set(rows[target]))[:2], "intercept": 0.1, "columns": columns}
    if kind == "forest":
        return JointForestClassifier(target=target, trees=7, seed=1, plain=True).fit(rows).tree_file_.fields()
    return JointID3Classifier(target=target, plain=True).fit(rows).tree_file_.fields()


def bayes(rows: pandas.DataFrame, target: str) -> dict[str, Any]:
    """The counts of a naive Bayes model."""
    classes = dict(Counter(rows[target]))
    counts = {
        name: {
            value: [int(((rows[name] == value) & (rows[target] == label)).sum()) for label in classes]
            for value in sorted(set(rows[name]))
        }
        for name in rows.columns
        if name != target
    }
    return {"target": target, "classes": classes, "columns": counts}


def typed_rows(number: int = 400) -> pandas.DataFrame:
    """Raw rows of `TYPED`, as text; empty where there is no value."""
    draw = np.random.default_rng(5)
    days = np.datetime64("2023-12-01") + draw.integers(0, 800, number)
    rows = pandas.DataFrame(
        {
            "id": [str(i) for i in range(number)],
            "age": draw.integers(10, 70, number).astype(str),
            "pay": np.round(draw.uniform(-5, 120, number), 2).astype(str),
            "came": days.astype(str),
            "town": draw.choice(["a", "it's", "b", "c"], number),
        }
    )
    for name in ("age", "pay", "came"):
        rows.loc[draw.random(number) < 0.1, name] = ""
    pay = pandas.to_numeric(rows.pay)
    rows["ill"] = np.where((pay > 50) ^ (rows.town == "b") ^ (draw.random(number) < 0.1), "yes", "no")
    return rows


def typed_model(kind: str) -> dict[str, Any]:
    """A model of `TYPED`."""
    columns = {
        "age": {"weight": 0.31, "middle": 40.0, "least": 20.0, "greatest": 55.0},
        "pay": {"weight": -0.07, "middle": 40.1, "least": 0.0, "greatest": 99.5},
        "town": {"weights": {"a": 1.5, "it's": -0.25, "else": 0.125}},
    }
    if kind == "linear":
        return {"target": "ill", "classes": ["no", "yes"], "intercept": 0.4, "columns": columns}
    if kind == "number":
        return {"target": "cost", "least": -2.0, "greatest": 4.5, "intercept": 0.4, "columns": columns}
    rows = typed_rows()
    schema = Schema({n: TYPED.attributes[n] for n in ("age", "pay", "town", "ill")}, "ill")
    towns = rows.town.replace({"b": "else", "c": "else"})
    X = rows[["age", "pay", "town"]].assign(
        town=towns, age=pandas.to_numeric(rows.age), pay=pandas.to_numeric(rows.pay)
    )
    return JointBoostClassifier(schema, exact=True, rounds=6, depth=3).fit(X, rows.ill).document_


def typed_tree() -> dict[str, Any]:
    """A tree over days, ranges and texts of `TYPED`."""
    towns = {"a": {"class": "no"}, "it's": {"class": "yes"}, "else": {"class": "no"}}
    by_pay = [{"class": "no"}, {"attribute": "town", "branches": towns}, {"class": "yes"}, {"class": "missing"}]
    came = TYPED.attributes["came"]
    return {
        "schema_digest": TYPED.digest(),
        "target": "ill",
        "tolerance": 0.5,
        "ordered": {"came": list(came)},
        "tree": {
            "attribute": "came",
            "from": came[9],
            "branches": {
                "before": {"attribute": "pay", "branches": dict(zip(TYPED.attributes["pay"], by_pay, strict=True))},
                "later": {"class": "yes"},
            },
        },
    }


def written(folder: Path, document: Any, rows: pandas.DataFrame) -> tuple[Path, Path]:
    """The files of a model and of rows."""
    model, table = folder / "model.json", folder / "rows.csv"
    model.write_text(json.dumps(document))
    rows.to_csv(table, index=False, quoting=csv.QUOTE_MINIMAL)
    return model, table


def said(model: Path, table: Path) -> list[str]:
    """What `smc predict` says of rows that are categories already."""
    return predicted(load_any(model), columns(table))


def configured(folder: Path) -> Path:
    """A party's file with rows.csv as a table of `TYPED`."""
    TYPED.save(folder / "schema.toml")
    config = folder / "party.toml"
    config.write_text('[tables.rows]\nsource = "rows.csv"\nschema = "schema.toml"\nmax_rows = 10000\n')
    return config
