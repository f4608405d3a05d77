"""Real `smc` processes in a directory of their own, and commands that need no process."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from parties import cli
from parties.link.identity import create
from tests.support.places import ENVIRONMENT
from tests.support.waiting import PATIENCE


@dataclass
class Done:
    """How a process ended."""

    code: int
    out: str
    err: str

    @property
    def message(self) -> str:
        """The last line of standard error."""
        lines = self.err.strip().splitlines()
        return lines[-1] if lines else ""


def here(directory: Path, *arguments: object) -> Done:
    """`smc arguments...` in that directory and in this process: quicker, where nothing is about the process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(directory), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = cli.run([*map(str, arguments)])
    assert "Traceback" not in err.getvalue(), err.getvalue()
    return Done(code, out.getvalue(), err.getvalue())


class Processes:
    """Starts `smc` processes and makes sure that none outlives the test."""

    def __init__(self, directory: Path, environment: Mapping[str, str] = ENVIRONMENT) -> None:
        self.directory, self._environment = directory, environment
        for name in ("a", "b", "stranger"):
            create(name, ["127.0.0.1"], directory)
        self._running: list[subprocess.Popen[str]] = []

    def start(self, *arguments: object, stdin: str | None = None) -> subprocess.Popen[str]:
        """`smc arguments...` in the test's directory."""
        return self.start_python("-m", "parties.cli", *arguments, stdin=stdin)

    def start_python(self, *arguments: object, stdin: str | None = None) -> subprocess.Popen[str]:
        """A Python program, likewise."""
        process = subprocess.Popen(
            [sys.executable, *map(str, arguments)],
            cwd=self.directory,
            env=self._environment,
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._running.append(process)
        if stdin is not None and process.stdin is not None:
            process.stdin.write(stdin)
            process.stdin.close()
            process.stdin = None
        return process

    def wait(self, process: subprocess.Popen[str], deadline: float = PATIENCE) -> Done:
        """Its end, which must come before the deadline."""
        out, err = process.communicate(timeout=deadline)
        assert "Traceback" not in err, err
        return Done(process.returncode, out, err)

    def run(self, *arguments: object, stdin: str | None = None) -> Done:
        """Start and wait."""
        return self.wait(self.start(*arguments, stdin=stdin))

    def here(self, *arguments: object) -> Done:
        """`smc arguments...` in the test's directory and in this process."""
        return here(self.directory, *arguments)

    def link(self, own: str, peer: str) -> list[str]:
        """The identity part of LINK."""
        return ["--identity", f"{own}.key", "--certificate", f"{own}.crt", "--peer", f"{peer}.crt"]

    def listen(self, *arguments: object, peer: str = "b") -> tuple[subprocess.Popen[str], str]:
        """Start party 0; the process and the address it listens on, which stands behind its remarks."""
        process = self.start(*arguments, *self.link("a", peer), "--listen", "127.0.0.1:0")
        return process, self.address_of(process)

    def address_of(self, process: subprocess.Popen[str]) -> str:
        """The address in the line that a listening party writes behind its remarks."""
        assert process.stderr is not None
        said = []
        while not (said and said[-1].startswith("listening on ")) and (line := process.stderr.readline()):
            said.append(line.strip())
        assert said, "it says nothing"
        assert said[-1].startswith("listening on "), said
        return said[-1].removeprefix("listening on ")

    def pair(self, first: list[object], second: list[object]) -> tuple[Done, Done]:
        """Party 0 and party 1 with these arguments, to their ends."""
        zero, address = self.listen(*first)
        one = self.start(*second, *self.link("b", "a"), "--connect", address)
        return self.wait(zero), self.wait(one)

    def running(self) -> list[subprocess.Popen[str]]:
        """Those that were started and have not been seen to end."""
        return [process for process in self._running if process.returncode is None]

    def stop(self) -> None:
        """Kill what still runs."""
        for process in self._running:
            if process.poll() is None:
                process.kill()
                process.wait()
