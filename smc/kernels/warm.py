"""Compilation of all kernels ahead of the first protocol run: python -m smc.kernels.warm.

It takes some ten seconds, once on a machine. Run it before a link is opened: otherwise the peer waits for it and the
meter counts it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable

from smc.kernels.native import Kernel, is_compiled, prepare

NOTICE = "compiling inner loops that were never used on this machine before; this takes up to half a minute"

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
        on_compiled: Called with modules done and modules to compile, before and after each; not called if there are
            none. Default: a line on standard error.
    """
    wanted = list(Kernel.registry if modules is None else modules)
    with _lock:
        absent = _absent(wanted)
        for done, module in enumerate(absent):
            on_compiled(done, len(absent))
            prepare(module)
        _seen.update(wanted)
        if absent:
            on_compiled(len(absent), len(absent))


def _absent(modules: Iterable[str]) -> list[str]:
    return [module for module in dict.fromkeys(modules) if module not in _seen and not is_compiled(module)]


if __name__ == "__main__":
    import smc.kernels  # noqa: F401 (lists the kernels)

    warm()
