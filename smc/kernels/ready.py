"""Machine code that a wheel brings along, for two levels of x86-64: such a machine needs neither numba nor LLVM.

`python -m smc.kernels.ready FOLDER` compiles all kernels for both levels; `make wheel` calls it. A processor uses the
highest level whose instructions it has; without one the kernels are compiled on the machine (`smc.kernels.native`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from smc.kernels import native
from smc.kernels.native import Kernel
from smc.kernels.private_files import write

FOLDER = Path(__file__).parent / "ready"


class Level(NamedTuple):
    """Processors with certain instructions: Linux's names of them, and LLVM's names of processor and features."""

    name: str
    flags: frozenset[str]
    features: str


_V3 = "aes avx avx2 bmi1 bmi2 f16c fma abm movbe pclmulqdq"
# The highest level first. LLVM's default for v4 are registers of half the width, which suits older processors.
LEVELS = (
    Level(
        "x86-64-v4",
        frozenset(f"{_V3} avx512f avx512bw avx512cd avx512dq avx512vl vaes vpclmulqdq".split()),
        "+aes,+pclmul,+avx512f,+vaes,+vpclmulqdq,-prefer-256-bit",
    ),
    Level("x86-64-v3", frozenset(_V3.split()), "+aes,+pclmul"),
)


@cache
def level() -> Level | None:
    """Return the highest level that this processor has; None if there is none, or if it is unknown."""
    flags = set(native.described().get("flags", "").split())
    return next((level for level in LEVELS if level.flags <= flags), None)


def file_name(module: str, level: Level) -> str:
    """Return the name of the object file of a module for a level; it contains the digest of the sources."""
    return f"{module}-{level.name}-{native.fingerprint(module, level.name)}.o"


def build(folder: Path, levels: Iterable[Level] = LEVELS, modules: Iterable[str] = Kernel.registry) -> None:
    """Compile kernels, each level in a process of its own: numba reads its variables when it is imported.

    Args:
        folder: Folder of the object files; made if it is missing.
        levels: Processors to compile for.
        modules: Modules of kernels.
    """
    program = f"from smc.kernels import ready; ready._build({str(folder)!r}, {list(modules)!r})"
    for level in levels:
        variables = os.environ | {"NUMBA_CPU_NAME": level.name, "NUMBA_CPU_FEATURES": level.features}
        subprocess.run([sys.executable, "-c", program], env=variables, check=True)


def _build(folder: str, modules: list[str]) -> None:
    from smc.kernels import target

    (level,) = (level for level in LEVELS if level.name == target.cpu())
    for module in modules:
        write(Path(folder), file_name(module, level), native.sealed(native.compiled(module)))


if __name__ == "__main__":
    import smc.kernels  # noqa: F401 (lists the kernels)

    build(Path(sys.argv[1]))
