"""Utilities as expressions of columns: what a row gives, beside plain Python; exact choices; what is refused."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from parties.jobs.release.utility import parsed
from smc.errors import InputError
from tests.support.questions import SCHEMA, asked, state_of

TEXT = "a: 2 if age = young; -1.5 * visits | b: 1 if sex = male and age in [middle, old]; 0.5"


def given_by(row: dict[str, str]) -> list[float]:
    """What a row gives to the candidates of `TEXT`."""
    visits = 0.0 if row["visits"] == "?" else float(row["visits"])
    first = (2 if row["age"] == "young" else 0) - 1.5 * visits
    return [first, (row["sex"] == "male" and row["age"] != "young") + 0.5]


ROWS = [
    dict(zip(("age", "sex", "visits"), cell, strict=True))
    for cell in product(*(SCHEMA.attributes[column] for column in ("age", "sex", "visits")))
]


def test_what_each_row_gives() -> None:
    utility = parsed(TEXT)
    assert (utility.names, utility.numbers) == (("a", "b"), ("visits",))
    assert utility.columns(SCHEMA) == ("age", "sex", "visits")
    scores = utility.scores(ROWS, SCHEMA)
    assert [[float(a), float(b)] for a, b in zip(*scores, strict=True)] == [given_by(row) for row in ROWS]


def test_signs_in_quotes_are_words() -> None:
    schema = type(SCHEMA)({"x": ("a | b", "c; d", "e")}, "x")
    utility = parsed("first: 3 if x = 'a | b' | second: 1 if x in ['c; d', e]; 2")
    assert [list(map(int, line)) for line in utility.scores([{"x": x} for x in schema.attributes["x"]], schema)] == [
        [3, 0, 0],
        [2, 3, 3],
    ]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("by", [None, ("outcome",)], ids=str)
def test_exact_choices_are_the_best(seed: int, by: tuple[str, ...] | None) -> None:
    rng = np.random.default_rng(seed)
    rows: list[dict[str, str]] = [
        dict(row, outcome=str(outcome))
        for row, outcome in zip(rng.choice(np.array(ROWS), 40), rng.choice(["good", "bad"], 40), strict=True)
    ]
    more: dict[str, Any] = {} if by is None else {"by": by}
    task = asked("choose", utility=TEXT, exact=True, **more)
    groups = [rows] if by is None else [[row for row in rows if row["outcome"] == value] for value in ("good", "bad")]
    expected = [int(np.argmax(np.sum([given_by(row) for row in group], axis=0))) for group in groups]
    assert state_of(task, [rows[:15], rows[15:]]) == expected
    document = task.document(expected)
    assert [one["first"] for one in document["numbers"]] == [["ab"[place]] for place in expected]


@pytest.mark.parametrize(("adjacency", "times"), [("add-remove", 1), ("replace", 2)])
def test_noise_is_for_the_greatest_span_of_a_row(adjacency: str, times: int) -> None:
    spans = [4 * abs(first - second) for first, second in map(given_by, ROWS)]  # in quarters
    noise = asked("choose", utility=TEXT, adjacency=adjacency).query.mechanisms[0]
    assert noise.scale == times * max(spans)


def test_rows_that_are_not_meant_need_no_noise() -> None:
    noise = asked("choose", utility=TEXT, where="visits in [0, ?] and age = old").query.mechanisms[0]
    assert noise.scale == 3  # 1.5 more of a man for b, in halves


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"utility": TEXT, "column": "visits"}, "column: cannot be combined with utility"),
        ({"utility": TEXT, "prices": "1,2"}, "scores: give one of scores, prices and utility"),
        ({"utility": TEXT, "by": ("age",)}, "by: 'age' is already in utility"),
        ({"utility": "a: 1 | b: 2"}, "utility: depends on no column"),
        ({"utility": "a: 1 if age = young"}, "utility: name 2 to 1000 candidates"),
        ({"utility": "a: 1 if age = young | 2"}, "utility: '2' must be 'candidate: term; term'"),
        ({"utility": "a: x | b: 2"}, "utility: 'x' is not a term"),
        ({"utility": "a: 1.2.3 | b: 2"}, "utility: '1.2.3' is not a term"),
        ({"utility": "a: 1 if agee = young | b: 2"}, "utility: 'agee' is not an attribute of the schema"),
        ({"utility": "a: 1 if age = yung | b: 2"}, "utility: 'age' has no value 'yung'"),
        ({"utility": "a: 1 if age = young; 2 if | b: 2"}, "utility: '2 if' is not a term"),
        ({"utility": "a: 2 * weight | b: 2"}, "utility: 'weight' is not an attribute"),
        ({"utility": "a: 2 * sex | b: 2"}, "utility: a utility needs bounds"),
    ],
    ids=str,
)
def test_what_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as failed:
        asked("choose", **given)
    assert message in str(failed.value)
    assert "\n" not in str(failed.value)
