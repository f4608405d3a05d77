"""What a cell means: types, value maps, ranges, missing values, odd names; and what is said if it means nothing."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from typing import Any

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.sources import ColumnSettings, from_frame, queried
from parties.tables.schema import Schema
from protocols.tree import Open
from smc.errors import InputError
from tests.support import typed
from tests.support.agreement import assert_same_counts, assert_same_level


@given(st.lists(st.tuples(*(st.integers(0, len(pool) - 1) for pool in typed.POOLS.values())).map(list), max_size=12))
@settings(max_examples=12)
def test_typed_columns_mean_what_is_said(choices: list[list[int]]) -> None:
    with from_frame(typed.table(choices), typed.SCHEMA, typed.TARGET, mapping=typed.COLUMNS) as source:
        assert source.check() == len(choices)
        assert_same_level(source, typed.counts(choices), Open())


def test_every_typed_value_in_growing_trees() -> None:
    choices = typed.every_value()
    with from_frame(typed.table(choices), typed.SCHEMA, typed.TARGET, mapping=typed.COLUMNS) as source:
        assert_same_counts(source, typed.counts(choices), typed.SCHEMA, typed.TARGET)


WORDS = st.text(st.characters(blacklist_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=8).filter(
    lambda text: text == text.strip() and text != "?"
)


@given(
    st.lists(WORDS, min_size=2, max_size=4, unique_by=str.casefold),
    st.lists(WORDS, min_size=1, max_size=5, unique=True),
    st.data(),
)
@settings(max_examples=25)
def test_names_and_values_of_any_letters(names: list[str], values: list[str], data: st.DataObject) -> None:
    """Values and names are data: nothing in them is read as SQL, and no two are confused."""
    schema = Schema({name: tuple(values) for name in names}, names[-1])
    cells = st.lists(st.integers(0, len(values) - 1), min_size=6, max_size=6)
    columns = {name: data.draw(cells) for name in names}
    frame = pyarrow.table({name: [values[i] for i in column] for name, column in columns.items()})
    with from_frame(frame, schema, names[-1]) as source:
        counts = source.level(Open(), attributes=True)
    for table, name in zip(counts.values, names[:-1], strict=True):
        pairs = list(zip(columns[name], columns[names[-1]], strict=True))
        expected = [[pairs.count((v, c)) for c in range(len(values))] for v in range(len(values))]
        assert table.tolist() == [expected]


def one_column(
    cells: list[Any], categories: tuple[str, ...], dtype: pyarrow.DataType | None = None, **column: Any
) -> list[int]:
    """How many cells of a column have each category."""
    schema = Schema({"x": categories, "t": ("t",)}, "t")
    frame = pyarrow.table({"x": pyarrow.array(cells, dtype), "t": ["t"] * len(cells)})
    with from_frame(frame, schema, "t", mapping={"x": ColumnSettings(**column)}) as source:
        return source.level(Open(), attributes=True).values[0][0, :, 0].tolist()


@given(
    st.lists(st.floats(allow_nan=True), max_size=20),
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=4, unique=True),
)
@settings(max_examples=20)
def test_ranges_hold_their_lower_edge(cells: list[float], edges: list[float]) -> None:
    edges = sorted(edges)
    found = one_column(cells, (*map(str, range(len(edges) + 1)), "?"), pyarrow.float64(), edges=tuple(edges))
    places = [len(edges) + 1 if math.isnan(x) else sum(edge <= x for edge in edges) for x in cells]
    assert found == [places.count(i) for i in range(len(edges) + 2)]


def test_a_single_range_holds_all_numbers() -> None:
    assert one_column([1, -5, None], ("some", "?"), edges=()) == [2, 1]


def test_a_map_goes_before_the_category_of_the_same_name() -> None:
    assert one_column(["a", "b", " c", "b "], ("a", "b"), values={"b": "a", "c": "b"}) == [3, 1]


def test_text_that_looks_like_a_number_stays_as_it_is_spelled() -> None:
    assert one_column(["7", "007", "7.0"], ("7", "007", "7.0")) == [1, 1, 1]


@pytest.mark.parametrize("most", [queried.VAST, 0])
def test_texts_mean_the_same_in_sql_and_in_a_wide_table(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queried, "VAST", most)
    cells = ["5", " 17", "a", "a\u2003", "", " ", None, "9.5", "b", "-"]
    values = {"a": "10+", "b": "0", "-": "?"}
    assert one_column(cells, ("0", "10+", "?"), edges=(10,), values=values) == [3, 3, 4]


def test_whole_numbers_are_their_digits_in_every_type() -> None:
    for dtype in (pyarrow.int8(), pyarrow.uint64(), pyarrow.float32(), pyarrow.float64()):
        assert one_column([7, 0, 7], ("7", "0", "07"), dtype) == [2, 1, 0]
    assert one_column([Decimal("7.00"), Decimal("1.50")], ("7", "1.50")) == [1, 1]
    assert one_column([2.0**52, -3.0], ("4503599627370496", "-3")) == [1, 1]


def test_other_types_are_taken_as_text() -> None:
    assert one_column([datetime.datetime(2024, 1, 31, 12)], ("2024-01-31 12:00:00",)) == [1]
    assert one_column([None, None], ("a", "?"), pyarrow.null()) == [0, 2]


@pytest.mark.parametrize("most", [queried.VAST, 0])
@pytest.mark.parametrize(
    ("cells", "column", "complaint"),
    [
        ([1, 5], {}, "'5' is not in the schema; allowed: '1', '2'"),
        ([1.5], {}, "'1.5' is not in the schema"),
        (["1", None], {}, "no value, and the schema does not list '?'"),
        ([float("nan")], {}, "no value, and the schema"),
        (["1", "ten"], {"edges": (3,)}, "'ten' is not a number"),
        (["1e999"], {"edges": (3,)}, "'1e999' is not a number"),
        (["3"], {"values": {"4": "1"}}, "'3' is not in the schema"),
        ([[1]], {}, "column of type array"),
        ([b"1"], {}, "column of type binary"),
        ([True], {"edges": (3,)}, "ranges need numbers, and the column is of type boolean"),
        ([datetime.date(2024, 1, 1)], {"edges": (3,)}, "ranges need numbers"),
        ([True], {}, "'true' is not in the schema"),
    ],
)
def test_cells_without_a_meaning(
    cells: list[Any], column: dict[str, Any], complaint: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queried, "VAST", most)
    with pytest.raises(InputError) as caught:
        one_column(cells, ("1", "2"), **column)
    assert complaint in str(caught.value)
    assert "the frame, column 'x': " in str(caught.value)


def test_a_renamed_column_is_named_by_both_names() -> None:
    schema = Schema({"age": ("1", "2"), "t": ("t",)}, "t")
    frame = pyarrow.table({"Alter": ["3"], "t": ["t"]})
    mapping = {"age": ColumnSettings(column="Alter")}
    with pytest.raises(InputError, match=r"column 'Alter' \(attribute 'age'\): '3' is not"):
        from_frame(frame, schema, "t", mapping=mapping).check()
    mapping = {"age": ColumnSettings(column="alter")}
    with pytest.raises(InputError, match=r"there is no such column \(did you mean 'Alter'\?\)"):
        from_frame(frame, schema, "t", mapping=mapping)
