"""Policy requests in XACML 3.0's JSON profile, and the evaluation of a decision point's answer.

Source: OASIS, JSON Profile of XACML 3.0 Version 1.1 (2019); XACML 3.0, 7.18 (an unknown obligation means denial) and
appendix B (identifiers); Privacy Policy Profile 3.0 (`purpose`). The request has the attributes that a rule can refer
to and nothing else: no row, no typed value. Names outside these standards begin with `smc:`. Unknown attributes are
left out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import quote

from parties.base.canonical import canonical
from parties.base.text import printable
from parties.node.policy.request import Request

MOST_BYTES = 64 << 10  # of an answer
MOST_SAID = 200  # characters of the decision point's text

SUBJECT = "urn:oasis:names:tc:xacml:1.0:subject-category:access-subject"
RESOURCE, ACTION, ENVIRONMENT = (
    f"urn:oasis:names:tc:xacml:3.0:attribute-category:{name}" for name in ("resource", "action", "environment")
)
NOW = "urn:oasis:names:tc:xacml:1.0:environment:current-"

_SCHEMA = "http://www.w3.org/2001/XMLSchema#"
_OK = "urn:oasis:names:tc:xacml:1.0:status:ok"
_IP = "urn:oasis:names:tc:xacml:2.0:data-type:ipAddress"
_DECISIONS = ("Permit", "Deny", "NotApplicable", "Indeterminate")

Decision: TypeAlias = Literal["Permit", "Deny", "NotApplicable", "Indeterminate"]


class DecisionPointAnswer(NamedTuple):
    """The answer of the decision point, with its reason as text, which may be empty.

    Without an answer `decision` is None, and `reason` is the reason why there is none.

    `about` is the request without its time: the answer does not count for any other request.
    """

    about: str
    decision: Decision | None
    reason: str

    @property
    def permits(self) -> bool:
        """True if the job may go on."""
        return self.decision == "Permit"


class UnreadableError(ValueError):
    """An invalid answer, with a short reason."""


def said(word: DecisionPointAnswer) -> str:
    """Return the decision point's answer as a line for our own operator."""
    if word.decision is None:
        return f"the decision point gives no answer: {word.reason}"
    words = "permits it" if word.permits else f"says {word.decision}"
    return f"the decision point {words}{word.reason and f': {word.reason}'}"


def document(request: Request) -> dict[str, Any]:
    """Return the request in the form in which it is sent."""
    at = request.at
    zone = at.isoformat(timespec="seconds")[19:]
    moment = [
        _attribute(f"{NOW}dateTime", at.isoformat(timespec="seconds"), f"{_SCHEMA}dateTime"),
        _attribute(f"{NOW}date", f"{at:%Y-%m-%d}{zone}", f"{_SCHEMA}date"),
        _attribute(f"{NOW}time", f"{at:%H:%M:%S}{zone}", f"{_SCHEMA}time"),
    ]
    return _document(request, moment)


def about(request: Request) -> str:
    """Return the request without its time, as text: equal for two requests that differ in the time alone."""
    return canonical(_document(request, []))


def _document(request: Request, moment: list[dict[str, Any]]) -> dict[str, Any]:
    categories = {
        SUBJECT: list(_subject(request)),
        RESOURCE: list(_resource(request)),
        ACTION: list(_action(request)),
        ENVIRONMENT: [*moment, *_environment(request)],
    }
    listed = [{"CategoryId": name, "Attribute": attributes} for name, attributes in categories.items()]
    return {"Request": {"ReturnPolicyIdList": False, "CombinedDecision": False, "Category": listed}}


def _subject(request: Request) -> Iterator[dict[str, Any]]:
    yield from _known("urn:oasis:names:tc:xacml:1.0:subject:subject-id", request.peer)
    yield from _known("smc:peer:fingerprint", request.fingerprint)
    yield from _bag("urn:oasis:names:tc:xacml:2.0:subject:role", request.roles)
    for name, value in sorted(request.attributes.items()):
        yield from _known(f"smc:peer:attribute:{quote(name, safe='')}", value)


def _resource(request: Request) -> Iterator[dict[str, Any]]:
    yield from _known("urn:oasis:names:tc:xacml:1.0:resource:resource-id", request.table or None)
    yield from _bag("smc:table:column", request.columns or ())
    if (rights := request.rights) is not None:
        for name in ("legal_basis", "access", "erasure", "objection", "retention_days"):
            yield from _known(f"smc:table:rights:{name}", getattr(rights, name))
    yield from _known("smc:table:rights:special", request.special)
    yield from _known("smc:table:rights:declared", request.declared)


def _action(request: Request) -> Iterator[dict[str, Any]]:
    yield from _known("urn:oasis:names:tc:xacml:1.0:action:action-id", request.protocol)
    yield from _known("urn:oasis:names:tc:xacml:2.0:action:purpose", request.purpose)
    yield from _known("smc:job:proposed_by", request.proposed_by)
    yield from _known("smc:job:exact", request.exact)
    yield from _known("smc:job:analyst", request.analyst or None)
    yield from _known("smc:job:holders", request.holders or None)
    yield from _bag("smc:job:compute", request.compute or ())
    yield from _bag("smc:job:template", request.templates)
    yield from _known("smc:job:permit", request.permit)
    for name, number in sorted(request.numbers.items()):
        if math.isfinite(number):
            yield from _known(f"smc:job:{name}", float(number))
    yield from _bag("smc:job:unlimited", (name for name, number in request.numbers.items() if math.isinf(number)))


def _environment(request: Request) -> Iterator[dict[str, Any]]:
    if request.address is not None:
        yield _attribute("smc:link:address", str(request.address), _IP)
    yield from _known("smc:link:tls", request.tls)
    yield from _known("smc:link:key_exchange", request.key_exchange)
    yield from _known("smc:link:post_quantum", request.post_quantum)
    yield from _known("smc:node:runs_today", request.runs_today)


def _known(name: str, value: bool | float | str | None) -> Iterator[dict[str, Any]]:
    if value is not None:
        kinds = {bool: "boolean", int: "integer", float: "double", str: "string"}
        yield _attribute(name, value, _SCHEMA + kinds[type(value)])


def _bag(name: str, values: Iterable[str]) -> Iterator[dict[str, Any]]:
    if listed := sorted(values):
        yield _attribute(name, listed, f"{_SCHEMA}string")


def _attribute(name: str, value: Any, kind: str) -> dict[str, Any]:
    return {"AttributeId": name, "Value": value, "DataType": kind}


def read(answer: bytes) -> tuple[Decision, str]:
    """Return the decision in an answer and the decision point's text, of at most `MOST_SAID` characters.

    A Permit with an obligation counts as Deny, since this node can fulfil none. Raise UnreadableError if the answer is
    invalid, or is a Permit with an error status.
    """
    if len(answer) > MOST_BYTES:
        raise UnreadableError(f"the answer has more than {MOST_BYTES >> 10} KiB")
    try:
        content = json.loads(answer, object_pairs_hook=_once)
    except (ValueError, RecursionError):
        raise UnreadableError("the answer is not JSON") from None
    results = content.get("Response") if isinstance(content, dict) else None
    if not isinstance(results, list) or len(results) != 1 or not isinstance(results[0], dict):
        raise UnreadableError("the answer is not a Response with one Result")
    result = results[0]
    if (decision := result.get("Decision")) not in _DECISIONS:
        raise UnreadableError("the answer has no Decision")
    status = result.get("Status")
    words, code = (status.get(name) if isinstance(status, dict) else None for name in ("StatusMessage", "StatusCode"))
    message = printable(words)[:MOST_SAID] if isinstance(words, str) else ""
    is_ok = code is None or (isinstance(code, dict) and code.get("Value", _OK) == _OK)  # a missing status is ok
    if decision == "Permit" and not (is_ok and isinstance(status, dict | None)):
        raise UnreadableError("it permits, with a status that is not ok")
    if decision == "Permit" and result.get("Obligations") not in (None, []):
        return "Deny", f"it permits with obligations, which this node cannot fulfil{message and f': {message}'}"
    return decision, message


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object; raise ValueError for a repeated name, which would be ambiguous."""
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a name occurs twice")
    return dict(pairs)
