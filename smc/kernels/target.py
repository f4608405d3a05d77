"""Processor that LLVM compiles for: this machine's, or the one that numba's variables of the environment name."""

from __future__ import annotations

import os

import llvmlite.binding as llvm


def cpu() -> str:
    """Return LLVM's name of the processor."""
    return os.environ.get("NUMBA_CPU_NAME") or llvm.get_host_cpu_name()


def features() -> str:
    """Return LLVM's names of the instructions that the code may use, each with + or -, separated by commas."""
    named = os.environ.get("NUMBA_CPU_FEATURES")
    return llvm.get_host_cpu_features().flatten() if named is None else named
