"""Rules of hierarchies as text: read back as they were, made into the hierarchies of the rules, wrong ones named."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.alone.publish.hierarchy import build
from parties.alone.publish.rule_text import made, parse, paths_of, plain, text_of
from parties.alone.publish.rules import Rule, hierarchy
from smc.errors import InputError
from tests.support.anonymity import hierarchies

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1, max_size=6)
RULES = st.one_of(
    st.sampled_from([Rule(ranges=(5, 10, 20)), Rule(ranges=(0.5,)), Rule(prefixes=(4, 3)), Rule(dates="dmy")]),
    st.lists(st.lists(WORDS, min_size=2, max_size=4), min_size=1, max_size=4),
)


@settings(max_examples=50)
@given(st.dictionaries(WORDS, RULES, min_size=1, max_size=4))
def test_rules_are_read_as_they_were_written(rules: dict[str, Rule | list[list[str]]]) -> None:
    text = text_of(rules)
    assert text is not None
    assert parse(text) == rules
    assert text_of(parse(text)) == text


def test_the_text_of_a_plan_makes_the_same_hierarchies(tmp_path: Path) -> None:
    (tmp_path / "sex.csv").write_text("man;person;*\nwoman;person;*\n")
    values = {"age": ["17", "25", "39"], "zip": ["53715", "53710"], "sex": ["woman", "man"]}
    rules = {"age": Rule(ranges=(10, 20)), "zip": Rule(prefixes=(4,)), "sex": Rule(tree=tmp_path / "sex.csv")}
    text = text_of({name: plain(rule) for name, rule in rules.items()})
    assert text == "age ranges 10 20; zip prefixes 4; sex tree man < person < *, woman < person < *"
    for name, rule in parse(text).items():
        found, whole = made(name, rule, values[name]), hierarchy(name, rules[name], values[name])
        assert found.values == tuple(values[name])
        for value in values[name]:
            for level in range(whole.height + 1):
                labels = [h.labels[level][h.groups[level][h.code(value)]] for h in (found, whole)]
                assert labels[0] == labels[1]


@settings(max_examples=30)
@given(hierarchies("q"))
def test_paths_make_the_hierarchy(whole: object) -> None:
    again = build("q", paths_of(whole))  # type: ignore[arg-type]
    assert again.labels == whole.labels  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("age", "'age' must be a column and one of 'ranges'"),
        ("age rages 5", "did you mean 'ranges'"),
        ("age ranges 5; age ranges 5", "has two rules"),
        ("age ranges", "ranges needs numbers"),
        ("age ranges five", "ranges needs numbers, and not 'five'"),
        ("age ranges 5 12", "must be a multiple"),
        ("zip prefixes 3 4", "prefixes must get shorter"),
        ("birth dates ymd", "column 'birth': dates"),
        ("sex tree m", "a value and its ancestors"),
        ("sex tree m < , f < *", "a value and its ancestors"),
        ("sex tree 'm < *", "close the quote"),
        ("x" * 200_001, "more than 200000; shorten the rules"),
    ],
)
def test_what_is_wrong_is_named(text: str, message: str) -> None:
    with pytest.raises(InputError) as failed:
        parse(text)
    assert message in str(failed.value)
    assert "\n" not in str(failed.value)
