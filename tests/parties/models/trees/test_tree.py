"""The file tree.json: what is written is what is read, and what is wrong is named with its place."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from parties.models.trees.prediction import predict
from parties.models.trees.reading import simplified
from parties.models.trees.text import to_dot, to_text
from parties.models.trees.tree import MAX_DEPTH, Leaf, Node, Noise, Size, TreeFile, size
from smc.errors import InputError
from tests.support.trees import TENNIS, random_trees, rows_of, write

DIGEST = "0123456789abcdef" * 4


def test_the_file_is_exactly_as_documented(tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    TreeFile(DIGEST, "play", 0.001, TENNIS).dump(path)
    assert json.loads(path.read_text()) == {
        "schema_digest": DIGEST,
        "target": "play",
        "tolerance": 0.001,
        "tree": {
            "attribute": "outlook",
            "branches": {
                "sunny": {"attribute": "humidity", "branches": {"high": {"class": "no"}, "normal": {"class": "yes"}}},
                "overcast": {"class": "yes"},
                "rain": {"attribute": "wind", "branches": {"weak": {"class": "yes"}, "strong": {"class": "no"}}},
            },
        },
    }


@given(random_trees())
def test_what_is_dumped_is_loaded(tmp_path_factory: pytest.TempPathFactory, tree: Node) -> None:
    path = tmp_path_factory.mktemp("tree") / "tree.json"
    TreeFile(DIGEST, "play", 1.0, tree).dump(path)
    loaded = TreeFile.load(path)
    assert loaded == TreeFile(DIGEST, "play", 1.0, tree)
    assert to_text(loaded.tree) == to_text(tree)  # the order of branches too


def test_a_leaf_is_a_tree(tmp_path: Path) -> None:
    TreeFile(DIGEST, "play", 1, Leaf("yes")).dump(tmp_path / "t")
    assert TreeFile.load(tmp_path / "t").tree == Leaf("yes")
    assert size(Leaf("yes")) == Size(nodes=1, leaves=1, depth=0)
    assert to_text(Leaf("yes")) == "yes\n"
    assert predict(Leaf("yes"), rows_of(other=["1", "2"])) == ["yes", "yes"]


def node(tree: Any) -> dict[str, Any]:
    return {"schema_digest": DIGEST, "target": "play", "tolerance": 0.5, "tree": tree}


LEAF = {"class": "x"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([], "$: must be an object with schema_digest and target and tolerance and tree, and nothing else"),
        ({"tree": LEAF}, "$: must be an object with schema_digest and target and tolerance and tree, and nothing else"),
        (node(LEAF) | {"schema_digest": DIGEST[1:]}, "$.schema_digest: must be 64 hexadecimal digits"),
        (node(LEAF) | {"schema_digest": 5}, "$.schema_digest: must be 64 hexadecimal digits"),
        (node(LEAF) | {"target": ""}, "$.target: must be a line of text"),
        (node(LEAF) | {"tolerance": 0}, "$.tolerance: must be a number > 0 and <= 1"),
        (node(LEAF) | {"tolerance": 10**4000}, "$.tolerance: must be a number > 0 and <= 1"),
        (node(LEAF) | {"tolerance": True}, "$.tolerance: must be a number > 0 and <= 1"),
        (node(LEAF) | {"tolerance": float("nan")}, "$.tolerance: must be a number > 0 and <= 1"),
        (node(None), "$.tree: must be an object with attribute and branches, and nothing else"),
        (node({}), "$.tree: must be an object with attribute and branches, and nothing else"),
        (node({"class": "x", "more": 1}), "$.tree: must be an object with class, and nothing else"),
        (node({"class": 1}), "$.tree.class: must be a line of text"),
        (node({"class": "\ud800"}), "$.tree.class: must be a line of text"),
        (node({"attribute": "a", "branches": {}}), "$.tree.branches: must be an object with a node for every value"),
        (node({"attribute": "a", "branches": [1]}), "$.tree.branches: must be an object with a node for every value"),
        (node({"attribute": "a", "branches": {"": LEAF}}), "$.tree.branches: must be a line of text"),
        (node({"attribute": "play", "branches": {"v": LEAF}}), "$.tree.attribute: 'play' is the target"),
        (node({"attribute": "a", "branches": {"v": {"attribute": "a", "branches": {"v": LEAF}}}}),
         "$.tree.branches.v.attribute: 'a' was asked before on this path"),
        (node({"attribute": "a", "branches": {"v 1": {"attribute": "b", "branches": {"w": {"class": []}}}}}),
         "$.tree.branches['v 1'].branches.w.class: must be a line of text"),
        (node({"attribute": "a", "branches": {"v": {"attribute": "b", "branches": {"x": LEAF}},
                                              "w": {"attribute": "b", "branches": {"y": LEAF}}}}),
         "$.tree.branches.w.branches: 'b' has other values elsewhere in the tree"),
    ],
)  # fmt: skip
def test_a_bad_file_names_the_place(tmp_path: Path, fields: object, message: str) -> None:
    path = write(tmp_path, json.dumps(fields))
    with pytest.raises(InputError) as caught:
        TreeFile.load(path)
    assert str(caught.value) == f"{path}: {message}"


def chain(depth: int) -> dict[str, Any]:
    tree: dict[str, Any] = LEAF
    for i in range(depth):
        tree = {"attribute": f"a{i}", "branches": {"v": tree, "w": LEAF}}
    return tree


def test_deep_trees_work_up_to_a_bound(tmp_path: Path) -> None:
    text = json.dumps(node(chain(MAX_DEPTH)))
    loaded = TreeFile.load(write(tmp_path, text))
    assert size(loaded.tree).depth == MAX_DEPTH
    loaded.dump(tmp_path / "again.json")
    assert json.loads((tmp_path / "again.json").read_text()) == json.loads(text)
    assert to_text(loaded.tree).count("\n") == 2 * MAX_DEPTH
    assert to_dot(loaded.tree, "play").count("->") == 2 * MAX_DEPTH


def test_deeper_trees_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"tree\.json: .*more than 200 levels") as caught:
        TreeFile.load(write(tmp_path, json.dumps(node(chain(MAX_DEPTH + 1)))))
    assert len(str(caught.value)) < 300
    with pytest.raises(InputError, match=r"tree\.json: nested too deeply"):
        TreeFile.load(write(tmp_path, '{"tree":' * 100_000))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", ", line 1: the file is not valid JSON: Expecting value"),
        ('{\n"a": }', ", line 2: the file is not valid JSON: Expecting value"),
        ('{"a": 1, "a": 2}', ": the key 'a' stands twice in one object"),
    ],
)
def test_broken_json(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        TreeFile.load(path)
    assert str(caught.value) == f"{path}{message}"


@given(random_trees())
def test_size_against_its_definition(tree: Node) -> None:
    def count(part: Node) -> Size:
        if isinstance(part, Leaf):
            return Size(1, 1, 0)
        below = [count(branch) for branch in part.branches.values()]
        return Size(1 + sum(b.nodes for b in below), sum(b.leaves for b in below), 1 + max(b.depth for b in below))

    assert size(tree) == count(tree)


@pytest.mark.parametrize("others", [(), (Leaf("no"),)])
def test_a_tree_with_noise_is_read_as_it_was_written(tmp_path: Path, others: tuple[Leaf, ...]) -> None:
    made = TreeFile(DIGEST, "play", None, TENNIS, Noise(0.1, "replace", "gini"), others)
    made.dump(tmp_path / "tree.json")
    assert TreeFile.load(tmp_path / "tree.json") == made
    assert len(made.trees) == 1 + len(others)
    assert (simplified(made) == TENNIS) == (not others)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"epsilon": 0}, "$.epsilon: must be a number > 0"),
        ({"epsilon": True}, "$.epsilon: must be a number > 0"),
        ({"epsilon": float("inf")}, "$.epsilon: must be a number > 0"),
        ({"quality": 1}, "$.quality: must be a line of text"),
        ({"tolerance": 0.1}, "$: must be an object with schema_digest and target and epsilon"),
        ({"trees": [LEAF]}, "$.trees: must be a list of two trees or more"),
        ({"trees": [LEAF, {}]}, "$.trees[1]: must be an object"),
    ],
)
def test_what_is_wrong_with_a_tree_with_noise(change: dict[str, Any], complaint: str) -> None:
    fields = {"schema_digest": DIGEST, "target": "play", "epsilon": 1.0, "adjacency": "replace", "quality": "max"}
    what = {} if "trees" in change else {"tree": LEAF}
    with pytest.raises(ValueError, match=re.escape(complaint)):
        TreeFile.parse({**fields, **what, **change})


def test_a_number_of_any_length_is_a_bad_delta(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps(node(LEAF)).replace("0.5", "9" * 5000))
    with pytest.raises(InputError, match=r"tree\.json: \$\.tolerance: must be a number > 0 and <= 1"):
        TreeFile.load(path)
