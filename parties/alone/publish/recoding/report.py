"""The report of a publication as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from parties.base.text import printable

NAMES = 27  # columns for the names of figures


def to_text(report: Mapping[str, Any]) -> str:
    """Return a line a figure; of what an attacker could do, one a figure and sensitive column."""
    return "".join(f"{printable(line)}\n" for line in _lines(report))


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    for model in report["models"]:
        verdict = "holds" if model["holds"] else "FAILS"
        yield f"{verdict}: {model['model']} (reached: {figure(model['reached'])})"
    for name, value in particulars(report):
        yield f"{name:{NAMES}} {value}"
    levels = report.get("levels", {})
    for column, loss in report.get("lost", {}).items():
        level = f", level {levels[column]}" if column in levels else ""
        yield f"{'lost of ' + column:{NAMES}} {loss:.1%}{level}"
    for name, figures in attacks(report["risks"]):
        yield f"{name:{NAMES}} " + ", ".join(f"{key} {value}" for key, value in figures)


def particulars(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the figures about the table as a whole, each with its name."""
    for name, value in report.items():
        if name not in ("models", "risks", "lost", "levels", "minimal", "class_sizes", "dimensions"):
            yield name.replace("_", " "), figure(value)


def attacks(risks: Mapping[str, Any]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Yield each attack, with the sensitive column in brackets if it is on one, and its figures, each with its name."""
    for attack, figures in risks.items():
        if attack != "sensitive":
            yield from _figures(attack, figures)
            continue
        for column, by_name in figures.items():
            for name, part in by_name.items():
                yield from _figures(f"{name.replace('_', '-')} ({column})", part)


def _figures(name: str, figures: Mapping[str, Any]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    parts = []
    for key, value in figures.items():
        if isinstance(value, Mapping):
            yield from _figures(f"{name}, {key}", value)
        else:
            parts.append((key.replace("_", " "), figure(value)))
    if parts:
        yield name, parts


def figure(value: Any) -> str:
    """Return a figure in a few digits; two as a range; yes or no."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " to ".join(map(figure, value))
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e6 else f"{value:.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
