"""What a command says or keeps where it would be easy to lose something, or to leave somebody waiting."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from parties.base import address
from parties.base.address import Address
from parties.base.console import size
from parties.cli import run
from parties.commands.options import check_proposal
from parties.jobs import kinds
from parties.jobs.execution import engine_selection, profiles, sharding
from parties.jobs.execution.engine_selection import Choice
from parties.jobs.execution.running import Connection
from parties.jobs.tree.exact import ExactTree
from parties.link import preflight
from parties.link.identity import Identity
from parties.tables.schema import Schema
from smc.agreement import Agreement
from smc.counting import forecasts
from smc.engines import Profile
from smc.errors import InputError, LinkError
from tests.support.ports import free_port

DAYS = "wind,play\nweak,yes\nstrong,no\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Schema({"wind": ("weak", "strong"), "play": ("yes", "no")}, "play").save(Path("schema.toml"))
    Path("days.csv").write_text(DAYS)
    Path("bad.csv").write_text("wind,play\nhuge,yes\n")


def link(own: Identity, peer: Identity, way: str, port: int, wait: float = 60) -> list[str]:
    names = ["--identity", str(own.key_path), "--certificate", str(own.certificate_path)]
    there = ["--peer", str(peer.certificate_path), f"--{way}", f"127.0.0.1:{port}", "--wait", str(wait)]
    return ["--schema", "schema.toml", *names, *there]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("listen", ["id3", "--schema", "schema.toml", "--data", "bad.csv"]),
        ("connect", ["id3", "--schema", "schema.toml", "--data", "bad.csv"]),
        ("connect", ["id3", "--schema", "schema.toml", "--data", "days.csv", "--out", "schema.toml"]),
        ("connect", ["millionaires", "--value", "-3"]),
    ],
)
def test_a_peer_who_waits_is_told_that_the_input_is_wrong_and_no_more(
    wrong: str, words: list[str], identities: dict[str, Identity], capfd: pytest.CaptureFixture[str]
) -> None:
    """Whether the reason depends on rows does not show."""
    alice, bob, port = identities["alice"], identities["bob"], free_port()
    sides = {"listen": (alice, bob), "connect": (bob, alice)}
    waiting = next(way for way in sides if way != wrong)
    codes = []
    good = ["id3", "--data", "days.csv", *link(*sides[waiting], waiting, port)]
    thread = threading.Thread(target=lambda: codes.append(run(good)))
    thread.start()
    while thread.is_alive():  # who is wrong tries once; the other may still be loading
        assert run([*words, *link(*sides[wrong], wrong, port)[2:]]) == 2
    thread.join()
    assert codes == [3]
    said = [line for line in capfd.readouterr().err.splitlines() if "gave up" in line]
    name = sides[wrong][0].name
    assert said == [f"smc: {name} gave up at step 'hello': an error in its own input"]


@pytest.mark.usefixtures("files")
def test_a_result_is_not_replaced_in_silence(
    identities: dict[str, Identity], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("tree.json").write_text("mine")
    way = link(identities["bob"], identities["alice"], "connect", free_port(), 0.1)
    words = ["id3", "--data", "days.csv", *way, "--out", "tree.json"]
    assert run(words) == 2
    assert "--out: tree.json exists already; give another name, or --force to replace it" in capsys.readouterr().err
    assert run([*words, "--force"]) == 3  # nobody is there, but it dialled
    assert run([*words[:-1], "other.json"]) == 3
    assert Path("tree.json").read_text() == "mine"
    with pytest.raises(InputError, match="give another name"):
        check_proposal(Path("tree.json"))


@pytest.mark.usefixtures("files")
def test_a_result_that_is_there_or_a_taken_port_is_told_before_rows_are_read(
    identities: dict[str, Identity], capsys: pytest.CaptureFixture[str]
) -> None:
    Path("tree.json").write_text("mine")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        way = link(identities["alice"], identities["bob"], "listen", port, 0.1)
        assert run(["id3", "--data", "bad.csv", *way]) == 2
        assert f"smc: cannot listen on 127.0.0.1:{port}: Address already in use; end what" in capsys.readouterr().err
        assert run(["run", "protocols.equality:equal", "5", *way[2:]]) == 2
        assert "Address already in use" in capsys.readouterr().err
    assert run(["id3", "--data", "bad.csv", *way, "--out", "tree.json"]) == 2
    assert "--out: tree.json exists already" in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_a_ray_that_is_of_no_use_is_told_before_anybody_is_dialled(
    identities: dict[str, Identity], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_USE_TLS", raising=False)
    monkeypatch.setattr(Connection, "decline", lambda self: None)
    way = link(identities["alice"], identities["bob"], "connect", 9, 0.1)
    job = ["id3", "--data", "days.csv", "--plain", *way]
    for words, why in (
        ([*job, "--ray", "auto"], "--ray: goes with shards; add --shards N"),
        ([*job, "--shards", "2", "--ray", "nonsense"], "--ray: must be auto or HOST:PORT: "),
        ([*job, "--shards", "2", "--ray", "auto"], "--ray: anybody who can connect"),
        (["run", "protocols.equality:equal", "5", *way[2:], "--ray", "auto"], "--ray: goes with shards"),
    ):
        assert run(words) == 2, capsys.readouterr().err
        assert f"smc: {why}" in capsys.readouterr().err


@pytest.mark.usefixtures("files")
def test_who_dials_says_so_without_a_terminal(
    identities: dict[str, Identity], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "TOLD_SECONDS", 0.05)
    port = free_port()
    assert run(["id3", "--data", "days.csv", *link(identities["bob"], identities["alice"], "connect", port, 0.5)]) == 3
    lines = [line for line in capsys.readouterr().err.splitlines() if "dialling" in line]
    assert lines[0] == f"dialling 127.0.0.1:{port}, for 0.5 s at most"
    assert lines[1].startswith(f"no answer yet at 127.0.0.1:{port}; dialling on for")


def test_how_many_seconds_are_left_is_told_in_order(
    identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "TOLD_SECONDS", 0.01)
    now = preflight.time.monotonic()
    told: list[float] = []
    with pytest.raises(LinkError):
        preflight.await_peer(
            Address("127.0.0.1", free_port()),
            identities["alice"],
            identities["bob"].certificate,
            0.3,
            now + 0.3,
            told.append,
        )
    assert told == sorted(told, reverse=True)
    assert all(0 <= left <= 0.3 for left in told)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("command", [["identity", "create", "a b/c"], ["init", "--name", "a b/c"]])
def test_a_name_that_is_refused_leaves_no_folder(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    rest = [] if command[0] == "identity" else ["--peer-name", "b", "--listen", "127.0.0.1:7001"]
    assert run([*command, *rest, "--out", "keys/new"]) == 2
    assert "must be 1 to 64" in capsys.readouterr().err
    assert not Path("keys").exists()


def test_an_option_that_is_nearly_right_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["release", "mean", "--columns", "age"]) == 2
    shown = capsys.readouterr().err
    assert "--column?" in shown or "'--column'" in shown or "--column," in shown
    assert run(["release", "mean", "--confg", "x"]) == 2
    assert "--config" in capsys.readouterr().err


@pytest.mark.parametrize("group", sorted(kinds.GROUPS))
def test_a_group_is_no_kind_and_its_members_are_named(group: str) -> None:
    with pytest.raises(InputError, match="is a group of kinds of jobs: name one of") as caught:
        kinds.find(group)
    members = [name for name in kinds.BUILT_IN if name.startswith(f"{group} ")]
    assert members
    assert all(f"'{name}'" in str(caught.value) for name in members)


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("numbers", ["007:120", "0:012", "-05:5"])
def test_bounds_have_no_leading_zeros(numbers: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["schema", "--data", "days.csv", "--numeric", f"wind={numbers}", "--out", "new.toml"]) == 2
    assert "remove the leading zeros" in capsys.readouterr().err
    assert not Path("new.toml").exists()


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("port", "told"),
    [
        (7001, "cannot listen on 127.0.0.1:7003 for shard 2 of 2: it is used"),
        (65535, "the port in the address '127.0.0.1:65536' must be a number from 0 to 65535"),
    ],
)
def test_a_shards_port_that_is_taken_is_told_before_rows_are_read(
    identities: dict[str, Identity],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    port: int,
    told: str,
) -> None:
    monkeypatch.setattr(address, "taken", lambda one, *_: "it is used" if one.port == 7003 else "")
    way = link(identities["alice"], identities["bob"], "listen", port, 0.1)
    assert run(["id3", "--data", "bad.csv", *way, "--shards", "2"]) == 2
    assert f"smc: {told}\n" == capsys.readouterr().err


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("shards", [1, 2])
def test_where_the_link_decides_the_cost_of_its_engine_is_said_before_it_runs(
    identities: dict[str, Identity], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, shards: int
) -> None:
    near, chosen = profiles.in_shards((Profile("mixed"), Profile("lean", form="size")), shards)
    found: list[Choice] = []

    def undecided(specification: Any, program: Any, *_: Any) -> Choice:
        found.append(Choice(None, tuple(forecasts(program(), (near, chosen)))))
        return found[0]

    @contextmanager
    def agreed(*_: Any) -> Iterator[Any]:
        yield SimpleNamespace(profile=chosen, link=None, engine=None, session=SimpleNamespace(agreement=Agreement()))

    monkeypatch.setattr(engine_selection, "choice", undecided)
    monkeypatch.setattr(Connection, "agreed", agreed)
    monkeypatch.setattr(sharding, "sharded", lambda *_: nullcontext())

    def ended(*_: Any) -> Any:
        raise InputError("enough was said")

    monkeypatch.setattr(ExactTree, "run", ended)
    way = link(identities["alice"], identities["bob"], "connect", 9, 0.1)
    rows = 900 + shards  # of a job that no other test has counted
    assert run(["id3", "--data", "days.csv", "--max-rows", str(rows), "--shards", str(shards), *way]) == 2
    guessed, dearest = (size(counted.bytes) for counted in found[0].forecasts)
    before, at_last = (line for line in capsys.readouterr().err.splitlines() if "it will cost" in line)
    assert guessed != dearest
    assert re.fullmatch(
        rf"it will cost about {guessed} both ways on a local .*; the engine is chosen .* a faster one may send more",
        before,
    )
    most = "at most .* KB" if shards == 1 else "no maximum is counted for shards"
    assert re.match(rf"it will cost about {dearest} both ways \({most}\), for a tree", at_last)
