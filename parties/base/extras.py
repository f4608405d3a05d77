"""What is installed only if asked for: the extras of the distribution, and the line that installs each.

What needs a package imports it where it is used; the command line turns the failure into the line (`cli.run`), and
`needing` does so where a more exact message can be given.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from smc.errors import InputError

DISTRIBUTION = "smc-two-party"  # `smc` on the package index is somebody else's

# The extra of each package that the core lacks, by the name it is imported by. More than one extra may bring a
# package: here stands the smallest.
EXTRA_OF = {
    **dict.fromkeys(("graphviz", "matplotlib"), "plots"),
    "opendp": "node",
    **dict.fromkeys(("starlette", "uvicorn", "jinja2", "httpx"), "node"),
    **dict.fromkeys(("structlog", "prometheus_client", "grpc_health", "authlib", "joserfc"), "node"),
    "psycopg": "postgres",
    "MySQLdb": "mysql",
    "pyspark": "spark",
    "scipy": "tables",
    "ray": "ray",
    "pkcs11": "pkcs11",
    "sqlcipher3": "sealed",
    **dict.fromkeys(("sklearn", "narwhals", "onnx"), "notebook"),
}


def install_line(extra: str) -> str:
    """Return the command that installs an extra, into the environment that this program runs in."""
    python = Path(sys.executable)
    path = python.relative_to(Path.cwd()) if python.is_relative_to(Path.cwd()) else python
    return f"{shlex.quote(str(path))} -m pip install '{DISTRIBUTION}[{extra}]'"


def installed(*modules: str) -> bool:
    """Return whether all these packages are there to be imported."""
    return all(find_spec(module) is not None for module in modules)


def remedy(error: ImportError) -> str | None:
    """Return what is missing and the line that installs it; None if the failed import is of no extra."""
    package = (error.name or "").partition(".")[0]
    if package not in EXTRA_OF or not isinstance(error, ModuleNotFoundError):
        return None
    return f"needs more packages ({package} is not installed): {install_line(EXTRA_OF[package])}"


def require(what: str, *modules: str) -> None:
    """Raise `InputError` with the line that installs the first of these packages that is missing; `what` needs them."""
    for module in modules:
        if not installed(module):
            raise InputError(f"{what}: {remedy(ModuleNotFoundError(name=module))}")


@contextmanager
def importing(what: str) -> Iterator[None]:
    """Give the same for a package that is imported by a program: an `ImportError`, as Python has it, with the line."""
    try:
        yield
    except ImportError as error:
        if (line := remedy(error)) is None:
            raise
        raise ImportError(f"{what}: {line}", name=error.name) from None


@contextmanager
def needing(what: str, extra: str | None = None) -> Iterator[None]:
    """Raise `InputError` with the line that installs what is missing, if an import in the block fails; `what` needs it.

    `extra` is named whichever of its packages is missing; without it, the smallest one that has the package.
    """
    try:
        yield
    except ImportError as error:
        line = remedy(error) if extra is None else f"needs more packages ({error}): {install_line(extra)}"
        if line is None:
            raise
        raise InputError(f"{what}: {line}") from None
