"""Hidden matchings by their kinds: the joined rows, the threshold, and settings that do not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parties.base.settings import merge
from parties.jobs.aligned import IDENTIFIER_BYTES
from parties.jobs.kinds.align.exact import AlignExact
from parties.jobs.kinds.align.hidden import AlignHidden
from parties.tables.schema import Schema
from smc.engines import Profile, engine_of
from smc.errors import InputError, SmcError
from smc.local import run_local
from smc.session import Session
from tests.support.columns_apart import CLEAR, Two, people


@pytest.fixture
def two(tmp_path: Path) -> Two:
    return Two(tmp_path, people(), "play", ("a", "d"), strangers=4)


def ran(two: Two, kind: type[Any], **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Both parties' documents."""

    def party(session: Session) -> dict[str, Any]:
        files = {"data": two.directory / f"{session.party}.csv", "by": ("id",), "keys": 90, **more}
        task, data, _ = kind.alone(merge(kind.Settings(), files), session.party)
        engine = engine_of(session, Profile("gmw"))
        document: dict[str, Any] = task.document(task.run(engine, data, None, lambda step: None))
        return document

    return run_local(party)


def hide(two: Two, **more: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Match the rows, and write both parties' files in place of those of known rows."""
    apart = {"schema": two.directory / "schema.toml", "listener_columns": two.left, **more}
    documents = ran(two, AlignHidden, **apart)
    for party, document in enumerate(documents):
        path = two.directory / f"aligned{party}.csv"
        path.write_text(document["own"])
        path.chmod(0o600)
    two.hidden = True
    return documents


def test_a_tree_of_the_matched_rows_is_that_of_the_joined_rows(two: Two) -> None:
    left, right = hide(two, listener_keys=80)
    assert (left["bins"], left["holder"], left["alignment"]) == (right["bins"], "listener", right["alignment"])
    state = two.run(CLEAR, plain=True)[1]
    assert state == two.as_joined(plain=True)


@pytest.mark.parametrize(("least", "is_reached"), [(1, True), (72, True), (73, False)])
def test_a_threshold_is_reached_or_not(two: Two, least: int, is_reached: bool) -> None:
    documents = ran(two, AlignExact, opens="at-least", at_least=least)
    assert [one["enough"] for one in documents] == [is_reached, is_reached]
    words = "at least" if is_reached else "fewer than"
    assert AlignExact.text(documents[0], 0) == f"matched: {words} {least} rows\n"


def test_columns_of_the_peer_that_would_fill_the_memory_are_a_line(two: Two) -> None:
    Schema({"a": tuple(map(str, range(2000))), "b": ("0", "1")}, "b").save(two.directory / "schema.toml")
    shared = {"by": ("id",), "schema": two.directory / "schema.toml", "listener_columns": ("b",)}
    AlignHidden.planned(merge(AlignHidden.Settings(), {**shared, "keys": 200_000}))
    line = "schema: the rows of all keys take 28.8 GB, at most 8.6 GB are matched; leave out columns, or lower keys"
    with pytest.raises(InputError, match=f"^{line}$"):
        AlignHidden.planned(merge(AlignHidden.Settings(), {**shared, "keys": 1_000_000}))


def test_rules_bound_the_keys_that_a_peer_can_enter(two: Two) -> None:
    """As many as there are bins, or cells of the table."""
    shared = {"by": ("id",), "keys": 100}
    apart = {"schema": two.directory / "schema.toml", "listener_columns": two.left}
    hidden = AlignHidden.planned(merge(AlignHidden.Settings(), {**shared, **apart}))
    enough = AlignExact.planned(merge(AlignExact.Settings(), {**shared, "opens": "at-least", "at_least": 50}))
    known = AlignExact.planned(merge(AlignExact.Settings(), shared))
    for task, expected in ((hidden, (384, 488)), (enough, (384, 488)), (known, (100, 100))):
        bounded = task.bounded()
        assert (bounded["listener_keys"], bounded["keys"]) == task.sizes == expected


def test_parts_of_two_sessions_are_a_line(two: Two) -> None:
    document = hide(two)[0]
    other = document["own"].replace(document["alignment"], "00" * IDENTIFIER_BYTES)
    (two.directory / "aligned0.csv").write_text(other)
    with pytest.raises(SmcError, match=r"hidden rows of session [0-9a-f]{16} at both; else match anew"):
        two.run(CLEAR, plain=True)


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({"by": ("id", "a")}, "by: a hidden matching compares one key; its columns are joined by +"),
        ({"by": ("a",)}, "schema: has 'a', columns of the key; remove them from the schema"),
        ({"listener_columns": None}, "columns of one party; name one of each party"),
        ({"listener_columns": ("a", "x")}, "listener_columns: 'x' is not an attribute of the schema"),
        ({"listener_columns": ("a", "b", "d")}, "; in a command, if the peer has it, correct --listener-columns"),
        ({"keys": 70}, "76 rows, more than the agreed 70"),
    ],
)
def test_settings_that_do_not_fit_are_a_line(two: Two, more: dict[str, Any], line: str) -> None:
    with pytest.raises(InputError) as error:
        hide(two, **more)
    assert line in str(error.value)
    assert "\n" not in str(error.value)
