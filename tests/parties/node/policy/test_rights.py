"""Rules that ask for the rights of the people in a table."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from parties.base.settings import explained
from parties.node.policy.decisions import decide
from parties.node.policy.rules import Rule
from parties.sources.rights import RightsSettings
from tests.support.policies import request, rule

RIGHTS: dict[str, Any] = {
    "contact": "privacy@clinic-a.example",
    "legal_basis": "public task",
    "purposes": ["research", "quality"],
    "special": "art. 9(2)(j)",
    "retention_days": 3650,
    "access": "on request",
    "erasure": "rows removed",
    "objection": "rows left out",
}


@pytest.mark.parametrize(
    ("condition", "changes", "holds"),
    [
        ({"legal_basis": "public task"}, {}, True),
        ({"legal_basis": ["consent", "contract"]}, {}, False),
        ({"legal_basis": ["consent", "contract"]}, {"legal_basis": "consent"}, True),
        ({"access": "on request"}, {}, True),
        ({"access": "on request"}, {"access": "not identifiable"}, False),
        ({"erasure": ["rows removed", "key destroyed"]}, {"erasure": "excluded by law"}, False),
        ({"objection": "rows left out"}, {}, True),
        ({"special": True}, {}, True),
        ({"special": False}, {}, False),
        ({"special": False}, {"special": None}, True),
        ({"declared": True}, {}, True),
        ({"declared": True}, {"purposes": ["billing"]}, False),
        ({"declared": False}, {"purposes": ["billing"]}, True),
        ({"retention_days": {"at_most": 3650}}, {}, True),
        ({"retention_days": {"below": 3650}}, {}, False),
    ],
)
def test_a_condition_on_rights(condition: dict[str, Any], changes: dict[str, Any], holds: bool) -> None:
    asked = request(rights=RightsSettings.model_validate(RIGHTS | changes))
    for effect in ("permit", "deny"):
        assert decide([rule(effect, rights=condition)], asked).effect == (effect if holds else "ask")


@pytest.mark.parametrize(
    ("condition", "missing"),
    [
        ({"legal_basis": "consent"}, "legal_basis"),
        ({"objection": "rows left out"}, "objection"),
        ({"retention_days": {"at_least": 1}}, "retention_days"),
        ({"declared": True}, "purposes"),
    ],
)
def test_what_a_table_does_not_say_never_permits_and_always_denies(condition: dict[str, Any], missing: str) -> None:
    without = {name: value for name, value in RIGHTS.items() if name != missing}
    for rights in (None, RightsSettings.model_validate(without)):
        asked = request(rights=rights)
        assert decide([rule("permit", rights=condition)], asked).effect == "ask"
        assert decide([rule("deny", rights=condition)], asked).reason.endswith(", which is not known")
    assert decide([rule("deny", rights={"declared": False})], request(rights=None, purpose=None)).effect == "deny"


def test_in_words() -> None:
    made = rule("deny", rights={"legal_basis": ["consent", "contract"], "declared": False, "special": True})
    assert made.words() == (
        "deny if the table's legal basis is 'consent' or 'contract'; the table has data of art. 9; "
        "the purpose is not one that the table declares"
    )


@pytest.mark.parametrize(
    ("model", "given", "problem"),
    [
        (RightsSettings, {}, "contact: is missing"),
        (RightsSettings, RIGHTS | {"contact": "a\nb"}, "contact: must be a line of 1 to 300 characters"),
        (RightsSettings, RIGHTS | {"retention_days": 0}, "retention_days: "),
        (RightsSettings, RIGHTS | {"legal_basis": "because"}, "legal_basis: must be 'consent', 'contract',"),
        (RightsSettings, RIGHTS | {"objection": "not applicable"}, "people may object where the legal basis is"),
        (Rule, {"name": "a", "effect": "deny", "rights": {}}, "rights: give legal_basis, access,"),
        (Rule, {"name": "a", "effect": "deny", "rights": {"basis": "x"}}, "rights.basis: unknown key"),
        (
            Rule,
            {"name": "a", "effect": "deny", "rights": {"erasure": "no"}},
            "rights.erasure.0: must be",
        ),
        (Rule, {"name": "a", "effect": "deny", "attributes": {"x": 5}}, "attributes.x: must be text in quotes"),
    ],
)
def test_mistakes_are_told(model: Any, given: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(given)
    assert explained(caught.value, model).startswith(problem)
