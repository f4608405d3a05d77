"""`smc permit`: the page's terms are signed, shown and checked, and `smc policy` applies them to a job."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parties.link.identity import create, fingerprint
from tests.support.places import ROOT
from tests.support.processes import Done, here
from tests.support.walkthrough import Walk, blocks

PAGE = (ROOT / "docs" / "permits.md").read_text()
PARTY = """
[link]
certificate = "anna.crt"
peer = "bert.crt"
listen = "127.0.0.1:7001"

[permits]
issuers = ["body.crt"]
required = true
folder = "permits"

[tables.diabetes]
source = "rows.csv"
schema = "schema.toml"

[[policy]]
name = "what the body permits"
effect = "permit"
permit = "2026-17"
"""
SCHEMA = '[attributes]\nsex = ["f", "m"]\nmetformin = ["no", "yes"]\ncity = ["a", "b"]\n'
JOB = 'permit = "2026-17"\nprotocol = "release table"\ntable = "diabetes"\nepsilon = 0.5\n'
JOB += 'purpose = "research on diabetes"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Anna's directory, after the page's commands have been run in it."""
    holder = [create(name, [], tmp_path) for name in ("anna", "bert", "body")][1]
    with Walk(tmp_path) as walk:
        for block in blocks(PAGE.replace("FINGERPRINT", fingerprint(holder.certificate))):
            walk.follow(block)
    assert "epsilon      2.0" in walk.printed[-1]
    (tmp_path / "permits").mkdir()
    (tmp_path / "2026-17.json").rename(tmp_path / "permits" / "2026-17.json")
    (tmp_path / "party.toml").write_text(PARTY)
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return tmp_path


def decided(folder: Path, job: str) -> str:
    (folder / "job.toml").write_text(job)
    done = here(folder, "policy", "--job", "job.toml", "--at", "2026-12-01T12:00")
    assert done.code == 0, done.err
    return next(line for line in done.out.splitlines() if line.startswith(("permit:", "deny:", "ask:")))


def checked(folder: Path) -> Done:
    return here(folder, "permit", "check", "permits/2026-17.json")


def test_a_permit_is_checked(folder: Path) -> None:
    path = folder / "permits" / "2026-17.json"
    whole = json.loads(path.read_text())
    assert checked(folder).out.splitlines()[-1] == "valid        signed by an authority that party.toml accepts"
    path.write_text(json.dumps(whole | {"epsilon": 20}))
    assert checked(folder).message == "smc: permits/2026-17.json: it was changed, or 'body' did not sign it"
    path.write_text(json.dumps(whole | {"epsilon": "20"}))
    assert checked(folder).message.startswith(
        "smc: permits/2026-17.json: this is no permit of smc permit sign: epsilon"
    )


def test_policy_applies_it_to_a_job(folder: Path) -> None:
    assert decided(folder, JOB + 'by = ["sex", "metformin"]\n').startswith("permit: permitted by rule")
    refused = decided(folder, JOB + 'by = ["sex", "city"]\n')
    assert refused == "deny: denied: permit '2026-17': it does not cover the columns 'city'"
    assert "2.5 would be spent" in decided(folder, JOB.replace("0.5", "2.5") + 'by = ["sex"]\n')


def test_terms_are_signed_only_whole(folder: Path) -> None:
    terms = (folder / "terms.toml").read_text()
    (folder / "terms.toml").write_text(terms.replace("epsilon = 2 ", "").replace('purpose = "', 'purpose = "all '))
    words = ("permit", "sign", "terms.toml", "--key", "body.key", "--certificate", "body.crt", "--out", "new.json")
    assert here(folder, *words).message == "smc: terms.toml: epsilon: is missing"
    (folder / "terms.toml").write_text(terms.replace('holders = ["', 'holders = ["anna", "'))
    assert here(folder, *words).message == (
        "smc: terms.toml: holders: 'anna' is no whole fingerprint; copy it from smc identity show CERTIFICATE"
    )
    (folder / "terms.toml").write_text(terms.replace("epsilon = 2 ", 'epsilon = "none" '))
    assert "epsilon      none" in here(folder, *words).out
    assert "exists already" in here(folder, *words).message
