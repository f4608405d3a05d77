from __future__ import annotations

import json
import re
from array import array
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.tables.delimited import Columns, columns
from parties.trees import prediction
from parties.trees.prediction import predict
from parties.trees.text import to_dot, to_text
from parties.trees.tree import MAX_DEPTH, Leaf, Node, Size, Split, TreeFile, places, size
from smc.errors import InputError

TENNIS = Split(
    "outlook",
    {
        "sunny": Split("humidity", {"high": Leaf("no"), "normal": Leaf("yes")}),
        "overcast": Leaf("yes"),
        "rain": Split("wind", {"weak": Leaf("yes"), "strong": Leaf("no")}),
    },
)
DIGEST = "0123456789abcdef" * 4
AWKWARD = ["a", 'quo"te', "back\\slash", "<b>x</b>", "$y$", "ü 中", "\\N", "{|}", "true", "a.b"]


def domains(depth: int) -> dict[str, list[str]]:
    """Attributes for random trees: each has its values, as in a schema."""
    return {f"{AWKWARD[i]}{i}": AWKWARD[: 1 + i % 4] for i in range(depth)}


@st.composite
def random_trees(draw: st.DrawFn, attributes: dict[str, list[str]] | None = None) -> Node:
    left = domains(5) if attributes is None else attributes
    if not left or draw(st.integers(0, 3)) == 0:
        return Leaf(draw(st.sampled_from(AWKWARD)))
    name = draw(st.sampled_from(sorted(left)))
    below = {key: values for key, values in left.items() if key != name}
    return Split(name, {value: draw(random_trees(below)) for value in left[name]})


def write(directory: Path, text: str, name: str = "tree.json") -> Path:
    path = directory / name
    path.write_text(text, encoding="utf-8")
    return path


def rows_of(**values: list[str]) -> Columns:
    count = len(next(iter(values.values()), []))
    return Columns(Path("rows.csv"), values, array("q", range(2, 2 + count)))


def test_the_file_is_exactly_as_documented(tmp_path: Path) -> None:
    path = tmp_path / "tree.json"
    TreeFile(DIGEST, "play", 0.001, TENNIS).dump(path)
    assert json.loads(path.read_text()) == {
        "schema_digest": DIGEST,
        "target": "play",
        "delta": 0.001,
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
    return {"schema_digest": DIGEST, "target": "play", "delta": 0.5, "tree": tree}


LEAF = {"class": "x"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ([], "$: must be an object with schema_digest and target and delta and tree, and nothing else"),
        ({"tree": LEAF}, "$: must be an object with schema_digest and target and delta and tree, and nothing else"),
        (node(LEAF) | {"schema_digest": DIGEST[1:]}, "$.schema_digest: must be 64 hexadecimal digits"),
        (node(LEAF) | {"schema_digest": 5}, "$.schema_digest: must be 64 hexadecimal digits"),
        (node(LEAF) | {"target": ""}, "$.target: must be a line of text"),
        (node(LEAF) | {"delta": 0}, "$.delta: must be a number > 0 and <= 1"),
        (node(LEAF) | {"delta": 10**4000}, "$.delta: must be a number > 0 and <= 1"),
        (node(LEAF) | {"delta": True}, "$.delta: must be a number > 0 and <= 1"),
        (node(LEAF) | {"delta": float("nan")}, "$.delta: must be a number > 0 and <= 1"),
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
        ("", ", line 1: not valid JSON: Expecting value"),
        ('{\n"a": }', ", line 2: not valid JSON: Expecting value"),
        ('{"a": 1, "a": 2}', ": the key 'a' stands twice in one object"),
    ],
)
def test_broken_json(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        TreeFile.load(path)
    assert str(caught.value) == f"{path}{message}"


def test_text_for_people() -> None:
    assert to_text(TENNIS).splitlines() == [
        "├── outlook = sunny",
        "│   ├── humidity = high: no",
        "│   └── humidity = normal: yes",
        "├── outlook = overcast: yes",
        "└── outlook = rain",
        "    ├── wind = weak: yes",
        "    └── wind = strong: no",
    ]
    assert to_text(Split("a\n", {"b\x1b": Leaf("c\r")})) == "└── a\\n = b\\x1b: c\\r\n"


@given(random_trees())
def test_size_against_its_definition(tree: Node) -> None:
    def count(part: Node) -> Size:
        if isinstance(part, Leaf):
            return Size(1, 1, 0)
        below = [count(branch) for branch in part.branches.values()]
        return Size(1 + sum(b.nodes for b in below), sum(b.leaves for b in below), 1 + max(b.depth for b in below))

    assert size(tree) == count(tree)


def undot(text: str) -> str:
    """What Graphviz shows for a quoted label: the string's quoting undone, then the escape sequences."""
    return text.replace('\\"', '"').replace("\\\\", "\\")


@given(random_trees())
def test_dot_says_what_the_tree_says(tree: Node) -> None:
    source = to_dot(tree, "play")
    string = r'(?:"((?:[^"\\]|\\.)*)"|(\w+))'
    nodes = re.findall(rf"^\tn(\d+) \[label={string}", source, re.MULTILINE)
    edges = re.findall(rf"^\tn(\d+) -> n(\d+) \[label={string}\]$", source, re.MULTILINE)
    found = places(tree)
    names = [place.node.label if isinstance(place.node, Leaf) else place.node.attribute for place in found]
    assert [(int(i), undot(a or b)) for i, a, b in nodes] == list(enumerate(names))
    assert [(int(i), int(j), undot(a or b)) for i, j, a, b in edges] == [
        (place.parent, j, place.value) for j, place in enumerate(found) if place.value is not None
    ]


def test_dot_of_names_with_line_breaks_and_tags() -> None:
    source = to_dot(Split("a\nb", {"<i>": Leaf('"')}), "tar\nget")
    assert source.startswith("// Decision tree for tar\\nget\n")
    assert 'n0 [label="a\\\\nb"]' in source  # shown as a\nb, not as two lines
    assert '[label="<i>"]' in source
    assert '[label="\\""' in source


def test_predictions_follow_the_branches(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        "id,wind,outlook,humidity,play\n1,weak,rain,,yes\n2,strong,rain,high,yes\n3,?,sunny,high,no\n"
        "4,,overcast,odd,?\n5,weak,sunny, normal ,yes\n",
        "rows.csv",
    )
    rows = columns(path)
    predicted = predict(TENNIS, rows)
    assert predicted == ["yes", "no", "no", "yes", "yes"]
    score = prediction.score(predicted, rows.values["play"])
    assert (score.rows, score.correct, score.accuracy) == (4, 3, 0.75)
    assert score.confusion == {"no": {"no": 1, "yes": 0}, "yes": {"no": 1, "yes": 2}}


def test_predictions_name_what_is_wrong_with_a_row(tmp_path: Path) -> None:
    path = write(tmp_path, "outlook,humidity,wind\nrain,high,weak\n\nsunny,hihg,weak\n", "rows.csv")
    with pytest.raises(InputError) as caught:
        predict(TENNIS, columns(path))
    assert str(caught.value) == (
        f"{path}, line 4, column 'humidity': the tree has no branch for 'hihg' (did you mean 'high'?); "
        "known: 'high', 'normal'"
    )
    with pytest.raises(InputError, match="the header lacks the column 'wind'"):
        predict(TENNIS, rows_of(outlook=[], humidity=[]))
    assert predict(TENNIS, rows_of(outlook=[], humidity=[], wind=[])) == []


def test_scores_at_the_edges() -> None:
    assert prediction.score([], []).accuracy is None
    assert prediction.score(["a"], ["?"]).accuracy is None
    unknown_is_a_class = prediction.score(["?", "a"], ["?", "?"])
    assert (unknown_is_a_class.rows, unknown_is_a_class.accuracy) == (2, 0.5)
    assert prediction.score(["b"], ["a"]).confusion == {"a": {"a": 0, "b": 1}, "b": {"a": 0, "b": 0}}


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc")), max_size=30))
def test_confusion_counts_every_row_once(pairs: list[tuple[str, str]]) -> None:
    score = prediction.score([p for p, _ in pairs], [a for _, a in pairs])
    assert sum(sum(row.values()) for row in score.confusion.values()) == score.rows == len(pairs)
    assert sum(score.confusion[c][c] for c in score.confusion) == score.correct == sum(p == a for p, a in pairs)


def test_a_number_of_any_length_is_a_bad_delta(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps(node(LEAF)).replace("0.5", "9" * 5000))
    with pytest.raises(InputError, match=r"tree\.json: \$\.delta: must be a number > 0 and <= 1"):
        TreeFile.load(path)
