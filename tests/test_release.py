"""What the pages docs/release*.md say of commands, settings and numbers is so."""

from __future__ import annotations

import re
import tomllib
from fractions import Fraction

import click
import pytest

from parties.checking.mechanisms import MECHANISMS
from parties.cli import cli
from parties.sources.settings import BudgetSettings
from protocols.release.laplace import DiscreteLaplace
from tests.support.command_lines import next_name
from tests.support.places import ROOT

pytestmark = pytest.mark.slow

TEXT = "\n".join(path.read_text() for path in sorted((ROOT / "docs").glob("release*.md")))
SHOWN = {*re.findall(r"^    smc ((?:.*\\\n)*.*)$", TEXT, re.MULTILINE), *re.findall(r"`smc ([^`]*)`", TEXT)}
COMMANDS = sorted(" ".join(line.replace("\\", " ").split()) for line in SHOWN if not re.search(r"NAME|-\.\.\.", line))


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command_exists_with_its_options(line: str) -> None:
    words = line.split()
    command: click.Command = cli
    while isinstance(command, click.Group) and words:
        found = command.get_command(click.Context(command), next_name(command, words))
        assert found is not None, line
        command = found
    known = {name for parameter in command.params for name in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= known


def test_there_are_commands() -> None:
    assert len(COMMANDS) >= 6


def test_the_mechanisms_that_are_named_are_checked() -> None:
    named = {word for line in COMMANDS if line.startswith("release check") for word in line.split()[2:]}
    assert named & set(MECHANISMS)


def test_the_budget_shown_is_one() -> None:
    (block,) = re.findall(r"^    (\[tables.*(?:\n    .*)*)", TEXT, re.MULTILINE)
    found = tomllib.loads(block.replace("\n    ", "\n"))["tables"]["patients"]["budget"]
    assert BudgetSettings(**found).words == "epsilon 4 per year at delta 1e-07"


def test_a_count_has_the_spread_that_is_said() -> None:
    """+-3 / epsilon at 95 %, and so 400 +- 30 at epsilon 0.1."""
    law = DiscreteLaplace(Fraction(10)).probabilities()
    assert float(sum(chance for noise, chance in law.items() if abs(noise) <= 30)) == pytest.approx(0.95, abs=0.005)


def test_links_lead_somewhere() -> None:
    for path in re.findall(r"\]\(([a-z_./]+)\)", TEXT):
        assert (ROOT / "docs" / path).exists(), path
