"""`smc permit`: permits that an authority signs, and that the policies of nodes check."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from parties.base import files
from parties.base.report import Report
from parties.base.settings import at_key
from parties.commands.options import find_party_file, node_config
from parties.commands.outputs import FORCE, check_new
from parties.commands.signature import argument, command, option
from parties.link.identity import load_identity, parse_certificate
from parties.node.records import permit as records
from parties.node.records.permit import Permit
from smc.errors import InputError


@click.group("permit", epilog="Example:  smc permit show permits/2026-17.json")
def group() -> None:
    """Sign, check and show the permits of an authority."""


@command("sign", "smc permit sign terms.toml --key body.key --certificate body.crt --out 2026-17.json", group)
def sign_command(
    terms: Path = argument(),
    key: Path = option("Private key of the authority."),
    certificate: Path = option("Certificate of the authority."),
    out: Path = option("New file with the permit."),
    force: bool = FORCE,
) -> Report:
    """Sign a permit as its authority.

    TERMS is a TOML file with id, purpose, holders (whole fingerprints), tables, columns, kinds, epsilon (or "none"),
    delta and expires. docs/permits.md has an example.
    """
    check_new({"--out": out}, [terms, key, certificate], None, force)
    fields = files.read_toml(terms)
    if fields.get("epsilon") == "none":
        fields["epsilon"] = None
    authority = load_identity(key, certificate)
    with at_key(str(terms)):
        permit = records.issue(authority, fields)
    if why := permit.flaw([authority.certificate], datetime.now(UTC)):
        raise InputError(f"{terms}: expires: {why}; name a later day")
    files.write_text(out, permit.model_dump_json(indent=2) + "\n")
    report = _facts(permit)
    report.line(f"written      {out}   (give this file to its holders)")
    return report


@command("show", "smc permit show permits/2026-17.json --config party.toml", group)
def show_command(permit: Path = argument(), config_file: Path | None = node_config) -> Report:
    """Check a permit's signature and last day, and show its terms.

    The authority must be one that party.toml accepts under [permits]. If there is none, the signature must be that of
    the certificate in the permit. smc policy --job JOB.toml checks whether a permit covers a job.
    """
    from parties.node import settings
    from parties.node.acts.permits import Permits

    found, party_file = records.load(permit), find_party_file(config_file)
    accepted = () if party_file is None else Permits.of(settings.load(party_file)).issuers
    if not accepted and not found.certificate:
        raise InputError(f"{permit}: holds no certificate of its authority; ask the authority to sign it again")
    issuers = accepted or [parse_certificate(found.certificate.encode(), permit)]
    if why := found.flaw(issuers, datetime.now(UTC)):
        raise InputError(f"{permit}: {why}; ask the authority")
    report = _facts(found)
    unknown = "of the certificate in this file; compare the issuer with the authority by telephone"
    report.line(f"signature    {'of an authority that party.toml accepts' if accepted else unknown}")
    return report


def _facts(permit: Permit) -> Report:
    terms = permit.model_dump(mode="json", exclude={"certificate"})
    report = Report(terms | ({"epsilon": "none"} if permit.epsilon is None else {}), width=12)
    report.all_facts()
    return report
