"""What is installed only if asked for: the extras of the distribution, and the line that installs each."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from smc.errors import InputError

DISTRIBUTION = "smc-two-party"  # `smc` on the package index is somebody else's


def install_line(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


@contextmanager
def needing(extra: str, what: str) -> Iterator[None]:
    """`InputError` that names the extra to install, if an import in the block fails; `what` needs it."""
    try:
        yield
    except ImportError as error:
        raise InputError(f"{what}: needs more packages ({error}): {install_line(extra)}") from None
