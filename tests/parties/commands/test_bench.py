"""`smc bench`: measuring one small case between real processes, and the files it writes."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from parties.cli import cli
from smc.errors import InputError

pytestmark = pytest.mark.slow


def test_the_command_measures_on_each_link_and_writes_what_it_found(tmp_path: Path) -> None:
    out = tmp_path / "new" / "results"
    only = "ID3, tennis, yao extension three"
    arguments = ["--only", only, "--links", "loopback;1gbit,30ms", "--repeats", "2", "--out", str(out)]
    done = CliRunner().invoke(cli, ["bench", *arguments], catch_exceptions=False)
    assert done.exit_code == 0
    assert "1gbit,30ms" in done.stdout
    assert "three-halves" in done.stdout
    assert sorted(path.name for path in out.iterdir()) == ["bench.json"]  # no pictures of one case
    document = json.loads((out / "bench.json").read_text())
    assert socket.gethostname() not in json.dumps(document)
    here, there = document["rows"]
    assert (here["link"], there["link"]) == ("loopback", "1gbit,30ms")
    for name in ("bytes_sent", "bytes_received", "messages", "rounds", "and_gates"):
        assert here[name] == there[name] > 0
    assert here["bytes_sent"] + here["bytes_received"] == here["predicted_bytes"]
    for row in (here, there):
        assert row["seconds_min"] <= row["seconds"] <= row["seconds_max"]
    assert there["seconds"] > here["rounds"] * 0.015  # every round waits for a delay at least
    assert there["predicted_seconds"] > here["predicted_seconds"]


def test_a_directory_that_cannot_be_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = CliRunner().invoke(cli, ["bench", "--only", "ID3", "--out", str(tmp_path / "file" / "deeper")])
    assert isinstance(done.exception, InputError)
    assert "cannot make the directory" in str(done.exception)


def test_only_a_known_case() -> None:
    done = CliRunner().invoke(cli, ["bench", "--only", "nonsense"])
    assert isinstance(done.exception, InputError)
    assert "no case has 'nonsense'" in str(done.exception)


def test_any_program_is_measured_and_its_costs_are_the_forecast(tmp_path: Path) -> None:
    program = ["--program", "protocols.equality:equal", "--argument", "5,7,9", "--argument", "8"]
    chosen = ["--only", "yao extension half", "--links", "loopback", "--repeats", "1", "--json"]
    done = CliRunner().invoke(cli, ["bench", *program, *chosen], catch_exceptions=False)
    (row,) = json.loads(done.stdout)["rows"]
    assert row["protocol"] == "protocols.equality:equal"
    assert row["bytes_sent"] + row["bytes_received"] == row["predicted_bytes"] > 0
    assert row["and_gates"] == 3 * 7


def test_arguments_need_a_program() -> None:
    done = CliRunner().invoke(cli, ["bench", "--argument", "5"])
    assert isinstance(done.exception, InputError)
    assert "--program" in str(done.exception)
