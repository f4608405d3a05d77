"""A command's options follow from the parameters that they fill."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from parties.base.report import Report
from parties.commands.options import FILE
from parties.commands.signature import argument, by_signature, command, option, settings

SHARED: Any = click.option("--json", "as_json", is_flag=True, help="As JSON.")


@command("try", "smc try one.csv --count 1")
def tried(
    rows: tuple[Path, ...] = argument(),
    about: str | None = argument(),
    count: int = option("How many."),
    share: float | None = option("Which share.", click.FloatRange(0, 1), default=0.5),
    names: tuple[str, ...] = option("Names.", "NAME", flag="--name"),
    plan_file: Path = option("The plan."),
    row_column: str | None = option("Whose row.", flag="--row COLUMN"),
    wait: bool = option("Wait."),
    as_json: bool = SHARED,
) -> None:
    """Try it."""


PARAMETERS = {parameter.name: parameter for parameter in tried.params}


def test_they_stand_in_the_order_of_the_parameters() -> None:
    assert list(PARAMETERS) == [
        "rows", "about", "count", "share", "names", "plan_file", "row_column", "wait", "as_json",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "flag", "kind", "required", "multiple"),
    [
        ("count", "--count", click.INT, True, False),
        ("names", "--name", click.STRING, False, True),
        ("plan_file", "--plan", FILE, True, False),
        ("row_column", "--row", click.STRING, False, False),
        ("wait", "--wait", click.BOOL, False, False),
        ("as_json", "--json", click.BOOL, False, False),
    ],
)
def test_an_option_follows_from_its_parameter(
    name: str, flag: str, kind: click.ParamType, required: bool, multiple: bool
) -> None:
    parameter = PARAMETERS[name]
    assert parameter.opts == [flag]
    assert (type(parameter.type), parameter.type.name) == (type(kind), kind.name)
    assert (parameter.required, parameter.multiple) == (required, multiple)
    assert getattr(parameter, "is_flag", False) == (kind is click.BOOL)


def test_what_is_given_counts_more() -> None:
    assert isinstance(PARAMETERS["share"].type, click.FloatRange)
    assert PARAMETERS["share"].default == 0.5
    assert PARAMETERS["row_column"].metavar == "COLUMN"
    assert PARAMETERS["names"].metavar == "NAME"


def test_arguments_follow_too() -> None:
    rows, about = PARAMETERS["rows"], PARAMETERS["about"]
    assert (rows.nargs, rows.type, about.required) == (-1, FILE, False)


def test_plain_defaults_stay() -> None:
    @by_signature
    def run(table: str | None = None, count: int = option("How many.")) -> None:
        """Run."""

    assert [parameter.name for parameter in click.command()(run).params] == ["count"]


def test_the_example_ends_the_help() -> None:
    assert tried.epilog == "Example:  smc try one.csv --count 1"


@dataclass(frozen=True)
class Bounds:
    """Two numbers."""

    low: int = option("The least.")
    high: int | None = option("The greatest.")


def words(shout: bool = option("In capitals."), word: str | None = argument()) -> str:
    """Return a word."""
    return (word or "none").upper() if shout else word or "none"


@command("together", "smc together 1 --low 1")
def together(
    before: int = option("Before them.", default=0),
    bounds: Bounds = settings(Bounds),
    named: str = settings(words),
    after: int = option("Behind them.", default=0),
) -> Report:
    """Try options that belong together."""
    report = Report({"before": before, "low": bounds.low, "high": bounds.high, "named": named, "after": after})
    report.all_facts()
    report.exit_code = bounds.low
    return report


def test_options_that_belong_together_stand_where_their_parameter_does() -> None:
    assert [one.name for one in together.params] == ["before", "low", "high", "shout", "word", "after", "as_json"]
    assert {one.name for one in together.params if one.required} == {"low"}


@pytest.mark.parametrize(
    ("typed", "out"),
    [
        (["--low", "3"], "before 0\nlow    3\nhigh   -\nnamed  none\nafter  0\n"),
        (
            ["word", "--shout", "--low", "3", "--high", "4", "--after", "5"],
            "before 0\nlow    3\nhigh   4\nnamed  WORD\nafter  5\n",
        ),
    ],
)
def test_a_command_prints_the_report_that_it_returns(typed: list[str], out: str) -> None:
    done = CliRunner().invoke(together, typed, standalone_mode=False)
    assert (done.output, done.return_value) == (out, 3)
    done = CliRunner().invoke(together, [*typed, "--json"], standalone_mode=False)
    assert json.loads(done.output)["low"] == done.return_value == 3
