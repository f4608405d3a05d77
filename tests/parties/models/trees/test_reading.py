"""Trees as people read them say the same of every row as the trees themselves."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from parties.jobs.tree import result
from parties.models.load import columns_of, load_any, predicted
from parties.models.trees.reading import asking, merged, simplified, to_rules
from parties.models.trees.text import to_text
from parties.models.trees.tree import Leaf, Node, Split, TreeFile, size
from parties.tables.delimited import Columns

DOMAINS = {"a": ("1", "2", "3"), "b": ("x", "y or z"), "c": ("only",)}


def trees(names: tuple[str, ...]) -> st.SearchStrategy[Node]:
    leaf: st.SearchStrategy[Node] = st.sampled_from(["yes", "no"]).map(Leaf)
    if not names:
        return leaf
    splits = [
        st.tuples(*(trees(tuple(n for n in names if n != name)) for _ in DOMAINS[name])).map(
            lambda children, name=name: Split(name, dict(zip(DOMAINS[name], children, strict=True)))
        )
        for name in names
    ]
    return st.one_of(leaf, *splits)


def answer(tree: Node, row: dict[str, str]) -> str:
    while isinstance(tree, Split):
        matching = [branch for key, branch in tree.branches.items() if row[tree.attribute] in keys(tree, key)]
        (tree,) = matching
    return tree.label


def keys(tree: Split, key: str) -> list[str]:
    """Return the values that a key of a merged tree lists."""
    if key in DOMAINS[tree.attribute]:
        return [key]
    return [value for value in DOMAINS[tree.attribute] if value in key.split(" or ") or repr(value) in key]


@given(trees(tuple(DOMAINS)))
def test_a_merged_tree_says_the_same(tree: Node) -> None:
    simple = merged(tree)
    for values in product(*DOMAINS.values()):
        row = dict(zip(DOMAINS, values, strict=True))
        assert answer(simple, row) == answer(tree, row)
    assert size(simple).nodes <= size(tree).nodes


@given(trees(tuple(DOMAINS)))
def test_a_settled_tree_says_the_same_and_asks_for_the_columns_that_are_shown(tree: Node) -> None:
    asked = asking(TreeFile("0" * 64, "t", 0.1, tree))
    for values in product(*DOMAINS.values()):
        row = dict(zip(DOMAINS, values, strict=True))
        assert answer(asked.tree, row) == answer(tree, row)
    assert columns_of(asked) == columns_of(replace(asked, tree=merged(tree)))


@given(trees(tuple(DOMAINS)))
def test_rules_are_one_a_leaf_and_cover_every_row_once(tree: Node) -> None:
    lines = to_rules(tree).splitlines()
    assert len(lines) == size(merged(tree)).leaves
    for values in product(*DOMAINS.values()):
        row = dict(zip(DOMAINS, values, strict=True))
        fitting = [line for line in lines if line.startswith("always") or all(holds(c, row) for c in conditions(line))]
        assert len(fitting) == 1
        assert fitting[0].endswith(f": {answer(tree, row)}")


def conditions(line: str) -> list[str]:
    return line.removeprefix("if ").rpartition(": ")[0].split(" and ")


def holds(condition: str, row: dict[str, str]) -> bool:
    name, _, values = condition.partition(" is ")
    return row[name] in values.split(" or ") or repr(row[name]) in values


def test_questions_whose_answers_agree_are_not_shown() -> None:
    same = Split("b", {"x": Leaf("no"), "y or z": Leaf("no")})
    tree = Split("a", {"1": same, "2": Leaf("no"), "3": Leaf("yes")})
    assert merged(tree) == Split("a", {"1 or 2": Leaf("no"), "3": Leaf("yes")})
    assert to_rules(tree) == "if a is 1 or 2: no\nif a is 3: yes\n"
    assert merged(Split("a", dict.fromkeys(DOMAINS["a"], same))) == Leaf("no")
    assert to_rules(same) == "always: no\n"
    assert to_rules(Split("c", {"only": Split("b", {"x": Leaf("no"), "y or z": Leaf("yes")})})).startswith("if b is x:")
    forest = TreeFile("0" * 64, "t", 0.1, same, None, (tree,))
    assert isinstance(simplified(forest), Split)
    assert simplified(forest).branches["tree 1"] == Leaf("no")


def test_rows_need_the_columns_that_are_shown_and_no_others(tmp_path: Path) -> None:
    """A file keeps the tree as it was grown, from which its cost is counted; a forest is asked alike."""
    tree = Split("a", {"1": Split("b", {"x": Leaf("no"), "y or z": Leaf("no")}), "2": Leaf("no"), "3": Leaf("yes")})
    rows = Columns(tmp_path, {"a": ["1", "3", "2"]}, range(3))
    for others in (), (tree,):
        TreeFile("0" * 64, "t", 0.1, tree, None, others).dump(tmp_path / "tree.json")
        assert predicted(load_any(tmp_path / "tree.json"), rows) == ["no", "yes", "no"]
        assert TreeFile.load(tmp_path / "tree.json").tree == tree


def test_values_with_an_or_are_told_from_several() -> None:
    tree = Split(
        "a",
        {
            "x": Leaf("yes"),
            "y": Leaf("yes"),
            "x or y": Leaf("no"),
            "z": Split("b", {"1": Leaf("no"), "2": Leaf("yes")}),
        },
    )
    simple = merged(tree)
    assert isinstance(simple, Split)
    assert list(simple.branches) == ["x or y", "'x or y'", "z"]
    assert simple.branches["x or y"] == Leaf("yes")


def test_ranges_of_one_leaf_do_not_read_like_one_range() -> None:
    leaves = {"under 5": "M", "5 to 9": "I", "10 to 14": "M", "15 to 19": "F", "20 and over": "M"}
    tree = Split("Rings", {value: Leaf(label) for value, label in leaves.items()})
    assert to_text(merged(tree)).splitlines()[0] == "├── Rings = under 5 or 10 to 14 or 20 and over: M"


def test_the_words_of_an_edge_are_not_quoted() -> None:
    tree = Split("age", {"< 65": Leaf("no"), ">= 65 or ?": Leaf("yes")}, ("under 65", "65 and over", "?"), 1)
    assert list(getattr(merged(tree), "branches")) == ["< 65", ">= 65 or ?"]  # noqa: B009


def test_what_is_left_out_is_said() -> None:
    same = Split("b", {"x": Leaf("n"), "y": Leaf("n")})
    for branch, end in ((same, result.SHORTER.format(fewer=1, all=2)), (Leaf("n"), "a = y: p\n")):
        document = TreeFile("0" * 64, "t", 0.1, Split("a", {"x": branch, "y": Leaf("p")})).fields()
        assert result.text(document).endswith(end)
