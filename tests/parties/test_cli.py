"""What a command loads before it has called its peer, and that nothing is lost by leaving quickly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from parties.cli import COMMANDS, cli, run
from parties.jobs import kinds
from parties.link.identity import Identity
from tests.support.places import ENVIRONMENT
from tests.support.ports import free_port
from tests.support.waiting import PATIENCE

OF_OTHERS = {"duckdb", "pandas", "pyarrow", "ibis", "scipy", "opendp", "httpx", "starlette"}
ROOMS_OF_OTHERS = ("parties.sources", "parties.tables.types", "parties.operator", "parties.web")
UNUSED = {"rich", "numba", "matplotlib", "gmpy2", "grpc.aio._channel", "importlib.metadata"}
SLOW = {"numpy", "numba", "llvmlite", "rich", "matplotlib", "smc.engines", "smc.session"}


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


def loaded_by(code: str) -> set[str]:
    done = python(f"{code}\nimport sys\nprint(*sys.modules, file=sys.stderr)")
    assert done.returncode == 0, done.stderr
    return set(done.stderr.split())


def test_help_loads_no_command() -> None:
    loaded = loaded_by("from parties.cli import run\nrun(['--help'])")
    assert not loaded & (SLOW | {"grpc", "pydantic", "cryptography"})
    assert "click" in loaded


def test_a_commands_help_loads_what_reads_its_settings_and_no_more() -> None:
    loaded = loaded_by("from parties.cli import run\nrun(['millionaires', '--help'])")
    assert not loaded & (SLOW | OF_OTHERS | {"grpc", "cryptography", "google"})
    assert not {name for name in loaded if name.startswith(ROOMS_OF_OTHERS)}


def test_a_small_question_loads_nothing_of_other_commands(identities: dict[str, Identity]) -> None:
    own, peer = identities["alice"], identities["bob"].certificate_path
    files = ["--identity", own.key_path, "--certificate", own.certificate_path, "--peer", peer]
    words = ["millionaires", "--value", "1", "--connect", f"127.0.0.1:{free_port()}", "--wait", "0.1", *map(str, files)]
    loaded = loaded_by(f"from parties.cli import run\nassert run({words!r}) == 3")
    assert {"grpc", "numpy", "smc.engines"} <= loaded
    assert not loaded & (
        OF_OTHERS | {"rich", "numba", "matplotlib", "gmpy2", "grpc.aio._channel", "importlib.metadata"}
    )
    assert not {name for name in loaded if name.startswith(ROOMS_OF_OTHERS)}


def test_a_question_through_the_node_loads_no_link_and_looks_for_no_packages(tmp_path: Path) -> None:
    file = tmp_path / "party.toml"
    file.write_text('[link]\nlisten = "127.0.0.1:7001"\n[node]\nstate = "here"\n[millionaires]\nbits = 16\n')
    words = ["millionaires", "--node", "--value", "1", "--config", str(file)]
    loaded = loaded_by(f"from parties.cli import run\nassert run({words!r}) == 3")
    assert "parties.commands.through_node" in loaded
    assert not loaded & (SLOW | OF_OTHERS | UNUSED | {"grpc", "cryptography", "google"})


def test_lines_and_the_cost_are_printed_without_what_draws() -> None:
    code = """
from parties.base import console
from smc.meter import Meter
console.out.print("a line")
console.err.print(console.cost_table(Meter().report()))"""
    assert "rich" not in loaded_by(code)


def test_what_of_grpc_was_left_out_can_still_be_had() -> None:
    code = "import parties.link.transport, grpc\nassert not hasattr(grpc, 'aio')\nimport grpc.aio\ngrpc.aio.Channel"
    assert "grpc.aio._channel" in loaded_by(code)


def test_what_the_protocol_needs_is_loaded_after_the_peer_is_called() -> None:
    loaded = loaded_by(
        "import parties.commands.kinds, parties.jobs.kinds.millionaires, parties.jobs.kinds.id3, parties.link.opening"
    )
    assert not loaded & SLOW
    assert {"grpc", "pydantic"} <= loaded


def test_settings_load_only_the_kinds_that_a_file_has_tables_of(tmp_path: Path) -> None:
    file = tmp_path / "party.toml"
    file.write_text("[equality]\nbits = 8\n")
    code = "from pathlib import Path\nfrom parties.party_file import load\nload(None)\n"
    loaded = loaded_by(f"{code}assert load(Path({str(file)!r})).of_kind('equality').bits == 8")
    assert {name for name in kinds.BUILT_IN if kinds.place(name) in loaded} == {"equality"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_list_is_there(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert isinstance(cli.get_command(click.Context(cli), name), click.Command)
    assert run(["--help-all"]) == 0
    shown = capsys.readouterr().out
    assert f"  {name} " in shown
    assert COMMANDS[name][1] in " ".join(shown.split())
    assert run([name, "--help"]) == 0


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["schma"], "smc: there is no command 'schma' (did you mean 'schema'?) (see smc --help)\n"),
        (["release", "cont"], "smc: there is no command 'cont' (did you mean 'count'?) (see smc release --help)\n"),
        (
            ["release", "quantile"],
            "smc: there is no command 'quantile' (did you mean 'smc quantile'?) (see smc release --help)\n",
        ),
        (["nonsense"], "smc: there is no command 'nonsense' (see smc --help)\n"),
    ],
)
def test_an_unknown_command_is_told_what_is_near(
    words: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 2
    assert capsys.readouterr().err == line


def test_all_output_is_written_and_the_code_is_kept() -> None:
    script = (
        "import sys\nfrom parties import cli\ncli.run = lambda _: print('x' * 200_000) or 7\ncli.main(sys.argv[1:])"
    )
    done = python(script)
    assert (done.returncode, done.stdout, done.stderr) == (7, "x" * 200_000 + "\n", "")


def test_missing_streams_are_no_reason_to_fail() -> None:
    script = "import sys\nfrom parties import cli\nsys.stdout = sys.stderr = None\ncli.run = lambda _: 5\ncli.main()"
    assert python(script).returncode == 5


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["publish", "rotate", "--column", "\udcff"], "the argument '\\udcff' is not UTF-8"),
        (["check", "--config", ""], "'--config': the file name is empty"),
        (["check", "--wait", "nan"], "--wait: must be a number, not nan"),
        (["check", "--wait", "1e30"], "1e+30 is not in the range"),
        (["audit", "show", "--last", str(10**30)], "is not in the range"),
        (
            ["publish", "apply", "--recoding", "r", "--data", "d", "--max-suppressed", "nan"],
            "--max-suppressed: must be",
        ),
    ],
)
def test_words_that_no_command_can_take(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1


def test_a_message_stays_a_line_that_can_be_read(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--wait", "y" * 20_000]) == 2
    told = capsys.readouterr().err
    assert told.startswith("smc: Invalid value for '--wait': 'yyy")
    assert told.endswith("(see smc check --help)\n")
    assert len(told) < 2100


def test_a_reader_that_leaves_is_told_nothing_and_what_it_left_is_not_done() -> None:
    script = (
        "import os\nfrom parties import cli; from parties.base import console\n"
        "def tell(*_, **__):\n    for _ in range(100_000):\n        console.out.print('x' * 50)\n"
        "cli.cli.main = tell\ncli.main([])"
    )
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([sys.executable, "-c", script], env=ENVIRONMENT, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")
