"""Compilation of all kernels ahead of the first protocol run: python -m smc.kernels.warm.

It takes some ten seconds, once on a machine. Run it before a link is opened: otherwise the peer waits for it and the
meter counts it. Each core compiles a share of the modules, in a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from importlib import import_module

from smc.kernels.native import Kernel, compiling, is_compiled, prepare, source

NOTICE = "compiling inner loops that were never used on this machine before; this takes up to half a minute"
POLL_SECONDS = 0.1

_seen: set[str] = set()  # modules known to be compiled, which are not checked again
_lock = threading.Lock()  # a second thread waits while the first one compiles

OnCompiled = Callable[[int, int], None]  # called with the number of compiled modules of kernels, and the number of all


def on_standard_error(done: int, total: int) -> None:
    """Print a line when the compilation begins; on a terminal the line shows the progress.

    Args:
        done: Modules of kernels compiled so far.
        total: Modules of kernels to compile.
    """
    if sys.stderr is None:
        return
    if sys.stderr.isatty():
        print(f"\rsmc: {NOTICE}  {done}/{total}", end="\n" if done == total else "", file=sys.stderr, flush=True)
    elif not done:
        print(f"smc: {NOTICE}", file=sys.stderr, flush=True)


def warm(modules: Iterable[str] | None = None, on_compiled: OnCompiled = on_standard_error) -> None:
    """Compile the kernels of modules that are not in the cache yet.

    Cached kernels are loaded by their first call, which takes milliseconds.

    Args:
        modules: Modules of `smc.kernels`, such as `Profile.kernels`. None: all.
        on_compiled: Called with the numbers of modules done and to compile, at the start and after each module; not
            called if there are none to compile. Default: a line on standard error.
    """
    wanted = list(Kernel.registry if modules is None else modules)
    with _lock:
        absent = _absent(wanted)
        if absent:
            import_module("llvmlite")  # a missing package is reported in place of the notice
            on_compiled(0, len(absent))
        for done, module in enumerate(_in_processes(absent), 1):
            prepare(module)
            on_compiled(done, len(absent))
        _seen.update(wanted)


def _in_processes(modules: Sequence[str]) -> Iterator[str]:
    """Compile modules to the cache, in a process for each core, and yield each once it is compiled.

    A single module is not compiled here, nor one whose process failed, nor any if nothing can be cached.
    """
    absent, running = list(modules), list[subprocess.Popen[bytes]]()
    try:
        with ExitStack() as held:
            if len(absent) > 1 and held.enter_context(compiling()):
                running = [_process(share) for share in _shares(absent) if share]
                while absent and any(process.poll() is None for process in running):
                    time.sleep(POLL_SECONDS)
                    compiled = [*filter(is_compiled, absent)]
                    absent = [module for module in absent if module not in compiled]
                    yield from compiled
    finally:
        for process in running:
            process.kill()
            process.wait()
    yield from absent


def _shares(modules: Iterable[str]) -> list[list[str]]:
    """Divide modules among the cores: the time to compile a module is nearly proportional to its source."""
    shares: list[list[str]] = [[] for _ in range(_cores())]
    for module in sorted(modules, key=lambda module: len(source(module)), reverse=True):
        min(shares, key=lambda share: sum(len(source(module)) for module in share)).append(module)
    return shares


def _process(modules: Sequence[str]) -> subprocess.Popen[bytes]:
    program = f"import smc.kernels; from smc.kernels.native import store; [*map(store, {modules!r})]"
    return subprocess.Popen(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _absent(modules: Iterable[str]) -> list[str]:
    return [module for module in dict.fromkeys(modules) if module not in _seen and not is_compiled(module)]


if __name__ == "__main__":
    import smc.kernels  # noqa: F401 (lists the kernels)

    warm()
