"""Jobs that ran for an emergency are reviewed, by somebody who did not stand behind them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from parties.cli import run
from parties.link.identity import Identity
from parties.operator.accounts import Account, Accounts, protected, unix_user
from tests.support.logs import COST, DIGEST, Node, proposed

JOBS = {"emergency": "e0" * 16, "research": "e1" * 16, "not begun": "e2" * 16, "under way": "e3" * 16}


@pytest.fixture
def party(tmp_path: Path, identities: dict[str, Identity], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A party whose log has a job for an emergency, one for research, and two for an emergency without an end."""
    monkeypatch.chdir(tmp_path)
    own, peer = identities["alice"], identities["bob"]
    node = Node(tmp_path, own, peer)
    for what, job in JOBS.items():
        purpose = "research" if what == "research" else "emergency"
        node.add("proposed", job, **{**proposed("peer", peer), "purpose": purpose})
        node.add("decided", job, party="us", verdict="approved", by="operator", person="anna")
        if what != "not begun":
            node.add("started", job, digest=DIGEST)
        if what in ("emergency", "research"):
            node.add("finished", job, outcome=DIGEST, opened={}, rounds=1, **COST)
    node.connection.close()
    file = tmp_path / "party.toml"
    keys = f'identity = "{own.key_path}"\ncertificate = "{own.certificate_path}"'
    file.write_text(f'[link]\n{keys}\n[node]\nstate = "alice"\nemergency = ["emergency"]\n')
    return file


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert run(["audit", "review", *words]) == code
    streams = capsys.readouterr()
    return streams.err if code else streams.out


def account(file: Path, name: str, *roles: Any) -> None:
    salt, digest = protected("correct horse battery")
    Accounts(file.parent / "alice").write({name: Account(roles=roles, unix=unix_user(), salt=salt, hash=digest)})


def test_what_ran_for_an_emergency_is_listed_until_it_is_reviewed(
    party: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys).count("TO BE REVIEWED") == 2
    said(capsys, "--job", JOBS["emergency"][:4], "the ward had asked")
    first, second = json.loads(said(capsys, "--json"))
    assert (first["job"], [words for _, _, words in first["reviews"]]) == (JOBS["emergency"], ["the ward had asked"])
    assert (second["job"], second["reviews"]) == (JOBS["under way"], [])
    assert said(capsys).count("TO BE REVIEWED") == 1
    assert run(["audit", "verify"]) == 0


def test_what_goes_on_is_reviewed_afterwards(party: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "has not ended" in said(capsys, "--job", JOBS["under way"], "x", code=2)


@pytest.mark.parametrize("what", ["research", "not begun"])
def test_nothing_else_is_reviewed(party: Path, capsys: pytest.CaptureFixture[str], what: str) -> None:
    assert "is the beginning of 0 emergency jobs" in said(capsys, "--job", JOBS[what], "x", code=2)


def test_who_stood_behind_it_does_not_review_it(party: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--job", JOBS["emergency"], "x"]
    account(party, "anna", "approve", "audit")
    assert "anna proposed or approved job" in said(capsys, *words, code=2)
    account(party, "bert", "approve")
    assert "bert may not do this: it needs the role audit" in said(capsys, *words, code=2)
    account(party, "carla", "audit")
    said(capsys, *words)
    first, _ = json.loads(said(capsys, "--json"))
    assert [person for _, person, _ in first["reviews"]] == ["carla"]
    assert run(["audit", "review", "--job", "e0"]) == 2
