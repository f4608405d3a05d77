"""`smc align weights`, `check` and `rows`: what each says of one's own table, without a peer."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from parties.cli import run
from parties.jobs.align.fuzzy import comparisons_of
from parties.node.records import database
from parties.node.records.sidecar_files import SidecarFiles
from parties.operator.client import NodeClient
from parties.party_file import state_directory
from protocols.alignment import estimation
from tests.support.refused import refused

NAMES = ["--comparisons", "name=exact:0.7:0.01+dice@0.6:0.1:0.01+else:0.2:0.98,born=exact:0.8:0.01+else:0.2:0.99"]
RULES = ["--blocking-rules", "city"]


def table(path: Path, people: int, twice: int) -> str:
    """Write people with a name, a day and a city; some stand twice, a fifth of them with another letter in the name."""
    chance = random.Random(3)
    rows = [
        ["".join(chance.choices("abcdefgh", k=8)), str(chance.randrange(9000)), str(chance.randrange(30))]
        for _ in range(people)
    ]
    again = [[f"{name[:-1]}z" if chance.random() < 0.2 else name, *rest] for name, *rest in rows[:twice]]
    path.write_text("name,born,city\n" + "".join(",".join(row) + "\n" for row in rows + again))
    return str(path)


@pytest.mark.parametrize("twice", [0, 200])
def test_weights_are_estimated_where_there_is_something_to_estimate_them_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], twice: int
) -> None:
    """They can be given to smc align fuzzy as they are."""
    monkeypatch.setattr(estimation, "PAIRS", 1 << 18)
    words = ["align", "weights", table(tmp_path / "t.csv", 600, twice), *NAMES, *RULES]
    assert run([*words, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    found = {(row["column"], row["level"]): row for row in document["levels"]}
    assert comparisons_of(document["comparisons"]).keys() == {"name", "born"}
    assert found["name", "else"]["u"] > 0.99
    assert {row["estimated"] for row in found.values()} == {twice > 0}
    exact = found["name", "exact"]["m"]
    assert exact == 0.7 if not twice else 0.7 < exact < 0.9
    assert abs(document["duplicates"] - twice) < 20
    assert run(words) == 0
    out = capsys.readouterr().out
    assert f"--comparisons {','.join(document['comparisons'])}\n" in out
    assert ("no rule finds 50 duplicates in your table" in out) == (not twice)
    assert run([*words[:-1], "born,city"]) == 0
    out = capsys.readouterr().out
    sizes = Counter(line.split(",")[2] for line in Path(words[2]).read_text().splitlines()[1:]).values()
    pairs = sum(n * (n - 1) // 2 for n in sizes)
    assert (f"the largest are of 'city': {pairs:,} pairs of rows" in out) == (not twice)
    with_city = [*words[:-1], "name", "--comparisons", f"{NAMES[1]},city=exact:0.9:0.1+else:0.1:0.9"]
    assert run(with_city) == 0
    left_out = "m of 'name' is as you gave it: the rules that find duplicates leave their own columns out"
    assert (left_out in capsys.readouterr().out) == (twice > 0)


def test_settings_that_are_not_those_of_the_file_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table(tmp_path / "t.csv", 3, 0)
    table(tmp_path / "u.csv", 3, 0)
    monkeypatch.chdir(tmp_path)
    Path("schema.toml").write_text('target = "city"\n[attributes]\ncity = ["1", "2"]\n')
    Path("party.toml").write_text('[tables.rows]\nsource = "u.csv"\nschema = "schema.toml"\n')
    for name, config, is_said in (("t.csv", True, True), ("u.csv", True, False), ("t.csv", False, False)):
        assert run(["align", "check", name, "--by", "name", *(["--config", "party.toml"] if config else [])]) == 0
        said = f"{name}: no table of party.toml has this source" in " ".join(capsys.readouterr().err.split())
        assert said == is_said


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["t.csv", *NAMES, *RULES], "60 rows, fewer than 100: weights from them would describe single people"),
        (["t.csv", "--comparisons", "name=exact:9+else:-4", *RULES], "'name=exact:9+else:-4' must give each level as"),
        (["t.csv", *NAMES, "--blocking-rules", "town", "--forms", "city=case"], "there is no column 'town'"),
        (["t.csv", *NAMES, *RULES, "--forms", "town=case"], "--forms: 'town' is no key column"),
        (["t.csv", "--comparisons", "", *RULES], "--comparisons: "),
        (["t.csv", *NAMES, "--blocking-rules", ""], "--blocking-rules: "),
    ],
)
def test_a_table_or_settings_that_do_not_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    table(tmp_path / "t.csv", 60, 0)
    monkeypatch.chdir(tmp_path)
    assert message in refused(["align", "weights", *words], capsys)


@pytest.mark.parametrize("words", ["check t.csv", "exact --data t.csv --listen 127.0.0.1:0"])
@pytest.mark.parametrize(("by", "form"), [("nam", "name=case"), ("tax", "no=bogus"), ("name+tax", "born=case")])
def test_a_column_that_the_table_lacks_is_named_before_a_form(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, by: str, form: str
) -> None:
    table(tmp_path / "t.csv", 3, 0)
    monkeypatch.chdir(tmp_path)
    message = refused(["align", *words.split(), "--by", by, "--forms", form], capsys)
    assert f"there is no column '{by.removeprefix('name+')}'" in message


def test_latest_is_a_job_of_align(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A later job of classify keeps a file, too: its own identifier names it."""
    jobs = [
        SimpleNamespace(id=one * 32, protocol=protocol) for one, protocol in (("c", "classify"), ("a", "align exact"))
    ]
    client = SimpleNamespace(jobs=lambda states: jobs)
    monkeypatch.setattr(NodeClient, "from_config", lambda config: client)
    monkeypatch.chdir(tmp_path)
    Path("party.toml").write_text("[node]\n")
    place = SidecarFiles(state_directory(Path("party.toml")) / database.FILE_NAME)
    place.database.parent.mkdir(parents=True)
    for job in jobs:
        place.write_own_result(job.id, job.protocol.encode())
    for name, content in (("latest", "align exact"), ("cccc", "classify")):
        assert run(["align", "rows", name]) == 0
        assert capsys.readouterr().out == content
