"""`smc start`: two people at two terminals go from raw files to one tree, answer wrongly, and stop and go on."""

from __future__ import annotations

import json
import random
import shlex
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from parties.models.trees.text import to_text
from parties.models.trees.tree import TreeFile
from parties.party_file import load
from parties.sources.opening import open_table
from parties.tables import schema as schemas
from tests.support.ports import free_port
from tests.support.processes import here
from tests.support.terminal import INTERRUPT, Terminal

PEERS = {"anna": "bert", "bert": "anna"}
COLUMNS = "Columns to leave out"
PERSON = "Column that names the person"
SENT = "Schema that"
ALIKE = "Are all six alike on both sides?"


def raw_file(path: Path, seed: int, days: bool = False) -> Path:
    """An export of patients: semicolons, decimal commas, and days that may be read in two ways."""
    chance = random.Random(seed)
    lines = ["id;age;sex;weight;outcome" + ";booked" * days]
    for number in range(150):
        age, sex = chance.randint(20, 79), chance.choice("FM")
        ill = (age > 50) != (sex == "F" and chance.random() < 0.2)
        booked = f";{chance.randint(1, 12):02}/{chance.randint(1, 12):02}/2024" * days
        lines.append(
            f"{number};{age};{sex};{chance.randint(500, 990) / 10:.1f}".replace(".", ",")
            + f";{'ill' if ill else 'well'}{booked}"
        )
    path.write_text("\n".join(lines) + "\n")
    return path


def steps(folder: Path) -> dict[str, bool]:
    """Which steps are done in a folder, as the list without a terminal says."""
    done = here(folder, "start", "raw.csv", "--json")
    assert done.code == 0, done.err
    return {step["step"]: step["done"] for step in json.loads(done.out)}


def look(terminal: Terminal) -> None:
    terminal.answer("Class column", "outcome")
    terminal.answer(COLUMNS, "")
    terminal.answer(PERSON, "")


def link(terminal: Terminal, name: str, port: int) -> None:
    terminal.answer("Name of your party", name)
    terminal.answer("Name of the peer", PEERS[name])
    terminal.answer("dial you?", "y" if name == "anna" else "n")
    terminal.answer("Listen on" if name == "anna" else "Address of", f"127.0.0.1:{port}")


def question(terminal: Terminal) -> None:
    terminal.answer(ALIKE, "y")
    terminal.answer("Number", "1")


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    for seed, name in enumerate(PEERS):
        (tmp_path / name).mkdir()
        raw_file(tmp_path / name / "raw.csv", seed, days=True)
    return {name: tmp_path / name for name in PEERS}


def exchange(folders: dict[str, Path], name: str, file: str) -> None:
    """What a party sends by mail arrives at its peer."""
    into = f"{name}.crt" if file.endswith(".crt") else "theirs.toml"
    shutil.copy(folders[name] / file, folders[PEERS[name]] / into)


def test_two_people_come_from_raw_files_to_one_tree(folders: dict[str, Path]) -> None:
    port = free_port()
    with Terminal(folders["anna"], "start", "raw.csv") as anna, Terminal(folders["bert"], "start", "raw.csv") as bert:
        both = {"anna": anna, "bert": bert}
        for name, terminal in both.items():
            look(terminal)
            terminal.answer("Which is right?", "2")
            link(terminal, name, port)
            terminal.see("Certificate that")
        for name in both:
            exchange(folders, name, f"{name}.crt")
            exchange(folders, name, "schema.toml")
        for name, terminal in both.items():
            terminal.type("\n")
            assert f"cp {PEERS[name]}.crt" not in terminal.text
            terminal.answer(SENT, "")
            question(terminal)
        with ThreadPoolExecutor(2) as pool:
            codes = list(pool.map(Terminal.end, both.values()))
        assert codes == [0, 0], anna.text + bert.text
        assert "all steps are done" in anna.text
        assert "smc predict --tree answer.json --data NEW.csv --config party.toml" in anna.text
        trees = [TreeFile.load(folder / "answer.json") for folder in folders.values()]
        assert trees[0].tree == trees[1].tree
        assert "age" in to_text(trees[0].tree)
        assert '"%m/%d/%Y"' in (folders["anna"] / "party.toml").read_text()
    assert all(steps(folders["anna"]).values())
    lines = [line for line in anna.text.splitlines() if line.startswith("$ ")]
    assert [line.split()[2] for line in lines] == [
        "prepare",
        "init",
        "identity",
        "schema",
        "agreed.toml",
        "check",
        "id3",
    ]


def test_each_printed_command_does_the_step_without_start(folders: dict[str, Path], tmp_path: Path) -> None:
    with Terminal(folders["anna"], "start", "raw.csv") as terminal:
        look(terminal)
        terminal.answer("Which is right?", "1")
        link(terminal, "anna", 7001)
        terminal.see("Certificate that")
        lines = [line for line in terminal.text.splitlines() if line.startswith("$ smc")]
    (tmp_path / "again").mkdir()
    raw_file(tmp_path / "again" / "raw.csv", 0, days=True)
    for line, more in zip(lines, (["--reading", "booked=day-first"], []), strict=True):
        assert here(tmp_path / "again", *shlex.split(line)[2:], *more).code == 0
    for file in ("schema.toml", "party.toml"):
        assert (tmp_path / "again" / file).read_text() == (folders["anna"] / file).read_text()


WEATHER = 'target = "play"\n[attributes]\nwind = ["weak", "strong"]\nplay = ["no", "yes"]\n'


def test_a_wrong_answer_is_named_and_asked_again(folders: dict[str, Path]) -> None:
    anna, bert = folders.values()
    raw_file(anna / "raw.csv", 0)
    raw_file(bert / "raw.csv", 1)
    assert here(bert, "prepare", "raw.csv", "--target", "outcome", "--out", ".").code == 0
    assert here(bert, "init", "--name", "bert", "--peer-name", "anna", "--connect", "127.0.0.1:7001").code == 0
    (anna / "weather.toml").write_text(WEATHER)
    with Terminal(anna, "start", "raw.csv") as terminal:
        terminal.answer("Class column", "outcom")
        terminal.see("there is no column 'outcom' (did you mean 'outcome'?)")
        terminal.answer("Class column", "outcome")
        terminal.answer(COLUMNS, "sex,nothing", "sex")
        terminal.answer(PERSON, "id")
        terminal.answer("How many rows of a person", "many", "0", "2")
        terminal.answer("Name of your party", "anna")
        terminal.answer("Name of the peer", "anna")
        terminal.answer("dial you?", "perhaps", "y")
        terminal.answer("Listen on", "7001", "127.0.0.1:7001")
        terminal.see("--peer-name: is the name of your party too")
        link(terminal, "anna", 7001)
        terminal.answer("Certificate that", "")
        terminal.see("cannot read bert.crt: there is no such file")
        terminal.answer("Certificate that", "anna.crt", "schema.toml")
        terminal.answer("Certificate that", str(bert / "bert.crt"))
        terminal.see(f"$ cp {bert / 'bert.crt'} bert.crt")
        terminal.answer(SENT, "schema.toml")
        terminal.see("schema.toml is your own file, or a copy; give the peer's")
        shutil.copy(anna / "schema.toml", anna / "copy.toml")
        terminal.answer(SENT, "copy.toml")
        terminal.see("copy.toml is your own file, or a copy")
        terminal.see("If bert's has the same text, stop and run cp schema.toml agreed.toml")
        terminal.answer(SENT, "weather.toml")
        terminal.answer("One of you chooses 2", "4", "1")
        terminal.see("smc: the schemas have no column in common")
        assert not (anna / "agreed.toml").exists()
        terminal.answer(SENT, str(bert / "schema.toml"))
        terminal.see("target: outcome")
        terminal.see("person: at most 2 rows of each")
        terminal.see("link: bert dials anna")
        terminal.answer(ALIKE, "n")
        terminal.see("if the person, set person and at_most of [tables.raw] in party.toml at both of you")
        terminal.see("then start again")
        party = (anna / "party.toml").read_text()
        (anna / "new.toml").write_text(party.replace('person = "id"\nat_most = 2\n', ""))
        (anna / "new.toml").replace(anna / "party.toml")  # at once: the command may be reading it
        terminal.answer(ALIKE, "n")
        terminal.see("person: none, each row counts by itself")
        (anna / "party.toml").write_text(party)
        terminal.answer(ALIKE, "y")
        terminal.answer("Number", "9", "2")
        terminal.answer("Use only the rows", "sex = M", "")
        terminal.answer("Privacy loss", "0", "much")
        terminal.see("type a number, not 'much'")
        terminal.type(INTERRUPT)
        assert terminal.end() == 130
        assert "smc start raw.csv goes on from here" in terminal.text
        assert "Traceback" not in terminal.text
    text = (anna / "party.toml").read_text()
    assert 'person = "id"\nat_most = 2\n' in text
    assert "sex" not in (anna / "schema.toml").read_text()


THEIRS = """target = "ergebnis"
[attributes]
ergebnis = ["ill", "well"]
alter = { type = "integer", low = 0, high = 110, width = 20 }
geschlecht = ["F", "M"]
gewicht = { type = "real", low = 0, high = 200, width = 20 }
"""


def test_other_targets_and_other_names_lead_out(folders: dict[str, Path]) -> None:
    anna, bert = folders.values()
    raw_file(anna / "raw.csv", 0)
    raw_file(bert / "raw.csv", 1)
    assert here(bert, "prepare", "raw.csv", "--target", "sex", "--out", ".").code == 0
    assert here(bert, "init", "--name", "bert", "--peer-name", "anna", "--listen", "127.0.0.1:7001").code == 0
    (anna / "theirs.toml").write_text(THEIRS)
    shutil.copy(bert / "bert.crt", anna / "bert.crt")
    assert here(anna, "prepare", "raw.csv", "--target", "outcome", "--out", ".").code == 0
    assert here(anna, "init", "--name", "anna", "--peer-name", "bert", "--connect", "127.0.0.1:7001").code == 0
    with Terminal(anna, "start") as terminal:
        terminal.answer(SENT, str(bert / "schema.toml"))
        terminal.answer("Your target is outcome, and bert's is sex", "nothing", "age,sex", "outcome")
        terminal.see("target: outcome")
        terminal.see("link: anna dials bert")
        terminal.answer(ALIKE, "n")
        terminal.type(INTERRUPT)
        assert terminal.end() == 130
    (anna / "agreed.toml").unlink()
    with Terminal(anna, "start") as terminal:
        terminal.answer(SENT, "")
        terminal.see("Only 0 of your columns have the name of one of bert's.")
        terminal.answer("One of you chooses 2", "")
        terminal.answer("attribute 'alter' can be one of these", "age")
        terminal.answer("attribute 'gewicht' can be one of these", "weight")
        terminal.see("target: ergebnis")
        terminal.answer(ALIKE, "y")
        terminal.type(INTERRUPT)
        assert terminal.end() == 130
    assert (anna / "agreed.toml").read_text() == (anna / "schema.toml").read_text() == THEIRS
    table = load(anna / "party.toml").tables["raw"]
    with open_table(table, schemas.load(table.schema_file), "ergebnis") as source:
        assert source.check() == 150


def test_ctrl_c_at_each_question_loses_only_that_step(folders: dict[str, Path]) -> None:
    anna, bert = folders.values()
    raw_file(bert / "raw.csv", 1)
    assert here(bert, "prepare", "raw.csv", "--target", "outcome", "--out", ".").code == 0
    assert here(bert, "init", "--name", "bert", "--peer-name", "anna", "--connect", "127.0.0.1:7001").code == 0
    shutil.copy(bert / "schema.toml", anna / "theirs.toml")

    def interrupted(*questions: str) -> None:
        """Answer all but the last question, and type Ctrl-C there."""
        before = {} if not (anna / "party.toml").exists() else steps(anna)
        with Terminal(anna, "start", "raw.csv") as terminal:
            for asked, answer in zip(questions[:-1:2], questions[1::2], strict=True):
                terminal.answer(asked, answer)
            terminal.see(questions[-1])
            terminal.type(INTERRUPT)
            assert terminal.end() == 130
            assert terminal.text.count("smc: interrupted") == 1
            assert "Traceback" not in terminal.text
        if before:
            assert {name: done for name, done in steps(anna).items() if before[name]} == {
                name: True for name, done in before.items() if done
            }

    interrupted("Class column")
    interrupted("Class column", "outcome", COLUMNS)
    assert not (anna / "party.toml").exists()
    interrupted("Class column", "outcome", COLUMNS, "", PERSON, "", "Which is right?")
    assert not (anna / "party.toml").exists()
    interrupted("Class column", "outcome", COLUMNS, "", PERSON, "", "Which is right?", "1", "Name of your party")
    assert steps(anna) == {"look": True, "link": False} | dict.fromkeys(
        ("certificate", "their schema", "agree", "question"), False
    )
    interrupted("Name of your party", "anna", "Name of the peer", "bert", "dial you?")
    interrupted("Name of your party", "anna", "Name of the peer", "bert", "dial you?", "y", "Listen on")
    port = f"127.0.0.1:{free_port()}"
    interrupted(
        "Name of your party", "anna", "Name of the peer", "bert", "dial you?", "y", "Listen on", port, "Certificate"
    )
    shutil.copy(bert / "bert.crt", anna)
    interrupted(SENT)
    interrupted(SENT, "", ALIKE)
    assert steps(anna)["agree"]
    interrupted(ALIKE, "y", "Number")
    interrupted(ALIKE, "y", "Number", "1", "listening on")
    assert not steps(anna)["question"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "FILE: is missing, and party.toml has no table; give your raw file"),
        (("nothing.csv",), "FILE: nothing.csv is not a file here"),
        (("postgresql://x/y",), "FILE: postgresql://x/y is not a file here; for a database, run smc prepare first"),
        (("other.csv", "--out", "done"), "FILE: done/party.toml has a table of raw.csv; remove FILE"),
        (("--out", "two"), "two/party.toml: has several tables or peers; smc start is for one"),
        (("--out", "broken"), "broken/party.toml: not valid TOML"),
    ],
)
def test_what_cannot_be_guided_is_refused_in_a_line(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    for name in ("raw.csv", "other.csv"):
        raw_file(tmp_path / name, 0)
    assert here(tmp_path, "prepare", "raw.csv", "--out", "done").code == 0
    for name in ("raw.csv", "other.csv"):
        more = () if name == "raw.csv" else ("--schema", "two/schema.toml")
        assert here(tmp_path, "prepare", name, "--out", "two", *more).code == 0
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "party.toml").write_text("[tables")
    done = here(tmp_path, "start", *arguments)
    assert (done.code, said in done.err, len(done.err.splitlines())) == (2, True, 1), done.err


def test_ctrl_c_prints_a_command_that_can_be_typed(tmp_path: Path) -> None:
    raw_file(tmp_path / "raw.csv", 0)
    assert here(tmp_path, "prepare", "raw.csv", "--out", "my clinic").code == 0
    with Terminal(tmp_path, "start", "--out", "my clinic") as terminal:
        terminal.see("Name of your party")
        terminal.type(INTERRUPT)
        assert terminal.end() == 130
        assert "\nsmc start --out 'my clinic' goes on from here" in terminal.text.replace("\r", "")


def test_only_a_tree_is_proposed_for_new_rows(tmp_path: Path) -> None:
    raw_file(tmp_path / "raw.csv", 0)
    assert here(tmp_path, "prepare", "raw.csv", "--target", "outcome", "--out", ".").code == 0
    link = ("--name", "anna", "--peer-name", "bert", "--listen", "127.0.0.1:7001")
    assert here(tmp_path, "init", *link).code == 0
    shutil.copy(tmp_path / "anna.crt", tmp_path / "bert.crt")
    shutil.copy(tmp_path / "schema.toml", tmp_path / "agreed.toml")
    (tmp_path / "answer.json").write_text(json.dumps({"question": "mean", "numbers": []}))
    with Terminal(tmp_path, "start") as terminal:
        assert terminal.end() == 0
        assert "next: another question, such as smc release --help" in terminal.text
        assert "smc predict" not in terminal.text


def test_without_a_terminal_the_steps_are_listed(tmp_path: Path) -> None:
    raw_file(tmp_path / "raw.csv", 0)
    done = here(tmp_path, "start", "raw.csv", "--out", "clinic")
    assert done.code == 0
    lines = [line.split() for line in done.out.splitlines()[1:]]
    assert [line[0] for line in lines] == ["next", "link", "certificate", "their", "agree", "question"]
    assert not (tmp_path / "clinic").exists()
    assert here(tmp_path, "prepare", "raw.csv", "--out", "clinic").code == 0
    again = here(tmp_path, "start", "--out", "clinic").out.splitlines()[1:]
    assert [line.split()[0] for line in again[:2]] == ["done", "next"]


def test_an_encoding_is_asked_once_and_stands_in_the_command(tmp_path: Path) -> None:
    words = ("\u043c\u0443\u0436\u0447\u0438\u043d\u0430", "\u0436\u0435\u043d\u0449\u0438\u043d\u0430")
    rows = [f"{20 + i % 50};{words[i % 2]};{'yes' if i % 3 else 'no'}" for i in range(100)]
    (tmp_path / "raw.csv").write_bytes("\n".join(["age;sex;outcome", *rows, ""]).encode("cp1251"))
    with Terminal(tmp_path, "start", "raw.csv") as terminal:
        terminal.answer("Which is right?", "cp1251")
        look(terminal)
        terminal.see("$ smc prepare raw.csv --target outcome --reading '*=cp1251' --out .")
        assert "Which is right?" not in terminal.see("Name of your party")
    assert words[0] in (tmp_path / "schema.toml").read_text()


@pytest.mark.parametrize("text", ["id", "id=0", "id=1001", "=1", "id=x", "nobody=1"])
def test_a_person_must_be_a_column_with_a_number_of_rows(tmp_path: Path, text: str) -> None:
    raw_file(tmp_path / "raw.csv", 0)
    done = here(tmp_path, "prepare", "raw.csv", "--out", "clinic", "--person", text)
    assert (done.code, len(done.err.splitlines())) == (2, 1), done.err
    assert "--person: " in done.err
    assert not (tmp_path / "clinic").exists()


def test_a_person_that_is_there_stays(tmp_path: Path) -> None:
    raw_file(tmp_path / "raw.csv", 0)
    prepare = ("prepare", "raw.csv", "--out", "clinic", "--person")
    assert here(tmp_path, *prepare, "id=2").code == 0
    link = ("--name", "anna", "--peer-name", "bert", "--listen", "127.0.0.1:7001")
    assert here(tmp_path, "init", "--out", "clinic", *link).code == 0, "its key chooses the rows of a person"
    before = (tmp_path / "clinic" / "party.toml").read_text()
    assert 'person = "id"\nat_most = 2\n' in before
    assert here(tmp_path, *prepare, "id=2", "--force").code == 0
    assert (tmp_path / "clinic" / "party.toml").read_text().count('person = "id"\nat_most = 2\n') == 1
    assert "--person: tables.raw does not have this person and" in here(tmp_path, *prepare, "id=3", "--force").err
