"""Trees that ask by edges: every reader leads a row where a walk by numbers does, and people read few words."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.models.trees.drawing import draw_svg
from parties.models.trees.onnx import to_onnx
from parties.models.trees.prediction import predict
from parties.models.trees.reading import merged, to_rules
from parties.models.trees.text import to_text
from parties.models.trees.tree import Leaf, Node, Split, TreeFile, size
from smc.errors import InputError
from tests.support.onnx_runs import run
from tests.support.trees import rows_of

AGES = ("under 18", "18 to 39", "40 to 64", "65 and over")
STARTS = (18, 40, 65)
DAYS = ("2024", "2025", "2026")
ORDERS = {"age": AGES, "day": DAYS}
ROWS = list(product(AGES, DAYS, ("m", "f")))
DIGEST = "0123456789abcdef" * 4


def age(edge: int, below: Node, above: Node) -> Split:
    return Split("age", {f"< {STARTS[edge - 1]}": below, f">= {STARTS[edge - 1]}": above}, AGES, edge)


def day(edge: int, below: Node, above: Node) -> Split:
    words = ("is not", "is") if edge < 0 else ("<", ">=")
    return Split("day", {f"{words[0]} {DAYS[abs(edge)]}": below, f"{words[1]} {DAYS[abs(edge)]}": above}, DAYS, edge)


@st.composite
def trees(draw: st.DrawFn, ages: tuple[int, int] = (0, 4), days: tuple[int, ...] = (0, 1, 2), sex: bool = True) -> Node:
    """Trees as ID3 finds them: an edge tells values apart that are left of its column; of three days any one."""
    choices = [("age", edge) for edge in range(ages[0] + 1, ages[1])]
    choices += [("day", edge) for edge in days[1:]] + [("day", -1)] * (len(days) == 3) + [("sex", 0)] * sex
    if not choices or draw(st.integers(0, 4)) == 0:
        return Leaf(draw(st.sampled_from(["no", "yes"])))
    name, edge = draw(st.sampled_from(choices))
    if name == "age":
        return age(edge, draw(trees((ages[0], edge), days, sex)), draw(trees((edge, ages[1]), days, sex)))
    if name == "day":
        above = [place == 1 if edge < 0 else place >= edge for place in days]
        sides = [tuple(place for place, is_above in zip(days, above, strict=True) if is_above == s) for s in (0, 1)]
        return day(edge, *(draw(trees(ages, side, sex)) for side in sides))
    return Split("sex", {value: draw(trees(ages, days, False)) for value in ("m", "f")})


def label(tree: Node, row: tuple[str, ...]) -> str:
    """By the words of the branches alone."""
    cells = {"age": (9, 18, 40, 65)[AGES.index(row[0])], "day": int(row[1]), "sex": row[2]}
    while isinstance(tree, Split):
        cell = cells[tree.attribute]
        first, second = tree.branches.items()
        words = first[0].split(" ")
        by_edge = words[0] == "<"
        holds = cell < int(words[1]) if by_edge else str(cell) != words[2] if words[0] == "is" else cell == first[0]
        tree = first[1] if holds else second[1]
    return tree.label


@given(trees())
@settings(max_examples=60, deadline=None)
def test_every_reader_leads_a_row_to_the_same_leaf(tree: Node) -> None:
    wanted = [label(tree, row) for row in ROWS]
    cells = dict(zip(("age", "day", "sex"), map(list, zip(*ROWS, strict=True)), strict=True))
    loaded = TreeFile.parse(json.loads(json.dumps(TreeFile(DIGEST, "t", 0.5, tree).fields()))).tree
    assert loaded == tree
    assert predict(loaded, rows_of(**cells)) == wanted
    assert run(to_onnx([loaded], list(cells), {}), np.array(ROWS, dtype=object)) == wanted
    simple = merged(tree)
    assert [
        label(simple, row) if isinstance(simple, Leaf) else predict(simple, rows_of(**cells))[i]
        for i, row in enumerate(ROWS)
    ] == wanted
    lines = to_rules(tree).splitlines()
    assert len(lines) == size(simple).leaves
    for row, answer in zip(ROWS, wanted, strict=True):
        (line,) = [line for line in lines if follows(line, row)]
        assert line.endswith(f": {answer}")


def follows(line: str, row: tuple[str, ...]) -> bool:
    if line.startswith("always"):
        return True
    cells = {"age": (9, 18, 40, 65)[AGES.index(row[0])], "day": int(row[1]), "sex": row[2]}
    for condition in line.removeprefix("if ").rpartition(": ")[0].split(" and "):
        name, sign, value = condition.replace("is not", "!=").split(" ")
        cell = cells[name]
        by_edge = (cell < int(value)) == (sign == "<") if sign in ("<", ">=") else None  # type: ignore[operator]
        holds = (str(cell) == value) == (sign == "is") if by_edge is None else by_edge
        if not holds:
            return False
    return True


TREE = age(3, age(1, Leaf("no"), age(2, Leaf("no"), day(1, Leaf("yes"), Leaf("no")))), Leaf("yes"))


def test_of_two_edges_a_rule_names_the_nearer_one() -> None:
    assert to_rules(TREE) == (
        "if age < 18: no\n"
        "if age < 40 and age >= 18: no\n"
        "if age < 65 and age >= 40 and day < 2025: yes\n"
        "if age < 65 and age >= 40 and day >= 2025: no\n"
        "if age >= 65: yes\n"
    )
    assert to_text(TREE).splitlines()[1] == "│   ├── age < 18: no"
    assert "age &lt; 65\nage &gt;= 18\nage &gt;= 40\nday &lt; 2025\n→ class yes" in draw_svg(TREE, "t", "T")


def test_a_missing_value_is_on_the_upper_side_and_can_be_asked_for() -> None:
    old = Split("age", {"< 65": Leaf("no"), ">= 65 or ?": Leaf("yes")}, (*AGES, "?"), 3)
    known = Split("age", {"is known": old, "is ?": Leaf("no")}, (*AGES, "?"), 4)
    both = Split("age", {"< 18": Leaf("no"), ">= 18 or ?": Leaf("yes")}, (*AGES, "?"), 1)
    assert to_rules(known) == "if age < 65: no\nif age is known and (age >= 65 or ?): yes\nif age is ?: no\n"
    assert to_rules(both) == "if age < 18: no\nif (age >= 18 or ?): yes\n"
    assert predict(both, rows_of(age=["?", "under 18"])) == ["yes", "no"]


def test_a_value_that_the_column_does_not_have_is_named() -> None:
    with pytest.raises(InputError, match=r"the tree has no branch for '18 to 93' \(did you mean '18 to 39'\?"):
        predict(TREE, rows_of(age=["18 to 93"], day=["2024"]))


def test_a_value_between_others_can_be_asked_for() -> None:
    fields = TreeFile(DIGEST, "t", 0.5, day(-1, day(1, Leaf("no"), Leaf("yes")), Leaf("no"))).fields()
    assert fields["tree"]["is"] == "2025"
    assert to_rules(TreeFile.parse(json.loads(json.dumps(fields))).tree) == (
        "if day < 2025: no\nif day is not 2025 and day >= 2025: yes\nif day is 2025: no\n"
    )
    for value in ("2024", "2026"):  # by an edge
        fields["tree"]["is"] = value
        with pytest.raises(
            ValueError, match=r"^\$\.tree\.is: must be a value of 'day' .*neither the first nor the last$"
        ):
            TreeFile.parse(fields)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ordered": {}}, "$.ordered: must be an object with the values of a column at least"),
        ({"ordered": {"age": ["x"]}}, "$.ordered.age: must be a list of two values or more"),
        ({"ordered": {"age": ["x", "x"]}}, "$.ordered.age: a value stands twice"),
        ({"ordered": {"age": ["x", 1]}}, "$.ordered.age: must be a line of text"),
        ({"ordered": {"day": ["x", "y"]}}, "$.tree.from: must be a value of 'age' in $.ordered, and not the first"),
        ({"from": "under 18"}, "$.tree.from: must be a value of 'age' in $.ordered, and not the first"),
        ({"from": ["x"]}, "$.tree.from: must be a value of 'age' in $.ordered, and not the first"),
        ({"branches": {"a": {"class": "x"}}}, "$.tree.branches: must be two, below and from '40 to 64' on"),
        ({"is": "18 to 39"}, "$.tree: must be an object with attribute and branches and from, and nothing else"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(change: dict[str, Any], message: str) -> None:
    fields = TreeFile(DIGEST, "t", 0.5, age(2, Leaf("no"), Leaf("yes"))).fields()
    where = fields if "ordered" in change else fields["tree"]
    where.update(change)
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        TreeFile.parse(fields)


def test_the_same_edge_is_not_asked_twice_on_a_path(tmp_path: Path) -> None:
    again = TreeFile(DIGEST, "t", 0.5, age(2, age(2, Leaf("no"), Leaf("yes")), Leaf("yes")))
    again.dump(tmp_path / "tree.json")
    with pytest.raises(InputError, match=r"branches\['< 40'\]\.attribute: 'age' was asked before"):
        TreeFile.load(tmp_path / "tree.json")
