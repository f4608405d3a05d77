"""Processors: Linux's description of this one, the levels with machine code in a wheel, and the target of LLVM."""

from __future__ import annotations

import os
import platform
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

CPUINFO = Path("/proc/cpuinfo")
# properties of a processor in Linux's description
DESCRIBED = ("vendor_id", "cpu family", "model", "model name", "stepping", "flags")


class Level(NamedTuple):
    """Processors with certain instructions: LLVM's name, Linux's flags for the instructions, LLVM's features."""

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
def described() -> dict[str, str]:
    """Return Linux's `DESCRIBED` properties of an x86-64 processor; empty elsewhere, or if they cannot be read."""
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        return {}
    try:
        first, _, _ = CPUINFO.read_text(encoding="utf-8", errors="replace").partition("\n\n")
    except OSError:  # a service may lack access to it
        return {}
    lines = [line.partition(":") for line in first.splitlines()]
    return {name.strip(): value.strip() for name, _, value in lines if name.strip() in DESCRIBED}


@cache
def level() -> Level | None:
    """Return the highest level that this processor has; None if there is none, or if it is unknown."""
    flags = set(described().get("flags", "").split())
    return next((level for level in LEVELS if level.flags <= flags), None)


@cache
def identity() -> str:
    """Return a text that identifies the processor: Linux's description on x86-64, else LLVM's, which is slow to get."""
    if len(properties := described()) == len(DESCRIBED):
        return repr(properties)
    import llvmlite.binding as llvm

    return repr((llvm.get_default_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()))


def target_cpu() -> str:
    """Return LLVM's name of the processor to compile for: the value of NUMBA_CPU_NAME, else this machine's."""
    import llvmlite.binding as llvm

    return os.environ.get("NUMBA_CPU_NAME") or llvm.get_host_cpu_name()


def target_features() -> str:
    """Return LLVM's names of the processor's features, each with + (use) or - (avoid), separated by commas."""
    import llvmlite.binding as llvm

    named = os.environ.get("NUMBA_CPU_FEATURES")
    return llvm.get_host_cpu_features().flatten() if named is None else named
