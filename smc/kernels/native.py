"""Kernels: inner loops written in Python, compiled once by numba, then loaded from an object file.

A `Kernel` names a function of a module of this package and the types of its arguments. The first use of any kernel of a
module loads the module's object file from the cache. If there is none, numba compiles all kernels of the module and the
file is written. A program whose kernels are compiled never imports numba, which would double its start-up time. It does
not import LLVM either if `objects` can load the file. Kernels run without the interpreter lock.

A wheel brings such files for common processors (`smc.kernels.ready`). The name of every other file contains a digest of
the kernels' sources, of llvmlite's version (each line of numba has its own) and of the processor, so a change of any of
them compiles anew. The file begins with the SHA-256 of the code, so a damaged file is
compiled anew too. It is read only if no user except this one and root could have written it (`private_files`): every
user reads files that root has compiled, for example while installing. If neither the package's folder nor the user's
cache can be written, the file goes to a folder of this user below the system's temporary directory. One process
compiles at a time, or several that it starts (`warm`): the others wait for a lock on that folder, and then read its
file.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from smc.kernels import objects, processor
from smc.kernels.private_files import UnsafeError, lock, open_folder, read, write

if TYPE_CHECKING:  # otherwise loaded on use: to compile, or for an object file in a form that `objects` cannot load
    import llvmlite.binding as llvm

PACKAGE = __name__.rpartition(".")[0]
# Modules from which the modules of kernels are built.
SHARED_SOURCES = (
    "aes", "block", "field", "gate_walk", "hash_keys", "limits", "linear_hash", "native", "processor", "transposition",
)  # fmt: skip
DIGEST_BYTES = 32
READY = Path(__file__).parent / "ready"  # machine code of a wheel
C_FUNCTIONS = ("memset", "memcpy", "memmove")  # LLVM replaces plain loops by calls of these functions
ITEMS = {
    "u8": np.uint8, "i32": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64, "f64": np.float64,
}  # fmt: skip


def _silent(module: str) -> None:
    del module


def _to_stderr(refusal: str) -> None:
    sys.stderr.write(f"smc: {refusal}\n")


on_compile: Callable[[str], None] = _silent  # called before numba compiles a module, which takes seconds
# called for machine code that is not loaded, because other users could have written it
on_refusal: Callable[[str], None] = _to_stderr


class Kernel:
    """Compiled function of arrays and 64-bit integers, e.g. `Kernel("bits", "transpose", "u8[,]", "u64[,]")`.

    A type is an item type for a scalar (i64, u64), or an item type with brackets for a C-ordered array of one or more
    dimensions: `u64[]`, `u64[,]`. Results are written to arrays. Wrong dtypes, dimensions and layouts raise a
    TypeError.
    """

    registry: ClassVar[dict[str, list[Kernel]]] = {}

    def __init__(self, module: str, name: str, *types: str) -> None:
        self.module = module
        self.name = name
        self.types = types
        self._arrays = [
            (np.dtype(ITEMS[kind.partition("[")[0]]), kind.count(",") + 1) if "[" in kind else None for kind in types
        ]
        self.registry.setdefault(module, []).append(self)

    def __call__(self, *arguments: Any) -> None:
        """Run the kernel."""
        if len(arguments) != len(self._arrays):
            raise TypeError(f"kernel {self.name} takes {len(self._arrays)} arguments, got {len(arguments)}")
        flat: list[int] = []
        for argument, array in zip(arguments, self._arrays, strict=True):
            if array is None:
                flat.append(int(argument))
                continue
            if argument.dtype != array[0] or argument.ndim != array[1] or not argument.flags.c_contiguous:
                raise TypeError(
                    f"kernel {self.name} takes a C-ordered array of {array[0]} in {array[1]} dimensions, "
                    f"got {argument.dtype} in {argument.ndim}"
                )
            flat.append(argument.__array_interface__["data"][0])
            flat += argument.shape
        self.function(*flat)

    @cached_property
    def function(self) -> Callable[..., None]:
        """Machine code as a function of addresses and lengths; it releases the interpreter lock."""
        width = sum(1 if array is None else 1 + array[1] for array in self._arrays)
        prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * width)  # releases the interpreter lock
        return prototype(prepare(self.module)[self.symbol])

    @property
    def symbol(self) -> str:
        """Name of the function in the object file."""
        return f"smc_{self.module}_{self.name}"


Addresses = Mapping[str, int]  # addresses of functions by their symbols
_loaded: dict[str, Addresses] = {}  # loaded functions by module
_engines: list[object] = []  # LLVM's engines: they own the loaded code
_lock = threading.Lock()


def prepare(module: str) -> Addresses:
    """Return the addresses of a module's functions; its machine code is loaded once in a process."""
    with _lock:
        if module not in _loaded:
            code, symbols = _machine_code(module), [kernel.symbol for kernel in Kernel.registry[module]]
            functions = {name: _address(name) for name in C_FUNCTIONS}
            _loaded[module] = objects.load(code, symbols, functions, _address("abort")) or _by_llvm(code, symbols)
        return _loaded[module]


def _address(c_function: str) -> int:
    return ctypes.cast(getattr(ctypes.CDLL(None), c_function), ctypes.c_void_p).value or 0


def _by_llvm(code: bytes, symbols: list[str]) -> Addresses:
    import llvmlite.binding as llvm

    machine = _target_machine()
    for name in C_FUNCTIONS:
        llvm.add_symbol(name, _address(name))
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    _engines.append(engine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    # Looked up now: LLVM loses the addresses once numba has compiled something in this process.
    return {symbol: int(engine.get_function_address(symbol)) for symbol in symbols}


def _target_machine() -> llvm.TargetMachine:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=processor.target_cpu(),
        features=processor.target_features(),
        opt=3,
        reloc="default",
        codemodel="jitdefault",
        jit=True,
    )


def _machine_code(module: str) -> bytes:
    """Return the object code of a module: from the cache, or compiled and then cached if possible."""
    if (code := _stored(module, on_refusal)) is not None:
        return code
    with compiling():
        if (code := _stored(module, _silent)) is not None:  # another process has compiled it
            return code
        on_compile(module)
        return store(module)


def store(module: str) -> bytes:
    """Compile a module, cache its object code and return it; this or the starting process holds the lock."""
    code = compiled(module)
    keep(_file(module), sealed(code))
    return code


def is_compiled(module: str) -> bool:
    """Return whether the code of a module is loaded or in the cache."""
    return module in _loaded or _stored(module, _silent) is not None


def _file(module: str) -> str:
    """Return the name of the object file that is compiled on this machine."""
    import llvmlite

    return f"{module}-{fingerprint(module, llvmlite.__version__, processor.identity())}.o"


def ready_file(module: str, level: processor.Level) -> str:
    """Return the name of the object file that a wheel has for a module and a processor level.

    Args:
        module: Name of the kernel module.
        level: Level of x86-64 that the file is compiled for.
    """
    return f"{module}-{level.name}-{fingerprint(module, level.name)}.o"


def _files(module: str) -> Iterator[tuple[Path, str]]:
    """Yield folder and name of each file that may hold a module's code, the preferred one first."""
    if level := processor.level():
        yield READY, ready_file(module, level)
    with suppress(ImportError):  # without a compiler nothing was compiled here
        name = _file(module)
        yield from ((directory, name) for directory in cache_directories())


def sealed(code: bytes) -> bytes:
    """Return the content of an object file: the digest of the code, and the code."""
    return hashlib.sha256(code).digest() + code


def _stored(module: str, refused: Callable[[str], None]) -> bytes | None:
    """Return the object code of a module from a file, or None; call `refused` for each file that is not read."""
    for directory, name in _files(module):
        try:
            stored = read(directory, name)
        except UnsafeError as unsafe:
            refused(f"{unsafe}: the compiled kernels in {directory} are not used")
            continue
        except OSError:
            continue
        if sealed(code := stored[DIGEST_BYTES:]) == stored:
            return code
    return None


@contextmanager
def compiling() -> Iterator[bool]:
    """Hold the lock of the first writable cache directory. Yield False if there is none.

    Without such a directory, each process compiles for itself.
    """
    with ExitStack() as held:
        for directory in cache_directories():
            try:
                folder = open_folder(directory)
            except (OSError, UnsafeError):
                continue
            held.callback(os.close, folder)  # closing the folder releases the lock
            lock(folder)
            yield True
            return
        yield False


def fingerprint(module: str, *target: str) -> str:
    """Return a digest of all inputs of the compilation.

    Args:
        module: The module of the kernels; its sources and prototypes enter the digest.
        target: Compiler and processor.
    """
    state = hashlib.sha256()
    for part in (*SHARED_SOURCES, module):
        state.update(source(part))
    prototypes = [(kernel.name, kernel.types) for kernel in Kernel.registry[module]]
    state.update(repr((prototypes, *target)).encode())
    return state.hexdigest()[:32]


@cache
def source(module: str) -> bytes:
    """Return the source of a module of this package."""
    spec = find_spec(f"{PACKAGE}.{module}")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_bytes()


def cache_directories() -> Iterator[Path]:
    """Yield the cache directories for the compiled code, the preferred one first."""
    yield Path(__file__).parent / "__pycache__"
    home = os.environ.get("XDG_CACHE_HOME")
    with suppress(RuntimeError):  # a user without a home directory
        yield (Path(home) if home else Path.home() / ".cache") / "smc"
    # For services without a writable home; the folder's owner is checked as everywhere.
    with suppress(FileNotFoundError):  # no folder for temporary files
        yield Path(tempfile.gettempdir()) / f"smc-kernels-{os.geteuid()}"


def cached(name: str) -> Iterator[bytes]:
    """Yield the content of each file with this name in the cache directories.

    Skip a file if a user other than this one and root could have written it or its directory.
    """
    for directory in cache_directories():
        with suppress(OSError, UnsafeError):
            yield read(directory, name)


def keep(name: str, data: bytes) -> None:
    """Write a file to the first cache directory that can be written, if there is any.

    Args:
        name: Name of the file.
        data: Content of the file.
    """
    for directory in cache_directories():
        with suppress(OSError, UnsafeError):
            write(directory, name, data)
            return


def compiled(module: str) -> bytes:
    """Compile all kernels of a module to object code. Only this function needs numba."""
    import llvmlite.binding as llvm

    functions = import_module(f"{PACKAGE}.{module}")
    linked = llvm.parse_assembly("")
    for kernel in Kernel.registry[module]:
        linked.link_in(_bitcode(kernel, getattr(functions, kernel.name)))
    linked.verify()
    code: bytes = _target_machine().emit_object(linked)
    return code


def _bitcode(kernel: Kernel, function: Callable[..., Any]) -> llvm.ModuleRef:
    """Return one kernel as LLVM bitcode, under its symbol, with a C interface: an array is address and lengths."""
    import llvmlite.binding as llvm
    from numba import carray, cfunc, njit, types  # type: ignore[attr-defined]

    items = {name: getattr(types, np.dtype(item).name) for name, item in ITEMS.items()}
    parameters: list[str] = []
    values: list[str] = []
    signature: list[Any] = []
    for number, kind in enumerate(kernel.types):
        item, bracket, commas = kind.partition("[")
        if not bracket:
            parameters.append(f"a{number}")
            values.append(f"a{number}")
            signature.append(items[item])
            continue
        lengths = [f"n{number}_{axis}" for axis in range(commas.count(",") + 1)]
        parameters += [f"a{number}", *lengths]
        values.append(f"carray(a{number}, ({', '.join(lengths)},))")
        signature += [types.CPointer(items[item]), *[types.int64] * len(lengths)]  # type: ignore[no-untyped-call]
    inner = njit(error_model="numpy", nogil=True)(function)
    # numba compiles no function of variable arity: the wrapper has to be written out.
    source = f"def {kernel.symbol}({', '.join(parameters)}):\n    inner({', '.join(values)})\n"
    scope: dict[str, Any] = {"inner": inner, "carray": carray}
    exec(source, scope)  # noqa: S102
    compiled = cfunc(types.void(*signature), error_model="numpy")(scope[kernel.symbol])
    text = compiled.inspect_llvm().replace(compiled.native_name, kernel.symbol)
    return llvm.parse_assembly(text)
