"""A choice by scores: the notes' prices, elections, the exact law of all small neighbours, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest

from parties.jobs.kinds.release.choose import Choose
from parties.jobs.kinds.release.top import Top
from parties.tables.schema import Schema
from smc.errors import InputError
from tests.support.questions import counts, state_of

SCHEMA = Schema({"bid": ("0", "1", "2", "3.01", "?"), "sex": ("f", "m"), "out": ("no", "yes")}, "out")
PRICES = {"column": "bid", "prices": "1, 3.01, 3.02"}


def task_of(**given: Any) -> Choose:
    made = {"max_rows": 100, **({} if given.get("exact") else {"epsilon": 1.0}), **given}
    return Choose.canonical(Choose.Settings.model_validate(made), SCHEMA)


def rows_of(bids: Sequence[str], sex: str = "f") -> list[dict[str, str]]:
    return [{"bid": bid, "sex": sex, "out": "no"} for bid in bids]


def law_of(scores: Sequence[int], alpha: float) -> np.ndarray:
    """The chance of each candidate, by the noise of its own: P(g) = (1 - alpha) alpha^g, the first of equals wins."""
    drawn = np.arange(math.ceil(60 / -math.log(alpha)))
    chances = []
    for place, score in enumerate(scores):
        wins = np.ones(len(drawn))
        for other, against in enumerate(scores):
            if other != place:
                room = score + drawn - against + (other > place)  # so many numbers are below
                wins *= 1 - alpha ** np.maximum(room, 0)
        chances.append(((1 - alpha) * alpha**drawn * wins).sum())
    return np.array(chances)


def test_the_price_that_three_buyers_pay() -> None:
    """Notes: bids of 1, 1 and 3.01 bring 3 at a price of 1, 3.01 at 3.01, and nothing at 3.02."""
    task = task_of(**PRICES)
    own = task.own_rows(counts(task, rows_of(["1", "1", "3.01"])))
    assert (own / 100).tolist() == [3, 3.01, 0]
    noise = task.query.mechanisms[0]
    assert noise.scale == 301  # hundredths: a bid of 3.01 pays 3.01 or nothing
    chances = law_of(own.tolist(), math.exp(-1 / 301))
    assert chances.sum() == pytest.approx(1)
    exponential = np.exp(own / (2 * 302))  # of the notes: 2 times the greatest price in the exponent's denominator
    exponential /= exponential.sum()
    assert (own * chances).sum() >= (own * exponential).sum()  # permute-and-flip is never worse
    assert state_of(task_of(**PRICES, exact=True), [rows_of(["1", "1"]), rows_of(["3.01"])]) == [1]
    assert task_of(**PRICES, exact=True).document([1])["numbers"][0]["first"] == ["3.01"]


def test_an_election_of_two_polling_stations() -> None:
    """Notes: input votes, output who wins, P(o) ~ e^(epsilon u(x, o) / (2 Delta u)), Delta u = 1.

    Of 45, 40 and 15 votes the first is named with 0.777 so at epsilon 0.5, and with 0.969 by the law here.
    """
    schema = Schema({"vote": ("Ada", "Bert", "Cleo"), "station": ("north", "south")}, "station")
    votes = {"Ada": (20, 25), "Bert": (30, 10), "Cleo": (5, 10)}
    stations = [
        [{"vote": name, "station": "north"} for name, cast in votes.items() for _ in range(cast[party])]
        for party in (0, 1)
    ]
    scores = {"column": "vote", "scores": "; ".join(f"{name}: {name}=1" for name in votes)}
    as_votes = Choose.canonical(Choose.Settings.model_validate({"epsilon": 0.5, "max_rows": 100, **scores}), schema)
    first = Top.canonical(
        Top.Settings.model_validate({"column": "vote", "first": 1, "epsilon": 0.5, "max_rows": 100}), schema
    )
    for task in (as_votes, first):  # the same election, by either question
        totals = sum(task.own_rows(counts(task, rows)) for rows in stations)
        assert totals.tolist() == [45, 40, 15]
        (noise,) = task.query.mechanisms
        assert noise.scale == 2  # rows: one vote is worth that many for a factor of e
        chances = law_of([45, 40, 15], math.exp(-1 / float(noise.scale)))
        notes = np.exp(0.5 * totals / 2)
        notes /= notes.sum()
        assert (notes[0], chances[0]) == pytest.approx((0.777, 0.969), abs=5e-4)
        assert totals @ chances > totals @ notes
    told = Choose.canonical(Choose.Settings.model_validate({"exact": True, "max_rows": 100, **scores}), schema)
    assert told.document(state_of(told, stations))["numbers"][0]["first"] == ["Ada"]


@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
@pytest.mark.parametrize(
    "given",
    [
        {"prices": "1,2,3.01"},
        {"scores": "a: 0=2, 1=-3; b: 1=4, 2=-1"},
        {"scores": "a: 0=1, ?=-1; b: 1=1; c: 2=1"},
        {"scores": "a: 0=-2, 1=-2; b: 0=-2, 1=-2, 2=1"},
    ],
    ids=str,
)
def test_no_neighbours_are_told_apart_better_than_promised(given: dict[str, Any], adjacency: str) -> None:
    """All tables of up to two rows, each with one row more, or with another one in its place; by the exact law."""
    task = task_of(**given, column="bid", adjacency=adjacency)
    alpha = math.exp(-1 / float(task.query.mechanisms[0].scale))
    bids = SCHEMA.attributes["bid"]
    each = {bid: task.own_rows(counts(task, rows_of([bid]))) for bid in bids}
    nothing, worst = np.zeros(task.query.numbers, dtype=np.int64), 0.0
    for table in product(bids, repeat=2):
        base = sum((each[bid] for bid in table), start=nothing)
        for bid, other in product(bids, bids if adjacency == "replace" else ("",)):
            first, second = base + each[bid], base + (each[other] if other else nothing)
            laws = [law_of(scores.tolist(), alpha) for scores in (first, second)]
            worst = max(worst, float(np.abs(np.log(laws[0] / laws[1])).max()))
    assert worst <= 1 + 1e-9
    assert worst > 0.5  # no more noise than that needs


def test_the_span_is_what_counts_and_not_the_greatest_score() -> None:
    assert task_of(column="bid", scores="a: 0=2, 1=-3; b: 1=4").query.mechanisms[0].scale == 7
    assert task_of(column="bid", scores="a: 0=5; b: 0=4").query.mechanisms[0].scale == 1
    assert task_of(column="bid", scores="a: 0=0.5; b: 0=-1").query.mechanisms[0].scale == 3  # in halves
    assert task_of(column="bid", scores="a: 0=5; b: 0=4", adjacency="replace").query.mechanisms[0].scale == 2


@pytest.mark.parametrize("seed", range(5))
def test_exact_choices_are_the_best(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(-9, 10, (7, 5))
    names = [f"c{i}" for i in range(7)]
    entries = [", ".join(f"{bid}={n}" for bid, n in zip(SCHEMA.attributes["bid"], line, strict=True)) for line in table]
    task = task_of(
        column="bid", by=("sex",), exact=True, scores="; ".join(map(": ".join, zip(names, entries, strict=True)))
    )
    people = [
        [*rows_of(rng.choice(SCHEMA.attributes["bid"], 9), "f"), *rows_of(rng.choice(SCHEMA.attributes["bid"], 6), "m")]
        for _ in range(2)
    ]
    found = state_of(task, people)
    for place, sex in enumerate(SCHEMA.attributes["sex"]):
        codes = [SCHEMA.attributes["bid"].index(row["bid"]) for rows in people for row in rows if row["sex"] == sex]
        assert found[place] == int(np.argmax(table[:, codes].sum(axis=1)))
    assert task.disclosure.bits.at_most == 2 * 3


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "scores: give one of scores, prices and utility"),
        ({"prices": "1,2", "scores": "a: 0=1; b: 1=1"}, "scores: give one of"),
        ({"prices": "1"}, "prices: name 2 to 1000 candidates"),
        ({"prices": "1,1"}, "prices: name 2 to 1000 candidates, none twice"),
        ({"prices": "1,x"}, "prices: 'x' is not a decimal number"),
        ({"scores": "a 0=1; b: 1=1"}, "scores: 'a 0=1' must be 'candidate: value=score, ...'"),
        ({"scores": "a: 7=1; b: 1=1"}, "scores: '7=1' must be VALUE=SCORE of a value of 'bid'"),
        ({"scores": "a: 0=much; b: 1=1"}, "scores: 'much' is not a decimal number"),
        ({"scores": "a: 0=1e9; b: 1=1"}, "scores: '1e9' is not a decimal number"),
        ({"column": "sex", "prices": "1,2"}, "column: a price needs bounds"),
    ],
)
def test_what_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as failed:
        task_of(**{"column": "bid", **given})
    assert message in str(failed.value)
    assert "\n" not in str(failed.value)
