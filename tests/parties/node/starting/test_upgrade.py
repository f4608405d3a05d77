"""What earlier releases kept is read, brought forward and checked; what later ones keep is refused in one line."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from parties.cli import run
from parties.node import settings
from parties.node.log import node_log, store
from parties.node.records import audit, database, marker, seal, shipped
from parties.node.starting import upgrade
from smc.errors import InputError

STATES = Path(__file__).parent / "states"
JOBS, WAITING, ENTRIES = 6, 3, 27  # of tests/support/states.py

# The digest of all that is kept in the database. If it changes, what earlier releases kept has to be read all the same:
# write the state of the number so far (`python -m tests.support.states`) with the code so far, raise the number by a
# step in parties/node/records/database.py, and put the new digest here.
KEPT = {9: "adc6c8ccd656be36c5c2a9601b02fb137faae4689189867e08af7d22fd05373d"}


def kept() -> str:
    tables = [
        database._TABLES,
        *database.TRIGGERS.values(),
        store._TABLES,
        node_log.HEADS,
        node_log.HEARD,
        shipped.TABLE,
    ]
    tables.append(seal.TABLE)
    return hashlib.sha256("\n".join([*tables, *fields(store.Record)]).encode()).hexdigest()


def fields(model: type[BaseModel]) -> Iterator[str]:
    """All fields of a model and of those in it, with their types."""
    for name, field in model.model_fields.items():
        annotation = re.sub(r"\b(\w+\.)+", "", str(field.annotation))  # wherever the classes stand
        yield f"{model.__name__}.{name}: {annotation}"
        for inner in (field.annotation, *get_args(field.annotation)):
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                yield from fields(inner)


def test_what_is_kept_has_a_number_of_its_own() -> None:
    assert KEPT[database.STATE] == kept()
    assert {int(path.stem) for path in STATES.glob("*.sql")} == set(range(database.STATE))


@contextmanager
def state_of(number: int, place: Path) -> Iterator[Path]:
    """The state directory of a party that earlier code left, and its party.toml."""
    state = place / "state"
    state.mkdir(mode=0o700)
    with closing(sqlite3.connect(state / database.FILE_NAME)) as connection:
        connection.executescript((STATES / f"{number}.sql").read_text() + f"PRAGMA user_version = {number}")
    (state / database.FILE_NAME).chmod(0o600)
    certificate = STATES / f"{number}.crt"
    file = place / "party.toml"
    file.write_text(f'[node]\nlisten = "127.0.0.1:0"\n[link]\ncertificate = "{certificate}"\n')
    yield file


@pytest.mark.parametrize("number", range(database.STATE))
def test_a_state_of_an_earlier_release_is_brought_forward(number: int, tmp_path: Path) -> None:
    with state_of(number, tmp_path) as file:
        before = upgrade.check(settings.load(file))
        assert before == upgrade.Upgrade(
            before.release, before.wire, database.STATE, number, JOBS, WAITING, ENTRIES, ()
        )
        with closing(database.connect(tmp_path / "state" / database.FILE_NAME)) as connection:
            assert database.state(connection) == database.STATE
            assert len(store.Store(connection).all()) == JOBS
            certificate = settings.load(file).link.certificate
            assert certificate is not None
            assert not audit.verify(connection, upgrade.read_certificate(certificate)).problems
        after = upgrade.check(settings.load(file))
        assert after == before._replace(found=database.STATE)


def test_the_check_changes_nothing(tmp_path: Path) -> None:
    with state_of(0, tmp_path) as file:
        database_file = tmp_path / "state" / database.FILE_NAME
        before = database_file.read_bytes()
        upgrade.check(settings.load(file))
        assert database_file.read_bytes() == before


def test_a_log_without_an_entry_is_no_problem_unless_there_was_one(tmp_path: Path) -> None:
    """`smc audit seal` makes the database before the first start; a log that was emptied stays a problem."""
    with state_of(0, tmp_path) as file:
        place = tmp_path / "state" / database.FILE_NAME
        with closing(sqlite3.connect(place)) as connection, connection:
            connection.executescript("DROP TRIGGER audit_no_delete; DELETE FROM audit; DELETE FROM jobs")
        missing = f"entries 1 to {ENTRIES} are missing at the end"
        assert missing in upgrade.check(settings.load(file)).problems
        place.unlink()
        database.connect(place).close()
        found = upgrade.check(settings.load(file))
        assert (found.found, found.entries, found.problems) == (database.STATE, 0, ())
        (place.parent / marker.FILE_NAME).write_text("{}")
        assert upgrade.check(settings.load(file)).problems[0] == "there is no entry"


def test_a_state_of_a_later_release_is_refused_by_check_and_start(tmp_path: Path) -> None:
    with state_of(0, tmp_path) as file:
        place = tmp_path / "state" / database.FILE_NAME
        with closing(sqlite3.connect(place)) as connection:
            connection.execute(f"PRAGMA user_version = {database.STATE + 1}")
        found = upgrade.check(settings.load(file))
        (problem,) = found.problems
        assert found.found == database.STATE + 1
        assert f"it has number {database.STATE + 1}, this release reads up to {database.STATE}" in problem
        with pytest.raises(InputError, match="of a later release"):
            database.connect(place)
        assert len(upgrade.lines(found)) == 2  # nothing of jobs that cannot be read


def test_damage_is_told_before_the_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with state_of(0, tmp_path) as file:
        with closing(sqlite3.connect(tmp_path / "state" / database.FILE_NAME)) as connection, connection:
            connection.execute("UPDATE jobs SET record = '{}' WHERE number = (SELECT max(number) FROM jobs)")
            connection.execute("DROP TRIGGER audit_no_update")
            connection.execute("UPDATE audit SET kind = 'signed' WHERE number = 3")
        assert run(["node", "--config", str(file), "--upgrade-check"]) == 2
        said = capsys.readouterr().err
        assert "entry 3 was changed" in said
        assert "the row of job" in said


def test_the_command_says_it_in_words_and_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with state_of(0, tmp_path) as file:
        command = ["node", "--config", str(file), "--upgrade-check"]
        assert run(command) == 0
        said = capsys.readouterr().out
        assert f"the state has number 0: a start upgrades it to {database.STATE}; copy the directory first" in said
        assert f"{JOBS} jobs, of which {WAITING} go on; {ENTRIES} entries of the audit log" in said
        assert run([*command, "--json"]) == 0
        as_json = json.loads(capsys.readouterr().out)
        assert (as_json["found"], as_json["state"], as_json["problems"]) == (0, database.STATE, [])
    file.write_text('[node]\nstate = "none"\n')
    assert run(command) == 0
    assert "the first start of the node makes it" in capsys.readouterr().out
    assert run(["node", "--config", str(file), "--json"]) == 2


def test_what_a_start_does_with_the_state_is_said(tmp_path: Path) -> None:
    file = settings.NodeFile.model_validate({"node": {"state": tmp_path / "nothing"}})
    none = upgrade.check(file)
    assert (none.found, none.jobs, none.waiting, none.entries, none.problems) == (None, 0, 0, 0, ())
    assert upgrade.lines(none)[1:] == ["there is no state yet: the first start of the node makes it"]
    for found, then in (
        (2, "a start upgrades it to 3; copy the"),
        (3, "this release reads it without an upgrade"),
        (4, "this release cannot read"),
    ):
        _, line, counts = upgrade.lines(upgrade.Upgrade("1", 2, 3, found, 5, 4, 9, ()))
        assert line.startswith(f"the state has number {found}: {then}")
        assert counts == "5 jobs, of which 4 go on; 9 entries of the audit log"
    left_out = settings.NodeFile().node
    assert (left_out.stop, left_out.sessions, left_out.approvals, left_out.retention_days) == (30, 2, 1, None)
