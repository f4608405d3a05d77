"""The tables of the measurement as codes: numbers become categories by public edges, none is read off the rows.

Car, votes and mushroom have categories only. Of Adult, the age is its decade, the country its continent (both from the
hierarchies beside the table); hours a week, gains and losses of capital fall between round edges; `fnlwgt` (a weight of
the census) and `education-num` (`education` again) are left out. The scales of breast-w go from 1 to 10: their halves.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HOURS = (20, 40, 41, 51, 61)  # up to 19, 20 to 39, the full week, and three kinds of overtime
GAIN = (1, 5_000, 10_000)  # dollars
LOSS = (1, 1_500, 2_000)
DECADES, CONTINENTS = 2, 1  # column of the hierarchy file that is used
LEFT_OUT = ("fnlwgt", "education-num")
SCALE = 6  # where the upper half of 1 to 10 begins
COMPLETE = "-complete"


@dataclass(frozen=True)
class Table:
    """Rows of codes: `values` [rows, attributes], `labels` [rows]; sizes of the domains; a public bound on the rows."""

    values: NDArray[np.int64]
    labels: NDArray[np.int64]
    domains: tuple[int, ...]
    classes: int
    bound: int

    def part(self, rows: NDArray[np.int64]) -> Table:
        """The table with these rows only, each as often as it is named."""
        return replace(self, values=self.values[rows], labels=self.labels[rows])

    @property
    def majority(self) -> float:
        """Accuracy of predicting the most frequent class."""
        return float(np.bincount(self.labels).max() / len(self.labels))


def load(directory: Path, name: str) -> Table:
    """`adult` from its folder, any other table from NAME.csv; the class is the column named so, or the last one.

    With `-complete` after the name, rows with a missing value ("?") are left out.
    """
    file = name.removesuffix(COMPLETE)
    header, columns = read_columns(directory / "adult" / "adult.csv" if file == "adult" else directory / f"{file}.csv")
    if file != name:
        complete = [row for row in zip(*columns, strict=True) if "?" not in row]
        columns = [list(column) for column in zip(*complete, strict=True)]
    if file == "adult":
        return _adult(directory / "adult", header, columns)
    if file == "breast-w":
        columns[:-1] = [["?" if one == "?" else str(int(one) >= SCALE) for one in column] for column in columns[:-1]]
    return _coded(columns, next((i for i, title in enumerate(header) if title.lower().startswith("class")), -1))


def _adult(directory: Path, header: list[str], columns: list[list[str]]) -> Table:
    named = dict(zip(header, columns, strict=True))
    decade = _hierarchy(directory / "hierarchies" / "age.csv", DECADES)
    continent = _hierarchy(directory / "hierarchies" / "country.csv", CONTINENTS)
    named["age"] = [decade[age] for age in named["age"]]
    named["native-country"] = [continent[country] for country in named["native-country"]]
    for title, edges in [("hours-per-week", HOURS), ("capital-gain", GAIN), ("capital-loss", LOSS)]:
        named[title] = [str(np.searchsorted(edges, int(value), side="right")) for value in named[title]]
    return _coded([column for title, column in named.items() if title not in LEFT_OUT], -1)


def read_columns(path: Path) -> tuple[list[str], list[list[str]]]:
    """Return the header and the columns of a CSV file, as texts."""
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = [row for row in csv.reader(file) if row]
    return header, [list(column) for column in zip(*rows, strict=True)]


def _hierarchy(path: Path, level: int) -> dict[str, str]:
    with path.open(newline="", encoding="utf-8") as file:
        return {row[0]: row[level] for row in csv.reader(file) if row}


def _coded(columns: list[list[str]], label: int) -> Table:
    """Return the table with categories numbered in alphabetical order; `label` is the column of the classes."""
    codes = [np.unique(column, return_inverse=True) for column in columns]
    classes, labels = codes.pop(label)
    values = np.stack([inverse for _, inverse in codes], axis=1)
    return Table(values, labels, tuple(len(names) for names, _ in codes), len(classes), len(labels))


def folds(labels: NDArray[np.int64], count: int, seed: int) -> NDArray[np.int64]:
    """Return a fold for each row, stratified: the rows of each class are shuffled and dealt in turn."""
    fold = np.empty(len(labels), dtype=np.int64)
    rng = np.random.default_rng(seed)
    for label in np.unique(labels):
        rows = rng.permutation(np.flatnonzero(labels == label))
        fold[rows] = np.arange(len(rows)) % count
    return fold
