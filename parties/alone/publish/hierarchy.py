"""Hierarchy of generalisation: the ancestors of each value of a column, level by level, up to one top value.

Level 0 has the values themselves, each level above fewer groups of them. As in the definition of a domain's
generalisation hierarchy (P. Samarati, "Protecting respondents' identities in microdata release", 2001), each value of a
level has one parent, and the top has one value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parties.base.text import did_you_mean, quoted
from smc.errors import InputError

ValueCodes: TypeAlias = NDArray[np.integer[Any]]  # mostly uint8, if that suffices
TOP = "*"


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Generalisation hierarchy of a column; `build` makes a checked one.

    Attributes:
        column: name of the column
        groups: for each level, the group of each value, uint[values]; groups are numbered in the order of the values
        labels: for each level, the names of its groups
    """

    column: str
    groups: tuple[ValueCodes, ...]
    labels: tuple[tuple[str, ...], ...]

    @property
    def values(self) -> tuple[str, ...]:
        """Values of the column, level 0."""
        return self.labels[0]

    @property
    def height(self) -> int:
        """Number of the top level."""
        return len(self.groups) - 1

    @cached_property
    def index(self) -> dict[str, int]:
        """Code of each value."""
        return {value: i for i, value in enumerate(self.values)}

    @cached_property
    def penalties(self) -> tuple[NDArray[np.float64], ...]:
        """For each level, the share of all values in each group; 0 for a group of one value.

        It is the normalised certainty penalty of a cell generalised to this group.
        """
        penalties = []
        for group in self.groups:
            sizes = np.bincount(group)
            penalties.append(np.where(sizes > 1, sizes / len(self.values), 0.0))
        return tuple(penalties)

    def parents(self, lower: int, upper: int) -> ValueCodes:
        """Return the group at the upper level of each group at the lower level, uint[groups].

        Args:
            lower: number of the lower level
            upper: number of the upper level
        """
        parents: ValueCodes = np.zeros(len(self.labels[lower]), dtype=self.groups[upper].dtype)
        parents[self.groups[lower]] = self.groups[upper]
        return parents

    def common(self, values: ValueCodes) -> tuple[int, int]:
        """Return the lowest level at which values (codes) are in one group, and this group."""
        for level, group in enumerate(self.groups):
            first = int(group[values[0]])
            if (group[values] == first).all():
                return level, first
        raise AssertionError("the top has one group")

    def code(self, value: str) -> int:
        """Return the code of a value; raise InputError if the hierarchy lacks it."""
        code = self.index.get(value)
        if code is None:
            hint = did_you_mean(value, self.values)
            raise InputError(f"column {quoted(self.column)}: {quoted(value)} is not in its hierarchy{hint}")
        return code


def build(column: str, paths: Sequence[Sequence[str]]) -> Hierarchy:
    """Return a generalisation hierarchy from the path of each value to the top.

    Args:
        column: name of the column
        paths: for each value, the value and its ancestors from level 1 to the top

    Raises:
        InputError: paths differ in length, a value has two parents, or the top is not one value
    """
    where = f"the hierarchy of column {quoted(column)}"
    if not paths:
        raise InputError(f"{where} has no values; list at least one")
    height = len(paths[0])
    for path in paths:
        if len(path) != height:
            raise InputError(
                f"{where}: {quoted(path[0])} has {len(path)} levels, {quoted(paths[0][0])} has {height}; give all "
                "values equally many"
            )
    for level in range(height - 1):
        parents: dict[str, str] = {}
        for path in paths:
            parent = parents.setdefault(path[level], path[level + 1])
            if parent != path[level + 1]:
                two = f"{quoted(parent)} and {quoted(path[level + 1])}"
                raise InputError(f"{where}: {quoted(path[level])} of level {level} has two parents, {two}; keep one")
    tops = list(dict.fromkeys(path[-1] for path in paths))
    if len(tops) > 1:
        two = f"{quoted(tops[0])} and {quoted(tops[1])}"
        raise InputError(f"{where}: the top level must have one value, such as '*', but has {two}")
    distinct = list({path[0]: path for path in paths}.values())
    labels = [tuple(dict.fromkeys(path[level] for path in distinct)) for level in range(height)]
    groups = []
    for level, names in enumerate(labels):
        number = {name: i for i, name in enumerate(names)}
        groups.append(np.array([number[path[level]] for path in distinct], np.min_scalar_type(len(names) - 1)))
    return Hierarchy(column, tuple(groups), tuple(labels))
