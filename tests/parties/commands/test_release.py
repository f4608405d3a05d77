"""`smc release`: its commands, and what is wrong with what an operator gives them, before a peer is looked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parties import cli
from parties.cli import run
from parties.jobs import kinds
from parties.link.identity import create
from tests.support.refused import refused

SCHEMA = '[attributes]\nage = ["young", "middle", "old"]\nvisits = [0, 1, 2]\noutcome = ["good", "bad"]\n'
NAMES = [name.removeprefix("release ") for name in kinds.BUILT_IN if kinds.group(name) == "release"]

WRONG = [
    ("count", "--epsilon: is missing: give the privacy loss, 1 for example, or --exact, for no noise at all"),
    ("count --epsilon 0", "--epsilon: must be >= 2^-20 (about 1e-06), not 0"),
    ("count --epsilon -1", "--epsilon: must be >= 2^-20 (about 1e-06), not -1"),
    ("count --epsilon nan", "--epsilon: must be"),
    ("count --epsilon inf", "--epsilon: must be"),
    ("count --epsilon 1e-7", "--epsilon: must be >= 2^-20 (about 1e-06)"),
    ("count --epsilon 17", "--epsilon: must be <= 16, not 17"),
    ("count --epsilon one", "Invalid value for '--epsilon'"),
    ("count --epsilon 1 --exact", "--exact: excludes epsilon"),
    ("count --epsilon 1 --delta 0.1", "--delta: 0.1 is too large, since it would permit the publication of whole rows"),
    (
        "count --epsilon 1 --max-rows 4 --delta 0.125",
        "far less than 1 / 8",
    ),
    ("count --epsilon 1 --delta 0", "--delta: must be > 0, not 0"),
    ("count --exact --delta 1e-9", "--exact: excludes delta"),
    ("count --epsilon 1 --adjacency other", "Invalid value for '--adjacency'"),
    ("count --epsilon 1 --where age", "--where: ends too early"),
    ("count --epsilon 1 --where aeg=old", "--where: 'aeg' is not an attribute of the schema (did you mean 'age'?)"),
    ("histogram --epsilon 1", "--by is missing: give the flag, or set by under [release.histogram]"),
    ("histogram --epsilon 1 --by town", "--by: 'town' is not an attribute of the schema"),
    ("histogram --epsilon 1 --by age --where age=old;age=young", "--where: give one predicate"),
    ("table --epsilon 1 --by age,age", "--by: name each column once"),
    ("sum --epsilon 1", "--column is missing"),
    (
        "sum --epsilon 1 --column age",
        "--column: a sum needs bounds, which are public: the values that the schema gives 'age'",
    ),
    ("mean --epsilon 1 --column age", "--column: a mean needs bounds, which are public"),
    ("median --epsilon 1 --column outcome", "--column: a median needs bounds, which are public"),
    ("mean --epsilon 1 --column visits --by visits", "--column: name another column than those of by"),
    ("top --epsilon 1 --column age --first 4", "--first: 'age' has only 3 values; ask for 3 at most"),
    ("top --epsilon 1 --column age --first 0", "--first: must be >= 1, not 0"),
    ("naive-bayes --epsilon 1", "no target: give --target COLUMN"),
    ("naive-bayes --epsilon 1 --target age --columns age", "--columns: name at least one, and not the target"),
    ("naive-bayes --epsilon 1 --target age --columns aeg", "--columns: 'aeg' is not an attribute"),
    ("triangles --epsilon 1", "--columns is missing"),
    ("triangles --epsilon 1 --columns age --delta 1e-9", "--columns: name two, the vertices of each row's edge"),
    ("count --epsilon 1 --data no.csv", "no.csv"),
    ("coun --epsilon 1", "there is no command 'coun' (did you mean 'count'?)"),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("place")
    (directory / "schema.toml").write_text(SCHEMA)
    (directory / "mine.csv").write_text("age,visits,outcome\nold,1,bad\n")
    return directory


@pytest.mark.parametrize(("line", "message"), WRONG, ids=[line for line, _ in WRONG])
def test_what_is_wrong_is_a_line(
    line: str, message: str, place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    more = [] if "--data" in line else ["--data", "mine.csv"]
    common = [] if line.startswith("coun ") else ["--schema", "schema.toml", *more, "--listen", "127.0.0.1:0"]
    assert message in refused(["release", *line.split(), *common], capsys)


def test_the_questions_are_commands_of_a_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    shown = capsys.readouterr().out
    assert "  release " in shown
    assert "release count" not in shown
    assert run(["release", "--help"]) == 0
    shown = capsys.readouterr().out
    for name in NAMES:
        assert f"  {name} " in shown
        assert run(["release", name, "--help"]) == 0
        told = " ".join(capsys.readouterr().out.split())
        assert f"Example: smc release {name} --data mine.csv" in told
    assert run(["release count"]) == 2
    capsys.readouterr()


def test_a_plain_command_in_a_group(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A group has other commands than those of its kinds, too."""
    monkeypatch.setitem(cli.IN_GROUPS, "release", {"plain": ("parties.commands.alone:predict", "A plain one.")})
    assert run(["release", "--help"]) == 0
    assert "plain  A plain one." in capsys.readouterr().out
    assert run(["release", "plain", "--help"]) == 0
    assert "--model FILE" in capsys.readouterr().out


def test_an_estimate(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(place)
    words = ["--schema", "schema.toml", "--by", "age", "--epsilon", "1", "--json"]
    assert run(["estimate", "release", "histogram", *words]) == 0
    assert '"and_gates"' in capsys.readouterr().out


def test_a_table_of_the_party_file(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings of a question stand under its kind's name; a flag wins."""
    monkeypatch.chdir(place)
    (place / "party.toml").write_text('[release.count]\nschema = "schema.toml"\ndata = "mine.csv"\nepsilon = 17\n')
    assert run(["release", "count", "--config", "party.toml"]) == 2
    assert "party.toml: release.count.epsilon: must be <= 16, not 17" in capsys.readouterr().err
    (place / "party.toml").write_text('[release.count]\nschema = "schema.toml"\nexact = true\nwhere = "age = odl"\n')
    assert run(["release", "count", "--config", "party.toml"]) == 2
    assert "did you mean 'old'" in capsys.readouterr().err


def test_alone_on_a_table_of_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The party's key chooses the rows of each: it stands in party.toml, or is typed."""
    create("anna", ["127.0.0.1"], tmp_path)
    (tmp_path / "rows.csv").write_text("who,visits\n" + "".join(f"p{i % 4},{i % 2}\n" for i in range(1000)))
    (tmp_path / "schema.toml").write_text('[attributes]\nvisits = ["0", "1"]\n')
    table = '[tables.days]\nsource = "rows.csv"\nschema = "schema.toml"\nperson = "who"\nat_most = 1\n'
    typed, named = tmp_path / "typed.toml", tmp_path / "named.toml"
    typed.write_text(table)
    named.write_text(f'[link]\nidentity = "anna.key"\n{table}')
    words = ["release", "count", "--alone", "--json", "--table", "days", "--epsilon", "5"]
    assert cli.run([*words, "--config", str(typed)]) == 2
    assert "name the key as link.identity in party.toml; smc identity create makes one" in capsys.readouterr().err
    key = ["--identity", str(tmp_path / "anna.key")]
    for given in ([str(named)], [str(typed), *key], [str(named), *key]):
        assert cli.run([*words, "--config", *given]) == 0
        (count,) = json.loads(capsys.readouterr().out)["numbers"]
        assert abs(count["noisy"] - 4) < 50  # of four people one row each, and noise of scale 0.2
    plain = tmp_path / "plain.toml"
    plain.write_text(table.replace('person = "who"\nat_most = 1\n', ""))
    assert cli.run([*words, "--config", str(plain), *key]) == 2
    assert "remove --identity" in capsys.readouterr().err


@pytest.mark.parametrize("kind", [["count"], ["sum", "--column", "visits"], ["histogram", "--by", "visits"]])
def test_an_exact_answer_alone_has_no_other_party(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: list[str]
) -> None:
    rows, schema = tmp_path / "rows.csv", tmp_path / "schema.toml"
    rows.write_text("visits\n0\n1\n1\n")
    schema.write_text('[attributes]\nvisits = ["0", "1"]\n')
    assert cli.run(["release", *kind, "--alone", "--exact", "--data", str(rows), "--schema", str(schema)]) == 0
    shown = capsys.readouterr()
    assert "exact, without noise\n" in shown.out
    assert "exact, without noise\n" in shown.err
    assert "other" not in shown.out + shown.err
