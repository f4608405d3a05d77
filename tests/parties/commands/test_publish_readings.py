"""smc publish reads cells as the plan or party.toml settled it: codes without a value, days of Excel, short years."""

from __future__ import annotations

import csv
import json
import random
import tomllib
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pandas
import polars
import pyarrow
import pyarrow.parquet
import pytest
import tomli_w

from parties.alone.publish.models.model import KAnonymity
from parties.alone.publish.reading import rows_of
from parties.alone.publish.rules import Rule
from parties.cli import run
from parties.link import identity
from parties.notebook import Anonymiser
from parties.sources.column_formats import read_text
from parties.sources.settings import PlaceSettings, SourceSettings

ROWS = 240
READINGS = ["--reading", "X=missing:99", "--reading", "visit=excel", "--reading", "born=until-2026"]


def drawn() -> Iterator[tuple[str, int | None, date, date]]:
    """The true values of the rows: sex, X, and the days of visit and birth, no birth after 2000."""
    draw = random.Random(7)
    for _ in range(ROWS):
        visit = date(2019, 1, 1) + timedelta(draw.randrange(700))
        born = date(1940, 1, 1) + timedelta(draw.randrange(60 * 365))
        yield draw.choice("mw"), None if draw.random() < 0.2 else draw.randrange(20, 60), visit, born


@pytest.fixture
def truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int | None, date, date]]:
    """The rows, and their file in this directory: 99 for no value, days since 1899-12-30, years of two digits."""
    monkeypatch.chdir(tmp_path)
    rows = [*drawn()]
    with Path("raw.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["sex", "X", "visit", "born"])
        for sex, x, visit, born in rows:
            writer.writerow([sex, 99 if x is None else x, (visit - date(1899, 12, 30)).days, f"{born:%d.%m.%y}"])
    return rows


def planned(column: str, **plan: Any) -> None:
    """Let the plan publish one quasi-identifier, one level for all rows, without any left out."""
    proposed = tomllib.loads(Path("proposed.toml").read_text())
    proposed.pop("algorithm", None)
    columns = {column: proposed["columns"][column]}
    Path("publish.toml").write_text(tomli_w.dumps({**proposed, "columns": columns, "max_suppressed": 0.0, **plan}))


def column_of(path: str, name: str) -> Counter[str]:
    with Path(path).open() as stream:
        return Counter(row[name] for row in csv.DictReader(stream))


def labels(value: date | int | None) -> Iterator[str]:
    """The labels of a value, level by level, by the documentation of the rules."""
    if value is None:
        yield from [""] * 4
    elif isinstance(value, date):
        yield from (f"{value}", f"{value:%Y-%m}-*", f"{value:%Y}-*-*", f"{value:%Y}"[:3] + "0s")
    else:
        yield str(value)
        yield from (f"[{value // width * width}, {value // width * width + width}[" for width in (5, 10, 20))


@pytest.mark.parametrize("column", ["X", "visit", "born"])
def test_each_reading_from_plan_to_rows(truth: list[Any], column: str, capsys: Any) -> None:
    """Written rows, those of apply, and the classes that check counts, against the true values generalised by hand."""
    values = [row[["sex", "X", "visit", "born"].index(column)] for row in truth]
    assert run(["publish", "plan", "--data", "raw.csv", "--out", "proposed.toml", *READINGS]) == 0
    planned(column)
    levels = [Counter(level) for level in zip(*map(labels, values), strict=True)]
    fine = next(level for level in levels if min(level.values()) >= 5)
    assert len(fine) > 1
    assert run(["publish", "anonymise", "--plan", "publish.toml", "--out", "out.csv", "--recoding", "re.json"]) == 0
    assert column_of("out.csv", column) == fine
    assert run(["publish", "apply", "--recoding", "re.json", "--data", "raw.csv", "--out", "later.csv"]) == 0
    assert column_of("later.csv", column) == fine
    assert run(["publish", "check", "--plan", "publish.toml", "--data", "out.csv"]) == 0
    with_public = [{"model": "k-anonymity", "k": 5}, {"model": "presence", "least": 0.5, "most": 1.0}]
    planned(column, public={"source": "raw.csv"}, models=with_public)
    assert run(["publish", "anonymise", "--plan", "publish.toml", "--out", "out.csv", "--force"]) == 0
    assert column_of("out.csv", column) == fine
    assert run(["publish", "check", "--plan", "publish.toml", "--data", "out.csv"]) == 0
    planned(column)
    capsys.readouterr()
    run(["publish", "check", "--plan", "publish.toml", "--json"])
    assert json.loads(capsys.readouterr().out)["classes"] == len(levels[0])


def test_the_plan_names_what_it_reads(truth: list[Any], capsys: Any) -> None:
    assert len(truth) == ROWS
    assert run(["publish", "plan", "--data", "raw.csv", "--out", "proposed.toml", *READINGS]) == 0
    shown = capsys.readouterr().out
    assert "X: '99': read as a missing value" in shown
    assert "born: two-digit years are 1927 to 2026" in shown
    columns = tomllib.loads(Path("proposed.toml").read_text())["columns"]
    assert columns["X"] == {"role": "quasi-identifier", "ranges": [5, 10, 20], "format": {"missing": ["99"]}}
    assert columns["visit"] == {"role": "quasi-identifier", "dates": "iso", "format": {"dates": "excel"}}
    assert columns["born"]["format"] == {"dates": "%d.%m.%y", "last_year": 2026}


def test_protected_rows_lack_what_is_missing(truth: list[Any]) -> None:
    """Top coding of all numbers: a code beyond the bound is no number."""
    assert run(["publish", "plan", "--data", "raw.csv", "--out", "proposed.toml", *READINGS]) == 0
    columns = tomllib.loads(Path("proposed.toml").read_text())["columns"]
    del columns["X"]["ranges"], columns["visit"]["dates"]
    method = {"method": "top-bottom-coding", "columns": ["X"], "top": 50}
    own = {name: columns[name] for name in ("X", "visit")}
    Path("protect.toml").write_text(tomli_w.dumps({"source": "raw.csv", "columns": own, "methods": [method]}))
    assert run(["publish", "protect", "--plan", "protect.toml", "--out", "out.csv"]) == 0
    assert column_of("out.csv", "X") == Counter("" if x is None else str(min(x, 50)) for _, x, _, _ in truth)
    assert column_of("out.csv", "visit") == Counter(str(visit) for _, _, visit, _ in truth)


def test_the_table_of_party_toml_settles_readings(truth: list[Any], capsys: Any) -> None:
    """As smc prepare wrote it: for a plan, and for counts without a plan; a second answer is refused."""
    assert run(["publish", "plan", "--data", "raw.csv", "--out", "alone.toml", *READINGS]) == 0
    assert run(["prepare", "raw.csv", "--target", "sex", "--out", "clinic", *READINGS]) == 0
    identity.create("own", [], Path("clinic"))
    with Path("clinic/party.toml").open("a") as stream:
        stream.write('[link]\nidentity = "own.key"\ncertificate = "own.crt"\n')
    by_config = ["--config", "clinic/party.toml"]
    assert run(["publish", "plan", "--data", "raw.csv", "--out", "proposed.toml", *by_config]) == 0
    assert Path("proposed.toml").read_text() == Path("alone.toml").read_text()
    counts = ["publish", "table", "--data", "raw.csv", "--by", "X", "--threshold", "2", "--out", "counts.csv"]
    assert run([*counts, *by_config]) == 0
    with Path("counts.csv").open() as stream:
        published = {row["X"]: row["Total"] for row in csv.DictReader(stream)}
    counted = Counter("?" if x is None else str(x) for _, x, _, _ in truth) | {"Total": ROWS}
    assert published.keys() == counted.keys()
    shown = {name: int(cell) for name, cell in published.items() if cell.isdecimal()}
    assert len(shown) > len(counted) / 2
    assert shown.items() <= counted.items()
    assert shown["?"] == counted["?"]
    capsys.readouterr()
    assert run(["publish", "plan", "--data", "raw.csv", "--out", "b.toml", *by_config, *READINGS]) == 2
    assert "--reading: party.toml already sets the reading of raw.csv; remove --reading" in capsys.readouterr().err


@pytest.mark.usefixtures("truth")
def test_columns_with_types(capsys: Any) -> None:
    """A code in a column of integers has no value. Days of Excel there are refused, as smc prepare refuses them."""
    table = pyarrow.table({"X": [99, 20, 20, 30] * 10, "visit": [43500] * 40, "note": ["a", "b", "k.A.", "a"] * 10})
    pyarrow.parquet.write_table(table, "raw.parquet")
    flags = ["--reading", "X=missing:99", "--reading", "note=missing:k.A."]
    assert run(["publish", "plan", "--data", "raw.parquet", "--out", "proposed.toml", *flags]) == 0
    planned("X")
    assert run(["publish", "anonymise", "--plan", "publish.toml", "--out", "out.csv"]) == 0
    assert column_of("out.csv", "X") == {"": 10, "20": 20, "30": 10}
    planned("note")
    assert run(["publish", "anonymise", "--plan", "publish.toml", "--out", "out.csv", "--force"]) == 0
    assert column_of("out.csv", "note") == {"": 10, "a": 20, "b": 10}
    planned("visit", columns={"visit": {"role": "quasi-identifier", "format": {"dates": "excel"}}})
    capsys.readouterr()
    assert run(["publish", "anonymise", "--plan", "publish.toml", "--out", "none.csv"]) == 2
    assert "column 'visit': format.dates reads texts of files, and the column is of type" in capsys.readouterr().err
    assert not Path("none.csv").exists()


@pytest.mark.usefixtures("truth")
def test_cells_beside_a_reading_and_texts_of_digits(capsys: Any) -> None:
    """A day of another form is refused; digits that are read as text have no ranges; masks leave no value as it is."""
    rows = [[f"1.{i % 7}", "31.12.99" if i else "1999", i % 3 or 99] for i in range(40)]
    with Path("raw.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["version", "born", "X"], *rows])
    flags = ["--reading", "version=text", "--reading", "born=until-2026", "--reading", "X=missing:99"]
    assert run(["publish", "plan", "--data", "raw.csv", "--out", "proposed.toml", *flags]) == 0
    columns = tomllib.loads(Path("proposed.toml").read_text())["columns"]
    assert columns["version"] == {"role": "quasi-identifier"}
    born = {**columns["born"], "dates": "iso"}
    planned("born", columns={"born": born})
    capsys.readouterr()
    assert run(["publish", "anonymise", "--plan", "publish.toml", "--out", "out.csv"]) == 2
    assert "column 'born': '1999' is not a date in the form iso" in capsys.readouterr().err
    planned("X", columns={"X": {**columns["X"], "role": "identifier", "mask": "default"}})
    assert run(["publish", "mask", "--plan", "publish.toml", "--out", "masked.csv"]) == 0
    assert column_of("masked.csv", "X") == {"": 14, "xxxx": 26}


@pytest.mark.parametrize("kind", [pandas.read_csv, polars.read_csv])
def test_a_notebook_recodes_as_the_commands(truth: list[Any], kind: Any) -> None:
    """A frame read from the raw file, with the formats of the plan; the recoding serves smc publish apply."""
    assert run(["publish", "plan", "--data", "raw.csv", "--out", "proposed.toml", *READINGS]) == 0
    columns = tomllib.loads(Path("proposed.toml").read_text())["columns"]
    for name, values in zip(("X", "born"), ([row[1] for row in truth], [row[3] for row in truth]), strict=True):
        rule = Rule.model_validate({key: columns[name][key] for key in ("ranges", "dates") if key in columns[name]})
        formats = {name: columns[name]["format"]}
        anonymiser = Anonymiser(
            [KAnonymity(5)], quasi=[name], rules={name: rule}, formats=formats, public=kind("raw.csv")
        )
        published = anonymiser.fit_transform(kind("raw.csv"))[name].to_list()
        levels = [Counter(level) for level in zip(*map(labels, values), strict=True)]
        assert Counter("" if label in (None, "?") else label for label in published) in levels
        Path("re.json").write_text(anonymiser.recoding_.text())
        assert run(["publish", "apply", "--recoding", "re.json", "--data", "raw.csv", "--out", f"{name}.csv"]) == 0
        assert column_of(f"{name}.csv", name) == Counter("" if x in (None, "?") else x for x in published)


@pytest.mark.parametrize(
    ("own", "cells"),
    [
        ({"dates": "excel", "missing": ["0"]}, ["43500", "43500.75", "0", "", "60", "x"]),
        ({"dates": "%d.%m.%y", "last_year": 2026}, ["1.2.26", "01.02.27", "31.02.99", "29.2.00", "1999"]),
        ({"decimal": ",", "thousands": ".", "missing": ["-9"]}, ["1.234,5", "12,75", "-9", "-3", "k.A."]),
    ],
)
def test_sql_and_python_read_alike(own: dict[str, Any], cells: list[str], tmp_path: Path) -> None:
    settings = SourceSettings.model_validate(own)
    pyarrow.parquet.write_table(pyarrow.table({"x": cells}), tmp_path / "x.parquet")
    place = PlaceSettings(source=str(tmp_path / "x.parquet"))
    place.read_columns_as({"x": settings})
    with rows_of(place) as rows:
        read = [cell for batch in rows.engine.batches(rows.select(["x"])) for cell in batch.column(0).to_pylist()]
    assert [read_text(cell, settings) for cell in cells] == [cell or None for cell in read]


def test_a_plan_reads_no_number_with_the_other_decimal_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{'0.500' if i % 50 == 7 else f'{i}.{i:03},5'};{i % 2}\n" for i in range(1, 99))
    Path("raw.csv").write_text("dose;y\n" + rows)
    plan = ["publish", "plan", "--data", "raw.csv", "--out", "plan.toml"]
    assert run(plan) == 2
    assert run([*plan, "--guess"]) == 0
    proposed = tomllib.loads(Path("plan.toml").read_text())
    assert proposed["columns"]["dose"]["format"]["missing"] == ["0.500"]
    place = PlaceSettings(source="raw.csv", format={"separator": ";", "decimal": ",", "thousands": "."})
    with rows_of(place) as found:
        texts = found.engine.backend.raw_sql(found.engine.sql(found.query)).fetchall()
    assert ("0.500", "1") in texts, "a cell that no mark fits stays as it is"
    assert ("12012.5", "0") in texts


def test_a_plan_warns_of_codes_as_prepare_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"{'mw'[i % 2]},{95 + i % 5 if i < 5 else 20 + i % 50}" for i in range(ROWS)]
    Path("raw.csv").write_text("\n".join(["sex,AGE", *rows, ""]))
    warning = "codes for a missing value? --reading AGE=missing:95,96,97,98,99 makes them missing"
    for reading, warned in (["--reading", "AGE=number"], True), (["--reading", "AGE=missing:95,96,97,98,99"], False):
        assert run(["publish", "plan", "--data", "raw.csv", "--out", f"{warned}.toml", *reading]) == 0
        assert (warning in capsys.readouterr().out) == warned
