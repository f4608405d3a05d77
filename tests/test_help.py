"""Every command explains itself: what it does, what each option means, and an example that it would take."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from parties.base.report import Report
from parties.cli import COMMANDS, FIRST, SECTIONS, cli
from parties.commands.kinds import missing_by_flag
from parties.commands.proposed import Proposed
from parties.jobs import kinds
from parties.jobs.settings import parameters, private_parameters, public_parameters
from parties.jobs.tabular import BySchema
from parties.link.settings import LinkSettings
from parties.node.proposal import read_job
from parties.tables.schema import Schema
from parties.tables.types import Domain, IntegerType, RealType
from smc.errors import InputError
from tests.support.command_tree import commands


def command_in(words: Sequence[str]) -> click.Command:
    """The command whose words an example begins with."""
    command: click.Command = cli
    for word in words:
        inner = command.get_command(click.Context(command), word) if isinstance(command, click.Group) else None
        if inner is None:
            break
        command = inner
    return command


ALL = dict(commands())
AGES = Domain(IntegerType(low=18, high=90))


def _schema(age: Sequence[str]) -> Schema:
    """Return a schema with the columns of all examples."""
    score = Domain(RealType(low=0, high=0.99, step=0.01))
    numbers = {"visits": Domain(IntegerType(low=0, high=30)), "months": Domain(IntegerType(low=0, high=11))}
    sides = ("play", "outcome", "sex", "disease", "zip", "default", "arm", "died", "county", "benefit")
    several = {
        "bid": ("1", "2", "3"),
        "dose": ("1", "2", "4"),
        "from": tuple("abc"),
        "to": tuple("abc"),
        "diagnosis": tuple("abcdef"),
    }
    return Schema(
        {"age": tuple(age) if isinstance(age, list) else age, "score": score, "old_score": score}
        | numbers
        | several
        | dict.fromkeys(sides, ("no", "yes")),
        "play",
    )


def test_all_are_listed() -> None:
    typed = [tuple(name.split()) for name in kinds.names()]
    assert set(typed) <= set(ALL)
    names = {*COMMANDS, *(words[0] for words in typed)}
    assert names == {words[0] for words in ALL}
    shown = CliRunner().invoke(cli, ["--help-all"]).output
    assert all(f"  {name} " in shown for name in names)
    brief = " ".join(CliRunner().invoke(cli, ["--help"]).output.split())
    assert all(re.search(rf"\b{name}\b", brief) for name in names)
    assert sum(len(names) for names in SECTIONS.values()) + len(FIRST) == len({*COMMANDS, "id3", "release"})


@pytest.mark.parametrize("group", sorted({words[:-1] for words in ALL}), ids=" ".join)
def test_no_line_of_a_list_is_cut(group: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(cli, [*group, "--help"]).output.partition("Options:")[2]
    assert "..." not in shown


@pytest.mark.parametrize("words", [(), *ALL], ids=" ".join)
def test_help_with_an_example(words: tuple[str, ...]) -> None:
    command = ALL[words] if words else cli
    shown = CliRunner().invoke(cli, [*words, "--help"])
    assert shown.exit_code == 0
    assert command.help
    assert "\n   " not in shown.output.partition("Options:")[0]  # no paragraph stands in farther than another
    for parameter in command.params:
        assert not isinstance(parameter, click.Option) or parameter.help, f"{parameter.name} is not explained"
    example = re.search(r"Example:\s+smc (.*)", " ".join(shown.output.split()))
    assert example is not None
    assert example.group(1).startswith(" ".join(words))
    if isinstance(command, click.Group):
        command = command_in(example.group(1).split())
    known = {name for parameter in command.params for name in parameter.opts}
    assert set(re.findall(r"--[a-z-]+", example.group(1))) <= known


@pytest.mark.parametrize("name", kinds.names())
def test_the_help_of_a_kind_fits_a_screen(name: str) -> None:
    for words in ((), ("submit",), ("estimate",), ("budget", "simulate")):
        shown = CliRunner().invoke(cli, [*words, *name.split(), "--help"], terminal_width=98).output  # 100 columns
        assert 10 < len(shown.splitlines()) <= 45


@pytest.mark.parametrize("name", kinds.names())
def test_the_example_of_a_proposal_is_a_whole_job(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def act(job: dict[str, Any], file: Path | None, **_: object) -> Report:
        asked.append(job)
        return Report(job)

    group = Proposed("submit", "Propose this job.", act, lambda command: command)
    command = group.get_command(click.Context(group), name)
    assert command is not None
    assert command.help == f"Propose this job. The job: {kinds.line(name)}"
    typed = shlex.split((command.epilog or "").partition(f"smc submit {name}")[2])
    done = CliRunner().invoke(command, typed, input="7\n")  # a private value
    assert done.exception is None
    (job,) = asked
    file = read_job(job)
    settings = file.settings.model_dump(by_alias=True)
    assert not [one.key for one in public_parameters(file.kind.Settings) if one.is_missing(settings)]
    assert file.table == ("patients" if "own_table" in file.kind.Settings.model_fields else None)
    assert set(file.typed) == {one.key for one in private_parameters(file.kind.Settings)}
    if issubclass(file.kind, BySchema) and name != "classify":  # whose columns are those of an earlier job
        file.kind.canonical(file.settings, _schema(["young", "middle", "old"] if name == "release count" else AGES))


def test_what_is_missing_is_named_by_its_flag() -> None:
    options = parameters(kinds.find("release sum").Settings)
    all_three = "^--epsilon: is missing; --column: is missing; --table: is missing$"
    with pytest.raises(InputError, match=all_three), missing_by_flag(options, ["table"]):
        raise InputError("epsilon: is missing; column: is missing; table: is missing")
    options = parameters(kinds.find("millionaires").Settings)
    with pytest.raises(InputError, match=r": --value VALUE$"), missing_by_flag(options):
        raise InputError("value: the job requires it: --input value=VALUE")


@pytest.mark.parametrize("name", kinds.names())
def test_a_cost_asks_for_no_private_value(name: str) -> None:
    """Neither `estimate` nor `simulate` has an option for one, nor an example with one."""
    hidden = {one.flag for one in private_parameters(kinds.find(name).Settings)}
    for words in (("estimate",), ("budget", "simulate")):
        command = command_in([*words, name])
        assert isinstance(command, click.Command)
        assert not hidden & {flag for one in command.params for flag in one.opts}
        assert not hidden & set((command.epilog or "").split())
    of_file = command_in(["budget", "simulate", "JOB.toml"])
    assert "--input" not in {flag for one in of_file.params for flag in one.opts}


@pytest.mark.parametrize(
    ("name", "helps"),
    [
        ("release mean", "Your table [tables.NAME] of party.toml  [required]"),
        ("majority", "Your table [tables.NAME] of party.toml, if the job reads rows"),
        ("circuit", None),
    ],
)
def test_a_table_is_offered_to_kinds_that_read_rows(name: str, helps: str | None) -> None:
    shown = {one.opts[0]: getattr(one, "help", "") for one in command_in(["submit", name]).params}
    assert shown.get("--table") == helps
    assert ("--peer-table" in shown) == (helps is not None)


def test_what_has_to_be_given_is_said() -> None:
    lattice = "publish lattice"  # only its own command reads a plan
    ends = {"unless --plan]": ALL["publish", "lattice"], "  [required]": command_in(["submit", lattice])}
    for end, command in ends.items():
        (recode,) = [one for one in command.params if one.name == "own_recode"]
        assert isinstance(recode, click.Option)
        assert (recode.help or "").endswith(end)
    shown = {one.opts[0]: one.help or "" for one in ALL["cluster",].params}
    assert {name for name, help_ in shown.items() if help_.endswith("[required]")} == {"--columns"}
    assert shown["--bounds"].endswith("[those of the schema, if all these columns have a numeric type there]")
    assert shown["--epsilon"].endswith("[required, unless --exact]")


@pytest.mark.parametrize("words", [("run",), ("id3",), ("publish", "joint")], ids=" ".join)
def test_what_the_help_calls_the_default_of_the_link_is_it(words: tuple[str, ...]) -> None:
    shown = {option.name: option.help or "" for option in ALL[words].params if isinstance(option, click.Option)}
    for name in ("wait", "timeout", "window"):
        assert shown[name].endswith(f"  [{LinkSettings.model_fields[name].default:g}]")
