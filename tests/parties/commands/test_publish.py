"""smc publish: from a file to published rows, read without the program; later rows; what is refused, in one line."""

from __future__ import annotations

import csv
import json
import random
import re
import textwrap
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet
import pytest

from parties.base import console
from parties.cli import run
from tests.support.patients import DISEASES, laid_out, patients, plan, smc, stands_for, written
from tests.support.places import ROOT


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    monkeypatch.chdir(tmp_path)
    return laid_out()


@pytest.mark.parametrize("out", ["out.csv", "out.parquet"])
@pytest.mark.parametrize(
    "algorithm", ["flash", "samarati", "incognito", "mondrian", "mondrian-relaxed", "top-down", "local"]
)
def test_published_rows(table: list[dict[str, str]], algorithm: str, out: str, capsys: Any) -> None:
    plan(f'algorithm = "{algorithm}"' if algorithm != "local" else "local = true")
    files = ["--recoding", "recoding.json", "--report", "report.json"]
    assert smc("anonymise", "--plan", "publish.toml", "--out", out, *files) == 0
    rows = written(Path(out))
    report = json.loads(Path("report.json").read_text())
    assert list(rows[0]) == ["visit", "zip", "age", "sex", "disease"]
    assert len(rows) == len(table) - report["suppressed"]
    assert report["suppressed"] <= 30
    classes = defaultdict(list)
    for row in rows:
        classes[row["zip"], row["age"], row["sex"]].append(row["disease"])
    assert min(map(len, classes.values())) == report["smallest_class"] >= 4
    assert len(classes) == report["classes"]
    assert all(len(set(diseases)) >= 2 for diseases in classes.values())
    origins = defaultdict(list)
    for origin in table:
        origins[origin["visit"], origin["disease"]].append(origin)
    for row in rows:
        candidates = origins[row["visit"], row["disease"]]
        assert any(all(stands_for(row[name], one[name]) for name in ("zip", "age", "sex")) for one in candidates)
    capsys.readouterr()
    assert smc("check", "--plan", "publish.toml", "--data", out, "--json") == 0
    checked = json.loads(capsys.readouterr().out)
    for name in ("classes", "smallest_class", "risks"):
        assert checked[name] == pytest.approx(report[name]) if name != "risks" else checked[name].keys()
    assert checked["risks"]["linkage"] == report["risks"]["linkage"]
    arguments = ["--published", out, "--known", "patients.csv", "--plan", "publish.toml", "--sensitive", "disease"]
    assert run(["attack", "infer", *arguments, "--json"]) == 0
    inferred = json.loads(capsys.readouterr().out)
    for found in (report["risks"]["sensitive"]["disease"], checked["risks"]["sensitive"]["disease"]):
        assert found["strongest"] == inferred["strongest"]
        assert found["inference"] == {
            "people": len(table),
            "most_frequent_value": inferred["prior"],
            "possible_rows": inferred["class"],
            "naive_bayes": inferred["classifier"],
            "nearest_row": inferred["nearest"],
            "ten_nearest_rows": inferred["neighbours"],
            "rare_match": pytest.approx(inferred["rare"], abs=0.15),  # the first of equal rows: by the order of rows
        }


def test_a_published_table_without_its_source(capsys: Any) -> None:
    """Attackers then know the labels only; the report says it."""
    plan("")
    assert smc("anonymise", "--plan", "publish.toml", "--out", "out.csv") == 0
    Path("patients.csv").unlink()
    capsys.readouterr()
    assert smc("check", "--plan", "publish.toml", "--data", "out.csv") == 0
    assert re.search(r"attackers know +out.csv, as published \(.*patients.csv", capsys.readouterr().out)


@pytest.mark.parametrize("algorithm", ["flash", "mondrian"])
def test_later_rows(algorithm: str, capsys: Any) -> None:
    plan(f'algorithm = "{algorithm}"')
    assert smc("anonymise", "--plan", "publish.toml", "--out", "out.csv", "--recoding", "recoding.json") == 0
    labels = {(row["zip"], row["age"], row["sex"]) for row in written(Path("out.csv"))}
    later = patients(Path("later.csv"), 60, 2)
    arguments = ["apply", "--recoding", "recoding.json", "--data", "later.csv", "--out", "later-out.csv"]
    capsys.readouterr()
    assert smc(*arguments, "--max-suppressed", "0.9", "--json") == 0
    report = json.loads(capsys.readouterr().out)
    rows = written(Path("later-out.csv"))
    assert len(rows) == 60 - report["suppressed"]
    classes = defaultdict(list)
    for row in rows:
        classes[row["zip"], row["age"], row["sex"]].append(row["disease"])
    assert 0 < len(rows) < len(later)
    assert all(len(own) >= 4 and len(set(own)) >= 2 for own in classes.values())
    if algorithm == "mondrian":
        assert classes.keys() <= labels
    Path("later-out.csv").unlink()
    assert smc(*arguments, "--max-suppressed", "0.0001") == 2
    assert "rows would be left out" in capsys.readouterr().err
    assert not Path("later-out.csv").exists()


@pytest.mark.parametrize("source", ["patients.csv", "patients.parquet"])
def test_space_around_cells_and_missing_ones(source: str) -> None:
    """A cell is its text without space around it, and no text is no value, in numbers too: published as such."""
    cells = [("53710", 20), (" 53710", 21), ("53710 ", None), ("", None), (None, 22), ("  ", 23)] * 8
    columns = {
        "zip": [cell[0] for cell in cells],
        "age": [cell[1] for cell in cells],
        "disease": ["flu"] * 24 + ["ulcer"] * 24,
    }
    columns |= {"sex": ["m"] * 48, "visit": ["v"] * 48, "name": [str(i) for i in range(48)]}
    pyarrow.parquet.write_table(pyarrow.table(columns), "patients.parquet")
    with Path("patients.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerows([columns, *zip(*columns.values(), strict=True)])
    Path("publish.toml").write_text(Path("publish.toml").read_text().replace("patients.csv", source))
    assert smc("anonymise", "--plan", "publish.toml", "--out", "out.csv") == 0
    expected = [("53710", "20"), ("53710", "21"), ("53710", ""), ("", ""), ("", "22"), ("", "23")]
    assert Counter((row["zip"], row["age"]) for row in written(Path("out.csv"))) == Counter(expected * 8)
    assert smc("anonymise", "--plan", "publish.toml", "--out", "out.parquet") == 0
    found = pyarrow.parquet.read_table("out.parquet").select(["zip", "age"]).to_pylist()
    nothing = [(zip_ or None, age or None) for zip_, age in expected]
    assert Counter(tuple(row.values()) for row in found) == Counter(nothing * 8)
    assert smc("check", "--plan", "publish.toml", "--data", "out.csv") == 0


def test_no_value_is_a_row_of_a_single_column_too() -> None:
    """An empty line is none to those who read it."""
    Path("patients.csv").write_text("zip\n" + "53710\n" * 5 + '""\n' * 5)
    Path("one.toml").write_text(
        'source = "patients.csv"\n[columns.zip]\nrole = "quasi-identifier"\n[[models]]\nmodel = "k-anonymity"\nk = 5\n'
    )
    assert smc("anonymise", "--plan", "one.toml", "--out", "out.csv") == 0
    assert Counter(Path("out.csv").read_text().splitlines()) == {"zip": 1, '"53710"': 5, '""': 5}


def test_the_order_of_rows_is_not_kept(table: list[dict[str, str]]) -> None:
    assert smc("anonymise", "--plan", "publish.toml", "--out", "out.csv") == 0
    visits = [row["visit"] for row in written(Path("out.csv"))]
    order = [row["visit"] for row in table]
    assert visits != sorted(visits, key=order.index)


def test_a_table_as_it_is_fails_its_plan(capsys: Any) -> None:
    assert smc("check", "--plan", "publish.toml") == 2
    printed = capsys.readouterr()
    assert "FAILS: 4-anonymity (reached: 1)" in printed.out
    assert printed.err == "smc: the table does not satisfy 4-anonymity, distinct 2-diversity of disease\n"


def test_the_report_as_a_page(capsys: Any) -> None:
    """Of what is published, checked and recoded later; what is lost with fewer columns is told of the first only."""
    arguments = ["--plan", "publish.toml", "--out", "out.csv", "--recoding", "recoding.json"]
    assert smc("anonymise", *arguments, "--page", "report.html", "--report", "report.json") == 0
    report = json.loads(Path("report.json").read_text())
    assert [point["column"] for point in report["dimensions"]] == ["zip", "age", "sex"]
    assert sum(part["rows"] for part in report["class_sizes"]) == 300 - report["suppressed"]
    page = Path("report.html").read_text()
    assert "<h1>out.csv: " in page
    assert f"{100 * report['dimensions'][1]['lost']:.1f}%" in page
    patients(Path("later.csv"), 200, 2)
    apply = ["apply", "--recoding", "recoding.json", "--data", "later.csv", "--out", "later-out.csv"]
    assert smc(*apply, "--max-suppressed", "0.9", "--page", "later.html") == 0
    assert smc("check", "--plan", "publish.toml", "--data", "out.csv", "--page", "check.html") == 0
    for name, title in (("later.html", "later-out.csv"), ("check.html", "out.csv")):
        assert f"<h1>{title}: " in Path(name).read_text()
        assert "<svg" not in Path(name).read_text()
    assert smc("check", "--plan", "publish.toml", "--page", "failed.html") == 2
    assert ">fails<" in Path("failed.html").read_text()
    assert smc("check", "--plan", "publish.toml", "--page", "patients.csv") == 2
    assert "would be overwritten" in capsys.readouterr().err


def test_a_proposed_plan_can_be_used(table: list[dict[str, str]], capsys: Any) -> None:
    assert smc("plan", "--data", "patients.csv", "--out", "proposal.toml") == 0
    printed = capsys.readouterr().out
    assert "name: 300 distinct values: an identifier" in printed
    assert "\ndisease: the name suggests a sensitive column" in printed
    proposed = Path("proposal.toml").read_text()
    Path("proposal.toml").write_text(f"{proposed}# completed\n")
    assert smc("plan", "--data", "patients.csv", "--out", "proposal.toml") == 2
    assert "--out: proposal.toml exists already" in capsys.readouterr().err
    assert Path("proposal.toml").read_text() == f"{proposed}# completed\n"
    widths = tomllib.loads(Path("proposal.toml").read_text())["columns"]["age"]["ranges"]
    assert all(isinstance(width, int) for width in widths)  # as one writes them
    keys = [(row["visit"], row["zip"], row["age"]) for row in table]
    alone = sum(keys.count(key) == 1 for key in keys) / len(keys)
    assert f"visit, age, zip: {alone:.1%} of the rows are alone" in printed or "of the rows are alone" in printed
    none = "no column is sensitive: rows of a class may still reveal facts about their people\n"
    for source, said in (("proposal.toml", 1), ("publish.toml", 0)):
        capsys.readouterr()
        assert smc("anonymise", "--force", "--plan", source, "--out", "out.csv") == 0
        assert capsys.readouterr().err.count(none) == said
        assert "name" not in written(Path("out.csv"))[0]


REFUSED = [
    (("max_suppressed = 0.1", "max_suppressed = 1.5"), "max_suppressed: must be <= 1, not 1.5"),
    (("k = 4", "k = 301"), "301-anonymity is impossible"),
    (("l = 2", "l = 5"), "distinct 5-diversity of disease is impossible"),
    (("l = 2", "l = 2.5"), "l must be a whole number, not 2.5"),
    (("k = 4", "l = 4"), "k-anonymity has no l"),
    (("k = 4", ""), "k-anonymity needs k"),
    (('model = "k-anonymity"', 'model = "k"'), "there is no publishing model 'k'; there are"),
    (
        ('column = "disease"', 'column = "age"'),
        "needs a sensitive column, but the named one is a column of the role quasi-identifier",
    ),
    (('column = "disease"', 'column = "diseas"'), "needs a sensitive column, but the named one is not in the plan"),
    (('visit = { role = "other" }', 'name2 = { role = "other" }'), "there is no column 'name2' (did you mean 'name'?)"),
    (('name = { role = "identifier" }', 'name = { role = "other" }'), "column 'name' has a different value in each of"),
    (("prefixes = [4, 3, 2]", 'tree = "zip.csv"'), "cannot read zip.csv: there is no such file"),
    (("prefixes = [4, 3, 2]", 'tree = "disease.csv"'), "is not in its hierarchy"),
    (("prefixes = [4, 3, 2]", 'tree = "two.csv"'), "'53700' of level 0 has two parents, 'a' and 'b'"),
    (('source = "patients.csv"', 'source = "none.csv"'), "none.csv: there are no rows"),
    (("ranges = [5, 10, 20]", "ranges = [5, 12]"), "columns.age.ranges: each width must be a multiple"),
    (('algorithm = "flash"', 'algorithm = "flesh"'), "algorithm: must be"),
    (('source = "patients.csv"', 'source = "absent.csv"'), "cannot read absent.csv: there is no such file"),
]


@pytest.mark.parametrize(("change", "problem"), REFUSED, ids=[problem[:40] for _, problem in REFUSED])
def test_bad_plans(change: tuple[str, str], problem: str, capsys: Any) -> None:
    plan('algorithm = "flash"')
    text = Path("publish.toml").read_text()
    assert change[0] in text
    Path("two.csv").write_text("53700,a,*\n53700,b,*\n")
    Path("none.csv").write_text("name,visit,zip,age,sex,disease\n")
    Path("publish.toml").write_text(text.replace(*change, 1))
    assert smc("anonymise", "--plan", "publish.toml", "--out", "out.csv") == 2
    error = capsys.readouterr().err
    assert problem in error
    assert error.count("\n") == 1
    assert not Path("out.csv").exists()


@pytest.mark.parametrize("out", ["patients.csv", "publish.toml", "disease.csv"])
def test_no_input_is_overwritten(out: str, capsys: Any) -> None:
    before = Path(out).read_bytes()
    assert smc("anonymise", "--plan", "publish.toml", "--out", out) == 2
    assert "would be overwritten" in capsys.readouterr().err
    assert Path(out).read_bytes() == before


def test_a_file_that_is_no_recoding(capsys: Any) -> None:
    none, broken = "not a recoding", "line 1: the file is not valid JSON"
    for text, message in (("{}", none), ("[1]", none), ('{"smc_recoding": 1}', none), ("x", broken)):
        Path("recoding.json").write_text(text)
        assert smc("apply", "--recoding", "recoding.json", "--data", "patients.csv", "--out", "out.csv") == 2
        assert message in capsys.readouterr().err


def test_the_page_runs_as_it_stands(capsys: Any) -> None:
    """The plan and the commands of docs/publish.md."""
    page = (ROOT / "docs" / "publish.md").read_text()
    blocks = re.findall(r"\n\n((?:    .*\n|\n(?=    ))+)", page)
    commands = [line.split()[2:] for line in blocks[0].splitlines() if line.strip()]
    for name, rows, seed in (("patients.csv", 300, 1), ("june.csv", 250, 2)):
        draw = random.Random(seed)
        with Path(name).open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["name", "zip", "age", "birth", "education", "disease", "visits"])
            for i in range(rows):
                age, degree = draw.randrange(20, 60), draw.choice(["Bachelors", "Masters"])
                row = [i, f"5371{draw.randrange(3)}", age, f"{2020 - age}-01-02", degree]
                writer.writerow([*row, draw.choice(list(DISEASES)), draw.randrange(9)])
    Path("education.csv").write_text("Bachelors,Undergraduate,Higher,*\nMasters,Graduate,Higher,*\n")
    assert [words[0] for words in commands] == ["plan", "anonymise", "check", "apply"]
    Path("publish.toml").unlink()
    assert smc(*commands[0]) == 0
    plan = next(block for block in blocks if "[[models]]" in block)
    Path("publish.toml").write_text(textwrap.dedent(plan))
    for words in commands[1:]:
        assert smc(*words) == 0, capsys.readouterr().err
    assert list(written(Path("june-published.csv"))[0]) == ["zip", "age", "birth", "education", "disease", "visits"]


def test_pseudonyms_are_not_for_anonymised_rows(capsys: Any) -> None:
    text = Path("publish.toml").read_text()
    Path("publish.toml").write_text(text.replace('"identifier" }', '"identifier", pseudonym = "deterministic" }'))
    assert smc("anonymise", "--plan", "publish.toml", "--out", "out.csv") == 0
    assert "dropped: 'name': pseudonyms would link the rows of a person" in capsys.readouterr().err
    assert "name" not in written(Path("out.csv"))[0]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("l = 2", "l = nan", "models: l-diversity: l must be a whole number, not nan"),
        ("l = 2", "l = inf", "models: l-diversity: l must be a whole number, not inf"),
        ("ranges = [5, 10, 20]", "ranges = []", "columns.age.ranges: must not be empty"),
        ("prefixes = [4, 3, 2]", "prefixes = [70000]", "columns.zip.prefixes.0: must be <= 65536, not 70000"),
        ("prefixes = [4, 3, 2]", "prefixes = []", "columns.zip.prefixes: must not be empty"),
    ],
)
def test_plans_that_say_nothing(old: str, new: str, message: str, capsys: Any) -> None:
    text = Path("publish.toml").read_text()
    assert old in text
    Path("publish.toml").write_text(text.replace(old, new))
    assert smc("anonymise", "--plan", "publish.toml", "--out", "out.csv") == 2
    assert capsys.readouterr().err == f"smc: publish.toml: {message}\n"


def test_recodings_that_were_changed(capsys: Any) -> None:
    """What each change would have broken is said before a row is read, or where the column is."""
    assert smc("anonymise", "--plan", "publish.toml", "--out", "out.csv", "--recoding", "recoding.json") == 0
    whole = json.loads(Path("recoding.json").read_text())
    for changed, message in (
        (whole | {"levels": [9, 0, 0]}, "column 'zip': there is no level 9; the top is 4"),
        (whole | {"levels": [1]}, "must have a level, and boxes a span, for each of the 3 quasi-identifiers"),
        (whole | {"levels": None}, "must have either levels or boxes"),
        (whole | {"max_suppressed": 7}, "max_suppressed: must be <= 1, not 7"),
        (whole | {"columns": {"age": 3}}, "columns.age: must be a table, not 3"),
    ):
        capsys.readouterr()
        Path("recoding.json").write_text(json.dumps(changed))
        assert smc("apply", "--recoding", "recoding.json", "--data", "patients.csv", "--out", "later.csv") == 2
        assert message in capsys.readouterr().err
        assert not Path("later.csv").exists()


def test_masked_columns_stay_masked_in_later_rows() -> None:
    text = Path("publish.toml").read_text()
    text = text.replace('name = { role = "identifier" }', 'name = { role = "identifier", mask = "default" }')
    masked = '{ role = "other", mask = { kind = "custom", first = 1, padding = "-" } }'
    Path("publish.toml").write_text(text.replace('visit = { role = "other" }', f"visit = {masked}"))
    assert smc("anonymise", "--plan", "publish.toml", "--out", "out.csv", "--recoding", "recoding.json") == 0
    patients(Path("later.csv"), 200, 2)
    later = ["--data", "later.csv", "--out", "later-out.csv", "--max-suppressed", "0.9"]
    assert smc("apply", "--recoding", "recoding.json", *later) == 0
    for path in ("out.csv", "later-out.csv"):
        rows = written(Path(path))
        assert {(row["name"], row["visit"]) for row in rows} == {("xxxx", "v-")}


def test_what_takes_long_says_what_it_does(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    said: list[str] = []

    @contextmanager
    def progress(what: str) -> Iterator[Any]:
        said.append(what)
        yield SimpleNamespace(doing=said.append)

    monkeypatch.setattr(console, "progress", progress)
    assert smc("plan", "--data", "patients.csv", "--out", "proposal.toml", "--json") == 0
    assert json.loads(capsys.readouterr().out)["notes"][0] == "300 rows, 6 columns"
    assert smc("anonymise", "--plan", "publish.toml", "--out", "out.csv", "--recoding", "recoding.json") == 0
    again = ["apply", "--recoding", "recoding.json", "--data", "patients.csv", "--out", "again.csv"]
    assert smc(*again) == 0
    assert smc("check", "--plan", "publish.toml", "--data", "out.csv") == 0
    assert smc("table", "--data", "patients.csv", "--by", "sex", "--base", "3", "--out", "table.csv") == 0
    reading = ["reading", "reading", "searching for the recoding with the least loss", "attacking", "writing"]
    planning = ["counting distinct values", "looking for rules", "counting the rows that are alone"]
    assert said == [
        reading[0],
        *planning,
        *reading[1:],
        "recoding",
        "checking",
        "attacking",
        "counting",
        "rounding cells",
    ]


def test_at_most_five_columns_are_named_as_lost(capsys: Any) -> None:
    names = [f"c{number}" for number in range(7)]
    lines = [",".join(f"{name}{row}" for name in names) for row in range(12)]
    Path("wide.csv").write_text("\n".join([",".join(names), *lines]) + "\n")
    columns = "".join(f'[columns.{name}]\nrole = "quasi-identifier"\n' for name in names)
    Path("wide.toml").write_text(f'source = "wide.csv"\n{columns}[[models]]\nmodel = "k-anonymity"\nk = 3\n')
    assert smc("anonymise", "--plan", "wide.toml", "--out", "out.csv") == 0
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("most is lost of ")
    assert last.count("100%") == 5
