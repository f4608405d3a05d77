"""The classifier alone: against a plain ID3 written from the textbook, with every kind of table, and in bad hands."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score

from parties.base.extras import install_line
from parties.models.trees.prediction import predict, vote
from parties.models.trees.tree import Leaf, Node, Split, size
from parties.notebook import JointForestClassifier
from parties.notebook.estimator import JointID3Classifier
from parties.notebook.exports import export_onnx
from parties.tables.delimited import Columns
from parties.tables.example import demo
from parties.tables.schema import Schema
from protocols.counts import RowCounts
from smc.errors import InputError
from tests.support.onnx_runs import run
from tests.support.trees import rows_of

DEMO = demo()
WEATHER = pd.concat([pd.read_csv(DEMO.clinic_a), pd.read_csv(DEMO.clinic_b)], ignore_index=True)
TREE = Split(
    "outlook",
    {
        "sunny": Split("humidity", {"high": Leaf("no"), "normal": Leaf("yes")}),
        "overcast": Leaf("yes"),
        "rain": Split("wind", {"weak": Leaf("yes"), "strong": Leaf("no")}),
    },
)
DELTA = 0.001
Row = tuple[str, ...]  # cells, then the class


def entropy(rows: list[Row], place: int) -> float:
    """H(class | attribute) in nats."""
    groups: dict[str, Counter[str]] = {}
    for row in rows:
        groups.setdefault(row[place], Counter())[row[-1]] += 1
    return sum(
        -n / len(rows) * math.log(n / sum(counts.values())) for counts in groups.values() for n in counts.values()
    )


def check(tree: Node, rows: list[Row], schema: Schema, left: list[str], parent: str, depth: int | None) -> None:
    """Walk the tree and fail at a step that a plain ID3 would not take."""
    counts = Counter(row[-1] for row in rows)
    classes = schema.attributes["class"]
    majority = min(classes, key=lambda c: (-counts[c], classes.index(c))) if rows else parent
    if len(counts) <= 1 or not left or depth == 0:
        assert tree == Leaf(majority)
        return
    assert isinstance(tree, Split)
    assert tree.attribute in left
    assert tuple(tree.branches) == schema.attributes[tree.attribute]
    names = list(schema.features("class"))
    found = entropy(rows, names.index(tree.attribute))
    assert found <= min(entropy(rows, names.index(name)) for name in left) + DELTA
    for value, branch in tree.branches.items():
        part = [row for row in rows if row[names.index(tree.attribute)] == value]
        below = [name for name in left if name != tree.attribute]
        check(branch, part, schema, below, majority, None if depth is None else depth - 1)


@st.composite
def weather(draw: st.DrawFn) -> tuple[pd.DataFrame, np.ndarray]:
    """Up to four attributes of up to four values, up to three classes, 1 to 40 rows."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    rows = draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    frame = pd.DataFrame({f"a{i}": rng.choice(list("wxyz")[:n], rows) for i, n in enumerate(sizes)})
    return frame, rng.choice(["no", "yes", "perhaps"][: draw(st.integers(1, 3))], rows)


@settings(max_examples=25)
@given(weather(), st.sampled_from([None, 0, 1, 2]))
def test_a_plain_id3_would_take_every_step(data: tuple[pd.DataFrame, np.ndarray], depth: int | None) -> None:
    frame, classes = data
    classifier = JointID3Classifier(max_depth=depth, plain=True).fit(frame, classes)
    schema = classifier.schema_
    assert schema is not None
    rows = [(*row, str(label)) for row, label in zip(frame.itertuples(index=False), classes, strict=True)]
    check(classifier.tree_, rows, schema, list(frame.columns), schema.attributes["class"][0], depth)
    columns = Columns(Path("rows"), {name: list(frame[name]) for name in frame}, range(len(frame)))
    assert classifier.predict(frame).tolist() == predict(classifier.tree_, columns)
    assert list(classifier.classes_) == sorted(set(classes))


KINDS: dict[str, Any] = {
    "pandas": lambda frame: frame,
    "pandas categories": lambda frame: frame.astype("category"),
    "pandas objects": lambda frame: frame.astype(object),
    "polars": lambda frame: pl.from_pandas(frame),
    "polars categories": lambda frame: pl.from_pandas(frame.astype(str)).cast(pl.Categorical),
    "arrow": lambda frame: pa.Table.from_pandas(frame),
    "arrow dictionary": lambda frame: pa.Table.from_pandas(frame.astype("category")),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_frame_gives_quinlans_tree(kind: str) -> None:
    frame = KINDS[kind](WEATHER[["play", "wind", "outlook", "temperature", "humidity"]].assign(id=range(14)))
    classifier = JointID3Classifier(DEMO.schema, plain=True).fit(
        frame
    )  # the classes inside, columns in another order, one more
    assert classifier.tree_ == TREE
    assert classifier.predict(frame).tolist() == WEATHER["play"].tolist()
    assert classifier.feature_names_in_.tolist() == ["outlook", "temperature", "humidity", "wind"]
    assert classifier.n_features_in_ == 4
    column = frame["play"]
    apart = JointID3Classifier(str(DEMO.schema), plain=True).fit(frame, column)
    assert apart.tree_ == TREE
    assert apart.score(frame, column) == 1.0


@pytest.mark.parametrize("make", [np.array, lambda rows: rows, lambda rows: np.array(rows, dtype=object)])
def test_arrays_have_the_schemas_columns(make: Any) -> None:
    names = ["outlook", "temperature", "humidity", "wind"]
    cells = make(WEATHER[names].to_numpy().tolist())
    classifier = JointID3Classifier(DEMO.schema, plain=True).fit(cells, WEATHER["play"].tolist())
    assert classifier.tree_ == TREE
    assert classifier.attributes_ == tuple(names)
    assert not hasattr(classifier, "feature_names_in_")
    assert classifier.predict(cells).tolist() == WEATHER["play"].tolist()
    with pytest.raises(InputError, match="X has 3 columns; give 4, one for each attribute"):
        classifier.fit(WEATHER[names[:3]].to_numpy(), WEATHER["play"])


def test_a_frame_with_its_classes_inside_needs_no_schema() -> None:
    classifier = JointID3Classifier(target="play", plain=True).fit(WEATHER)
    assert classifier.tree_file_.target == "play"
    assert size(classifier.tree_) == size(TREE)
    assert classifier.predict(WEATHER).tolist() == WEATHER["play"].tolist()
    assert classifier.predict(pl.from_pandas(WEATHER.drop(columns="play"))).tolist() == WEATHER["play"].tolist()


def test_a_column_that_is_called_level_is_a_column() -> None:
    frame = pd.DataFrame({"level": ["low", "high"] * 3, "name": ["x", "y", "z"] * 2})
    classifier = JointID3Classifier(plain=True).fit(frame, pd.Series([0, 1] * 3, name="name2"))
    assert classifier.tree_ == Split("level", {"high": Leaf("1"), "low": Leaf("0")})
    assert classifier.tree_file_.target == "name2"


@pytest.mark.parametrize(
    ("classes", "kind"),
    [
        ([3, 10, 3, 10], "i"),
        ([3.0, 10.0, 3.0, 10.0], "f"),
        ([True, False, True, False], "b"),
        (["b", "a", "b", "a"], "O"),
        (np.array(["b", "a", "b", "a"]), "O"),
        (pd.Series([3, 10, 3, 10], dtype="Int64"), "f"),  # as scikit-learn reads it
        (pd.Series(["b", "a", "b", "a"], dtype="category"), "O"),
        (pl.Series("y", [3, 10, 3, 10]), "i"),
        (pa.chunked_array([[3, 10, 3, 10]]), "i"),
    ],
)
def test_classes_keep_their_type(classes: Any, kind: str) -> None:
    classifier = JointID3Classifier(plain=True).fit([["x"], ["y"], ["x"], ["y"]], classes)
    assert classifier.classes_.dtype.kind == kind
    assert classifier.classes_.tolist() == sorted(set(np.asarray(classes).tolist()))
    assert classifier.predict([["y"], ["x"]]).tolist() == [np.asarray(classes)[1], np.asarray(classes)[0]]


def test_objects_that_are_numbers_are_classes_of_a_schema() -> None:
    schema = Schema({"a": ("x", "y"), "y": ("0", "1")}, "y")
    classifier = JointID3Classifier(schema, plain=True).fit([["x"], ["y"]], np.array([0, 1], dtype=object))
    assert classifier.predict([["y"]]).tolist() == [1]


def test_numbers_are_the_schemas_classes_even_those_not_seen_here() -> None:
    schema = Schema({"a": ("1", "2"), "y": ("0", "1", "7")}, "y")
    classifier = JointID3Classifier(schema, plain=True).fit(
        pd.DataFrame({"a": [1, 2]}), np.array([0, 1], dtype=np.int16)
    )
    assert classifier.classes_.tolist() == [0, 1, 7]
    assert classifier.classes_.dtype == np.int16
    named = JointID3Classifier(Schema({"a": ("1", "2"), "y": ("0", "1", "none")}, "y"), plain=True).fit(
        [[1], [2]], [0, 1]
    )
    assert named.classes_.tolist() == ["0", "1", "none"]
    assert named.predict([[2]]).tolist() == ["1"]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": ["b", None, "a", " b"]}),
        pd.DataFrame({"x": pd.Series(["b", np.nan, "a", "b"], dtype=object)}),
        pd.DataFrame({"x": pd.Series(["b", None, "a", "b"], dtype="category")}),
        pl.DataFrame({"x": ["b", None, "a", "b"]}),
        pa.table({"x": ["b", None, "a", "b"]}),
        np.array([["b"], [""], ["a"], ["b"]]),
        np.array([["b"], [None], ["a"], ["b"]], dtype=object),
        np.array([["b"], [math.nan], ["a"], ["b"]], dtype=object),
    ],
)
def test_missing_values_are_a_category_of_their_own(frame: Any) -> None:
    classifier = JointID3Classifier(plain=True).fit(frame, [0, 1, 2, 0])
    assert classifier.tree_ == Split(classifier.attributes_[0], {"a": Leaf("2"), "b": Leaf("0"), "?": Leaf("1")})
    assert classifier.predict(frame).tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize("values", [[3, None, 1], [3.0, math.nan, 1.0]])
def test_missing_numbers_do_not_change_how_the_others_are_spelled(values: list[Any]) -> None:
    schema = Schema({"x": ("1", "3", "?"), "y": ("0", "1")}, "y")
    for frame in (pd.DataFrame({"x": values}), pl.DataFrame({"x": values}), pd.DataFrame({"x": values}, dtype="Int64")):
        tree = JointID3Classifier(schema, plain=True).fit(frame, [0, 1, 0]).tree_
        assert tree == Split("x", {"1": Leaf("0"), "3": Leaf("0"), "?": Leaf("1")})


def test_true_is_not_one_in_a_column_of_both() -> None:
    cells = np.array([[True], [1], ["1"], [1.0]], dtype=object)
    assert JointID3Classifier(plain=True).fit(cells, [0, 1, 1, 1]).predict(cells).tolist() == [0, 1, 1, 1]


def test_a_cell_outside_the_schema_is_named() -> None:
    frame = WEATHER.copy()
    frame.loc[3, "wind"] = "weka"
    with pytest.raises(InputError, match=r"row 3 .*, column 'wind': 'weka' is not .*did you mean 'weak'.*'strong'"):
        JointID3Classifier(DEMO.schema, plain=True).fit(frame)
    frame.loc[3, "wind"] = None
    with pytest.raises(InputError, match=r"row 3 .*, column 'wind': no value, and the schema does not list '\?'"):
        JointID3Classifier(DEMO.schema, plain=True).fit(frame)
    with pytest.raises(InputError, match=r"row 1 .*, column 'play': 'maybe' is not in the schema"):
        JointID3Classifier(DEMO.schema, plain=True).fit(WEATHER[:2], ["yes", "maybe"])


def test_a_value_without_a_branch_is_named_only_on_a_rows_path() -> None:
    classifier = JointID3Classifier(DEMO.schema, plain=True).fit(WEATHER)
    rows = WEATHER[:3].assign(outlook=["overcast", "rain", "sunny"], wind=["storm", "weak", "storm"])
    assert classifier.predict(rows)[:2].tolist() == ["yes", "yes"]
    rows["outlook"] = ["overcast", "sunny", "rain"]
    with pytest.raises(InputError, match=r"row 2 .*, column 'wind': the tree has no branch for 'storm'; known: 'weak'"):
        classifier.predict(rows)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tolerance": 0}, "tolerance: must be > 0, not 0"),
        ({"tolerance": "small"}, "tolerance: "),
        ({"min_rows": -1}, "min_rows: must be >= 0"),
        ({"max_depth": 1.5}, "max_depth: "),
        ({"engine": "yoa"}, r"engine: must be .* \(did you mean 'yao'\?\)"),
        ({"max_rows": 3}, r"14 rows are more than the agreed bound of 3 \(max_rows\)"),
        ({"schema": "nowhere.toml"}, "cannot read nowhere.toml: there is no such file"),
        ({"peer": 7}, "peer: a int is not a connection to the peer"),
        ({"peer": "nowhere.toml"}, "cannot read nowhere.toml"),
        ({"target": "plya"}, "'plya' is not an attribute of the schema"),
    ],
)
def test_a_wrong_parameter_is_named_in_fit(parameters: dict[str, Any], message: str) -> None:
    classifier = JointID3Classifier(**{"schema": DEMO.schema, **parameters}, plain=True)
    with pytest.raises(InputError, match=message):
        classifier.fit(WEATHER)


def test_wrong_calls_say_what_is_wrong() -> None:
    classifier = JointID3Classifier(plain=True)
    with pytest.raises(TypeError, match="sample_weight"):
        classifier.fit(WEATHER, WEATHER["play"], sample_weight=np.ones(14))  # type: ignore[call-arg]
    with pytest.raises(InputError, match="table works only with a node as peer"):
        classifier.fit(table="patients")
    with pytest.raises(ValueError, match="requires y to be passed"):
        classifier.fit(WEATHER)
    with pytest.raises(InputError, match="X has a column 'play' beside y"):
        classifier.fit(WEATHER, WEATHER["play"])
    with pytest.raises(InputError, match=r"lacks the column 'paly'.*did you mean 'play'"):
        JointID3Classifier(target="paly", plain=True).fit(WEATHER)
    with pytest.raises(InputError, match="lacks the columns 'outlook', 'humidity'"):
        JointID3Classifier(DEMO.schema, plain=True).fit(WEATHER[["wind", "temperature", "play"]])
    with pytest.raises(InputError, match="collect it first"):
        classifier.fit(pl.from_pandas(WEATHER).lazy(), WEATHER["play"])
    with pytest.raises(InputError, match=r"row 1 .*column 'x': list is not a category"):
        classifier.fit(pd.DataFrame({"x": ["a", ["b"]]}), [0, 1])
    with pytest.raises(InputError, match="holds no categories"):
        classifier.fit(np.array([["2024-01-01"], ["2024-01-02"]], dtype="datetime64[D]"), [0, 1])
    with pytest.raises(InputError, match="no rows to learn from"):
        classifier.fit(pd.DataFrame({"x": []}), [])
    with pytest.raises(NotFittedError):
        classifier.predict(WEATHER)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        classifier.fit(WEATHER, [0, 1])


def test_numpys_numbers_are_parameters() -> None:
    classifier = JointID3Classifier(DEMO.schema, max_depth=np.int64(1), tolerance=np.float64(0.01), plain=True)
    assert size(classifier.fit(WEATHER).tree_).depth == 1


def test_no_rows_give_no_predictions_and_nobodys_rows_the_first_class() -> None:
    nobody = JointID3Classifier(DEMO.schema, plain=True).fit(WEATHER[:0])
    assert nobody.tree_ == Leaf("yes")
    assert nobody.predict(WEATHER[:0]).tolist() == []
    assert nobody.predict(WEATHER).tolist() == ["yes"] * 14


def test_a_source_of_counts_is_as_good_as_its_rows() -> None:
    schema = Schema({"a": ("x", "y"), "b": ("x", "y"), "class": ("no", "yes")}, "class")
    counts = RowCounts((2, 2), 2, np.array([[0, 0], [0, 1], [1, 0]]), np.array([0, 1, 1]))
    classifier = JointID3Classifier(schema, plain=True).fit(counts)
    assert classifier.predict(pl.DataFrame({"b": ["x", "y"], "a": ["x", "x"]})).tolist() == ["no", "yes"]
    with pytest.raises(InputError, match="a source of counts needs its own schema"):
        JointID3Classifier(plain=True).fit(counts)


def test_clones_pickles_and_repeated_fits() -> None:
    classifier = JointID3Classifier(DEMO.schema, max_depth=1, plain=True).fit(WEATHER)
    twin = clone(classifier)
    assert twin.get_params() == classifier.get_params()
    with pytest.raises(NotFittedError):
        twin.predict(WEATHER)
    again = pickle.loads(pickle.dumps(classifier))  # noqa: S301 (our own)
    assert again.tree_ == classifier.tree_
    assert again.predict(WEATHER).tolist() == classifier.predict(WEATHER).tolist()
    assert classifier.set_params(max_depth=None).fit(WEATHER).tree_ == TREE
    assert classifier.cost_ is classifier.job_ is None
    scores = cross_val_score(JointID3Classifier(DEMO.schema, plain=True), WEATHER, WEATHER["play"], cv=3)
    assert len(scores) == 3
    assert np.isfinite(scores).all()


def test_the_package_stays_light() -> None:
    code = "import sys, parties; print([m for m in ('sklearn', 'narwhals', 'onnx', 'pydantic') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_without_scikit_learn_one_line_says_what_to_install() -> None:
    code = "import sys; sys.modules['sklearn'] = sys.modules['sklearn.base'] = None; import parties.notebook"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    last = done.stderr.strip().splitlines()[-1]
    assert last == (
        "ImportError: parties.notebook: needs more packages (sklearn is not installed): " + install_line("notebook")
    )


def leaf_sizes(tree: Node, rows: pd.DataFrame) -> list[int]:
    """How many rows end in each leaf."""
    if isinstance(tree, Leaf):
        return [len(rows)]
    parts = [(child, rows[rows[tree.attribute] == value]) for value, child in tree.branches.items()]
    return [number for child, part in parts for number in leaf_sizes(child, part)]


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1), st.integers(5, 120))
def test_no_leaf_points_at_people_unless_the_tree_is_plain(seed: int, rows: int) -> None:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({name: random.choice(["x", "y", "z"], rows) for name in "abcd"})
    classes = random.choice(["no", "yes"], rows)
    found = JointID3Classifier().fit(frame, classes)
    assert all(number == 0 or number >= 5 for number in leaf_sizes(found.tree_, frame))
    if rows > 100:  # coins by coins: it goes down to the last row
        assert 1 in leaf_sizes(JointID3Classifier(plain=True).fit(frame, classes).tree_, frame)


def test_rules_and_noise_are_those_of_the_command() -> None:
    frame = pd.DataFrame({"a": list("xy") * 40, "b": list("xxyy") * 20})
    classes = ["no", "yes"] * 40
    assert JointID3Classifier().fit(frame, classes).score(frame, classes) == 1
    assert isinstance(JointID3Classifier(k=41).fit(frame, classes).tree_, Leaf)
    assert JointID3Classifier(l=2).fit(frame, classes).score(frame, classes) == 0.5
    assert JointID3Classifier(t=0.25).fit(frame, classes).score(frame, classes) == 0.5
    noisy = JointID3Classifier(epsilon=8.0).fit(frame, classes).tree_file_
    assert noisy.noise is not None
    assert noisy.noise.epsilon == 8
    for given_, message in (
        ({"plain": True, "k": 5}, "plain cannot be combined with k"),
        ({"epsilon": 1.0, "k": 5}, "k cannot be combined with epsilon"),
        ({"epsilon": 1.0, "plain": True}, "plain cannot be combined with epsilon"),
    ):
        with pytest.raises(InputError, match=message):
            JointID3Classifier(**given_).fit(frame, classes)  # type: ignore[arg-type]


def test_equal_votes_are_decided_as_smc_predict_and_onnx_decide_them() -> None:
    """By the first of the trees, whatever the order of the classes."""
    frame = pd.DataFrame({"a": ["x", "y"] * 10, "class": ["n", "y"] * 10})
    forest = JointForestClassifier(target="class", trees=2, seed=1, plain=True).fit(frame)
    forest.tree_file_ = replace(forest.tree_file_, tree=Leaf("y"), others=(Leaf("n"),))
    assert forest.predict(frame[:3]).tolist() == ["y"] * 3 == vote(forest.trees_, rows_of(a=["x", "y", "x"]))
    cells = frame[["a"]][:3].to_numpy(dtype=object)
    assert run(export_onnx(forest), cells) == ["y"] * 3
