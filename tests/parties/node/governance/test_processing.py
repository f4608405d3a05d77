"""What is in force here by file and log, and what the law asks for and nobody has said."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from parties.node.governance.activities import ArchivedJob, Job, Log
from parties.node.governance.processing import FORGET, TERMS, _measures, _missing
from parties.operator.interface import AuditEntry

RIGHTS = dict.fromkeys(TERMS, "x") | {"erasure": "key destroyed"}


def evidence(log: Log | None = None, state: Any = None, **file: Any) -> Any:
    """By default a file that says everything, and a log that knows nothing."""
    whole: dict[str, Any] = {
        "controller": SimpleNamespace(officer="dpo"),
        "peers": (),
        "policy": (),
        "node": SimpleNamespace(approvals=1),
        "tables": {"t": SimpleNamespace(rights=SimpleNamespace(**RIGHTS), budget=None)},
    }
    peer = SimpleNamespace(name="bob", certificate=1, settings=SimpleNamespace(contact="b", transfer="none"))
    ok = SimpleNamespace(ok=True, entries=3, problems=[])
    return SimpleNamespace(file=SimpleNamespace(**whole | file), peers=[peer], log=log or Log(), state=state or ok)


def published(what: str, table: str = "t") -> AuditEntry:
    return AuditEntry(number=1, at="", kind="published", job=None, fields={"what": what, "table": table}, hash="")


def table(**rights: Any) -> dict[str, Any]:
    return {"t": SimpleNamespace(rights=SimpleNamespace(**RIGHTS | rights), budget=None)}


def test_what_is_in_force_whatever_the_file_says() -> None:
    said = list(_measures(evidence()))
    for words in (
        "encrypted data and random shares",
        "The link is mutual TLS",
        "consents to each job",
        "this machine only",
    ):
        assert sum(words in line for line in said) == 1, words
    assert "There are no rules: the operator decides on every job." in said
    assert said[-1] == "The log was checked for this record: 3 entries, whole."
    assert not [line for line in said if "different people" in line or "budget" in line]


def test_what_is_in_force_by_the_file() -> None:
    rule = SimpleNamespace(name="r", words=lambda: "permits counts")
    tables = {"t": SimpleNamespace(budget=SimpleNamespace(words="epsilon 4")), "u": SimpleNamespace(budget=None)}
    torn = SimpleNamespace(ok=False, entries=3, problems=["entry 2 was changed"])
    node = SimpleNamespace(approvals=2)
    said = list(_measures(evidence(state=torn, policy=(rule,), node=node, tables=tables)))
    assert "Rule “r”: permits counts." in said
    assert [line.partition(" of ours")[0] for line in said if "different people" in line] == [
        "2 different people must approve each job"
    ]
    assert [line for line in said if "budget" in line] == [
        "Privacy budget of table “t”: epsilon 4; a job that does not fit is refused."
    ]
    assert said[-1] == "The log was checked for this record: 3 entries, not whole: entry 2 was changed."
    assert not [line for line in said if "no rules" in line]


def test_nothing_is_missing_where_everything_is_said() -> None:
    assert list(_missing(evidence())) == []


@pytest.mark.parametrize(
    ("what", "erasure", "missing"),
    [
        ([FORGET], "key destroyed", []),
        ([FORGET], "rows deleted", ["why a key of table t was destroyed: its rights.erasure says “rows deleted”"]),
        (["anonymised"], "rows deleted", ["to whom the published files were given, which no log knows"]),
        ([FORGET, "anonymised"], "key destroyed", ["to whom the published files were given, which no log knows"]),
    ],
)
def test_what_was_destroyed_or_given_away_has_its_reason(what: list[str], erasure: str, missing: list[str]) -> None:
    log = Log(published=[published(one) for one in what])
    assert list(_missing(evidence(log, tables=table(erasure=erasure)))) == missing


def test_what_is_said_of_a_table_that_the_file_lacks() -> None:
    jobs = {name: Job({"table": name}, "", started) for name, started in (("t", True), ("u", True), ("v", False))}
    jobs[""] = Job({"table": ""}, "", True)  # of a job that reads none
    archived = [ArchivedJob("", name, "bob", "id3") for name in ("t", "x", "")]  # of the last the log has no table
    log = Log(archived, jobs, published=[published(FORGET, "w")])
    assert list(_missing(evidence(log))) == [
        "why a key of table w was destroyed: its rights.erasure says nothing",
        "all of table u, which jobs have used and party.toml no longer names",
        "all of table x, which jobs have used and party.toml no longer names",
    ]


def test_what_nobody_has_said() -> None:
    assert list(_missing(evidence(controller=None))) == ["who the controller is: [controller] name, contact"]
    (officer,) = _missing(evidence(controller=SimpleNamespace(officer=None)))
    assert officer.endswith("controller.officer")
    bare = {"t": SimpleNamespace(rights=None, budget=None)}
    assert list(_missing(evidence(tables=bare))) == ["the rights of the people in table t: [tables.t.rights]"]
    for term in TERMS:
        assert list(_missing(evidence(tables=table(**{term: None})))) == [f"of table t: tables.t.rights.{term}"]
    nobody = evidence()
    nobody.state, nobody.peers[0].settings = None, SimpleNamespace(contact=None, transfer=None)
    assert [line.rpartition(": ")[2] for line in _missing(nobody)] == [
        "peer.contact",
        "peer.transfer",
        "no node has run with this file yet",
    ]
    nobody.peers[0].certificate = None  # of whom no file says who it is
    assert len(list(_missing(nobody))) == 1
