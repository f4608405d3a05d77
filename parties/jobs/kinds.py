"""Which kinds of jobs there are: those of this package, and those that other packages name as entry points.

    [project.entry-points."smc.kinds"]
    overlap = "their_package.overlap:Overlap"

Nothing of a kind is loaded before it is asked for: to list names costs no time.
"""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from parties.base import plugins
from parties.base.text import did_you_mean, listed, quoted
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.jobs.kind import Kind

    BUILT_IN: dict[str, tuple[str, str]]

GROUP = "smc.kinds"
WHAT = "kind of job"
_NAMED = re.compile(r'^    name(?:, \w+)* = "([a-z0-9 -]+)"', re.MULTILINE)
_CLASS = re.compile(r'^class (\w+)(?:[^"]*?"""(.+?)""")?.*?(?=^[\w@]|\Z)', re.MULTILINE | re.DOTALL)
DEFAULT = "id3"  # of a job file that names no protocol

_LISTED = {  # where each is, and its line in the list of commands
    "id3": ("parties.jobs.tree.id3:Id3", "Learn the decision tree of both parties' rows."),
    "millionaires": ("parties.jobs.small.millionaires:Millionaires", "Who has more?"),
    "equality": ("parties.jobs.small.equality:Equality", "Do both have the same number?"),
    "majority": ("parties.jobs.small.majority:Majority", "Which class do most rows of both parties have?"),
    "circuit": ("parties.jobs.small.circuit:Circuit", "Evaluate a Bristol circuit."),
    "release count": ("parties.jobs.release.count:Count", "How many rows of both parties are such, with noise?"),
    "release histogram": (
        "parties.jobs.release.histogram:Histogram",
        "How many have each value of a column, with noise?",
    ),
    "release table": ("parties.jobs.release.table:Table", "How many have each combination of values, with noise?"),
    "release sum": ("parties.jobs.release.sum:Sum", "What do a column's numbers add up to, with noise?"),
    "release mean": ("parties.jobs.release.mean:Mean", "What is the mean of a column's numbers, with noise?"),
    "release deviation": (
        "parties.jobs.release.deviation:Deviation",
        "What is the standard deviation of a column's numbers, with noise?",
    ),
    "release correlation": (
        "parties.jobs.release.correlation:Correlation",
        "How do two columns of numbers go together, with noise?",
    ),
    "release median": ("parties.jobs.release.median:Median", "What is the median of a column's numbers, with noise?"),
    "release top": ("parties.jobs.release.top:Top", "Which values of a column are the most frequent, with noise?"),
    "release choose": (
        "parties.jobs.release.choose:Choose",
        "Which candidate is best for the rows of both parties, with noise?",
    ),
    "release triangles": (
        "parties.jobs.release.triangles:Triangles",
        "How many triangles does the graph of both parties' edges have, with noise?",
    ),
    "release naive-bayes": (
        "parties.jobs.release.naive_bayes:NaiveBayes",
        "Learn a naive Bayes classifier, with noise.",
    ),
    "rules": (
        "parties.jobs.rules.rules:AssociationRules",
        "Which values go together, and which rules follow, in the rows of both parties?",
    ),
    "cluster": ("parties.jobs.cluster.cluster:Cluster", "Find clusters of the rows of both parties, with noise."),
    "regress joint": (
        "parties.jobs.regress.joint:RegressJoint",
        "Learn a linear classifier of both parties' rows, with noise.",
    ),
    "release marginals": (
        "parties.jobs.release.marginals:Marginals",
        "Count the values of columns together, for synthetic tables, with noise.",
    ),
    "synthesise": (
        "parties.jobs.synthesise.synthesise:Synthesise",
        "Make rows that are like those of both parties, with noise.",
    ),
    "publish joint": ("parties.jobs.publish.joint:PublishJoint", "Find one recoding for the rows of both parties."),
    "publish joint-table": (
        "parties.jobs.publish.table:JointTable",
        "Make a table of both parties' rows, small cells hidden.",
    ),
    "publish lattice": (
        "parties.jobs.publish.lattice:PublishLattice",
        "Find one level of public hierarchies for the rows of both parties.",
    ),
}


def _in_files() -> dict[str, tuple[str, str]]:
    """Return the kinds of this package that the table does not name, by their files: a class with a `name` of its own.

    No file is loaded or parsed, for some starts wait for this; the line is the first sentence of the docstring.
    """
    listed = {place.partition(":")[0] for place, _ in _LISTED.values()}
    kinds_found: dict[str, tuple[str, str]] = {}
    for file in sorted(Path(__file__).parent.glob("*/*.py")):
        module = f"parties.jobs.{file.parent.name}.{file.stem}"
        if module in listed or not _NAMED.search(text := file.read_text(encoding="utf-8")):
            continue
        for written in _CLASS.finditer(text):
            if (named := _NAMED.search(written[0])) and named[1] not in _LISTED:
                line = re.split(r"(?<=[.?])\s", written[2] or written[1])[0]
                kinds_found[named[1]] = f"{module}:{written[1]}", line
    return kinds_found


@cache
def _built_in() -> dict[str, tuple[str, str]]:
    return _LISTED | _in_files()


def __getattr__(name: str) -> dict[str, tuple[str, str]]:
    if name == "BUILT_IN":
        return _built_in()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


GROUPS = {  # of commands: the kind "release sum" is `smc release sum`, and [release.sum] in party.toml
    "release": "Ask for numbers and models with noise: differential privacy.",
    "regress": "Learn a linear classifier with noise, together or from one's own rows.",
    "survive": "Learn how long the rows of both parties survive, or whether arms differ.",
    "evaluate": "Judge scores and models on the rows of both parties, or whether tables differ.",
    "publish": "Publish rows of one's own so that nobody is found in them.",
    "test": "Ask whether a difference or a dependence is more than chance.",
}


def names() -> tuple[str, ...]:
    """Return all kinds, the built-in ones first."""
    return (*_built_in(), *sorted(plugins.offered(GROUP).keys() - _built_in().keys()))


def is_built_in(name: str) -> bool:
    """Return whether a kind is of this package; the files are searched for it only if it is not in the table."""
    return name in _LISTED or name in _built_in()


def group(name: str) -> str | None:
    """Return the group of commands that the kind's command stands in."""
    return next((group for group in GROUPS if name.startswith(f"{group} ")), None)


def with_one_name(words: list[str]) -> list[str]:
    """Return the words of a command; the two of a kind in a group, if they begin with these, as one name."""
    two = " ".join(words[:2])
    return [two, *words[2:]] if is_known(two) else words


def is_known(name: str) -> bool:
    """Return whether there is such a kind."""
    return is_built_in(name) or name in plugins.offered(GROUP)


def _of_ours(name: str) -> tuple[str, str]:
    return _LISTED.get(name) or _built_in()[name]


def line(name: str) -> str:
    """Return what a kind asks, in a line; that of another package is the first line of the class's docstring.

    Or why there is none to be had: one package that is broken must not hide all others.
    """
    if is_built_in(name):
        return _of_ours(name)[1]
    try:
        return (find(name).__doc__ or name).strip().splitlines()[0]
    except InputError as error:
        return str(error)


@cache
def find(name: str) -> type[Kind]:
    """Return the kind of that name. `InputError` if there is none, or several, or if its package cannot be loaded."""
    if is_built_in(name):
        module, attribute = _of_ours(name)[0].split(":")
        kind: type[Kind] = getattr(importlib.import_module(module), attribute)
        return kind
    if name in GROUPS:
        members = [member for member in names() if group(member) == name]
        raise InputError(f"{quoted(name)} is a group of kinds of jobs: name one of {listed(members, len(members))}")
    if name not in plugins.offered(GROUP):
        raise InputError(f"there is no kind of job {quoted(name)}{did_you_mean(name, names())}")
    return plugins.loaded(GROUP, name, _base(), WHAT)


def checked(kind: object, name: str, place: str) -> type[Kind]:
    """Return an object as a kind. `InputError` says what it lacks."""
    return plugins.checked(kind, name, place, _base(), WHAT)


def _base() -> type[Kind]:
    from parties.jobs.kind import Kind

    return Kind


def every() -> tuple[type[Kind], ...]:
    """Return all kinds."""
    return tuple(find(name) for name in names())
