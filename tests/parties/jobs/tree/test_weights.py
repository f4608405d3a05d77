"""Rows that count more than once by their class: the tree is that of the rows repeated, under rules for single rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parties.base.settings import merge
from parties.jobs.inputs import Inputs
from parties.jobs.kinds.id3 import Id3
from parties.jobs.tree.exact import ExactTree
from parties.jobs.tree.settings import Id3Settings
from parties.tables.schema import Schema
from protocols.counts import RowCounts
from protocols.tree import Leaf, Split, Tree
from smc.counting import forecast
from smc.engines import Profile, make_engine
from smc.errors import InputError
from smc.local import run_local
from smc.session import Session

SCHEMA = Schema({"a": ("x", "y", "z"), "b": ("u", "v"), "class": ("no", "a:b", "yes")}, "class")
SIZES = (3, 2)
EXACTLY = {"max_rows": 200, "k": 1, "max_depth": 2}


def task(**more: Any) -> ExactTree:
    made = Id3.of(merge(Id3Settings(), {**EXACTLY, **more}), SCHEMA, "class")
    made.check()
    assert isinstance(made, ExactTree)
    return made


def grown(job: ExactTree, rows: np.ndarray) -> Tree:
    def program(session: Session) -> Any:
        own = rows[session.party :: 2]
        data = job.own_rows(RowCounts(SIZES, 3, own[:, :-1], own[:, -1]))
        return job.run(make_engine(session, "clear"), data, job.states.beginning, lambda step: None)

    first, second = run_local(program)
    assert first == second
    return first  # type: ignore[no-any-return]


def table(seed: int, rows: int = 80) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, [*SIZES, 3], (rows, 3))


@pytest.mark.parametrize("prune", ["off", "pessimistic"])
@pytest.mark.parametrize("seed", range(3))
def test_the_tree_is_that_of_repeated_rows(seed: int, prune: str) -> None:
    rows = table(seed)
    weights = {"weights": ("a:b:2", "yes:4")}
    pairs = np.stack([rows[::2], rows[1::2]], axis=1)  # of the two parties: each repeats its own
    repeated = np.concatenate([np.tile(pair, (5, 1)) for pair in pairs])
    times = np.concatenate([np.repeat(np.arange(5), 2)] * len(pairs))
    repeated[times >= np.array([1, 2, 4])[repeated[:, -1]]] = -1
    mine, theirs = (side[side[:, -1] >= 0] for side in (repeated[::2], repeated[1::2]))
    both = task(prune=prune)

    def program(session: Session) -> Any:
        own = (mine, theirs)[session.party]
        data = both.own_rows(RowCounts(SIZES, 3, own[:, :-1], own[:, -1]))
        return both.run(make_engine(session, "clear"), data, both.states.beginning, lambda step: None)

    expected = run_local(program)[0]
    assert grown(task(prune=prune, **weights), rows) == expected
    if prune == "off":
        assert grown(task(), rows) != expected


def test_rules_are_for_single_rows() -> None:
    """Three rows of each party in a leaf that count for 30 are three."""
    rows = np.array([[value, value % 2, 2 * (value == 1)] for value in (0, 1, 2) for _ in range(6)])
    assert isinstance(grown(task(k=3, weights=("yes:10",)), rows), Split)
    assert grown(task(k=4, weights=("yes:10",)), rows) == Leaf(2)
    assert grown(task(k=4), rows) == Leaf(0)
    by_t = {"t": 0.7, "weights": ("yes:10",)}  # leaves differ by up to 2/3 from all rows, by 5/6 from weighted ones
    assert isinstance(grown(task(**by_t), rows), Split)


def test_more_rows_than_agreed_are_refused() -> None:
    with pytest.raises(InputError, match="40 rows are more than the agreed maximum of 39"):
        grown(task(max_rows=39, weights=("yes:10",)), table(1))


@pytest.mark.parametrize(
    ("weights", "problem"),
    [
        (("maybe:2",), "weights: 'maybe:2' must be CLASS:TIMES, of"),
        (("yes",), "weights: 'yes' must be CLASS:TIMES, of"),
        (("yes:0",), "weights: 'yes:0' must count rows 1 to 1,000 times"),
        (("yes:1001",), "weights: 'yes:1001' must count rows 1 to 1,000 times"),
        (("yes:1.5",), "weights: 'yes:1.5' must count rows 1 to 1,000 times"),
    ],
)
def test_what_is_no_weight(weights: tuple[str, ...], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        task(weights=weights)


def test_noisy_counts_of_leaves_count_single_rows() -> None:
    with pytest.raises(InputError, match="weights: cannot be combined with support_epsilon, which counts single rows"):
        task(weights=("yes:2",), support_epsilon=1.0)


def test_the_peer_reads_the_same() -> None:
    document = task(weights=("yes:2",)).specification()
    assert Id3.agreed(document).specification() == document


@pytest.mark.parametrize("more", [{"prune": "chi2"}, {"prune": "pessimistic", "weights": ("yes:5",)}], ids=str)
def test_a_run_costs_what_its_tree_says(more: dict[str, Any]) -> None:
    job, rows, meters = task(**more), table(2), {}
    rows[:, -1] = np.where(rows[:, -1] == 1, 1, 2 * (rows[:, 0] == 1))

    def program(session: Session) -> Any:
        meters[session.party] = session.meter.total
        own = rows[session.party :: 2]
        data = job.own_rows(RowCounts(SIZES, 3, own[:, :-1], own[:, -1]))
        return job.run(make_engine(session, "mixed"), data, job.states.beginning, lambda step: None)

    tree = run_local(program)[0]
    assert isinstance(tree, Split)
    counted = forecast(job.with_result(tree), Profile("mixed"))
    assert [meter.total.bytes_sent for meter in counted.meters] == [meters[party].bytes_sent for party in (0, 1)]
    most = job.cost(Inputs()).most(Profile("mixed"))
    assert most is not None
    assert counted.bytes <= most
