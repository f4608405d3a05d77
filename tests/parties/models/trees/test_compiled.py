"""All rows at once go through the tree as each goes alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.models.trees.compiled import compiled
from parties.models.trees.prediction import predict
from parties.tables.categories import column
from parties.tables.delimited import Columns
from smc.errors import InputError
from tests.support.trees import random_tree


@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(0, 60), st.integers(0, 4), st.booleans())
def test_all_rows_at_once_go_where_each_goes_alone(seed: int, rows: int, depth: int, strange: bool) -> None:
    rng = np.random.default_rng(seed)
    domains = {f"a{i}": ["ä", "ö", "ü", "?", "ß"][: rng.integers(1, 6)] for i in range(4)}
    tree = random_tree(rng, domains, ["no", "yes", "perhaps"], depth, leaves=0.2)
    cells = {n: [str(v) for v in rng.choice([*vs, "other"] if strange else vs, rows)] for n, vs in domains.items()}
    table = Columns(Path("rows"), cells, range(rows))
    arrays = compiled(tree)
    columns = {name: column(name, values) for name, values in cells.items()}
    try:
        expected = predict(tree, table)
    except InputError as error:
        with pytest.raises(InputError) as ours:
            arrays.predict(columns, rows)
        where, _, what = str(error).partition(": ")
        assert where.split(", ")[1:] == [f"line {str(ours.value).split()[1]}", where.split(", ")[2]]
        assert str(ours.value).endswith(what)
        assert where.split(", ")[2] in str(ours.value)
    else:
        assert [arrays.labels[i] for i in arrays.predict(columns, rows)] == expected
