"""Write the tables of docs/local-mining.md: `python -m scripts.local_mining`, in about a minute.

Each holder learns a tree, rules and clusters as by `smc id3 --alone`, `smc rules --alone` and `smc cluster --alone
--exact`, and weights by logistic regression. Their files are combined as by `smc combine`. The joint answer is learnt
from all training rows.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from parties.alone.comparing import logistic
from parties.base.settings import merge
from parties.jobs import kinds
from parties.jobs.execution.local_run import run_alone
from parties.jobs.release.cluster.combined import centroids
from parties.models.combined import averages, union, votes
from parties.models.load import load_any, predicted
from parties.models.rules import Rules
from parties.sources.cells import cells
from parties.tables.schema import Schema

ROOT = Path(__file__).parents[1]
PAGE, DATA = ROOT / "docs" / "local-mining.md", ROOT.parent / "shared" / "data"
BEGIN, END = "<!-- made by scripts/local_mining.py -->\n", "<!-- until here -->\n"
HOLDERS = (2, 5, 10)
TRIALS = 5  # number of random choices of the training rows; figures are means over them
SPLITS = ("evenly", "skewed")
SKEWED = {"car": "safety", "wisconsin": "CellSize"}  # column by whose order rows are dealt to holders
NUMBERS = ("ClumpThickness", "CellSize", "BareNuclei")  # columns for clusters, all with numbers from 1 to 10
Rows = list[list[str]]
Joined = Callable[[Sequence[Path]], dict[str, Any]]


class Table:
    """Training and test rows of a table, and a folder for the files of its holders."""

    def __init__(self, name: str, folder: Path, seed: int = 0) -> None:
        with (DATA / f"{name}.csv").open() as file:
            self.header, *rows = csv.reader(file)
        for row in rows:  # two classes, for linear models
            row[-1] = {"acc": "yes", "good": "yes", "vgood": "yes", "unacc": "no"}.get(row[-1], row[-1])
        self.name, self.folder, self.target = name, folder / f"{name}{seed}", self.header[-1]
        self.folder.mkdir()
        values = zip(*rows, strict=True)
        domains = {column: tuple(sorted(set(of), key=_order)) for column, of in zip(self.header, values, strict=True)}
        self.schema = Schema(domains, self.target)
        self.schema.save(self.folder / "schema.toml")
        order = np.random.default_rng(seed).permutation(len(rows)).tolist()
        cut = 2 * len(rows) // 3
        self.training, self.test = ([rows[i] for i in part] for part in (order[:cut], order[cut:]))
        self.tests = cells(self.written("test", self.test))

    def written(self, name: str, rows: Rows) -> Path:
        """Write a file of these rows, and return its path."""
        path = self.folder / f"{name}.csv"
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([self.header, *rows])
        return path

    def parts(self, holders: int, split: str) -> list[Rows]:
        """Return the training rows of each holder."""
        at, rows = self.header.index(SKEWED[self.name]), self.training
        if split == "skewed":
            rows = sorted(rows, key=lambda row: _order(row[at]))
        return [[rows[i] for i in part] for part in np.array_split(np.arange(len(rows)), holders)]

    def learned(self, kind: str, rows: Rows, name: str) -> Path:
        """Write the model that a holder of these rows learns alone, and return the path."""
        if kind == "weights":
            model = self._weights(rows)
        else:
            of = kinds.find(kind)
            files = {"data": self.written(name, rows), "schema": self.folder / "schema.toml"}
            settings = merge(of.Settings(), files | SETTINGS[kind] | {"max_rows": len(self.training)})
            task, data, _ = of.alone(settings, 0)
            model = task.document(run_alone(task, data))
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps(model))
        return path

    def holders(self, kind: str, number: int, split: str) -> list[Path]:
        """Write the models that all holders learn, and return the paths."""
        return [self.learned(kind, rows, str(i)) for i, rows in enumerate(self.parts(number, split))]

    def joint(self, kind: str) -> Path:
        """Return the path of the model of all training rows; it is learnt once."""
        path = self.folder / f"joint-{kind}.json"
        return path if path.exists() else self.learned(kind, self.training, f"joint-{kind}")

    def _weights(self, rows: Rows) -> dict[str, Any]:
        columns = list(zip(*rows, strict=True))
        domains = list(self.schema.attributes.values())
        codes = np.array([[of.index(cell) for cell in cells] for of, cells in zip(domains, columns, strict=True)]).T
        fitted = logistic.fit([len(of) for of in domains[:-1]], 2, codes[:, :-1], codes[:, -1])
        weights = iter((fitted.weights[:, 1] - fitted.weights[:, 0]).tolist())
        named = {
            name: {"weights": {value: next(weights) for value in of}}
            for name, of in zip(self.header[:-1], domains[:-1], strict=True)
        }
        return {"target": self.target, "classes": list(domains[-1]), "intercept": 0.0, "columns": named}

    def accuracy(self, model: Path) -> float:
        """Return the share of test rows whose class the model predicts."""
        classes = predicted(load_any(model), self.tests)
        return float(np.mean([mine == row[-1] for mine, row in zip(classes, self.test, strict=True)]))

    def distance(self, clusters: Path) -> float:
        """Return the mean squared distance of a test row from the nearest centroid."""
        places = [self.header.index(name) for name in NUMBERS]
        points = np.array([[float(row[i]) for i in places] for row in self.test])
        centres = np.array([cluster["centroid"] for cluster in json.loads(clusters.read_text())["clusters"]])
        return float(((points[:, None] - centres) ** 2).sum(axis=2).min(axis=1).mean())


SETTINGS: dict[str, dict[str, Any]] = {
    "id3": {},
    "rules": {"max_length": 3, "show": "all"},
    "cluster": {"columns": NUMBERS, "bounds": ("1:10",) * 3, "k": 4, "exact": True},
}


def _order(value: str) -> tuple[float, str]:
    """Return the sort key of a value: numbers by size, words in alphabetical order."""
    return (float(value), "") if value.replace(".", "").isdigit() else (0.0, value)


def line(tables: Sequence[Table], kind: str, holders: int, split: str) -> str:
    """Return a line of the table of figures: for a model of one holder, the combined model, and the joint one.

    Args:
        tables: The rows, for each trial.
        kind: Kind of model that the holders learn.
        holders: Number of holders.
        split: One of `SPLITS`.
    """
    name, join, judge, form = KINDS[kind]
    figures = []
    for table in tables:
        learned = table.holders(kind, holders, split)
        alone = float(np.mean([judge(table, path) for path in learned]))
        figures.append((alone, judge(table, _joined(table, join, learned)), judge(table, table.joint(kind))))
    means = (format(mean, form) for mean in np.mean(figures, axis=0))
    return _cells(name, tables[0].name, split, holders, *means)


def rules_line(table: Table, holders: int, split: str) -> str:
    """Return a line of the table of rules: the joint rules found, and the number of others, by threshold.

    Args:
        table: The rows.
        holders: Number of holders.
        split: One of `SPLITS`.
    """
    learned = table.holders("rules", holders, split)
    right, figures = _rules(table.joint("rules")), []
    for at_least in dict.fromkeys((1, holders // 2 + 1, holders)):
        found = _rules(_joined(table, partial(union, at_least=at_least), learned))
        figures.append(f"{len(found & right):,} + {len(found - right):,}")
    if holders == 2:  # a majority is both holders
        figures.append(figures[-1])
    return _cells(table.name, split, holders, f"{len(right):,}", *figures)


def _joined(table: Table, join: Joined, learned: Sequence[Path]) -> Path:
    path = table.folder / "combined.json"
    path.write_text(json.dumps(join(learned)))
    return path


def _rules(path: Path) -> set[tuple[frozenset[str], frozenset[str]]]:
    return {(frozenset(given), frozenset(then)) for given, then in Rules.load(path).texts}


def _cells(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


KINDS: dict[str, tuple[str, Joined, Callable[[Table, Path], float], str]] = {
    "id3": ("tree", votes, Table.accuracy, ".1%"),
    "weights": ("weights", averages, Table.accuracy, ".1%"),
    "cluster": ("clusters", centroids, Table.distance, ".2f"),
}
RULES_HEADS = ("table", "rows are split", "holders", "joint rules", "union", "a majority", "all holders")


def trials_of(name: str, folder: Path) -> list[Table]:
    """Return the table with the rows of each trial.

    Args:
        name: Name of the table.
        folder: Folder for the files.
    """
    return [Table(name, folder, seed) for seed in range(TRIALS)]


def page() -> str:
    """Return the tables in Markdown."""
    figures = [_cells("model", "table", "rows are split", "holders", "one alone", "combined", "joint"), _rule(7)]
    rules = [_cells(*RULES_HEADS), _rule(7)]
    with TemporaryDirectory() as name:
        trials = {table: trials_of(table, Path(name)) for table in SKEWED}
        cases = list(product(SPLITS, HOLDERS))
        for kind in KINDS:
            for table in SKEWED if kind != "cluster" else ("wisconsin",):  # car has no columns of numbers
                figures += [line(trials[table], kind, holders, split) for split, holders in cases]
        for tables in trials.values():
            rules += [rules_line(tables[0], holders, split) for split, holders in cases]
    return "\n".join([*figures, "", *rules]) + "\n"


def _rule(columns: int) -> str:
    return "|" + "---|" * columns


def main() -> None:
    """Put the tables into the page."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + page() + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
