"""docs/extending*: every snippet runs as it stands, what is to be found is found, the table is what the code says."""

from __future__ import annotations

import csv
import importlib
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

from parties.alone.local.mechanism import MECHANISMS
from parties.alone.publish.models.model import MODELS
from parties.jobs import kinds
from tests.support.places import ENVIRONMENT, ROOT
from tests.support.processes import Processes
from tests.support.registry import installed

pytestmark = pytest.mark.slow

PAGES = ("extending.md", "extending-models.md", "extending-engines.md")
TEXT = "\n".join((ROOT / "docs" / page).read_text() for page in PAGES)
SNIPPETS = dict(re.findall(r"^```python (\w+)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL))
STEPS = re.findall(r"^```python ((?:smc|parties)/[\w/]+\.py)\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
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
    assert list(SNIPPETS) == ["protocol", "rows", "model", "mechanism", "ot", "engine", "source", "sqlite"]


@pytest.mark.parametrize("name", SNIPPETS)
def test_a_snippet_runs(name: str) -> None:
    exec(compile(SNIPPETS[name], f"extending.md, {name}", "exec", dont_inherit=True), {"__name__": name})


MODULES = {"smc/ot/told.py": "ot", "smc/engines/traced.py": "engine", "parties/sources/sqlite.py": "sqlite"}


def with_step(text: str, step: str) -> str:
    """A file of ours with a step of the page: in place of a list of names, in a match, in a table, or at its end."""
    if (names := re.match(r"\w+ = Literal", step)) is not None:
        return re.sub(rf"^{names[0]}.*\n", step, text, flags=re.MULTILINE)
    for start, before in (("        case ", "        case _:\n"), ("    ", "}  # fmt: skip\n")):
        if step.startswith(start):
            assert text.count(before) == 1
            return text.replace(before, step + before)
    return text + step


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of our packages with a kind of OT, an engine and a source that were added as the page says.

    Translated files come with it, each with its source's time: only what is changed is translated at each start.
    """
    folder = tmp_path_factory.mktemp("copy")
    for package in ("smc", "parties", "protocols"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("kernels"))
    (folder / "smc/kernels").symlink_to(ROOT / "smc/kernels")  # these are compiled already
    for path, name in MODULES.items():
        (folder / path).write_text(SNIPPETS[name].partition("\n\ndef program")[0])
    for path, step in STEPS:
        (folder / path).write_text(with_step((folder / path).read_text(), step))
    return folder


def environment_of(copy: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}


def in_copy(copy: Path, *words: str) -> tuple[int, str, str]:
    return smc(environment_of(copy), copy, *words)


ADDED = ("--engine", "traced", "--ot", "told")
ESTIMATE = ("estimate", "millionaires", *ADDED, "--json")


def test_ot_engine_and_source_of_the_page_learn_a_tree_in_two_processes(copy: Path, tmp_path: Path) -> None:
    """The costs are those of the estimate, and the tree is that of our own engine from the same rows."""
    code, out, said = in_copy(copy, *ESTIMATE)
    assert code == 0, said
    (row,) = json.loads(out)["estimates"]
    assert (row["engine"], row["ot"]) == ("traced", "told")
    assert row["party1_sends"] > 2 * 16 * 32  # both keys of an OT for each bit of the evaluator's number
    processes = Processes(tmp_path, environment_of(copy))
    try:
        words = ["millionaires", *ADDED, "--json", "--value"]
        zero, one = processes.pair([*words, "5"], [*words, "7"])
        assert (zero.code, one.code) == (0, 0), zero.err + one.err
        costs = [json.loads(done.out)["cost"]["bytes_sent"] for done in (zero, one)]
        assert costs == [row["party0_sends"], row["party1_sends"]]
        for name in ("clinic_a", "clinic_b"):
            with (ROOT / f"parties/data/{name}.csv").open() as file:
                columns, *rows = csv.reader(file)
            with closing(sqlite3.connect(tmp_path / f"{name}.db")) as database, database:
                database.execute(f"CREATE TABLE days ({', '.join(columns)})")
                database.executemany("INSERT INTO days VALUES (?, ?, ?, ?, ?)", rows)
            table = f'[tables.days]\nsource = "sqlite://{name}.db"\ntable = "days"\nschema = "schema.toml"\n'
            (tmp_path / f"{name}.toml").write_text(table)
        shutil.copy(ROOT / "parties/data/schema.toml", tmp_path)
        words = ["id3", "--plain", *ADDED, "--config"]
        done = processes.pair([*words, "clinic_a.toml"], [*words, "clinic_b.toml"])
        for party in done:
            assert party.code == 0, party.err
            assert party.out.startswith("├── outlook = sunny\n"), party.out
            assert "outlook = overcast: yes" in party.out
    finally:
        processes.stop()


@pytest.mark.parametrize("engine", ["gmw", "mixed"])
def test_a_kind_of_ot_works_in_both_directions(copy: Path, tmp_path: Path, engine: str) -> None:
    code, _, said = smc(environment_of(copy), tmp_path, "demo", "--engine", engine, "--ot", "told")
    assert code == 0, said


OMISSIONS = {  # a step of the page that is left out, and the error
    "ot name": (("smc/recipes.py", 0), "Invalid value for '--ot': 'told' is not one of"),
    "ot roles": (("smc/ot/kinds.py", 0), "smc/ot/kinds.py: the kind of OT 'told' has no roles: add a case to _classes"),
    "ot twins": (
        ("smc/counting/roles.py", 0),
        "smc/counting/roles.py: ToldSender has no twin that counts: add one to TWINS",
    ),
    "engine name": (("smc/recipes.py", 1), ""),  # type checkers alone need it
    "engine recipe": (("smc/recipes.py", 2), "Invalid value for '--engine': 'traced' is not one of"),
    "engine class": (
        ("smc/engines/making.py", 0),
        "smc/engines/making.py: the engine 'traced' has no class: add it to CLASSES",
    ),
    "engine twin": (
        ("smc/counting/engines.py", 0),
        "smc/counting/engines.py: TracedEngine has no twin that counts: add one to TWINS",
    ),
    "scheme": (("parties/sources/opening.py", 0), "cannot read from sqlite://; use a file or one of postgresql://"),
}


def test_every_step_has_an_omission() -> None:
    assert len(OMISSIONS) == len(STEPS)


@pytest.mark.parametrize("omitted", OMISSIONS)
def test_what_is_missing_is_named(copy: Path, omitted: str) -> None:
    (file, number), message = OMISSIONS[omitted]
    path = copy / file
    whole = path.read_text()
    path.write_text((ROOT / file).read_text())
    for at, step in enumerate(step for place, step in STEPS if place == file):
        if at != number:
            path.write_text(with_step(path.read_text(), step))
    words = ESTIMATE
    if omitted == "scheme":
        plan = '[columns.a]\nrole = "quasi-identifier"\n[[models]]\nmodel = "k-anonymity"\nk = 2\n'
        (copy / "plan.toml").write_text(f'source = "sqlite://no.db"\ntable = "days"\n{plan}')
        words = ("publish", "anonymise", "--plan", "plan.toml", "--out", "out.csv")
    try:
        code, out, said = in_copy(copy, *words)
    finally:
        path.write_text(whole)
    if not message:
        assert code == 0, said
        return
    assert (code, out) == (2, "")
    assert message in said, said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("file", "name", "message"),
    [
        ("smc/ot/told.py", "batch = ", "smc.ot.told: ToldReceiver lacks batch: see smc/ot/interface.py"),
        (
            "smc/ot/told.py",
            "def random(self, choice",
            "smc.ot.told: ToldReceiver lacks random: see smc/ot/interface.py",
        ),
        ("smc/ot/told.py", None, "ModuleNotFoundError: No module named 'smc.ot.told'"),
        ("smc/engines/traced.py", None, "ModuleNotFoundError: No module named 'smc.engines.traced'"),
    ],
)
def test_what_is_missing_of_a_module_is_named(copy: Path, file: str, name: str | None, message: str) -> None:
    path = copy / file
    whole = path.read_text()
    if name is None:
        path.unlink()
    else:
        assert whole.count(name) == 1
        path.write_text(whole.replace(name, f"{name[:4]}un{name[4:]}"))
    try:
        _, out, said = in_copy(copy, *ESTIMATE)
    finally:
        path.write_text(whole)
    assert out == ""
    assert message in said


def test_a_sender_that_answers_within_random_is_named(copy: Path) -> None:
    """Both parties would wait at once: on XOR shares each receives first."""
    path = copy / "smc/ot/told.py"
    whole = path.read_text()
    send, receive = "self.session.send(f", "return self.session.receive(f"
    assert send in whole
    text = whole.replace(receive, "keys = self.session.prg.words(choices, count, 2); self.session.send(f")
    text = text.replace(", np.uint64, (choices, count, 2))", ", keys); return keys")
    path.write_text(
        text.replace(
            f'{send}"{{self.name}}.told", keys)\n        return self._pick',
            'keys = self.session.receive(f"{self.name}.told", np.uint64, keys.shape)\n        return self._pick',
        )
    )
    try:
        code, out, said = in_copy(copy, "estimate", "millionaires", "--engine", "gmw", "--ot", "told")
    finally:
        path.write_text(whole)
    assert (code, out) == (2, "")
    assert "the two parties' messages do not fit: both wait for the other at once" in said


def test_a_program_of_the_page_runs_and_is_counted_and_measured(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(SNIPPETS["protocol"])
    environment = ENVIRONMENT | {"PYTHONPATH": f"{tmp_path}:{ROOT}"}
    processes = Processes(tmp_path, environment)
    commands = dict(re.findall(r"^    smc ((?:estimate )?(?:run|bench)) (.*mine:larger_by.*)$", TEXT, re.MULTILINE))
    assert list(commands) == ["run", "estimate run", "bench"]
    try:
        words = ["run", *commands["run"].replace("--config party.toml", "--json").split()]
        zero, one = processes.pair(words, [*words[:2], "10,45,9", *words[3:]])
        assert (zero.code, one.code) == (0, 0), zero.err + one.err
        assert json.loads(zero.out)["result"] == json.loads(one.out)["result"] == [True, False, False]
    finally:
        processes.stop()
    code, out, said = smc(environment, tmp_path, "estimate", "run", *commands["estimate run"].split(), "--json")
    assert code == 0, said
    row = next(row for row in json.loads(out)["estimates"] if (row["engine"], row["garbling"]) == ("yao", "half"))
    words = [
        *commands["bench"].split(),
        "--links",
        "loopback",
        "--repeats",
        "1",
        "--only",
        "yao extension half",
        "--json",
    ]
    code, out, said = smc(environment, tmp_path, "bench", *words)
    assert code == 0, said
    measured = json.loads(out)
    assert str(row["party0_sends"]) in json.dumps(measured)


def test_a_kind_on_rows_of_another_package_runs_in_two_processes(tmp_path: Path) -> None:
    (tmp_path / "commonest.py").write_text(SNIPPETS["rows"].partition("\n\nschema = ")[0])
    environment = installed(tmp_path, {"commonest": "commonest:Commonest"})
    for name in ("clinic_a.csv", "clinic_b.csv", "schema.toml"):
        shutil.copy(ROOT / "parties/data" / name, tmp_path)
    processes = Processes(tmp_path, environment)
    common = ["commonest", "--column", "wind", "--schema", "schema.toml", "--engine", "yao", "--json", "--data"]
    try:
        zero, one = processes.pair([*common, "clinic_a.csv"], [*common, "clinic_b.csv"])
    finally:
        processes.stop()
    for done in (zero, one):
        assert done.code == 0, done.err
        assert (json.loads(done.out)["column"], json.loads(done.out)["value"]) == ("wind", "weak")
    code, out, said = smc(environment, tmp_path, "estimate", *common[:5], "--json")
    assert code == 0, said
    row = next(row for row in json.loads(out)["estimates"] if (row["engine"], row["garbling"]) == ("yao", "half"))
    assert row["party0_sends"] == json.loads(zero.out)["cost"]["bytes_sent"]


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
        assert any(re.search(rf"\b{one}\b", text) for one in known), lists
    if "its folder" in found:
        family = MODELS if "models" in found else MECHANISMS
        folder = importlib.import_module(family.folder).__path__[0]
        assert examples[0].parent == Path(folder)
        assert any(family.find(name).__module__.endswith(examples[0].stem) for name in family.names())
    (test,) = re.findall(r"`([\w/]+\.py)`", exercised)
    assert "def test_" in (ROOT / test).read_text()
