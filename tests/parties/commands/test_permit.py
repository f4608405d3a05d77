"""`smc permit`: the page's terms are signed, shown and checked, and `smc policy` applies them to a job."""

from __future__ import annotations

import json
import re
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


def shown(folder: Path, *more: str) -> Done:
    return here(folder, "permit", "show", "permits/2026-17.json", *more)


@pytest.mark.parametrize("pinned", [True, False])
def test_a_permit_is_checked_with_the_pinned_certificate_or_its_own(folder: Path, pinned: bool) -> None:
    path = folder / "permits" / "2026-17.json"
    whole = json.loads(path.read_text())
    if not pinned:
        (folder / "party.toml").unlink()
    last = shown(folder).out.splitlines()[-1]
    assert last == "signature    " + (
        "of an authority that party.toml accepts"
        if pinned
        else "of the certificate in this file; compare the issuer with the authority by telephone"
    )
    changed = "it was changed, or 'body' did not sign it; ask the authority"
    for field, value, fact in (
        ("epsilon", 20, changed),
        ("delta", 0.5, changed),
        ("purpose", "any", changed),
        ("issuer", "AB" + whole["issuer"][2:], "its issuer AB"),
    ):
        path.write_text(json.dumps(whole | {field: value}))
        done = shown(folder)
        assert (done.code, done.out) == (2, "")
        assert done.message.startswith(f"smc: permits/2026-17.json: {fact}")
    path.write_text(
        json.dumps({field: value for field, value in whole.items() if field not in ("certificate", "delta")})
    )
    why = "it was changed" if pinned else "holds no certificate of its authority"
    assert why in shown(folder).message  # a permit of a release without these terms is read, and refused
    path.write_text(json.dumps(whole | {"epsilon": "20"}))
    assert shown(folder).message.startswith("smc: permits/2026-17.json: this is no permit of smc permit sign: epsilon")


def test_terms_are_signed_first(folder: Path) -> None:
    done = here(folder, "permit", "show", "terms.toml")
    assert (done.code, done.message) == (
        2,
        "smc: terms.toml: holds terms, no permit; sign them first: smc permit sign",
    )


def test_a_permit_of_another_authority_is_not_accepted(folder: Path) -> None:
    """The signature fits the certificate in it, but party.toml accepts another one."""
    words = ("permit", "sign", "terms.toml", "--key", "bert.key", "--certificate", "bert.crt", "--out")
    assert here(folder, *words, "permits/2026-17.json", "--force").code == 0
    assert "is none of permits.issuers" in shown(folder).message
    (folder / "party.toml").unlink()
    assert shown(folder).code == 0


def test_policy_applies_it_to_a_job(folder: Path) -> None:
    assert decided(folder, JOB + 'by = ["sex", "metformin"]\n').startswith("permit: permitted by rule")
    refused = decided(folder, JOB + 'by = ["sex", "city"]\n')
    assert refused == "deny: denied: permit '2026-17': it does not cover the columns 'city'"
    assert "epsilon 2.5 would be spent" in decided(folder, JOB.replace("0.5", "2.5") + 'by = ["sex"]\n')


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


def test_terms_that_ended_are_not_signed(folder: Path) -> None:
    terms = folder / "terms.toml"
    terms.write_text(re.sub("(?m)^expires .*$", "expires = 2020-05-01", terms.read_text()))
    words = ("permit", "sign", "terms.toml", "--key", "body.key", "--certificate", "body.crt", "--out", "new.json")
    assert here(folder, *words).message == "smc: terms.toml: expires: it ended on 2020-05-01; name a later day"
    assert not (folder / "new.json").exists()
