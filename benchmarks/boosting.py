"""Accuracy of boosted trees on unseen rows: by default, with 50 rounds at rate 0.3, and XGBoost's.

The rows are five folds of public tables, and one fold of Adult. Each party has every other row. By default the number
of rounds is such that their splits open at most 3,072 bits, and the rate follows from this number. Numbers have public
bounds or edges. Other columns are lists of values; for XGBoost's `hist` they become one column for each value. Both
parties run in one process, with sums in the clear, since the trees do not depend on the engine.

    python -m benchmarks.boosting --data ../shared/data --out benchmarks/results/boosting.json

Leaves are exact. With --epsilon they have noise, and a run takes about twenty times as long.
"""

from __future__ import annotations

import argparse
import csv
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import xgboost
from sklearn.model_selection import StratifiedKFold

from benchmarks.clear import last_state
from parties.bench.json_rows import json_rows
from parties.jobs.boost.settings import BoostSettings
from parties.jobs.kinds.boost import Boost
from parties.models.boosted import BoostedModel
from parties.tables.schema import Schema
from parties.tables.types import Domain, read_type
from protocols.arrays import Numbers
from protocols.counts import RowCounts

TABLES = {"car": 5, "wisconsin": 5, "house-votes-84": 5, "tic-tac-toe": 5, "adult": 1}  # number of folds
LEFT_OUT = ("fnlwgt", "education-num")  # a weight of the census; `education` again
NUMBERS: dict[str, dict[str, Any]] = {  # of Adult
    "age": {"type": "integer", "low": 17, "high": 90},
    "capital-gain": {"type": "integer", "low": 0, "high": 99999, "edges": [1, 3000, 5000, 7000, 10000, 15000]},
    "capital-loss": {"type": "integer", "low": 0, "high": 4356, "edges": [1, 1500, 1750, 2000, 2250]},
    "hours-per-week": {"type": "integer", "low": 1, "high": 99},
}
GRADE = {"type": "integer", "low": 1, "high": 10, "missing": True}  # of Wisconsin
OLD = {"rounds": 50, "rate": 0.3}
WAYS: dict[str, dict[str, Any]] = {"default": {}, "50 rounds": OLD}
XGBOOST = {"tree_method": "hist", "max_depth": 4, "eta": 0.3, "nthread": 2}
SEED = 0


def table(path: Path) -> tuple[Schema, dict[str, Numbers]]:
    """Return the schema, and rows as category numbers, int64[rows] a column."""
    with path.open(encoding="utf-8") as file:
        names, *lines = [line for line in csv.reader(file) if line]
    cells = {name: column for name, column in zip(names, np.array(lines).T, strict=True) if name not in LEFT_OUT}
    target = next(name for name in cells if name.lower() in ("class", "salary-class"))
    types = NUMBERS if path.stem == "adult" else dict.fromkeys(cells, GRADE) if path.stem == "wisconsin" else {}
    domains = {
        name: Domain(read_type(types[name])) if name in types and name != target else tuple(sorted(set(column)))
        for name, column in cells.items()
    }
    return Schema(domains, target), {name: coded(domains[name], types.get(name, {}), cells[name]) for name in cells}


def coded(domain: Any, kind: dict[str, Any], cells: Any) -> Numbers:
    """Return the category numbers of cells in a column's domain."""
    if "edges" in kind:
        return np.searchsorted(kind["edges"], cells.astype(int), side="right")
    place = {value: number for number, value in enumerate(domain)}
    return np.array([place[cell] for cell in cells.tolist()])


def measured(path: Path, folds: int, epsilon: float | None) -> dict[str, Any]:
    """Return the mean accuracy of each way and of XGBoost, and the rounds and bits of the default."""
    schema, codes = table(path)
    assert schema.target is not None
    labels = codes[schema.target]
    leaves = {"exact": True} if epsilon is None else {"epsilon": epsilon}
    tasks = {
        name: Boost.canonical(BoostSettings.model_validate({"max_rows": len(labels), **leaves, **settings}), schema)
        for name, settings in WAYS.items()
    }
    right: dict[str, list[float]] = {name: [] for name in (*WAYS, "XGBoost")}
    split = StratifiedKFold(5, shuffle=True, random_state=SEED).split(labels, labels)
    for train, test in islice(split, folds):
        for name, task in tasks.items():
            model = BoostedModel.parse(task.document(grown(task, codes, train)))
            bins = {column.name: np.array(column.bins)[codes[column.name][test]] for column in task.features.columns}
            margins = model.margins_of(bins, len(test))
            guess = margins[0] > 0 if len(margins) == 1 else margins.argmax(axis=0)
            right[name].append(float((guess == labels[test]).mean()))
        right["XGBoost"].append(theirs(tasks["default"], codes, labels, train, test))
    default, noisy = tasks["default"], {**leaves, "exact": False, "epsilon": 1.0}
    bits = Boost.canonical(
        BoostSettings.model_validate({"max_rows": len(labels), **noisy}), schema
    ).disclosure.bits.at_most
    shares = {name: round(float(np.mean(of)), 4) for name, of in right.items()}
    about = {"table": path.stem, "rows": len(labels), "rounds": default.rounds, "rate": default.settings.rate}
    return {**about, "bits": bits, "bits of 50": 50 * bits // default.rounds, **shares}


def grown(task: Boost, codes: dict[str, Numbers], train: Numbers) -> Any:
    """Return the trees learnt from these rows; each party has every other row."""
    names = task.schema.features(task.target)
    domains = [len(task.schema.attributes[name]) for name in names]

    def own(party: int) -> Any:
        rows = train[party::2]
        values = np.stack([codes[name][rows] for name in names], axis=1)
        return task.own_rows(RowCounts(domains, len(task.classes), values, codes[task.target][rows]))

    return last_state(task, own)


def theirs(task: Boost, codes: dict[str, Numbers], labels: Numbers, train: Numbers, test: Numbers) -> float:
    """Return the accuracy of XGBoost with 50 rounds; numbers are categories in the same order."""
    columns = []
    for column in task.features.columns:
        of_rows = codes[column.name]
        columns += [of_rows] if column.ordered else [of_rows == place for place in range(column.size)]
    rows = np.stack(columns, axis=1).astype(float)
    classes = len(task.classes)
    kind = {"objective": "binary:logistic"} if classes == 2 else {"objective": "multi:softprob", "num_class": classes}
    booster = xgboost.train({**XGBOOST, **kind}, xgboost.DMatrix(rows[train], labels[train]), 50)
    chances = booster.predict(xgboost.DMatrix(rows[test]))
    guess = chances > 0.5 if classes == 2 else chances.argmax(axis=1)
    return float((guess == labels[test]).mean())


def markdown(results: list[dict[str, Any]]) -> str:
    """Return the table in docs/boosting.md."""
    ways = (*WAYS, "XGBoost")
    head = ("table", "rounds", "rate", "bits of splits: default (50 rounds)", *ways)
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    for line in results:
        about = f"{line['rounds']} | {line['rate']:g} | {line['bits']:,} ({line['bits of 50']:,})"
        lines.append(f"| {line['table']} | {about} | {' | '.join(f'{line[name]:.3f}' for name in ways)} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, write and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the tables")
    parser.add_argument("--epsilon", type=float)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    results = []
    for name, folds in TABLES.items():
        folder = arguments.data / name if name == "adult" else arguments.data
        results.append(measured(folder / f"{name}.csv", folds, arguments.epsilon))
        print(markdown(results[-1:]).splitlines()[-1], flush=True)
    arguments.out.write_text(json_rows({"xgboost": XGBOOST, "epsilon": arguments.epsilon, "results": results}) + "\n")
    print(markdown(results))


if __name__ == "__main__":
    main()
