"""Optional packages: the extras of the distribution, and the command that installs each.

A module imports an optional package where it is used. The command line turns a failed import into the command
(`cli.run`); `needing` does so where a more exact message is possible.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from smc.errors import InputError

DISTRIBUTION = "smc-two-party"  # `smc` on the package index is another project

# The extra of each optional package, by its import name; the smallest one if several extras have it.
EXTRA_OF = {
    **dict.fromkeys(("numba", "llvmlite"), "compile"),
    **dict.fromkeys(("graphviz", "matplotlib"), "plots"),
    **dict.fromkeys(("duckdb", "ibis", "sqlglot", "pyarrow", "pyarrow_hotfix", "packaging"), "duckdb"),
    "opendp": "node",
    **dict.fromkeys(("starlette", "uvicorn", "jinja2", "httpx"), "node"),
    **dict.fromkeys(("structlog", "prometheus_client", "grpc_health", "authlib", "joserfc"), "node"),
    "openpyxl": "excel",
    "psycopg": "postgres",
    "MySQLdb": "mysql",
    "pyspark": "spark",
    "scipy": "tables",
    "ray": "ray",
    "phonenumbers": "phones",
    "pkcs11": "pkcs11",
    "sqlcipher3": "sealed",
    **dict.fromkeys(("sklearn", "narwhals", "onnx"), "notebook"),
}


def install_line(extra: str) -> str:
    """Return the command that installs an extra into the present environment."""
    python = Path(sys.executable)
    path = python.relative_to(Path.cwd()) if python.is_relative_to(Path.cwd()) else python
    return f"{shlex.quote(str(path))} -m pip install '{DISTRIBUTION}[{extra}]'"


def installed(*modules: str) -> bool:
    """Return whether all these packages are installed."""
    return all(find_spec(module) is not None for module in modules)


def remedy(error: ImportError) -> str | None:
    """Return the missing package and the command that installs it; None if it belongs to no extra."""
    package = (error.name or "").partition(".")[0]
    if package not in EXTRA_OF or not isinstance(error, ModuleNotFoundError):
        return None
    return f"needs more packages ({package} is not installed): {install_line(EXTRA_OF[package])}"


def require(what: str, *modules: str) -> None:
    """Raise InputError if a package is missing; the message has the command that installs it.

    Args:
        what: Place of the message: the option or format that needs the packages.
        modules: Modules of the packages.
    """
    for module in modules:
        if not installed(module):
            raise InputError(f"{what}: {remedy(ModuleNotFoundError(name=module))}")


@contextmanager
def importing(what: str) -> Iterator[None]:
    """Turn a missing package inside the `with` block into an ImportError that names the command to install it."""
    try:
        yield
    except ImportError as error:
        if (line := remedy(error)) is None:
            raise
        raise ImportError(f"{what}: {line}", name=error.name) from None


@contextmanager
def needing(what: str, extra: str | None = None) -> Iterator[None]:
    """Raise InputError with the command that installs the missing package, if an import in the block fails.

    Args:
        what: The feature that needs the package, for the message.
        extra: Extra to name. None: the smallest one that has the package; the ImportError passes if none has it.
    """
    try:
        yield
    except ImportError as error:
        line = remedy(error) if extra is None else f"needs more packages ({error}): {install_line(extra)}"
        if line is None:
            raise
        raise InputError(f"{what}: {line}") from None
