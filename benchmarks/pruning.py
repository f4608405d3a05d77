"""Accuracy of pruned trees on unseen rows; a fifth of all rows has another class than the rule gives.

Each of seven known rules decides the class in four tables of 1,500 rows and eight columns. Each party has every other
row. The accuracy is measured on 6,000 other rows. The trees are those of `smc id3 --plain --max-depth 8` with each
`--prune`. "Best depth" is the best of unpruned trees of depth 1 to 6 on the 6,000 rows, which in practice nobody has.
scikit-learn's trees are pruned by cost and complexity, chosen by cross-validation. Both parties run in one process,
with sums in the clear, since the tree does not depend on the engine.

    python -m benchmarks.pruning --out benchmarks/results/pruning.json
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from benchmarks.clear import last_state
from benchmarks.lines import kept
from parties.base.settings import merge
from parties.jobs.kinds.id3 import Id3
from parties.jobs.tree.settings import Id3Settings
from parties.models.trees.prediction import predict
from parties.tables.delimited import Columns
from parties.tables.schema import Schema
from protocols.counts import RowCounts

ROWS, OTHERS, COLUMNS, NOISE, TABLES = 1500, 6000, 8, 0.2, 4
WAYS = ("off", "mdl", "chi2", "pessimistic", "holdout")
HEADS = {"off": "unpruned", "best depth": "best depth, tried", "scikit-learn": "scikit-learn"}
Rule = Callable[[Any], Any]
RULES: dict[str, tuple[int, int, Rule]] = {  # values of a column, classes, and the class of rows
    "two questions of three answers": (3, 2, lambda x: (x[:, 0] == 1) | (x[:, 1] == 2)),
    "three questions of three answers": (3, 2, lambda x: ((x[:, 0] == 1) & (x[:, 1] > 0)) | (x[:, 2] == 2)),
    "an exclusive or, or a pair": (2, 2, lambda x: (x[:, 0] ^ x[:, 1]) | (x[:, 2] & x[:, 3])),
    "two questions of four answers": (4, 2, lambda x: (x[:, 0] > 1) & (x[:, 1] != 3)),
    "three questions of three answers, three classes": (3, 3, lambda x: np.where(x[:, 0] == 0, x[:, 1], x[:, 2])),
    "either of two pairs": (2, 2, lambda x: (x[:, 0] & x[:, 1]) | (x[:, 2] & x[:, 3])),
    "a sum of four columns": (3, 2, lambda x: x[:, :4].sum(axis=1) > 4),
}


def drawn(name: str, rows: int, rng: np.random.Generator) -> Any:
    """Return rows whose last column is the class, int64[rows, columns + 1]."""
    values, classes, rule = RULES[name]
    features = rng.integers(0, values, (rows, COLUMNS))
    other = rng.integers(1, classes, rows) * (rng.random(rows) < NOISE)
    return np.column_stack([features, (rule(features).astype(np.int64) + other) % classes])


def tree(name: str, rows: Any, key: bytes, **settings: Any) -> Any:
    """Return the tree learnt from all rows; each party has every other row."""
    values, classes, _ = RULES[name]
    domains = {f"x{place}": tuple(map(str, range(values))) for place in range(COLUMNS)}
    schema = Schema({**domains, "y": tuple(map(str, range(classes)))}, "y")
    chosen = merge(Id3Settings(max_rows=ROWS, target="y", plain=True, max_depth=COLUMNS), settings)
    task = Id3.canonical(chosen, schema)

    def own(party: int) -> Any:
        mine = rows[party::2]
        source = RowCounts(task.domains, classes, mine[:, :-1], mine[:, -1])
        return task.own_rows(source, hashlib.sha256(key + bytes([party])).digest())

    return task.tree_file(last_state(task, own)).tree


def right(made: Any, rows: Any) -> float:
    """Return the share of rows whose class the tree predicts correctly."""
    cells = {f"x{place}": list(map(str, rows[:, place].tolist())) for place in range(COLUMNS)}
    said = predict(made, Columns(Path("rows"), cells, list(range(len(rows)))))
    return float((np.array(said) == rows[:, -1].astype(str)).mean())


def measured(name: str) -> dict[str, Any]:
    """Return the mean accuracy of each way."""
    shares: dict[str, list[float]] = {}
    for table in range(TABLES):
        rng = np.random.default_rng([len(name), table])
        rows, others = drawn(name, ROWS, rng), drawn(name, OTHERS, rng)
        key = f"{name} {table}".encode()
        for way in WAYS:
            shares.setdefault(way, []).append(right(tree(name, rows, key, prune=way), others))
        depths = [right(tree(name, rows, key, max_depth=depth), others) for depth in range(1, 7)]
        shares.setdefault("best depth", []).append(max(depths))
        encoder = OneHotEncoder().fit(rows[:, :-1])
        path = DecisionTreeClassifier(random_state=0).cost_complexity_pruning_path(
            encoder.transform(rows[:, :-1]), rows[:, -1]
        )
        alphas = np.unique(np.quantile(path.ccp_alphas.clip(0), np.linspace(0, 1, 30)))
        search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"ccp_alpha": alphas}, cv=5)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            search.fit(encoder.transform(rows[:, :-1]), rows[:, -1])
        shares.setdefault("scikit-learn", []).append(search.score(encoder.transform(others[:, :-1]), others[:, -1]))
    return {"planted": name, **{way: round(float(np.mean(of)), 3) for way, of in shares.items()}}


def markdown(results: list[dict[str, Any]]) -> str:
    """Return the table in docs/protocols.md."""
    ways = ("off", "best depth", "scikit-learn", *WAYS[1:])
    heads = " | ".join(HEADS.get(way, f"`{way}`") for way in ways)
    lines = [f"| planted | {heads} |", f"|---{'|---' * len(ways)}|"]
    lines += [f"| {line['planted']} | " + " | ".join(f"{line[way]:.3f}" for way in ways) + " |" for line in results]
    return "\n".join(lines)


def main() -> None:
    """Measure, write and print."""
    shape = {"rows": ROWS, "others": OTHERS, "columns": COLUMNS, "noise": NOISE, "tables": TABLES}
    kept(__doc__, lambda _: map(measured, RULES), markdown, shape)


if __name__ == "__main__":
    main()
