"""What is to be noticed before consent, and what makes a job tell more than its table's usual."""

from __future__ import annotations

from typing import Any

import pytest

from parties.base.settings import merge
from parties.jobs.kinds.id3 import Id3
from parties.jobs.tree.settings import Id3Settings
from parties.operator.budget import Price
from parties.operator.cautions import ONE_PERSON, cautions, done_before, unusual
from parties.operator.interface import JobView
from parties.tables.schema import Schema
from tests.support.fake_node import COLUMNS, REVEALS, Browser, FakeNode

OPEN = {"min_rows": 0, "max_depth": None, "plain": True, "k": 1, "l": 1.0}


def price(epsilon: float) -> Price:
    return Price(epsilon=epsilon, at=0.0, rho=0.0, delta=0.0, adjacency="replace", uses=[])


@pytest.mark.parametrize(
    ("given", "noticed"),
    [
        ({}, False),
        ({"plain": True}, True),
        ({"plain": True, "min_rows": 9}, True),
        ({"plain": True, "max_depth": 2}, True),
        ({"k": 1, "l": 2.0}, False),
        ({"k": 1}, True),
        ({"k": 1, "max_depth": 2, "min_rows": 1}, True),
        ({"k": 1, "t": 0.5}, True),
        ({"k": 1, "l": 1.5, "diversity": "entropy"}, False),
        ({"k": 2}, False),
        ({"epsilon": 1.0}, False),
    ],
)
def test_leaves_that_may_speak_of_one_person(node: FakeNode, given: dict[str, Any], noticed: bool) -> None:
    schema = Schema({"wind": ("weak", "strong"), "play": ("yes", "no")}, "play")
    task = Id3.of(merge(Id3Settings(), given), schema, "play")
    assert cautions(node.add(parameters=task.parameters())) == ([ONE_PERSON] if noticed else [])
    assert (
        any(one.startswith("A leaf may describe a single person") for one in task.disclosure.reveals("bob")) == noticed
    )


@pytest.mark.parametrize("parameters", [{}, {"tolerance": 0.1}, {"k": 1}])
def test_other_kinds_have_no_leaves(node: FakeNode, parameters: dict[str, Any]) -> None:
    assert cautions(node.add(parameters=parameters)) == []


@pytest.mark.parametrize(
    ("key", "value", "noticed"),
    [
        ("epsilon", 10.0, False),
        ("epsilon", 10.5, True),
        ("support_epsilon", 1000, True),
        ("epsilon", None, False),
    ],
)
def test_an_epsilon_that_promises_hardly_anything(node: FakeNode, key: str, value: float | None, noticed: bool) -> None:
    """A line, and no refusal."""
    said = [
        f"epsilon {value:g} promises hardly anything" in line for line in cautions(node.add(parameters={key: value}))
    ]
    assert said == [True] * noticed


@pytest.mark.parametrize("path", ["/", "/jobs/{}"])
def test_the_page_says_so_until_the_job_has_ended(node: FakeNode, path: str) -> None:
    job, browser = node.add(parameters=OPEN), Browser(node)
    assert "Leaves may describe one person" in browser.get(path.format(job.id)).text
    node.finish(job.id)
    assert "Leaves may describe one person" not in browser.get(path.format(job.id)).text


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, []),
        ({"exact": True}, ["It opens joint numbers exactly, without noise."]),
        ({"price": price(0.5)}, []),
        ({"price": price(1.0)}, []),
        ({"price": price(1.5)}, ["It spends epsilon 1.5; the most so far was 1."]),
        ({"reveals": [REVEALS[1].replace("20", "5,000")]}, []),
        ({"reveals": [*REVEALS, "Both learn 4 names."]}, ["It reveals: Both learn 4 names."]),
        ({"parameters": OPEN}, [ONE_PERSON]),
        ({"columns": [*COLUMNS, "income", "zip"]}, ["It reads 'income', 'zip'."]),
        ({"columns": COLUMNS[:2]}, []),
        ({"table": "visits"}, []),  # nothing was done there
        ({"table": ""}, []),
    ],
)
def test_more_than_usual(node: FakeNode, fields: dict[str, Any], said: list[str]) -> None:
    for epsilon in (0.25, 1.0):
        node.finish(node.add(price=price(epsilon)).id)
    node.refuse(node.add(exact=True).id, "no")  # what was not done tells nothing
    job = node.add(**fields)
    assert unusual(job, done_before(node, job)) == said


def test_what_was_done_once_is_usual(node: FakeNode) -> None:
    fields: dict[str, Any] = {"exact": True, "parameters": OPEN, "reveals": ["A."], "columns": ["x"]}
    node.finish(node.add(**fields).id)
    job = node.add(**fields)
    assert unusual(job, done_before(node, job)) == []


@pytest.mark.parametrize("page", ["overview", "job"])
def test_approving_more_than_usual_is_asked_once_more(node: FakeNode, page: str) -> None:
    node.finish(node.add().id)
    job, browser = node.add(exact=True, purpose="sums"), Browser(node)
    answer = browser.send_form(f"/jobs/{job.id}/approve", page=page)
    assert answer.status_code == 200
    assert "It opens joint numbers exactly" in answer.text
    assert answer.text.count("Approve all the same") == 1
    assert node.job(job.id).state == "waiting"
    assert browser.send_form(f"/jobs/{job.id}/approve", page=page, sure="0" * 64).status_code == 200
    assert node.job(job.id).state == "waiting", "it was sure of another job"
    assert browser.send_form(f"/jobs/{job.id}/approve", page=page, sure=job.digest).status_code == 303
    assert node.job(job.id).state == "queued"


def test_a_usual_job_is_approved_at_once(node: FakeNode) -> None:
    node.finish(node.add().id)
    job = node.add()
    assert Browser(node).send_form(f"/jobs/{job.id}/approve", page="overview").status_code == 303
    assert isinstance(node.job(job.id), JobView)
    assert node.job(job.id).state == "queued"
