"""Trees of named attributes: Quinlan's, random ones, some with names that programs stumble over; files and rows."""

from __future__ import annotations

from array import array
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from parties.models.trees.tree import Leaf, Node, Split
from parties.tables.delimited import Columns

TENNIS = Split(
    "outlook",
    {
        "sunny": Split("humidity", {"high": Leaf("no"), "normal": Leaf("yes")}),
        "overcast": Leaf("yes"),
        "rain": Split("wind", {"weak": Leaf("yes"), "strong": Leaf("no")}),
    },
)
AWKWARD = ["a", 'quo"te', "back\\slash", "<b>x</b>", "$y$", "ü 中", "\\N", "{|}", "true", "a.b"]


def domains(depth: int) -> dict[str, list[str]]:
    """Attributes for random trees: each has its values, as in a schema."""
    return {f"{AWKWARD[i]}{i}": AWKWARD[: 1 + i % 4] for i in range(depth)}


@st.composite
def random_trees(draw: st.DrawFn, attributes: dict[str, list[str]] | None = None) -> Node:
    """Trees over the attributes, five by default."""
    left = domains(5) if attributes is None else attributes
    if not left or draw(st.integers(0, 3)) == 0:
        return Leaf(draw(st.sampled_from(AWKWARD)))
    name = draw(st.sampled_from(sorted(left)))
    below = {key: values for key, values in left.items() if key != name}
    return Split(name, {value: draw(random_trees(below)) for value in left[name]})


def random_tree(
    rng: np.random.Generator, domains: dict[str, list[str]], classes: list[str], depth: int, leaves: float = 0.1
) -> Node:
    """A tree of at most that depth over the domains; a node above it is a leaf with probability `leaves`."""
    if depth == 0 or not domains or rng.random() < leaves:
        return Leaf(str(rng.choice(classes)))
    name = str(rng.choice(list(domains)))
    below = {other: values for other, values in domains.items() if other != name}
    return Split(name, {value: random_tree(rng, below, classes, depth - 1, leaves) for value in domains[name]})


def write(directory: Path, text: str, name: str = "tree.json") -> Path:
    """A new file with this text."""
    path = directory / name
    path.write_text(text, encoding="utf-8")
    return path


def rows_of(**values: list[str]) -> Columns:
    """Columns as if they had been read from a file with a heading."""
    count = len(next(iter(values.values()), []))
    return Columns(Path("rows.csv"), values, array("q", range(2, 2 + count)))
