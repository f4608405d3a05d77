"""`smc contribute` and --holders: real processes, and wrong flags, a line each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from parties.link.identity import create
from tests.support.ports import free_port
from tests.support.processes import Processes

SCHEMA = 'target = "play"\n[attributes]\nwind = ["weak", "strong"]\nplay = ["yes", "no"]\n'
ROWS = {"anna": "weak,yes\nweak,yes\n", "bert": "strong,no\n"}


@pytest.fixture
def smc(tmp_path: Path) -> Iterator[Processes]:
    processes = Processes(tmp_path)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    for name, rows in ROWS.items():
        create(name, ["127.0.0.1"], tmp_path)
        (tmp_path / f"{name}.csv").write_text(f"wind,play\n{rows}")
    yield processes
    processes.stop()


@pytest.mark.slow  # four processes
def test_two_that_only_compute_learn_the_tree_of_two_holders(smc: Processes) -> None:
    ports = [free_port() for _ in range(3)]
    addresses = [f"127.0.0.1:{port}" for port in ports]
    for name in ROWS:
        (smc.directory / f"{name}.toml").write_text(
            f'[link]\nidentity = "{name}.key"\ncertificate = "{name}.crt"\n'
            f'[contribute]\nnodes = ["b.crt", "a.crt"]\nat = ["{addresses[1]}", "{addresses[0]}"]\n'
            f'[tables.days]\nsource = "{name}.csv"\nschema = "schema.toml"\nmax_rows = 5\n'
        )
    job = ["id3", "--plain", "--schema", "schema.toml", "--max-rows", 5, "--engine", "gmw", "--json"]
    job += ["--holders", "anna.crt,bert.crt", "--compute-only"]
    one = smc.start(*job, "--holders-at", addresses[0], *smc.link("a", "b"), "--listen", addresses[2])
    other = smc.start(*job, "--holders-at", addresses[1], *smc.link("b", "a"), "--connect", addresses[2])
    holders = [smc.start("contribute", "--config", f"{name}.toml", "--yes") for name in ROWS]
    ends = [smc.wait(process) for process in (one, other, *holders)]
    assert [end.code for end in ends] == [0] * 4, [end.message for end in ends]
    trees = [json.loads(end.out)["tree"] for end in ends[:2]]
    assert trees[0] == trees[1]
    assert trees[0]["branches"] == {"weak": {"class": "yes"}, "strong": {"class": "no"}}
    assert "a decision tree that predicts play" in ends[2].err
    assert "put their shares together" in ends[3].err
    assert "max_depth no limit" in ends[2].err
    assert "Note: Leaves may describe one person" in ends[2].err
    assert f"waiting for holder anna on {addresses[0]}" in ends[0].err


def test_a_holder_without_party_file_or_rows_reads_one_line(smc: Processes) -> None:
    done = smc.here("contribute", "--yes")
    assert (done.code, done.message) == (
        2,
        "smc: no rows: name a file with --config clinic/party.toml, or rows with --data and --schema",
    )


def test_a_holder_without_terminal_does_not_dial(smc: Processes) -> None:
    nodes = ["--nodes", "a.crt,b.crt", "--at", "127.0.0.1:1,127.0.0.1:1"]
    own = ["--data", "anna.csv", "--schema", "schema.toml", "--identity", "anna.key", "--certificate", "anna.crt"]
    done = smc.here("contribute", *nodes, *own)
    assert (done.code, "there is no terminal to ask you: add --yes" in done.message) == (2, True)
    assert "dialling" not in done.err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--holders-at", "127.0.0.1:1"], "--holders-at: goes with --holders; add --holders anna.crt,bert.crt"),
        (["--compute-only"], "--compute-only: goes with --holders; add --holders anna.crt,bert.crt"),
        (["--holders", "anna.crt"], "--holders-at is missing: give HOST:PORT, where the holders reach you"),
        (["--holders", ",", "--holders-at", "127.0.0.1:1"], "--holders: names no certificate; give at least one"),
        (
            ["--holders", "anna.crt,anna.crt", "--holders-at", "127.0.0.1:1"],
            "--holders: anna.crt is listed twice; list each holder once",
        ),
        (
            ["--holders", "anna.crt", "--holders-at", "0.0.0.0:7001", "--listen", "127.0.0.1:7001"],
            "--holders-at: is the address of --listen; give another port",
        ),
        (["--holders", "nobody.crt", "--holders-at", "127.0.0.1:1"], "nobody.crt"),
        (["--holders", "a.crt", "--holders-at", "127.0.0.1:1"], "--holders: a.crt is this node's own certificate"),
        (
            ["--holders", "anna.crt", "--holders-at", "127.0.0.1:1", "--compute-only"],
            "--compute-only: with one holder the answer could be of its rows alone; list two at least",
        ),
        (
            ["--holders", "anna.crt,bert.crt", "--holders-at", "127.0.0.1:1", "--max-rows", "2147483648"],
            "--max-rows: 4 parties with 2,147,483,648 rows each exceed 4,294,967,296 rows in all; lower it",
        ),
        (
            ["--holders", "anna.crt", "--holders-at", "127.0.0.1:1", "--compute-only", "--data", "anna.csv"],
            "--compute-only: ",
        ),
        (
            ["--holders", "anna.crt", "--holders-at", "127.0.0.1:1", "--data", "anna.csv", "--l", "2"],
            "--holders: l and t against the peer need each party's own rows: give --against public, or k alone",
        ),
    ],
)
def test_wrong_flags_are_a_line(smc: Processes, flags: list[str], message: str) -> None:
    way = [] if "--listen" in flags else ["--connect", f"127.0.0.1:{free_port()}"]
    link = [*smc.link("a", "b"), *way, "--wait", "1"]
    done = smc.here("id3", "--schema", "schema.toml", *link, *flags)
    assert done.code == 2
    assert message in done.message


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "--nodes is missing: give the flag, or set nodes under [contribute] in --config"),
        (["--nodes", "b.crt"], "--nodes: give the certificates of two different parties"),
        (["--nodes", "a.crt,a.crt"], "--nodes: give the certificates of two different parties"),
        (["--nodes", "a.crt,b.crt"], "--at is missing: give the flag, or set at under [contribute] in --config"),
        (["--nodes", "a.crt,b.crt", "--at", "127.0.0.1:1"], "--at: give two addresses, in the order of --nodes"),
        (["--nodes", "a.crt,anna.crt", "--at", "127.0.0.1:1,127.0.0.1:2"], "the peer's certificate is our own"),
    ],
)
def test_a_holder_is_told_what_is_missing(smc: Processes, flags: list[str], message: str) -> None:
    own = ["--identity", "anna.key", "--certificate", "anna.crt", "--data", "anna.csv", "--schema", "schema.toml"]
    done = smc.here("contribute", *own, "--wait", "1", *flags)
    assert done.code == 2
    assert message in done.message
