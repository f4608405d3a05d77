"""`smc publish protect` and `tables`: the example of the docs, what the report says, and what is refused in a line."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from parties.cli import run

pytestmark = pytest.mark.slow
DOCS = Path(__file__).parents[5] / "docs/publish-protect.md"
ROLES = """
source = "people.csv"
[columns.region]
role = "quasi-identifier"
[columns.income]
role = "other"
[columns.disease]
role = "sensitive"
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(1)
    income = np.round(random.lognormal(10, 0.6, 300))
    with Path("people.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["name", "region", "age", "income", "tax", "disease"])
        for i, x in enumerate(income.tolist()):
            place, age = "NNNNSSSSEW"[i % 10], 20 + 10 * int(random.integers(5))
            disease = ["flu", "flu", "cold", "gout"][int(random.integers(4))]
            writer.writerow([f"p{i}", place, age, int(x), round(0.3 * x + float(random.normal(0, 800))), disease])
    return tmp_path


def rows(name: str) -> list[dict[str, str]]:
    with Path(name).open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_the_example_of_the_docs_runs(here: Path) -> None:
    del here
    text = DOCS.read_text().split("# Methods of disclosure control")[1]
    block = re.search(r'    source = "people.csv"\n(?:    .*\n|\n)+', text)
    assert block is not None
    Path("protect.toml").write_text(block[0])
    line = ["publish", "protect", "--plan", "protect.toml", "--out", "protected.csv", "--report", "report.json"]
    assert run(line) == 0
    published, report = rows("protected.csv"), json.loads(Path("report.json").read_text())
    assert list(published[0]) == ["region", "age", "income", "tax", "disease", "weight"]
    assert len(published) == report["published"] == 150
    assert sum(float(row["weight"]) for row in published) == pytest.approx(300)
    assert {row["region"] for row in published} <= {"N", "S", "other", "*"}
    counts = np.unique([f"{row['region']}/{row['age']}" for row in published], return_counts=True)[1]
    assert counts.min() >= 3
    assert report["risk"]["after"]["rows_below_3"] == 0
    assert report["risk"]["after"]["individual_risk_highest"] < report["risk"]["before"]["individual_risk_highest"]
    assert [step["method"] for step in report["steps"]][-1] == "local-suppression"
    assert np.unique([row["income"] for row in published], return_counts=True)[1].min() >= 5


@pytest.mark.parametrize(
    ("method", "line"),
    [
        ('method = "prams"', "methods: must be one of sampling, .* not 'prams' .did you mean 'pram'"),
        ('method = "pram"', "methods: pram: columns: is missing"),
        ('method = "pram"\ncolumns = ["x"]', "methods: pram: there is no published column 'x'"),
        ('method = "pram"\ncolumns = ["disease"]\nkeep = 1', "methods: pram: keep: unknown key"),
        ('method = "pram"\ncolumns = ["disease"]\nmatrix = {flu = {cold = 0.5}}', "of 'flu' add up to 0.5, not 1"),
        ('method = "noise"\ncolumns = ["disease"]', "column 'disease': 'cold' is not a number"),
        ('method = "noise"\ncolumns = ["income"]\nd = 0.0', "methods: noise: d: must be > 0, not 0"),
        ('method = "microaggregation"\ncolumns = ["income"]\naggr = 999', "300 rows, but a group needs aggr = 999"),
        (
            'method = "top-bottom-coding"\ncolumns = ["income"]',
            "top-bottom-coding needs top, bottom or both, or share; give one of these",
        ),
        ('method = "sampling"\nshare = 1.5', "methods: sampling: share: must be <= 1, not 1.5"),
        ('method = "record-swapping"\ncolumn = "region"\nsimilar = ["region"]', "similar: contains the swapped column"),
        ('method = "local-suppression"\nk = 1', "methods: local-suppression: k: must be >= 2, not 1"),
        (
            'method = "pram"\ncolumns = ["disease"]\n[[models]]\nmodel = "k-anonymity"\nk = 2',
            "models: belong to smc publish anonymise",
        ),
    ],
)
def test_what_is_refused(here: Path, capsys: pytest.CaptureFixture[str], method: str, line: str) -> None:
    del here
    Path("plan.toml").write_text(f"{ROLES}[[methods]]\n{method}\n")
    assert run(["publish", "protect", "--plan", "plan.toml", "--out", "out.csv"]) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert re.search(line, message), message
    assert not Path("out.csv").exists()


def test_rows_without_a_number_would_stay_as_they_are(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del here
    Path("people.csv").write_text("region,income,disease\nN,,flu\nN,5,flu\nS,6,flu\n")
    Path("plan.toml").write_text(f'{ROLES}[[methods]]\nmethod = "noise"\ncolumns = ["income"]\n')
    assert run(["publish", "protect", "--plan", "plan.toml", "--out", "out.csv"]) == 2
    assert "1 row has no value" in " ".join(capsys.readouterr().err.split())


def test_plans_of_methods_are_not_anonymised(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    del here
    model = '[[models]]\nmodel = "k-anonymity"\nk = 2\n'
    Path("plan.toml").write_text(f'{ROLES}{model}[[methods]]\nmethod = "pram"\ncolumns = ["disease"]\n')
    assert run(["publish", "anonymise", "--plan", "plan.toml", "--out", "out.csv"]) == 2
    assert "methods: are for smc publish protect" in " ".join(capsys.readouterr().err.split())


def test_linked_tables_hide_the_same_totals(here: Path) -> None:
    del here
    pytest.importorskip("scipy")
    crosses = ["--cross", "region*disease", "a.csv", "--cross", "region*age", "b.csv"]
    assert run(["publish", "tables", "--data", "people.csv", *crosses, "--threshold", "8"]) == 0
    first, second = rows("a.csv"), rows("b.csv")
    assert [row["Total"] for row in first] == [row["Total"] for row in second]
    assert any("x" in row.values() for row in [*first, *second])
    assert run(["publish", "tables", "--data", "people.csv", "--cross", "region*region", "a.csv"]) == 2
