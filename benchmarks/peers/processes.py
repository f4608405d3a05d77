"""Run the processes of one computation together: timed until the last ends, and none is left running."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack
from pathlib import Path
from socket import create_server

Command = Sequence[str]


class RunError(Exception):
    """A process failed or did not end in time; the message is one line."""


def free_ports(count: int) -> list[int]:
    """Return different TCP ports that are free on the loopback address now."""
    with ExitStack() as stack:
        servers = [stack.enter_context(create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [server.getsockname()[1] for server in servers]


def run_together(
    commands: Sequence[Command], directory: Path, deadline: float, environment: Mapping[str, str] | None = None
) -> tuple[float, list[str]]:
    """Run all commands at once in `directory`, and return the seconds in all and the output of each.

    The time is from the start of the first process to the end of the last. Raise RunError as soon as one exits with an
    error, or after `deadline` seconds. All processes have ended on return.
    """
    with ExitStack() as stack:
        prints = [directory / f"process{i}" for i in range(len(commands))]
        running: list[subprocess.Popen[bytes]] = []
        pool = stack.enter_context(ThreadPoolExecutor(len(commands)))
        stack.callback(_kill, running)  # before the pool is left, for its threads wait for the processes
        files = [stack.enter_context(open(f"{path}.{kind}", "wb")) for path in prints for kind in ("out", "err")]
        start = time.perf_counter()
        for command, out, err in zip(commands, files[::2], files[1::2], strict=True):
            process = subprocess.Popen(
                command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err
            )
            running.append(process)
        # Threads that wait without a timeout see an end at once; with one, Python would look only every 50 ms.
        ends = [pool.submit(_wait, process, path) for process, path in zip(running, prints, strict=True)]
        done, pending = wait(ends, timeout=deadline, return_when=FIRST_EXCEPTION)
        seconds = time.perf_counter() - start
        for end in done:
            end.result()
        if pending:
            raise RunError(f"{len(pending)} of {len(commands)} processes had not ended after {deadline:g} s")
    return seconds, [path.with_suffix(".out").read_text(encoding="utf-8") for path in prints]


def _wait(process: subprocess.Popen[bytes], prints: Path) -> None:
    """Wait until the process ends. If it fails, raise RunError with the last line that it wrote."""
    code = process.wait()
    if code == 0:
        return
    for kind in (".err", ".out"):
        lines = prints.with_suffix(kind).read_text(encoding="utf-8", errors="replace").strip().splitlines()
        if lines:
            raise RunError(f"exit code {code}: {lines[-1]}")
    raise RunError(f"exit code {code}, without a word")


def _kill(processes: Sequence[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.kill()
        process.wait()
