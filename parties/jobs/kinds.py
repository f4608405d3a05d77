"""Which kinds of jobs there are: those of this package, and those that other packages name as entry points.

    [project.entry-points."smc.kinds"]
    overlap = "their_package.overlap:Overlap"

Nothing of a kind is loaded before it is asked for: to list names costs no time. A name of ours stays ours, whatever
other packages call theirs; of one that two others give nobody could say whose it is, and it is refused.
"""

from __future__ import annotations

import importlib
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from parties.base.text import did_you_mean, listed, printable, quoted
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.jobs.kind import Kind

GROUP = "smc.kinds"
DEFAULT = "id3"  # of a job file that names no protocol

BUILT_IN = {  # where each is, and its line in the list of commands
    "id3": ("parties.jobs.tree.id3:Id3", "Learn the decision tree of both parties' rows."),
    "millionaires": ("parties.jobs.small.millionaires:Millionaires", "Who has more?"),
    "equality": ("parties.jobs.small.equality:Equality", "Do both have the same number?"),
    "majority": ("parties.jobs.small.majority:Majority", "Which class do most rows of both parties have?"),
    "circuit": ("parties.jobs.small.circuit:Circuit", "Evaluate a Bristol circuit."),
    "release-count": ("parties.jobs.release.count:Count", "How many rows of both parties are such, with noise?"),
    "release-histogram": (
        "parties.jobs.release.histogram:Histogram",
        "How many have each value of a column, with noise?",
    ),
    "release-table": ("parties.jobs.release.table:Table", "How many have each combination of values, with noise?"),
    "release-sum": ("parties.jobs.release.sum:Sum", "What do a column's numbers add up to, with noise?"),
    "release-mean": ("parties.jobs.release.mean:Mean", "What is the mean of a column's numbers, with noise?"),
    "release-median": ("parties.jobs.release.median:Median", "What is the median of a column's numbers, with noise?"),
    "release-top": ("parties.jobs.release.top:Top", "Which values of a column are the most frequent, with noise?"),
    "release-triangles": (
        "parties.jobs.release.triangles:Triangles",
        "How many triangles does the graph of both parties' edges have, with noise?",
    ),
    "release-naive-bayes": (
        "parties.jobs.release.naive_bayes:NaiveBayes",
        "Learn a naive Bayes classifier, with noise.",
    ),
    "cluster": ("parties.jobs.cluster.cluster:Cluster", "Find clusters of the rows of both parties, with noise."),
    "regress-joint": (
        "parties.jobs.regress.joint:RegressJoint",
        "Learn a linear classifier of both parties' rows, with noise.",
    ),
    "release-marginals": (
        "parties.jobs.release.marginals:Marginals",
        "Count the values of columns together, for synthetic tables, with noise.",
    ),
    "synthesise": (
        "parties.jobs.synthesise.synthesise:Synthesise",
        "Make rows that are like those of both parties, with noise.",
    ),
    "publish-joint": ("parties.jobs.publish.joint:PublishJoint", "Find one recoding for the rows of both parties."),
    "publish-joint-table": (
        "parties.jobs.publish.table:JointTable",
        "Make a table of both parties' rows, small cells hidden.",
    ),
    "publish-lattice": (
        "parties.jobs.publish.lattice:PublishLattice",
        "Find one level of public hierarchies for the rows of both parties.",
    ),
}
GROUPS = {  # a kind GROUP-X is `smc GROUP X`
    "release": "Ask for numbers and models with noise: differential privacy.",
    "regress": "Learn a linear classifier with noise, together or from one's own rows.",
    "publish": "Publish rows of one's own so that nobody is found in them.",
}


@cache
def _others() -> dict[str, dict[str, EntryPoint]]:
    """Return the entry points of other packages: by name, and by the place that they name."""
    found: dict[str, dict[str, EntryPoint]] = {}
    for point in entry_points(group=GROUP):
        if point.name not in BUILT_IN:
            found.setdefault(point.name, {})[point.value] = point
    return found


def names() -> tuple[str, ...]:
    """Return all kinds, the built-in ones first."""
    return (*BUILT_IN, *sorted(_others()))


def group(name: str) -> str | None:
    """Return the group of commands that the kind's command stands in."""
    return next((group for group in GROUPS if name.startswith(f"{group}-")), None)


def command(name: str) -> str:
    """Return the command of a kind, as it is typed behind `smc`."""
    found = group(name)
    return name if found is None else f"{found} {name.removeprefix(found + '-')}"


def is_known(name: str) -> bool:
    """Return whether there is such a kind."""
    return name in BUILT_IN or name in _others()


def line(name: str) -> str:
    """Return what a kind asks, in a line; that of another package is the first line of the class's docstring.

    Or why there is none to be had: one package that is broken must not hide all others.
    """
    if name in BUILT_IN:
        return BUILT_IN[name][1]
    try:
        return (find(name).__doc__ or name).strip().splitlines()[0]
    except InputError as error:
        return str(error)


@cache
def find(name: str) -> type[Kind]:
    """Return the kind of that name. `InputError` if there is none, or several, or if its package cannot be loaded."""
    if name in BUILT_IN:
        module, attribute = BUILT_IN[name][0].split(":")
        kind: type[Kind] = getattr(importlib.import_module(module), attribute)
        return kind
    if name in GROUPS:
        members = [one for one in names() if group(one) == name]
        raise InputError(f"{quoted(name)} is a group of kinds of jobs: name one of {listed(members, len(members))}")
    if name not in _others():
        raise InputError(f"there is no kind of job {quoted(name)}{did_you_mean(name, names())}")
    place, *more = _others()[name]
    if more:
        raise InputError(f"the kind of job {quoted(name)} is there more than once: {', '.join([place, *more])}")
    point = _others()[name][place]
    try:
        kind = point.load()
    except Exception as error:  # whatever the other package does when it is loaded
        why = printable(f"{type(error).__name__}: {error}")
        raise InputError(f"the kind of job {quoted(name)} ({place}) cannot be loaded: {why}") from None
    return checked(kind, name, place)


def checked(kind: object, name: str, place: str) -> type[Kind]:
    """Return an object as a kind. `InputError` says what it lacks."""
    from parties.jobs.kind import Kind

    if not isinstance(kind, type) or not issubclass(kind, Kind):
        raise InputError(f"{place} is no kind of job: it must be a class made from parties.jobs.kind.Kind")
    if lacking := sorted(getattr(kind, "__abstractmethods__", ())):
        raise InputError(f"{place}: the kind of job {quoted(name)} lacks {', '.join(lacking)}")
    if getattr(kind, "name", None) != name:
        raise InputError(f"{place}: the kind calls itself {getattr(kind, 'name', None)!r}, its entry point {name!r}")
    return kind


def every() -> tuple[type[Kind], ...]:
    """Return all kinds."""
    return tuple(find(name) for name in names())
