"""Any change to anything that a node keeps is seen, by whoever asks: command, upgrade check, start and page."""

from __future__ import annotations

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from parties.cli import run
from parties.link.identity import Identity
from parties.node import settings
from parties.node.log import integrity
from parties.node.log.jobs import Jobs
from parties.node.log.node_log import NodeLog
from parties.node.peers import PeerIdentity, Peers
from parties.node.records import AuditLog, database, seal
from parties.node.records.marker import FILE_NAME as MARKER
from parties.node.records.shipped import Shipped
from parties.node.starting import upgrade
from smc.errors import InputError
from smc.meter import Cost
from tests.support.ledgers import TASK, TREE, Pair, agreed, paired, propose

pytestmark = pytest.mark.slow

# What decides nothing: the counter of the next job's number. SQLite takes the greatest number there is if it is less.
DECIDES_NOTHING = {"sqlite_sequence", "sqlite_stat1"}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, identities: dict[str, Identity]) -> Path:
    """A party's directory: jobs done, withdrawn, under way with a share on the disk, cancelled, refused, waiting."""
    place = tmp_path_factory.mktemp("whole")
    with paired(place, identities) as pair:
        alice = pair.parties[0]
        _work(pair)
        alice.ledger.log.remember(alice.path.parent / MARKER)
    own = place / "party"
    own.mkdir()
    shutil.copytree(place / "0", own / "state")
    for name in ("alice", "bob"):
        (own / f"{name}.crt").write_bytes(identities[name].certificate.public_bytes(Encoding.PEM))
    (own / "party.toml").write_text(
        '[node]\nlisten = "127.0.0.1:0"\n[link]\ncertificate = "alice.crt"\npeer = "bob.crt"\n'
    )
    return own


def _work(pair: Pair) -> None:
    alice = pair.parties[0].ledger
    done, cut, withdrawn = agreed(pair), agreed(pair), agreed(pair)
    for job in (done, withdrawn):
        pair.session(job)
        pair.deliver()
    alice.decisions.withdraw(withdrawn, "rows were wrong")
    pair.deliver()
    alice.runs.begin(cut, "bob")
    alice.runs.met(cut, 0, "mixed")
    alice.runs.reached(cut, TASK.states.encode(TASK.states.cut(TREE, 1)), Cost(1, 2, 3, 4))
    pair.parties[0].opens(cut)
    alice.runs.broke(cut, "the link broke", Cost(1, 2, 3, 4))
    alice.runs.over(cut)
    alice.decisions.cancel(propose(pair), "asked too early")
    refused = propose(pair, 1)
    pair.deliver()
    alice.decisions.decide(refused, "refused", "not of this table")
    propose(pair, 0, purpose="yet to be decided")
    alice.heads.hold("bob", pair.parties[1].ledger.heads.shown("alice").own)
    alice.log.note_shipped("archive", Shipped(1, "ab" * 32, "2026-01-01T00:00:00+00:00"))


def changed(value: Any) -> Any:
    """Return another value of the same type."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case float():
            return value / 10
        case bytes():
            return bytes([value[0] ^ 1]) + value[1:] if value else b"x"
        case None:
            return "2026-01-01T00:00:00+00:00"
    digit = next((i for i, letter in enumerate(value) if letter in "0123456789"), None)
    if digit is None:
        return value[:-1] + ("y" if value.endswith("x") else "x")
    return value[:digit] + str((int(value[digit]) + 1) % 10) + value[digit + 1 :]


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value in a JSON document that holds no others, and of each list and object."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from leaves(value[key], (*path, key))


def with_change(document: Any, path: tuple[Any, ...]) -> Any:
    """Return the document with another value at this path: an empty one of a list or an object."""
    if not path:
        return changed(document) if not isinstance(document, dict | list) else type(document)()
    copy = document.copy()
    copy[path[0]] = with_change(document[path[0]], path[1:])
    return copy


def changes(connection: sqlite3.Connection) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
    """Yield every change of one stored value, and the removal and a copy of every row: words, SQL, values."""
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    for table in sorted(set(tables) - DECIDES_NOTHING):
        columns = [name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")]
        for rowid, *values in connection.execute(f"SELECT rowid, * FROM {table}").fetchall():
            yield f"{table} {rowid} removed", f"DELETE FROM {table} WHERE rowid = ?", (rowid,)
            for column, value in zip(columns, values, strict=True):
                sql = f"UPDATE {table} SET {column} = ? WHERE rowid = ?"
                if (table, column) == ("jobs", "record"):
                    document = json.loads(value)
                    for path in leaves(document):
                        other = with_change(document, path)
                        if other != document:
                            yield f"jobs {rowid} {'.'.join(map(str, path))}", sql, (json.dumps(other), rowid)
                elif (table, column) not in {("seal", "one"), ("audit_head", "one")}:  # a constraint keeps them
                    yield f"{table} {rowid} {column}", sql, (changed(value), rowid)
        yield f"{table} dropped", f"DROP TABLE {table}", ()


def problems(connection: sqlite3.Connection, identities: dict[str, Identity], state: Path) -> list[str]:
    alice, bob = identities["alice"].certificate, identities["bob"].certificate
    try:
        return integrity.verify(connection, alice, [bob], state).problems
    except (sqlite3.Error, InputError) as error:  # refused as a whole
        return [str(error)]


def test_each_stored_value_that_is_changed_is_seen(whole: Path, identities: dict[str, Identity]) -> None:
    state = whole / "state"
    with closing(sqlite3.connect(state / database.FILE_NAME)) as kept, closing(database.copied(kept)) as connection:
        for name in database.TRIGGERS:  # whoever changes the file has no use for them
            connection.execute(f"DROP TRIGGER {name}")
        connection.commit()
        without = f"the trigger {next(iter(database.TRIGGERS))}"
        known = problems(connection, identities, state)
        assert len(known) == len(database.TRIGGERS)
        assert known[0].startswith(without)
        unseen, tried = [], 0
        for words, sql, values in list(changes(connection)):
            connection.execute("BEGIN")
            try:
                connection.execute(sql, values)
            except sqlite3.IntegrityError:  # a constraint refuses it already
                connection.rollback()
                continue
            tried += 1
            if problems(connection, identities, state) == known:
                unseen.append(words)
            connection.rollback()
        assert unseen == []
        assert tried > 500


CHARGE = {"at": "2026-01-01T00:00:00Z", "table": "days", "peer": "bob", "job": "x", "uses": []}


def nineteen(state: Path) -> Iterator[tuple[str, str]]:
    """Yield changes that once nobody saw, or a start alone: words and SQL."""
    record = "UPDATE jobs SET record = json_{}(record, {}) WHERE number = 1"
    for words, how, what in (
        ("a tree altered", "set", "'$.tree', json('[1]')"),
        ("both signatures zeroed", "set", "'$.ours.signed.signature', '{0}', '$.theirs.signed.signature', '{0}'"),
        ("our commitment", "set", "'$.fingerprint', '{1}'"),
        ("the peer's commitment", "set", "'$.peer_rows', '{1}'"),
        ("a version", "set", "'$.version', 'another'"),
        ("a time", "set", "'$.started_at', '2026-01-01T00:00:00+00:00'"),
        ("an end", "set", "'$.ended_at', null"),
        ("the number of sessions", "set", "'$.sessions', 9"),
        ("the number of tries", "set", "'$.tries', 9"),
        ("what was sent", "set", "'$.current.bytes_sent', 1"),
        ("a person", "set", "'$.people', json('[\"eve\"]')"),
        ("a charge", "set", f"'$.charged', json('{json.dumps(CHARGE)}')"),
    ):
        yield words, record.format(how, what).replace("{0}", "0" * 128).replace("{1}", "ab" * 32)
    yield "a job deleted", "DELETE FROM jobs WHERE number = 1"
    yield "jobs without their table", "DROP TABLE jobs"
    yield "a share that has left", "UPDATE openings SET left = 0"
    yield "a tally", "UPDATE heard SET proposals = 0"
    yield "a head", "DELETE FROM heads"
    yield "what was shipped", "UPDATE shipped SET number = 0"
    yield "the seal taken away, and the number put back", "DELETE FROM seal; PRAGMA user_version = 4"


def test_command_check_and_start_see_the_same(
    whole: Path, identities: dict[str, Identity], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The start refuses by the first line of what the commands say, and the page shows all of them."""
    peers = Peers([PeerIdentity(identities["alice"], identities["bob"].certificate, 0)])
    for number, (words, sql) in enumerate(nineteen(whole / "state")):
        own = shutil.copytree(whole, tmp_path / str(number))
        config, path = str(own / "party.toml"), own / "state" / database.FILE_NAME
        assert run(["audit", "verify", "--config", config]) == 0
        assert upgrade.check(settings.load(own / "party.toml")).problems == ()
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.executescript(sql)
        capsys.readouterr()
        assert run(["audit", "verify", "--config", config]) == 2, words
        said = capsys.readouterr().out
        found = upgrade.check(settings.load(own / "party.toml")).problems
        seen = [line for line in said.splitlines() if "has a number below" not in line]  # a start puts that right
        assert seen == list(found), words
        assert run(["node", "--upgrade-check", "--config", config]) == 2
        with closing(database.connect(path)) as connection:
            jobs = Jobs(NodeLog(connection, peers), {}, lambda _: None)
            assert jobs.log.verify().problems == list(found), words  # what the page shows
            with pytest.raises(InputError) as refused:
                jobs.check(path.parent / MARKER)
        assert str(refused.value).startswith(found[0]), words


def test_what_a_command_writes_beside_the_node_breaks_no_seal(pair: Pair, identities: dict[str, Identity]) -> None:
    """Its entries come after the seal; an older seal, with the tables of then, is seen."""
    alice, certificate = pair.parties[0], identities["alice"].certificate
    job = agreed(pair)
    with closing(database.copied(alice.connection)) as older:
        tables = [line for line in older.iterdump() if line.startswith("INSERT") and '"audit' not in line]
    pair.session(job)
    pair.deliver()
    with closing(sqlite3.connect(alice.path)) as connection:
        log = AuditLog(connection, identities["alice"])
        with connection:
            log.append("rights", None, {"what": "access", "table": "days"})
            log.append("reviewed", job, {"text": "as it should be"})
        assert integrity.verify(connection, certificate).problems == []
        assert alice.ledger.log.verify().ok
        for table in (*seal.TABLES, "seal"):
            connection.execute(f"DELETE FROM {table}")
        connection.executescript("\n".join(tables))
        found = integrity.verify(connection, certificate).problems
        assert any("an earlier one was put in its place" in problem for problem in found)
        assert alice.ledger.log.verify().problems == found


def test_files_beside_the_database(whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = shutil.copytree(whole, tmp_path / "own")
    command, marker = ["audit", "verify", "--config", str(own / "party.toml")], own / "state" / MARKER
    assert run(command) == 0
    marker.write_text(marker.read_text().replace('"number":', '"number":1'))
    assert run(command) == 2
    assert "which" in capsys.readouterr().out


def test_what_is_rolled_back_leaves_no_mark(pair: Pair) -> None:
    """A write that fails takes back its change of the seal, too."""
    alice = pair.parties[0]
    job = propose(pair)

    def fail() -> None:
        with alice.ledger.log.writing():
            alice.ledger.jobs.store.put(alice.ledger.jobs.find(job).model_copy(update={"note": "lost"}))
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    alice.ledger.decisions.cancel(job)
    assert alice.ledger.log.verify().ok


def test_a_kind_that_is_not_installed_is_no_damage(
    whole: Path, tmp_path: Path, identities: dict[str, Identity]
) -> None:
    """The problem says what is missing, and does not call the row damaged."""
    state = tmp_path / "state"
    shutil.copytree(whole / "state", state)
    with closing(sqlite3.connect(state / "node.sqlite")) as connection:
        connection.execute(
            """UPDATE jobs SET record = json_replace(record, '$.ours.proposal.specification.protocol', 'weather')"""
        )
        (missing, *_) = (one for one in problems(connection, identities, state) if "weather" in one)
    assert missing.endswith(
        "names the kind 'weather', which no package here offers: install the package, or use a machine that has it"
    )
    assert "damaged" not in missing
