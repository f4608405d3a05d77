"""`smc policy`: a node's rules in readable form, and a test of them on a job that does not exist yet."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from cryptography import x509

from parties.base import files
from parties.base.report import Report
from parties.base.settings import at_key, required
from parties.base.text import quoted
from parties.commands.options import node_config, required_party_file
from parties.commands.signature import argument, command, option
from parties.link.identity import common_name, fingerprint, load_certificate
from parties.node.point import xacml
from parties.node.point.xacml import DecisionPointAnswer, said
from parties.node.policy.decisions import decide
from parties.node.policy.request import Request
from parties.node.policy.rules import Rule, conditions, remarks, strangers
from parties.sources.settings import Combine
from parties.tables import schema
from parties.tables.toml_text import toml_key
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.jobs.inputs import Inputs
    from parties.node.log.store import Record
    from parties.node.peers import PeerDescription
    from parties.node.proposal import Proposal
    from parties.node.settings import NodeFile

HOLDS = {True: "yes", False: "no", None: "not known"}


@command("policy", "smc policy --config party.toml --job job.toml --at 2026-01-31T22:15")
def policy(
    job: str | None = argument(metavar="[JOB]"),
    config_file: Path | None = node_config,
    job_file: Path | None = option("Test the rules on this job file, as for smc submit."),
    proposed_by: Literal["us", "peer"] = option(
        "Party that proposes the job. It owns `table`; the other party owns `peer_table`  [peer]",
        click.Choice(["peer", "us"]),
        default="peer",
    ),
    at: str | None = option("Time of the job, ISO 8601, such as 2026-01-31T22:15  [now]", "DATE-TIME"),
    peer_name: str | None = option("Peer, needed if party.toml names several.", flag="--peer NAME"),
    address: str | None = option("Address of the peer  [unknown]", "IP"),
    post_quantum: bool | None = option(
        "Key exchange with the peer's node: post-quantum or classical  [unknown]",
        flag="--post-quantum/--classical",
        default=None,
    ),
    key_exchange: str | None = option(
        "Group of the key exchange, such as X25519MLKEM768; implies --post-quantum or --classical  [unknown]", "GROUP"
    ),
    runs: int = option(
        "Number of jobs that already ran on the table that day  [0]", click.IntRange(0, 10**9), default=0
    ),
    ask: bool = option("With --job: query the decision point of [decision] too."),
) -> Report:
    """Show the rules by which your node decides on jobs, and test them on a job. Nothing is proposed or recorded.

    The job is a file, --job, or a job of your node: JOB is the beginning of its identifier, as smc jobs lists it. Its
    proposer and peer are then known. With a job, --json also shows the request to a decision point.
    """
    from parties.node import settings

    file = settings.load(required_party_file(config_file))
    known = {name: schema.load(table.schema_file).attributes for name, table in file.tables.items()}
    notes = [*remarks(file.policy, known), *file.unbounded()]
    with suppress(InputError):  # a certificate is missing: smc check reports it
        notes += strangers(file.policy, _fingerprints(file))
    request = None
    if job is not None and job_file is not None:
        raise InputError("--job: JOB names another job; remove one of them")
    if job is not None or job_file is not None:
        named = {} if peer_name is None else {"peer": peer_name}
        given = job or "" if job_file is None else files.read_toml(job_file) | named
        link = _link(post_quantum, key_exchange)
        request = _request(file, given, proposed_by, _moment(at), _checked(address), runs, link)
    word = _asked(file, request) if ask else None
    combine = file.combine(request.table) if request is not None else "deny-overrides"
    data = _document(file.policy, request, notes, combine, word)
    report = Report(data)
    for rule in data["rules"]:
        report.line(f"{quoted(rule['name'])}: {rule['words']}")
        report.lines(
            f"    {HOLDS[condition['holds']]:10} {condition['words']}" for condition in rule.get("conditions", ())
        )
        report.lines(f"{'':15}{quoted(name)}: {why}" for name, why in rule.get("unlike", {}).items())
        if "applies" in rule:
            report.line("    applies" if rule["applies"] else "    does not apply")
    if not file.policy:
        report.line("there is no rule: the operator decides on every job")
    if "decision" in data:
        report.line(f"{data['decision']['effect']}: {data['decision']['reason']}")
    if word is not None:
        report.line(said(word))
    for note in notes:
        report.note(note, always=False)
    return report


def _records(file: NodeFile) -> list[Record]:
    """Return the jobs in the node's records, the newest first."""
    from parties.node.log import store
    from parties.node.records import database

    with database.reading(file.node.state / database.FILE_NAME) as connection:
        return [*store.read(connection)][::-1]


def _request(
    file: NodeFile,
    given: str | dict[str, Any],
    proposed_by: Literal["us", "peer"],
    at: datetime,
    address: str | None,
    runs: int,
    link: Mapping[str, Any],
) -> Request:
    from parties.node import peers
    from parties.node.acts import gate, templates
    from parties.node.acts.permits import Permits, epsilon_of_uses

    if isinstance(given, dict):
        proposed, party, peer = _proposed(file, given, proposed_by)
    else:
        found = [one for one in _records(file) if one.id.startswith(given)]
        if len(found) != 1:
            raise InputError(
                f"JOB: {'several jobs begin' if found else 'no job begins'} with {quoted(given)}; see smc jobs"
            )
        proposed, party, proposed_by = found[0].proposal, found[0].party, found[0].proposed_by
        peer = peers.acquaintances(file)[0] if party > 1 else peers.acquainted(file, found[0].peer)
    permits, permit = Permits.of(file), proposed.permit
    epsilon = epsilon_of_uses(proposed.task.disclosure.spends, 0.0 if permit is None else permit.delta)
    around = gate.Circumstances(runs_today=runs, waiting=0, at=at, address=address, permitted=epsilon, **link)
    inputs = partial(_inputs, file, peer.name or "")
    unlike = templates.differences(proposed, party, file.template, inputs)
    proposer = _own(file) if proposed_by == "us" else peer.certificate
    by = "" if proposer is None else fingerprint(proposer)
    unpermitted = permits.objection(proposed, party, by, around.at, around.permitted)
    return gate.request(proposed, party, proposed_by, file, peer, around, unlike, unpermitted)


def _inputs(file: NodeFile, peer: str, party: int, table: str) -> Inputs:
    """Return this party's inputs to a job with a peer, with the numbers of matched rows in the node's records."""
    from parties.jobs.inputs import Matching
    from parties.node.acts import matchings
    from parties.node.log.statement import state
    from parties.node.offers import Offers

    def matching(identifier: str) -> Matching:
        with at_key("alignment"):
            records = _records(file)
        done = (one for one in records if state(one.statements, False, True) == "done")
        record, rows = matchings.named(done, peer, table, identifier)
        return Matching(record.id, rows, str)

    return replace(Offers.of(file).inputs(party, table), matching=matching)


def _proposed(
    file: NodeFile, fields: dict[str, Any], proposed_by: Literal["us", "peer"]
) -> tuple[Proposal, int, PeerDescription]:
    """Return the proposal of a job file, the number of this party in it, and the peer."""
    from parties.node import peers, proposal
    from parties.node.acts.permits import Permits
    from parties.node.policy.templates import expanded

    job, party = proposal.read_job(expanded(fields, file.template)), 0
    name = (job.table if proposed_by == "us" else job.peer_table or job.table) or ""
    nodes, holders = tuple[str, ...](), dict[str, str]()
    if file.node.role == "holder":
        if not job.holders:
            raise InputError("this node is a holder, which refuses jobs of two parties; name holders in the job")
        peer, own = peers.acquaintances(file)[0], load_certificate(required(file.link.certificate, "link.certificate"))
        if (us := common_name(own)) not in job.holders:
            raise InputError(f"holders: {quoted(us)}, this node, is not listed; add it")
        name, party = job.holder_table or job.table or "", 2 + job.holders.index(us)
        nodes = tuple(fingerprint(one.certificate) for one in peers.acquaintances(file) if one.certificate is not None)
        made_up = {one: hashlib.sha256(one.encode()).digest().hex(":").upper() for one in job.holders}
        holders = made_up | {us: fingerprint(own)}  # a holder pins no other one
    else:
        peer = peers.acquainted(file, job.peer)
        if job.holders:
            own = load_certificate(required(file.link.certificate, "link.certificate"))
            holders = peers.holders_of(job.holders, peer.name, own, lambda one: peers.acquainted(file, one).certificate)
            nodes = (fingerprint(own), "" if peer.certificate is None else fingerprint(peer.certificate))
    if getattr(job, "alignment", None) and name in file.tables and file.tables[name].beside is None:
        raise InputError(
            f"alignment: [tables.{toml_key(name)}] of party.toml has no `beside`: set it to the peer's schema file, or "
            "name the job that waits, as smc policy JOB"
        )
    permit = None if job.permit is None else Permits.of(file).named(job.permit)
    job = job.model_copy(update={"table": name or None})
    return proposal.propose(job, _inputs(file, peer.name or "", party, name), nodes, holders, permit), party, peer


def _own(file: NodeFile) -> x509.Certificate | None:
    return None if file.link.certificate is None else load_certificate(file.link.certificate)


def _fingerprints(file: NodeFile) -> set[str]:
    from parties.node import peers

    return {*map(fingerprint, filter(None, [_own(file), *(one.certificate for one in peers.acquaintances(file))]))}


def _link(post_quantum: bool | None, key_exchange: str | None) -> dict[str, Any]:
    """Return the given properties of the connection; a key exchange group implies the TLS version and its type."""
    from parties.link import tls

    if key_exchange is None:
        return {"post_quantum": post_quantum}
    is_safe = key_exchange in tls.POST_QUANTUM
    if post_quantum not in (None, is_safe):
        raise InputError(
            f"--key-exchange: {quoted(key_exchange)} is {'' if is_safe else 'not '}post-quantum; remove the other flag"
        )
    return {"tls": tls.VERSION, "key_exchange": key_exchange, "post_quantum": is_safe}


def _asked(file: NodeFile, request: Request | None) -> DecisionPointAnswer:
    from parties.node.point.decision_point import DecisionPoint

    if request is None:
        raise InputError("--ask: needs a job; add --job job.toml")
    if file.decision is None:
        raise InputError("--ask: party.toml has no decision point; add url under [decision]")
    with at_key("decision"):
        return DecisionPoint(file.decision).ask(request)


def _moment(text: str | None) -> datetime:
    """Return a time (None: now) in this machine's time zone; a text without a time zone is in this one."""
    try:
        return datetime.now().astimezone() if text is None else datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        raise InputError(f"--at: must be a date and time such as 2026-01-31T22:15, not {quoted(text or '')}") from None


def _checked(address: str | None) -> str | None:
    try:
        return None if address is None else str(ip_address(address))
    except ValueError:
        raise InputError(
            f"--address: {quoted(address or '')} is not an IP address; give one such as 192.0.2.7"
        ) from None


def _document(
    rules: Sequence[Rule], request: Request | None, notes: list[str], combine: Combine, word: DecisionPointAnswer | None
) -> dict[str, Any]:
    """Return rules and decision as JSON; `request` None leaves out the fields about a job."""
    rows = []
    for rule in rules:
        row: dict[str, Any] = {"name": rule.name, "effect": rule.effect, "words": rule.words()}
        if request is not None:
            row["applies"] = rule.applies(request)
            row["conditions"] = [{"words": c.words, "holds": c.holds(request)} for c in conditions(rule)]
            row["unlike"] = {name: request.unlike[name] for name in rule.template if request.unlike[name]}
        rows.append(row)
    document: dict[str, Any] = {"rules": rows, "notes": notes}
    if request is not None:
        decision = decide(rules, request, combine)
        document["decision"] = {"effect": decision.effect, "rules": decision.rules, "reason": decision.reason}
        document["xacml"] = xacml.document(request)
    if word is not None:
        document["answer"] = {"decision": word.decision, "reason": word.reason}
    return document
