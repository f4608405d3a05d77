"""A raw frame becomes what the same rows in a file become: by pandas, by Polars, by Arrow."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from parties.cli import run
from parties.notebook import JointID3Classifier, Preparer
from parties.party_file import load
from parties.sources.labels import labelled
from parties.tables import schema as schemas
from parties.tables.schema import Schema
from parties.tables.types import type_of
from smc.errors import InputError

KINDS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "arrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.fixture(scope="module")
def raw() -> pd.DataFrame:
    """Dates, numbers with gaps, words that mean no value, texts of few and of many values."""
    draw = random.Random(2)
    ages = [draw.choice([None, *[draw.randint(1, 95)] * 9]) for _ in range(400)]
    return pd.DataFrame(
        {
            "id": range(400),
            "age": ages,
            "kg": [draw.choice(["NA", *[f"{draw.uniform(40, 120):.1f}"] * 9]) for _ in ages],
            "seen": pd.to_datetime([date(2024, 1, 1) + timedelta(days=draw.randint(0, 300)) for _ in ages]),
            "sex": [draw.choice(["m", "f"]) for _ in ages],
            "code": [f"{draw.choice('AB')}{draw.randint(100, 199)}" for _ in ages],
            "empty": None,
            "outcome": ["old" if (age or 0) > 60 else "young" for age in ages],
        }
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_frame_is_prepared_as_a_file_is(kind: str, raw: pd.DataFrame, tmp_path: Path) -> None:
    raw.to_csv(tmp_path / "rows.csv", index=False, date_format="%Y-%m-%d")
    assert run(["prepare", str(tmp_path / "rows.csv"), "--target", "outcome", "--out", str(tmp_path / "out")]) == 0
    (table,) = load(tmp_path / "out" / "party.toml").tables.values()
    schema = schemas.load(table.schema_file)
    frame = KINDS[kind](raw)
    preparer = Preparer("outcome").fit(frame)
    assert preparer.schema_.digest() == schema.digest()
    assert {name for name, values in schema.attributes.items() if type_of(values)} == {"age", "kg", "seen", "code"}
    rows = preparer.transform(frame)
    assert isinstance(rows, type(frame))
    known = labelled(table, schema, list(schema.attributes)).values
    assert (rows.to_pydict() if kind == "arrow" else {name: list(rows[name]) for name in rows.columns}) == known
    report = pd.DataFrame(preparer.report_).set_index("name")
    assert report.loc["empty", "becomes"] == "left out: it is empty"


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_tree_of_typed_columns_classifies_raw_rows(kind: str, raw: pd.DataFrame) -> None:
    frame = KINDS[kind](raw)
    preparer = Preparer("outcome", exclude=["code"]).fit(frame)
    tree = JointID3Classifier(preparer.schema_, plain=True).fit(preparer.transform(frame))
    new = frame.drop(columns="outcome") if kind == "pandas" else frame.drop("outcome")
    right = tree.predict(preparer.transform(new)) == raw["outcome"].to_numpy()
    assert right.mean() > 0.98  # 60 is an edge, and the classes part behind it


def test_a_frame_is_mapped_to_a_schema_that_exists(raw: pd.DataFrame) -> None:
    schema = Preparer("outcome").fit(raw).schema_
    other = raw.rename(columns={"sex": "SEX"}).replace({"SEX": {"m": "M"}})
    preparer = Preparer(schema=schema).fit(other)
    assert preparer.mapping_["sex"].column == "SEX"
    assert set(preparer.transform(other)["sex"]) == {"f", "m"}
    strange = other.assign(SEX=["x", *other["SEX"][1:]])
    with pytest.raises(InputError, match=r"row 0 \(the first is 0\), column 'SEX': 'x' is not in the schema"):
        preparer.transform(strange)
    with pytest.raises(InputError, match="remove target and exclude"):
        Preparer("outcome", schema=schema).fit(raw)
    with pytest.raises(InputError, match="there is no column 'outcom'"):
        Preparer("outcom").fit(raw)
    with pytest.raises(InputError, match="exclude: there is no column 'x'"):
        Preparer(exclude=["x"]).fit(raw)
    with pytest.raises(InputError, match="no column has the name of an attribute"):
        Preparer(schema=Schema({"z": ("1",)})).fit(raw)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_computed_columns_are_those_of_a_file(kind: str, tmp_path: Path) -> None:
    """Rows, schema and declarations are those of `smc prepare --derive` and `party.toml`."""
    draw = random.Random(5)
    days = [date(1940, 1, 1) + timedelta(draw.randrange(25_000)) for _ in range(200)]
    frame = pd.DataFrame(
        {
            "born": [f"{day:%d.%m.%Y}" for day in days],
            "cents": [draw.choice([None, str(draw.randrange(50_000))]) for _ in days],
            "outcome": [draw.choice(["well", "ill"]) for _ in days],
        }
    )
    derive = ["age=age born 2026-01-01", "euros=scale cents 0.01", "old=flag age 65", "days=days born 2026-01-01"]
    frame.to_csv(tmp_path / "rows.csv", index=False)
    options = [word for text in derive for word in ("--derive", text)]
    command = ["prepare", str(tmp_path / "rows.csv"), "--target", "outcome", "--out", str(tmp_path / "out"), *options]
    assert run(command) == 0
    preparer = Preparer("outcome", derive=derive).fit(KINDS[kind](frame))
    assert preparer.schema_.digest() == schemas.load(tmp_path / "out" / "schema.toml").digest()
    assert {"age", "euros", "old"} <= set(preparer.schema_.attributes)
    (settings,) = load(tmp_path / "out" / "party.toml").tables.values()
    assert {name: one.model_dump() for name, one in preparer.derived_.items()} == {
        name: one.model_dump() for name, one in settings.derived.items()
    }
    rows = preparer.transform(KINDS[kind](frame))
    known = labelled(settings, preparer.schema_, list(preparer.schema_.attributes)).values
    assert (rows.to_pydict() if kind == "arrow" else {name: list(rows[name]) for name in rows.columns}) == known
    ages = [2026 - day.year - ((day.month, day.day) > (1, 1)) for day in days]
    assert known["old"] == ["yes" if age >= 65 else "no" for age in ages]
    with pytest.raises(InputError, match="derive age: write NAME=FORM"):
        Preparer(derive=["age"]).fit(frame)


def test_a_column_of_several_readings_is_refused_unless_one_is_given() -> None:
    days = [f"{i % 12 + 1:02}/{i % 5 + 1:02}/2024" for i in range(120)]
    frame = pd.DataFrame({"booked": days, "y": ["a", "b"] * 60})
    with pytest.raises(InputError) as refused:
        Preparer("y").fit(frame)
    assert "choose with readings={'booked': 'day-first'}, or set guess=True" in str(refused.value)
    assert "--" not in str(refused.value)
    for reading in ("month-first", ["month-first"]):
        preparer = clone(Preparer("y", readings={"booked": reading})).fit(frame)
        assert preparer.spelling_.dates == "%m/%d/%Y"
    preparer = Preparer("y", guess=True).fit(frame)
    assert preparer.spelling_.dates == "%d/%m/%Y"
    assert "fits too" in str(preparer.report_)
    assert Preparer("y", readings={"*": "month-first"}).fit(frame).spelling_.dates == "%m/%d/%Y"
