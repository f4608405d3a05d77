"""Tables for anonymisation: those of the literature, random ones, and their classes counted from the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st

from parties.alone.publish.cells import Cells, reduced
from parties.alone.publish.hierarchy import Hierarchy, build
from parties.alone.publish.models.classes import Classes, counted, layout_of
from parties.alone.publish.recoding.lattice import Node

# Nine rows of lesson 7 (V. Ciriani et al., "k-Anonymity", 2007, figure 2): ethnicity and ZIP code.
ETHNICITY = ["asian"] * 5 + ["black"] * 2 + ["white"] * 2
ZIP = ["94142", "94141", "94139", "94139", "94139", "94138", "94139", "94139", "94141"]

# The same twelve patients twice (A. Machanavajjhala et al., "l-Diversity", 2007): 4-anonymous, and 3-diverse besides.
HEART, VIRAL, CANCER = "Heart Disease", "Viral Infection", "Cancer"
FOUR_ANONYMOUS = {
    ("130**", "<30"): [HEART, HEART, VIRAL, VIRAL],
    ("1485*", ">=40"): [CANCER, HEART, VIRAL, VIRAL],
    ("130**", "3*"): [CANCER] * 4,
}
THREE_DIVERSE = {
    ("1305*", "<=40"): [HEART, VIRAL, CANCER, CANCER],
    ("1485*", ">40"): [CANCER, HEART, VIRAL, VIRAL],
    ("1306*", "<=40"): [HEART, VIRAL, CANCER, CANCER],
}

# Nine patients (N. Li et al., "t-Closeness", 2007): ZIP code, salary in thousands, disease.
SALARIES = {
    "4767*": [(3, "Gastric ulcer"), (5, "Stomach ulcer"), (9, "Pneumonia")],
    "4790*": [(6, "Gastritis"), (11, "Flu"), (8, "Bronchitis")],
    "4760*": [(4, "Gastritis"), (7, "Bronchitis"), (10, "Stomach ulcer")],
}


def flat(column: str, values: Sequence[Any]) -> Hierarchy:
    """Values under one top, in this order."""
    return build(column, [[str(value), "*"] for value in dict.fromkeys(values)])


def cells_of(
    quasi: Sequence[tuple[Hierarchy, Sequence[str]]],
    sensitive: Sequence[tuple[Hierarchy, Sequence[str]]] = (),
    public: Sequence[Sequence[str]] | None = None,
) -> Cells:
    """Cells of columns of text."""
    codes = [[hierarchy.code(value) for value in values] for hierarchy, values in (*quasi, *sensitive)]
    distinct, counts = reduced(np.array(codes, dtype=np.int32))
    others = None
    if public is not None:
        coded = [[h.code(value) for value in values] for (h, _), values in zip(quasi, public, strict=True)]
        others = reduced(np.array(coded, dtype=np.int32))
    number = len(quasi)
    hierarchies, kept = tuple(h for h, _ in quasi), tuple(h for h, _ in sensitive)
    return Cells(hierarchies, kept, distinct[:number], distinct[number:], counts, others)


def classes_of(table: dict[Any, list[Any]], order: Sequence[Any] | None = None) -> Classes:
    """The classes of a table with one sensitive column, `s`, whose values stand in `order`."""
    values = [str(value) for rows in table.values() for value in rows]
    names = [str(number) for number, rows in enumerate(table.values()) for _ in rows]
    hierarchy = flat("s", values if order is None else order)
    cells = cells_of([(flat("q", names), names)], [(hierarchy, values)])
    return counted(cells, layout_of(cells), cells.quasi[0], len(table))


@st.composite
def hierarchies(draw: st.DrawFn, column: str) -> Hierarchy:
    """A hierarchy of up to five values and three levels above them."""
    number = draw(st.integers(1, 5))
    paths = [[f"{column}{i}"] for i in range(number)]
    groups = list(range(number))
    for level in range(draw(st.integers(0, 2))):
        parent = [draw(st.integers(0, 2)) for _ in range(max(number, 3))]
        groups = [parent[group] for group in groups]
        for path, group in zip(paths, groups, strict=True):
            path.append(f"{column}{level}/{group}")
    return build(column, [[*path, "*"] for path in paths])


@st.composite
def tables(draw: st.DrawFn, most_rows: int = 40, public: bool = False) -> Cells:
    """A random table of up to three quasi-identifiers and one sensitive column, `s`."""
    quasi = [draw(hierarchies(f"q{i}")) for i in range(draw(st.integers(1, 3)))]
    sensitive = draw(hierarchies("s"))
    rows = draw(st.integers(1, most_rows))
    columns = [draw(st.lists(st.sampled_from(h.values), min_size=rows, max_size=rows)) for h in (*quasi, sensitive)]
    others = None
    if public:
        extra = draw(st.integers(0, most_rows))
        others = [
            [*column, *draw(st.lists(st.sampled_from(h.values), min_size=extra, max_size=extra))]
            for h, column in zip(quasi, columns, strict=False)
        ]
    return cells_of(list(zip(quasi, columns[:-1], strict=True)), [(sensitive, columns[-1])], others)


def rows_of(cells: Cells) -> list[tuple[int, ...]]:
    """Every row as the numbers of its values, the sensitive last."""
    columns = np.concatenate([cells.quasi, cells.sensitive])
    return [tuple(map(int, row)) for row, n in zip(columns.T, cells.counts, strict=True) for _ in range(n)]


def naive_classes(cells: Cells, node: Node) -> dict[tuple[str, ...], Counter[int]]:
    """The classes at a node, from the rows: the labels, and how often each value of the sensitive column."""
    found: dict[tuple[str, ...], Counter[int]] = {}
    for *quasi, sensitive in rows_of(cells):
        key = tuple(h.labels[n][h.groups[n][q]] for h, n, q in zip(cells.hierarchies, node, quasi, strict=True))
        found.setdefault(key, Counter())[sensitive] += 1
    return found


def all_nodes(cells: Cells) -> list[Node]:
    """Every node of the lattice."""
    return list(product(*(range(h.height + 1) for h in cells.hierarchies)))
