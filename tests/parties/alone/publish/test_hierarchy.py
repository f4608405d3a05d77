"""Hierarchies: what a value becomes, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.alone.publish.hierarchy import build
from parties.alone.publish.rules import Rule, hierarchy, path
from smc.errors import InputError


def test_prefixes_are_those_of_the_notes() -> None:
    assert path("zip", Rule(prefixes=(4, 3)), "53715") == ["53715", "5371*", "537**", "*"]


@pytest.mark.parametrize(
    ("form", "value", "expected"),
    [
        ("dmy", "21/1/1979", ["21/1/1979", "*/1/1979", "*/*/1979", "1970s", "*"]),
        ("mdy", "1/21/1979", ["1/21/1979", "1/*/1979", "*/*/1979", "1970s", "*"]),
        ("iso", "1979-01-21", ["1979-01-21", "1979-01-*", "1979-*-*", "1970s", "*"]),
        ("dmy", "?", ["?"] * 4 + ["*"]),
    ],
)
def test_dates(form: str, value: str, expected: list[str]) -> None:
    assert path("birth", Rule.model_validate({"dates": form}), value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("17", ["[15, 20[", "[10, 20[", "[0, 20["]),
        ("20", ["[20, 25[", "[20, 30[", "[20, 40["]),
        ("-1", ["[-5, 0[", "[-10, 0[", "[-20, 0["]),
        ("?", ["?"] * 3),
    ],
)
def test_ranges(value: str, expected: list[str]) -> None:
    assert path("age", Rule(ranges=(5, 10, 20)), value) == [value, *expected, "*"]


@given(
    st.sampled_from([(0.1, 0.2, 1.0), (5.0, 10.0), (0.3, 0.9), (7.0,)]),
    st.lists(st.floats(-1e6, 1e6).map(lambda x: f"{x:.6g}"), min_size=1, unique=True),
)
def test_ranges_of_any_numbers_are_a_hierarchy(widths: tuple[float, ...], values: list[str]) -> None:
    found = hierarchy("x", Rule(ranges=widths), values)
    assert found.values == tuple(values)
    assert found.height == len(widths) + 1


@given(st.lists(st.text("ab*?1", max_size=6), min_size=1, unique=True), st.sampled_from([(5, 3, 1), (2,), (4, 3, 2)]))
def test_prefixes_of_any_text_are_a_hierarchy(values: list[str], lengths: tuple[int, ...]) -> None:
    assert hierarchy("x", Rule(prefixes=lengths), values).values == tuple(values)


@pytest.mark.parametrize("mark", [";", ","])
def test_trees_of_arx_and_anjana(tmp_path: Path, mark: str) -> None:
    lines = ['17,"[15, 20[",*', '18,"[15, 20[",*', '20,"[20, 25[",*']
    if mark == ";":
        lines = ["17;[15, 20[;*", "18;[15, 20[;*", "20;[20, 25[;*"]
    (tmp_path / "age.csv").write_text("\n".join(lines) + "\n")
    found = hierarchy("age", Rule(tree=tmp_path / "age.csv"), ["18"])
    assert found.labels == (("17", "18", "20"), ("[15, 20[", "[20, 25["), ("*",))
    assert found.parents(1, 2).tolist() == [0, 0]
    assert found.common(np.array([0, 1], dtype=np.int32)) == (1, 0)
    assert [list(p) for p in found.penalties] == [[0, 0, 0], [pytest.approx(2 / 3), 0], [1]]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a,x,*\nb,y,*\na,y,*\n", "'a' of level 0 has two parents, 'x' and 'y'"),
        ("a,x,u,*\nb,x,v,*\n", "'x' of level 1 has two parents, 'u' and 'v'"),
        ("a,x\nb,y\n", "the top level must have one value, such as '*', but has 'x' and 'y'"),
        ("a,x,*\nb,*\n", "'b' has 2 levels; give 3, as on the first line"),
        ("a\nb\n", "'a' has 1 levels"),
        ("\n", "the file is empty"),
        ('"a,*\n', "not valid CSV"),
    ],
)
def test_trees_that_are_none(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "tree.csv").write_text(text)
    with pytest.raises(InputError, match=r".") as caught:
        hierarchy("c", Rule(tree=tmp_path / "tree.csv"), [])
    assert problem in str(caught.value)


def test_a_value_that_the_tree_lacks(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("Bachelors,Higher,*\nMasters,Higher,*\n")
    with pytest.raises(InputError, match=r"column 'education': 'Bachelor' is not in its hierarchy \(did you mean"):
        hierarchy("education", Rule(tree=tmp_path / "tree.csv"), ["Bachelor"])


@pytest.mark.parametrize(
    ("rule", "value", "problem"),
    [
        (Rule(ranges=(5,)), "old", "ranges need numbers, and 'old' is not a number"),
        (Rule(dates="iso"), "21/1/79", r"'21/1/79' is not a date in the form iso"),
        (Rule(dates="dmy"), "21/1/79", r"'21/1/79' is not a date in the form dmy with a year of four digits; say how"),
        (Rule(ranges=(5,), prefixes=(2,)), "1", "ranges and prefixes are two rules"),
    ],
)
def test_values_that_do_not_fit_their_rule(rule: Rule, value: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        hierarchy("c", rule, [value])


@pytest.mark.parametrize("fields", [{"ranges": (5, 12)}, {"ranges": (5, 5)}, {"prefixes": (3, 4)}, {"ranges": (0,)}])
def test_rules_that_are_none(fields: dict[str, tuple[int, ...]]) -> None:
    with pytest.raises(ValueError, match=r"must|greater than 0"):
        Rule.model_validate(fields)


def test_labels_that_say_nothing_more_are_one_group() -> None:
    found = build("c", [["a", "x", "*"], ["b", "x", "*"], ["a", "x", "*"]])
    assert found.values == ("a", "b")
    assert found.height == 2
