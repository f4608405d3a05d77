"""The benchmark against MPyC: its parts, our side of it on a real table, and MPyC's if it has been installed."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import socket
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from benchmarks.peers import id3, programs, samples
from benchmarks.peers import table as peers_table
from benchmarks.peers.processes import RunError, free_ports, run_together
from benchmarks.peers.programs import Run
from benchmarks.peers.samples import Sample, accuracy, size
from parties.bench import machine
from parties.tables.example import demo
from tests.support.waiting import PATIENCE

LOG = """2026-01-01 10:00:00,100 Start MPyC runtime v0.11
2026-01-01 10:00:00,200 All 3 parties connected.
2026-01-01 10:00:00,400 Stop MPyC -- elapsed time: 0:00:00.219|bytes sent: 106003
"""
TENNIS = {
    "attribute": "outlook",
    "branches": {
        "sunny": {"attribute": "humidity", "branches": {"high": {"class": "no"}, "normal": {"class": "yes"}}},
        "overcast": {"class": "yes"},
        "rain": {"attribute": "wind", "branches": {"weak": {"class": "yes"}, "strong": {"class": "no"}}},
    },
}
STUMP = {"class": "yes"}
MPYC = programs.ROOT / ".bench" / "mpyc"


@pytest.fixture
def tennis(tmp_path: Path) -> Sample:
    """Quinlan's weather table, both clinics' rows in one file."""
    bundled = demo()
    lines = bundled.clinic_a.read_text().splitlines() + bundled.clinic_b.read_text().splitlines()[1:]
    path = tmp_path / "tennis.csv"
    path.write_text("\n".join(lines) + "\n")
    return Sample(path, "play", 32)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    directory = tmp_path / "place"
    directory.mkdir()
    return directory


def test_bytes_are_read_from_the_log() -> None:
    assert programs.bytes_sent(LOG) == 106003


@pytest.mark.parametrize("log", ["", LOG.replace("|bytes", "bytes"), LOG + LOG])
def test_a_log_that_does_not_say_bytes_once_is_refused(log: str) -> None:
    with pytest.raises(RunError, match="did not log once"):
        programs.bytes_sent(log)


def test_the_tree_is_judged_on_the_rows(tennis: Sample) -> None:
    assert (size(TENNIS), accuracy(TENNIS, tennis)) == (8, 1.0)
    assert (size(STUMP), accuracy(STUMP, tennis)) == (1, 9 / 14)
    assert tennis.shape == {"rows": 14, "attributes": 4, "classes": 2}
    assert tennis.min_rows == 0


def test_real_tables_have_the_targets_and_the_stopping_rule(shared: Path) -> None:
    found = {sample.name: sample for sample in samples.samples(shared / "data")}
    assert {name: sample.min_rows for name, sample in found.items()} == {
        "tennis": 0, "balance-scale": 31, "house-votes-84": 21, "car": 86, "tic-tac-toe": 47,
    }  # fmt: skip
    assert {name: sample.shape["classes"] for name, sample in found.items()} == {
        "tennis": 2, "balance-scale": 3, "house-votes-84": 2, "car": 4, "tic-tac-toe": 2,
    }  # fmt: skip


def test_programs_take_turns() -> None:
    order = []

    def program(name: str) -> programs.Program:
        def run() -> Run:
            order.append(name)
            return Run(float(len(order)), 1, STUMP)

        return run

    runs = id3.take_turns({"a": program("a"), "b": program("b")}, 3)
    assert order == ["a", "b"] * 3
    assert [run.seconds for run in runs["b"]] == [2.0, 4.0, 6.0]


def test_summary_compares_medians_with_the_faster_peer(tennis: Sample) -> None:
    runs = {
        "smc": [Run(seconds, 100, TENNIS) for seconds in (1.0, 9.0, 2.0)],
        "mpyc series": [Run(seconds, 301, TENNIS) for seconds in (0.5, 5.0, 4.0)],  # fastest once, not in the middle
        "mpyc parallel": [Run(seconds, count, STUMP) for seconds, count in ((3.0, 250), (3.5, 260), (2.5, 240))],
    }
    found = id3.summary(tennis, runs)
    assert found["programs"]["smc"]["seconds"] == {"median": 2.0, "min": 1.0, "max": 9.0}
    assert found["programs"]["mpyc parallel"]["bytes"] == {"median": 250, "min": 240, "max": 260}
    assert found["faster_peer"] == "mpyc parallel"
    assert found["peer_over_smc"] == {"seconds": 1.5, "bytes": 2.5}
    assert found["programs"]["mpyc parallel"]["accuracy"] == round(9 / 14, 4)
    screen = io.StringIO()
    Console(width=200, file=screen).print(id3.table([found]))
    cells = screen.getvalue().split()
    for cell in ("tennis", "(1.00..9.00)", "(2.50..3.50)", "1.50", "2.50"):
        assert cell in cells


def test_free_ports_differ_and_can_be_bound() -> None:
    ports = free_ports(20)
    assert len(set(ports)) == 20
    with socket.create_server(("127.0.0.1", ports[0])):
        pass


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_processes_run_at_the_same_time_and_their_prints_are_kept_apart(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    server = f"import socket; s = socket.create_server(('127.0.0.1', {port})); print(s.accept()[0].recv(9).decode())"
    client = f"""
import socket, time
while True:
    try:
        socket.create_connection(('127.0.0.1', {port})).sendall(b'hello')
        break
    except OSError:
        time.sleep(0.01)
print('sent')
"""
    seconds, prints = run_together([python(server), python(client)], tmp_path, PATIENCE)
    assert prints == ["hello\n", "sent\n"]
    assert 0 < seconds < 60


SLEEPER = "import os, pathlib, time; pathlib.Path('pid').write_text(str(os.getpid())); time.sleep(600)"
FAILING = """
import pathlib, sys, time
while not (pathlib.Path('pid').exists() and pathlib.Path('pid').read_text()): time.sleep(0.01)
sys.exit('first line\\nthe reason')
"""


def assert_gone(directory: Path) -> None:
    with pytest.raises(ProcessLookupError):
        os.kill(int((directory / "pid").read_text()), 0)


def test_one_failure_ends_all(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="exit code 1: the reason"):
        run_together([python(SLEEPER), python(FAILING)], tmp_path, PATIENCE)
    assert_gone(tmp_path)


def test_the_deadline_ends_all(tmp_path: Path) -> None:
    sleeper = ["sh", "-c", "echo $$ > pid; exec sleep 600"]  # both are there long before, on a busy machine, too
    with pytest.raises(RunError, match=r"1 of 2 processes had not ended after 5 s"):
        run_together([sleeper, ["true"]], tmp_path, 5)
    assert_gone(tmp_path)


def test_our_side_learns_the_tree_and_tells_its_cost(tennis: Sample, place: Path) -> None:
    run = programs.prepare_smc(tennis, place, None, PATIENCE)()
    assert (size(run.tree), accuracy(run.tree, tennis)) == (8, 1.0)
    costs = [json.loads((place / f"cost{party}.json").read_text())["total"] for party in (0, 1)]
    assert run.bytes == costs[0]["bytes_sent"] + costs[1]["bytes_sent"] > 0
    halves = [list(csv.DictReader((place / f"rows{party}.csv").open())) for party in (0, 1)]
    assert [len(half) for half in halves] == [7, 7]
    assert sorted(map(str, halves[0] + halves[1])) == sorted(map(str, tennis.rows))


def test_what_our_side_refuses_is_one_line(tennis: Sample, place: Path) -> None:
    with pytest.raises(RunError, match=r"^exit code 2: smc: [^\n]*--engine[^\n]*'warp'[^\n]*$"):
        programs.prepare_smc(tennis, place, "warp", PATIENCE)()


@pytest.mark.skipif(not (MPYC / ".installed").is_file(), reason="MPyC is not installed: `make bench-peers` does it")
@pytest.mark.parametrize("parallel", [False, True])
def test_mpyc_learns_the_tree(tennis: Sample, place: Path, parallel: bool) -> None:
    run = programs.prepare_mpyc(tennis, place, programs.install(MPYC, programs.MPYC), parallel, PATIENCE)()
    assert (size(run.tree), accuracy(run.tree, tennis)) == (8, 1.0)
    assert run.bytes > 0


def test_an_environment_that_is_there_is_not_made_again(tmp_path: Path) -> None:
    (tmp_path / ".installed").write_text("one two==2")
    assert programs.install(tmp_path, ("one", "two==2")) == tmp_path / "bin" / "python"
    assert [path.name for path in tmp_path.iterdir()] == [".installed"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "nowhere"], "tennis.csv is missing; give the directory of the data sets with --data"),
        (["--only", "chess"], "no data set has 'chess' in its name"),
    ],
)
def test_wrong_usage_is_one_line(tmp_path: Path, arguments: list[str], message: str) -> None:
    for name in samples.KNOWN if "--only" in arguments else ():
        (tmp_path / f"{name}.csv").touch()
    result = CliRunner().invoke(id3.main, ["--data", str(tmp_path), *arguments])
    assert result.exit_code == 1
    assert message in result.output
    assert len(result.output.splitlines()) == 1


def test_machine_facts_name_no_host() -> None:
    found = machine.facts(["numpy"])
    assert set(found) == {"processor", "cores", "memory_gb", "system", "python", "packages"}
    assert found["cores"] >= 1
    assert list(found["packages"]) == ["numpy"]
    assert socket.gethostname() not in json.dumps(found)


def test_the_table_says_of_each_peer_that_is_not_there_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("SMC_EMP", "SMC_MPSPDZ", "SMC_SMARTNOISE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(peers_table, "ROOT", Path("/nowhere"))  # no MPyC either
    for line in peers_table.LINES:
        if line.peer == "Python's ssl":  # always there
            continue
        found = peers_table._figure(line.theirs, peers_table.TINY)
        assert found.startswith(("not measured: ", "not there: SMC_"))


def test_the_table_measures_a_link_of_python_alone() -> None:
    (line,) = (line for line in peers_table.LINES if line.peer == "Python's ssl")
    assert re.fullmatch(r"[\d.e+]+ MB/s of 1 MiB", peers_table._figure(line.theirs, peers_table.TINY))


def test_the_table_reads_what_a_peer_prints(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A stand-in for EMP's program; its second party says nothing of use."""
    program = tmp_path / "emp-ot" / "build" / "bench_iknp_rcot"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\n[ "$1" = 1 ] && echo "IKNP semi RCOT\t98.5 MOTps  send=0 B/COT"\nexit 0\n')
    program.chmod(0o755)
    monkeypatch.setenv("SMC_EMP", str(tmp_path))
    (line,) = (line for line in peers_table.LINES if "IKNP" in line.work)
    assert peers_table._figure(line.theirs, peers_table.TINY) == "98.5"
    (other,) = (line for line in peers_table.LINES if line.work == "SoftSpoken-4")
    assert "is not built" in peers_table._figure(other.theirs, peers_table.TINY)
