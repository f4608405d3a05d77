"""Accuracy of default trees on unseen rows, beside that of scikit-learn's trees of the same table.

    python -m benchmarks.default_trees --data ../shared/data --out benchmarks/results/default_trees.json

A third of a raw file's rows is held out. `smc prepare` makes the schema from the other rows, and a coin deals them to
two parties. The trees are those of `smc id3` by default, and with `--splits multiway`, an earlier default. scikit-learn
learns from the rows of both, mapped by the same schema. An ordered column becomes the position of its range, and a mark
for missing values. Any other column becomes one column for each value. Its trees have as many leaves as ours, or the
same depth, or are pruned by cost and complexity as three folds choose. Tables under 10,000 rows are split five times,
others once.

The parties' sums are in the clear. The first tree of each table under 1,000 rows is computed again by garbled circuits,
and must be the same. Bytes of both directions are counted for the engine of the command.
"""

from __future__ import annotations

import csv
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from benchmarks.lines import kept
from benchmarks.tree_costs import TABLES, by_the_protocol, bytes_of, proposed, raw_file
from parties.alone.preparing.writing import row_bound
from parties.jobs.inputs import Inputs
from parties.jobs.tree.exact import ExactTree
from parties.jobs.tree.settings import Id3Settings
from parties.sources.opening import open_table
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema
from parties.tables.types import OrderedType, type_of
from protocols.counts import Indices
from protocols.edges import Questions
from protocols.tree import Leaf, Tree, child_of, walk
from smc.engines import Profile

FEW, SPLITS, FOLDS, ALPHAS = 10_000, 5, 3, 15
JOINT = 1_000  # below this number of rows, the first tree is also computed by garbled circuits
WAYS = ("multiway", "default")
SHARES = ("most", *WAYS, "as many leaves", "as deep", "pruned")  # kinds of accuracy on rows held out
Row = dict[str, Any]


def split(raw: Path, target: str, place: Path, seed: int) -> tuple[Path, Path]:
    """Write two thirds of a file's rows and the third held out, without those whose class the others lack."""
    head, *lines = (line for line in raw.read_bytes().splitlines() if line.strip())
    separator = max(",;\t", key=head.decode().count)
    column = [name.strip() for name in next(csv.reader([head.decode("utf-8-sig")], delimiter=separator))].index(target)
    order = np.random.default_rng(seed).permutation(len(lines))
    held, known = (sorted(part.tolist()) for part in np.split(order, [len(lines) // 3]))
    labels = [
        row[column].strip() for row in csv.reader((line.decode("latin-1") for line in lines), delimiter=separator)
    ]
    seen = {labels[i] for i in known}
    files = place / "known.csv", place / "held.csv"
    for file, part in zip(files, (known, [i for i in held if labels[i] in seen]), strict=True):
        file.write_bytes(b"\n".join([head, *(lines[i] for i in part), b""]))
    return files


def rows_of(table: TableSettings, schema: Schema, target: str, file: Path) -> Indices:
    """Return the distinct rows of a file with this table's columns, int64[lines, attributes + 2]."""
    with open_table(table.model_copy(update={"source": str(file)}), schema, target) as source:
        source.check()
        return np.unique(source.distinct(), axis=0)


def classes_said(tree: Tree, questions: Questions, rows: Indices) -> Indices:
    """Return the class that a tree of questions predicts for each row, int64[rows]."""
    said = np.zeros(len(rows), dtype=np.int64)
    ways: list[tuple[Tree, Indices]] = [(tree, np.arange(len(rows)))]
    while ways:
        node, here = ways.pop()
        if isinstance(node, Leaf):
            said[here] = node.label
            continue
        column, edge = questions.asked[node.attribute]
        answers = child_of(edge, rows[here, column])
        ways += [(child, here[answers == answer]) for answer, child in enumerate(node.children)]
    return said


def as_numbers(schema: Schema, target: str, rows: Indices) -> Any:
    """Return the rows for scikit-learn, float32[rows, columns]."""
    columns = []
    for place, name in enumerate(schema.features(target)):
        values, cells = schema.attributes[name], rows[:, [place]]
        column = type_of(values)
        if isinstance(column, OrderedType):
            columns += [cells, cells == len(column.labels)]
        else:
            columns.append(cells == np.arange(len(values)))
    return np.concatenate(columns, axis=1).astype(np.float32)


def right(said: Any, rows: Indices) -> float:
    """Return the share of rows, int64[lines, attributes + 2], whose class is predicted correctly."""
    return float((said == rows[:, -2]) @ rows[:, -1] / rows[:, -1].sum())


def of_one_split(raw: Path, target: str, place: Path, seed: int) -> Row:
    """Return accuracies, sizes and costs of the trees for one split of a table."""
    known_file, held_file = split(raw, target, place, seed)
    table, schema = proposed(known_file, target, place)
    known, held = (rows_of(table, schema, target, file) for file in (known_file, held_file))
    ours = np.random.default_rng(seed).binomial(known[:, -1], 0.5)
    bound = row_bound(-(-int(known[:, -1].sum()) // 2))
    classes = np.bincount(known[:, -2], weights=known[:, -1])
    row: Row = {"most": right(classes.argmax(), held)}
    for way in WAYS:
        settings = Id3Settings(max_rows=bound) if way == "default" else Id3Settings(max_rows=bound, splits="multiway")
        task = ExactTree(settings, schema, target)
        tree = by_the_protocol(task, known, ours)
        if seed == 0 and known[:, -1].sum() < JOINT:
            assert by_the_protocol(task, known, ours, Profile("mixed")) == tree
        row |= {
            way: right(classes_said(tree, task.questions, held), held),
            f"{way} leaves": sum(isinstance(node, Leaf) for node, _ in walk(tree)),
            f"{way} depth": task.settings.max_depth,
            f"{way} bytes": bytes_of(task, tree, Profile("mixed")),
            f"{way} at most": task.cost(Inputs()).most(Profile("mixed")),
        }
    return row | of_scikit_learn(
        np.repeat(as_numbers(schema, target, known), known[:, -1], axis=0),
        np.repeat(known[:, -2], known[:, -1]),
        as_numbers(schema, target, held),
        held,
        max(2, row["default leaves"]),
        row["default depth"],
    )


def of_scikit_learn(rows: Any, labels: Indices, others: Any, held: Indices, leaves: int, depth: int) -> Row:
    """Return the accuracies of its trees on the rows held out; `others` are these rows as numbers."""
    trees = {
        "as many leaves": DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0),
        "as deep": DecisionTreeClassifier(max_depth=depth, random_state=0),
    }
    shares: Row = {name: right(tree.fit(rows, labels).predict(others), held) for name, tree in trees.items()}
    path = DecisionTreeClassifier(random_state=0).cost_complexity_pruning_path(rows, labels).ccp_alphas.clip(0)
    alphas = np.unique(np.quantile(path, np.sqrt(np.linspace(0, 1, ALPHAS))))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)  # equal rows stand together
    search = GridSearchCV(DecisionTreeClassifier(random_state=0), {"ccp_alpha": alphas}, cv=folds)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(rows, labels)
    return shares | {
        "pruned": right(search.predict(others), held),
        "pruned leaves": int(search.best_estimator_.get_n_leaves()),
    }


def measured(name: str, raw: Path, target: str) -> Row:
    """Return the means over a table's splits."""
    with tempfile.TemporaryDirectory() as place:
        file = raw_file(raw, Path(place))
        rows = len(file.read_bytes().splitlines()) - 1
        found = []
        for seed in range(SPLITS if rows < FEW else 1):
            with tempfile.TemporaryDirectory() as inner:
                found.append(of_one_split(file, target, Path(inner), seed))
    means = {key: float(np.mean([row[key] for row in found])) for key in found[0]}
    return {"table": name, "rows": rows} | {
        key: round(mean, 3) if key in SHARES else round(mean) for key, mean in means.items()
    }


def markdown(results: list[Row]) -> str:
    """Return the table in docs/protocols.md."""
    lines = [
        "| table | rows | the most frequent class | `--splits multiway` | by default "
        "| scikit-learn: as many leaves | scikit-learn: as deep | scikit-learn: pruned "
        "| leaves: multiway | leaves: default | leaves: pruned | MB: multiway | MB: default | MB: default, at most |",
        f"|---{'|---' * 13}|",
    ]
    for row in results:
        shares = " | ".join(f"{row[name]:.3f}" for name in SHARES)
        leaves = " | ".join(f"{row[f'{name} leaves']:,}" for name in (*WAYS, "pruned"))
        costs = " | ".join(f"{row[name] / 1e6:,.1f}" for name in ("multiway bytes", "default bytes", "default at most"))
        lines.append(f"| {row['table']} | {row['rows']:,} | {shares} | {leaves} | {costs} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, write and print."""
    shape = {"splits": SPLITS, "few": FEW, "folds": FOLDS}
    kept(__doc__, lambda data: (measured(name, data / file, target) for name, file, target in TABLES), markdown, shape)


if __name__ == "__main__":
    main()
