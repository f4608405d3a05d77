"""Trees as text and as DOT."""

from __future__ import annotations

import re

from hypothesis import given

from parties.models.trees.text import to_dot, to_text
from parties.models.trees.tree import Leaf, Node, Split, places
from tests.support.trees import TENNIS, random_trees


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
