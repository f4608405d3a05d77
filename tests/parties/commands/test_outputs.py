"""No command writes over a file that party.toml names, nor over an earlier result unless it is told to."""

from __future__ import annotations

from pathlib import Path

import click
import pytest

from parties.base import files
from parties.cli import run
from parties.commands import publish
from parties.commands.options import FILE
from parties.party_file import files_of
from tests.support.command_tree import commands

PARTY = """
[link]
identity = "keys/a.key"
certificate = "keys/a.crt"
peer = "keys/b.crt"
listen = "127.0.0.1:0"

[tables.mine]
source = "mine.csv"
schema = "schema.toml"

[id3]
out = "tree.json"
"""
NAMED = ("party.toml", "keys/a.key", "keys/a.crt", "keys/b.crt", "mine.csv", "schema.toml", "state/node.sqlite")
COMMANDS = {
    "export": "export --model other.json --to sql --config party.toml --out",
    "compare": "compare --data other.csv --synthetic other.csv --schema other.toml --config party.toml --svg",
    "prepare": "prepare other.csv --schema schema.toml --out . --page",
    "prepare a table": "prepare --config party.toml --schema schema.toml --page",
    "publish plan": "publish plan --data other.csv --config party.toml --out",
    "attack link": "attack link --published other.csv --known other.csv --config party.toml --out",
    "attack reconstruct": "attack reconstruct --table a other.csv --config party.toml --out",
    "id3": "id3 --config party.toml --report",
    "audit export": "audit export --config party.toml --out",
    "audit processing": "audit processing --config party.toml --out",
    "budget export": "budget export --config party.toml --out",
}
ALONE = {
    "blur": "blur --plan blur.toml --data other.csv --out",
    "compare": "compare --data other.csv --synthetic other.csv --schema other.toml --page",
    "export": "export --model other.json --to sql --out",
    "attack link": "attack link --published other.csv --known other.csv --out",
    "attack reconstruct": "attack reconstruct --table a other.csv --out",
    "local report": "local report --plan local.toml --value a --out",
    "local tally": "local tally --plan local.toml --reports other.csv --out",
    "local decode": "local decode --plan local.toml --reports other.csv --page",
    "release alone": "release alone --data other.csv --column a --low 0 --high 9 --epsilon 1 --out",
    "regress alone": "regress alone --data other.csv --schema schema.toml --epsilon 1 --svg",
}
PLAN = """
source = "other.csv"
[columns.a]
role = "identifier"
mask = "default"
[columns.b]
role = "quasi-identifier"
[[models]]
model = "k-anonymity"
k = 1
"""
PUBLISHING = {
    "anonymise": ("--plan plan.toml --out new.csv", "out recoding report page"),
    "apply": ("--recoding other.csv --data other.csv --out new.csv", "report page"),
    "check": ("--plan plan.toml", "report page"),
    "invariant": ("--plan growing.toml", "out"),
    "mask": ("--plan plan.toml", "out"),
    "open": ("other.csv --key other.csv", "out"),
    "protect": ("--plan protect.toml --out new.csv", "report"),
    "pseudonyms": ("--plan plan.toml --master other.csv --keys other.csv", "out"),
    "restore": ("--data other.csv --column a --purpose recall --master other.csv --keys other.csv", "out"),
    "table": ("--data other.csv --by b --out new.csv", "report"),
    "tables": ("--data other.csv --cross b new.csv", "cross report"),
    "view": ("--plan plan.toml --name seen", "out"),
}


@pytest.fixture
def party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for folder in ("keys", "state"):
        Path(folder).mkdir()
    for name in NAMED[1:]:
        Path(name).write_text(f"what is in {name}\n")
    Path("party.toml").write_text(PARTY)
    Path("other.csv").write_text("a,b\n1,x\n")
    return Path("party.toml")


@pytest.mark.usefixtures("party")
@pytest.mark.parametrize("command", COMMANDS)
def test_what_the_party_file_names_is_not_overwritten(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    for name in NAMED:
        before = Path(name).read_bytes()
        assert run([*COMMANDS[command].split(), name]) == 2
        assert f"{name} is an input of this command and would be overwritten" in capsys.readouterr().err
        assert Path(name).read_bytes() == before


def test_a_place_for_results_is_no_input(party: Path) -> None:
    named = files_of(party)
    assert Path("tree.json") not in named
    assert set(map(Path, NAMED)) <= set(named)


@pytest.mark.usefixtures("party")
@pytest.mark.parametrize("command", ["audit export", "audit processing", "budget export", *ALONE])
def test_an_earlier_record_is_replaced_only_by_force(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("blur.toml").write_text('[columns]\na = { noise = "none" }\n')
    Path("local.toml").write_text(
        'question = "a"\nmechanism = "direct"\nepsilon = 1.0\nvalues = ["a", "b"]\nmemoise = false\nreports = 1\n'
    )
    Path("earlier").write_text("signed")
    words = [*(COMMANDS | ALONE)[command].split(), "earlier"]
    assert run(words) == 2
    refused = f"{words[-2]}: earlier exists already; give another name, or --force to replace it"
    assert capsys.readouterr().err == f"smc: {refused}\n"
    assert Path("earlier").read_text() == "signed"
    run([*words, "--force"])  # there are no records here
    assert refused not in capsys.readouterr().err


def test_every_command_that_writes_a_named_file_knows_force() -> None:
    """But those whose files are always new."""

    def is_output(option: click.Parameter) -> bool:
        named = {"--out", "--page", "--svg", "--report", "--csv", "--dot"} & set(option.opts)
        return bool(named) and option.type is FILE and not option.multiple

    writing = {" ".join(path): command.params for path, command in commands() if any(map(is_output, command.params))}
    assert len(writing) > 50
    unforced = {path for path, options in writing.items() if "force" not in {option.name for option in options}}
    assert unforced == {"audit archive", "local key", "publish plan", "rights access", "schema"}


@pytest.mark.usefixtures("party")
@pytest.mark.parametrize("command", PUBLISHING)
def test_what_was_published_is_replaced_only_by_force(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Of every command that writes a file besides those that never replace one: `plan`, `keys` and `rotate`."""
    writing = {"out", "report_file", "crosses"}
    known = {name for name, one in publish.group.commands.items() if writing & {option.name for option in one.params}}
    assert known == {*PUBLISHING, "plan"}
    Path("plan.toml").write_text(PLAN)
    Path("growing.toml").write_text(PLAN + '[history]\nfile = "history.json"\nrow = "a"\nm = 2\n')
    columns = PLAN[: PLAN.index("[[")].replace('mask = "default"\n', "")
    Path("protect.toml").write_text(columns + '[[methods]]\nmethod = "sampling"\nshare = 0.5\n')
    arguments, flags = PUBLISHING[command]
    for flag in flags.split():
        Path("new.csv").unlink(missing_ok=True)
        Path("earlier").write_text("published")
        words = ["publish", command, *arguments.split(), f"--{flag}", *(["a"] if flag == "cross" else []), "earlier"]
        assert run(words) == 2
        refused = "earlier exists already; give another name, or --force to replace it"
        assert refused in capsys.readouterr().err
        assert Path("earlier").read_text() == "published"
        run([*words, "--force"])  # little of it is a plan or a key
        assert refused not in capsys.readouterr().err


def test_an_open_file_is_written_to_not_replaced(tmp_path: Path) -> None:
    """What a shell makes of `--out /dev/stdout > rows.csv`: the file is there already."""
    with (tmp_path / "rows.csv").open("w") as stream:
        assert not files.would_be_replaced(Path(f"/dev/fd/{stream.fileno()}"))
    assert files.would_be_replaced(tmp_path / "rows.csv")
