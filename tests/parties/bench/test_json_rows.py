"""Results as JSON, a row a line: the content is the document's, and so are the lines."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from parties.bench.json_rows import WIDTH, json_rows

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5)
DOCUMENTS = st.recursive(
    PLAIN, lambda inner: st.lists(inner) | st.tuples(inner, inner) | st.dictionaries(st.text() | st.integers(), inner)
)


@given(DOCUMENTS)
def test_the_content_is_that_of_plain_json(document: Any) -> None:
    assert json.loads(json_rows(document)) == json.loads(json.dumps(document))


def test_a_row_is_a_line_however_long() -> None:
    rows = [{"protocol": "ID3", "phases": {"inputs": {"bytes": 1}}, "seconds": [0.5] * WIDTH}] * 3
    document = {"machine": {"cores": 2}, "rows": rows, "numbers": [1] * WIDTH}
    lines = json_rows(document).splitlines()
    assert lines[:3] == ["{", ' "machine": {"cores": 2},', ' "rows": [']
    assert [json.loads(line.strip().rstrip(",")) for line in lines[3:6]] == rows
    assert len(lines) == 9


def test_an_object_that_is_wide_has_a_line_for_each_field() -> None:
    assert json_rows({"a": "x" * WIDTH, "b": 1}).splitlines()[1:3] == [f' "a": "{"x" * WIDTH}",', ' "b": 1']
