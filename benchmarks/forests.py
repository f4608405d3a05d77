"""Accuracy of forests on unseen rows: by the command's defaults, plain, and scikit-learn's.

The rows are five stratified folds of public tables. Each party has every other row. Columns are lists of values as `smc
schema` proposes them; for scikit-learn they become one column for each value. Both parties run in one process, with
sums in the clear, since the forest does not depend on the engine.

    python -m benchmarks.forests --data ../shared/data --out benchmarks/results/forests.json
"""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import OneHotEncoder

from benchmarks.clear import last_state
from benchmarks.lines import kept
from parties.base.settings import merge
from parties.jobs.kinds.forest import Forest
from parties.jobs.tree.settings import ForestSettings
from parties.models.trees.prediction import vote
from parties.tables.delimited import Columns
from parties.tables.schema import Schema
from protocols.counts import RowCounts

TABLES = ("car", "wisconsin", "house-votes-84", "tic-tac-toe")
WAYS: dict[str, dict[str, Any]] = {"default": {}, "plain": {"plain": True}, "multiway": {"splits": "multiway"}}
FOLDS, SEED = 5, 0


def measured(path: Path) -> dict[str, Any]:
    """Return the mean accuracy of each way, and of scikit-learn's forest with as many trees."""
    with path.open(encoding="utf-8") as file:
        names, *lines = csv.reader(file)
    order = sorted(range(len(names)), key=lambda place: names[place].lower() == "class")  # the target comes last
    names, cells = [names[place] for place in order], np.array(lines)[:, order]
    features, target = cells[:, :-1], cells[:, -1]
    schema = Schema({name: tuple(sorted(set(column))) for name, column in zip(names, cells.T, strict=True)}, names[-1])
    right: dict[str, list[float]] = {name: [] for name in (*WAYS, "scikit-learn")}
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(features, target):
        for name, settings in WAYS.items():
            task = Forest.canonical(merge(ForestSettings(max_rows=len(cells), target=names[-1]), settings), schema)
            rows = Columns(
                path, {n: features[test, i].tolist() for i, n in enumerate(names[:-1])}, list(range(len(test)))
            )
            votes = vote(task.tree_file(grown(task, features[train], target[train])).trees, rows)
            right[name].append(float((np.array(votes) == target[test]).mean()))
        encoder = OneHotEncoder().fit(features)
        theirs = RandomForestClassifier(100, random_state=SEED).fit(encoder.transform(features[train]), target[train])
        right["scikit-learn"].append(theirs.score(encoder.transform(features[test]), target[test]))
    return {
        "table": path.stem,
        "rows": len(cells),
        **{name: round(float(np.mean(of)), 3) for name, of in right.items()},
    }


def grown(task: Forest, features: Any, target: Any) -> Any:
    """Return the forest learnt from all rows; each party has every other row."""
    domains = [task.schema.attributes[name] for name in task.schema.features(task.target)]
    classes = task.schema.attributes[task.target]
    codes = np.stack(
        [[values.index(cell) for cell in column] for values, column in zip(domains, features.T, strict=True)]
    )
    labels = np.array([classes.index(label) for label in target])

    def own(party: int) -> Any:
        source = RowCounts(task.domains, len(classes), codes[:, party::2].T, labels[party::2])
        return task.own_rows(source, os.urandom(32))

    return last_state(task, own)


def markdown(results: list[dict[str, Any]]) -> str:
    """Return the table in docs/protocols.md."""
    lines = [
        "| share of rows right | default | `--plain` | `--splits multiway` | scikit-learn |",
        "|---|---|---|---|---|",
    ]
    for line in results:
        shares = " | ".join(f"{line[name]:.3f}" for name in (*WAYS, "scikit-learn"))
        lines.append(f"| {line['table']}, {line['rows']:,} rows | {shares} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, write and print."""
    kept(__doc__, lambda data: (measured(data / f"{name}.csv") for name in TABLES), markdown, {"folds": FOLDS})


if __name__ == "__main__":
    main()
