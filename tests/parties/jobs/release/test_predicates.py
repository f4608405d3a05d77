"""Predicates mean what they say: compared with a reading of the conditions row by row."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.jobs.release.predicates import Predicate, canonical_text, parse
from parties.tables.schema import Schema
from smc.errors import InputError

SCHEMA = Schema({"age": ("young", "middle", "old"), "sex": ("male", "female"), "and": ("in", "<=50K", "it's", "a b")})

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Zl", "Zp")), min_size=1, max_size=6).map(
    str.strip
)
SCHEMAS = st.dictionaries(
    WORDS.filter(bool), st.lists(WORDS.filter(bool), min_size=1, max_size=4, unique=True), min_size=1, max_size=4
).map(lambda found: Schema({name: tuple(values) for name, values in found.items()}))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Schema, list[tuple[str, bool, list[str]]]]:
    """A schema, and conditions: a column, whether they are excluded, values."""
    schema = draw(SCHEMAS)
    column = st.sampled_from(list(schema.attributes))
    one = column.flatmap(
        lambda name: st.tuples(
            st.just(name), st.booleans(), st.lists(st.sampled_from(schema.attributes[name]), min_size=1, max_size=3)
        )
    )
    return schema, draw(st.lists(one, max_size=4))


def quote(word: str) -> str:
    return '"' + word.replace('"', '""') + '"'


def written(conditions: list[tuple[str, bool, list[str]]]) -> str:
    return "\n AND ".join(
        f"{quote(column)} {'not ' if negative else ''}in[{','.join(map(quote, values))}]"
        if len(values) > 1
        else f"{quote(column)}{'!' if negative else ''}={quote(values[0])}"
        for column, negative, values in conditions
    )


@given(cases())
def test_a_row_is_meant_if_all_conditions_hold(case: tuple[Schema, list[tuple[str, bool, list[str]]]]) -> None:
    schema, conditions = case
    rows = [dict(zip(schema.attributes, row, strict=True)) for row in product(*schema.attributes.values())]
    expected = [
        all((row[column] in values) != negative for column, negative, values in conditions) for row in rows
    ]  # each row of the schema, whether it is meant
    if not any(expected):
        with pytest.raises(InputError, match="no row can fit"):
            parse(written(conditions), schema)
        return
    (found,) = parse(written(conditions), schema)
    assert [all(row[c] in found.values(c, schema) for c in schema.attributes) for row in rows] == expected
    assert parse(found.text(), schema) == (found,)
    assert all(len(values) < len(schema.attributes[column]) for column, values in found.wanted)


@given(cases())
def test_two_predicates_exclude_each_other_if_no_row_meets_both(
    case: tuple[Schema, list[tuple[str, bool, list[str]]]],
) -> None:
    schema, conditions = case
    texts = [written(conditions[:2]), written(conditions[2:])]
    try:
        one, two = (parse(text, schema)[0] for text in texts)
    except InputError:
        return
    rows = [dict(zip(schema.attributes, row, strict=True)) for row in product(*schema.attributes.values())]
    met = [all(row[c] in p.values(c, schema) for p in (one, two) for c in schema.attributes) for row in rows]
    assert one.excludes(two) == two.excludes(one) == (not any(met))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("", None),
        ("  ", None),
        ("sex = male", "sex = male"),
        ("sex=male AND age in [old, young]", "age in [young, old] and sex = male"),
        ("age != old", "age in [young, middle]"),
        ("age not in [old] and age in [old, young]", "age = young"),
        ("age in [young, middle, old]", None),
        ("'and' = 'in'", "'and' = 'in'"),
        ('"and" = "it\'s"', "'and' = 'it''s'"),
        ("'and' in ['a b', '<=50K']", "'and' in ['<=50K', 'a b']"),
        ("sex = male ; age=old", "sex = male; age = old"),
        ("all", None),
        ("sex in [male, female]; age = old;All", "all; age = old; all"),
    ],
)
def test_the_canonical_text(text: str, canonical: str | None) -> None:
    assert canonical_text(parse(text, SCHEMA)) == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "aeg = old",
            r"'aeg' is not an attribute of the schema \(did you mean 'age'\?\); there are 'age', 'sex', 'and'",
        ),
        ("age = odl", r"'age' has no value 'odl' \(did you mean 'old'\?\); it has 'young', 'middle', 'old'"),
        ("age = old and age = young", "no row can fit, because the conditions exclude every value of 'age'"),
        ("age not in [young, middle, old]", "no row can fit"),
        ("age", "ends too early; '=', '!=', 'in' or 'not in' behind 'age' is expected"),
        ("age =", "ends too early; a value of 'age' is expected"),
        (
            "age < old",
            r"must stand '=', .* not '<'; name those .* as in age in \[...\]: there are 'young', 'middle', 'old'",
        ),
        ("age like old", "behind 'age' must stand '=', '!=', 'in' or 'not in', not 'like'"),
        ("age in old", r"after 'in', write a list in brackets, such as age in \[a, b\]"),
        ("age in [", "ends too early; a value of 'age' is expected"),
        ("age in []", "the list behind 'age in' is empty, so no row fits; add a value"),
        ("age in [old", r"ends too early; '\]' \(the list behind 'age in' begins with '\['\) is expected"),
        ("age = old]", r"there is a '\]' without a '\[' before it: a list is written as in \[a, b\]"),
        ("age == old", "a single '=' is enough: age = old$"),
        ("age != = old", "a single '=' is enough: age != old$"),
        ("age ==", "a single '=' is enough: age = young$"),
        ("sex = male and 'or' == 'x'", "'or' is not an attribute"),
        ("age in [old young]", "between the values of a list must stand ',', not 'young'"),
        ("age = old sex = male", "'and' is expected instead of 'sex'"),
        ("age = old and", "ends too early; a column is expected"),
        ("and = 'a b'", "a column is expected instead of 'and'"),
        ("age ! old", "'!' must be '!='"),
        ("age = 'old", "close the quote"),
        ("age = old;", "there is nothing before or behind a ';'"),
        ("age = old; ;sex = male", "there is nothing"),
        ("age = old or sex = male", "conditions are joined by 'and' only; instead of 'or' list the values"),
        ("x" * 20_001, "more than 20000; shorten it"),
    ],
)
def test_what_is_no_predicate(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as failed:
        parse(text, SCHEMA)
    assert str(failed.value).startswith("where: ")
    assert "\n" not in str(failed.value)


def test_a_column_with_a_space_is_written_in_quotes() -> None:
    schema = Schema(attributes={"salary class": ("low", "high")})
    with pytest.raises(InputError, match=r"did you mean 'salary class'.*; write one with a space in quotes$"):
        parse("salary class = low", schema)
    assert canonical_text(parse("'salary class' = low", schema)) == "'salary class' = low"


def test_all_rows_have_no_condition() -> None:
    assert parse("", SCHEMA) == (Predicate(),)
    assert Predicate().text() == Predicate().words() == ""
    assert Predicate().values("sex", SCHEMA) == ("male", "female")
