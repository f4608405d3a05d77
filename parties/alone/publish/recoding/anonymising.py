"""Anonymisation by a plan: the partition of the rows, its recoding, and the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sqlglot.expressions as exp

from parties.alone.publish.cells import Cells
from parties.alone.publish.masks import MaskPlan
from parties.alone.publish.models.classes import Classes, layout_of
from parties.alone.publish.models.model import PrivacyModel, fitting
from parties.alone.publish.models.risks import risks
from parties.alone.publish.reading import read, rows_of, text_of
from parties.alone.publish.recoding.fulldomain import Algorithm as LatticeAlgorithm
from parties.alone.publish.recoding.fulldomain import Search, searchable
from parties.alone.publish.recoding.mondrian import mondrian
from parties.alone.publish.recoding.partition import SUPPRESSED, Partition, at_node, certainty, tightened
from parties.alone.publish.recoding.recoding import Recoding
from parties.alone.publish.recoding.topdown import topdown
from parties.alone.publish.settings import Algorithm, ColumnPlan, PublishPlan
from parties.base.text import quoted
from parties.sources.opened import RowQuery
from parties.tables.delimited import MISSING
from protocols.arrays import Counts
from smc.errors import InputError


@dataclass(frozen=True, eq=False)
class Outcome:
    """Result of anonymisation: cells, partition, levels of full-domain generalisation (None for boxes), report."""

    cells: Cells
    partition: Partition
    levels: tuple[int, ...] | None
    report: dict[str, Any]

    def recoding(self, plan: PublishPlan) -> Recoding:
        """Return the recoding, which can be written to a file."""
        boxes = None if self.levels is not None else self.partition.boxes
        return Recoding.of(plan, self.levels, boxes)


def algorithm_of(cells: Cells, plan: PublishPlan) -> Algorithm:
    """Return the plan's algorithm; by default flash, or mondrian if the lattice is too large.

    Args:
        cells: Distinct rows of the table, coded.
        plan: The plan, which may name an algorithm.
    """
    if plan.algorithm is not None:
        return plan.algorithm
    return "flash" if plan.local or searchable(cells) else "mondrian"


def anonymised(cells: Cells, plan: PublishPlan, models: Sequence[PrivacyModel]) -> Outcome:
    """Return the partition of the rows by the plan's algorithm, the levels of its recoding, and the report.

    Args:
        cells: the table
        plan: the plan
        models: the models to be satisfied

    Raises:
        InputError: the models cannot be satisfied, or the algorithm cannot search this many columns
    """
    algorithm = algorithm_of(cells, plan)
    most = int(plan.max_suppressed * cells.rows + 1e-9)
    details: dict[str, Any] = {"algorithm": algorithm}
    levels: tuple[int, ...] | None = None
    if algorithm == "mondrian" or algorithm == "mondrian-relaxed" or algorithm == "top-down":
        numeric = [
            plan.columns[h.column].numeric or plan.columns[h.column].ranges is not None for h in cells.hierarchies
        ]
        if algorithm == "top-down":
            partition = topdown(cells, models, numeric)
        else:
            partition = mondrian(cells, models, numeric, algorithm == "mondrian-relaxed")
    else:
        search = Search(cells, models, most)
        result = search.best(algorithm, plan.utility)
        partition = at_node(cells, search.rollup, result.node, fitting(search.rollup.classes(result.node), models))
        levels = result.node
        if plan.local:
            partition, levels = recoded_locally(cells, partition, models, algorithm, plan.utility), None
        details |= {
            "lattice": search.lattice.size,
            "counted": result.counted,
            "minimal": [list(node) for node in result.minimal],
            "levels": {h.column: level for h, level in zip(cells.hierarchies, result.node, strict=True)},
            plan.utility: result.loss,
        }
    return Outcome(cells, partition, levels, details | report(cells, partition, models))


def recoded_locally(
    cells: Cells, partition: Partition, models: Sequence[PrivacyModel], algorithm: LatticeAlgorithm, utility: str
) -> Partition:
    """Return a partition with local recoding: the suppressed rows of a lattice's solution are anonymised in rounds.

    Each round searches for levels at which at least half of the remaining rows fit; models compare with the whole
    table. Finally, each class gets the smallest box. Classes of later rounds are coarser, so their boxes may also
    hold rows of earlier classes.

    Args:
        cells: the table
        partition: partition at a solution
        models: the models to be satisfied
        algorithm: algorithm of the searches
        utility: measure of the searches
    """
    layout = layout_of(cells.of_sensitive({model.column for model in models}))
    while partition.suppressed and cells.public is None:
        rest = np.flatnonzero(partition.classes == SUPPRESSED)
        places = partition.cells[rest]
        remaining = replace(
            cells, quasi=cells.quasi[:, places], sensitive=cells.sensitive[:, places], counts=cells.counts[places]
        )
        search = Search(remaining, models, remaining.rows // 2, layout)
        try:
            node = search.best(algorithm, utility).node
        except InputError:  # the rest does not fit even as one class
            break
        more = at_node(remaining, search.rollup, node, fitting(search.rollup.classes(node), models))
        classes = partition.classes.copy()
        classes[rest] = np.where(more.classes == SUPPRESSED, SUPPRESSED, more.classes + len(partition.boxes))
        partition = replace(partition, classes=classes, boxes=[*partition.boxes, *more.boxes])
    return tightened(cells, partition)


def report(cells: Cells, partition: Partition, models: Sequence[PrivacyModel]) -> dict[str, Any]:
    """Return numbers of rows and classes, information loss and remaining risk, as JSON.

    Args:
        cells: the table
        partition: its classes
        models: the models of the plan
    """
    classes = partition.count(cells, layout_of(cells))
    sizes = classes.sizes[classes.sizes > 0]
    return {
        "rows": cells.rows,
        "suppressed": partition.suppressed,
        "classes": len(sizes),
        "smallest_class": int(sizes.min()) if len(sizes) else None,
        "average_class": float(sizes.mean()) if len(sizes) else None,
        "lost": certainty(cells, partition),
    } | checked(classes, models)


def checked(classes: Classes, models: Sequence[PrivacyModel]) -> dict[str, Any]:
    """Return whether classes satisfy the models, with their measures, sizes of classes, and risks, as JSON.

    Args:
        classes: the classes
        models: the models
    """
    verdicts = []
    for model in models:
        if model.name == "presence" and not classes.layout.public:
            continue
        holds = bool(model.fits(classes).all())
        verdicts.append({"model": model.words, "holds": holds, "reached": model.reached(classes)})
    return {
        "models": verdicts,
        "class_sizes": _by_size(classes.sizes[classes.sizes > 0]),
        "risks": risks(classes) if len(classes) and classes.sizes.sum() else {},
    } | ({"missing": missing} if (missing := _with_gaps(classes, models)) else {})


def _with_gaps(classes: Classes, models: Sequence[PrivacyModel]) -> list[str]:
    columns = dict.fromkeys(model.column for model in models if model.column is not None)
    return [name for name in columns if MISSING in classes.layout.hierarchy(name).values]


def _by_size(sizes: Counts) -> list[dict[str, int]]:
    """Return the number of classes, and the range and sum of their rows, between each power of two and the next."""
    groups = []
    bits = np.frexp(sizes)[1]
    for group in np.unique(bits):
        in_group = sizes[bits == group]
        groups.append(
            {
                "least": int(in_group.min()),
                "most": int(in_group.max()),
                "classes": len(in_group),
                "rows": int(in_group.sum()),
            }
        )
    return groups


def cells_of(plan: PublishPlan, opened: ExitStack) -> tuple[RowQuery, Cells]:
    """Return the plan's table and its cells.

    Args:
        plan: the plan
        opened: stack that closes the table

    Raises:
        InputError: a value is in no hierarchy, a row is not in the plan's `public` table, or a column in clear
            identifies rows
    """
    rows = opened.enter_context(rows_of(plan))
    public = None if plan.public is None else opened.enter_context(rows_of(plan.public))
    if rows.engine.reads_slowly:
        rows = replace(rows, query=rows.engine.keep(exp.Select().select("*").from_(rows.query.subquery("t"))))
    cells = read(rows, plan.named("quasi-identifier"), plan.named("sensitive"), dict(plan.columns), public)
    others = [name for name in plan.named("other") if plan.columns[name].mask is None]
    _refuse_identifiers(rows, others, cells.rows)
    return rows, cells


def _refuse_identifiers(rows: RowQuery, others: Sequence[str], number: int) -> None:
    """Raise InputError if a column published in clear (`others`) has a different value in each of `number` rows."""
    if not others or number < 2:
        return
    distinct = [exp.Count(this=exp.Distinct(expressions=[text_of(rows, name)])) for name in others]
    columns = [count.as_(f"n{i}") for i, count in enumerate(distinct)]
    counts = rows.engine.counts(exp.Select().select(*columns).from_(rows.query.subquery("t")))[0]
    for name, count in zip(others, counts, strict=True):
        if count == number:
            raise InputError(
                f"column {quoted(name)} has a different value in each of the {number} rows, so it identifies them; "
                f"set its role to identifier or quasi-identifier"
            )


def order_of(columns: Mapping[str, ColumnPlan], rows: RowQuery) -> list[str]:
    """Return the published columns, in the order of the table: identifiers only if they are masked.

    Args:
        columns: Plans of the columns by name.
        rows: The table.
    """
    published = {name for name, column in columns.items() if column.shown}
    return [
        *(name for name in rows.types if name in published),
        *(name for name in published if name not in rows.types),
    ]


def masks_of(columns: Mapping[str, ColumnPlan]) -> dict[str, MaskPlan | None]:
    """Return the mask of each column, by name; None for a column without one."""
    return {name: column.mask for name, column in columns.items()}


def suppressed_share(partition: Partition) -> float:
    """Return the share of suppressed rows."""
    return partition.suppressed / max(1, int(np.sum(partition.counts)))
