"""Rules as they stand in party.toml: what is read, and what is said about mistakes."""

from __future__ import annotations

import re
import textwrap
import tomllib
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, ValidationError

from parties.base.settings import Settings, explained
from parties.node.policy.rules import Rule, check_names, conditions, remarks, unbounded
from parties.node.policy.templates import Template
from parties.node.settings import load
from smc.errors import InputError
from tests.support.places import ROOT
from tests.support.policies import PRINT

PAGES = sorted((ROOT / "docs").glob("*.md"))
HEAD = '[[policy]]\nname = "a rule"\neffect = "permit"\n'


class File(Settings):
    """The part of a node's file that holds the rules."""

    policy: Annotated[tuple[Rule, ...], AfterValidator(check_names)] = ()


def read(text: str) -> tuple[Rule, ...]:
    return File.model_validate(tomllib.loads(text)).policy


@pytest.mark.parametrize(
    "page", [path for path in PAGES if "[[policy]]\n" in path.read_text()], ids=lambda path: path.stem
)
def test_rules_of_a_page_can_be_read(page: Path) -> None:
    text = re.sub(r"\w\w:\w\w:\.\.\.", PRINT, page.read_text())
    rules = re.findall(r"^ *\[\[policy\]\]\n(?: *[a-z_.]+ = .*\n)*", text, re.MULTILINE)
    assert all(len(read(textwrap.dedent(rule))) == 1 for rule in rules)


def test_a_rule_with_everything() -> None:
    (found,) = read(
        HEAD
        + """
        peer = "clinic-b"
        role = ["hospital", "university"]
        proposed_by = "peer"
        table = "patients"
        columns.within = ["age", "sex", "outcome"]
        columns.any_of = "outcome"
        protocol = "id3"
        max_depth.at_most = 4
        min_rows.at_least = 20
        tolerance.at_most = 0.01
        max_rows = {above = 10, below = 100_000}
        runs_today.below = 3
        exact = false
        purpose = ["research", "teaching"]
        time = "08:00-18:00"
        weekdays = ["mon", "fri"]
        zone = "Europe/Rome"
        network = "192.0.2.0/24"
        """
    )
    assert len(list(conditions(found))) == 17  # zone is none by itself
    assert found.max_rows.above == 10
    assert found.role == ("hospital", "university")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('tabel = "x"', "policy.0.tabel: unknown key (did you mean 'table'?)"),
        ("max_depth.atmost = 4", "policy.0.max_depth.atmost: unknown key (did you mean 'at_most'?)"),
        ("max_depth = 4", "policy.0.max_depth: must be a table, not 4"),
        ("max_depth = {}", "policy.0.max_depth: give at_least, above, at_most or below"),
        ('max_depth.at_most = "4"', "policy.0.max_depth.at_most: must be a number, not '4'"),
        ("max_depth.at_most = true", "policy.0.max_depth.at_most: must be a number, not True"),
        ("max_depth.at_most = nan", "policy.0.max_depth.at_most: must be a finite number, not nan"),
        ("tolerance = {at_least = 2, below = 2}", "policy.0.tolerance: no number is at least 2 and below 2"),
        ("tolerance = {above = 3, at_most = 2}", "policy.0.tolerance: no number is above 3 and at most 2"),
        ("columns = {}", "policy.0.columns: give within or any_of"),
        ("columns.within = []", "policy.0.columns.within: must not be empty; add a value"),
        ('table = ["x", ""]', "policy.0.table: must not be empty; add a value, or remove the condition"),
        ("role = 5", "policy.0.role: must be text in quotes, or a list of texts"),
        ('role = ["x", 5]', "policy.0.role: must be text in quotes, or a list of texts"),
        ('protocol = "id4"', "policy.0.protocol.0: there is no kind of job 'id4' (did you mean 'id3'?)"),
        ('proposed_by = "them"', "policy.0.proposed_by: must be 'us' or 'peer', not 'them'"),
        ('time = "8-18"', 'policy.0.time: must be a time range, such as "08:00-18:00"'),
        ('time = "08:00-08:00"', "policy.0.time: must be a time range"),
        ('time = "24:00-08:00"', "policy.0.time: must be a time range"),
        ('weekdays = ["monday"]', "policy.0.weekdays.0: must be 'mon', 'tue', 'wed',"),
        (
            'time = "08:00-18:00"\nzone = "Europe/Roma"',
            "policy.0.zone: this machine knows no time zone 'Europe/Roma' (did you mean 'Europe/Rome'?)",
        ),
        ('time = "08:00-18:00"\nzone = "Europe"', "policy.0.zone: this machine knows no time zone 'Europe'"),
        ('time = "08:00-18:00"\nzone = "../../etc/passwd"', "policy.0.zone: this machine knows no time zone"),
        ('zone = "Europe/Rome"', "policy.0: zone applies to time and weekdays"),
        ('network = "192.0.2.7/24"', "policy.0.network.0: 192.0.2.7/24 has host bits set; write it as 192.0.2.0/24"),
        ('network = "home"', "policy.0.network.0: 'home' does not appear to be an IPv4 or IPv6 network"),
        ('network = "::ffff:192.0.2.0/120"', "policy.0.network.0: '::ffff:192.0.2.0/120' must be written as the"),
        ('[[policy]]\nname = "a rule"\neffect = "deny"', "policy: two rules have the name 'a rule'"),
        ('[[policy]]\nname = "b"\neffect = "allow"', "policy.1.effect: must be 'permit' or 'deny', not 'allow'"),
        ('[[policy]]\nname = "b"\neffect = "ask"', "policy.1.effect: must be 'permit' or 'deny', not 'ask'"),
        ('[[policy]]\nname = " "\neffect = "deny"', "policy.1.name: must be a line of 1 to 80 characters"),
        ('[[policy]]\nname = "a\\nb"\neffect = "deny"', "policy.1.name: must be a line of 1 to 80 characters"),
        ('[[policy]]\neffect = "deny"', "policy.1.name: is missing"),
    ],
)
def test_mistakes_are_told_with_their_key(line: str, problem: str) -> None:
    with pytest.raises(ValidationError) as caught:
        read(HEAD + line)
    assert explained(caught.value, File).startswith(problem)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("max_depth.atmost = 4", "policy 'night': max_depth.atmost: unknown key (did you mean 'at_most'?)"),
        ('zone = "Europe/Rome"', "policy 'night': zone applies to time and weekdays"),
        ("name = 5", "policy.1.name: must be text in quotes, not 5"),
    ],
)
def test_a_mistake_in_a_file_is_told_with_the_rules_name(tmp_path: Path, line: str, problem: str) -> None:
    name = "" if line.startswith("name") else 'name = "night"\n'
    path = tmp_path / "party.toml"
    path.write_text(f'[[policy]]\nname = "day"\neffect = "permit"\n[[policy]]\neffect = "deny"\n{name}{line}\n')
    with pytest.raises(InputError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: {problem}")


@pytest.mark.parametrize("value", [4, 4.0, 0, -1, 10**15])
def test_bounds_take_whole_numbers_and_others(value: Any) -> None:
    assert Rule(name="x", effect="deny", tolerance={"above": value}).tolerance.above == value  # type: ignore[arg-type]


COUNTS = {"protocol": "release count", "runs_today": {"below": 3}, "max_rows": {"at_most": 100}}


@pytest.mark.parametrize(
    ("rule", "lacks"),
    [
        (
            {},
            "epsilon.at_most and support_epsilon.at_most and k.at_least and max_depth.at_most and shards.at_most "
            "and max_rows.at_most and keys.at_most and listener_keys.at_most and runs_today.at_most",
        ),
        ({"protocol": "align exact", "runs_today": {"below": 3}}, "keys.at_most and listener_keys.at_most"),
        ({"protocol": "equality"}, "runs_today.at_most"),
        ({"protocol": "equality", "runs_today": {"below": 3}}, ""),
        ({"protocol": "release count", "runs_today": {"below": 3}}, "epsilon.at_most and max_rows.at_most"),
        ({**COUNTS, "table": "bounded"}, ""),
        ({**COUNTS, "table": ["bounded", "open"]}, "epsilon.at_most"),
        ({**COUNTS, "table": ["bounded", "gone"]}, "epsilon.at_most"),
        (
            {"epsilon": {"at_least": 1}, "k": {"above": 4}, "max_depth": {"below": 5}},
            "epsilon.at_most and support_epsilon.at_most and shards.at_most and max_rows.at_most "
            "and keys.at_most and listener_keys.at_most and runs_today.at_most",
        ),
        ({"effect": "deny"}, ""),
    ],
)
def test_what_a_rule_permits_without_bounds_is_told(rule: dict[str, Any], lacks: str) -> None:
    rules = [Rule.model_validate({"name": "x", "effect": "permit", **rule})]
    lines = unbounded(rules, {"bounded": True, "open": False}, {})
    assert lines == ([f"rule 'x' permits without a bound: it lacks {lacks}"] if lacks else [])


@pytest.mark.parametrize(
    ("more", "lacks"),
    [
        ({"epsilon": 1.0}, "max_rows.at_most and runs_today.at_most"),
        ({"parameters": {"epsilon": {"at_most": 1}}}, "max_rows.at_most and runs_today.at_most"),
        ({"parameters": {"epsilon": {"at_least": 1}}}, "epsilon.at_most and max_rows.at_most and runs_today.at_most"),
        ({"parameters": {"alignment": {"at_least": 50}}}, "runs_today.at_most"),
        ({"alignment": "latest"}, "runs_today.at_most"),
    ],
)
def test_a_template_leaves_little_without_bounds(more: dict[str, Any], lacks: str) -> None:
    rules = [Rule.model_validate({"name": "x", "effect": "permit", "template": "late"})]
    template = Template.model_validate({"protocol": "id3", "table": "open", "target": "late", **more})
    lines = unbounded(rules, {"open": False}, {"late": template})
    assert lines == [f"rule 'x' permits without a bound: it lacks {lacks}"]


def test_a_rule_has_a_name_of_eighty_characters_at_most() -> None:
    assert Rule.model_validate({"name": 80 * "x", "effect": "deny"}).name == 80 * "x"
    with pytest.raises(ValidationError, match="a line of 1 to 80 characters"):
        Rule.model_validate({"name": 81 * "x", "effect": "deny"})


def test_names_that_nobody_has_are_remarked() -> None:
    """A prohibition with a misspelt column would never deny, and nobody would notice."""
    rules = [
        Rule.model_validate({"name": "no names", "effect": "deny", "columns": {"any_of": ["outlok"]}}),
        Rule.model_validate({"name": "days", "effect": "permit", "table": "day", "columns": {"within": ["wind"]}}),
        Rule.model_validate({"name": "all", "effect": "permit"}),
    ]
    found = remarks(rules, {"days": ["outlook", "wind"]})
    assert [line.split(":")[0] for line in found] == ["rule 'no names'", "rule 'days'", "rule 'all' has no condition"]
    assert "there is no column 'outlok' (did you mean 'outlook'?)" in found[0]
    assert "there is no table 'day'" in found[1]
