"""What a decision point is sent, against an example written by hand; and what its answers are worth."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.node.point import xacml
from parties.node.point.xacml import UnreadableError
from parties.sources.rights import RightsSettings
from tests.support.decision_points import response
from tests.support.policies import PRINT, request

XML = "http://www.w3.org/2001/XMLSchema#"
FULL = request(
    max_depth=math.inf,
    attributes={"gdpr compliant": True},
    tls="TLS 1.3",
    key_exchange="X25519MLKEM768",
    joint_number=True,
    analyst=PRINT,
)


def flat(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The attributes by the last word of their category, and identifier: value and type."""
    assert list(document) == ["Request"]
    found: dict[str, dict[str, Any]] = {}
    for category in document["Request"]["Category"]:
        name = category["CategoryId"].rpartition(":")[2]
        found[name] = {one["AttributeId"]: (one["Value"], one["DataType"]) for one in category["Attribute"]}
        assert len(found[name]) == len(category["Attribute"])
    return found


def test_a_request_as_the_profile_has_it() -> None:
    text = f"{XML}string"
    assert flat(xacml.document(FULL)) == {
        "access-subject": {
            "urn:oasis:names:tc:xacml:1.0:subject:subject-id": ("clinic-b", text),
            "smc:peer:fingerprint": (PRINT, text),
            "urn:oasis:names:tc:xacml:2.0:subject:role": (["hospital", "university"], text),
            "smc:peer:attribute:gdpr%20compliant": (True, f"{XML}boolean"),
        },
        "resource": {
            "urn:oasis:names:tc:xacml:1.0:resource:resource-id": ("patients", text),
            "smc:table:column": (["age", "outcome", "sex"], text),
        },
        "action": {
            "urn:oasis:names:tc:xacml:1.0:action:action-id": ("id3", text),
            "urn:oasis:names:tc:xacml:2.0:action:purpose": ("research", text),
            "smc:job:proposed_by": ("peer", text),
            "smc:job:exact": (True, f"{XML}boolean"),
            "smc:job:analyst": (PRINT, text),
            "smc:job:min_rows": (20.0, f"{XML}double"),
            "smc:job:tolerance": (0.001, f"{XML}double"),
            "smc:job:max_rows": (65535.0, f"{XML}double"),
            "smc:job:unlimited": (["max_depth"], text),
        },
        "environment": {
            "urn:oasis:names:tc:xacml:1.0:environment:current-dateTime": (
                "2026-01-30T14:30:00+01:00",
                f"{XML}dateTime",
            ),
            "urn:oasis:names:tc:xacml:1.0:environment:current-date": ("2026-01-30+01:00", f"{XML}date"),
            "urn:oasis:names:tc:xacml:1.0:environment:current-time": ("14:30:00+01:00", f"{XML}time"),
            "smc:link:address": ("192.0.2.7", "urn:oasis:names:tc:xacml:2.0:data-type:ipAddress"),
            "smc:link:tls": ("TLS 1.3", text),
            "smc:link:key_exchange": ("X25519MLKEM768", text),
            "smc:link:post_quantum": (True, f"{XML}boolean"),
            "smc:node:runs_today": (2, f"{XML}integer"),
        },
    }


def test_rights_and_what_is_not_known() -> None:
    rights = RightsSettings.model_validate({"contact": "x", "purposes": ["research"], "retention_days": 30})
    found = flat(xacml.document(request(rights=rights, purpose=None, columns=None, address=None)))
    assert found["resource"]["smc:table:rights:retention_days"] == (30, f"{XML}integer")
    assert found["resource"]["smc:table:rights:special"] == (False, f"{XML}boolean")
    left = {name for attributes in found.values() for name in attributes}
    assert not {name for name in left if "purpose" in name or "column" in name or "address" in name}
    assert "smc:table:rights:declared" not in left


def test_a_word_is_about_all_but_the_moment() -> None:
    later = replace(FULL, at=FULL.at + timedelta(hours=5))
    assert xacml.about(later) == xacml.about(FULL)
    assert xacml.document(later) != xacml.document(FULL)
    others = [replace(FULL, runs_today=3), replace(FULL, peer="x"), replace(FULL, key_exchange="x25519")]
    assert all(xacml.about(other) != xacml.about(FULL) for other in others)


@pytest.mark.parametrize("decision", ["Permit", "Deny", "NotApplicable", "Indeterminate"])
def test_decisions(decision: str) -> None:
    code = xacml._OK if decision == "Permit" else "urn:x"
    status = {"StatusCode": {"Value": code}, "StatusMessage": "because\nof it" + "x" * 300}
    assert xacml.read(response(decision)) == (decision, "")
    assert xacml.read(response(decision, Status=status))[1].startswith("because\\nof itxxx")
    assert len(xacml.read(response(decision, Status=status))[1]) == xacml.MOST_SAID


def test_an_obligation_denies_and_advice_does_not() -> None:
    """XACML 3.0, 7.18: who does not understand an obligation denies; advice may be ignored (7.18, 2.13)."""
    decision, said = xacml.read(response("Permit", Obligations=[{"Id": "urn:x"}]))
    assert decision == "Deny"
    assert "obligations" in said
    assert xacml.read(response("Permit", Obligations={"Id": "urn:x"}))[0] == "Deny"
    assert xacml.read(response("Permit", Obligations=[], AssociatedAdvice=[{"Id": "urn:x"}]))[0] == "Permit"


BAD = [
    b"",
    b"Permit",
    b'"Permit"',
    b"\xff\xfe",
    b"[" * 60_000,
    b'{"Response": []}',
    b'{"Response": {"Decision": "Permit"}}',
    b'{"Response": [{"Decision": "Permit"}, {"Decision": "Permit"}]}',
    b'{"Response": [{"Decision": "permit"}]}',
    b'{"Response": [{"Decision": ["Permit"]}]}',
    b'{"Response": [{"Decision": {"Permit": 1}}]}',
    b'{"Response": [{"Decision": "Deny", "Decision": "Permit"}]}',
    b'{"Response": [{}]}',
    response("Permit") + b" " * xacml.MOST_BYTES,
    response("Permit", Status={"StatusCode": {"Value": "urn:oasis:names:tc:xacml:1.0:status:processing-error"}}),
    response("Permit", Status={"StatusCode": "urn:oasis:names:tc:xacml:1.0:status:ok"}),
    response("Permit", Status="ok"),
]


@pytest.mark.parametrize("answer", BAD, ids=range(len(BAD)))
def test_what_is_no_answer(answer: bytes) -> None:
    with pytest.raises(UnreadableError):
        xacml.read(answer)


JSON = st.recursive(
    st.none() | st.booleans() | st.sampled_from(["Permit", "Deny", "x"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["Response", "Decision", "Status", "Obligations"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(JSON)
def test_only_one_plain_permit_permits(content: Any) -> None:
    """Whatever JSON comes: it is no answer, or one of the four; Permit only for the one shape."""
    try:
        decision, _ = xacml.read(json.dumps(content).encode())
    except UnreadableError:
        return
    (result,) = content["Response"]
    assert (decision == "Permit") == (result["Decision"] == "Permit" and result.get("Obligations") in (None, []))
