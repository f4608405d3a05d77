"""Trees as ONNX, run by onnxruntime and compared with `predict`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx.reference import ReferenceEvaluator

from parties.base.extras import install_line
from parties.models.trees.onnx import to_onnx
from parties.models.trees.prediction import predict
from parties.models.trees.tree import MAX_DEPTH, Leaf, Node, Split
from parties.tables.delimited import Columns
from tests.support.onnx_runs import run
from tests.support.trees import random_tree

LETTERS = ["ä", "日本", "a b", "=<", "?", "🌳", "e\u0301", "0", "True", "\\", "x" * 300]


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(0, 4), st.integers(1, 4), st.sampled_from([0, 1, 2, 40]))
def test_onnx_says_what_predict_says(seed: int, depth: int, classes: int, rows: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, len(LETTERS), 4)
    domains = {f"{LETTERS[i]} {i}": [str(v) for v in rng.permutation(LETTERS)[:n]] for i, n in enumerate(sizes)}
    tree = random_tree(rng, domains, ["ja", "nein", "vielleicht", "日"][:classes], depth)
    cells = {name: [str(v) for v in rng.choice(values, rows)] for name, values in domains.items()}
    expected = predict(tree, Columns(Path("rows"), cells, range(rows)))
    table = np.array(list(cells.values()), dtype=object).T.reshape(rows, 4)
    assert run(to_onnx([tree], list(domains), {}), table) == expected


@pytest.mark.parametrize("classes", [1, 2, 3])
def test_another_runtime_agrees(classes: int) -> None:
    rng = np.random.default_rng(classes)
    domains = {f"a{i}": ["ä", "日本", "?"] for i in range(3)}
    seen = set()
    for _ in range(10):
        tree = random_tree(rng, domains, ["ja", "nein", "vielleicht"][:classes], 3)
        cells = np.array(
            [[str(v) for v in rng.choice(["ä", "日本", "?", "other"], 3)] for _ in range(20)], dtype=object
        )
        model = to_onnx([tree], list(domains), {})
        (labels,) = ReferenceEvaluator(model).run(["label"], {"X": cells})
        assert labels.tolist() == run(model, cells)
        seen |= set(labels.tolist())
    assert len(seen) == classes + 1


def test_onnx_gives_the_empty_text_to_rows_that_predict_refuses() -> None:
    tree = Split("a", {"x": Leaf("yes"), "y": Split("b", {"x": Leaf("no")})})
    cells = np.array([["x", "?"], ["y", "x"], ["y", "?"], ["z", "x"], ["", "x"]], dtype=object)
    assert run(to_onnx([tree], ["a", "b"], {}), cells) == ["yes", "no", "", "", ""]


@pytest.mark.parametrize("attributes", [[], ["a"], ["a", "b"]])
@pytest.mark.parametrize("rows", [0, 1, 3])
def test_onnx_of_a_single_leaf(attributes: list[str], rows: int) -> None:
    cells = np.full((rows, len(attributes)), "x", dtype=object)
    assert run(to_onnx([Leaf("ja")], attributes, {}), cells) == ["ja"] * rows


def test_onnx_of_many_values_and_of_many_levels() -> None:
    values = [f"v{i}" for i in range(3000)]
    wide = Split("a", {value: Leaf(f"c{i % 7}") for i, value in enumerate(values)})
    cells = np.array(values, dtype=object)[:, None]
    assert run(to_onnx([wide], ["a"], {}), cells) == [f"c{i % 7}" for i in range(3000)]
    deep: Node = Leaf("bottom")
    for i in reversed(range(MAX_DEPTH)):
        deep = Split(f"a{i}", {value: deep if value == "v0" else Leaf(f"left at {i}") for value in values[:20]})
    rows = np.full((3, MAX_DEPTH), "v0", dtype=object)
    rows[1, 150], rows[2, 0] = "v19", "v1"
    model = to_onnx([deep], [f"a{i}" for i in range(MAX_DEPTH)], {})
    assert run(model, rows) == ["bottom", "left at 150", "left at 0"]


def test_without_onnx_one_line_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['onnx'] = None\n"
        "from parties.models.trees.onnx import to_onnx\nfrom parties.models.trees.tree import Leaf\n"
        "to_onnx([Leaf('x')], [], {})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    line = f"needs more packages (onnx is not installed): {install_line('notebook')}"
    assert last == f"smc.errors.InputError: ONNX: {line}"
