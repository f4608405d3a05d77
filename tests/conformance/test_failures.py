"""What goes wrong in the field: one clear line, the right exit code, on both sides, and no half-written result."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from parties.jobs.execution import running
from parties.tables.example import demo
from tests.support.places import ENVIRONMENT
from tests.support.waiting import PATIENCE

DEMO = demo()
LINK = ["--identity", "a.key", "--certificate", "a.crt", "--peer", "b.crt", "--listen", "127.0.0.1:0"]


@pytest.fixture(autouse=True)
def nobody_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process nobody waits for a peer who could be told of our own fault; `smc` processes do."""
    monkeypatch.setattr(running, "DECLINE_SECONDS", 0.05)


def id3(data: Path = DEMO.clinic_a, *more: object) -> list[object]:
    return ["id3", "--plain", "--data", data, "--schema", DEMO.schema, *more]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Usage"),
        (["nonsense"], "there is no command 'nonsense'"),
        (["id3", "--nonsense"], "No such option"),
        (["id3"], "--schema is missing"),
        (["id3", "--schema", DEMO.schema], "--data is missing"),
        (["id3", "--data", "nowhere.csv", "--schema", DEMO.schema, *LINK], "nowhere.csv: there is no such file"),
        (id3(DEMO.clinic_a, "--target", "plai", *LINK), "did you mean 'play'"),
        (id3(DEMO.clinic_a, "--tolerance", "0", *LINK), "--tolerance"),
        (
            id3(DEMO.clinic_a, "--tolerance", "1e-9", "--max-rows", "100000", *LINK),
            "greater --tolerance or a smaller --max-rows",
        ),
        (id3(DEMO.clinic_a, "--max-rows", "6", *LINK), "7 rows, more than 6, the agreed bound (max_rows)"),
        (id3(DEMO.clinic_a, "--min-rows", "-1", *LINK), "--min-rows"),
        (id3(DEMO.clinic_a, "--out", "no/such/tree.json", *LINK), "cannot write no/such/tree.json"),
        (id3(DEMO.clinic_a), "--listen HOST:PORT"),
        (id3(DEMO.clinic_a, *LINK[:-2], "--listen", "127.0.0.1"), "--listen"),
        (id3(DEMO.clinic_a, *LINK[2:]), "--identity is missing"),
        (id3(DEMO.clinic_a, *LINK, "--peer", "missing.crt"), "missing.crt: there is no such file"),
        (id3(DEMO.clinic_a, *LINK, "--certificate", "b.crt"), "b.crt"),
        (["millionaires", "--value", "4294967296", *LINK], "2^32"),
        (["millionaires", "--value", "-3", *LINK], "--value: must be a whole number"),
        (["millionaires", "--value", "3", "--bits", "65", *LINK], "--bits"),
        (["millionaires", *LINK], "--value is missing"),
        (["circuit", "a.crt", "--input", "1", *LINK], "a.crt"),
        (["predict", "--tree", "a.crt", "--data", DEMO.clinic_a], "a.crt"),
        (["identity", "show", "a.key"], "a.key"),
        (["identity", "create", "a"], "exists already"),
    ],
)
def test_wrong_usage_is_exit_2_and_names_the_thing(processes, arguments: list[object], message: str) -> None:
    done = processes.here(*arguments)
    assert done.code == 2
    assert message in done.err + done.out
    assert "internal error" not in done.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("outlook,temperature,humidity,wind,play\nsunny,hot,high,weak,no\nsunny,hot,hihg,weak,no\n",
         "line 3, column 'humidity'"),
        ("outlook,temperature,humidity,wind\nsunny,hot,high,weak\n", "column 'play': there is no such column"),
        ("outlook,temperature,humidity,wind,play\nsunny,hot,high,weak\n", "line 2: 4 fields"),
        ("", "empty"),
        ("outlook,temperature,humidity,wind,play\nsunny,hot,,weak,no\n", "line 2, column 'humidity'"),
    ],
)  # fmt: skip
def test_a_bad_table_is_refused_before_any_connection(processes, text: str, message: str) -> None:
    path = processes.directory / "rows.csv"
    path.write_text(text)
    done = processes.here(*id3(path, *LINK))
    assert done.code == 2
    assert message in done.message
    assert "rows.csv" in done.message
    assert "listening" not in done.err


def test_a_different_job_is_exit_4_on_both_sides_with_both_values(processes) -> None:
    done = processes.pair(
        id3(DEMO.clinic_a, "--tolerance", "0.01", "--out", "a.json"),
        id3(DEMO.clinic_b, "--min-rows", "2", "--out", "b.json"),
    )
    for one in done:
        assert one.code == 4
        assert "tolerance" in one.message
        assert "0.01" in one.message
        assert "0.001" in one.message
        assert "min_rows" in one.message
    assert not list(processes.directory.glob("*.json"))


def test_different_protocols_are_exit_4(processes) -> None:
    done = processes.pair(["millionaires", "--value", 3], id3(DEMO.clinic_b))
    assert [one.code for one in done] == [4, 4]
    assert "millionaires" in done[0].message
    assert "id3" in done[1].message


def test_a_peer_that_is_not_the_one_expected(processes) -> None:
    """Whoever dials or listens with another certificate is told so, and keeps nobody out."""
    zero, address = processes.listen("millionaires", "--value", 3)
    common = ["millionaires", "--value", 4]
    one = processes.run(*common, *processes.link("stranger", "a"), "--connect", address)
    assert one.code == 3
    assert "does not trust" in one.message
    one = processes.run(*common, *processes.link("b", "stranger"), "--connect", address)
    assert one.code == 3
    assert "check --peer" in one.message
    assert processes.run(*common, *processes.link("b", "a"), "--connect", address).code == 0
    assert processes.wait(zero).code == 0


def test_nobody_dials(processes) -> None:
    done = processes.run(
        "millionaires", "--value", 4, *processes.link("a", "b"), "--listen", "127.0.0.1:0", "--wait", 0.5
    )
    assert done.code == 3
    assert "no trusted peer" in done.message


def test_nobody_there(processes) -> None:
    done = processes.run(
        "millionaires", "--value", 4, *processes.link("b", "a"), "--connect", "127.0.0.1:1", "--wait", 0.5
    )
    assert done.code == 3
    assert "127.0.0.1:1" in done.message


def test_a_port_in_use_is_exit_2(processes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        link = [*processes.link("a", "b"), "--listen", f"127.0.0.1:{port}"]
        done = processes.here("millionaires", "--value", 4, *link)
    assert done.code == 2
    assert str(port) in done.message


def test_garbage_on_the_port_disturbs_nobody(processes) -> None:
    zero, address = processes.listen("millionaires", "--value", 3, "--json")
    host, port = address.rsplit(":", 1)
    noise = random.Random(1)
    for length in (0, 1, 100, 70_000):
        with socket.create_connection((host, int(port)), timeout=PATIENCE) as stream:
            try:
                stream.sendall(noise.randbytes(length))
            except OSError:
                continue  # it hung up on us, as it may
    one = processes.run("millionaires", "--value", 2, "--json", *processes.link("b", "a"), "--connect", address)
    assert (one.code, processes.wait(zero).code) == (0, 0)


# A peer that dies. The victim is stopped by the clock of its own progress: after its N-th message.
VICTIM = """
import os, signal, sys
from smc.session import Session
count = [int(sys.argv[1])]
inner = Session.send
def send(self, step, array):
    count[0] -= 1
    if count[0] < 0:
        os.kill(os.getpid(), signal.SIGKILL)
    inner(self, step, array)
Session.send = send
from parties.cli import main
main(sys.argv[2:])
"""


KILLED = [(victim, messages) for victim in (0, 1) for messages in (0, 1, 2, 5, 12, 20)]
ALWAYS = {(0, 1), (0, 12), (1, 0), (1, 5), (1, 20)}


@pytest.mark.parametrize(
    ("victim", "messages"),
    [pytest.param(*one, marks=() if one in ALWAYS else pytest.mark.campaign) for one in KILLED],
)
def test_a_peer_killed_at_any_step_is_exit_3_and_leaves_no_tree(processes, victim: int, messages: int) -> None:
    script = processes.directory / "victim.py"
    script.write_text(VICTIM)
    survivor_arguments = id3(DEMO.clinic_a, "--out", "tree.json", "--report", "cost.json")
    victim_program = [script, messages, *id3(DEMO.clinic_b, "--out", "victim.json")]
    if victim == 1:
        survivor, address = processes.listen(*survivor_arguments)
        dying = processes.start_python(*victim_program, *processes.link("b", "a"), "--connect", address)
    else:
        dying = processes.start_python(*victim_program, *processes.link("a", "b"), "--listen", "127.0.0.1:0")
        address = processes.address_of(dying)
        survivor = processes.start(*survivor_arguments, *processes.link("b", "a"), "--connect", address)
    done = processes.wait(survivor)
    dying.communicate(timeout=PATIENCE)
    assert dying.returncode == -signal.SIGKILL
    assert done.code == 3
    assert "at step" in done.message
    assert not list(processes.directory.glob("*.json"))
    assert not list(processes.directory.glob(".smc-*"))


def test_interrupting_one_side_tells_the_other(processes) -> None:
    zero, address = processes.listen("millionaires", "--value", 3)
    zero.send_signal(signal.SIGINT)
    done = processes.wait(zero)
    assert done.code == 130
    assert done.message == "smc: interrupted"
    assert "\n\n" not in done.err
    one = processes.run("millionaires", "--value", 3, *processes.link("b", "a"), "--connect", address, "--wait", 0.5)
    assert one.code == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "rows.csv"], "--out: rows.csv is an input of this command"),
        (["--dot", "a.key"], "--dot: a.key is an input of this command"),
        (["--svg", "./rows.csv"], "--svg: rows.csv is an input"),
        (["--out", "x.json", "--report", "x.json"], "--report: x.json is --out too"),
    ],
)
def test_no_output_overwrites_an_input_or_another_output(processes, arguments: list[object], message: str) -> None:
    rows = processes.directory / "rows.csv"
    rows.write_bytes(DEMO.clinic_a.read_bytes())
    done = processes.here(*id3(Path("rows.csv"), *arguments, *LINK))
    assert done.code == 2
    assert message in done.message
    assert rows.read_bytes() == DEMO.clinic_a.read_bytes()
    done = processes.here("schema", "--data", "rows.csv", "--out", "rows.csv")
    assert done.code == 2
    assert rows.read_bytes() == DEMO.clinic_a.read_bytes()


WRONG = [["--nonsense"], ["id3", "--tolerance", "abc"], ["id3", "--engine", "x"], ["predict"]]


@pytest.mark.parametrize("arguments", WRONG)
def test_wrong_usage_is_one_line_that_points_to_help(processes, arguments: list[object]) -> None:
    done = processes.here(*arguments)
    assert done.code == 2
    assert len(done.err.strip().splitlines()) == 1
    assert done.err.startswith("smc: ")
    assert "--help)" in done.err


def test_output_that_cannot_be_written_is_exit_2(processes) -> None:
    tree = '{"schema_digest": "' + "0" * 64 + '", "target": "play", "tolerance": 0.1, "tree": {"class": "yes"}}'
    (processes.directory / "tree.json").write_text(tree)
    command = [sys.executable, "-m", "parties.cli", "predict", "--tree", "tree.json", "--data", str(DEMO.clinic_a)]
    common = {"cwd": processes.directory, "env": ENVIRONMENT, "stderr": subprocess.PIPE, "text": True}
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, check=False, **common)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "smc: the system refused: No space left on device"
    assert "Traceback" not in done.stderr
    reader, writer = os.pipe()
    os.close(reader)  # a reader that has gone is nobody's fault, but what was to be done may not be done: as by SIGPIPE
    done = subprocess.run(command, stdout=writer, check=False, **common)
    os.close(writer)
    assert done.returncode == 141
    assert "Traceback" not in done.stderr
    assert "smc:" not in done.stderr


def test_a_terminal_without_our_letters_still_shows_the_tree(processes) -> None:
    (processes.directory / "tree.json").write_text(
        '{"schema_digest": "' + "0" * 64 + '", "target": "play", "tolerance": 0.1, "tree": {"class": "größer"}}'
    )
    process = subprocess.run(
        [sys.executable, "-m", "parties.cli", "predict", "--tree", "tree.json", "--data", str(DEMO.clinic_a)],
        cwd=processes.directory,
        env=ENVIRONMENT | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0
    assert process.stdout.splitlines()[0] == "gr\\xf6\\xdfer"


def test_closed_standard_input_is_exit_2(processes) -> None:
    done = processes.run("millionaires", "--value", "-", *LINK, stdin="")
    assert done.code == 2
    assert "standard input is empty or closed" in done.message


def test_termination_is_told_and_ends_in_order(processes) -> None:
    zero, _ = processes.listen("millionaires", "--value", 3)
    zero.send_signal(signal.SIGTERM)
    done = processes.wait(zero)
    assert (done.code, done.message) == (143, "smc: terminated")
    assert "\n\n" not in done.err
