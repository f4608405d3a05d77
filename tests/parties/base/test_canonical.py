"""The one way to write a job as text."""

from __future__ import annotations

import hashlib
import json

import pytest
from hypothesis import given

from parties.base.canonical import canonical, job_digest
from smc.errors import InputError
from tests.support.json_objects import jobs


def test_canonical_form_is_pinned():
    job = {"b": [1, 1.0, True, None], "a": {"z": "é", "y": 1e-3}}
    text = '{"a":{"y":0.001,"z":"\\u00e9"},"b":[1,1.0,true,null]}'
    assert canonical(job) == text
    assert job_digest(job) == hashlib.sha256(text.encode()).hexdigest()


@given(jobs)
def test_canonical_survives_a_trip_through_json(job):
    text = canonical(job)
    assert text.isascii()
    assert canonical(json.loads(text)) == text
    assert json.loads(text) == job


@given(jobs)
def test_order_of_keys_does_not_matter(job):
    assert canonical(dict(reversed(job.items()))) == canonical(job)
    assert job_digest(dict(reversed(job.items()))) == job_digest(job)


@pytest.mark.parametrize(
    "job", [{"x": float("nan")}, {"x": float("inf")}, {"x": b"bytes"}, {"x": {1, 2}}, {1: 0, "a": 0}]
)
def test_what_json_cannot_hold_is_an_input_error(job):
    with pytest.raises(InputError, match="cannot be written as JSON"):
        canonical(job)


def test_job_that_contains_itself_is_an_input_error():
    job = {}
    job["job"] = job
    with pytest.raises(InputError, match="cannot be written as JSON"):
        canonical(job)
