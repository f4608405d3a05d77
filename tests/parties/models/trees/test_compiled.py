"""All rows at once go through the tree as each goes alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.models.trees.compiled import choice, compiled
from parties.models.trees.prediction import predict
from parties.models.trees.tree import NoBranchError, Split
from parties.tables.delimited import Columns
from tests.support.trees import random_tree


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(0, 60), st.integers(0, 4), st.booleans())
def test_all_rows_at_once_go_where_each_goes_alone(seed: int, rows: int, depth: int, strange: bool) -> None:
    rng = np.random.default_rng(seed)
    domains = {f"a{i}": ["ä", "ö", "ü", "?", "ß"][: rng.integers(1, 6)] for i in range(4)}
    tree = random_tree(rng, domains, ["no", "yes", "perhaps"], depth, leaves=0.2)
    cells = {n: [str(v) for v in rng.choice([*vs, "other"] if strange else vs, rows)] for n, vs in domains.items()}
    table = Columns(Path("rows"), cells, range(rows))
    expected: list[str] = []
    for row in range(rows):
        node = tree
        while isinstance(node, Split):
            value = cells[node.attribute][row]
            if value not in node.branches:
                with pytest.raises(NoBranchError) as refused:
                    predict(tree, table)
                said = f"rows, line {row}, column {node.attribute!r}: the tree has no branch for {value!r}"
                assert str(refused.value).startswith(said)
                assert str(refused.value).endswith(f"; known: {', '.join(map(repr, node.branches))}")
                return
            node = node.branches[value]
        expected.append(node.label)
    assert predict(tree, table) == expected
    arrays = compiled(choice(tree))
    codes = {}
    for name, values in domains.items():
        codes[name] = np.array([values.index(cell) if cell in values else -1 for cell in cells[name]], dtype=np.int64)
    assert [arrays.ends[end].label for end in arrays.route(codes, rows)] == expected
