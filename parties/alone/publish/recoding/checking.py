"""Check of a published table against a plan; its classes are rows with equal texts in all quasi-identifiers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from parties.alone.publish.cells import Cells
from parties.alone.publish.hierarchy import Hierarchy, ValueCodes
from parties.alone.publish.models.classes import Classes
from parties.alone.publish.reading import hierarchies, read, recode, rows_of, texts
from parties.alone.publish.recoding.anonymising import checked
from parties.alone.publish.recoding.partition import SUPPRESSED, Span
from parties.alone.publish.recoding.recoding import place_in
from parties.alone.publish.recoding.rollup import Rollup
from parties.alone.publish.rules import Rule, number
from parties.alone.publish.settings import PublishPlan
from parties.base.settings import validated
from parties.base.text import quoted
from parties.sources import PlaceSettings
from parties.tables.texts import TextColumn
from protocols.arrays import Counts
from smc.errors import InputError


def check(plan: PublishPlan, data: str | None) -> tuple[dict[str, Any], Cells, dict[str, TextColumn]]:
    """Return the report on a published table, or on the plan's source, the rows that attackers know, and the table.

    Attackers know the rows of the plan's source or, if it cannot be read, the published labels. The report names them.

    Args:
        plan: the plan
        data: source of the published table; None: the plan's source

    Raises:
        InputError: the table has no rows
    """
    models = plan.check()
    quasi = plan.named("quasi-identifier")
    rules = {name: Rule() for name in quasi} | {name: plan.columns[name] for name in plan.named("sensitive")}
    place = plan if data is None else validated(PlaceSettings, {"source": data})
    with ExitStack() as opened:
        rows = opened.enter_context(rows_of(place))
        public = None if plan.public is None else opened.enter_context(rows_of(plan.public))
        cells = read(rows, quasi, plan.named("sensitive"), rules, public if data is None else None)
        if not cells.rows:
            raise InputError(f"{place.label}: the table has no rows; give a table with rows")
        rollup, bottom = Rollup(cells), (0,) * len(quasi)
        classes, people, known = rollup.classes(bottom), cells, place.label
        if data is not None and public is not None:
            others = texts(public, quasi)
            built = hierarchies(quasi, plan.columns, others.values)
            pairs = zip(cells.hierarchies, rollup.groups(bottom), strict=True)
            names = [[h.values[code] for code in codes] for h, codes in pairs]
            classes = counted_among(classes, names, built, recode(others, built), others.counts)
        if data is not None:
            try:
                source = opened.enter_context(rows_of(plan))
                people, known = read(source, quasi, plan.named("sensitive"), dict(plan.columns)), plan.label
            except InputError as error:
                known = f"{place.label}, as published ({error})"
    sizes = classes.sizes[classes.sizes > 0]
    report: dict[str, Any] = {"rows": cells.rows, "classes": len(sizes), "smallest_class": int(sizes.min())}
    report |= {"average_class": float(sizes.mean()), "attackers_know": known} | checked(classes, models)
    return report, people, cells.texts(np.repeat(np.arange(len(cells.counts)), cells.counts))


def counted_among(
    classes: Classes,
    labels: Sequence[Sequence[str]],
    hierarchies: Sequence[Hierarchy],
    codes: ValueCodes,
    counts: Counts,
) -> Classes:
    """Return published classes with counts of the public rows that each may represent, and a class for all others.

    Args:
        classes: the published classes
        labels: label of each class, for each quasi-identifier
        hierarchies: hierarchy of each quasi-identifier, which has the public values
        codes: public rows, int[columns, rows]
        counts: counts of the public rows

    Raises:
        InputError: a label is neither in the hierarchy nor a range, or classes overlap
    """
    columns = [spans_of(h, labels) for h, labels in zip(hierarchies, labels, strict=True)]
    places = place_in(list(zip(*columns, strict=True)), hierarchies, codes, exclusive=True)
    places = np.where(places == SUPPRESSED, len(classes), places)
    public = np.bincount(places, weights=counts, minlength=len(classes) + 1).astype(np.int64)
    published = np.concatenate([classes.counts, np.zeros((1, classes.layout.width), dtype=np.int64)])
    whole = np.append(classes.layout.whole, public.sum())
    layout = replace(classes.layout, public=True, whole=whole)
    table = np.concatenate([published, public[:, None]], axis=1)
    return Classes(table if public[-1] else table[:-1], layout)


def spans_of(hierarchy: Hierarchy, labels: Sequence[str]) -> list[Span]:
    """Return the set of values that each published label covers. Raise InputError if a label covers none.

    If one level of the hierarchy has all labels, the lowest such level is used. Otherwise each label is looked up at
    the highest level that has it.

    Args:
        hierarchy: Hierarchy of the column.
        labels: Published labels.
    """
    known = [set(names) for names in hierarchy.labels]
    common = next((level for level, names in enumerate(known) if names.issuperset(labels)), None)
    spans = []
    for label in labels:
        levels = [level for level, names in enumerate(known) if label in names]
        match = re.fullmatch(r"\[(.+), (.+)\]", label)
        if levels:
            spans.append(Span(label, levels[-1] if common is None else common))
        elif match is not None and (low := number(match[1])) is not None and (high := number(match[2])) is not None:
            spans.append(Span(label, 0, low, high, True))
        else:
            raise InputError(
                f"column {quoted(hierarchy.column)}: the public table lacks the value {quoted(label)}; add it"
            )
    return spans
