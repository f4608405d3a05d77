"""Execution of a plan's methods: the rows to publish, and the report on utility and remaining risk.

Utility of protected columns: changed cells, mean, spread, frequencies, and correlations.

IL1s is the mean of |x - x'| / (sqrt(2) s), Mateo-Sanz, Sebe, Domingo-Ferrer, "Outlier protection in continuous
microdata masking" (2004), as `dUtility` of sdcMicro.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import sqlglot.expressions as exp

from parties.alone.publish.protecting.coding import LevelOfDetail, TopBottomCoding
from parties.alone.publish.protecting.local_suppression import LocalSuppression
from parties.alone.publish.protecting.method import Method
from parties.alone.publish.protecting.microaggregation import Microaggregation
from parties.alone.publish.protecting.perturbing import Noise, RankSwapping
from parties.alone.publish.protecting.pram import Pram
from parties.alone.publish.protecting.record_swapping import ConfidentialityEdit, RecordSwapping
from parties.alone.publish.protecting.risk import class_risks, number_risks
from parties.alone.publish.protecting.rows import Column, Rows
from parties.alone.publish.protecting.sampling import Sampling
from parties.alone.publish.reading import cell_of, spelled
from parties.alone.publish.rules import Rule
from parties.alone.publish.settings import PublishPlan
from parties.alone.publish.writing import writer_of
from parties.base import files
from parties.base.randomness import private
from parties.base.report import Report
from parties.base.settings import at_key, validated
from parties.base.text import did_you_mean, quoted
from parties.sources.opened import RowQuery
from parties.tables.delimited import MISSING
from protocols.arrays import Floats
from smc.errors import InputError

METHODS: dict[str, type[Method]] = {
    "sampling": Sampling,
    "microaggregation": Microaggregation,
    "pram": Pram,
    "rank-swapping": RankSwapping,
    "record-swapping": RecordSwapping,
    "confidentiality-edit": ConfidentialityEdit,
    "top-bottom-coding": TopBottomCoding,
    "noise": Noise,
    "local-suppression": LocalSuppression,
    "level-of-detail": LevelOfDetail,
}
NUMERIC = (Microaggregation, RankSwapping, TopBottomCoding, Noise)


def methods_of(plan: PublishPlan) -> list[Method]:
    """Return the plan's methods in order. Raise InputError without methods, or if it has models, rules or masks."""
    if plan.models:
        raise InputError(
            "models: belong to smc publish anonymise; for smc publish protect, write a separate plan with [[methods]]"
        )
    if not plan.methods:
        raise InputError("methods: give at least one, such as local-suppression")
    for name, column in plan.columns.items():
        if any(getattr(column, rule) is not None for rule in (*Rule.model_fields, "mask")):
            raise InputError(
                f"column {quoted(name)}: methods use neither rules nor masks; remove them from this column"
            )
    methods = []
    for settings in plan.methods:
        if settings.method not in METHODS:
            hint = did_you_mean(settings.method, METHODS)
            raise InputError(f"methods: must be one of {', '.join(METHODS)}, not {quoted(settings.method)}{hint}")
        with at_key(f"methods: {settings.method}"):
            methods.append(validated(METHODS[settings.method], settings.model_extra or {}))
    return methods


def read(rows: RowQuery, plan: PublishPlan) -> Rows:
    """Return all rows of a plan's columns, without identifiers. Raise InputError if rows or a column are missing.

    Args:
        rows: The source table.
        plan: Names the columns to read.
    """
    names = [name for name, column in plan.columns.items() if column.role != "identifier"]
    if not names:
        raise InputError(
            "columns: every column is an identifier, so there is nothing to publish; give another role to a column"
        )
    cells = [cell_of(rows, name).as_(f"c{i}") for i, name in enumerate(names)]
    pieces: list[list[Any]] = [[] for _ in names]
    for batch in rows.engine.batches(exp.Select().select(*cells).from_(rows.query.subquery("t"))):
        for i, piece in enumerate(pieces):
            piece += map(spelled, batch.column(i).to_pylist())
    if not pieces[0]:
        raise InputError(f"{rows.engine.place}: there are no rows; give a table with rows")
    number = len(pieces[0])
    columns = {name: np.array(piece, dtype=object) for name, piece in zip(names, pieces, strict=True)}
    quasi = tuple(plan.named("quasi-identifier"))
    return Rows(columns, quasi, np.ones(number), np.arange(number), rows.engine.place)


def protect(source: Rows, plan: PublishPlan) -> tuple[Rows, dict[str, Any]]:
    """Return the rows after all methods, and the report, ready for JSON; the InputError names the failing method.

    Args:
        source: The rows before all methods.
        plan: Lists the methods in their order.
    """
    random = private()
    methods, rows, steps = methods_of(plan), source, []
    numeric: list[str] = []
    for settings, method in zip(plan.methods, methods, strict=True):
        with at_key(f"methods: {settings.method}"):
            rows, figures = method.run(rows, random)
        steps.append({"method": settings.method, "figures": figures})
        if isinstance(method, NUMERIC):
            numeric += [name for name in method.columns if name not in numeric]
    columns = {}
    for name, before in source.columns.items():
        originals, after = before[rows.origins], rows.columns[name]
        if name in numeric:
            try:
                numbers = source.numbers(name), rows.numbers(name)
            except InputError:  # a later method made it categorical
                numeric.remove(name)
        if name in numeric:
            columns[name] = of_numbers(numbers[0][rows.origins], *numbers)
        else:
            columns[name] = of_categories(originals, before, after)
    report: dict[str, Any] = {
        "rows": len(source),
        "published": len(rows),
        "steps": steps,
        "utility": columns,
        "risk": {"before": class_risks(source), "after": class_risks(rows)},
    }
    if whole := [name for name in numeric if not {MISSING} & {*source.columns[name], *rows.columns[name]}]:
        values, protected = source.matrix(whole), rows.matrix(whole)
        report["risk"]["numbers"] = number_risks(values[rows.origins], protected, random)
        if len(whole) > 1:
            report["correlations_differ"] = correlations_differ(values, protected)
    return rows, report


def write(rows: Rows, path: Path, escape_formulas: bool) -> None:
    """Write the rows in random order, with missing values empty.

    Args:
        rows: the rows
        path: the file
        escape_formulas: escape cells that a spreadsheet would compute

    Raises:
        InputError: the file cannot be written
    """
    order = private().permutation(len(rows))
    arrays = [
        pa.array([None if text == MISSING else text for text in column[order]], pa.string())
        for column in rows.columns.values()
    ]
    names = list(rows.columns)
    with files.replacing(path) as stream, writer_of(path, stream, names, escape_formulas) as writer:
        writer.write(pa.table(arrays, names=names))


def report_of(data: dict[str, Any]) -> Report:
    """Return the figures of the protected rows as a text report."""
    from parties.alone.publish.recoding.report import NAMES, figure

    def worded(figures: dict[str, Any]) -> str:
        parts = []
        for key, value in figures.items():
            if isinstance(value, dict):
                inner = {name: part for name, part in value.items() if name != "matrix"}
                parts.append(f"{key} ({worded(inner)})")
            else:
                parts.append(f"{key.replace('_', ' ')} {figure(value)}")
        return ", ".join(parts)

    report = Report(data, width=NAMES)
    report.facts({"rows": "{rows:,}", "published": "{published:,}"})
    groups = [(step["method"], step["figures"]) for step in data["steps"]]
    groups += [("utility of " + name, figures) for name, figures in data["utility"].items()]
    if "correlations_differ" in data:
        groups.append(("correlations differ", {"at most": data["correlations_differ"]}))
    groups += [("risk " + name, figures) for name, figures in data["risk"].items() if figures]
    for name, figures in (*groups, *data.get("attacks", {}).items()):
        report.fact(name, worded(figures))
    return report


def of_categories(before: Column, source: Column, after: Column) -> dict[str, Any]:
    """Return the share of changed cells, and the total variation distance between frequencies before and after.

    Args:
        before: original values of the published rows
        source: original values of all rows
        after: published values
    """
    values = np.unique(np.concatenate([source, after]).astype(str))
    p, q = (_shares(column, values) for column in (source, after))
    return {"changed": float((before != after).mean()), "frequencies_differ": float(np.abs(p - q).sum() / 2)}


def _shares(column: Column, values: Any) -> Floats:
    return np.bincount(np.searchsorted(values, column.astype(str)), minlength=len(values)) / max(1, len(column))


def of_numbers(before: Floats, source: Floats, after: Floats) -> dict[str, Any]:
    """Return the share of changed values, mean and standard deviation before and after, and IL1s.

    Missing values are ignored.

    Args:
        before: original values of the published rows
        source: original values of all rows
        after: published values
    """
    both = ~np.isnan(before) & ~np.isnan(after)
    all_there, published = source[~np.isnan(source)], after[~np.isnan(after)]
    if not len(all_there) or not both.any():
        return {"changed": float((np.isnan(before) != np.isnan(after)).mean())}
    deviation = float(all_there.std(ddof=1)) if len(all_there) > 1 else 0.0
    lost = np.abs(before - after)[both]
    figures = {
        "changed": float((lost > 0).mean()),
        "mean": [float(all_there.mean()), float(published.mean())],
        "standard_deviation": [deviation, float(published.std(ddof=1)) if len(published) > 1 else 0.0],
    }
    return figures | ({"il1s": float(lost.mean() / (np.sqrt(2) * deviation))} if deviation else {})


def correlations_differ(source: Floats, after: Floats) -> float:
    """Return the largest change of a correlation, for float[rows, columns] without missing values.

    Args:
        source: Numbers before the methods, float64[rows, columns].
        after: Numbers after the methods, in the same shape.
    """
    if min(len(source), len(after)) < 2:
        return 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        change = np.corrcoef(source, rowvar=False) - np.corrcoef(after, rowvar=False)
    return float(np.nanmax(np.abs(change), initial=0.0))
