"""Entries leave as they are written, all of them, in whatever order targets come and go; what is missing is noticed."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import permutations
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from google.protobuf.json_format import Parse
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from parties.link.identity import Identity
from parties.node.records import gaps
from parties.node.records.chain import NOTHING, Row
from parties.node.records.export import line, one_row
from parties.node.records.shipped import Shipped
from parties.node.settings import load
from parties.node.shipping import shipper, targets
from parties.node.shipping.settings import RecordsSettings, ShipSettings
from parties.node.shipping.shipper import Shipper
from smc import __version__
from smc.errors import InputError
from tests.support.ledgers import Pair, Party
from tests.support.log_servers import Rsyslog, SyslogServer
from tests.support.waiting import PATIENCE, eventually


@pytest.fixture
def alice(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> Party:
    """A ledger that writes entries, and shippers that lose no time."""
    monkeypatch.setattr(shipper, "SHORTEST_PAUSE", 0.02)
    monkeypatch.setattr(shipper, "LONGEST_PAUSE", 0.1)
    return pair.parties[0]


def write(party: Party, entries: int) -> None:
    for _ in range(entries):
        party.ledger.log.note("node stopped", why="a test")


@contextmanager
def shipping(party: Party, **fields: Any) -> Iterator[list[tuple[str, Any]]]:
    """A target, and what the node's log says of it."""
    told: list[tuple[str, Any]] = []
    one = Shipper(
        ShipSettings(name="there", **fields), party.ledger.log, lambda what, **more: told.append((what, more))
    )
    party.ledger.log.entered.append(one.wake)
    one.start()
    try:
        yield told
    finally:
        one.stop()
        party.ledger.log.entered.remove(one.wake)


def last(party: Party) -> int:
    return party.ledger.log.entries(1, None)[0].number


def has_all(party: Party) -> Callable[[], bool]:
    return lambda: party.ledger.log.shipped("there").number == last(party)


def numbers(path: Path) -> list[int]:
    return [json.loads(text)["number"] for text in path.read_text().splitlines()]


def test_a_file_gets_each_entry_once_also_over_restarts(alice: Party, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    write(alice, 120)
    with shipping(alice, file=path):
        eventually(has_all(alice))
        write(alice, 3)
        eventually(has_all(alice))
    write(alice, 2)
    with shipping(alice, file=path):  # it stops at once, and ships before it does
        pass
    assert numbers(path) == list(range(1, last(alice) + 1))
    assert path.stat().st_mode & 0o777 == 0o600
    assert gaps.read([path]).problems == []
    path.write_bytes(path.read_bytes()[:-5])  # a crash in the midst of a line
    write(alice, 1)
    with shipping(alice, file=path):
        eventually(has_all(alice))
    (cut, missing) = gaps.read([path]).problems
    assert cut.endswith("not an entry, or it was cut or changed")
    assert missing == f"entry {last(alice) - 1} is missing"


def test_who_waits_for_entries_ends_when_it_is_told(
    alice: Party, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not at its next look, nor after the pause that a failure asks for."""
    monkeypatch.setattr(shipper, "LOOK_SECONDS", 2 * PATIENCE)
    monkeypatch.setattr(shipper, "SHORTEST_PAUSE", 2 * PATIENCE)
    write(alice, 1)
    for path in (tmp_path / "log.jsonl", tmp_path / "away" / "log.jsonl"):
        one = Shipper(ShipSettings(file=path, seconds=60), alice.ledger.log, lambda *_, **__: None)
        one.start()
        eventually(lambda path=path: alice.ledger.log.shipped(str(path)) != Shipped())  # type: ignore[misc]
        one.stop()
        assert not one._thread.is_alive()


@pytest.mark.parametrize(
    ("at", "said"),
    [
        ("2026-03-01T12:00:00.000+00:00", "2026-03-01T12:00:00.000+00:00"),
        ("", "-"),
        ("2026-03-01 12:00", "-"),
        ("2026-03-01T12:00\n", "-"),
        ("2026-03-01T12:0\u0660", "-"),
    ],
)
def test_what_is_none_is_left_out_of_a_message_s_header(at: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else who reads it takes the rest for something else (RFC 5424, 6: no field has a blank, a name 255 letters)."""
    monkeypatch.setattr(socket, "gethostname", lambda: "a b" + "c" * 300)
    row = Row(2**31, at, "a kind of mine" + "d" * 32, None, "{}", NOTHING, "")
    size, _, message = targets.ToSyslog(ShipSettings(syslog="localhost:1"))._message(row).partition(b" ")
    assert int(size) == len(message)
    head = f"<110>1 {said} a-b{'c' * 252} smc - a-kind-of-mine{'d' * 18} "
    assert message.decode().startswith(f'{head}[meta sequenceId="1"] {{')


@pytest.mark.parametrize("job", [None, "ab" * 16])
def test_an_entry_of_a_job_names_it_as_a_log_record(job: str | None) -> None:
    row = Row(7, "2026-03-01T12:00:00.000+00:00", "note", job, "{}", NOTHING, "cd" * 32)
    record = targets._log_record(row)
    named = {one["key"]: one["value"]["stringValue"] for one in record["attributes"] if "stringValue" in one["value"]}
    assert named == {"smc.entry.hash": "cd" * 32, **({} if job is None else {"smc.job": job})}
    assert record["timeUnixNano"] == record["observedTimeUnixNano"] == "1772366400000000000"
    assert "timeUnixNano" not in targets._log_record(row._replace(at="noon"))


def test_a_target_that_is_away_gets_what_it_missed(alice: Party, tmp_path: Path) -> None:
    path = tmp_path / "mounted" / "log.jsonl"
    with shipping(alice, file=path) as told:
        write(alice, 2)
        eventually(lambda: alice.ledger.log.shipped("there").why)
        write(alice, 2)
        assert alice.ledger.log.shipped("there") == Shipped(why="No such file or directory")
        path.parent.mkdir()
        eventually(has_all(alice))
        eventually(lambda: len(told) == 2)
        assert told == [
            ("records not shipped", {"target": "there", "why": "No such file or directory"}),
            ("records shipped again", {"target": "there"}),
        ]
        assert alice.ledger.log.shipped("there").why == ""
    assert numbers(path) == list(range(1, last(alice) + 1))


def test_a_target_that_has_what_the_log_lacks_gets_all(alice: Party, tmp_path: Path) -> None:
    """The log was rolled back: what is received shows two entries of one number."""
    path = tmp_path / "log.jsonl"
    write(alice, 5)
    with shipping(alice, file=path):
        eventually(has_all(alice))
    other = alice.ledger.log.rows_after(last(alice) - 1, 1)[0]._replace(fields='{"why":"another"}', hash="")
    path.write_text(path.read_text() + line(other._replace(hash=other.digest())) + "\n")
    alice.ledger.log.note_shipped("there", Shipped(other.number, other.digest(), "", ""))
    with shipping(alice, file=path):
        eventually(has_all(alice))
    assert numbers(path) == [*range(1, other.number + 1), other.number, *range(1, other.number + 1)]
    (problem,) = gaps.read([path]).problems
    assert f": entry {other.number} differs from the entry {other.number} in {path}, line " in problem


class Hook(ThreadingHTTPServer):
    """A web server that answers `status`, and `says` something with it."""

    def __init__(self) -> None:
        self.got: list[str] = []
        self.status, self.asked, self.keys, self.says = 503, 0, set[str | None](), b""
        self.types = set[str | None]()
        hook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                hook.asked += 1
                hook.keys.add(self.headers["authorization"])
                hook.types.add(self.headers["content-type"])
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                if hook.status < 300 and not hook.says:
                    hook.got += body.splitlines()
                self.send_response(hook.status)
                self.end_headers()
                self.wfile.write(hook.says)

            def log_message(self, *_: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)


def test_a_webhook(alice: Party, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret\n")
    (tmp_path / "token").chmod(0o644)
    with Hook() as hook:
        Thread(target=hook.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{hook.server_port}/hook"
        with shipping(alice, webhook=url, token_file=tmp_path / "token") as told:
            write(alice, 120)
            eventually(lambda: "token can be read by other users" in alice.ledger.log.shipped("there").why)
            assert hook.asked == 0
            (tmp_path / "token").chmod(0o600)
            eventually(lambda: hook.asked > 2)
            assert [what for what, _ in told] == ["records not shipped"]
            assert alice.ledger.log.shipped("there").why == "the server answers 503"
            hook.status = 204
            eventually(has_all(alice))
        hook.shutdown()
    assert [json.loads(text)["number"] for text in hook.got] == list(range(1, last(alice) + 1))
    assert hook.keys == {"Bearer secret"}
    assert hook.types == {"application/x-ndjson"}


def test_a_collector_of_opentelemetry(alice: Party, tmp_path: Path) -> None:
    """What comes is parsed by OpenTelemetry's own schema; of what was not all taken, all comes again."""
    (tmp_path / "token").write_text("secret\n")
    (tmp_path / "token").chmod(0o600)
    with Hook() as hook:
        Thread(target=hook.serve_forever, daemon=True).start()
        hook.status, hook.says = 200, b'{"partialSuccess":{"rejectedLogRecords":"2","errorMessage":"full"}}'
        url = f"http://127.0.0.1:{hook.server_port}/v1/logs"
        with shipping(alice, otlp=url, token_file=tmp_path / "token") as told:
            write(alice, 120)
            eventually(lambda: told)
            assert told[0][1]["why"] == "the collector rejects 2 entries"
            assert alice.ledger.log.shipped("there").number == 0
            hook.says = b""
            eventually(has_all(alice))
        hook.shutdown()
    assert (hook.keys, hook.types) == ({"Bearer secret"}, {"application/json"})
    rows = alice.ledger.log.rows_after(0, 1000)
    records = [record for text in hook.got for record in log_records(text)]
    assert [record.body.string_value for record in records] == list(map(line, rows))
    for row, record in zip(rows, records, strict=True):
        at = datetime.fromtimestamp(record.time_unix_nano / 10**9, UTC)
        assert at.isoformat(timespec="milliseconds") == row.at
        assert (record.event_name, record.severity_text) == (row.kind, "INFO")
        attributes = {pair.key: pair.value for pair in record.attributes}
        assert attributes["smc.entry.number"].int_value == row.number
        assert attributes["smc.entry.hash"].string_value == row.hash
    path = tmp_path / "collected.jsonl"  # as a collector's file exporter writes it
    path.write_text("\n".join([*hook.got, OF_OTHERS]))
    assert gaps.read([path]).problems == []
    path.write_text("\n".join(hook.got).replace('\\"number\\":7,', '\\"number\\":8,'))
    assert any("entry 7 is missing" in problem for problem in gaps.read([path]).problems)
    path.write_text("\n".join(hook.got)[:-9])
    assert any("not an entry, or it was cut" in problem for problem in gaps.read([path]).problems)


OF_OTHERS = '{"resourceLogs":[{"scopeLogs":[{"scope":{},"logRecords":[{"body":{"stringValue":"hello"}}]}]}]}'


def log_records(text: str) -> list[Any]:
    """The records of a request, with the names of resource and scope as they are to be."""
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

    request = Parse(text, ExportLogsServiceRequest())
    (resource,) = request.resource_logs
    (logs,) = resource.scope_logs
    names = {pair.key: pair.value.string_value for pair in resource.resource.attributes}
    assert names == {"service.name": "smc", "host.name": socket.gethostname()}
    assert (logs.scope.name, logs.scope.version) == ("smc.audit", __version__)
    return list(logs.log_records)


@pytest.mark.parametrize(
    "says", [b"", b"{}", b"ok", b'{"partialSuccess":{}}', b'{"partialSuccess":{"rejectedLogRecords":0}}', b"[1]", b"7"]
)
def test_a_collector_that_says_nothing_of_rejections_has_all(says: bytes) -> None:
    target = targets.ToCollector(ShipSettings(otlp="http://127.0.0.1:1/v1/logs"))
    target._check(says)
    with pytest.raises(ConnectionError, match="rejects 1 entries"):
        target._check(b'{"partialSuccess":{"rejectedLogRecords":1}}')
    with pytest.raises(InputError, match="answer is too long"):
        target._check(b" " * (1 << 17))


@pytest.mark.parametrize("number", ['"1e2"', "2.5", '"two"', "-1", "[7]", "9" * 4000])
def test_a_number_of_rejections_that_is_none_is_not_zero(number: str) -> None:
    """Nothing of it is repeated in the log."""
    target = targets.ToCollector(ShipSettings(otlp="http://127.0.0.1:1/v1/logs"))
    with pytest.raises(ConnectionError, match="the collector rejects some entries"):
        target._check(b'{"partialSuccess":{"rejectedLogRecords":%b}}' % number.encode())


@pytest.mark.parametrize("way", ["webhook", "otlp"])
def test_a_web_address_that_is_a_key_is_not_a_name(way: str) -> None:
    """The node's log and the database name a target."""
    target = ShipSettings.model_validate({way: "https://siem.example:4318/v1/logs?key=secret"})
    assert target.called == "siem.example"


@contextmanager
def syslog(identity: Identity, answers: bool = False) -> Iterator[tuple[SyslogServer, dict[str, Any]]]:
    """A server, and the way to it."""
    server = SyslogServer(identity, answers)
    try:
        yield server, {"syslog": f"localhost:{server.port}", "ca": identity.certificate_path}
    finally:
        server.close()


def received(server: SyslogServer, path: Path) -> gaps.Received:
    path.write_text("".join(f"{number} {text}\n" for number, text in server.got))
    assert all(json.loads(text)["number"] == number for number, text in server.got)
    return gaps.read([path])


@pytest.mark.parametrize("answers", [False, True])
def test_syslog_over_tls(alice: Party, identities: dict[str, Identity], tmp_path: Path, answers: bool) -> None:
    """Messages of RFC 5424, counted, each once, in connections that are ended with close_notify or without."""
    with syslog(identities["mallory"], answers) as (server, way), shipping(alice, **way) as told:
        write(alice, 120)
        eventually(has_all(alice))
        write(alice, 3)
        eventually(has_all(alice))
        found = received(server, tmp_path / "received")
    assert (found.problems, found.repeats, told) == ([], 0, [])
    assert sorted(found.rows) == list(range(1, last(alice) + 1))


def test_what_a_syslog_server_has_not_read_is_not_there(
    alice: Party, identities: dict[str, Identity], tmp_path: Path
) -> None:
    """A busy server's system has all, and the server is killed: they are sent again without anything new to send."""
    write(alice, 5)
    with syslog(identities["mallory"]) as (server, way):
        server.deaf = "close"
        with shipping(alice, **way) as told:
            eventually(lambda: server.connections)
            assert not told
            assert alice.ledger.log.shipped("there").number == 0
            server.waits.set()
            eventually(lambda: told)
            assert alice.ledger.log.shipped("there").number == 0
            server.deaf = ""
            eventually(has_all(alice))
        found = received(server, tmp_path / "received")
    assert told[0] == ("records not shipped", {"target": "there", "why": "Connection reset by peer"})
    assert found.problems == []
    assert sorted(found.rows) == list(range(1, last(alice) + 1))


def test_an_end_before_everything_had_come_is_none(alice: Party, identities: dict[str, Identity]) -> None:
    """The server ended the connection while most was on its way."""
    for _ in range(100):
        alice.ledger.log.note("node stopped", why="x" * 2000)
    with syslog(identities["mallory"]) as (server, way):
        server.deaf = "end"
        with shipping(alice, **way) as told:
            eventually(lambda: told)
            assert alice.ledger.log.shipped("there").number == 0
            server.deaf = ""
            server.waits.set()
            eventually(has_all(alice))
    assert told[0][1]["why"] == "the server has closed before it had everything"
    assert {number for number, _ in server.got} == set(range(1, last(alice) + 1))


def test_a_syslog_server_that_does_not_end_has_nothing(alice: Party, identities: dict[str, Identity]) -> None:
    write(alice, 1)
    with syslog(identities["mallory"]) as (server, way):
        server.deaf = "close"
        with shipping(alice, seconds=0.2, **way) as told:
            eventually(lambda: told)
            assert alice.ledger.log.shipped("there").number == 0
            server.waits.set()
    assert told[0][1]["why"] == "no answer in time"


def test_the_name_of_the_server_counts(alice: Party, identities: dict[str, Identity]) -> None:
    with syslog(identities["bob"]) as (_, way), shipping(alice, **way) as told:
        eventually(lambda: told)
    assert "Hostname mismatch" in told[0][1]["why"]


def test_a_syslog_server_with_another_certificate_gets_nothing(alice: Party, identities: dict[str, Identity]) -> None:
    with syslog(identities["mallory"]) as (server, way):
        way["ca"] = identities["alice"].certificate_path
        with shipping(alice, **way) as told:
            eventually(lambda: told)
    assert told[0][1]["why"].startswith("the server's certificate is not trusted")
    assert server.got == []


@pytest.mark.slow
def test_a_real_rsyslog_with_a_gap_noticed(alice: Party, identities: dict[str, Identity], tmp_path: Path) -> None:
    """It stops and is killed in between, and misses nothing; then somebody takes a line away."""
    program = shutil.which("rsyslogd") or shutil.which("rsyslogd", path="/usr/sbin:/sbin")
    if program is None or not list(Path("/usr/lib").glob("*/rsyslog/lmnsd_gtls.so")):
        pytest.skip("rsyslog and rsyslog-gnutls are not installed: make services")
    server = Rsyslog(program, tmp_path, identities["mallory"])
    way = {"syslog": f"localhost:{server.port}", "ca": identities["mallory"].certificate_path}
    try:
        server.start()
        with shipping(alice, **way):
            for kill in (False, True):
                write(alice, 4)
                eventually(lambda: f'"number":{last(alice)},' in server.text())
                server.stop(kill)
                write(alice, 3)
                server.start()
            write(alice, 1)
            eventually(lambda: f'"number":{last(alice)},' in server.text())
    finally:
        server.stop()
    found = gaps.read([server.file])
    assert found.problems == []
    assert sorted(found.rows) == list(range(1, last(alice) + 1))
    lines = server.text().splitlines(keepends=True)
    server.file.write_text("".join(text for text in lines if '"number":5,' not in text))
    (problem,) = gaps.read([server.file]).problems
    assert problem == "entry 5 is missing"


def chain(length: int) -> list[str]:
    """Lines of a log, as a reader of docs/records.md would make them."""
    rows: list[Row] = []
    for number in range(1, length + 1):
        row = Row(number, "2026-11-26T00:00:00.000+00:00", "node stopped", None, '{"why":"x"}', NOTHING, "")
        row = row._replace(previous=rows[-1].hash if rows else NOTHING)
        rows.append(row._replace(hash=row.digest()))
    return [line(row) for row in rows]


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_gaps_are_what_is_missing(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    lines = chain(data.draw(st.integers(1, 12)))
    kept = data.draw(st.sets(st.sampled_from(range(len(lines))), min_size=1))
    order = data.draw(st.permutations(sorted(kept) + data.draw(st.lists(st.sampled_from(sorted(kept)), max_size=3))))
    before = data.draw(st.sampled_from(["", '<110>1 2026 host smc - x [meta a="1"] ', '{"at": 1} {"at":']))
    path = tmp_path_factory.mktemp("gaps") / "received"
    path.write_text("\n".join(before + lines[place] for place in order))
    found = gaps.read([path])
    assert found.repeats == len(order) - len(kept)
    missing = set(range(max(kept))) - kept
    assert bool(found.problems) == bool(missing)
    later = gaps.read([path], min(kept) + 1).problems
    assert bool(later) == bool(missing - set(range(min(kept))))
    changed = data.draw(st.integers(0, len(order) - 1))
    text = (before + lines[order[changed]]).replace('"why":"x"', '"why":"y"')
    path.write_text("\n".join([*(before + lines[place] for place in order), text]))
    if order.count(order[changed]) == 1:
        path.write_text("\n".join(before + lines[place] if place != order[changed] else text for place in order))
        assert any("was changed" in problem for problem in gaps.read([path]).problems)


@pytest.mark.parametrize("place", range(4))
def test_copies_of_an_entry_in_any_order(place: int, tmp_path: Path) -> None:
    """One without content is filled by the whole one; one that says something else is told, whatever its hash."""
    lines = chain(4)
    whole = lines.pop(place)
    row = one_row(whole)
    empty = line(row._replace(fields=""))
    changed = whole.replace('"why":"x"', '"why":"y"')
    later = line(row._replace(at="2026-11-27T00:00:00.000+00:00"))
    empty_later = line(row._replace(at="2026-11-27T00:00:00.000+00:00", fields=""))
    another = row._replace(fields='{"why":"y"}')
    another_whole = line(another._replace(hash=another.digest()))
    path = tmp_path / "received"

    def problems(*copies: str) -> list[str]:
        path.write_text("\n".join([*copies, *lines]))
        found = gaps.read([path])
        assert found.repeats == len(copies) - 1
        if whole in copies and another_whole not in copies:
            assert (found.rows[row.number], found.empty) == (row, 0)
        return found.problems

    for copies in permutations((whole, empty, whole, empty)):
        assert problems(*copies) == []
    for wrong in (changed, later, empty_later, another_whole):
        for copies in permutations((whole, empty, wrong)):
            assert any(f"entry {row.number} differs from" in problem for problem in problems(*copies)), copies
    for wrong in (changed, later, empty_later):
        for copies in permutations((empty, wrong)):
            assert problems(*copies), copies
        assert wrong == empty_later or problems(wrong)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({}, "give one of file, syslog, webhook and otlp"),
        ({"file": "a", "webhook": "https://a.example"}, "give one of file, syslog, webhook and otlp"),
        ({"otlp": "http://a.example/v1/logs"}, "must be an https:// address"),
        ({"otlp": "https://a.example:99999/v1/logs"}, "the port must be a number from 1 to 65535"),
        ({"webhook": "http://a.example"}, "must be an https:// address"),
        ({"webhook": "https://user:word@a.example"}, "no user or password in an address: token_file names"),
        ({"otlp": "https://user@a.example/v1/logs"}, "no user or password in an address: token_file names"),
        ({"webhook": "https://a.example/hook#part"}, "the part after # of an address is never sent"),
        ({"syslog": "a.example"}, "must be HOST:PORT"),
        ({"file": "a", "ca": "b"}, "ca, certificate and key are for"),
        ({"syslog": "a.example:6514", "key": "b"}, "certificate and key go together"),
        ({"syslog": "a.example:6514", "token_file": "b"}, "token_file is for webhook and otlp"),
    ],
)
def test_settings_that_are_wrong(fields: dict[str, str], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        ShipSettings.model_validate(fields)


def test_a_password_in_an_address_is_refused_in_a_line_without_it(tmp_path: Path) -> None:
    (tmp_path / "party.toml").write_text('[[records.ship]]\nwebhook = "https://user:word@a.example"\n')
    with pytest.raises(InputError, match="no user or password in an address") as refused:
        load(tmp_path / "party.toml")
    assert "word@" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_two_of_one_name_and_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match="two targets are called"):
        RecordsSettings.model_validate({"ship": [{"file": "a"}, {"file": "a"}]})
    hooks = [{"webhook": f"https://hooks.example:8443/services/secret{n}?key=secret"} for n in range(2)]
    with pytest.raises(ValidationError, match=r"two targets are called 'hooks\.example'"):
        RecordsSettings.model_validate({"ship": hooks})
    assert ShipSettings.model_validate(hooks[0]).called == "hooks.example"  # which the node's log tells
    way = ShipSettings(syslog="localhost:1", ca=tmp_path / "none")
    with pytest.raises(InputError, match="none: not a file of certificates"):
        targets.target(way)
    (tmp_path / "b").write_text("no key")
    way = ShipSettings(syslog="localhost:1", certificate=tmp_path / "a", key=tmp_path / "b")
    with pytest.raises(InputError, match="not a certificate and its key"):
        targets.target(way)


@pytest.mark.parametrize(
    "name", ["a.key", "link/../a.crt", "rows.csv", "schema.toml", "party.toml", "state/node.sqlite"]
)
def test_entries_are_not_added_to_the_nodes_own_files(name: str, tmp_path: Path) -> None:
    path = tmp_path / "party.toml"
    table = '[tables.rows]\nsource = "rows.csv"\nschema = "schema.toml"\n'
    ship = f'[[records.ship]]\nname = "new.jsonl"\nfile = "{name}"\n'
    (tmp_path / "link").mkdir()
    text = f'[link]\nidentity = "a.key"\ncertificate = "a.crt"\npeer = "b.crt"\n{table}'
    path.write_text(text + ship)
    with pytest.raises(
        InputError, match=r"records\.ship\.file: .* is (another file of this node's|in the node's state)"
    ):
        load(path)
    path.write_text(text + ship.replace(name, "new.jsonl"))
    assert [target.called for target in load(path).records.ship] == ["new.jsonl"]
