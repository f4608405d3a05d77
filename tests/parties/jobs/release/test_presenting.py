"""Results as text and as pictures: what stands in them, and that nobody's words can do anything to a terminal."""

from __future__ import annotations

import csv
import io
from typing import Any
from xml.etree import ElementTree

import pytest

from parties.commands.kinds import example_of
from parties.jobs import kinds
from parties.jobs.release.presenting import aligned, lines, numbers_as_csv, text
from parties.jobs.release.settings import DrawnSettings
from parties.jobs.result_files import picture as svg_of
from parties.tables.schema import Schema
from parties.tables.types import Domain, read_type
from tests.support.questions import SCHEMA, asked

HISTOGRAM = """\
sex     rows  95 %, noise only                      %
male      50           0 to 92  100.0 (95.8 to 100.0)
female     0           0 to 40       0.0 (0.0 to 4.2)
all       48           0 to 99
of rows where age = old
discrete Laplace noise of scale 1, epsilon 1 (add-remove)
"""
TABLE = """\
sex \\ outcome         good          bad          all
male           10 (15.6 %)  20 (31.2 %)  30 (46.9 %)
female         30 (46.9 %)    4 (6.2 %)  34 (53.1 %)
all            40 (62.5 %)  24 (37.5 %)           64
95 %, noise only: each cell ± 3, each row ± 4, each column ± 4, all ± 5
discrete Laplace noise of scale 1, epsilon 1 (add-remove)
"""
EXACT = """\
of                rows
all rows            30
age = old           20
exact, without noise: each party can compute the other's number
"""


def shown_text(document: dict[str, Any]) -> str:
    return text(lines(document), document)


def test_a_histogram() -> None:
    task = asked("histogram", by="sex", where="age = old")
    document = task.document([50, -2])
    for one, (low, high) in zip([*document["numbers"], document["total"]], [(0, 92), (0, 40), (0, 99)], strict=True):
        one |= {"low": low, "high": high}
    assert shown_text(document) == HISTOGRAM


def test_a_table_of_two_columns_is_crossed() -> None:
    assert shown_text(asked("table", by=("sex", "outcome")).document([10, 20, 30, 4])) == TABLE


def test_exact_counts() -> None:
    found = shown_text(asked("count", where="all; age = old", exact=True).document([30, 20]))
    assert found.split() == EXACT.split()


@pytest.mark.parametrize(
    ("name", "settings", "opened", "grid"),
    [
        ("release sum", {"column": "x", "exact": True}, 1, 10),
        ("release mean", {"column": "x", "exact": True}, 2, 10),
        ("release mean", {"column": "x", "epsilon": 1.0}, 2, 10),
        ("release deviation", {"column": "x", "epsilon": 1.0}, 3, 10),
        ("release median", {"column": "x", "round_to": 100, "epsilon": 1.0}, 1, 10),
        ("release correlation", {"numeric": ["x", "sex"], "epsilon": 1.0}, 9, 10),
        ("quantile", {"column": "x", "exact": True}, 1, 10),
        ("variance", {"column": "x", "above": 5.0}, 1, 10),
        ("release histogram", {"by": "x", "epsilon": 1.0}, 3, None),
        ("release histogram", {"by": "half", "epsilon": 1.0}, 3, 0.5),
        ("release sum", {"column": "age", "exact": True}, 1, None),
    ],
)
def test_a_result_states_the_grid_of_its_numbers(
    name: str, settings: dict[str, Any], opened: int, grid: float | None
) -> None:
    """Ranges and whole numbers are not rounded."""
    kind: Any = kinds.find(name)
    types: dict[str, dict[str, Any]] = {
        "x": {"type": "real", "low": 0, "high": 90000, "edges": [10, 100]},
        "half": {"type": "real", "low": 0, "high": 1, "step": 0.5},
        "age": {"type": "integer", "low": 0, "high": 90, "edges": [50]},
    }
    schema = Schema({column: Domain(read_type(fields)) for column, fields in types.items()} | {"sex": ("f", "m")})
    task = kind.canonical(kind.Settings.model_validate({"max_rows": 10, **settings}), schema)
    column = settings.get("by", "x")
    expected = [] if grid is None else [f"Each number of {column} counts as the nearest multiple of {grid}."]
    document = task.document([1] * opened)
    assert document.get("rounded", []) == expected
    assert [line for line in kind.text(document, 0).splitlines() if "nearest" in line] == expected
    assert [line for line in task.disclosure.reveals("bob") if "nearest" in line] == expected


def test_means_that_are_none() -> None:
    """Where there may be no row, the mean may be any, and there is no value."""
    task = asked("mean", column="visits", by=("sex",))
    numbers = task.document([8, -100, 40, -3])["numbers"]
    assert numbers[0]["low"] < numbers[0]["value"] < numbers[0]["high"]
    assert (numbers[1]["value"], numbers[1]["low"], numbers[1]["high"]) == (None, -1, 3.5)
    assert "female            -" in shown_text(task.document([8, -100, 40, -3]))


def test_numbers_as_csv() -> None:
    """Every field of every number, under the columns that tell them apart."""
    document = asked("mean", column="visits", by=("sex",)).document([8, -100, 40, -3])
    rows = list(csv.DictReader(io.StringIO(numbers_as_csv(document))))
    for row, number in zip(rows, document["numbers"], strict=True):
        assert row.pop("sex") == number["cell"]["sex"]
        assert row == {name: "" if value is None else str(value) for name, value in number.items() if name != "cell"}
    count = asked("count", where="all; age = old", exact=True).document([30, 20])
    assert numbers_as_csv(count) == "of,value\nall rows,30\nage = old,20\n"


def test_columns_of_text() -> None:
    assert aligned([["a", "10"], ["long", "1"]], 1) == ["a     10", "long   1"]


HOSTILE = Schema({"a\u202e$x_1$": ("\u202egood", "<b>&", "$\\frac"), "n": ("1", "2")})


@pytest.mark.parametrize("name", ["histogram", "table", "mean", "sum", "count", "top", "median", "naive-bayes"])
def test_nobodys_words_do_anything(name: str) -> None:
    column = next(iter(HOSTILE.attributes))
    given: dict[str, Any] = {
        "histogram": {"by": column},
        "table": {"by": (column, "n")},
        "count": {"where": f"'{column}' = '<b>&'"},
        "naive-bayes": {"target": column},
        "top": {"column": column, "first": 1},
    }.get(name, {"column": "n", "by": (column,)})
    task = asked(name, HOSTILE, **given)
    state = [1] * (task.query.numbers if name not in ("top", "median") else 3 if name == "median" else 1)
    found = task.document(state)
    assert all(line.isprintable() for line in shown_text(found).splitlines())
    picture = svg_of(type(task).files(), found)
    assert (picture is None) == (not issubclass(type(task).Settings, DrawnSettings))
    if picture is not None:
        root = ElementTree.fromstring(picture)
        words = "".join(root.itertext())
        assert "\u202e" not in words
        assert not root.findall(".//{http://www.w3.org/2000/svg}b")
        assert svg_of(type(task).files(), found) == picture


def test_every_question_has_a_title_and_a_line() -> None:
    for name in kinds.BUILT_IN:
        if kinds.group(name) == "release":
            assert example_of(kinds.find(name)).endswith("--config party.toml")
            assert kinds.line(name)
    assert "outcome" in SCHEMA.attributes
