"""Nothing that a peer sees before a charge depends on a row: the same for all tables within their public bounds.

Public are a table's schema and the bounds in party.toml. Of two tables that keep them, neighbours or not, a session
sends the same messages, by name, size and order, up to the first thing that is opened, and never fails before that. Of
two that do not, whatever is wrong with them, it says what it says where there is no table at all.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.jobs import kinds
from parties.jobs.inputs import Inputs
from parties.jobs.publish import analyst
from parties.link.identity import Identity, create
from parties.node.proposal import Proposal
from parties.tables.schema import Schema
from tests.support.examples import EXPLORING
from tests.support.outcomes import Outcome, inputs, outcome, proposed
from tests.support.specified import CLASSIFIER, ESTIMATOR

SCHEMA = Schema(
    {"wind": ("weak", "strong"), "hours": ("1", "2.5", "4"), "rain": ("no", "some", "much"), "play": ("yes", "no")},
    "play",
)
LEAST, MOST = 4, 24
BOUNDS: dict[str, Any] = {"max_rows": MOST, "least_rows": LEAST}
HEADER = ",".join(SCHEMA.attributes) + "\n"
MIXED = "".join(
    f"{('weak', 'strong')[n % 2]},{('1', '2.5', '4')[n * n % 3]},{('no', 'some', 'much')[n // 2 % 3]},"
    f"{('yes', 'no')[n % 5 % 2]}\n"
    for n in range(MOST)
)
PEERS = "weak,1,no,yes\nstrong,4,much,no\nweak,2.5,some,no\nstrong,1,no,yes\nweak,4,much,yes\n"

NOISY = {"epsilon": 1.0}
JOBS: dict[str, list[dict[str, Any]]] = {
    "id3": [{}, {"max_depth": 1, **NOISY}, {"max_depth": 1, "trees": 2, "stop": "off", **NOISY}, {"k": 2}],
    "align exact": [
        {"by": ["wind+hours+rain"], "duplicates": "first"},
        {"by": ["wind"], "duplicates": "first", "opens": "number", "learns": "dialler"},
        {"by": ["wind"], "duplicates": "first", "opens": "at-least", "at_least": 2},
    ],
    "align fuzzy": [
        {
            "comparisons": ["wind=exact:1+else:-1", "hours=exact:2+dice@0.5:1+else:-1"],
            "blocking_rules": ["wind", "hours"],
            "threshold_match_weight": 2.0,
            "bin_rows": 8,
        }
    ],
    "align lookup": [{"by": ["wind+hours+rain"], "duplicates": "first", "learns": "dialler"}],
    "millionaires": [{"of": "rows", "bits": 5}, {"of": "rain=much", "bits": 5}],
    "equality": [{"of": "wind=weak", "bits": 8}],
    "majority": [{"target": "rain", "bits": 5}],
    "release count": [{"where": "wind = weak; rain = much", **NOISY}, {"where": "wind = weak", "exact": True}],
    "release histogram": [{"by": "rain", **NOISY}],
    "release table": [{"by": ["wind", "rain"], **NOISY}],
    "release sum": [{"column": "hours", **NOISY}],
    "release mean": [{"column": "hours", "by": ["rain"], **NOISY}],
    "release deviation": [{"column": "hours", **NOISY}],
    "release correlation": [{"numeric": ["hours", "wind"], **NOISY}],
    "release median": [{"column": "hours", **NOISY}],
    "release top": [{"column": "rain", "first": 2, **NOISY}],
    "release choose": [{"column": "hours", "prices": "1,3", **NOISY}],
    "release edges": [{"numeric": ["hours"], **NOISY}],
    "evaluate report": [{"classifier": CLASSIFIER, "bins": 4, **NOISY}],
    "evaluate error": [{"classifier": ESTIMATOR, **NOISY}],
    "release risks": [{"target": "play", "by": "wind", "strata": ["rain"], **NOISY}],
    "release rates": [{"target": "hours", "by": "wind", "where": "hours in ['1', 4]", **NOISY}],
    "release difference": [{"column": "hours", "by": "wind", **NOISY}],
    "evaluate auc": [
        {"target": "play", "scores": "hours", "at_least": 0.6},
        {"classifier": CLASSIFIER, "at_least": 0.6},
    ],
    "evaluate better": [{"classifier": CLASSIFIER, "than": "hours"}],
    "evaluate drift": [{"columns": ["hours", "rain"]}],
    "survive curve": [{"time": "hours", "event": "play", "arm": "wind", **NOISY}],
    "survive cox": [{"time": "hours", "event": "play", "columns": ["wind"], "steps": 4, **NOISY}],
    "regress logistic": [{"target": "play", "columns": ["hours"], "numeric": ["hours"], "steps": 4, **NOISY}],
    "regress poisson": [
        {"target": "hours", "columns": ["wind"], "where": "hours in ['1', 4]", "steps": 4, **NOISY},
    ],
    "survive compare": [{"time": "hours", "event": "play", "arm": "wind"}],
    "quantile": [{"column": "hours", **NOISY}],
    "scorecard": [{"columns": ["wind"], "target": "play", **NOISY}],
    "test chi2": [{"columns": ["rain", "play"]}],
    "test proportions": [{"target": "play", "by": "wind"}],
    "test trend": [{"target": "play", "by": "hours", **NOISY}],
    "test welch": [{"column": "hours", "by": "wind"}],
    "rank": [{"target": "play", "first": 2}],
    "rules": [{"columns": ["wind", "rain", "play"], "support": 0.2, "ot": "extension"}, {"first": 3, **NOISY}],
    "release triangles": [
        {"columns": ["rain", "wind"], "delta": 1e-3, "ot": "extension", **NOISY},
        {"columns": ["rain", "wind"], "ot": "extension", **NOISY, "epsilon": 8},
    ],
    "release naive-bayes": [{"columns": ["wind", "hours"], "target": "play", **NOISY}],
    "cluster": [
        {"columns": ["hours"], "bounds": ["0:5"], "k": 2, **NOISY},
        {"columns": ["hours"], "bounds": ["0:5"], "k": 2, "method": "in-process", **NOISY},
        {"columns": ["hours"], "bounds": ["0:5"], "k": 2, "method": "hybrid", **NOISY},
    ],
    "forest": [{"trees": 2, "max_depth": 2}],
    "boost": [{"rounds": 1, "depth": 2, "exact": True}, {"rounds": 2, "depth": 1, **NOISY}],
    "regress joint": [
        {"numeric": ["hours"], "steps": 2, **NOISY},
        {"method": "output", "lambda": 1e-5, **NOISY},
        {"method": "output", "loss": "huber", "huber": 0.01, "lambda": 1e-5, **NOISY},
        {"method": "output", "least_rows": 1, **NOISY},
        {"method": "choice", "columns": ["hours"], "numeric": ["hours"], **NOISY},
        {"method": "choice", "columns": ["wind", "hours"], "numeric": ["hours"], "steps": 2, **NOISY},
    ],
    "variance": [{"column": "hours", "above": 1.25}],
    "release marginals": [{"sets": "rain,play; wind", **NOISY}],
    "synthesise": [{"columns": ["rain", "play"], "delta": 1e-3, **NOISY}],
    "publish joint": [
        {"recode": ["wind", "rain"], "k": 2, "ot": "extension"},
        {"recode": ["wind"], "k": 2, "against": "public", "sensitive": "play", "l": 2, "ot": "extension"},
    ],
    "publish lattice": [
        {"recode": ["wind", "rain"], "k": 2, "ot": "extension"},
        {"recode": ["wind", "rain"], "k": 2, "against": "public", "ot": "extension"},
    ],
    "publish joint-table": [
        {"by": "rain", "across": "play", **NOISY},
        {"by": "rain", "sum": "hours", **NOISY},
        {"by": "rain", "analyst": "ours"},
        {"by": "rain", "analyst": "ours", "against": "public", "zeros": "shown"},
    ],
}
EXCUSED = {
    "circuit": "its inputs are typed",
    "classify": "its rows are those of an earlier job",
    "align hidden": "it opens nothing",
}
EVERY = [(name, i) for name, jobs in JOBS.items() for i in range(len(jobs))]
IDS = [f"{name}-{i}" for name, i in EVERY]
# What becomes of a table that is not fit is one place's for all kinds: `make test` has every second job.
SECOND = [
    pytest.param(*job, marks=pytest.mark.campaign if place % 2 else (), id=name)
    for place, (job, name) in enumerate(zip(EVERY, IDS, strict=True))
]

ROW = st.tuples(*(st.sampled_from(values) for values in SCHEMA.attributes.values())).map(",".join)
FIT = st.lists(ROW, min_size=LEAST, max_size=MOST).map(lambda rows: HEADER + "".join(f"{row}\n" for row in rows))
UNFIT = [
    st.lists(ROW, min_size=MOST + 1, max_size=MOST + 3).map(lambda rows: HEADER + "".join(f"{r}\n" for r in rows)),
    st.integers(1, LEAST)
    .flatmap(lambda short: st.lists(ROW, min_size=LEAST - short, max_size=LEAST - short))
    .map(lambda rows: HEADER + "".join(f"{row}\n" for row in rows)),
    st.tuples(FIT, st.sampled_from(["odd,odd,odd,odd\n", ",,,\n", "?,?,?,?\n", "weak,1\n"])).map(
        "".join
    ),  # in all columns
]


class Table:
    """Party 0's table and party 1's, and a job of each sort about them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.identities: tuple[Identity, Identity] = tuple(create(n, [], directory) for n in ("a", "b"))  # type: ignore[assignment]
        create("reader", [], directory)
        self.certificate = analyst.in_file(directory / "reader.crt")
        self.bounds = {**BOUNDS, "analysts": [analyst.of(self.certificate)]}
        self.peer = inputs(directory / "peer", HEADER + PEERS, SCHEMA, 1, **self.bounds)
        self.job = cache(self._job)
        self.usual = cache(self._usual)
        self.away = cache(self._away)

    def ours(self, rows: str | None) -> Inputs:
        return inputs(self.directory / "own", rows, SCHEMA, **self.bounds)

    def _job(self, name: str, number: int) -> Proposal:
        fields = JOBS[name][number]
        named = {"analyst": self.certificate} if fields.get("analyst") else {}
        return proposed({"protocol": name, **fields, **named}, self.ours(HEADER))

    def seen(self, name: str, number: int, rows: str | None) -> Outcome:
        return outcome(self.job(name, number), (self.ours(rows), self.peer), self.identities)

    def _usual(self, name: str, number: int) -> Outcome:
        return self.seen(name, number, HEADER + MIXED)

    def _away(self, name: str, number: int) -> Outcome:
        return self.seen(name, number, None)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    return Table(tmp_path_factory.mktemp("neighbours"))


def test_no_kind_is_left_out() -> None:
    """A kind that can read a table is here, or it is said why not."""
    assert {*JOBS, *EXCUSED} == set(kinds.BUILT_IN)


@pytest.mark.one_of(2)
@pytest.mark.parametrize(("name", "number"), EVERY, ids=IDS)
@settings(max_examples=2 if EXPLORING else 1)
@given(rows=FIT)
def test_tables_within_their_bounds_look_alike(table: Table, name: str, number: int, rows: str) -> None:
    """`make test` has the least table beside the largest one of all values."""
    usual = table.usual(name, number)
    assert usual.met
    assert usual.ended == "OpensError"
    assert table.seen(name, number, rows) == usual


@pytest.mark.one_of(2)
@pytest.mark.parametrize(("name", "number"), SECOND)
@settings(max_examples=2 if EXPLORING else 1)
@given(data=st.data())
def test_a_table_that_is_not_fit_looks_like_none(table: Table, name: str, number: int, data: st.DataObject) -> None:
    """By turns it has too many rows, too few, or a row that is none; a campaign has all for each job."""
    unfit = UNFIT[:2] if name.startswith("align ") else UNFIT  # any text is a key
    turn = EVERY.index((name, number)) // 2 % len(unfit)
    rows = data.draw(st.one_of(unfit) if EXPLORING else unfit[turn])
    away = table.away(name, number)
    assert not away.met
    assert (away.ended, away.told) == ("AwayError", "PeerAwayError: the peer's table is not available now")
    assert table.seen(name, number, rows) == away
