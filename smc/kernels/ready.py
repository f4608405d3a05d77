"""Compiler of the machine code that a wheel brings along, so that most x86-64 machines need neither numba nor LLVM.

`make wheel` runs `python -m smc.kernels.ready FOLDER`. A processor uses the highest level (`smc.kernels.processor`)
whose instructions it has; without one the kernels are compiled on the machine (`smc.kernels.native`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from smc.kernels import native
from smc.kernels.private_files import write
from smc.kernels.processor import LEVELS, Level, target_cpu


def build(folder: Path, levels: Iterable[Level] = LEVELS, modules: Iterable[str] = native.Kernel.registry) -> None:
    """Compile kernels, each level in a process of its own: numba reads its environment variables at import.

    Args:
        folder: Folder of the object files; made if it is missing.
        levels: Levels of x86-64 processors to compile for. Default: `LEVELS`, all of them.
        modules: Modules of kernels. Default: all.
    """
    program = f"from smc.kernels import ready; ready._build({str(folder)!r}, {list(modules)!r})"
    for level in levels:
        variables = os.environ | {"NUMBA_CPU_NAME": level.name, "NUMBA_CPU_FEATURES": level.features}
        subprocess.run([sys.executable, "-c", program], env=variables, check=True)


def _build(folder: str, modules: list[str]) -> None:
    (level,) = (level for level in LEVELS if level.name == target_cpu())
    for module in modules:
        write(Path(folder), native.ready_file(module, level), native.sealed(native.compiled(module)))


if __name__ == "__main__":
    import smc.kernels  # noqa: F401 (lists the kernels)

    build(Path(sys.argv[1]))
