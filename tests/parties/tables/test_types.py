"""Types of columns: categories against pandas and the calendar, what a peer may propose, what two proposals make."""

from __future__ import annotations

import datetime
import json
from pathlib import Path
from typing import Any

import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.tables import schema as schemas
from parties.tables.delimited import MISSING
from parties.tables.merging import merge
from parties.tables.schema import Schema
from parties.tables.type_merging import merge_types
from parties.tables.types import Domain, NumberType, OrderedType, days_of, read_type, rounded_numbers
from smc.errors import InputError

AGE = {"type": "integer", "low": 0, "high": 110, "edges": [18, 40, 65]}


def categories(**fields: Any) -> tuple[str, ...]:
    return read_type(fields).categories


def test_each_type_says_its_categories() -> None:
    assert categories(**AGE, missing=True) == ("under 18", "18 to 39", "40 to 64", "65 and over", MISSING)
    assert categories(type="integer", low=-1, high=2) == ("-1", "0", "1", "2")
    assert categories(type="integer", low=0, high=10, width=5) == ("under 5", "5 to 9", "10 and over")
    assert categories(type="integer", low=0, high=3, edges=[1, 2]) == ("under 1", "1", "2 and over")
    assert categories(type="real", low=0, high=0.3, step=0.1) == ("0", "0.1", "0.2", "0.3")
    assert categories(type="real", low=0, high=1, edges=[0.25]) == ("under 0.25", "0.25 and over")
    assert categories(type="date", low="2023-12-31", high="2024-02-01") == ("2023-12", "2024-01", "2024-02")
    assert categories(type="date", age_at="2024-02-29", edges=[18, 65]) == ("under 18", "18 to 64", "65 and over")
    assert categories(type="time")[7] == "07:00"
    assert categories(type="time", edges=["06:30"]) == ("before 06:30", "06:30 and after")
    assert categories(type="flag") == ("yes", "no")
    assert categories(type="category", values=["a"], groups={"bc": ["b", "c"]}, other="else") == ("a", "bc", "else")
    assert categories(type="key") == ()


@given(
    st.sampled_from(["day", "week", "month", "quarter", "year"]),
    st.dates(datetime.date(1999, 1, 1), datetime.date(2003, 1, 1)),
    st.integers(1, 900),
    st.data(),
)
def test_periods_are_those_of_the_calendar(
    granularity: str, low: datetime.date, days: int, data: st.DataObject
) -> None:
    column = read_type({"type": "date", "low": low, "high": low + datetime.timedelta(days), "granularity": granularity})
    assert isinstance(column, OrderedType)
    day = data.draw(st.dates(low, low + datetime.timedelta(days)))
    place = sum(days_of(day) >= cut for cut in column.cuts.numbers)
    year, week, _ = day.isocalendar()
    wanted = {
        "day": str(day),
        "week": f"{year}-W{week:02}",
        "month": str(pandas.Period(day, "M")),
        "quarter": str(pandas.Period(day, "Q")).replace("Q", "-Q"),
        "year": str(day.year),
    }
    assert column.labels[place] == wanted[granularity]


@given(
    st.dates(datetime.date(1910, 1, 1), datetime.date(2023, 12, 31)),
    st.dates(datetime.date(2024, 1, 1), datetime.date(2030, 1, 1)),
)
def test_ages_are_completed_years(born: datetime.date, at: datetime.date) -> None:
    column = read_type({"type": "date", "age_at": at, "width": 1})
    assert isinstance(column, OrderedType)
    place = len(column.labels) - 1 - sum(days_of(born) >= cut for cut in column.cuts.numbers)
    age = at.year - born.year - ((at.month, at.day) < (born.month, born.day))
    if (born.month, born.day) == (2, 29) and (at.month, at.day) == (2, 28) and at.year % 4:
        age += 1  # who was born on a leap day is a year older on the 28th
    assert column.labels[place] == ("under 1" if age == 0 else "129 and over" if age >= 129 else str(age))


@given(st.lists(st.integers(1, 99), min_size=1, max_size=8, unique=True), st.integers(-50, 150))
def test_ranges_are_those_of_pandas(edges: list[int], x: int) -> None:
    column = read_type({"type": "integer", "low": 0, "high": 100, "edges": sorted(edges)})
    assert isinstance(column, NumberType)
    place = int(pandas.cut([x], [-1000, *sorted(edges), 1000], right=False, labels=False)[0])
    label = column.labels[place]
    low, high = (
        (int(end) if end else None for end in (*label.split(" to "), "")[:2]) if " to " in label else (None, None)
    )
    if low is not None and high is not None:
        assert low <= x <= high
    elif label.startswith("under "):
        assert x < int(label.removeprefix("under "))
    elif label.endswith(" and over"):
        assert x >= int(label.removesuffix(" and over"))
    else:
        assert x == int(label)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({}, "type: is missing"),
        ({"type": "integr"}, "'integr' is none (did you mean 'integer'?)"),
        ({"type": "text"}, "free text is never counted"),
        ({"type": "integer", "low": 0}, "high: is missing"),
        ({"type": "integer", "low": "0", "high": 1}, "low: must be a whole number, not '0'"),
        ({"type": "real", "low": "0", "high": 1}, "low: must be a whole number, not '0'"),
        ({"type": "integer", "low": 2, "high": 2}, "low must be below high"),
        ({"type": "integer", "low": 0, "high": 10**9}, "more than 65536 categories"),
        ({"type": "real", "low": -1e9, "high": 1e9, "width": 1}, "more than 65536 categories"),
        ({**AGE, "width": 3}, "edges and width exclude each other"),
        ({**AGE, "edges": [40, 18]}, "edges: must increase, but 18 follows 40"),
        ({**AGE, "edges": [111]}, "edges must lie between 0 and 110"),
        ({"type": "date", "low": "1.1.2024", "high": "2024-01-01"}, "low: must be a day such as 2026-01-31"),
        ({"type": "date", "low": "1001-01-01", "high": "8999-12-31", "granularity": "day"}, "more than 65536"),
        ({"type": "date", "age_at": "2024-01-01"}, "age_at needs either edges or a width"),
        ({"type": "date", "age_at": "2024-01-01", "edges": [500]}, "must be ages from 1 to 129"),
        ({"type": "time", "edges": ["25:00"]}, 'must be a time such as "06:30"'),
        ({"type": "category"}, "a category needs values, or groups"),
        ({"type": "category", "values": ["a", "a"]}, "is listed twice"),
        ({"type": "category", "values": ["abc"], "prefix": 2}, "longer than the 2 letters"),
        ({"type": "category", "values": ["a"], "groups": {"b": ["a"]}}, "'a' is in two groups"),
        ({"type": "flag", "values": ["a"]}, "values: unknown key"),
    ],
)
def test_a_bad_type_is_one_line(fields: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InputError) as error:
        read_type(fields)
    assert complaint in str(error.value)
    assert "\n" not in str(error.value)


NUMBERS = st.builds(
    lambda low, span, edges: {
        "type": "integer",
        "low": low,
        "high": low + span,
        **({"edges": sorted({low + 1 + edge % span for edge in edges})} if edges else {}),
    },
    st.integers(-1000, 1000),
    st.integers(1, 500),
    st.lists(st.integers(0, 10_000), max_size=9),
)
CATEGORIES = st.builds(
    lambda values, other, missing: {
        "type": "category",
        "values": values,
        "missing": missing,
        **({"other": "else"} if other else {}),
    },
    st.lists(st.text("abcdef", min_size=1, max_size=3), min_size=1, max_size=6, unique=True),
    st.booleans(),
    st.booleans(),
)


@given(st.one_of(NUMBERS, CATEGORIES))
def test_a_typed_schema_survives_the_peer_and_the_file(fields: dict[str, Any]) -> None:
    schema = Schema({"x": Domain(read_type(fields)), "y": ("a", "b")}, "y", ("id",))
    assert Schema.from_public(json.loads(json.dumps(schema.public()))).attributes == schema.attributes
    path = Path("/dev/shm") / "smc-schema-test.toml"
    schema.save(path)
    again = schemas.load(path)
    path.unlink()
    assert again.digest() == schema.digest()
    assert (again.target, again.keys) == ("y", ("id",))


@given(st.one_of(st.tuples(NUMBERS, NUMBERS), st.tuples(CATEGORIES, CATEGORIES)))
def test_both_parties_make_the_same_of_two_proposals(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    ours, theirs = map(read_type, pair)
    merged = merge_types(ours, theirs)
    assert merged == merge_types(theirs, ours)
    if isinstance(merged, NumberType):
        assert merged.low == min(pair[0]["low"], pair[1]["low"])
        assert merged.high == max(pair[0]["high"], pair[1]["high"])
    else:
        assert set(merged.labels) == {*ours.labels, *theirs.labels}


def test_merging_knows_types() -> None:
    ours = Schema({"age": Domain(read_type(AGE)), "sex": ("F", "M"), "day": ("a",)}, "sex", ("id",))
    wider = {"type": "integer", "low": -5, "high": 100, "edges": [18, 50]}
    sexes = {"type": "category", "values": ["M", "F", "D"], "other": "else"}
    theirs = Schema(
        {"age": Domain(read_type(wider)), "sex": Domain(read_type(sexes)), "day": Domain(read_type({"type": "flag"}))},
        "sex",
        ("id",),
    )
    merged = merge(ours, theirs)
    assert merged.schema.attributes["age"] == Domain(read_type({**AGE, "low": -5, "edges": [18, 40, 50, 65]}))
    assert set(merged.schema.attributes["sex"]) == {"F", "M", "D", "else"}
    assert merged.schema.keys == ("id",)
    assert "day" not in merged.schema.attributes
    texts = [note.text for note in merged.notes]
    assert any("our schema has type 'category'" in text or "our schema has type 'integer'" in text for text in texts)
    assert merged.schema.digest() == merge(theirs, ours).schema.digest()


def test_a_table_serves_jobs_by_ranges_and_by_numbers() -> None:
    table = Schema({"age": Domain(read_type(AGE)), "sex": ("F", "M")})
    assert table.misfit(table.only(["age"])) is None
    numeric = table.numeric(["age"]).only(["age"])
    assert numeric.attributes["age"][:2] == ("0", "1")
    assert table.misfit(numeric) == "the table's attribute 'age' has other values than the job's"
    assert table.numeric(["age"]).misfit(numeric) is None
    other = Schema({"age": Domain(read_type({**AGE, "edges": [18]}))})
    assert table.misfit(other) == "the table's attribute 'age' has other values than the job's"
    assert table.misfit(Schema({"age": tuple(table.attributes["age"])})) is not None


def test_numbers_that_are_too_many_are_rounded() -> None:
    wide = Schema({"weight": Domain(read_type({"type": "integer", "low": 0, "high": 1_600_000, "edges": [500_000]}))})
    numbers = wide.numeric(["weight"]).attributes["weight"]
    assert numbers[:3] == ("0", "1000", "2000")
    assert len(numbers) == 1601
    assert wide.numeric(["weight"]).numeric(["weight"]).attributes == wide.numeric(["weight"]).attributes


@pytest.mark.parametrize(
    ("fields", "rounding"),
    [
        ({"type": "real", "high": 90000}, "multiple of 10"),
        ({"type": "real", "high": 90000, "step": 5}, "multiple of 5"),
        ({"type": "real", "high": 90000, "step": 0.01}, "multiple of 10"),
        ({"type": "real", "low": -0.25, "high": 2, "step": 0.1}, "of -0.25, -0.15, -0.05, …"),
        ({"type": "integer", "high": 90000}, "multiple of 10"),
        ({"type": "integer", "high": 900}, None),
    ],
)
def test_a_schema_states_the_grid_of_its_numbers(fields: dict[str, Any], rounding: str | None) -> None:
    schema = Schema({"x": Domain(read_type({"low": 0, "edges": [1], **fields})), "y": ("0", "1")})
    assert rounded_numbers("x", schema.attributes["x"]) == []  # counted by ranges
    assert rounded_numbers("y", schema.attributes["y"]) == []
    expected = [] if rounding is None else [f"Each number of x counts as the nearest {rounding}."]
    assert rounded_numbers("x", schema.numeric(["x"]).attributes["x"]) == expected


def test_the_order_of_groups_is_part_of_the_agreement() -> None:
    one = {"type": "category", "groups": {"n": ["A"], "s": ["B"]}}
    other = {"type": "category", "groups": {"s": ["B"], "n": ["A"]}}
    ours, theirs = (Schema({"x": Domain(read_type(fields))}) for fields in (one, other))
    assert tuple(ours.attributes["x"]) == ("n", "s")
    assert ours.digest() != theirs.digest()
    assert ours.misfit(theirs) is not None
    assert Schema.from_public(json.loads(json.dumps(ours.public(), sort_keys=True))).attributes == ours.attributes
    assert (
        merge_types(read_type(one), read_type(other)).categories
        == merge_types(read_type(other), read_type(one)).categories
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"type": "real", "low": 0, "high": 1e-300, "step": 1e-304},
        {"type": "real", "low": -1e308, "high": 1e308},
        {"type": "date", "low": "2000-01-01", "high": "9999-12-31", "granularity": "year"},
        {"type": "date", "age_at": "0001-01-01", "edges": [18]},
        {"type": "date", "age_at": "2024-01-01", "width": 200},
        {"type": "integer", "low": 0, "high": 9, "edges": [1.2, 1.5]},
        {"type": "category", "values": [str(n) for n in range(1200)], "groups": {"g": ["1"]}},
    ],
)
def test_a_peers_odd_type_is_refused_at_once(fields: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        read_type(fields)


def test_a_peers_schema_has_not_too_many_values_in_all() -> None:
    column = {"type": "integer", "column": {"type": "integer", "low": 0, "high": 65_000}}
    with pytest.raises(ValueError, match="more than 262144 values in all"):
        Schema.from_public({"attributes": [{"name": f"x{i}", **column} for i in range(100)]})


def test_a_range_of_whole_numbers_says_its_last() -> None:
    assert categories(type="integer", low=0, high=100, step=10, edges=[18, 40]) == (
        "under 18",
        "18 to 39",
        "40 and over",
    )
