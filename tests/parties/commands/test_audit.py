"""`smc audit`: the commands on real databases, also of a node that is writing to them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from parties.base.files import lock
from parties.commands.audit import group
from parties.link.identity import Identity, create, fingerprint
from parties.node.records import AuditLog, connect, shipped
from parties.node.records.database import TRIGGERS
from smc.errors import InputError
from tests.support.ledgers import agreed, paired
from tests.support.logs import Node, two_jobs


def run(*words: object) -> Any:
    result = CliRunner().invoke(group, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def nodes(tmp_path: Path, identities: dict[str, Identity]) -> Iterator[tuple[Node, Node]]:
    """alice and bob after two jobs."""
    with two_jobs(tmp_path, identities) as both:
        yield both


@pytest.fixture
def config(nodes: tuple[Any, Any]) -> Path:
    """alice's party.toml; her node still has the database open."""
    alice, bob = nodes
    path: Path = alice.path.parents[1] / "party.toml"
    path.write_text(
        f'[link]\nidentity = "{alice.own.key_path}"\ncertificate = "{alice.own.certificate_path}"\n'
        f'peer = "{bob.own.certificate_path}"\n[node]\nstate = "{alice.path.parent.name}"\n'
    )
    return path


def edit(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for name in TRIGGERS:
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(statement)
        for trigger in TRIGGERS.values():
            connection.execute(trigger)


def test_verify_a_log_that_is_whole(config: Path, nodes: tuple[Any, Any]) -> None:
    head = nodes[0].log.head()
    shown = run("verify", "--config", config).stdout.splitlines()
    assert shown[0] == "whole: 21 entries, 2 signed by both parties"
    assert shown[1].startswith(f"head:  entry 21, hash {head.hash}, signed by ")
    found = json.loads(run("verify", "--config", config, "--json").stdout)
    assert found == {
        "entries": 21,
        "ok": True,
        "problems": [],
        "head": head.model_dump(),
        "statements": 2,
        "archived": 0,
        "read": 0,
    }


def test_verify_tells_each_problem_and_fails(config: Path, nodes: tuple[Any, Any]) -> None:
    edit(nodes[0].path, "DELETE FROM audit WHERE number = 4 OR number = 21")
    runner = CliRunner()
    result = runner.invoke(group, ["verify", "--config", str(config)])
    assert isinstance(result.exception, InputError)
    assert str(result.exception) == "the records are not whole: entry 4 is missing"
    assert result.stdout.splitlines() == ["entry 4 is missing", "entry 21 is missing at the end"]
    result = runner.invoke(group, ["verify", "--config", str(config), "--json"])
    assert json.loads(result.stdout)["problems"] == ["entry 4 is missing", "entry 21 is missing at the end"]
    assert isinstance(result.exception, InputError)


def test_an_auditor_needs_the_export_and_the_certificates_only(
    config: Path, nodes: tuple[Any, Any], tmp_path: Path
) -> None:
    alice, bob = nodes
    ours, theirs = tmp_path / "alice.jsonl", tmp_path / "bob.jsonl"
    run("export", "--config", config, "--out", ours)
    run("export", "--state", bob.path.parent, "--out", theirs)
    assert [path.stat().st_mode & 0o777 for path in (ours, theirs)] == [0o600, 0o600]
    owner = ["--certificate", alice.own.certificate_path]
    peer = ["--against", theirs, "--peer-certificate", bob.own.certificate_path]
    assert run("verify", "--export", ours, *owner).stdout.startswith("whole: 21 entries")
    for words in (["--export", ours, *owner, *peer], ["--config", config, "--against", theirs]):
        shown = run("verify", *words).stdout.splitlines()
        assert shown[0].startswith("whole: 21 entries")
        assert shown[2] == f"peer:  {theirs} is whole; neither log contradicts what its owner signed"
    with pytest.raises(InputError, match="--against needs --peer-certificate"):
        run("verify", "--export", ours, *owner, "--against", theirs)
    with pytest.raises(InputError, match="--certificate is missing"):
        run("verify", "--export", ours)
    with pytest.raises(InputError, match="names the certificate"):
        run("verify", "--export", theirs, *owner)

    def change(entries: list[Any]) -> None:
        entries[:] = [entry for entry in entries if entry[0] != "signed"]

    alice.rewrite(change)
    assert run("verify", "--config", config).stdout.startswith("whole: 19 entries")
    with pytest.raises(InputError, match="our entry 8 is not the one that its owner signed for, as entry 9 of"):
        run("verify", "--config", config, "--against", theirs)
    theirs.write_text("".join(theirs.read_text().splitlines(keepends=True)[1:]))
    with pytest.raises(InputError, match=r"bob\.jsonl: entry 1 is missing"):
        run("verify", "--config", config, "--against", theirs)


def test_export_to_standard_output_and_as_csv(config: Path, tmp_path: Path) -> None:
    lines = run("export", "--config", config).stdout.splitlines()
    assert len(lines) == 22
    assert json.loads(lines[0])["kind"] == "node started"
    out = tmp_path / "audit.csv"
    assert run("export", "--config", config, "--format", "csv", "--out", out).stderr == f"written: {out}\n"
    assert out.read_text().startswith("number,at,kind,job,fields,previous,hash\n1,")
    with pytest.raises(InputError, match="is an input of this command"):
        run("export", "--config", config, "--out", config.parent / "alice" / "node.sqlite")


def test_show_the_last_entries(config: Path) -> None:
    shown = run("show", "--config", config, "--last", "3").stdout
    assert [line.split()[0] for line in shown.splitlines()] == ["entry", "19", "20", "21"]
    assert "node stopped" in shown
    decided = run("show", "--config", config).stdout
    assert "party: us; verdict: approved; by: rule coarse trees; reason: permitted" in decided
    assert "columns: age, sex, outcome" in decided
    entries = json.loads(run("show", "--config", config, "--last", "1", "--json").stdout)
    assert [(entry["number"], entry["kind"]) for entry in entries] == [(21, "node started")]


def test_show_says_how_many_it_hides(config: Path) -> None:
    assert run("show", "--config", config, "--last", "3").stderr == (
        "18 earlier entries are not shown: --last 21 shows all\n"
    )
    assert run("show", "--config", config, "--last", "20").stderr == (
        "1 earlier entry is not shown: --last 21 shows all\n"
    )
    assert run("show", "--config", config, "--last", "21").stderr == ""


def test_what_the_peer_wrote_cannot_play_with_the_terminal(config: Path, nodes: tuple[Any, Any]) -> None:
    nodes[0].add("cancelled", by="peer", why="\x1b[2Jgone [red]x[/red]\nnext\u202e")
    shown = run("show", "--config", config, "--last", "1").stdout
    assert "\x1b" not in shown
    assert r"\x1b[2Jgone [red]x[/red]\nnext\u202e" in shown  # nor with the direction of what stands behind


def test_a_renewed_certificate(config: Path, nodes: tuple[Any, Any], tmp_path: Path) -> None:
    alice = nodes[0]
    alice.connection.close()
    (tmp_path / "new").mkdir()
    new = create("alice", [], tmp_path / "new")
    former = alice.own.certificate_path
    text = config.read_text().replace(str(alice.own.key_path), str(new.key_path))
    config.write_text(text.replace(str(former), str(new.certificate_path)))
    with pytest.raises(InputError, match="names the certificate"):
        run("verify", "--config", config)
    said = CliRunner().invoke(group, ["verify", "--config", str(config)]).stderr
    assert f"another certificate, {fingerprint(alice.own.certificate)[:23]}; if the present one" in said
    assert "has replaced it: smc audit renew --config party.toml --former OLD.crt" in said
    assert run("renew", "--config", config, "--former", former).stdout == (
        f"entry 22: signed with {fingerprint(new.certificate)[:23]} from here on\n"
    )
    assert run("verify", "--config", config).stdout.startswith("whole: 22 entries")
    with closing(connect(alice.path)) as connection, connection:
        assert AuditLog(connection, new).append("node stopped", None, {}).number == 23
    with pytest.raises(InputError, match="the audit log is not whole: the head after entry 23 names"):
        run("renew", "--config", config, "--former", former)


@pytest.mark.parametrize("command", ["archive", "seal", "shipped"])
def test_no_option_is_named_that_a_command_does_not_have(command: str) -> None:
    with pytest.raises(InputError, match=r"--config: there is no party\.toml here; give --config party\.toml$"):
        run(command)


@pytest.mark.parametrize("command", ["verify", "show", "export"])
def test_records_that_are_not_there_are_one_clear_line(command: str, tmp_path: Path, nodes: tuple[Any, Any]) -> None:
    owner = ["--certificate", nodes[0].own.certificate_path] if command == "verify" else []
    with pytest.raises(InputError, match=r"there is no party.toml here"):
        run(command, *owner)
    with pytest.raises(InputError, match=r"there are no records: .*node\.sqlite does not exist"):
        run(command, "--state", tmp_path / "none", *owner)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "node.sqlite").write_bytes(b"x" * 5000)
    with pytest.raises(InputError, match="is damaged: file is not a database; put a backup in its place"):
        run(command, "--state", tmp_path / "damaged", *owner)


def test_a_file_that_is_no_certificate(config: Path) -> None:
    with pytest.raises(InputError, match="holds no readable certificate"):
        run("verify", "--config", config, "--certificate", config)


def test_a_node_that_runs_keeps_its_certificate(config: Path, nodes: tuple[Any, Any], tmp_path: Path) -> None:
    """It could write nothing any more under a head that its key has not signed."""
    alice, new = nodes[0], create("alice-anew", ["localhost"], tmp_path)
    former = alice.own.certificate_path
    text = config.read_text().replace(str(former), str(new.certificate_path))
    config.write_text(text.replace(str(alice.own.key_path), str(new.key_path)))
    with lock(alice.path.parent / "lock"), pytest.raises(InputError, match="in use by another node: stop it first"):
        run("renew", "--config", config, "--former", former)
    alice.add("cancelled", by="peer", why="")


def test_archive_needs_a_node_that_does_not_run(config: Path, nodes: tuple[Any, Any]) -> None:
    """And there is nothing to archive where no job is kept; the log's jobs without rows are named."""
    place = nodes[0].path.parent
    with config.open("a") as file:
        file.write("retention_days = 30\n")
    config.write_text(config.read_text().replace("[link]\n", '[link]\nlisten = "127.0.0.1:7001"\n'))
    with lock(place / "lock"), pytest.raises(InputError, match="in use by another node: stop it first"):
        run("archive", "--config", config)
    with pytest.raises(InputError, match="it is in the audit log, but its row is gone"):
        run("archive", "--config", config, "--days", 0, "--yes")
    config.write_text(config.read_text().replace("= 30", "= 0"))
    with pytest.raises(InputError, match="retention_days: must be >= 1, not 0"):
        run("archive", "--config", config)


def test_archive_by_hand(tmp_path: Path, identities: dict[str, Identity]) -> None:
    """The database of a node that has a job that ended; what left is checked with the rest."""
    with paired(tmp_path, identities) as pair:
        job = agreed(pair)
        pair.parties[0].ledger.decisions.cancel(job)
        pair.deliver()
        pair.meet()
        alice = pair.parties[0]
        config, out = alice.path.parent / "party.toml", tmp_path / "old.jsonl"
        own, peer = identities["alice"], identities["bob"]
        config.write_text(
            f'[link]\nidentity = "{own.key_path}"\ncertificate = "{own.certificate_path}"\nlisten = "127.0.0.1:7001"\n'
            f'peer = "{peer.certificate_path}"\n[node]\nstate = "."\n'
        )
    assert "no job is old enough" in run("archive", "--config", config).stdout
    with pytest.raises(InputError, match=r"all ended jobs move to the archive.* Add --yes if you are sure"):
        run("archive", "--config", config, "--days", 0)
    assert "archived: 1 job in" in run("archive", "--config", config, "--days", 0, "--yes", "--out", out).stdout
    assert json.loads(out.read_text().split("\n")[0])["archived"] == job
    lines = run("verify", "--config", config, "--archive", out).stdout.splitlines()
    assert lines[1] == "archived: 4 of the entries; the content of 4 was available and checked"
    assert "the content of 0" in run("verify", "--config", config).stdout
    assert "content: archived" in run("show", "--config", config).stdout
    export = tmp_path / "log.jsonl"
    run("export", "--config", config, "--out", export)
    words = ("verify", "--export", export, "--certificate", own.certificate_path)
    assert "whole" in run(*words).stdout
    assert "the content of 4" in run(*words, "--archive", out).stdout
    with pytest.raises(InputError, match="File exists"):
        run("archive", "--config", config, "--days", 0, "--yes", "--out", out)


def test_gaps_in_what_was_received(config: Path, nodes: tuple[Any, Any], tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.jsonl", tmp_path / "part.log"
    run("export", "--config", config, "--out", whole)
    lines = whole.read_text().splitlines()[:-1]  # without the head
    whole.write_text("\n".join(lines))
    shown = run("gaps", whole).stdout.splitlines()
    assert shown == [
        "no gap: entries 1 to 21; 0 came more than once",
        f"last:   entry 21, hash {nodes[0].log.head().hash}",
    ]
    part.write_text("\n".join(f"<110>1 2026 host smc - {text}" for text in lines[3:5] + lines[6:]))
    result = CliRunner().invoke(group, ["gaps", str(part)])
    assert result.stdout.splitlines() == ["entries 1 to 3 are missing", "entry 6 is missing"]
    assert str(result.exception) == "the received entries are not the whole log: entries 1 to 3 are missing"
    found = json.loads(CliRunner().invoke(group, ["gaps", str(part), "--first", "4", "--json"]).stdout)
    assert (found["problems"], found["entries"], found["head"]["number"]) == (["entry 6 is missing"], 17, 21)
    assert "no gap" in run("gaps", part, whole).stdout
    whole.write_text("\n".join(lines[::2] + ["{}"] * 30))
    result = CliRunner().invoke(group, ["gaps", str(whole)])
    *first, last = result.stdout.splitlines()
    every = json.loads(CliRunner().invoke(group, ["gaps", str(whole), "--json"]).stdout)["problems"]
    assert (first, last) == (every[:10], f"and {len(every) - 10} more: --json names all")


def test_where_targets_are(config: Path, nodes: tuple[Any, Any]) -> None:
    assert "is shipped nowhere" in run("shipped", "--config", config).stdout
    text = config.read_text().replace("[link]\n", '[link]\nlisten = "127.0.0.1:7001"\n')
    config.write_text(
        text + '[[records.ship]]\nfile = "a"\n[[records.ship]]\nname = "siem"\nwebhook = "https://x.example"\n'
    )
    with nodes[0].connection:
        nodes[0].connection.execute(shipped.TABLE)
        shipped.put(
            nodes[0].connection, "siem", shipped.Shipped(19, "", "2026-11-26T00:00:00+00:00", "no answer in time")
        )
    first, second = run("shipped", "--config", config).stdout.splitlines()
    assert first.endswith("a: entry 0 of 21, 21 behind; last shipped: never")
    assert second == (
        "siem: entry 19 of 21, 2 behind; last shipped: 2026-11-26T00:00:00+00:00; not shipped now: no answer in time"
    )
    found = json.loads(run("shipped", "--config", config, "--json").stdout)
    assert [(one["number"], one["entries"], one["why"]) for one in found][1] == (19, 21, "no answer in time")
