"""Which kinds of jobs there are: those of this package, and those that other packages name as entry points.

A kind of ours is a file of this package: `release/naive_bayes.py` is the kind "release naive-bayes", its command
`smc release naive-bayes`, its table [release.naive-bayes] in party.toml. The class in it that has this `name` is the
kind, the first line of the file its line in lists of commands. A folder is a group of commands, and its `__init__.py`
has the group's line. What several kinds share stands in the other folders of `parties.jobs`.

    [project.entry-points."smc.kinds"]
    overlap = "their_package.overlap:Overlap"

Nothing of a kind is loaded before it is asked for: to list names costs no time.
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
DEFAULT = "id3"  # of a job file that names no protocol

_HOME = Path(__file__).parent
BUILT_IN = {  # their files
    " ".join(file.relative_to(_HOME).with_suffix("").parts).replace("_", "-"): file
    for file in sorted(_HOME.rglob("*.py"))
    if file.stem != "__init__"
}
GROUPS = {file.parent.name: file for file in sorted(_HOME.glob("*/__init__.py"))}  # of commands


def names() -> tuple[str, ...]:
    """Return all kinds, the built-in ones first."""
    return (*BUILT_IN, *sorted(plugins.offered(GROUP).keys() - BUILT_IN.keys()))


def group(name: str) -> str | None:
    """Return the group of commands that the kind's command stands in."""
    return next((group for group in GROUPS if name.startswith(f"{group} ")), None)


def with_one_name(words: list[str]) -> list[str]:
    """Return the words of a command; the two of a kind in a group, if they begin with these, as one name."""
    two = " ".join(words[:2])
    return [two, *words[2:]] if is_known(two) else words


def is_known(name: str) -> bool:
    """Return whether there is such a kind."""
    return name in BUILT_IN or name in plugins.offered(GROUP)


def line(name: str) -> str:
    """Return what a kind or a group asks, in a line; that of another package is its class's, see `Kind.__doc__`.

    Or why there is none to be had: one package that is broken must not hide all others.
    """
    if file := BUILT_IN.get(name) or GROUPS.get(name):
        with file.open(encoding="utf-8") as text:
            return text.readline().strip('"\n')
    try:
        return (find(name).__doc__ or name).strip().splitlines()[0]
    except InputError as error:
        return str(error)


def place(name: str) -> str:
    """Return the module of a kind or a group of ours."""
    return ".".join((__name__, *name.replace("-", "_").split()))


@cache
def find(name: str) -> type[Kind]:
    """Return the kind of that name. `InputError` if there is none, or several, or if its package cannot be loaded."""
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
