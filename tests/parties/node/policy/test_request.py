"""The request that rules are asked about: what is known of a job, and what is not."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any

import pytest

from parties.node.policy.decisions import decide
from parties.node.policy.request import request_for
from tests.support.policies import HOME, PRINT, request, rule

JOB: dict[str, Any] = {
    "peer": "clinic-b",
    "fingerprint": PRINT,
    "roles": ["hospital"],
    "proposed_by": "peer",
    "table": "patients",
    "columns": ["age", "outcome"],
    "protocol": "id3",
    "parameters": {"tolerance": 0.001, "min_rows": 20, "max_depth": None, "max_rows": 100, "engine": "mixed"},
    "unlimited": {"max_depth"},
    "purpose": "research",
    "runs_today": 0,
    "at": datetime(2026, 1, 30, tzinfo=UTC),
    "address": "::ffff:192.0.2.7",
}


def test_a_request_from_what_a_node_has() -> None:
    made = request_for(**JOB)
    assert made.numbers == {"max_depth": math.inf, "min_rows": 20, "tolerance": 0.001, "max_rows": 100}
    assert made.address == ip_address("192.0.2.7")
    assert made.columns == frozenset({"age", "outcome"})
    assert decide([rule(**HOME)], made).effect == "permit"


def test_what_the_link_and_our_officer_say_is_known_if_they_say_it() -> None:
    made = request_for(**JOB, attributes={"review": True}, tls="TLSv1.3", key_exchange="X25519")
    assert (made.attributes, made.tls, made.key_exchange) == ({"review": True}, "TLSv1.3", "X25519")
    silent = request_for(**JOB, attributes=None, tls="", key_exchange="")
    assert (silent.attributes, silent.tls, silent.key_exchange) == ({}, None, None)


@pytest.mark.parametrize(
    ("changes", "attribute"),
    [
        ({"parameters": {}}, "max_depth"),
        ({"parameters": {"max_depth": "4"}}, "max_depth"),
        ({"parameters": {"max_depth": True}}, "max_depth"),
        ({"parameters": {"max_depth": math.nan}}, "max_depth"),
        ({"parameters": {"min_rows": None}}, "min_rows"),
        ({"parameters": {"tolerance": math.inf}}, "tolerance"),
        ({"columns": []}, "columns"),
        ({"columns": None}, "columns"),
        ({"purpose": ""}, "purpose"),
        ({"address": None}, "address"),
        ({"address": "b.example.org"}, "address"),
        ({"address": ""}, "address"),
    ],
)
def test_what_is_no_answer_is_not_known(changes: dict[str, Any], attribute: str) -> None:
    made = request_for(**(JOB | changes))
    assert attribute not in made.numbers
    assert getattr(made, attribute, None) is None


def test_numbers_of_any_size_compare() -> None:
    huge = request_for(**(JOB | {"parameters": {"max_rows": 10**400}}))
    assert decide([rule(max_rows={"at_most": 65535})], huge).effect == "ask"
    assert decide([rule("deny", max_rows={"above": 65535})], huge).effect == "deny"


def test_a_moment_without_a_time_zone_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="time zone"):
        request(at=datetime(2026, 1, 30))
