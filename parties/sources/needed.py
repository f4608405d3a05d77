"""Packages that only some sources need."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from smc.errors import InputError


@contextmanager
def needing(extra: str, place: str) -> Iterator[None]:
    """`InputError` that names the extra to install, if an import in the block fails."""
    try:
        yield
    except ImportError as error:
        raise InputError(f"{place}: needs more packages ({error}): pip install 'smc[{extra}]'") from None
