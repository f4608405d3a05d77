"""Who may make which call: one table, checked at one place, by whatever way a call comes."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from parties.operator.interface import Operator
from parties.operator.people import ALSO, CALLS, ROLES, UNNAMED, NotAllowedError, Person, acting, as_person
from parties.web import api
from tests.support.fake_node import ORIGIN, FakeNode
from tests.support.places import ROOT

METHODS = {name for name in vars(Operator) if not name.startswith("_")}
ALLOWED = {  # once more, by hand
    "see": {"node", "changes", "jobs", "job", "result", "budget", "simulate"},
    "propose": {"submit", "repeat", "cancel"},
    "approve": {"approve", "refuse", "cancel"},
    "administer": {"withdraw", "revoke"},
    "audit": {"audit", "verify", "register"},
}
REQUESTS = {
    "node": ("GET", "node"), "changes": ("GET", "changes"), "jobs": ("GET", "jobs"), "job": ("GET", "jobs/{}"),
    "submit": ("POST", "jobs"), "approve": ("POST", "jobs/{}/approve"), "refuse": ("POST", "jobs/{}/refuse"),
    "cancel": ("POST", "jobs/{}/cancel"), "withdraw": ("POST", "jobs/{}/withdraw"),
    "repeat": ("POST", "jobs/{}/repeat"), "result": ("GET", "jobs/{}/result"), "audit": ("GET", "audit"),
    "verify": ("GET", "audit/state"), "budget": ("GET", "budget"), "simulate": ("POST", "budget/simulate"),
    "register": ("GET", "budget/register"), "revoke": ("POST", "peers/revoke"),
}  # fmt: skip


class Recorder:
    """Any call of `Operator`: which was made, and under whose name."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: self.calls.append((name, acting.get()))


def test_every_call_names_its_roles() -> None:
    assert set(CALLS) == METHODS == set(REQUESTS)
    assert {role for roles in CALLS.values() for role in roles} == set(ROLES)


@pytest.mark.parametrize(("role", "method"), list(product(ROLES, sorted(METHODS))))
def test_a_role_allows_its_calls_and_no_others(role: Any, method: str) -> None:
    recorder: Any = Recorder()
    operator = as_person(recorder, Person("anna", frozenset([role])))
    if method in ALLOWED[role] | ALLOWED["see"]:
        getattr(operator, method)()
        assert recorder.calls == [(method, "anna")]
    else:
        with pytest.raises(NotAllowedError, match="anna may not do this: it needs the role"):
            getattr(operator, method)()
        assert recorder.calls == []
    assert acting.get() == ""


def test_who_has_no_name_may_do_all_and_leaves_none() -> None:
    recorder: Any = Recorder()
    for method in METHODS:
        getattr(as_person(recorder, UNNAMED), method)()
    assert sorted(recorder.calls) == [(method, "") for method in sorted(METHODS)]


def test_nothing_else_is_reached() -> None:
    operator: Any = as_person(FakeNode(), Person("anna", frozenset(ROLES)))
    with pytest.raises(AttributeError):
        operator.clear()


@pytest.mark.parametrize("role", ROLES)
def test_the_api_refuses_what_a_role_does_not_allow(role: Any) -> None:
    node = FakeNode()
    person = Person("anna", frozenset([role]))
    app = Starlette(routes=api.routes(node, "key", lambda: "", lambda: person))
    client = TestClient(app, base_url=ORIGIN, headers={"Authorization": "Bearer key"})
    for method, (verb, path) in REQUESTS.items():
        job = node.add(state="done" if method in ("result", "withdraw") else "waiting").id
        before, proposed = dict(node.known), len(node.submitted)
        body = None if verb == "GET" else {"why": "no"} if method in ("refuse", "cancel", "withdraw") else {}
        body = {"peer": "university"} if method == "revoke" else body
        answer = client.request(verb, f"/api/{path.format(job)}", json=body)
        if method in ALLOWED[role] | ALLOWED["see"]:
            assert answer.status_code != 403, method
        else:
            assert (answer.status_code, "anna may not do this" in answer.json()["error"]) == (403, True), method
            assert node.known == before
            assert len(node.submitted) == proposed


def test_the_table_in_the_documents_is_the_codes() -> None:
    text = (ROOT / "docs" / "policy.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|$", text.partition("\n## People with names\n")[2], re.M))
    for role in ROLES:
        calls = [f"`{name}`" for name, roles in CALLS.items() if role in roles]
        assert rows[role] == ", ".join([*calls, *([ALSO[role]] if role in ALSO else [])])
