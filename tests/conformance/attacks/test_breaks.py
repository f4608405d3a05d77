"""Every kind that spends: a break at any message, from either side, and a peer that hangs up with our share.

The jobs run in one process, on small tables; between their sessions a disk holds what their workers told. The short
form breaks at openings and a few other messages of each kind, the campaign at all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from parties.jobs import kinds
from parties.jobs.kind import Inputs
from parties.link.identity import create
from parties.node.exchanges.openings import Stored, WrittenFirst
from parties.node.links import executor
from parties.node.links.executor import Order
from parties.node.proposal import propose, read_job
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema
from tests.support.disks import Job, messages_of
from tests.support.examples import EXPLORING
from tests.support.grasping import Grasper
from tests.support.workers import Noted, breaks_at, peace

CAMPAIGN = pytest.mark.campaign
SCHEMA = Schema({"age": ("young", "old"), "visits": ("0", "1", "3"), "outcome": ("good", "bad")}, "outcome")
ROWS = [f"{age},{visits},{outcome}" for age in ("young", "old") for visits in "013" for outcome in ("good", "bad")]
CLASSIFIER = """{"target": "outcome", "classes": {"good": 3, "bad": 2},
    "columns": {"age": {"young": [2, 1], "old": [1, 1]}}}"""
ESTIMATOR = '{"target": "visits", "least": 0, "greatest": 3, "intercept": 1, "columns": {}}'
FORMS: dict[str, list[dict[str, Any]]] = {
    "id3": [{"max_depth": 2, "trees": 2, "stop": "off", "quality": "max"}],
    "release count": [{"where": "age = old; visits = 1", "delta": 1e-9}],
    "release histogram": [{"by": "age"}],
    "release table": [{"by": ["age", "outcome"]}],
    "release sum": [{"column": "visits"}],
    "release mean": [{"column": "visits"}],
    "release deviation": [{"column": "visits"}],
    "release correlation": [{"numeric": ["visits", "outcome"]}],
    "release median": [{"column": "visits"}],
    "release top": [{"column": "visits", "first": 2}],
    "release choose": [{"column": "visits", "prices": "1,2.5"}],
    "release edges": [{"numeric": ["visits"]}],
    "evaluate report": [{"classifier": CLASSIFIER, "target_value": "bad", "bins": 4}],
    "evaluate error": [{"classifier": ESTIMATOR}],
    "release risks": [{"target": "outcome", "target_value": "bad", "by": "age"}],
    "release rates": [{"target": "visits", "by": "age"}],
    "release difference": [{"column": "visits", "by": "age"}],
    "boost": [{"target": "outcome", "columns": ["age", "visits"], "rounds": 1, "depth": 1}],
    "survive curve": [{"time": "visits", "event": "outcome", "event_value": "bad", "arm": "age"}],
    "survive cox": [{"time": "visits", "event": "outcome", "event_value": "bad", "columns": ["age"], "steps": 4}],
    "regress logistic": [{"target": "outcome", "target_value": "bad", "columns": ["age"], "steps": 4}],
    "regress poisson": [{"target": "visits", "columns": ["age"], "steps": 4}],
    "quantile": [{"column": "visits"}],
    "rules": [{"columns": ["age", "outcome"], "first": 3}],
    "scorecard": [{"columns": ["age"], "target": "outcome"}],
    "test chi2": [{"columns": ["age", "outcome"]}],
    "test proportions": [{"target": "outcome", "by": "age"}],
    "test trend": [{"target": "outcome", "by": "age"}],
    "test welch": [{"column": "visits", "by": "age"}],
    "release triangles": [{"columns": ["age", "visits"], "delta": 1e-9}],
    "release naive-bayes": [{"columns": ["age"]}],
    "release marginals": [{"sets": "age; age,outcome"}],
    "cluster": [
        {"columns": ["visits"], "bounds": ["0:3"], "k": 2, "method": method}
        for method in ("in-process", "grid", "hybrid")
    ],
    "regress joint": [
        {"columns": ["age", "visits"], "numeric": ["visits"], "delta": 1e-9, "method": "gradient", "steps": 3},
        {"columns": ["age"], "delta": 1e-9, "method": "output", "lambda": 0.1, "least_rows": 10},
    ],
    "synthesise": [{"columns": ["age", "outcome"], "delta": 1e-9, "select": select} for select in ("aim", "mst")],
    "publish joint-table": [{"by": "age", "across": "outcome", "threshold": 3, "max_rows": 100}],
}
CASES = [pytest.param(name, form, id=f"{name} {number}") for name in FORMS for number, form in enumerate(FORMS[name])]
# Sums and choices of one form as others': `make test` breaks the others' sessions; a peer hangs up on all.
ALIKE = {
    "release histogram", "release sum", "release median", "release edges", "evaluate report", "quantile",
    "evaluate error", "release risks", "release rates", "release difference",
    "test proportions", "test trend", "release naive-bayes", "scorecard", "regress logistic", "regress poisson",
}  # fmt: skip
BROKEN = [pytest.param(*case.values, id=case.id, marks=CAMPAIGN if case.values[0] in ALIKE else ()) for case in CASES]


def test_every_kind_that_spends_is_here() -> None:
    spend = {name for name in kinds.names() if "epsilon" in kinds.find(name).Settings.model_fields}
    assert spend == set(FORMS)


@pytest.fixture
def inputs(tmp_path: Path) -> tuple[Inputs, Inputs]:
    SCHEMA.save(tmp_path / "schema.toml")
    both = []
    for party in (0, 1):
        source = tmp_path / f"{party}.csv"
        source.write_text("\n".join(["age,visits,outcome", *ROWS * (2 + party)]) + "\n")
        table = {"source": str(source), "schema": str(tmp_path / "schema.toml"), "max_rows": 100, "least_rows": 10}
        both.append(Inputs(party, TableSettings.model_validate(table), SCHEMA))
    return both[0], both[1]


@pytest.fixture
def orders(inputs: tuple[Inputs, Inputs], tmp_path: Path) -> Any:
    identities = [create(name, [], tmp_path) for name in ("alice", "bob")]

    def made(name: str, form: dict[str, Any]) -> tuple[Order, Order]:
        fields = {"protocol": name, "table": "rows", "epsilon": 1.0, "max_rows": 100, "engine": "gmw", **form}
        job = propose(read_job(fields), inputs[0])
        left, right = (Order(job, own, None, "", "", who) for own, who in zip(inputs, identities, strict=True))
        return left, right

    return made


@pytest.fixture(autouse=True)
def tables_stay_open(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each party's table is opened once for all sessions of a test, which took most of their time."""
    opened, kept = executor.opened, {}

    with ExitStack() as stack:

        @contextmanager
        def once(order: Order) -> Iterator[Any]:
            if order.inputs.party not in kept:
                kept[order.inputs.party] = stack.enter_context(opened(order))
            yield kept[order.inputs.party]

        monkeypatch.setattr(executor, "opened", once)
        yield


@pytest.mark.one_of(2)
@pytest.mark.parametrize(("name", "form"), BROKEN)
def test_a_break_at_any_message(orders: Any, name: str, form: dict[str, Any]) -> None:
    """Both end with one result, and of each opening each party has sent one share."""
    fresh = orders(name, form)
    assert fresh[0].job.task.disclosure.spends
    messages = messages_of(Job(*fresh))
    assert "reveal" in {step for step, _ in messages}
    if not EXPLORING:  # the first and the last opening, and by turns what comes before the last, or at the end
        last = max(count for step, count in messages if step == "reveal")
        messages = [("reveal", 1), ("reveal", last), messages[-1] if len(messages) % 2 else ("ready", last)]
    for number, message in enumerate(dict.fromkeys(messages)):
        for breaking in (0, 1) if EXPLORING else (number % 2,):
            job = Job(*fresh)
            troubles = [peace, peace]
            troubles[breaking] = breaks_at(*message)
            job.session(*troubles)
            job.finish()
            job.opened_once()


@pytest.mark.one_of(3)
@pytest.mark.parametrize(("name", "form"), CASES)
def test_a_peer_that_hangs_up_with_our_share(
    orders: Any, name: str, form: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It comes back with other contributions, and says of its disk what it likes: the same share again, or none."""
    grasper = Grasper()
    monkeypatch.setattr(executor, "WrittenFirst", grasper.openings(WrittenFirst))
    job = Job(*orders(name, form), lines=(Noted, grasper.line))
    for row, claim in ((None, None), (0, None), (1, (0, 0, 1, 1)), (0, (0, -1, 0, 0))):
        grasper.row, grasper.claim = row, claim
        if claim is not None:
            job.disks[1].stored = Stored()
        job.session()
    assert len(grasper.shares) >= 2, "the peer got nothing again"
    assert {place: len(shares) for place, shares in job.sent[0].items()} == {(0, 0): 1}
    assert replace(job.disks[0].stored, shares=(), seed=b"") == Stored(0, 1)
