"""A hierarchy of generalisation: what each value of a column becomes, level by level, up to one value for all.

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

ValueCodes: TypeAlias = NDArray[np.signedinteger[Any]]  # int32, or int16 where that suffices
TOP = "*"


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """`groups[h]` int32[values] is the number of each value's group at level h, `labels[h]` what the groups are called.

    Make one with `build`, which checks it. Groups are numbered in the order of the values.
    """

    column: str
    groups: tuple[ValueCodes, ...]
    labels: tuple[tuple[str, ...], ...]

    @property
    def values(self) -> tuple[str, ...]:
        """The values, level 0."""
        return self.labels[0]

    @property
    def height(self) -> int:
        """The number of the top level."""
        return len(self.groups) - 1

    @cached_property
    def index(self) -> dict[str, int]:
        """The number of each value."""
        return {value: i for i, value in enumerate(self.values)}

    @cached_property
    def penalties(self) -> tuple[NDArray[np.float64], ...]:
        """Of each group, level by level, the share of all values that it holds; 0 for one value alone.

        It is the normalised certainty penalty of a cell that becomes this group.
        """
        penalties = []
        for group in self.groups:
            sizes = np.bincount(group)
            penalties.append(np.where(sizes > 1, sizes / len(self.values), 0.0))
        return tuple(penalties)

    def parents(self, lower: int, upper: int) -> ValueCodes:
        """Return for each group at the lower level its group at the upper one: int32[groups]."""
        parents: ValueCodes = np.zeros(len(self.labels[lower]), dtype=np.int32)
        parents[self.groups[lower]] = self.groups[upper]
        return parents

    def common(self, values: ValueCodes) -> tuple[int, int]:
        """Return the lowest level at which these values, by number, are one group, and the group there."""
        for level, group in enumerate(self.groups):
            first = int(group[values[0]])
            if (group[values] == first).all():
                return level, first
        raise AssertionError("the top has one group")

    def code(self, value: str) -> int:
        """Return a value's number. `InputError` if it is not in the hierarchy."""
        code = self.index.get(value)
        if code is None:
            hint = did_you_mean(value, self.values)
            raise InputError(f"column {quoted(self.column)}: {quoted(value)} is not in its hierarchy{hint}")
        return code


def build(column: str, paths: Sequence[Sequence[str]]) -> Hierarchy:
    """Return the hierarchy of these paths: each a value and what it becomes, from level 1 to the top.

    `InputError` if paths differ in length, if a value has two parents, or if the top is not one value.
    """
    where = f"the hierarchy of column {quoted(column)}"
    if not paths:
        raise InputError(f"{where} has no values")
    height = len(paths[0])
    for path in paths:
        if len(path) != height:
            raise InputError(f"{where}: {quoted(path[0])} has {len(path)} levels, {quoted(paths[0][0])} has {height}")
    for level in range(height - 1):
        parents: dict[str, str] = {}
        for path in paths:
            known = parents.setdefault(path[level], path[level + 1])
            if known != path[level + 1]:
                two = f"{quoted(known)} and {quoted(path[level + 1])}"
                raise InputError(f"{where}: {quoted(path[level])} of level {level} has two parents, {two}")
    tops = list(dict.fromkeys(path[-1] for path in paths))
    if len(tops) > 1:
        two = f"{quoted(tops[0])} and {quoted(tops[1])}"
        raise InputError(f"{where}: the top must be one value, such as '*', and there are {two}")
    distinct = list({path[0]: path for path in paths}.values())
    labels = [tuple(dict.fromkeys(path[level] for path in distinct)) for level in range(height)]
    groups = []
    for level, names in enumerate(labels):
        number = {name: i for i, name in enumerate(names)}
        groups.append(np.array([number[path[level]] for path in distinct], dtype=np.int32))
    return Hierarchy(column, tuple(groups), tuple(labels))
