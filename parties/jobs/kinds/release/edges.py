"""Find edges that cut a column into equal parts, with noise.

The column's public numbers are joined into `groups` of neighbours. Each party counts its rows in each group. Edge k is
the start of the first group below which lie at least k / parts of all rows, k = 1, ..., parts - 1. Equal edges count
once.

With noise, the counts of all groups are opened with discrete Laplace noise, and the edges follow from their sums. A row
is in one group of each column, and the columns share epsilon. Let e be a column's part of epsilon. The sum over i
groups has an error of about sqrt(2 i) / e rows, whatever the number of edges.

Without noise, only the group that starts each edge is opened. A circuit compares parts F(j) >= k n, where F(j) are the
rows below group j and n are all rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field
from typing_extensions import override

from parties.base.settings import required
from parties.base.text import listed
from parties.jobs.kind import Description
from parties.jobs.release import presenting
from parties.jobs.release.kind import Release
from parties.jobs.release.question import Part, Question, own_vector, plain, sums
from parties.jobs.release.reading import marginals
from parties.jobs.release.settings import ReleaseSettings
from parties.jobs.release.values import read
from parties.jobs.settings import Columns, public
from protocols.arrays import Numbers

if TYPE_CHECKING:
    from parties.jobs.kind import Document
    from protocols.counts import Rows
    from smc.circuit import Form, Netlist
    from smc.engines import Engine


class EdgesSettings(ReleaseSettings):
    """Settings of `smc release edges`."""

    numeric: Columns | None = public(
        None, "Columns of numbers", "Columns to find edges for, separated by commas", column=True
    )
    parts: Annotated[int, Field(strict=True, ge=2, le=100)] = public(
        10, "Parts", "Number of equal parts: 10 = deciles, 4 = quartiles"
    )
    groups: Annotated[int, Field(strict=True, ge=2, le=4096)] = public(
        200,
        "Groups",
        "Maximum number of groups of neighbouring numbers that are counted for each column. An edge is always the "
        "start of a group",
    )


class Edges(Release):
    """Find edges that cut the rows of both parties into equal parts of a column. Both learn the edges,
    for a common schema (smc schema --edges).

    The counts of groups of neighbouring numbers are opened with noise, and the edges follow. Missing values do
    not count.
    """

    name = "release edges"
    about = Description(
        "Edges for equal parts",
        "edges",
        example="--numeric age --epsilon 1 --out edges.json",
        afterwards="smc schema --schema schema.toml --edges edges.json --out new.toml writes a schema with them.",
    )
    streamed = True
    Settings = EdgesSettings

    @override
    def ask(self) -> Question:
        columns, parts = required(self.settings.numeric, "release edges.numeric"), self.settings.parts
        starts, places = {}, {}  # the least number of each group; the categories in each
        for column in columns:
            self.cells(column)  # refused if they are too many
            ordered = read(column, self.where.values(column, self.schema), "an edge", "numeric").ordered
            size = -(-len(ordered) // self.settings.groups)
            starts[column] = [ordered[first][0] for first in range(0, len(ordered), size)]
            places[column] = [[p for _, p in ordered[i : i + size]] for i in range(0, len(ordered), size)]

        def own_rows(rows: Rows) -> Numbers:
            """Return the number of this party's rows in each group, column by column."""
            tables = marginals(rows, self.schema, columns[0], self.where, [(column,) for column in columns])
            return own_vector(
                *(
                    [int(table[group].sum()) for group in places[column]]
                    for column, table in zip(columns, tables, strict=True)
                )
            )

        def show(of_columns: Sequence[Sequence[int]]) -> Mapping[str, Any]:
            """Return the result from the groups that start at the edges; the index after the last means no edge."""
            edges = []
            for column, ends in zip(columns, of_columns, strict=True):
                known = [i for i in sorted({*ends}) if 0 < i < len(starts[column])]
                edges.append({"column": column, "edges": [plain(starts[column][i]) for i in known]})
            return {"parts": parts, "edges": edges}

        sizes = [len(starts[column]) for column in columns]
        noise = self.noise(2 if self.replaced else 1, Fraction(1, len(columns)))
        learnt = f"edges that cut the rows of both tables{self.where.words()} into {parts} parts, by {listed(columns)}"
        rows = self.settings.max_rows
        if noise is None:
            return Question(
                learnt, sum(sizes), own_rows, lambda engine, numbers: _exact(engine, numbers, sizes, parts, rows),
                lambda state: show(np.array(state).reshape(len(columns), -1).tolist()),
                opens="group where an edge is", target=columns[0],
                bits=(parts - 1) * sum(size.bit_length() for size in sizes),
            )  # fmt: skip
        ends = np.cumsum(sizes)[:-1]
        return sums(
            learnt, [Part(size, rows, False, noise) for size in sizes], own_rows,
            lambda state: show([cut(numbers, parts) for numbers in np.split(np.array(state, dtype=np.int64), ends)]),
            target=columns[0],
        )  # fmt: skip

    @classmethod
    @override
    def lines(cls, document: Document) -> list[str]:
        return [
            f"{presenting.shown(entry['column'])}: {', '.join(map(presenting.amount, entry['edges'])) or 'no edge'}"
            for entry in document["edges"]
        ]


def cut(numbers: Numbers, parts: int) -> list[int]:
    """Return the groups at which edges divide the rows into equal parts.

    The k-th edge is the lowest group with at least k / parts of all rows below it, for k = 1, ..., parts - 1.

    Args:
        numbers: Noisy number of rows of each group, int64[groups].
        parts: Number of equal parts.
    """
    below = np.concatenate([[0], np.maximum.accumulate(np.maximum(numbers.cumsum(), 0))])
    return [int(np.argmax(parts * below >= k * below[-1])) for k in range(1, parts)]


@cache
def _netlist(size: int, parts: int, width: int, form: Form) -> Netlist:
    """Build the circuit. Inputs: rows up to the end of each group, of either party. Outputs: the group of each edge."""
    from smc.circuit import Builder, any_of, total

    builder = Builder(form)
    left, right = builder.input(size * width), builder.input(size * width)
    places = [slice(start, start + width) for start in range(0, size * width, width)]
    below = [left[place].wide_add(right[place]) for place in places]
    scaled = [number * parts for number in below[:-1]]
    for k in range(1, parts):
        least = below[-1] * k
        too_few = [any_of(below[-1].wires), *(number < least for number in scaled)]  # none is below the first group
        builder.output(total([builder.integer([wire]) for wire in too_few], size.bit_length()))
    return builder.build()


def _exact(engine: Engine, numbers: Numbers, sizes: Sequence[int], parts: int, rows: int) -> list[int]:
    """Open the group that starts each edge, column by column; the index after the last if none does."""
    from protocols.inputs import both_rows, summands
    from protocols.opened import index_below

    width, of_edges = rows.bit_length(), []
    for of_column in np.split(numbers, np.cumsum(sizes)[:-1]):
        below = summands(engine, of_column.cumsum(), width, "the number of rows")
        sides = both_rows(engine, [(number, width, False) for number in below[:, None]])
        opened = engine.reveal(*engine.run(_netlist(len(of_column), parts, width, engine.form), *sides))
        of_edges += [int(index_below(number, len(of_column) + 1, "an edge")[0]) for number in opened]
    return of_edges
