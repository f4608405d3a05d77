"""Kinds of jobs of other packages: named in this process, or in a folder as `pip install` leaves it."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.metadata import EntryPoint
from pathlib import Path
from unittest import mock

import parties.node.policy.rules  # noqa: F401  # what rules can bound is settled when they are loaded: not within `registered`
from parties.base import plugins
from parties.jobs import kinds
from tests.support.places import ENVIRONMENT, ROOT


@contextmanager
def registered(*points: tuple[str, str], group: str = kinds.GROUP) -> Iterator[None]:
    """While it lasts, these are the entry points of the group, by default for kinds: (name, place)."""
    found = [EntryPoint(name, place, group) for name, place in points]
    with mock.patch.object(
        importlib.metadata, "entry_points", lambda *, group: [point for point in found if point.group == group]
    ):
        _forget()
        try:
            yield
        finally:
            _forget()


def installed(place: Path, points: Mapping[str, str], group: str = kinds.GROUP) -> dict[str, str]:
    """An environment in which a package, made in the folder `place`, names these classes, by default kinds."""
    package = place / "kinds_of_another-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: kinds-of-another\nVersion: 1.0\n")
    lines = "".join(f"{name} = {where}\n" for name, where in points.items())
    (package / "entry_points.txt").write_text(f"[{group}]\n{lines}")
    return ENVIRONMENT | {"PYTHONPATH": f"{place}:{ROOT}"}


def _forget() -> None:
    for cached in (plugins.offered, kinds.find):
        cached.cache_clear()
