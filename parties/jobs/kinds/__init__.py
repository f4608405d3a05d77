"""The registry of kinds of jobs: those of this package, and entry points of other packages.

A built-in kind is one file here. `release/naive_bayes.py` holds the kind "release naive-bayes": the command `smc
release naive-bayes` and the table [release.naive-bayes] of party.toml. The kind is the class in the file whose `name`
matches. The first line of the file describes the kind in lists of commands. A folder is a group of commands; the first
line of its `__init__.py` describes the group. The other folders of `parties.jobs` hold code that several kinds share.

    [project.entry-points."smc.kinds"]
    overlap = "their_package.overlap:Overlap"

Listing names loads no kind.
"""

from __future__ import annotations

import importlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from parties.base import plugins
from parties.base.text import did_you_mean, listed, quoted
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.jobs.kind import Kind

GROUP = "smc.kinds"
WHAT = "kind of job"
DEFAULT = "id3"  # the kind of a job file without `protocol`

_HOME = Path(__file__).parent
BUILT_IN = {  # name to file
    " ".join(file.relative_to(_HOME).with_suffix("").parts).replace("_", "-"): file
    for file in sorted(_HOME.rglob("*.py"))
    if file.stem != "__init__"
}
GROUPS = {file.parent.name: file for file in sorted(_HOME.glob("*/__init__.py"))}  # command group to file


def names() -> tuple[str, ...]:
    """Return the names of all kinds, the built-in ones first."""
    return (*BUILT_IN, *sorted(plugins.offered(GROUP).keys() - BUILT_IN.keys()))


def group(name: str) -> str | None:
    """Return the command group of a kind, or None."""
    return next((group for group in GROUPS if name.startswith(f"{group} ")), None)


def with_one_name(words: list[str]) -> list[str]:
    """Return the words of a command. If the first two name a kind in a group, they become one word."""
    two = " ".join(words[:2])
    return [two, *words[2:]] if is_known(two) else words


def is_known(name: str) -> bool:
    """Return True if there is a kind of this name, without loading its module."""
    return name in BUILT_IN or name in plugins.offered(GROUP)


def line(name: str) -> str:
    """Return a one-line description of a kind or a group.

    If the package of the kind is broken, return its error: the list must still show all others.
    """
    if file := BUILT_IN.get(name) or GROUPS.get(name):
        with file.open(encoding="utf-8") as text:
            return text.readline().strip('"\n')
    try:
        return (find(name).__doc__ or name).strip().splitlines()[0]
    except InputError as error:
        return str(error)


def place(name: str) -> str:
    """Return the module path of a built-in kind or group."""
    return ".".join((__name__, *name.replace("-", "_").split()))


@cache
def find(name: str) -> type[Kind]:
    """Return the kind of this name.

    Raises:
        InputError: No kind or several kinds have this name, or the package of the kind cannot be loaded.
    """
    if name in BUILT_IN:
        module = importlib.import_module(place(name))
        for kind in plugins.made_in(module, _base()):
            if kind.name == name:
                return kind
        raise InputError(f"{BUILT_IN[name]}: no class in it is the kind of job {quoted(name)}: check its name")
    if name in GROUPS:
        members = [member for member in names() if group(member) == name]
        raise InputError(f"{quoted(name)} is a group of kinds of jobs: name one of {listed(members, len(members))}")
    if name not in plugins.offered(GROUP):
        raise InputError(f"there is no kind of job {quoted(name)}{did_you_mean(name, names())}")
    return plugins.loaded(GROUP, name, _base(), WHAT)


def checked(kind: object, name: str, place: str) -> type[Kind]:
    """Return an object as a kind of job. Raise InputError with the missing methods if it is not one.

    Args:
        kind: The loaded object.
        name: Name under which it is registered.
        place: Module and class, for messages.
    """
    return plugins.checked(kind, name, place, _base(), WHAT)


def _base() -> type[Kind]:
    from parties.jobs.kind import Kind

    return Kind


def every() -> tuple[type[Kind], ...]:
    """Return all kinds."""
    return tuple(find(name) for name in names())
