"""A file of keys with damage: it is used, or refused in one line."""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parties.alone.publish.keys.keyring import make_keyring, opened
from parties.alone.publish.pseudonyms import pseudonym, value_of
from smc.errors import InputError
from tests.support.damage import carelessly, cells, contents, flipped

MASTER = bytes(32)
bounded = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bytes, str]:
    """Where a file of keys is, what is in it, and a pseudonym that its keys made."""
    path = tmp_path_factory.mktemp("keys") / "keys.db"
    make_keyring(path, MASTER)
    with opened(path, MASTER) as ring:
        made = pseudonym(ring.column("name", "deterministic"), "Ada", ring.subjects(["ada"])["ada"])
        ring.column("mail", "randomised")
        ring.rotate("name")
        ring.commit()
    return path, path.read_bytes(), made


def use(path: Path, made: str) -> list[str]:
    """Do all that is done with keys; what was refused."""
    said = []
    for what in (
        lambda ring: ring.records(),
        lambda ring: [ring.versions(name) for name in ring.names()],
        lambda ring: value_of(ring.versions("name"), made, ring),
        lambda ring: pseudonym(ring.column("name", "deterministic"), "Bob", ring.subjects(["ada"])["ada"]),
        lambda ring: ring.column("mail", "randomised"),
        lambda ring: ring.rotate("name"),
        lambda ring: ring.forget("ada"),
        lambda ring: ring.rewrap(bytes(range(32))),
    ):
        try:
            with opened(path, MASTER) as ring, suppress(ValueError):  # a cell, not the file, is refused with it
                what(ring)
        except InputError as error:
            said.append(str(error))
    return said


def test_whole_keys_are_used(keys: tuple[Path, bytes, str]) -> None:
    path, _, made = keys
    assert use(path, made) == []


def test_values_that_no_key_has(keys: tuple[Path, bytes, str]) -> None:
    path, whole, made = keys
    refused = 0
    for command in cells(path):
        path.write_bytes(whole)
        with suppress(sqlite3.IntegrityError):
            carelessly(path, command)
        said = use(path, made)
        assert all(line.startswith(f"{path}: ") for line in said), command
        refused += bool(said)
    path.write_bytes(whole)
    assert refused > 60


@bounded
@given(data=st.data())
def test_bytes_that_were_changed(keys: tuple[Path, bytes, str], data: st.DataObject) -> None:
    path, whole, made = keys
    path.write_bytes(data.draw(flipped(whole) | contents(whole)))
    use(path, made)
    path.write_bytes(whole)
