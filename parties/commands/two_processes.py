"""Two party processes on this machine, connected over loopback with mutual TLS; and holders of rows beside them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path

from parties.base import console
from parties.link import identity
from smc.errors import InputError, LinkError

DEADLINE = 3600.0  # RSA for every gate of every circuit takes long; the parties notice a lost peer themselves
ANNOUNCEMENT = "listening on "
GRACE = 10.0  # seconds that a party has to end after the other one failed
EXIT_CODE = 2  # of a command whose input is wrong


def run_both(
    directory: Path,
    names: tuple[str, str],
    commands: tuple[Sequence[str], Sequence[str]],
    progress: str,
    holders: Mapping[str, Sequence[str]] | None = None,
) -> tuple[str, str]:
    """Run a command of `smc` as two parties with new identities, and return the standard output of each.

    Args:
        directory: Folder for their keys and certificates.
        names: The name of the listening party, and of the other.
        commands: Each party's command and options, without those of the link.
        progress: Line to show while they run.
        holders: Command of each further holder of rows by its name, without its keys. Default: none.

    Raises:
        InputError: A party's input was wrong.
        LinkError: A party failed otherwise, or did not finish within an hour.
    """
    holders = holders or {}
    for name in (*names, *holders):
        print_ = identity.short_fingerprint(identity.create(name, ["127.0.0.1"], directory).certificate)
        console.err.print(f"{name}: new key and certificate, fingerprint {print_}")
    listener = _start(directory, *names, [*commands[0], "--listen", "127.0.0.1:0"])
    try:
        address = _address(listener, names[0])
        console.err.print(f"{names[0]} listens on {address}; {names[1]} connects")
        dialler = _start(directory, *names[::-1], [*commands[1], "--connect", address])
        givers = [_start(directory, name, None, command) for name, command in holders.items()]
        try:
            with console.progress(progress) as status, status.waiting(progress, DEADLINE, first=30, again=30):
                first, second, *_ = _outputs((listener, dialler, *givers), (*names, *holders))
                return first, second
        finally:
            for process in (dialler, *givers):
                process.kill()
    finally:
        listener.kill()


def _outputs(processes: Sequence[subprocess.Popen[str]], names: Sequence[str]) -> list[str]:
    """Return the parties' outputs; if one fails, the others have a short time to end too."""
    with ThreadPoolExecutor(len(processes)) as pool:
        runs = [pool.submit(finish, process, name) for process, name in zip(processes, names, strict=True)]
        wait(runs, return_when=FIRST_EXCEPTION)
        if wait(runs, timeout=GRACE).not_done:
            for process in processes:
                process.kill()
    failures = [error for run in runs if (error := run.exception()) is not None]
    if failures:  # the other party's failure may follow from the first
        raise next((error for error in failures if isinstance(error, InputError)), failures[0])
    return [run.result() for run in runs]


def _start(directory: Path, name: str, peer: str | None, command: Sequence[str]) -> subprocess.Popen[str]:
    link = ["--identity", f"{directory / name}.key", "--certificate", f"{directory / name}.crt"]
    link += [] if peer is None else ["--peer", f"{directory / peer}.crt"]
    full = [sys.executable, "-P", "-m", "parties", *command, *link]
    return subprocess.Popen(full, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _address(listener: subprocess.Popen[str], name: str) -> str:
    assert listener.stderr is not None
    last = "no output"
    while line := listener.stderr.readline():
        last = line.strip()
        if last.startswith(ANNOUNCEMENT):
            return last.removeprefix(ANNOUNCEMENT)
    kind = InputError if listener.wait() == EXIT_CODE else LinkError
    raise kind(f"{name} did not start: {last.removeprefix('smc: ')}")


def finish(process: subprocess.Popen[str], name: str) -> str:
    """Wait for a party, and return its standard output.

    Args:
        process: The party's process; its standard error is a pipe.
        name: The party's name, for errors.

    Raises:
        InputError: Its input was wrong.
        LinkError: It failed otherwise, or did not finish within an hour.
    """
    try:
        output, errors = process.communicate(timeout=DEADLINE)
    except subprocess.TimeoutExpired:
        raise LinkError(f"{name} did not finish within {DEADLINE:g} s; try again") from None
    if process.returncode:
        last = errors.strip().splitlines()[-1:] or ["no message"]
        kind = InputError if process.returncode == EXIT_CODE else LinkError
        raise kind(f"{name} failed: {last[0].removeprefix('smc: ')}")
    return output or ""
