"""`smc init` writes what a node takes, and never over anything; `smc check` says what is missing, and what to do."""

from __future__ import annotations

import json
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import NoReturn

import click
import pytest

from parties.base import console
from parties.base.address import parse_address
from parties.cli import run
from parties.link.identity import Identity, create, load_identity, short_fingerprint
from parties.link.listening import Port, RefusedError
from parties.node import settings
from parties.node.peers import reached
from parties.node.records.succession import succession
from parties.operator.interface import NodeView, PeerView
from parties.operator.oidc import Provider
from parties.tables.schema import Schema
from smc.errors import InputError
from tests.support.classical import middle
from tests.support.ports import free_port

ANNA = ("init", "--name", "anna", "--peer-name", "bert", "--out", "anna")


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("days.csv").write_text("wind,play\nweak,yes\nstrong,no\n")


def smc(*words: str) -> int:
    return run(list(words))


def test_both_parties_files_fit_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    both = ("--listen", "0.0.0.0:7001", "--host", "anna.example", "--table", "days=days.csv", "--peer-out", "bert")
    assert smc(*ANNA, *both) == 0
    shown = capsys.readouterr()
    assert "next:" in shown.err
    assert "smc check --config anna/party.toml" in shown.err
    assert "smc id3 --config anna/party.toml" in shown.err
    anna, bert = (settings.load(Path(name) / "party.toml") for name in ("anna", "bert"))
    assert anna.link.listen == "0.0.0.0:7001"
    assert bert.link.connect == "anna.example:7001"
    assert anna.tables["days"].source == "days.csv"
    assert set(bert.tables) == {"days"}
    ports = [file.node.web for file in (anna, bert)] + [file.node.health for file in (anna, bert)]
    assert len(set(ports)) == 4
    assert anna.link.identity is not None
    assert anna.link.certificate is not None
    assert load_identity(anna.link.identity, anna.link.certificate).name == "anna"
    assert bert.link.peer == Path("bert/anna.crt")
    assert not Path("bert/bert.key").exists()  # it is made where it stays


@pytest.mark.parametrize("more", [(), ("--port", "9000")])
def test_two_parties_of_one_machine_open_different_ports(more: tuple[str, ...]) -> None:
    assert smc(*ANNA, "--listen", "127.0.0.1:7001") == 0
    bert = ("init", "--name", "bert", "--peer-name", "anna", "--out", "bert", "--connect", "127.0.0.1:7001")
    assert smc(*bert, *more, "--peer-out", "other") == 0
    ports = [settings.load(Path(name) / "party.toml").node for name in ("anna", "bert", "other")]
    webs = [node.web for node in ports]
    assert webs[0] == "127.0.0.1:7080"
    assert webs[1:] == (["127.0.0.1:9000", "127.0.0.1:9100"] if more else ["127.0.0.1:7180", "127.0.0.1:7080"])


def test_a_service_keeps_its_records_elsewhere() -> None:
    assert smc(*ANNA, "--listen", "127.0.0.1:7001", "--state", "records", "--peer-out", "bert") == 0
    assert settings.load(Path("anna/party.toml")).node.state == Path("records").absolute()
    assert "records" not in Path("bert/party.toml").read_text()  # the peer's machine is another


def test_a_node_is_that_of_the_folder(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["node"]) == 2
    assert "there is no party.toml here; give --config party.toml" in capsys.readouterr().err
    Path("party.toml").write_text("[node")
    assert run(["node"]) == 2
    assert capsys.readouterr().err.startswith("smc: party.toml: not valid TOML")


def test_nothing_is_written_over() -> None:
    listen = ("--listen", "127.0.0.1:7001")
    assert smc(*ANNA, *listen) == 0
    kept = {path: path.read_bytes() for path in Path("anna").iterdir()}
    assert smc(*ANNA, *listen) == 2
    assert smc(*ANNA, *listen, "--port", "8000") == 2
    assert {path: path.read_bytes() for path in Path("anna").iterdir()} == kept
    Path("anna/party.toml").unlink()
    assert smc(*ANNA, *listen) == 0  # with the identity that is there
    assert Path("anna/anna.key").read_bytes() == kept[Path("anna/anna.key")]
    Path("peer").mkdir()
    Path("peer/party.toml").write_text("mine")
    Path("anna/party.toml").unlink()
    assert smc(*ANNA, *listen, "--peer-out", "peer") == 2
    assert Path("peer/party.toml").read_text() == "mine"
    assert not Path("anna/party.toml").exists()


def test_prepare_and_init_in_either_order(capsys: pytest.CaptureFixture[str]) -> None:
    Path("raw.csv").write_text("wind;play\n" + "weak;yes\nstrong;no\n" * 20)
    listen = ("--listen", "127.0.0.1:7001")
    prepare = ("prepare", "raw.csv", "--target", "play")
    assert smc(*prepare, "--out", "anna") == 0
    assert "next: smc init --out anna" in capsys.readouterr().err
    by_hand = "# mine\n" + Path("anna/party.toml").read_text()
    Path("anna/party.toml").write_text(by_hand)
    assert smc(*ANNA, *listen, "--table", "raw=other.csv") == 2
    assert "already has a table 'raw'" in capsys.readouterr().err
    assert smc(*ANNA, *listen) == 0
    shown = capsys.readouterr().err
    assert "smc id3 --config anna/party.toml" in shown
    assert "smc prepare" not in shown
    assert by_hand in Path("anna/party.toml").read_text()
    assert smc("init", "--name", "anna", "--peer-name", "bert", *listen, "--out", "second") == 0
    assert "smc prepare RAW.csv --target COLUMN --out second" in capsys.readouterr().err
    assert smc(*prepare, "--out", "second") == 0
    assert "next:" not in capsys.readouterr().err
    first, second = (settings.load(Path(name) / "party.toml") for name in ("anna", "second"))
    assert first.link.listen == second.link.listen == "127.0.0.1:7001"
    for file in (first, second):
        table = file.tables["raw"]
        assert (table.source, table.format.separator) == ("raw.csv", ";")
    assert smc(*ANNA, *listen) == 2  # it has a link now
    assert "is not replaced" in capsys.readouterr().err


def test_init_bounds_a_table_and_says_how_a_budget_is_given() -> None:
    """The lines that are commented out are a budget as they stand."""
    assert smc(*ANNA, "--listen", "127.0.0.1:7001", "--table", "days=days.csv") == 0
    path = Path("anna/party.toml")
    table = settings.load(path).tables["days"]
    assert (table.max_rows, table.budget) == (65535, None)
    there, _, budget = path.read_text().partition("# [tables.days.budget]")
    path.write_text(f"{there}[tables.days.budget]{budget.replace('# ', '')}")
    table = settings.load(path).tables["days"]
    assert table.budget is not None
    assert (table.budget.epsilon, table.budget.per) == (1.0, "year")


def test_init_adds_nothing_to_what_it_cannot_read() -> None:
    for text in ("tables = { a = { source = 'x.csv', schema = 's' } }", "[tables", "tables = 3"):
        Path("anna").mkdir(exist_ok=True)
        Path("anna/party.toml").write_text(text)
        assert smc(*ANNA, "--listen", "127.0.0.1:7001", "--table", "days=days.csv") == 2
        assert Path("anna/party.toml").read_text() == text
        assert not Path("anna/anna.key").exists()
        assert smc("prepare", "days.csv", "--out", "anna") == 2
        assert Path("anna/party.toml").read_text() == text
        assert not Path("anna/schema.toml").exists()


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("init",), "--name is missing, and there is no terminal to ask you"),
        (ANNA, "--listen or --connect is missing, and there is no terminal to ask you"),
        ((*ANNA, "--connect", "bert"), "link.connect: the address 'bert' must be HOST:PORT"),
        ((*ANNA, "--listen", "0.0.0.0:7001", "--connect", "b:1"), "give --listen or --connect"),
        ((*ANNA, "--listen", "0.0.0.0:7001", "--peer-out", "b"), "--host is missing"),
        ((*ANNA, "--connect", "b:7001", "--table", "days.csv"), "--table: must be NAME=SOURCE"),
        (("init", "--name", "x", "--peer-name", "x", "--connect", "b:1"), "choose different names"),
    ],
)
def test_what_is_missing_or_wrong_is_told_before_anything_is_written(
    words: tuple[str, ...], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert smc(*words) == 2
    assert problem in capsys.readouterr().err
    assert not Path("anna").exists()


def test_several_peers() -> None:
    peers = ("--peer-name", "bert", "--peer-name", "carla=carla.example:7001")
    assert smc("init", "--name", "anna", *peers, "--listen", "0.0.0.0:7001", "--out", "anna") == 0
    for name in ("bert", "carla"):
        assert smc("identity", "create", name, "--out", "anna") == 0
    bert, carla = reached(settings.load(Path("anna/party.toml")))
    assert (bert[0].peer_name, bert[1].listen, bert[1].connect) == ("bert", "0.0.0.0:7001", None)
    assert (carla[0].peer_name, carla[1].listen, carla[1].connect) == ("carla", None, "carla.example:7001")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("bert", "bert"), "each name once"),
        (("bert", "carla="), "NAME or NAME=HOST:PORT"),
        (("bert", "carla=here"), "HOST:PORT"),
        (("bert", "anna=b:1"), "different names"),
        (("bert", "carla"), "--listen is missing"),
    ],
)
def test_several_peers_that_are_wrong(words: tuple[str, str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    flags = [flag for word in words for flag in ("--peer-name", word)]
    assert smc("init", "--name", "anna", "--out", "anna", *flags) == 2
    assert said in capsys.readouterr().err
    assert not Path("anna").exists()


def test_on_a_terminal_it_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {
        "Name of your party": "anna",
        "Name of the peer": "bert",
        "Address": "bert.example:7001",
        "Your table": "days.csv",
    }
    asked = []

    def prompt(question: str, *_: object, **__: object) -> str:
        asked.append(question)
        return next(answer for start, answer in answers.items() if question.startswith(start))

    monkeypatch.setattr(console, "is_asked", lambda: True)
    monkeypatch.setattr(click, "prompt", prompt)
    assert smc("init", "--out", "anna") == 0
    assert len(asked) == 4
    file = settings.load(Path("anna/party.toml"))
    assert (file.link.connect, set(file.tables)) == ("bert.example:7001", {"rows"})


LONG = 60.0


def checked(capsys: pytest.CaptureFixture[str], wait: float = 0.2) -> tuple[int, dict[str, tuple[bool, str]]]:
    """What `smc check` finds. Who answers may need long for it: so little time is for those who never do."""
    capsys.readouterr()
    code = smc("check", "--config", "party.toml", "--wait", str(wait), "--json")
    found = json.loads(capsys.readouterr().out)
    return code, {one["check"]: (one["ok"], one["text"]) for one in found}


def party_file(own: Identity, peer: Identity, link: str, ports: tuple[int, int, int] = (0, 0, 0)) -> None:
    names = {"identity": own.key_path, "certificate": own.certificate_path, "peer": peer.certificate_path}
    lines = [f'{key} = "{value}"' for key, value in names.items()]
    node = [f'{key} = "127.0.0.1:{port}"' for key, port in zip(("web", "metrics", "health"), ports, strict=True)]
    table = '[tables.days]\nsource = "days.csv"\nschema = "schema.toml"'
    Path("party.toml").write_text("\n".join(["[link]", *lines, link, "[node]", *node, table]))


def refuse(label: str) -> NoReturn:
    raise RefusedError("a check sends nothing")


def test_a_party_that_has_everything(identities: dict[str, Identity], capsys: pytest.CaptureFixture[str]) -> None:
    alice, bob = identities["alice"], identities["bob"]
    Schema({"wind": ("weak", "strong"), "play": ("yes", "no")}, "play").save(Path("schema.toml"))

    port = Port(parse_address("127.0.0.1:0", 0), bob, {alice.certificate: refuse}, 10.0, streams=2)
    try:
        party_file(alice, bob, f'connect = "{port.address}"')
        code, found = checked(capsys, LONG)
    finally:
        port.close()
    assert code == 0, found
    assert found["table days"][1].startswith("2 rows fit the schema")
    assert found["peer"][1] == f"bob answers at {port.address} and trusts you; key exchange X25519MLKEM768"
    assert found["identity"][1].startswith("alice, ")
    code, found = checked(capsys)  # it has gone
    assert code == 2
    assert not found["peer"][0]
    assert "is the peer running, and its port open?" in found["peer"][1]
    assert [name for name, (ok, _) in found.items() if not ok] == ["peer"]


def test_a_peer_may_come_with_the_certificate_that_follows(
    identities: dict[str, Identity], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    alice, bob = identities["alice"], identities["bob"]
    (tmp_path / "new").mkdir()
    new = create("bob", ["127.0.0.1"], tmp_path / "new")
    Path("bob.next").write_text(succession(bob, new.certificate, datetime.now(UTC).date()).model_dump_json())
    port = Port(parse_address("127.0.0.1:0", 0), new, {alice.certificate: refuse}, 10.0, streams=2)
    try:
        party_file(alice, bob, f'connect = "{port.address}"')
        assert not checked(capsys, LONG)[1]["peer"][0]
        with Path("party.toml").open("a") as file:
            file.write('\n[peer]\nsuccessor = "bob.next"\n')
        found = checked(capsys, LONG)[1]
    finally:
        port.close()
    assert found["successor"][0]
    assert found["successor"][1].startswith(f"bob, {short_fingerprint(new.certificate)}, valid until ")
    assert found["peer"][0], found["peer"][1]
    Path("bob.next").write_text(Path("bob.next").read_text()[:-1])
    found = checked(capsys)[1]
    assert not found["successor"][0]
    assert "bob.next is no" in found["successor"][1]


def test_each_thing_that_is_wrong_has_its_line(
    identities: dict[str, Identity], capsys: pytest.CaptureFixture[str]
) -> None:
    alice = identities["alice"]
    Schema({"wind": ("weak",), "play": ("yes", "no")}, "play").save(Path("schema.toml"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        party_file(alice, alice, f'listen = "127.0.0.1:{port}"', (0, 0, 0))
        code, found = checked(capsys)
    assert code == 2
    assert found["certificate"] == (False, "this is your own certificate; give the peer's")
    assert "'strong' is not in the schema" in found["table days"][1]
    ok, text = found["port link.listen"]
    assert not ok
    assert text == f"127.0.0.1:{port}: Address already in use; end what uses it, or set another link.listen"
    assert found["identity"][0]
    party_file(alice, identities["bob"], f'listen = "127.0.0.1:{port}"', (port, 0, 0))
    assert found["identity"][0]
    ok, text = checked(capsys)[1]["port node.web"]
    assert (ok, text) == (False, f"127.0.0.1:{port} is link.listen as well: give each its own port")
    data_ports = f'listen = "127.0.0.1:0"\ndata_ports = "{port}"'
    party_file(alice, identities["bob"], data_ports, (port, 0, 0))
    ok, text = checked(capsys)[1]["port node.web"]
    assert (ok, text) == (False, f"127.0.0.1:{port} has a port of link.data_ports, {port}: give each its own port")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (None, "beside: cannot read theirs.toml: there is no such file"),
        ('[attributes]\nWind = ["strong"]\n', "beside: columns in both schemas: 'wind'; leave each out of one schema"),
        ('[attributes]\nage = ["old"]\n', None),
    ],
)
def test_the_peers_columns_are_checked(
    text: str | None, line: str | None, identities: dict[str, Identity], capsys: pytest.CaptureFixture[str]
) -> None:
    Schema({"wind": ("weak", "strong"), "play": ("yes", "no")}, "play").save(Path("schema.toml"))
    if text is not None:
        Path("theirs.toml").write_text(text)
    party_file(identities["alice"], identities["bob"], 'connect = "127.0.0.1:1"')
    content = Path("party.toml").read_text()
    Path("party.toml").write_text(content.replace("[tables.days]", '[tables.days]\nbeside = "theirs.toml"'))
    fits, found = checked(capsys)[1]["table days"]
    assert fits == (line is None)
    assert (line or "rows fit the schema") in found


@pytest.mark.parametrize(
    ("key", "fits", "text"),
    [
        ('columns.tax]\ncolumn = "Wind"\n', True, "; not in the schema, so keys of smc align: 'tax'"),
        ('derived]\ntax = { first = ["Wind", 2] }\n', True, "; not in the schema, so keys of smc align: 'tax'"),
        ('columns.tax]\ncolumn = "Storm"\n', False, "days.csv: there is no column 'Storm'; there are 'Wind', 'play'"),
        ('columns.paly]\ncolumn = "play"\n', False, "columns: 'paly' is not an attribute of the schema (did you mean"),
    ],
)
def test_a_key_under_another_name_is_no_typing_error(
    key: str, fits: bool, text: str, identities: dict[str, Identity], capsys: pytest.CaptureFixture[str]
) -> None:
    Schema({"play": ("yes", "no")}, "play").save(Path("schema.toml"))
    Path("days.csv").write_text("Wind,play\nweak,yes\nstrong,no\n")
    party_file(identities["alice"], identities["bob"], 'connect = "127.0.0.1:1"')
    with Path("party.toml").open("a") as file:
        file.write(f"\n[tables.days.{key}")
    found = checked(capsys)[1]["table days"]
    assert found[0] == fits
    assert text in found[1]


def test_a_node_that_lets_us_not_in_leaves_the_other_lines(
    identities: dict[str, Identity], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from parties.commands import check

    def refused(_: Path) -> NoReturn:
        raise InputError("operators.json is not there")

    monkeypatch.setattr(check, "_running", refused)
    with socket.create_server(("127.0.0.1", 0)) as ours:
        port = ours.getsockname()[1]
        party_file(identities["alice"], identities["bob"], 'connect = "127.0.0.1:1"', (port, 0, 0))
        code, found = checked(capsys)
    assert code == 2
    assert found["running node"] == (False, "operators.json is not there")
    assert found["port node.web"] == (True, f"127.0.0.1:{port} is used by your node")
    assert found["peer"] == (False, "bob: not checked: correct the running node first")
    assert found["identity"][0]


def test_rows_have_one_budget_whatever_their_names(
    identities: dict[str, Identity], capsys: pytest.CaptureFixture[str]
) -> None:
    """A link to the file is seen by its place, a copy by its rows; what says so shares the budget."""
    Schema({"wind": ("weak", "strong"), "play": ("yes", "no")}, "play").save(Path("schema.toml"))
    Path("link.csv").hardlink_to("days.csv")
    Path("copy.csv").write_text("play,wind\nno,strong\nyes,weak\n")
    Path("other.csv").write_text("wind,play\nweak,yes\nstrong,yes\n")
    Path("none.csv").write_text("wind,play\n")
    party_file(identities["alice"], identities["bob"], 'connect = "127.0.0.1:1"')
    first = Path("party.toml").read_text()

    def found(*more: str) -> dict[str, tuple[bool, str]]:
        budget = "\n[tables.days.budget]\nepsilon = 1\n"
        tables = [f'[tables.{name}]\nsource = "{name}.csv"\nschema = "schema.toml"\n' for name in more]
        Path("party.toml").write_text(first + budget + said.join([*tables, ""]))
        checks = checked(capsys)[1].items()
        return {name.removeprefix("table "): text for name, text in checks if name.startswith("table ")}

    said = ""
    tables = found("link", "copy", "other", "none")
    assert [name for name, (ok, _) in tables.items() if not ok] == ["link", "copy"]
    remedy = 'rows have one budget: set same_rows_as = "days"'
    assert tables["link"][1] == f"{Path('link.csv').absolute()} is read by tables.days, too, and {remedy}"
    assert tables["copy"][1] == f"all its rows are rows of tables.days too, and {remedy}"
    said = 'same_rows_as = "days"\n'
    assert all(ok for ok, _ in found("link", "copy", "other").values())
    said = 'same_rows_as = "nights"\n'
    assert found("other")["other"] == (
        False,
        "same_rows_as: there is no table 'nights', nor was there one; there are 'days', 'other'",
    )
    said = "[tables.link.budget]\nepsilon = 1\n"
    assert found("link")["link"][1].endswith(f"{remedy} in place of [tables.link.budget]")


def test_several_peers_are_checked_each(
    identities: dict[str, Identity], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from parties.commands import check

    alice, bob = identities["alice"], identities["bob"]
    own = f'identity = "{alice.key_path}"\ncertificate = "{alice.certificate_path}"'
    bobs, alices = bob.certificate_path, alice.certificate_path
    Path("party.toml").write_text(
        f'[link]\n{own}\n[node]\nlisten = "127.0.0.1:0"\n[[peers]]\ncertificate = "{bobs}"\n'
        f'[[peers]]\nname = "carol"\ncertificate = "{alices}"\nconnect = "127.0.0.1:1"\n'
    )
    code, found = checked(capsys)
    assert code == 2
    assert found["peer"] == (True, "bob dials you: start smc node, then bob runs smc check")
    monkeypatch.setattr(check, "installed", lambda *_: False)
    remedy = "dials you: install the node (python -m pip install 'smc-two-party[node]'), then start smc node, then bob"
    monkeypatch.setattr(check, "install_line", lambda extra: f"python -m pip install 'smc-two-party[{extra}]'")
    assert checked(capsys)[1]["peer"] == (True, f"bob {remedy} runs smc check")
    assert found["certificate carol"] == (False, "this is your own certificate; give the peer's")
    assert not found["peer carol"][0]
    assert found["port node.listen"][0]


def test_a_clock_that_is_behind_is_told(
    identities: dict[str, Identity], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from datetime import UTC, datetime, timedelta

    from parties.commands import check

    class Behind(datetime):
        @classmethod
        def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
            return datetime.now(UTC) - timedelta(days=2)

    party_file(identities["alice"], identities["bob"], 'listen = "127.0.0.1:0"')
    monkeypatch.setattr(check, "datetime", Behind)
    ok, text = checked(capsys)[1]["clock"]
    assert not ok
    assert "a clock is wrong" in text


def test_a_plain_line_each(identities: dict[str, Identity], capsys: pytest.CaptureFixture[str]) -> None:
    party_file(identities["alice"], identities["bob"], 'listen = "127.0.0.1:0"')
    capsys.readouterr()
    assert smc("check", "--config", "party.toml") == 2
    lines = capsys.readouterr().out.splitlines()
    machine, party = lines[:6], lines[6:]
    assert [line[4:].split("  ")[0] for line in machine] == [
        *("space", "locks", "temporary files", "caches", "gRPC", "processor"),
    ]
    assert [line[:3].strip() for line in machine] == ["ok"] * 6
    assert [line[:3].strip() for line in party] == ["ok", "ok", "ok", "ok", "NO", "ok", "ok", "ok", "ok", "ok"]
    assert "there is no such file" in party[4]


def test_a_log_in_provider_is_asked(
    identities: dict[str, Identity], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    party_file(identities["alice"], identities["bob"], 'listen = "127.0.0.1:0"')
    assert "log-in provider" not in checked(capsys)[1]
    issuer = f"http://127.0.0.1:{free_port()}"
    with Path("party.toml").open("a") as file:
        file.write(f'\n[node.oidc]\nissuer = "{issuer}"\nclient_id = "smc"\n')
    ok, text = checked(capsys)[1]["log-in provider"]
    assert not ok
    assert "cannot be reached" in text
    monkeypatch.setattr(Provider, "_discovered", lambda _: {})
    assert checked(capsys)[1]["log-in provider"] == (True, f"{issuer} answers")


@pytest.mark.parametrize("way", ['listen = "127.0.0.1:0"', 'connect = "127.0.0.1:1"'])
def test_a_log_that_was_rolled_back_is_told(
    identities: dict[str, Identity], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """By our running node, whichever side dials: the peer itself may answer well."""
    from parties.commands import check

    held = "the records of bob were rolled back: it has signed entry 7, which its log does not have; jobs wait"
    peer = PeerView(name="bob", fingerprint="01", role="listens", address="x:1", connected=False, held=held)
    node = NodeView(name="alice", fingerprint="02", peers=[peer], started_at="", version="", tables=[])
    monkeypatch.setattr(check, "_running", lambda _: node)
    party_file(identities["alice"], identities["bob"], way)
    code, found = checked(capsys)
    assert code == 2
    assert found["peer"] == (False, held)


def test_a_key_exchange_that_is_not_post_quantum_is_told(
    identities: dict[str, Identity], capsys: pytest.CaptureFixture[str]
) -> None:
    alice, bob = identities["alice"], identities["bob"]
    Schema({"wind": ("weak", "strong"), "play": ("yes", "no")}, "play").save(Path("schema.toml"))
    port = Port(parse_address("127.0.0.1:0", 0), bob, {alice.certificate: lambda _: pytest.fail("in")}, 10.0, streams=2)
    try:
        with middle(bob, alice, str(port.address)) as there:
            party_file(alice, bob, f'connect = "{there}"')
            code, found = checked(capsys, LONG)
            assert code == 2
            assert not found["peer"][0]
            assert (
                "trusts you, but the key exchange prime256v1 of this connection is not post-quantum" in found["peer"][1]
            )
    finally:
        port.close()


def test_a_line_for_each_place_that_entries_go_to(
    identities: dict[str, Identity], capsys: pytest.CaptureFixture[str]
) -> None:
    party_file(identities["alice"], identities["bob"], 'listen = "127.0.0.1:0"')
    web = '[[records.ship]]\nwebhook = "https://siem.example/secret"\n[[records.ship]]\nsyslog = "logs.example:6514"\n'
    ways = [f'[[records.ship]]\nfile = "{file}"\n' for file in ("new.jsonl", "none/a.jsonl", "schema.toml.d")]
    Path("schema.toml.d").mkdir()
    Path("party.toml").write_text(f"{Path('party.toml').read_text()}\n{web}{''.join(ways)}")
    found = {what: told for what, told in checked(capsys)[1].items() if what.startswith("shipping")}
    assert [ok for ok, _ in found.values()] == [True, True, True, False, False]
    texts = [text for _, text in found.values()]
    hosts = ["siem.example", "logs.example"]
    assert texts[:2] == [f"log entries go to {host}; the host was not contacted" for host in hosts]
    assert texts[2].endswith("new.jsonl")
    assert "there is no directory" in texts[3]
    assert "Is a directory" in texts[4]
    assert not Path("new.jsonl").exists()
