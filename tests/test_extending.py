"""docs/extending.md: every snippet runs as it stands, what is to be found is found, the table is what the code says."""

from __future__ import annotations

import csv
import importlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import pytest

from parties.alone.local.mechanism import MECHANISMS
from parties.alone.publish.models.model import MODELS
from parties.jobs import kinds
from tests.support.places import ROOT
from tests.support.registry import installed

pytestmark = pytest.mark.slow

TEXT = (ROOT / "docs" / "extending.md").read_text()
SNIPPETS = dict(re.findall(r"^```python (\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))
ADDED = dict(re.findall(r"^```python (smc/[\w/]+\.py)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))
TABLE = [line.strip("| ").split(" | ") for line in re.findall(r"^\| an? .*\|$", TEXT, re.MULTILINE)]
GROUPS = {kinds.GROUP, MODELS.group, MECHANISMS.group}


def smc(environment: Mapping[str, str], folder: Path, *words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "parties", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


def test_there_is_one_for_each_thing() -> None:
    assert list(SNIPPETS) == ["protocol", "rows", "model", "mechanism", "ot", "engine", "source"]


@pytest.mark.parametrize("name", SNIPPETS)
def test_a_snippet_runs(name: str) -> None:
    exec(compile(SNIPPETS[name], f"extending.md, {name}", "exec", dont_inherit=True), {"__name__": name})


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of our packages with a kind of OT that was added as the page says."""
    folder = tmp_path_factory.mktemp("told")
    for package in ("smc", "parties", "protocols"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "smc/ot/told.py").write_text(SNIPPETS["ot"].partition("\n\ndef program")[0])
    recipes, kinds_of_ot, roles = (folder / name for name in ADDED)
    recipes.write_text(re.sub(r"^OTKind = .*\n", ADDED["smc/recipes.py"], recipes.read_text(), flags=re.MULTILINE))
    text = kinds_of_ot.read_text()
    kinds_of_ot.write_text(text.replace("        case _:\n", ADDED["smc/ot/kinds.py"] + "        case _:\n"))
    roles.write_text(roles.read_text() + ADDED["smc/counting/roles.py"])
    return folder


ESTIMATE = ("estimate", "millionaires", "--engine", "yao", "--ot", "told", "--json")


def test_a_kind_of_ot_that_was_added_as_the_page_says_can_be_estimated(told: Path) -> None:
    assert list(ADDED) == ["smc/recipes.py", "smc/ot/kinds.py", "smc/counting/roles.py"]
    code, out, said = smc({**os.environ, "PYTHONPATH": str(told)}, told, *ESTIMATE)
    assert code == 0, said
    (row,) = json.loads(out)["estimates"]
    assert (row["engine"], row["ot"]) == ("yao", "told")
    keys = 2 * 16 * 32  # both keys of an OT for each bit of the evaluator's number
    assert row["party0_sends"] > keys


@pytest.mark.parametrize(
    ("file", "without", "message"),
    [
        ("smc/ot/kinds.py", "", "smc/ot/kinds.py: the kind of OT 'told' has no roles: add a case to make_roles"),
        ("smc/counting/roles.py", "", "smc/counting/roles.py: ToldSender has no twin that counts: add one to TWINS"),
    ],
)
def test_what_is_missing_of_a_kind_of_ot_is_named(told: Path, file: str, without: str, message: str) -> None:
    path = told / file
    whole = path.read_text()
    path.write_text(whole.replace(ADDED[file], without))
    try:
        code, out, said = smc({**os.environ, "PYTHONPATH": str(told)}, told, *ESTIMATE)
    finally:
        path.write_text(whole)
    assert (code, out) == (2, "")
    assert said == f"smc: {message}\n"


def test_what_it_names_is_there() -> None:
    for path in re.findall(r"`((?:smc|parties|protocols|examples|tests)/[a-z_/]+(?:\.py)?)`", TEXT):
        assert (ROOT / path).exists(), path


def test_a_model_of_another_package_is_what_smc_publishes_by(tmp_path: Path) -> None:
    (tmp_path / "likeness.py").write_text(SNIPPETS["model"])
    environment = installed(tmp_path, {"beta-likeness": "likeness:BetaLikeness"}, MODELS.group)
    rng = random.Random(1)
    rows = [(str(age), rng.choice("ab" if age < 40 else "abccc")) for age in range(20, 60) for _ in range(5)]
    (tmp_path / "rows.csv").write_text("age,disease\n" + "".join(f"{age},{disease}\n" for age, disease in rows))
    plan = (
        'source = "rows.csv"\n[columns.age]\nrole = "quasi-identifier"\nranges = [5, 10, 20, 40]\n'
        '[columns.disease]\nrole = "sensitive"\n[[models]]\nmodel = "k-anonymity"\nk = 5\n'
    )
    liking = '[[models]]\nmodel = "beta-likeness"\ncolumn = "disease"\nbeta = 1\n'
    (tmp_path / "k.toml").write_text(plan)
    (tmp_path / "liking.toml").write_text(plan + liking)
    (tmp_path / "none.toml").write_text(plan + liking.replace("beta = 1", "beta = 0"))
    (tmp_path / "less.toml").write_text(plan + liking.replace("beta = 1\n", ""))
    for name in ("k", "liking"):
        found = smc(environment, tmp_path, "publish", "anonymise", "--plan", f"{name}.toml", "--out", f"{name}.csv")
        assert found[0] == 0, found
    whole = Counter(disease for _, disease in rows)
    assert most_likely(tmp_path / "k.csv", whole) > 2  # classes that k-anonymity alone is content with
    assert 1 < most_likely(tmp_path / "liking.csv", whole) <= 2
    words = ("publish", "anonymise", "--plan", "none.toml", "--out", "none.csv")
    wrong = "models: beta-likeness: beta must be > 0, not 0"
    assert smc(environment, tmp_path, *words) == (2, "", f"smc: none.toml: {wrong}\n")
    code, _, said = smc(environment, tmp_path, *words[:-3], "less.toml", *words[-2:])
    needs = "beta-likeness needs column (a sensitive column), beta (how much more frequent a value may be)"
    assert (code, said) == (2, f"smc: less.toml: models: beta is missing: {needs}\n")


def most_likely(path: Path, whole: Counter[str]) -> Fraction:
    """How many times as frequent a value is in a class of published rows, at most, as in the whole table."""
    with path.open() as file:
        rows = [(row["age"], row["disease"]) for row in csv.DictReader(file)]
    sizes, total = Counter(age for age, _ in rows), sum(whole.values())
    return max(Fraction(n * total, sizes[age] * whole[disease]) for (age, disease), n in Counter(rows).items())


def test_a_mechanism_of_another_package_is_what_smc_reports_by(tmp_path: Path) -> None:
    (tmp_path / "above.py").write_text(SNIPPETS["mechanism"])
    environment = installed(tmp_path, {"above": "above:Above"}, MECHANISMS.group)
    people = 20_000
    (tmp_path / "rows.csv").write_text("age\n" + "".join(f"{i % 100}\n" for i in range(people)))
    plan = 'question = "old?"\nmechanism = "above"\nthreshold = 69\nepsilon = 1.0\n'
    (tmp_path / "local.toml").write_text(plan)
    (tmp_path / "none.toml").write_text(plan.replace("epsilon", "epsilom"))
    reports = ("--plan", "local.toml", "--reports", "reports.txt")
    asked = ("--data", "rows.csv", "--column", "age", "--out", "reports.txt")
    for words in (("key", "--out", "k"), ("report", "--plan", "local.toml", "--key", "k", *asked)):
        found = smc(environment, tmp_path, "local", *words)
        assert found[0] == 0, found
    code, out, said = smc(environment, tmp_path, "local", "decode", *reports, "--json")
    assert code == 0, said
    document = json.loads(out)
    assert (document["mechanism"], document["reports"]) == ("above", people)
    assert 0.9999 < document["epsilon"] <= 1
    (row,) = document["estimates"]
    assert abs(row["value"] - 0.3) < 6 * row["deviation"] < 0.06  # once in 10^9 it is farther
    code, _, said = smc(environment, tmp_path, "local", "report", "--plan", "none.toml", "--value", "3")
    assert (code, said) == (2, "smc: none.toml: above has no epsilom; it has threshold, epsilon\n")


def test_the_table_has_what_there_is_to_add() -> None:
    assert [row[0] for row in TABLE] == [
        *("a kind of job", "a release question", "a publishing model", "a local mechanism"),
        *("a source backend", "an engine", "an OT extension", "a notification channel"),
    ]


@pytest.mark.parametrize("row", TABLE, ids=[row[0] for row in TABLE])
def test_the_table_is_what_the_code_says(row: list[str]) -> None:
    _, write, made, found, exercised = row
    examples = [ROOT / path for path in re.findall(r"`([\w/]+\.py)`", write)]
    source = "\n".join(example.read_text() for example in examples)
    places = re.findall(r"`((?:smc|parties)\.[\w.]+)`", made)
    assert places
    for place in places:
        module, _, name = place.rpartition(".")
        base = getattr(importlib.import_module(module), name)
        assert name in source, place
        defined = set(re.findall(r"`([a-z_]+)`", made))
        assert defined == set(getattr(base, "__abstractmethods__", ())), place
    assert set(re.findall(r"entry point `([\w.-]+)`", found)) <= GROUPS
    for lists in re.findall(r"`([\w/]+\.py)`", found):  # each names what the example has
        text = (ROOT / lists).read_text()
        known = {*(example.stem for example in examples), *re.findall(r"^class (\w+)", source, re.MULTILINE)}
        assert lists == "parties/jobs/kinds.py" or any(re.search(rf"\b{one}\b", text) for one in known), lists
    if "its folder" in found:
        family = MODELS if "models" in found else MECHANISMS
        folder = importlib.import_module(family.folder).__path__[0]
        assert examples[0].parent == Path(folder)
        assert any(family.find(name).__module__.endswith(examples[0].stem) for name in family.names())
    (test,) = re.findall(r"`([\w/]+\.py)`", exercised)
    assert "def test_" in (ROOT / test).read_text()
