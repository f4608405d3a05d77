"""Several owners of one table, and the request of Carol, who does research on the effect of a drug."""

from __future__ import annotations

import tomllib
from itertools import permutations
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.node.policy.decisions import decide
from parties.node.policy.request import Request
from parties.node.policy.rules import Rule
from tests.support.policies import request, rule

INSTITUTE_AND_PATIENTS = """
[[policy]]
name = "research of those who comply"
owner = "institute"
effect = "permit"
role = "researcher"
attributes.gdpr_compliant = true
table = "health data"
columns.within = ["drug usage", "symptoms", "disease", "duration", "date"]
purpose = "DrugEffect"

[[policy]]
name = "what we were told"
owner = "patients"
effect = "permit"
table = "health data"
purpose = "DrugEffect"
attributes.gdpr_compliant = true
"""
CAROL: dict[str, Any] = {
    "peer": "Carol",
    "roles": frozenset({"researcher"}),
    "attributes": {"gdpr_compliant": True},
    "table": "health data",
    "columns": frozenset({"drug usage", "symptoms", "disease", "duration"}),
    "purpose": "DrugEffect",
}


def read(text: str) -> list[Rule]:
    return [Rule.model_validate(one) for one in tomllib.loads(text)["policy"]]


def carol(**changes: Any) -> Request:
    return request(**CAROL | changes)


def test_carol_may_if_she_complies() -> None:
    """The lesson's request REQ1: the only rule to be met is that of compliance."""
    rules = read(INSTITUTE_AND_PATIENTS)
    assert decide(rules, carol()).effect == "permit"
    for attributes in ({}, {"gdpr_compliant": False}, {"gdpr_compliant": "yes"}):
        assert decide(rules, carol(attributes=attributes)).effect == "ask"
    for changes in ({"purpose": "Marketing"}, {"roles": frozenset({"nurse"})}, {"table": "salaries"}):
        assert "research of those who comply" not in decide(rules, carol(**changes)).rules


def test_without_the_attribute_a_rule_that_denies_applies() -> None:
    rules = [*read(INSTITUTE_AND_PATIENTS), rule("deny", "no others", attributes={"gdpr_compliant": False})]
    assert decide(rules, carol()).effect == "permit"
    assert decide(rules, carol(attributes={"gdpr_compliant": False})).effect == "deny"
    found = decide(rules, carol(attributes={}))
    assert (found.effect, found.rules) == ("deny", ("no others",))
    assert found.reason == "denied by rule 'no others': if its gdpr_compliant is false, which is not known"


PERMIT = rule("permit", "institute permits", owner="institute")
DENY = rule("deny", "patients deny", owner="patients")
HOUSE = rule("deny", "house denies")


@pytest.mark.parametrize(
    ("rules", "deny_overrides", "permit_overrides"),
    [
        ([PERMIT, DENY], "deny", "permit"),
        ([PERMIT], "permit", "permit"),
        ([DENY], "deny", "deny"),
        ([], "ask", "ask"),
        ([PERMIT, DENY, HOUSE], "deny", "deny"),  # what the party itself denies is not the owners' to lift
        ([PERMIT, rule("deny", "institute denies", owner="institute")], "deny", "deny"),  # one owner: deny overrides
        ([rule("permit", "house permits"), DENY], "deny", "permit"),
    ],
)
def test_owners_who_differ(rules: list[Rule], deny_overrides: str, permit_overrides: str) -> None:
    for order in permutations(rules):
        assert decide(order, request()).effect == deny_overrides
        assert decide(order, request(), "deny-overrides").effect == deny_overrides
        assert decide(order, request(), "permit-overrides").effect == permit_overrides


def test_what_was_overridden_is_said() -> None:
    found = decide([PERMIT, DENY], request(), "permit-overrides")
    assert found.rules == ("institute permits",)
    assert found.reason == (
        "permitted by rule 'institute permits': always, which overrides rule 'patients deny' of 'patients' "
        "(permit-overrides)"
    )
    assert PERMIT.words() == "permit for the owner 'institute' always"


def test_an_exact_number_needs_a_rule_that_says_so_of_an_owner_who_permits() -> None:
    exact = request(joint_number=True)
    consent = rule("permit", "consent", owner="institute", exact=True)
    assert decide([PERMIT, DENY], exact, "permit-overrides").effect == "deny"
    assert decide([consent, DENY], exact, "permit-overrides").effect == "permit"
    withdrawn = rule("deny", "withdrawn", owner="institute", purpose="research")
    assert decide([consent, withdrawn, rule()], exact, "permit-overrides").effect == "deny"


OWNERS = st.sampled_from([None, "a", "b"])
RULES = st.lists(st.tuples(st.sampled_from(["permit", "deny"]), OWNERS, st.booleans()), max_size=6)


@given(RULES, st.sampled_from(["deny-overrides", "permit-overrides"]), st.booleans())
def test_combining_is_that_of_the_owners_own_decisions(
    drawn: list[tuple[str, str | None, bool]], combine: Literal["deny-overrides", "permit-overrides"], known: bool
) -> None:
    """A twin by the definition: each owner's decision by itself, then the worst or the best of them."""
    rules = [
        rule(effect, f"{number}", **({} if owner is None else {"owner": owner}), **({"purpose": "x"} if x else {}))
        for number, (effect, owner, x) in enumerate(drawn)
    ]
    asked = request(purpose="x" if known else None)
    said = {owner: decide([one for one in rules if one.owner == owner], asked).effect for owner in (None, "a", "b")}
    effects = set(said.values())
    if combine == "permit-overrides" and said[None] != "deny" and "permit" in effects:
        expected = "permit"
    else:
        expected = "deny" if "deny" in effects else "permit" if "permit" in effects else "ask"
    assert decide(rules, asked, combine).effect == expected
    # to know less never permits more
    order = ["permit", "ask", "deny"]
    assert order.index(decide(rules, request(purpose=None), combine).effect) >= order.index(
        decide(rules, request(purpose="x"), combine).effect
    )
