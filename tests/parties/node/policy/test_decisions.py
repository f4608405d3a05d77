"""What rules decide about jobs. `BASE` is a request; each line of the tables changes a part of it."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import ip_address
from itertools import permutations
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.node.policy.decisions import Decision, decide
from parties.node.policy.request import Request
from parties.node.policy.rules import Rule, conditions
from tests.support.policies import CET, HOME, NUMBERS, PRINT, request, rule

OTHER = PRINT.replace("AB", "AC", 1)


def at(text: str) -> dict[str, Any]:
    return {"at": datetime.fromisoformat(text).replace(tzinfo=CET)}


def address(text: str) -> dict[str, Any]:
    return {"address": ip_address(text)}


DEPTH_4, ROWS_20 = {"max_depth": {"at_most": 4}}, {"min_rows": {"at_least": 20}}
DAY, NIGHT = {"time": "08:00-18:00"}, {"time": "22:00-06:00"}
WORKDAYS = {"weekdays": ["mon", "tue", "wed", "thu", "fri"]}
ROME = {"time": "08:00-18:00", "zone": "Europe/Rome"}

CONDITIONS: list[tuple[dict[str, Any], dict[str, Any], bool]] = [
    # conditions of the rule               the request differs in            holds
    ({}, {}, True),
    # subject
    ({"peer": "clinic-b"}, {}, True),
    ({"peer": "clinic-b"}, {"peer": "clinic-c"}, False),
    ({"peer": ["x", "clinic-b"]}, {}, True),
    ({"peer": PRINT}, {}, True),
    ({"peer": PRINT.lower().replace(":", "")}, {}, True),
    ({"peer": PRINT}, {"fingerprint": PRINT.replace("AB", "AC", 1)}, False),
    ({"peer": PRINT[:23]}, {}, False),  # a part of a fingerprint is none
    ({"role": "hospital"}, {}, True),
    ({"role": ["bank", "university"]}, {}, True),
    ({"role": "bank"}, {}, False),
    ({"role": "hospital"}, {"roles": frozenset()}, False),
    ({"role": "Hospital"}, {}, False),
    ({"proposed_by": "peer"}, {}, True),
    ({"proposed_by": "us"}, {}, False),
    # resource
    ({"table": "patients"}, {}, True),
    ({"table": ["visits", "stays"]}, {}, False),
    ({"columns": {"within": ["age", "sex", "outcome", "zip"]}}, {}, True),
    ({"columns": {"within": ["age", "outcome"]}}, {}, False),
    ({"columns": {"any_of": ["zip", "sex"]}}, {}, True),
    ({"columns": {"any_of": "zip"}}, {}, False),
    ({"columns": {"any_of": "sex", "within": "age"}}, {}, False),
    # action
    ({"protocol": "id3"}, {}, True),
    ({"protocol": ["circuit", "millionaires"]}, {}, False),
    ({"engine": "yao"}, {"engine": "yao"}, True),
    ({"engine": "yao"}, {"engine": "auto"}, False),
    ({"engine": ["yao", "gmw"]}, {"engine": "lean"}, False),
    (DEPTH_4, {}, True),
    (DEPTH_4, {"max_depth": 5}, False),
    (DEPTH_4, {"max_depth": math.inf}, False),  # no limit is above every limit
    ({"max_depth": {"above": 4}}, {"max_depth": math.inf}, True),
    ({"max_depth": {"above": 4}}, {}, False),
    ({"max_depth": {"below": 4}}, {}, False),
    ({"max_depth": {"at_least": 1, "below": 5}}, {}, True),
    ({"max_depth": {"at_least": 1, "below": 5}}, {"max_depth": 0}, False),
    (ROWS_20, {}, True),
    (ROWS_20, {"min_rows": 19}, False),
    ({"tolerance": {"at_most": 0.001}}, {}, True),
    ({"tolerance": {"below": 0.001}}, {}, False),
    ({"max_rows": {"below": 65536}}, {}, True),
    ({"max_rows": {"below": 65536}}, {"max_rows": 2**31}, False),
    ({"runs_today": {"below": 3}}, {}, True),
    ({"runs_today": {"below": 3}}, {"runs_today": 3}, False),
    ({"runs_today": {"below": 1}}, {"runs_today": 0}, True),
    # environment
    ({"purpose": ["audit", "research"]}, {}, True),
    ({"purpose": "audit"}, {}, False),
    (DAY, {}, True),
    (DAY, at("2026-01-30T08:00"), True),
    (DAY, at("2026-01-30T07:59:59"), False),
    (DAY, at("2026-01-30T17:59:59.9"), True),
    (DAY, at("2026-01-30T18:00"), False),
    (NIGHT, at("2026-01-30T22:00"), True),
    (NIGHT, at("2026-01-30T23:59:59"), True),
    (NIGHT, at("2026-01-30T00:00"), True),
    (NIGHT, at("2026-01-30T05:59"), True),
    (NIGHT, at("2026-01-30T06:00"), False),
    (NIGHT, at("2026-01-30T12:00"), False),
    ({"time": "20:00-24:00"}, at("2026-01-30T23:59:59"), True),
    ({"time": "20:00-24:00"}, at("2026-01-30T00:00"), False),
    ({"time": "20:00-00:00"}, at("2026-01-30T23:59:59"), True),
    ({"time": "20:00-00:00"}, at("2026-01-30T00:00"), False),
    ({"time": "00:00-24:00"}, {}, True),
    (WORKDAYS, {}, True),
    (WORKDAYS, at("2026-01-31T14:30"), False),
    ({**NIGHT, "weekdays": "fri"}, at("2026-01-31T02:00"), False),  # it is Saturday by then
    (ROME, {"at": datetime(2026, 1, 30, 7, 30, tzinfo=UTC)}, True),  # 08:30 in winter
    (ROME, {"at": datetime(2026, 1, 30, 6, 30, tzinfo=UTC)}, False),
    (ROME, {"at": datetime(2026, 7, 30, 6, 30, tzinfo=UTC)}, True),  # 08:30 in summer
    ({"weekdays": "sat", "zone": "Pacific/Auckland"}, {}, True),  # it is tomorrow there
    ({"weekdays": "fri", "zone": "Pacific/Auckland"}, {}, False),
    (HOME, {}, True),
    (HOME, address("192.0.3.7"), False),
    (HOME, address("2001:db8:5::1"), True),
    (HOME, address("2001:db9::1"), False),
    ({"network": "0.0.0.0/0"}, address("::1"), False),
    ({"tls": "TLS 1.3"}, {"tls": "TLS 1.3"}, True),
    ({"key_exchange": ["X25519MLKEM768", "x25519"]}, {"key_exchange": "x25519"}, True),
    ({"key_exchange": "X25519MLKEM768"}, {"key_exchange": "x25519"}, False),
    ({"post_quantum": True}, {}, True),
    ({"post_quantum": True}, {"post_quantum": False}, False),
    ({"post_quantum": False}, {"post_quantum": False}, True),
    ({"post_quantum": False}, {}, False),
    ({"holders": {"at_least": 3}}, {"holders": 3}, True),
    ({"holders": {"at_least": 3}}, {"holders": 2}, False),
    ({"holders": {"at_least": 3}}, {}, False),  # a job of two parties
    ({"compute": [PRINT, OTHER]}, {"compute": frozenset({PRINT, OTHER})}, True),
    ({"compute": [PRINT]}, {"compute": frozenset({PRINT, OTHER})}, False),
    # all together
    ({"role": "hospital", "table": "patients", "purpose": "research", **DEPTH_4, **ROWS_20, **DAY, **HOME}, {}, True),
    ({"role": "hospital", "table": "patients", "purpose": "audit", **DEPTH_4, **ROWS_20, **DAY, **HOME}, {}, False),
]


@pytest.mark.parametrize(("given_", "changes", "holds"), CONDITIONS)
def test_a_rule_applies_if_its_conditions_hold(given_: dict[str, Any], changes: dict[str, Any], holds: bool) -> None:
    asked = request(**changes)
    assert decide([rule("permit", **given_)], asked).effect == ("permit" if holds else "ask")
    assert decide([rule("deny", **given_)], asked).effect == ("deny" if holds else "ask")


UNKNOWN: list[tuple[dict[str, Any], str]] = [
    (HOME, "address"),
    ({"purpose": "research"}, "purpose"),
    ({"columns": {"within": ["age", "sex", "outcome"]}}, "columns"),
    ({"columns": {"any_of": "age"}}, "columns"),
    (DEPTH_4, "max_depth"),
    ({"max_depth": {"at_least": 0}}, "max_depth"),
    (ROWS_20, "min_rows"),
    ({"tolerance": {"at_most": 1}}, "tolerance"),
    ({"max_rows": {"at_least": 1}}, "max_rows"),
    ({"runs_today": {"below": 99}}, "runs_today"),
    ({"peer": "clinic-b"}, "peer"),
    ({"peer": PRINT}, "fingerprint"),
]


@pytest.mark.parametrize(("given_", "attribute"), UNKNOWN)
def test_what_is_not_known_never_permits_and_always_denies(given_: dict[str, Any], attribute: str) -> None:
    asked = request(**{attribute: None})
    assert decide([rule("permit", **given_)], asked).effect == "ask"
    denied = decide([rule("deny", **given_)], asked)
    assert denied.effect == "deny"
    assert denied.reason.endswith(", which is not known")
    # unless another condition tells that the rule is about something else
    assert decide([rule("deny", **given_, table="visits")], asked).effect == "ask"


RESEARCH = rule("permit", "research", purpose="research")
COARSE = rule("permit", "coarse", max_depth={"at_most": 4})
NO_AGE = rule("deny", "no age", columns={"any_of": "age"})
NOT_AT_NIGHT = rule("deny", "not at night", time="22:00-06:00")
AT_NIGHT = at("2026-01-30T23:00")

CONFLICTS: list[tuple[list[Rule], dict[str, Any], Decision]] = [
    ([], {}, Decision("ask", (), "no rule applies: the operator decides")),
    ([RESEARCH], {"purpose": "audit"}, Decision("ask", (), "no rule applies: the operator decides")),
    ([RESEARCH], {}, Decision("permit", ("research",), "permitted by rule 'research': if purpose is 'research'")),
    (
        [RESEARCH, COARSE],
        {},
        Decision(
            "permit",
            ("coarse", "research"),
            "permitted by rule 'coarse': if max_depth at most 4, and by rule 'research': if purpose is 'research'",
        ),
    ),
    (
        [RESEARCH, COARSE],
        {"max_depth": 9},
        Decision("permit", ("research",), "permitted by rule 'research': if purpose is 'research'"),
    ),
    ([RESEARCH, NO_AGE], {}, Decision("deny", ("no age",), "denied by rule 'no age': if a column is 'age'")),
    (
        [NOT_AT_NIGHT, RESEARCH],
        {},
        Decision("permit", ("research",), "permitted by rule 'research': if purpose is 'research'"),
    ),
    (
        [NOT_AT_NIGHT, RESEARCH, NO_AGE],
        AT_NIGHT,
        Decision(
            "deny",
            ("no age", "not at night"),
            "denied by rule 'no age': if a column is 'age', and by rule 'not at night': if the time is 22:00-06:00",
        ),
    ),
    ([rule("deny", "never")], {}, Decision("deny", ("never",), "denied by rule 'never': always")),
    (
        [rule("permit", "ever"), rule("deny", "never")],
        {},
        Decision("deny", ("never",), "denied by rule 'never': always"),
    ),
]


@pytest.mark.parametrize(("rules", "changes", "expected"), CONFLICTS)
def test_conflicts(rules: list[Rule], changes: dict[str, Any], expected: Decision) -> None:
    for order in permutations(rules):
        assert decide(order, request(**changes)) == expected


def test_who_has_decided_is_named_for_the_records() -> None:
    assert decide([RESEARCH], request()).by == "rule research"
    assert decide([RESEARCH, COARSE], request()).by == "rules coarse, research"
    assert decide([], request()).by == ""


def test_rules_in_words() -> None:
    full = rule(
        "deny",
        peer=["clinic-b", PRINT],
        role=["bank", "shop"],
        proposed_by="us",
        table="patients",
        columns={"within": ["age", "sex"], "any_of": "zip"},
        protocol="id3",
        max_depth={"at_least": 2, "below": 7},
        max_rows={"above": 2**31},
        purpose="ads",
        time="22:00-06:00",
        weekdays=["sat", "sun"],
        zone="Europe/Rome",
        network=["192.0.2.0/24", "2001:db8::/32"],
        post_quantum=False,
    )
    assert full.words() == (
        f"deny if the peer is 'clinic-b' or '{PRINT[:59]}…; its role is 'bank' or 'shop'; proposed by us; "
        "table is 'patients'; all columns are among 'age', 'sex'; a column is 'zip'; protocol is 'id3'; "
        "max_rows above 2147483648; max_depth at least 2 and below 7; purpose is 'ads'; "
        "the time is 22:00-06:00 (Europe/Rome); the day is sat or sun (Europe/Rome); "
        "the peer's address is in 192.0.2.0/24 or 2001:db8::/32; the key exchange is not post-quantum"
    ).replace("…;", "…';")
    assert len(list(conditions(full))) == 14
    assert rule("permit").words() == "permit always"


# Properties: what holds for all rules and requests.


def bounds(low: int, high: int) -> st.SearchStrategy[dict[str, int]]:
    return st.dictionaries(st.sampled_from(["at_least", "at_most"]), st.just(low), min_size=1) | st.dictionaries(
        st.sampled_from(["above", "below"]), st.just(high), min_size=1, max_size=1
    )


PIECES: dict[str, Any] = {
    "peer": st.sampled_from(["clinic-b", "x", PRINT]),
    "role": st.sampled_from(["hospital", "bank"]),
    "proposed_by": st.sampled_from(["us", "peer"]),
    "table": st.sampled_from(["patients", "visits"]),
    "columns": st.sampled_from([{"within": ["age", "sex", "outcome"]}, {"within": "age"}, {"any_of": "zip"}]),
    "protocol": st.sampled_from(["id3", "circuit"]),
    "purpose": st.sampled_from(["research", "ads"]),
    "time": st.sampled_from(["08:00-18:00", "22:00-06:00"]),
    "weekdays": st.sampled_from(["fri", "sat"]),
    "network": st.sampled_from(["192.0.2.0/24", "10.0.0.0/8"]),
    "post_quantum": st.booleans(),
    "max_depth": bounds(1, 6),
    "min_rows": bounds(10, 30),
    "runs_today": bounds(1, 4),
}


@st.composite
def rules_of(draw: st.DrawFn, effects: tuple[str, ...] = ("permit", "deny"), least: int = 0) -> list[Rule]:
    made = []
    for number in range(draw(st.integers(least, 5))):
        names = draw(st.lists(st.sampled_from(sorted(PIECES)), max_size=2, unique=True))
        made.append(rule(draw(st.sampled_from(effects)), f"{number}", **{name: draw(PIECES[name]) for name in names}))
    return made


ZONES = st.sampled_from([UTC, CET, ZoneInfo("Europe/Rome")])
REQUESTS = st.builds(
    request,
    peer=st.sampled_from(["clinic-b", "clinic-c", None]),
    roles=st.sampled_from([frozenset(), frozenset({"hospital"})]),
    proposed_by=st.sampled_from(["us", "peer"]),
    table=st.sampled_from(["patients", "visits"]),
    columns=st.sampled_from([None, frozenset({"age"}), frozenset({"age", "zip"})]),
    max_depth=st.sampled_from([None, 0, 4, math.inf]),
    min_rows=st.sampled_from([None, 0, 20]),
    runs_today=st.sampled_from([None, 0, 3]),
    purpose=st.sampled_from([None, "research"]),
    at=st.datetimes(datetime(2026, 1, 1), datetime(2026, 12, 31), timezones=ZONES),
    address=st.sampled_from([None, ip_address("192.0.2.1"), ip_address("::1")]),
    post_quantum=st.sampled_from([None, True, False]),
)


@given(rules_of(), REQUESTS, st.randoms())
def test_the_order_of_rules_does_not_matter(rules: list[Rule], asked: Request, random: Any) -> None:
    shuffled = list(rules)
    random.shuffle(shuffled)
    assert decide(shuffled, asked) == decide(rules, asked)


@given(rules_of(), rules_of(("deny",), least=1), REQUESTS)
def test_to_add_a_rule_that_denies_never_permits(rules: list[Rule], more: list[Rule], asked: Request) -> None:
    before, after = decide(rules, asked).effect, decide([*rules, *more], asked).effect
    assert after in (before, "deny")


@given(rules_of(), rules_of(("permit",), least=1), REQUESTS)
def test_to_add_a_rule_that_permits_never_lifts_a_denial(rules: list[Rule], more: list[Rule], asked: Request) -> None:
    before, after = decide(rules, asked).effect, decide([*rules, *more], asked).effect
    assert after == "deny" if before == "deny" else after in (before, "permit")


@given(REQUESTS)
def test_without_rules_the_operator_decides(asked: Request) -> None:
    assert decide([], asked) == Decision("ask", (), "no rule applies: the operator decides")


@given(
    rules_of(),
    REQUESTS,
    st.sampled_from(["peer", "columns", "max_depth", "min_rows", "runs_today", "purpose", "address"]),
)
def test_to_know_less_never_permits_more(rules: list[Rule], asked: Request, attribute: str) -> None:
    """A party that hides an attribute gains nothing by it."""
    numbers = {name: number for name, number in asked.numbers.items() if name != attribute}
    less = replace(asked, numbers=numbers) if attribute in NUMBERS else replace(asked, **{attribute: None})
    strictness = ["permit", "ask", "deny"]
    assert strictness.index(decide(rules, less).effect) >= strictness.index(decide(rules, asked).effect)


def test_exact_results_only_where_a_rule_says_so() -> None:
    """A rule that permits anything else does not permit that; one that denies it says no by its name."""
    anything, consent = rule(name="anything"), rule(name="consent", exact=True, purpose="research")
    why = {
        "joint_number": "a joint number would be opened without noise, and this tells each party the other's number",
        "past_budget": "the table has a privacy budget, and the job opens exact values, which cost no epsilon",
    }
    for attribute, reason in why.items():
        exact, noisy = request(**{attribute: True}), request()
        for rules in ([], [anything], [rule(exact=False)], [rule(exact=True, purpose="teaching")]):
            found = decide(rules, exact)
            assert (found.effect, found.rules) == ("deny", ())
            assert found.reason == f"denied: {reason}; no rule permits it by exact = true ([[policy]], docs/policy.md)"
            assert found.is_past_consent
        assert decide([consent], exact).effect == "permit"
        others = (decide([consent], exact), decide([], noisy), decide([rule("deny", "no")], exact))
        assert not any(decision.is_past_consent for decision in others)
        assert decide([anything, consent], exact).rules == ("anything", "consent")
        assert decide([consent], noisy).effect == "ask"
        assert decide([anything], noisy).effect == "permit"
        assert decide([consent, rule("deny", "no")], exact).rules == ("no",)
        assert decide([consent, rule("deny", "no exact", exact=True)], exact).rules == ("no exact",)
        assert decide([rule("deny", "no exact", exact=True)], noisy).effect == "ask"
