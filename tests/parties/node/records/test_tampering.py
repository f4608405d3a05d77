"""Whoever changes the log past the database's own rules is found out, with the place."""

from __future__ import annotations

import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.link.identity import Identity, fingerprint
from parties.node.records import AuditLog, connect, reading
from parties.node.records.audit import state, verify
from parties.node.records.chain import Row, sign_head
from parties.node.records.database import last_rows, signed_head
from parties.node.records.kinds import FIELDS
from parties.node.records.statements import Head
from smc.errors import InputError
from tests.support.tampering import Change, Connection, edited, entries, put, relinked, tamper

LAST = 9  # the number of entries of the log that is tampered with


def problems(path: Path, owner: Identity) -> list[str]:
    """What a check finds."""
    with reading(path) as connection:
        return verify(connection, owner.certificate).problems


def sql(*statements: str) -> Change:
    return lambda connection: [connection.execute(statement) for statement in statements]


def without_order(connection: Connection) -> None:
    """Make the table anew without any rule, so that it takes whatever is put in."""
    kept = entries(connection)
    connection.execute("DROP TABLE audit")
    connection.execute("CREATE TABLE audit (number, at, kind, job, fields, previous, hash)")
    connection.executemany("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?)", kept)


def swapped(connection: Connection) -> None:
    kept = entries(connection)
    kept[2], kept[3] = kept[3]._replace(number=3), kept[2]._replace(number=4)
    put(connection, kept)


def shifted(kept: list[Row], number: int) -> list[Row]:
    """The entries with one of them twice, the second time under the next number."""
    return [*kept[:number], *(row._replace(number=row.number + 1) for row in kept[number - 1 :])]


def inserted(connection: Connection, relink: bool) -> None:
    made = shifted(entries(connection), 4)
    forged = made[4]._replace(kind="decided", fields=made[2].fields, previous=made[3].hash)
    made[4] = forged._replace(hash=forged.digest())
    put(connection, relinked(made) if relink else made)


def appended(connection: Connection) -> None:
    last = entries(connection)[-1]
    row = Row(LAST + 1, last.at, "node stopped", None, '{"why":""}', last.hash, "")
    connection.execute("INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?)", row._replace(hash=row.digest()))


CHANGED = "entry 3 was changed: its content does not have the hash that stands beside it"
HEAD = f"entry {LAST} is not the one that the head was signed for"
TAMPERING: dict[str, tuple[Change, str]] = {
    "edit the time": (sql("UPDATE audit SET at = '2020' || substr(at, 5) WHERE number = 3"), CHANGED),
    "edit the kind": (sql("UPDATE audit SET kind = 'started' WHERE number = 3"), CHANGED),
    "edit the job": (sql("UPDATE audit SET job = replace(job, '0', '1') WHERE number = 3"), CHANGED),
    "edit the fields": (sql("UPDATE audit SET fields = replace(fields, 'rule', 'Rule') WHERE number = 3"), CHANGED),
    "edit the fields' spelling": (sql("UPDATE audit SET fields = fields || ' ' WHERE number = 3"), CHANGED),
    "drop the job": (sql("UPDATE audit SET job = NULL WHERE number = 3"), CHANGED),
    "edit the hash": (sql(f"UPDATE audit SET hash = '{'0' * 64}' WHERE number = 3"), CHANGED),
    "edit the link": (sql(f"UPDATE audit SET previous = '{'0' * 64}' WHERE number = 3"), CHANGED),
    "no text": (sql("UPDATE audit SET fields = CAST(x'ff' AS TEXT) WHERE number = 3"), CHANGED),
    "no longer an object": (sql("UPDATE audit SET fields = '[]' WHERE number = 9"), CHANGED.replace("3", "9")),
    "edit one and hash it": (
        lambda c: edited(c, 3, False, at="2020"),
        "entry 4 does not continue entry 3: what it continued was changed or removed",
    ),
    "edit the first and hash it": (lambda c: edited(c, 1, False, at="2020"), "entry 2 does not continue entry 1"),
    "edit the last and hash it": (lambda c: edited(c, LAST, False, at="2020"), HEAD),
    "edit one and hash the rest": (lambda c: edited(c, 3, True, at="2020"), HEAD),
    "drop the first": (sql("DELETE FROM audit WHERE number = 1"), "entry 1 is missing"),
    "drop one": (sql("DELETE FROM audit WHERE number = 5"), "entry 5 is missing"),
    "drop three": (sql("DELETE FROM audit WHERE number BETWEEN 4 AND 6"), "entries 4 to 6 are missing"),
    "drop the last": (sql("DELETE FROM audit WHERE number = 9"), "entry 9 is missing at the end"),
    "drop the last three": (sql("DELETE FROM audit WHERE number > 6"), "entries 7 to 9 are missing at the end"),
    "drop all": (sql("DELETE FROM audit"), "entries 1 to 9 are missing at the end"),
    "drop all and the head": (sql("DELETE FROM audit", "DELETE FROM audit_head"), "there is no entry"),
    "drop one and number the rest": (
        lambda c: put(c, [row._replace(number=row.number - (row.number > 5)) for row in entries(c) if row.number != 5]),
        "entry 5 was changed",
    ),
    "drop one and chain the rest": (
        lambda c: put(c, relinked([row for row in entries(c) if row.number != 5])),
        "entry 9 is missing at the end",
    ),
    "drop the first and chain the rest": (lambda c: put(c, relinked(entries(c)[1:])), "entry 9 is missing at the end"),
    "drop the last and the head": (
        sql("DELETE FROM audit WHERE number = 9", "DELETE FROM audit_head"),
        "the signed head after entry 8 is missing",
    ),
    "drop the last and set the head back": (
        sql(
            "DELETE FROM audit WHERE number = 9",
            "UPDATE audit_head SET (number, hash) = (SELECT number, hash FROM audit WHERE number = 8)",
        ),
        "the head after entry 8 was changed: the signature is not its owner's",
    ),
    "swap two": (swapped, CHANGED),
    "swap two and chain the rest": (
        lambda c: put(c, relinked([(kept := entries(c))[0], kept[2], kept[1], *kept[3:]])),
        HEAD,
    ),
    "insert one": (lambda c: inserted(c, relink=False), "entry 6 was changed"),
    "insert one and chain the rest": (
        lambda c: inserted(c, relink=True),
        "entry 10 and what follows came after the signed head",
    ),
    "append one": (appended, "entry 10 and what follows came after the signed head"),
    "double one": (
        lambda c: (without_order(c), c.execute("INSERT INTO audit SELECT * FROM audit WHERE number = 4")),
        "entry 4 is there twice",
    ),
    "double one under the next number": (
        lambda c: put(c, shifted(entries(c), 4)),
        "entry 5 was changed",
    ),
    "a number that is none": (
        lambda c: (without_order(c), c.execute("UPDATE audit SET number = 'x' WHERE number = 4")),
        "entry 4 is missing",
    ),
    "forge the signature": (
        sql("UPDATE audit_head SET signature = zeroblob(64)"),
        "the head after entry 9 was changed: the signature is not its owner's",
    ),
    "cut the signature": (
        sql("UPDATE audit_head SET signature = substr(signature, 1, 63)"),
        "the head after entry 9 was changed",
    ),
    "name another signer": (
        sql("UPDATE audit_head SET fingerprint = 'AB' || substr(fingerprint, 3)"),
        "the head after entry 9 names the certificate AB:",
    ),
    "a head that is none": (sql("UPDATE audit_head SET hash = 'x'"), "the signed head after entry 9 is missing"),
}


def test_the_untouched_log_is_whole(copy: Path, identities: dict[str, Identity]) -> None:
    assert problems(copy, identities["alice"]) == []
    tamper(copy, lambda connection: None)
    assert problems(copy, identities["alice"]) == []


@pytest.mark.parametrize("name", TAMPERING)
def test_tampering_is_found_and_the_place_named(name: str, copy: Path, identities: dict[str, Identity]) -> None:
    change, expected = TAMPERING[name]
    tamper(copy, change)
    found = problems(copy, identities["alice"])
    assert found
    assert found[0].startswith(expected)
    assert all("\n" not in problem for problem in found)


@pytest.mark.parametrize(
    "name", [name for name in TAMPERING if re.search("last$|last three|head back|append|signature", name)]
)
def test_a_log_with_a_changed_end_is_not_gone_on_with(name: str, copy: Path, identities: dict[str, Identity]) -> None:
    """Or a new signed head would cover it up."""
    tamper(copy, TAMPERING[name][0])
    with closing(connect(copy)) as connection:
        log = AuditLog(connection, identities["alice"])
        with pytest.raises(InputError, match="smc audit verify"), connection:
            log.append("node stopped", None, {})
        assert not state(log.checked()).ok


def test_one_edit_is_one_problem(copy: Path, identities: dict[str, Identity]) -> None:
    tamper(copy, TAMPERING["edit the kind"][0])
    assert problems(copy, identities["alice"]) == [CHANGED]


def test_missing_triggers_are_told_and_not_put_back(copy: Path, identities: dict[str, Identity]) -> None:
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("DROP TRIGGER audit_no_update")
        connection.execute("DROP TRIGGER audit_no_delete")
        connection.execute("CREATE TRIGGER audit_no_delete BEFORE DELETE ON audit BEGIN SELECT 1; END")
    connect(copy).close()
    assert problems(copy, identities["alice"]) == [
        f"the trigger {name}, which keeps entries from being changed, is missing"
        for name in ("audit_no_update", "audit_no_delete")
    ]


def test_another_partys_certificate_does_not_fit(copy: Path, identities: dict[str, Identity]) -> None:
    (first, *_) = problems(copy, identities["bob"])
    owner, other = (fingerprint(identities[name].certificate)[:23] for name in ("alice", "bob"))
    assert first == f"the head after entry 9 names the certificate {owner}…, not {other}…"


def test_who_has_the_key_can_sign_another_head(copy: Path, identities: dict[str, Identity]) -> None:
    """The limit of what a log says by itself: its owner can make another one. The peer's log then contradicts it."""
    tamper(copy, lambda c: put(c, relinked(entries(c)[:-1])))
    with closing(sqlite3.connect(copy)) as connection, connection:
        last = last_rows(connection, 1)[0]
        signed = sign_head(identities["alice"], Head(number=last.number, hash=last.hash))
        connection.execute("UPDATE audit_head SET number = 8, hash = ?, signature = ?", (last.hash, signed.signature))
    assert problems(copy, identities["alice"]) == []


def test_many_problems_are_cut_for_the_operator(copy: Path, identities: dict[str, Identity]) -> None:
    def many(connection: Connection) -> None:
        kept = entries(connection)
        put(connection, [kept[0]._replace(number=number) for number in range(1, 202)])

    tamper(copy, many)
    with reading(copy) as connection:
        found = verify(connection, identities["alice"].certificate)
    assert len(state(found).problems) == 101
    assert state(found).problems[-1] == f"and {len(found.problems) - 100} more"
    assert not state(found).ok


def test_entries_that_cannot_be_read_are_a_clear_error(copy: Path, identities: dict[str, Identity]) -> None:
    tamper(copy, sql("UPDATE audit SET fields = '{' WHERE number = 9"))
    with closing(connect(copy)) as connection, pytest.raises(InputError, match="entry 9 of the audit log was changed"):
        AuditLog(connection, identities["alice"]).entries(1)


def test_a_damaged_page_is_a_problem_not_a_crash(copy: Path, identities: dict[str, Identity]) -> None:
    data = bytearray(copy.read_bytes())
    page = int.from_bytes(data[16:18]) or 65536
    for start in range(page, len(data), page):
        data[start : start + 100] = b"\xff" * 100
    copy.write_bytes(data)
    with reading(copy) as connection:
        found = state(verify(connection, identities["alice"].certificate))
    assert not found.ok
    assert found.problems[0].startswith("the database is damaged: ")


VALUES = st.one_of(st.none(), st.integers(-1, 10), st.text(max_size=5), st.binary(max_size=3), st.floats())


@settings(max_examples=60)
@given(st.data())
def test_any_tampering_is_found(kept: Path, identities: dict[str, Identity], data: st.DataObject) -> None:
    """Any other content of the table, in whatever way it came about, is not whole."""
    path = kept.with_name("tampered.sqlite")
    shutil.copy(kept, path)
    with reading(kept) as connection:
        before, head = entries(connection), signed_head(connection)
    after = list(before)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, max(len(after) - 1, 0)))
        match data.draw(st.sampled_from(["edit", "drop", "move", "double", "copy field", "rehash", "relink"])):
            case "edit" if after:
                column = data.draw(st.sampled_from(Row._fields))
                after[place] = after[place]._replace(**{column: data.draw(VALUES)})
            case "drop" if after:
                del after[place]
            case "move" if after:
                after.insert(data.draw(st.integers(0, len(after))), after.pop(place))
            case "double" if after:
                after.insert(place, after[place])
            case "copy field" if after:
                column = data.draw(st.sampled_from(Row._fields))
                other = data.draw(st.sampled_from(before))
                after[place] = after[place]._replace(**{column: getattr(other, column)})
            case "rehash" if after and isinstance(after[place].fields, str) and isinstance(after[place].at, str):
                kind = data.draw(st.sampled_from(sorted(FIELDS)))
                row = after[place]._replace(kind=kind)
                if not any(isinstance(value, bytes | float) for value in row):
                    after[place] = row._replace(hash=row.digest())
            case "relink" if after and not any(isinstance(value, bytes | float) for row in after for value in row):
                after = relinked(after)

    def change(connection: Connection) -> None:
        without_order(connection)
        put(connection, after)

    tamper(path, change)
    with reading(path) as connection:
        changed = entries(connection) != before
        assert signed_head(connection) == head
        assert bool(verify(connection, identities["alice"].certificate).problems) == changed
