"""JSON objects of any shape, as jobs are."""

from __future__ import annotations

from hypothesis import strategies as st

leaves = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8)
)
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
jobs = st.dictionaries(st.text(max_size=5), values, max_size=5)
