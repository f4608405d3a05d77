"""What a party takes part with, by its file. A schema that is changed under a running node is told of."""

from __future__ import annotations

from pathlib import Path

import pytest

from parties.node.offers import Offers
from parties.node.settings import load
from parties.sources.settings import MOST_TRIES
from smc.errors import InputError
from tests.support.specified import SCHEMA

pytestmark = pytest.mark.slow

FILE = '[tables.days]\nsource = "days.csv"\nschema = "schema.toml"\n'


def of(directory: Path, more: str = "") -> Offers:
    SCHEMA.save(directory / "schema.toml")
    (directory / "party.toml").write_text(FILE + more)
    return Offers.of(load(directory / "party.toml"))


@pytest.fixture
def offers(tmp_path: Path) -> Offers:
    return of(tmp_path)


def test_a_file_that_does_not_fit_is_refused_as_the_node_begins(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"^tables\.days: columns: 'hail' is not an attribute of the schema"):
        of(tmp_path, '[tables.days.columns.hail]\nmissing = "?"\n')
    (tmp_path / "schema.toml").unlink()
    with pytest.raises(InputError, match=r"^tables\.days: .*schema\.toml"):
        Offers.of(load(tmp_path / "party.toml"))


def test_a_table_that_is_not_offered(offers: Offers) -> None:
    (days, none) = (offers.inputs(1, table).schema for table in ("days", ""))
    assert days is not None
    assert (days.digest(), none) == (SCHEMA.digest(), None)
    for table in ("days", ""):
        assert offers.inputs(0, table, {"value": 3}).typed == {"value": 3}
        assert offers.inputs(0, table).typed == {}
    with pytest.raises(InputError, match=r"there is no table 'dais' \(did you mean 'days'\?\)"):
        offers.inputs(1, "dais")
    assert (offers.version("dais"), offers.person("dais"), offers.kept("dais")) == ("", "", None)
    assert offers.tries("dais") == MOST_TRIES


@pytest.mark.parametrize(
    ("node", "table", "kept"), [(None, None, None), (7, None, 7), (None, 30, 30), (7, 30, 7), (30, 7, 7)]
)
def test_jobs_are_kept_for_the_least_that_the_file_says(
    tmp_path: Path, node: int | None, table: int | None, kept: int | None
) -> None:
    text = 'version = "3"\nperson = "patient"\nat_most = 1\ntries = 2\n'
    if table is not None:
        text += f'[tables.days.rights]\ncontact = "a@b.example"\nlegal_basis = "consent"\nretention_days = {table}\n'
    offers = of(tmp_path, text + (f"[node]\nretention_days = {node}\n" if node is not None else ""))
    assert offers.kept("days") == kept
    assert offers.kept("nights") == node
    assert (offers.version("days").split()[0], offers.person("days"), offers.tries("days")) == ("3", "patient", 2)


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
        f"the schema of the table 'days' {what} since the node started: jobs use the earlier schema; restart the node"
    )
    assert offers.inputs(0, "days").schema.digest() == SCHEMA.digest()
    file.write_text(before)
    assert offers.stale() == {}
