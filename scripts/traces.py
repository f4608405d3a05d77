"""Follow compiled kernels instruction by instruction, with two sets of secrets: the traces must be the same.

    python -m scripts.traces                       (or: make traces)
    python -m scripts.traces --only gmw --limit 20000

Two runs of the same small programs, with different inputs and randomness, give each kernel's arguments twice. If
shapes, numbers and public arrays of both agree, a child process calls the kernel with each set at the same addresses.
It is the same machine code that the protocols call. The child is stepped through with ptrace(2). The comparison covers
the address of every instruction, and every address of memory that an instruction reads or writes. If the traces are
equal, no branch and no index depends on the values that differ. The time of a single instruction is not measured: here
we rely on the processor. Where its documents say so, AES, shifts, additions and products of vectors take the same time
for all operands.

valgrind was not suitable: it supports neither AVX-512 nor the machine code that really runs. Its counts are also equal
for two branches of equal length.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from iced_x86 import Decoder, InstructionInfoFactory, Register

from parties.base.files import write_text
from parties.bench import machine
from protocols.alignment.fast import match_fast
from protocols.alignment.hidden import HiddenMatching, match_hidden
from protocols.alignment.keys import tokens
from protocols.alignment.matching import Matching
from protocols.millionaires import comparison
from smc.engines import Choice, Engine, Profile, engine_of, make_engine
from smc.kernels.native import Kernel
from smc.local import run_local
from smc.ot.vole import VoleParameters, VoleReceiver, VoleSender
from smc.session import Session

LIMIT = 30_000  # instructions of a call that are followed
CALLS = 3  # calls of a kernel that are compared, of different sizes
BATCHES = (1, 5, 70)  # one, an odd number, and more than the gates of one key
# places of random arguments that both parties know
SEEDS = {"lpn.grow": (7,), "lpn.grow_punctured": (6,), "lpn.encode": (0,)}
PUBLIC = ("int32", "int64")  # arrays of these types have positions, not secrets
# kernels that count a party's own rows, or place their keys; others learn of their time only by the clock
LOCAL = ("histogram.", "rows.", "band.read", "band.solve", "cuckoo.", "neighbours.")
FEW = (VoleParameters(trees=28, depth=4, log_secret=5), VoleParameters(trees=22, depth=5, log_secret=6))
PROFILES = [
    Profile("yao", "iknp"),
    Profile("yao", "softspoken2", "three-halves"),
    Profile("gmw", "softspoken4"),
    Profile("gmw", table_gates=True),
    Profile("mixed"),
    Profile("lean", "ferret"),
]

PAGE = """# Traces of compiled code

Kernels are compiled inner loops that compute on secrets. `make traces` writes this page. It calls
each kernel of the protocols with two sets of secrets at the same addresses. It follows the first
{limit:,} instructions of a call, one by one. You see in the table:

- the number of calls;
- the number of addresses that were followed: of instructions, and of memory that they read or
  write;
- whether these addresses are the same for both sets of secrets.

The protocols run this very machine code on this processor: {processor}.
Another processor gets other code, so run `make traces` there. The trace does not cover the time
that an instruction takes. It does not cover the work of Python and NumPy around kernels, in whole
arrays.

Kernels whose branches or addresses follow a party's own rows are not followed here. They count
these rows for the party itself, or place their keys in a fast or hidden matching. Their time
depends on the rows. The peer can see this time only by the clock.

{table}
"""

Arguments = tuple[Any, ...]


class DivergedError(Exception):
    """The traces differ, or a call could not be followed; the message says where or why."""


# <sys/ptrace.h> and <sys/user.h> of Linux on x86-64.
TRACE_ME, PEEK, POKE, CONTINUE, STEP, REGISTERS, SET_REGISTERS = 0, 1, 4, 7, 9, 12, 13
NAMES = (
    *("R15", "R14", "R13", "R12", "RBP", "RBX", "R11", "R10", "R9", "R8", "RAX", "RCX", "RDX", "RSI", "RDI"),
    *("ORIG_RAX", "RIP", "CS", "EFLAGS", "RSP"),
)
COUNT = 27  # number of registers in the structure
RIP, RSP = NAMES.index("RIP"), NAMES.index("RSP")
PLACES = {getattr(Register, name): place for place, name in enumerate(NAMES) if place not in (15, 17, 18)}
BREAK = 0xCC
VECTORS = {getattr(Register, f"{size}MM{number}") for size in "XYZ" for number in range(32)}

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.restype = ctypes.c_long
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]


def _ptrace(request: int, child: int, address: int = 0, data: int = 0) -> int:
    ctypes.set_errno(0)
    result: int = _libc.ptrace(request, child, address, data)
    if ctypes.get_errno():
        raise OSError(ctypes.get_errno(), f"ptrace: {os.strerror(ctypes.get_errno())}")
    return result


class Memory:
    """Computes the memory addresses of an instruction from the registers; each instruction is decoded once."""

    def __init__(self) -> None:
        self._factory = InstructionInfoFactory()
        self._operands: dict[int, list[tuple[int | None, int | None, int, int]]] = {}

    def of(self, registers: ctypes.Array[ctypes.c_uint64]) -> Iterator[int]:
        """Yield the memory addresses of the next instruction."""
        place = registers[RIP]
        if place not in self._operands:
            self._operands[place] = self._decoded(place)
        for base, index, scale, displacement in self._operands[place]:
            address = displacement
            if base is not None:
                address += registers[base]
            if index is not None:
                address += registers[index] * scale
            yield address & 0xFFFF_FFFF_FFFF_FFFF

    def _decoded(self, place: int) -> list[tuple[int | None, int | None, int, int]]:
        """Return base, index, scale and displacement of each memory operand of the instruction at an address.

        The code is the same in this process and in the child.
        """
        instruction = Decoder(64, ctypes.string_at(place, 15), ip=place).decode()
        if instruction.is_invalid:
            raise DivergedError("an instruction that the decoder does not know")
        operands: list[tuple[int | None, int | None, int, int]] = []
        for used in self._factory.info(instruction).used_memory():
            if used.index in VECTORS:
                raise DivergedError(f"{instruction}: memory by a vector of indices, which this does not follow")
            base = None if used.base in (Register.NONE, Register.RIP) else PLACES[used.base]
            index = None if used.index == Register.NONE else PLACES[used.index]
            operands.append((base, index, used.scale, used.displacement))
        return operands


def trace(function: Any, flat: Sequence[int], limit: int) -> list[int]:
    """Call a function of ctypes in a child; return the addresses of its instructions and their memory, in order.

    Args:
        function: The function.
        flat: Its arguments, as integers.
        limit: Largest number of instructions; then the child is ended.
    """
    entry = ctypes.cast(function, ctypes.c_void_p).value
    assert entry is not None
    child = os.fork()
    if child == 0:
        try:
            _ptrace(TRACE_ME, 0)
            os.kill(os.getpid(), signal.SIGSTOP)
            function(*flat)
        finally:
            os._exit(0)
    try:
        os.waitpid(child, 0)
        word = _ptrace(PEEK, child, entry)
        _ptrace(POKE, child, entry, (word & ~0xFF) | BREAK)
        _ptrace(CONTINUE, child)
        _, status = os.waitpid(child, 0)
        if not (os.WIFSTOPPED(status) and os.WSTOPSIG(status) == signal.SIGTRAP):
            raise DivergedError("the kernel was not reached")
        _ptrace(POKE, child, entry, word)
        registers = (ctypes.c_uint64 * COUNT)()
        place = ctypes.addressof(registers)
        _ptrace(REGISTERS, child, data=place)
        registers[RIP] = entry
        _ptrace(SET_REGISTERS, child, data=place)
        outside, memory, found = registers[RSP], Memory(), []
        for _ in range(limit):
            found.append(registers[RIP])
            found += memory.of(registers)
            _ptrace(STEP, child)
            _, status = os.waitpid(child, 0)
            if not os.WIFSTOPPED(status):
                raise DivergedError("the child has ended within the kernel")
            _ptrace(REGISTERS, child, data=place)
            if registers[RSP] > outside:  # the function has returned
                break
        return found
    finally:
        with suppress(ProcessLookupError, ChildProcessError):  # the child has ended already
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def program(engine: Engine, values: np.ndarray[Any, Any]) -> None:
    """Compare, select and multiply: the operations that make up all protocols."""
    left, right = engine.both(values)
    engine.reveal(engine.run(comparison(8, False), left, right)[0])
    word = engine.words.select([Choice(left[:1], [[-3]])], 8)[0][0]
    engine.words.multiply(right, 0, word, 20)


def matching(value: int, session: Session) -> None:
    """Match five keys by the fast and the hidden method, and make entries of vector OLE in several iterations."""
    keys = tokens([[(f"{value} {row}",) for row in range(5)]], session.party)
    match_fast(session, Matching((5, 5), fast=True), keys)
    engine, columns = make_engine(session, "lean"), np.full((5, 1), value & 1)
    match_hidden(engine, HiddenMatching((5, 5), (2, 2), (0, 1)), keys, columns)
    (VoleReceiver if session.party else VoleSender)(session, "entries", FEW).entries(300)


@contextmanager
def recording(calls: dict[str, dict[Any, Arguments]]) -> Iterator[None]:
    """Record the arguments of kernels' calls in the block: by kernel, then by their public parts.

    Public parts are shapes, numbers, and whole arrays of the types `PUBLIC`. The first call of each is recorded.
    """
    call = Kernel.__call__

    def recorded(self: Kernel, *arguments: Any) -> None:
        public = tuple(
            (value.shape, value.tobytes() if value.dtype in PUBLIC else None)
            if isinstance(value, np.ndarray)
            else value
            for value in arguments
        )
        mine = calls.setdefault(self.symbol, {})
        if public not in mine:
            mine[public] = tuple(value.copy() if isinstance(value, np.ndarray) else value for value in arguments)
        call(self, *arguments)

    Kernel.__call__ = recorded  # type: ignore[method-assign]
    try:
        yield
    finally:
        Kernel.__call__ = call  # type: ignore[method-assign]


def observed(profiles: Sequence[Profile]) -> dict[str, list[tuple[Arguments, Arguments]]]:
    """Return pairs of arguments with equal public parts from two runs, by the kernel's symbol; small ones first."""
    runs: list[dict[str, dict[Any, Arguments]]] = []
    for value in (0, 255):
        calls: dict[str, dict[Any, Arguments]] = {}
        with recording(calls):
            for profile in profiles:
                for batch in BATCHES:
                    values = np.full((8, batch), value & 1, dtype=np.uint8)
                    run_local(partial(_with_engine, profile, values))
            run_local(partial(matching, value))
        runs.append(calls)
    one, other = runs
    pairs = {}
    for symbol, first in one.items():
        second = other.get(symbol, {})
        both = [(arguments, second[public]) for public, arguments in first.items() if public in second]
        pairs[symbol] = sorted(both, key=lambda pair: sum(getattr(value, "nbytes", 8) for value in pair[0]))
    return pairs


def _with_engine(profile: Profile, values: np.ndarray[Any, Any], session: Session) -> None:
    program(engine_of(session, profile), values)


def compare(function: Any, one: Arguments, other: Arguments, limit: int = LIMIT, public: Sequence[int] = ()) -> int:
    """Follow a function of ctypes with both sets of arguments at the same addresses, and compare the traces.

    Args:
        function: The function.
        one: The first set of arguments.
        other: The second set.
        limit: Largest number of instructions that are followed.
        public: Numbers of array arguments for which both calls use the array of `one`.

    Returns:
        The number of addresses in each trace.

    Raises:
        DivergedError: The traces differ.
    """
    places = [value.copy() if isinstance(value, np.ndarray) else value for value in one]
    flat: list[int] = []
    for value in places:
        flat += (value.ctypes.data, *value.shape) if isinstance(value, np.ndarray) else (int(value),)
    traces = []
    for arguments in (one, other):
        for number, (place, value) in enumerate(zip(places, arguments, strict=True)):
            if isinstance(place, np.ndarray) and (number not in public or arguments is one):
                place[...] = value
        traces.append(trace(function, flat, limit))
    for number, (left, right) in enumerate(zip(*traces, strict=False)):
        if left != right:
            raise DivergedError(f"parts at address {number:,}")
    if len(traces[0]) != len(traces[1]):
        raise DivergedError(f"takes {len(traces[0]):,} addresses and {len(traces[1]):,}")
    return len(traces[0])


def rows(profiles: Sequence[Profile], only: str, limit: int, calls: int = CALLS) -> Iterator[tuple[str, int, int, str]]:
    """Yield for each kernel its name, the followed calls, the followed addresses, and the verdict."""
    pairs = observed(profiles)
    for kernel in sorted(
        chain.from_iterable(Kernel.registry.values()), key=lambda kernel: (kernel.module, kernel.name)
    ):
        name = f"{kernel.module}.{kernel.name}"
        if only not in name:
            continue
        if name.startswith(LOCAL):
            yield name, 0, 0, "not followed: a party's own rows"
            continue
        found = pairs.get(kernel.symbol, [])
        if not found:
            yield name, 0, 0, "NOT CALLED"
            continue
        chosen = [found[place] for place in sorted({0, len(found) // 2, len(found) - 1})][:calls]
        try:
            followed = [compare(kernel.function, *pair, limit=limit, public=SEEDS.get(name, ())) for pair in chosen]
        except DivergedError as diverged:
            yield name, len(chosen), 0, f"DIFFERS: {diverged}"
            continue
        yield name, len(chosen), sum(followed), "the same"


def main() -> int:
    """Print a row for each kernel; return 1 if two traces differ or a kernel was not called."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="only kernels with TEXT in their names")
    parser.add_argument("--limit", type=int, default=LIMIT, help="instructions of a call that are followed")
    parser.add_argument("--out", type=Path, help="the page to write")
    arguments = parser.parse_args()
    table = ["| kernel | calls | addresses followed | traces |", "|---|---:|---:|---|"]
    bad = False
    for name, calls, followed, verdict in rows(PROFILES, arguments.only, arguments.limit):
        table.append(f"| `{name}` | {calls or ''} | {f'{followed:,}' if followed else ''} | {verdict} |")
        print(table[-1], flush=True)
        bad |= verdict.isupper() or verdict.startswith("DIFFERS")
    if arguments.out:
        write_text(
            arguments.out,
            PAGE.format(limit=arguments.limit, processor=machine.facts()["processor"], table="\n".join(table)),
        )
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
