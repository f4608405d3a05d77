"""A schema file that is changed under a running node is told of; the node goes on by what it read."""

from __future__ import annotations

from pathlib import Path

import pytest

from parties.node.offers import Offers
from parties.node.settings import load
from tests.support.specified import SCHEMA

pytestmark = pytest.mark.slow

FILE = '[tables.days]\nsource = "days.csv"\nschema = "schema.toml"\n'


@pytest.fixture
def offers(tmp_path: Path) -> Offers:
    SCHEMA.save(tmp_path / "schema.toml")
    (tmp_path / "party.toml").write_text(FILE)
    return Offers.of(load(tmp_path / "party.toml"))


def test_the_same_schema_written_otherwise_is_no_change(tmp_path: Path, offers: Offers) -> None:
    assert offers.stale() == {}
    file = tmp_path / "schema.toml"
    file.write_text("# the same\n" + file.read_text())
    assert offers.stale() == {}


@pytest.mark.parametrize(
    ("content", "what"),
    [
        ('[attributes]\nwind = ["weak"]\n', "has changed"),
        ("nonsense", "cannot be read any more"),
        (None, "cannot be read any more"),
    ],
)
def test_a_change_is_told_until_it_is_undone(tmp_path: Path, offers: Offers, content: str | None, what: str) -> None:
    file = tmp_path / "schema.toml"
    before = file.read_text()
    file.unlink()
    if content is not None:
        file.write_text(content)
    (said,) = offers.stale().values()
    assert said.startswith(
        f"the schema of the table 'days' {what} since the node began: jobs go on by what it said then"
    )
    assert offers.inputs(0, "days").schema.digest() == SCHEMA.digest()
    file.write_text(before)
    assert offers.stale() == {}
