"""Description of the machine of a measurement: processor, cores, memory, system, versions. No host names, no paths."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from smc.kernels.processor import described

PACKAGES = ("numpy", "numba", "cryptography", "grpcio", "gmpy2", "pynacl")  # packages that determine the speed


def facts(packages: Iterable[str] = PACKAGES) -> dict[str, Any]:
    """Return the machine as a JSON object, with the versions of the given packages that are installed.

    `cores` are those that this process may use; `memory_gb` is main memory in 10^9 bytes, to one decimal.
    """
    return {
        "processor": described().get("model name") or platform.processor() or platform.machine(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": dict(_versions(packages)),
    }


def _versions(packages: Iterable[str]) -> Iterator[tuple[str, str]]:
    for name in packages:
        with suppress(PackageNotFoundError):
            yield name, version(name)
