"""Rules of generalisation hierarchies: ranges of numbers, prefixes of codes, dates, or a tree in a file.

    [columns.age]
    ranges = [5, 10, 20]          # [15, 20[, then [10, 20[, then [0, 20[, then *
    [columns.zip]
    prefixes = [4, 3]             # 53715, 5371*, 537**, then *
    [columns.birth]
    dates = "dmy"                 # 21/1/1979, */1/1979, */*/1979, 1970s, then *
    [columns.education]
    tree = "education.csv"        # a line a value: the value, its parent, ..., the top

Years have four digits; a column's format converts two-digit years before. Without a rule, a value becomes `*`.
Every rule except `tree` accepts new values. `?`, a missing value, stays as it is up to the top. Trees have the format
of ARX (fields between semicolons) or anjana (commas).
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from parties.alone.publish.hierarchy import TOP, Hierarchy, build
from parties.base import files
from parties.base.settings import LocalPath, Settings
from parties.base.text import did_you_mean, quoted
from parties.tables.delimited import MISSING
from smc.errors import InputError

Dates = Literal["iso", "dmy", "mdy"]
DATES: dict[str, str] = {
    "iso": r"(?P<y>\d{4})-(?P<m>\d\d?)-(?P<d>\d\d?)",
    "dmy": r"(?P<d>\d\d?)(?P<s>[/.-])(?P<m>\d\d?)(?P=s)(?P<y>\d{4})",
    "mdy": r"(?P<m>\d\d?)(?P<s>[/.-])(?P<d>\d\d?)(?P=s)(?P<y>\d{4})",
}


def _dividing(widths: tuple[float, ...]) -> tuple[float, ...]:
    """Return the widths. Raise ValueError unless each divides the next: each range lies in one of the next level."""
    for lower, upper in pairwise(widths):
        if upper <= lower or not math.isclose(math.remainder(upper, lower), 0, abs_tol=1e-9 * upper):
            raise ValueError(
                f"each width must be a multiple of the one before, and {upper:g} is not a multiple of {lower:g}"
            )
    return widths


def _falling(lengths: tuple[int, ...]) -> tuple[int, ...]:
    """Return the lengths of prefixes. Raise ValueError unless each is shorter than the one before."""
    for longer, shorter in pairwise(lengths):
        if shorter >= longer:
            raise ValueError(f"prefixes must get shorter, but {shorter} follows {longer}")
    return lengths


Width = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
Length = Annotated[int, Field(strict=True, ge=1, le=1 << 16)]


class Rule(Settings):
    """Rule of generalisation of a column's values: at most one of these."""

    tree: LocalPath | None = None
    ranges: Annotated[tuple[Width, ...], Field(min_length=1), AfterValidator(_dividing)] | None = None
    prefixes: Annotated[tuple[Length, ...], Field(min_length=1), AfterValidator(_falling)] | None = None
    dates: Dates | None = None


def hierarchy(column: str, rule: Rule, values: Sequence[str]) -> Hierarchy:
    """Return the hierarchy of a column by its rule: of these values, or of all values in the tree.

    Args:
        column: name of the column
        rule: its rule
        values: values that occur

    Raises:
        InputError: the rule has two kinds, a value does not fit it, or the tree is not a hierarchy
    """
    rules = [name for name in Rule.model_fields if getattr(rule, name) is not None]
    if len(rules) > 1:
        raise InputError(f"column {quoted(column)}: {rules[0]} and {rules[1]} are two rules: give one")
    if rule.tree is not None:
        built = build(column, read_tree(rule.tree))
        for value in values:
            built.code(value)
        return built
    return build(column, [path(column, rule, value) for value in values])


def path(column: str, rule: Rule, value: str) -> list[str]:
    """Return a value and its ancestors up to the top, by any rule except a tree.

    Args:
        column: name of the column, for errors
        rule: its rule
        value: the value
    """
    if rule.ranges is not None:
        return [value, *_ranges(column, rule.ranges, value), TOP]
    if rule.prefixes is not None:
        return [value, *(_prefix(value, length) for length in rule.prefixes), TOP]
    if rule.dates is not None:
        return [value, *_dates(column, rule.dates, value), TOP]
    return [value, TOP]


def read_tree(file: Path) -> list[list[str]]:
    """Return the lines of a CSV file without a header, each a value and its ancestors; raise InputError if invalid."""
    lines = files.read_text(file).splitlines()
    if not any(line.strip() for line in lines):
        raise InputError(f"{file}: the file is empty; each line must be a value and its ancestors")
    try:
        readings = [[list(csv.reader(lines, delimiter=mark, strict=True)), mark] for mark in ";,"]
    except csv.Error as error:
        raise InputError(f"{file}: not valid CSV: {error}") from None
    records = max((records for records, _ in readings), key=lambda records: len(records[0]))
    paths = [[field.strip() for field in record] for record in records if record]
    for line in paths:
        if len(line) != len(paths[0]) or len(line) < 2:
            raise InputError(
                f"{file}: {quoted(line[0])} has {len(line)} levels; give {len(paths[0])}, as on the first line"
            )
    return paths


def number(value: str) -> float | None:
    """Return a cell as a number; None if it is not a finite number."""
    try:
        parsed = float(value)
    except ValueError:
        return None
    return parsed if math.isfinite(parsed) else None


def _ranges(column: str, widths: Sequence[float], value: str) -> list[str]:
    if value == MISSING:
        return [MISSING] * len(widths)
    x = number(value)
    if x is None:
        raise InputError(f"column {quoted(column)}: ranges need numbers, and {quoted(value)} is not a number")
    if abs(x) / widths[0] >= 1 << 53:  # floats cannot separate the ends of such ranges
        raise InputError(f"column {quoted(column)}: {quoted(value)} is too large for ranges of {widths[0]:g}")
    first = math.floor(x / widths[0])  # in widths of the lowest level, so that levels cannot disagree
    edges = [(math.floor(first / round(width / widths[0])) * width, width) for width in widths]
    return [f"[{low:.12g}, {low + width:.12g}[" for low, width in edges]


def _prefix(value: str, length: int) -> str:
    return value if value == MISSING else value[:length] + "*" * (len(value) - length)


def _dates(column: str, form: Dates, value: str) -> list[str]:
    if value == MISSING:
        return [MISSING] * 3
    match = re.fullmatch(DATES[form], value)
    if match is None:
        hint = did_you_mean(form, [name for name, pattern in DATES.items() if re.fullmatch(pattern, value)])
        raise InputError(
            f"column {quoted(column)}: {quoted(value)} is not a date in the form {form} with a year of four digits"
            f"{hint or '; say how it is read, as format.dates and format.last_year of the column'}"
        )
    year = match["y"]
    decade = f"{year[:-1]}0s"
    if form == "iso":
        return [f"{year}-{match['m']}-*", f"{year}-*-*", decade]
    mark = match["s"]
    month = ("*", match["m"]) if form == "dmy" else (match["m"], "*")
    return [mark.join((*month, year)), mark.join(("*", "*", year)), decade]
