"""Which kinds of jobs there are: those of this package, and those that other packages name as entry points.

    [project.entry-points."smc.kinds"]
    overlap = "their_package.overlap:Overlap"

Nothing of a kind is loaded before it is asked for: to list names costs no time.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from parties.text import did_you_mean, quoted
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.jobs.kind import Kind

GROUP = "smc.kinds"
DEFAULT = "id3"  # of a job file that names no protocol

BUILT_IN = {  # where each is, and its line in the list of commands
    "id3": ("parties.jobs.id3:Id3", "Learn the decision tree of both parties' rows."),
    "millionaires": ("parties.jobs.millionaires:Millionaires", "Who has more?"),
    "equality": ("parties.jobs.equality:Equality", "Do both have the same number?"),
    "majority": ("parties.jobs.majority:Majority", "Which class do most rows of both parties have?"),
    "circuit": ("parties.jobs.circuit:Circuit", "Evaluate a Bristol circuit."),
}


@cache
def _others() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP) if point.name not in BUILT_IN}


def names() -> tuple[str, ...]:
    """All kinds, the built-in ones first."""
    return (*BUILT_IN, *sorted(_others()))


def is_known(name: str) -> bool:
    """Whether there is such a kind."""
    return name in BUILT_IN or name in _others()


def line(name: str) -> str:
    """What a kind asks, in a line; that of another package is the first line of the class's docstring."""
    return BUILT_IN[name][1] if name in BUILT_IN else (find(name).__doc__ or name).strip().splitlines()[0]


@cache
def find(name: str) -> type[Kind]:
    """The kind of that name. `InputError` if there is none, or if its package cannot be loaded."""
    if name in BUILT_IN:
        module, attribute = BUILT_IN[name][0].split(":")
        kind: type[Kind] = getattr(importlib.import_module(module), attribute)
        return kind
    if name not in _others():
        raise InputError(f"there is no kind of job {quoted(name)}{did_you_mean(name, names())}")
    point = _others()[name]
    try:
        kind = point.load()
    except Exception as error:  # whatever the other package does when it is loaded
        raise InputError(f"the kind of job {quoted(name)} ({point.value}) cannot be loaded: {error}") from None
    return checked(kind, name, point.value)


def checked(kind: object, name: str, place: str) -> type[Kind]:
    """An object as a kind. `InputError` says what it lacks."""
    from parties.jobs.kind import Kind

    if not isinstance(kind, type) or not issubclass(kind, Kind):
        raise InputError(f"{place} is no kind of job: it must be a class made from parties.jobs.kind.Kind")
    if lacking := sorted(getattr(kind, "__abstractmethods__", ())):
        raise InputError(f"{place}: the kind of job {quoted(name)} lacks {', '.join(lacking)}")
    if getattr(kind, "name", None) != name:
        raise InputError(f"{place}: the kind calls itself {getattr(kind, 'name', None)!r}, its entry point {name!r}")
    return kind


def every() -> tuple[type[Kind], ...]:
    """All kinds."""
    return tuple(find(name) for name in names())
