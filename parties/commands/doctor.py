"""Checks of this machine in `smc check`: space, locks, temporary folder, caches, gRPC's environment, processor."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from parties.base import console, temporary
from parties.base.machine_failure import advice, own_trouble
from parties.link import environment
from smc.errors import InputError

LEAST_BYTES = 200 << 20  # free bytes required for a job's records, copies and spill
LEAST_FILES = 1000


class Finding(NamedTuple):
    """Outcome of one check: `text` is the finding or the remedy."""

    ok: bool
    what: str
    text: str


def machine(state: Path) -> Iterator[Finding]:
    """Check this machine for a node with its records in the folder `state`."""
    yield _space(state)
    yield _locks(state)
    yield _temporary()
    yield _caches()
    yield grpc_environment()
    yield _processor()


def grpc_environment() -> Finding:
    """Check that gRPC does not end the process because of its environment variables."""
    try:
        environment.require_usable()
    except InputError as error:
        return Finding(False, "gRPC", str(error))
    return Finding(True, "gRPC", f"{environment.STRATEGY} is {os.environ.get(environment.STRATEGY, 'not set')}")


def _space(state: Path) -> Finding:
    there = next(folder for folder in (state.absolute(), *state.absolute().parents) if folder.exists())
    usage, facts = shutil.disk_usage(there), os.statvfs(there)
    if facts.f_flag & os.ST_RDONLY:
        return Finding(False, "space", f"{there} is mounted read-only: mount it read-write")
    if not os.access(there, os.W_OK | os.X_OK):
        return Finding(False, "space", f"{there} cannot be written: give this user the right to")
    if usage.free < LEAST_BYTES:
        return Finding(False, "space", f"{console.size(usage.free)} are free at {there}: make room")
    if facts.f_files and facts.f_favail < LEAST_FILES:
        return Finding(False, "space", f"{facts.f_favail} more files fit at {there}: remove some")
    return Finding(True, "space", f"{console.size(usage.free)} are free at {there}")


def _locks(state: Path) -> Finding:
    """Check that the records can be locked for writing; nothing is written."""
    from parties.node.records import database
    from parties.node.records.sealed import errors

    path = state / database.FILE_NAME
    if not path.exists():
        return Finding(True, "locks", "there are no records yet")
    try:
        with database.usable(path), closing(database.writable(path)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.rollback()
    except errors(InputError, OSError) as error:
        return Finding(False, "locks", advice(own_trouble(error)) or str(error))
    return Finding(True, "locks", f"{path} can be locked")


def _temporary() -> Finding:
    try:
        folder = temporary.ensure()
    except InputError as error:
        return Finding(False, "temporary files", str(error))
    free = shutil.disk_usage(folder).free
    enough = free >= LEAST_BYTES
    remedy = "" if enough else ": make room, or set TMPDIR"
    return Finding(enough, "temporary files", f"in {folder}, where {console.size(free)} are free{remedy}")


def _caches() -> Finding:
    """Check that compiled kernels can be cached: otherwise each process compiles them."""
    from smc.kernels.native import cache_directories
    from smc.kernels.private_files import UnsafeError, open_folder

    tried = []
    for folder in cache_directories():
        try:
            os.close(open_folder(folder))
        except (OSError, UnsafeError):
            tried.append(str(folder))
            continue
        if os.access(folder, os.W_OK):
            return Finding(True, "caches", f"compiled kernels are kept in {folder}")
        tried.append(str(folder))
    return Finding(False, "caches", f"none of {', '.join(tried)} can be written: set XDG_CACHE_HOME to one that can")


def _processor() -> Finding:
    """Check that the processor has AES, which all kernels need."""
    from smc.kernels.processor import described

    if processor := described():
        name, has_aes = processor.get("model name", "unknown"), "aes" in processor.get("flags", "").split()
    else:
        import llvmlite.binding as llvm

        arm = llvm.get_default_triple().startswith(("aarch64", "arm64"))
        name, has_aes = llvm.get_host_cpu_name(), arm or bool(llvm.get_host_cpu_features().get("aes"))
    if has_aes:
        return Finding(True, "processor", f"{name} has AES")
    return Finding(False, "processor", "has no AES instructions, which the kernels need: take another machine")
