"""ID3-delta of two small tables, step by step as the notes number them, with the values that each step opens."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from parties.lesson.view import View, rounds_text, watched
from parties.sources.opening import open_table
from parties.sources.settings import TableSettings
from parties.tables import example, schema
from parties.tables.schema import Schema
from protocols.id3 import id3
from protocols.openings import opened
from protocols.problem import Problem
from protocols.tree import Leaf, Split, Tree
from smc.engines import Engine, make_engine
from smc.errors import InputError
from smc.session import Session

MAX_ROWS = 64  # of a party
TARGET = "play"  # of the bundled table


def decision_tree(engine: Engine, table_file: str = "") -> View:
    """Watch ID3-delta on the bundled weather table, half of it at each party.

    Args:
        engine: The engine of the run.
        table_file: This party's rows, a CSV file with the columns of the bundled table. Empty: the bundled rows.
    """
    if not isinstance(table_file, str):
        raise InputError(f"the table {table_file} is not a path: give the path of a CSV file")
    bundled = example.demo()
    public = schema.load(bundled.schema)
    path = Path(table_file) if table_file else (bundled.clinic_a, bundled.clinic_b)[engine.party]
    problem = lesson_problem(public)
    view = View()
    own = TableSettings(schema=bundled.schema, source=str(path), max_rows=MAX_ROWS)
    with open_table(own, public, TARGET) as source, watched(engine.session, view) as (session, _):
        source.check()
        view.step(
            "ID3-delta: splits whose entropies differ by less than delta count as equal. Delta is public.",
            delta=problem.delta,
            bound_on_rows=f"{MAX_ROWS} of each party",
        )
        tree = id3(make_engine(session, "mixed"), problem, source)
        _walk(session, view, public, source.distinct(), tree)
        phases = session.meter.phases.items()
        cost = [
            f"{name:32} {phase.bytes_sent:8,} B sent {rounds_text(phase.rounds):>9} {phase.bits_opened:4} bits opened"
            for name, phase in phases
            if name.count("/") == 1
        ]
        text = (
            "This is the cost of each step. Leaves are steps 1 and 2. Entropy and argmin (the choice of the least) are "
            'step 3. A run sends nothing of the lines "lesson only".'
        )
        view.step(text, cost=cost)
        totals = ", ".join(f"{number} x {kind}" for kind, number in opened(problem, (tree,)).items())
        view.step("The run opened these values, and they are the tree itself.", opened=totals)
    return view


def lesson_problem(public: Schema, delta: float = 0.001) -> Problem:
    """Return the public parameters of the lesson's tree.

    Args:
        public: The schema of both tables.
        delta: Tolerance of ID3-delta.
    """
    domains = tuple(len(public.attributes[name]) for name in public.features(TARGET))
    return Problem(domains, len(public.attributes[TARGET]), MAX_ROWS, delta)


def _walk(session: Session, view: View, public: Schema, rows: NDArray[np.int64], tree: Tree) -> None:
    """Note the steps of each level in `view`: this party's counts, which stay here, and the decisions that were opened.

    `rows` are this party's distinct rows: values, class and number of each. `public` is the schema of both tables.
    """
    features, labels = public.features(TARGET), public.attributes[TARGET]
    nodes: list[tuple[dict[str, str], Tree, NDArray[np.int64]]] = [({}, tree, rows)]
    depth = 0
    while nodes:
        leaves, splits, inner, below = [], [], [], []
        for chosen, node, inside in nodes:
            path = ", ".join(f"{name} = {value}" for name, value in chosen.items()) or "all rows"
            numbers = np.bincount(inside[:, -2], inside[:, -1], len(labels)).astype(int)
            own = ", ".join(f"{label} {number}" for label, number in zip(labels, numbers, strict=True))
            decision = f"leaf, {labels[node.label]}" if isinstance(node, Leaf) else "no leaf"
            leaves.append(f"{path:44} your rows: {own:16} opened: {decision}")
            if isinstance(node, Split):
                name = features[node.attribute]
                splits.append(f"{path:44} split by {name}")
                inner.append((path, inside, [feature for feature in features if feature not in chosen]))
                for index, (value, child) in enumerate(zip(public.attributes[name], node.children, strict=True)):
                    below.append(({**chosen, name: value}, child, inside[inside[:, node.attribute] == index]))
        left = len(features) - depth  # attributes that each node can still split by
        if left:
            text = (
                f"Level {depth}, steps 1 and 2: is the node a leaf? One circuit on the counts of both parties finds "
                "the majority and whether one class is left. It opens two bits for each node: leaf or not, and the "
                "class (0 if it is no leaf). Your counts stay with you."
            )
        else:
            text = (
                f"Level {depth}, step 1: no attribute is left, so each node is a leaf. One circuit on the counts of "
                "both parties finds the majority and opens it. Your counts stay with you."
            )
        view.step(text, nodes=leaves)
        if splits and left > 1:
            text = (
                f"Level {depth}, step 3: which attribute has the least entropy? x ln x is computed on shares; the "
                "attribute alone is opened. This lesson also sends the counts, to show the entropies in bits."
            )
            with session.phase(f"level {depth}"), session.phase("lesson only"):
                view.step(text, splits=splits, entropies=_entropies(session, public, inner))
        elif splits:
            view.step(f"Level {depth}, step 3: one attribute is left. Nothing is computed or opened.", splits=splits)
        nodes, depth = below, depth + 1


def _entropies(session: Session, public: Schema, nodes: list[tuple[str, NDArray[np.int64], list[str]]]) -> list[str]:
    """Open the counts of each node by its remaining attributes; return the entropies of the class, a line a node."""
    features, labels = public.features(TARGET), public.attributes[TARGET]
    tables = []
    for _, inside, names in nodes:
        for name in names:
            table = np.zeros((len(public.attributes[name]), len(labels)), dtype=np.uint8)
            np.add.at(table, (inside[:, features.index(name)], inside[:, -2]), inside[:, -1].astype(np.uint8))
            tables.append(table)
    own = np.concatenate(tables)  # a line a value
    session.send("lesson.counts", own)
    joint = own + session.receive("lesson.counts", own.dtype, own.shape)
    session.meter.opened(8 * own.size)
    parts = iter(np.split(joint, np.cumsum([len(table) for table in tables])[:-1]))
    lines = []
    for path, _, names in nodes:
        scores = {name: next(parts) for name in names}
        before = conditional_entropy(scores[names[0]].sum(axis=0, keepdims=True))
        after = ", ".join(f"{name} {conditional_entropy(table):.3f}" for name, table in scores.items())
        lines.append(f"{path}: {before:.3f} before a split; {after}")
    return lines


def conditional_entropy(table: NDArray[np.integer]) -> float:
    """Return the conditional entropy of the class in bits, from counts by value and class."""
    sizes = table.sum(axis=1, keepdims=True)
    shares = table / np.maximum(sizes, 1)
    return abs(float((sizes * shares * np.log2(np.where(shares, shares, 1))).sum() / sizes.sum()))
