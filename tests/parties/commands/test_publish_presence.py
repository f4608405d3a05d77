"""Presence: how sure somebody can be that a person of a public table is among the published rows."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.patients import DISEASES, laid_out, patients, plan, smc, stands_for, written


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    monkeypatch.chdir(tmp_path)
    return laid_out()


def register(*tables: list[dict[str, str]]) -> None:
    with Path("register.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, ["zip", "age", "sex"], extrasaction="ignore")
        writer.writeheader()
        for table in tables:
            writer.writerows(table)


def presence_plan(algorithm: str) -> None:
    """The register has every patient, and as many people again."""
    model = '[[models]]\nmodel = "presence"\nleast = 0.2\nmost = 0.7\n[public]\nsource = "register.csv"'
    plan(f'algorithm = "{algorithm}"', models=model)


@pytest.mark.parametrize("algorithm", ["flash", "mondrian"])
def test_presence(table: list[dict[str, str]], algorithm: str, capsys: Any) -> None:
    people = [*table, *patients(Path("others.csv"), 300, 3)]
    register(people)
    presence_plan(algorithm)
    arguments = ["anonymise", "--plan", "publish.toml", "--force", "--out", "out.csv"]
    assert smc(*arguments, "--recoding", "recoding.json", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["suppressed"] == 0
    assert next(m for m in found["models"] if "presence" in m["model"])["holds"]

    def reached(*arguments: str) -> list[float]:
        smc(*arguments, "--json")
        models = json.loads(capsys.readouterr().out)["models"]
        return next(m["reached"] for m in models if "presence" in m["model"])

    classes = Counter((row["zip"], row["age"], row["sex"]) for row in written(Path("out.csv")))
    if algorithm == "flash":  # whose labels this test can read
        inside = {
            label: sum(all(stands_for(label[i], one[c]) for i, c in enumerate(("zip", "age", "sex"))) for one in people)
            for label in classes
        }
        shares = [n / inside[label] for label, n in classes.items()]
        assert reached("check", "--plan", "publish.toml", "--data", "out.csv") == pytest.approx(
            [min(shares), max(shares)]
        )
    assert smc("check", "--plan", "publish.toml", "--data", "out.csv") == 0
    capsys.readouterr()
    rows = written(Path("out.csv"))  # who is left out is known not to be there
    with Path("fewer.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0])
        writer.writeheader()
        writer.writerows(row for row in rows if (row["zip"], row["age"], row["sex"]) != min(classes))
    assert reached("check", "--plan", "publish.toml", "--data", "fewer.csv")[0] == 0
    assert smc("check", "--plan", "publish.toml", "--data", "fewer.csv") == 2
    assert capsys.readouterr().err == "smc: the table does not satisfy (0.2, 0.7)-presence\n"
    again = ["apply", "--recoding", "recoding.json", "--data", "patients.csv", "--out", "again.csv"]
    assert reached(*again, "--public", "register.csv") == pytest.approx(
        reached("check", "--plan", "publish.toml", "--data", "out.csv")
    )
    Path("again.csv").unlink()
    assert smc(*again) == 2
    assert "give --public" in capsys.readouterr().err
    register(people, [{"zip": "99999", "age": "59", "sex": "x"}])
    assert smc(*again, "--public", "register.csv") == 2
    assert "do not satisfy (0.2, 0.7)-presence" in capsys.readouterr().err
    assert not Path("again.csv").exists()
    Path("register.csv").write_text("zip,age,sex\n53700,20,m\n")
    for command in (arguments, [*again, "--public", "register.csv"]):
        assert smc(*command) == 2
        assert "combinations of values of the table; add these people" in capsys.readouterr().err


def test_presence_is_not_counted_in_what_it_does_not_fit(table: list[dict[str, str]], capsys: Any) -> None:
    register(table)
    presence_plan("flash")
    for labels, problem in (
        (["*,*,*", "53***,*,*"], "presence needs classes that do not overlap"),
        (["5372x,*,*"], "column 'zip': the public table lacks the value '5372x'"),
    ):
        rows = [f"{label},{disease}\n" for label in labels for disease in DISEASES]
        Path("out.csv").write_text("zip,age,sex,disease\n" + "".join(rows))
        assert smc("check", "--plan", "publish.toml", "--data", "out.csv") == 2
        assert problem in capsys.readouterr().err
