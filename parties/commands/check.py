"""`smc check`: checks of a node's requirements. Each prints one line: ok, or the remedy."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from cryptography import x509

from parties.base import console, files
from parties.base.address import parse_address, taken
from parties.base.extras import install_line, installed
from parties.base.settings import MOST_SECONDS, required
from parties.base.text import listed, quoted, visible
from parties.commands import doctor
from parties.commands.doctor import Finding
from parties.commands.options import Between, json_option, party_config, required_party_file
from parties.commands.rows import left_out_phrase
from parties.commands.signature import command, option
from parties.link import tls
from parties.link.identity import (
    SOON,
    Identity,
    common_name,
    fingerprint,
    load_certificate,
    load_identity,
    read_certificate,
    short_fingerprint,
)
from parties.link.settings import LinkSettings
from smc.errors import InputError, LinkError, SmcError

if TYPE_CHECKING:
    from parties.node.settings import NodeFile
    from parties.node.shipping.settings import ShipSettings
    from parties.operator.interface import NodeView
    from parties.operator.oidc import OidcSettings
    from parties.sources.settings import TableSettings

ANSWER_SECONDS = 1.0  # least seconds for the response to a call
WAIT = 5.0  # seconds for the peer to respond


@command("check", "smc check --config party.toml")
def check(
    config_file: Path | None = party_config,
    wait: float = option(
        f"Seconds to wait for the peer's answer  [{WAIT:g}]", Between(0.1, MOST_SECONDS), default=WAIT
    ),
    as_json: bool = json_option,
) -> int:
    """Check the machine, identity, clock, peer, state, tables, ports, log shipping and log-in provider.

    Machine checks: space, locks, temporary files, caches, gRPC's environment, processor. Nothing is changed.

    Exit codes: 0 every check passed, 2 a check failed.
    """
    from parties.node import settings

    path = required_party_file(config_file, ", or write one with smc init")
    file = settings.load(path)
    results = []
    for finding in findings(file, path, wait):
        results.append(finding)
        if not as_json:
            text = " ".join(visible(finding.text).split())
            console.out.print(f"{'ok' if finding.ok else 'NO':3} {visible(finding.what):18} {text}")
    if as_json:
        console.print_json([{"check": finding.what, "ok": finding.ok, "text": finding.text} for finding in results])
    return 0 if all(finding.ok for finding in results) else 2


def findings(file: NodeFile, path: Path, wait: float) -> Iterator[Finding]:
    """Yield the findings of all checks. A failed check does not stop the next ones.

    Args:
        file: Settings of the node.
        path: The file party.toml.
        wait: Seconds to wait for the peer.
    """
    from parties.node.peers import entries
    from parties.node.policy.rules import strangers

    yield from doctor.machine(file.node.state)
    identity: Identity | None = None
    try:
        link = file.link
        paths = required(link.identity, "link.identity"), required(link.certificate, "link.certificate")
        identity = load_identity(*paths)
        if any(link.connect is None for link, _, _ in entries(file)):
            identity.require_file()
        yield Finding(True, "identity", _of(identity.certificate, "make a new one soon: smc identity create"))
    except InputError as error:
        yield Finding(False, "identity", str(error))
    peers = []
    for link, name, settings in entries(file):
        certificate, finding = _pinned(link, name, identity)
        yield finding
        successor = None
        if settings.successor is not None and certificate is not None:
            successor, finding = _successor(settings.successor, name, certificate)
            yield finding
        peers.append((link, name, [known for known in (certificate, successor) if known is not None]))
    yield _clock(file)
    yield _state(file)
    yield from _tables(file)
    own = [] if identity is None else [identity.certificate]
    known = {fingerprint(one) for one in [*own, *(one for _, _, certificates in peers for one in certificates)]}
    yield from (Finding(False, "policy", line) for line in strangers(file.policy, known))
    running: NodeView | None = None
    is_shut = False
    try:
        running = _running(path)
    except InputError as error:
        is_shut = True
        yield Finding(False, "running node", str(error))
    if running is not None:
        yield from (Finding(False, "running node", warning) for warning in running.warnings)
    yield from _ports(file, is_shut or running is not None)
    yield from map(_shipping, file.records.ship)
    if file.node.oidc is not None:
        yield _provider(file.node.oidc)
    is_usable = doctor.grpc_environment().ok
    for link, name, certificates in peers:
        if not is_usable:
            yield Finding(False, f"peer {name}".strip(), "not checked: correct gRPC's environment first")
        elif is_shut:
            called = name or next(map(common_name, certificates), "the peer")
            yield Finding(False, f"peer {name}".strip(), f"{called}: not checked: correct the running node first")
        else:
            yield _peer(link, name, identity, certificates, running, wait)


def _pinned(link: LinkSettings, name: str, identity: Identity | None) -> tuple[x509.Certificate | None, Finding]:
    """Load the certificate of a peer; return it, or None if it cannot be used, and the finding."""
    what = f"certificate {name}".strip()
    try:
        peer = load_certificate(required(link.peer, "link.peer"))
    except InputError as error:
        return None, Finding(False, what, f"of the peer: {error}")
    is_ours = identity is not None and peer == identity.certificate
    return peer, Finding(
        not is_ours,
        what,
        "this is your own certificate; give the peer's" if is_ours else _of(peer, "ask its owner for a new one soon"),
    )


def _successor(path: Path, name: str, former: x509.Certificate) -> tuple[x509.Certificate | None, Finding]:
    """Load the certificate that replaces a peer's; return it, or None if it cannot be used, and the finding."""
    from parties.node.records import succession

    what = f"successor {name}".strip()
    try:
        successor = succession.load(path, former)
    except InputError as error:
        return None, Finding(False, what, str(error))
    until = f"; the former one is trusted until {successor.until}"
    return successor.certificate, Finding(True, what, f"{_of(successor.certificate, 'ask for a new one soon')}{until}")


def _of(certificate: x509.Certificate, what: str) -> str:
    """Return the text of a finding about a certificate, with the remedy `what` if it expires soon."""
    until = certificate.not_valid_after_utc
    ends = f"{until:%Y-%m-%d %H:%M} UTC; {what}" if until - datetime.now(UTC) < SOON else f"{until:%Y-%m-%d}"
    return f"{common_name(certificate)}, {short_fingerprint(certificate)}, valid until {ends}"


def _clock(file: NodeFile) -> Finding:
    """Check that no certificate starts in the future; each is valid from an hour before its creation."""
    from parties.node.peers import entries

    now = datetime.now(UTC)
    for path in (file.link.certificate, *(link.peer for link, _, _ in entries(file))):
        if path is None:
            continue
        with suppress(InputError):  # reported by another check
            begins = read_certificate(path).not_valid_before_utc
            if now < begins:
                late = f"is before {path} begins ({begins:%Y-%m-%d %H:%M}): a clock is wrong; set it by NTP"
                return Finding(False, "clock", f"{now:%Y-%m-%d %H:%M} UTC {late}")
    return Finding(True, "clock", f"{now:%Y-%m-%d %H:%M} UTC, consistent with all certificates")


def _state(file: NodeFile) -> Finding:
    """Open the node's state as a start would, but read-only."""
    from parties.commands.log_writing import accounts_of
    from parties.node.records.database import STATE
    from parties.node.starting import upgrade

    try:
        if (number := upgrade.opened(file)) == STATE:  # a start first upgrades an older state
            accounts_of(file.node.state).all()
    except InputError as error:
        return Finding(False, "state", str(error))
    if number is None:
        return Finding(True, "state", f"none in {file.node.state} yet: the first start of the node makes it")
    then = "" if number == STATE else f"; a start upgrades it to {STATE}"
    return Finding(True, "state", f"{file.node.state} can be opened; its format has number {number}{then}")


def _tables(file: NodeFile) -> Iterator[Finding]:
    """Open and count each table, as a session would."""
    from parties.node.budget import same_rows
    from parties.node.offers import check_beside
    from parties.sources.opening import open_rows, open_table
    from parties.tables import schema as schemas

    tables = file.tables
    if not tables:
        yield Finding(True, "tables", "none: this node can compute for holders, and take part in jobs without rows")
    wrong = same_rows.unknown_names(tables, _former_names(file)) | same_rows.two_names(tables)
    key, seen = os.urandom(32), dict[bytes, str]()
    for name, table in tables.items():
        try:
            if name in wrong:
                raise InputError(wrong[name])
            schema = schemas.load(table.schema_file)
            check_beside(table, schema)
            target = schema.target or next(iter(schema.attributes))
            with open_table(table, schema, target) as source:
                count, left_out = source.check(), source.left_out()
                twin = seen.setdefault(source.fingerprint_of_rows(key), name) if count and len(tables) > 1 else name
            if same_rows.have_two_budgets(tables, twin, name):
                how = same_rows.remedy(tables, twin, name)
                raise InputError(f"all its rows are rows of tables.{twin} too, and rows have one budget: {how}")
            fit = f"{count:,} rows fit the schema (digest {schema.digest()[:16]}…)"
            text = f"{fit}{left_out_phrase(left_out)}{_people(table)}"
            if keys := [name for name in (*table.columns, *table.derived) if name not in schema.attributes]:
                with open_rows(table) as rows:
                    rows.select([table.renamed.get(key, key) for key in keys])
                text += f"; not in the schema, so keys of smc align: {listed(keys)}"
            yield Finding(True, f"table {name}", text)
        except InputError as error:
            yield Finding(False, f"table {name}", str(error))


def _former_names(file: NodeFile) -> set[str]:
    """Return the table names of earlier starts and of charges in the log; empty if the log cannot be read."""
    from parties.commands.log_writing import entries_of

    names: set[str] = set()
    with suppress(InputError):  # reported by another check
        for entry in entries_of(file, "node started", "spent", "counted"):
            names.update([entry.fields["table"]] if "table" in entry.fields else entry.fields.get("tables", ()))
    return names


def _people(table: TableSettings) -> str:
    """Return the end of a finding if noise protects people instead of rows, else an empty text."""
    if table.at_most is None:
        return ""
    return f"; noise hides people, not rows: at most {table.at_most} rows of each {quoted(str(table.person))}"


def _ports(file: NodeFile, running: bool) -> Iterator[Finding]:
    shared = file.shared_ports()
    for key, text in file.ports().items():
        if key in shared:
            yield Finding(False, f"port {key}", shared[key])
            continue
        problem = taken(parse_address(text, lowest_port=0), f"set another {key}")
        if not problem or running:
            yield Finding(True, f"port {key}", f"{text} is {'used by your node' if problem else 'free'}")
        else:
            yield Finding(False, f"port {key}", f"{text}: {problem}")


def _shipping(target: ShipSettings) -> Finding:
    """Check that a file accepts shipped entries. A server is not contacted; only its host is shown."""
    what = f"shipping {target.called}"
    if target.file is None:
        host = urlsplit(target.web).hostname if target.web else parse_address(target.where).host
        return Finding(True, what, f"log entries go to {host}; the host was not contacted")
    try:
        if target.file.exists():
            os.close(os.open(target.file, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK))
        else:
            files.ensure_writable(target.file)
    except OSError as error:
        return Finding(False, what, f"cannot append to {target.file}: {error.strerror}")
    except InputError as error:
        return Finding(False, what, str(error))
    return Finding(True, what, f"log entries can be appended to {target.file}")


def _provider(settings: OidcSettings) -> Finding:
    from parties.operator.oidc import Provider

    try:
        Provider(settings).metadata()
    except InputError as error:
        return Finding(False, "log-in provider", str(error))
    return Finding(True, "log-in provider", f"{settings.issuer} answers")


def _running(path: Path) -> NodeView | None:
    """Return our running node; None if none runs. Raise InputError if the node does not answer this Unix user."""
    from parties.operator.client import NodeClient

    with suppress(LinkError):
        return NodeClient.from_config(path).node()
    return None


def _peer(
    link: LinkSettings,
    name: str,
    identity: Identity | None,
    certificates: Sequence[x509.Certificate],
    running: NodeView | None,
    wait: float,
) -> Finding:
    """Check that a peer responds, is the pinned one or its successor, and trusts this party."""
    what, name = f"peer {name}".strip(), name or next(map(common_name, certificates), "the peer")
    seen = None if running is None else next((view for view in running.peers if view.name == name), None)
    if seen is not None and seen.connected:
        return _group(what, f"{name} is connected to your node", seen.group, link.classical)
    if seen is not None and seen.held:
        return Finding(False, what, seen.held)
    if link.connect is None:
        if running is None:
            before = "" if installed("structlog", "starlette") else f"install the node ({install_line('node')}), then "
            return Finding(True, what, f"{name} dials you: {before}start smc node, then {name} runs smc check")
        return Finding(
            False, what, f"{name} has not connected to your node: check that its node runs and can reach your port"
        )
    if identity is None or not certificates:
        return Finding(False, what, "not checked: correct the certificates first")
    findings = (_answers(what, link.connect, identity, peer, wait, link.classical) for peer in certificates)
    first = next(findings)
    return first if first.ok else next((finding for finding in findings if finding.ok), first)


def _answers(what: str, text: str, identity: Identity, peer: x509.Certificate, wait: float, classical: bool) -> Finding:
    from parties.link.options import KEEPALIVE_SECONDS
    from parties.link.outbox import Outbox
    from parties.link.preflight import await_peer, unreached
    from parties.link.transport import dial

    try:
        address = parse_address(text)
        await_peer(address, identity, peer, wait, time.monotonic() + wait)
    except SmcError as error:
        return Finding(False, what, str(error))
    # The listener refuses a stream of this label, after the key exchange is known.
    with dial(address, identity, peer, KEEPALIVE_SECONDS, Outbox(1), wait, "check") as stream:
        if not stream.reached(max(wait, ANSWER_SECONDS)) and identity.token is not None:
            return Finding(False, what, str(unreached(address, identity)))
        return _group(what, f"{common_name(peer)} answers at {address} and trusts you", stream.group, classical)


def _group(what: str, text: str, group: str, classical: bool) -> Finding:
    """Return the finding on a peer with the group of its key exchange; it fails if the group is objectionable."""
    if why := tls.objection(group, classical):
        return Finding(False, what, f"{text}, but {why}")
    return Finding(True, what, f"{text}; key exchange {group or 'untold'}")
