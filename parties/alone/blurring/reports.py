"""Results of `smc reconstruct` and `smc blur attack`, as JSON and as text."""

from __future__ import annotations

from typing import Any

import numpy as np

from parties.alone.blurring.attack import entropies, filtered
from parties.alone.blurring.noise import Gaussian, Uniform
from parties.alone.blurring.plan import BlurPlan
from parties.alone.blurring.table import read
from parties.base.report import Report
from parties.base.text import instead, printable, quoted
from parties.sources.opened import RowQuery
from protocols.arrays import Floats
from smc.errors import InputError

SHOWN = 20  # most lines of a distribution as text
BAR = 40  # characters of the longest bar


def distributions(rows: RowQuery, plan: BlurPlan, by: str | None) -> list[dict[str, Any]]:
    """Return the reconstructed distribution of each blurred column, for each group.

    Args:
        rows: the published rows
        plan: their plan
        by: unblurred column whose values are the groups; None: one group

    Raises:
        InputError: the plan blurs no column, or has no unblurred column `by`
    """
    names = [name for name, column in plan.columns.items() if column.noise != "none"]
    if not names:
        raise InputError("the plan blurs no column, so there is nothing to reconstruct; give noise to a column")
    if by is not None and (by not in plan.columns or plan.columns[by].noise != "none"):
        unblurred = [name for name, column in plan.columns.items() if column.noise == "none"]
        there = instead(by, unblurred)
        raise InputError(f"--by: the plan has no column {quoted(by)} without noise{there}")
    columns = read(rows, plan, names if by is None else [*names, by])
    groups = np.array(["all"] if by is None else columns[by])
    reports = []
    for group in np.unique(groups).tolist():
        chosen = slice(None) if by is None else groups == group
        for name in names:
            reports.append(
                {"column": name, "group": None if by is None else group, **_one(plan, name, columns[name][chosen])}
            )
    return reports


def distributions_report(data: list[dict[str, Any]]) -> Report:
    """Return the distributions as text, with a bar for each value; many intervals are merged."""
    report = Report(data)
    for each in data:
        group = "" if each["group"] is None else f", {each['group']}"
        end = "" if each["converged"] else ", not converged"
        report.line(f"{each['column']}{group}: {each['rows']:,} rows, {each['rounds']} rounds{end}")
        pairs = list(zip(each["labels"], each["probabilities"], strict=True))
        step = -(-len(pairs) // SHOWN)
        merged = []
        for i in range(0, len(pairs), step):
            part = pairs[i : i + step]
            first, last = part[0][0].partition(" to "), part[-1][0].rpartition(" to ")
            label = part[0][0] if len(part) == 1 else f"{first[0]} to {last[2]}"
            merged.append((label, sum(share for _, share in part)))
        most = max(share for _, share in merged)
        width = max(len(printable(label)) for label, _ in merged)
        for label, share in merged:
            bar = "█" * round(BAR * share / most)
            report.line(f"  {printable(label):>{width}}  {share:6.1%}  {bar}".rstrip())
    return report


def attack(rows: RowQuery, plan: BlurPlan, truth: RowQuery | None) -> dict[str, Any]:
    """Return the errors of each column before and after filtering, in its units, and its entropy-based privacy.

    Args:
        rows: the published rows
        plan: their plan
        truth: the true rows, in the same order; None: errors are left out

    Raises:
        InputError: the plan has no column with uniform or Gaussian noise, or the true rows are more or fewer
    """
    names = [name for name, column in plan.columns.items() if column.noise in ("uniform", "gaussian")]
    if not names:
        raise InputError("the plan has no column with uniform or gaussian noise to remove")
    published = read(rows, plan, names)
    matrix = np.stack([published[name] for name in names])
    variances = np.array([_variance(plan, name) for name in names])
    cleaned = filtered(matrix, variances)
    true = None if truth is None else np.stack(list(read(truth, plan, names).values()))
    if true is not None and true.shape != matrix.shape:
        raise InputError(
            f"--truth has {true.shape[1]} rows, but the blurred table has {matrix.shape[1]}; give the true rows of "
            "this table"
        )
    columns = []
    for i, name in enumerate(names):
        how, number = plan.columns[name], plan.columns[name].number(matrix.shape[1])
        assert number.observed is not None
        lost = entropies(number.domain, number.observed, number.distribution(matrix[i]).probabilities)
        column_report = {
            "column": name,
            "interval": how.made.width(how.confidence),
            "confidence": how.confidence,
            "noise": float(np.sqrt(variances[i])),
            "entropy_before": lost.before,
            "entropy_after": lost.after,
            "lost": lost.lost,
        }
        if true is not None:
            column_report["error_published"] = _error(matrix[i], true[i])
            column_report["error_filtered"] = _error(cleaned.values[i], true[i])
        columns.append(column_report)
    return {"rows": matrix.shape[1], "directions": len(names), "strong": cleaned.strong, "columns": columns}


def attack_report(data: dict[str, Any]) -> Report:
    """Return the result of an attack as a text report with a line for each column."""
    report = Report(data)
    report.line(
        f"{data['rows']:,} rows; {data['strong']} of {data['directions']} principal components exceed the noise"
    )
    for row in data["columns"]:
        report.line(
            f"{row['column']}: the noise hides a value in an interval of width {row['interval']:,.6g} "
            f"({row['confidence']:.1%}); uncertainty by entropy: {row['entropy_before']:,.6g} before, "
            f"{row['entropy_after']:,.6g} after publication ({row['lost']:.1%} lost)"
        )
        if "error_filtered" in row:
            share = 1 - row["error_filtered"] / row["error_published"] if row["error_published"] else 0.0
            report.line(
                f"  error {row['error_published']:,.6g} as published, {row['error_filtered']:,.6g} filtered "
                f"({share:.0%} of the noise removed)"
            )
    return report


def _one(plan: BlurPlan, name: str, values: Any) -> dict[str, Any]:
    column = plan.columns[name]
    if column.noise == "response":
        counts = np.bincount(values, minlength=column.response.size).astype(np.float64)
        estimate, labels = column.response.estimate(counts), list(column.values or ())
    else:
        number = column.number(len(values))
        estimate = number.distribution(values)
        lower, upper = number.domain.lower.tolist(), number.domain.upper.tolist()
        labels = [f"{a:g}" if a == b else f"{a:g} to {b:g}" for a, b in zip(lower, upper, strict=True)]
    return {
        "rows": len(values),
        "rounds": estimate.rounds,
        "converged": estimate.converged,
        "labels": labels,
        "probabilities": estimate.probabilities.tolist(),
    }


def _variance(plan: BlurPlan, name: str) -> float:
    noise = plan.columns[name].made
    if isinstance(noise, Uniform):
        return noise.alpha**2 / 3
    assert isinstance(noise, Gaussian)
    return noise.sigma**2


def _error(values: Floats, true: Floats) -> float:
    return float(np.sqrt(((values - true) ** 2).mean()))
