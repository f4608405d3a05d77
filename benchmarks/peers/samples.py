"""The data sets, and measures of the trees that are learnt from them."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

Tree = Mapping[str, Any]  # {"class": label} or {"attribute": name, "branches": {value: Tree}}, as in tree.json


@dataclass(frozen=True)
class Sample:
    """A data set in `path`; `bits` is the length of MPyC's integers, as its own demonstration chooses it."""

    path: Path
    target: str
    bits: int

    @property
    def name(self) -> str:
        """Name of the file without its ending."""
        return self.path.stem

    @cached_property
    def rows(self) -> list[dict[str, str]]:
        """All rows; each maps columns to cells."""
        with self.path.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    @property
    def min_rows(self) -> int:
        """Largest leaf by the stopping rule of MPyC's demonstration: nodes with at most 5 % of the rows are leaves."""
        return int(0.05 * len(self.rows))

    @property
    def shape(self) -> dict[str, int]:
        """Public sizes of the problem."""
        classes = {row[self.target] for row in self.rows}
        return {"rows": len(self.rows), "attributes": len(self.rows[0]) - 1, "classes": len(classes)}


KNOWN = {
    "tennis": ("Play", 32),
    "balance-scale": ("Class Name", 77),
    "house-votes-84": ("class", 62),
    "car": ("class", 95),
    "tic-tac-toe": ("Class", 75),
}


def samples(directory: Path) -> list[Sample]:
    """Return the data sets, from CSV files in a directory. Raise FileNotFoundError if one is missing."""
    found = [Sample(directory / f"{name}.csv", target, bits) for name, (target, bits) in KNOWN.items()]
    for sample in found:
        if not sample.path.is_file():
            raise FileNotFoundError(f"{sample.path} is missing; give the directory of the data sets with --data")
    return found


def size(tree: Tree) -> int:
    """Return the number of nodes of a tree, leaves included."""
    return 1 + sum(size(branch) for branch in tree.get("branches", {}).values())


def accuracy(tree: Tree, sample: Sample) -> float:
    """Return the share of rows that the tree classifies correctly."""
    return sum(_classify(tree, row) == row[sample.target] for row in sample.rows) / len(sample.rows)


def _classify(tree: Tree, row: Mapping[str, str]) -> str:
    while "branches" in tree:
        tree = tree["branches"][row[tree["attribute"]]]
    label: str = tree["class"]
    return label
