"""The report of a publication as text for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from parties.text import printable

NAMES = 28  # columns for the names of figures


def to_text(report: Mapping[str, Any]) -> str:
    """A line a figure; of what an attacker could do, one a figure and sensitive column."""
    return "".join(f"{printable(line)}\n" for line in _lines(report))


def _lines(report: Mapping[str, Any]) -> Iterator[str]:
    for model in report["models"]:
        verdict = "holds" if model["holds"] else "FAILS"
        yield f"{verdict}: {model['model']} (reached: {_figure(model['reached'])})"
    for name, value in report.items():
        if name not in ("models", "risks", "lost", "levels", "minimal"):
            yield f"{name.replace('_', ' '):{NAMES}}{_figure(value)}"
    levels = report.get("levels", {})
    for column, loss in report.get("lost", {}).items():
        level = f", level {levels[column]}" if column in levels else ""
        yield f"{'lost of ' + column:{NAMES}}{loss:.1%}{level}"
    yield from _risks(report["risks"])


def _risks(risks: Mapping[str, Any]) -> Iterator[str]:
    for attack, figures in risks.items():
        if attack != "sensitive":
            yield from _figures(attack, figures)
            continue
        for column, attacks in figures.items():
            for name, found in attacks.items():
                yield from _figures(f"{name} ({column})", found)


def _figures(name: str, figures: Mapping[str, Any]) -> Iterator[str]:
    parts = []
    for key, value in figures.items():
        if isinstance(value, Mapping):
            yield from _figures(f"{name}, {key}", value)
        else:
            parts.append(f"{key.replace('_', ' ')} {_figure(value)}")
    if parts:
        yield f"{name:{NAMES}}" + ", ".join(parts)


def _figure(value: Any) -> str:
    if isinstance(value, list):
        return " to ".join(map(_figure, value))
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1e6 else f"{value:.0f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
