"""`smc init`: a party's identity and party.toml, and the peer's on request, from flags or from questions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from parties.base import console, files
from parties.base.address import Address, parse_address
from parties.base.settings import validated
from parties.base.text import quoted
from parties.commands.options import FOLDER, PARTY_FILE
from parties.commands.signature import command, option
from parties.jobs.settings import MAX_ROWS
from parties.link.identity import create, load_identity, short_fingerprint
from parties.node.settings import NodeFile
from parties.party_file import load
from parties.tables.toml_text import toml_key, toml_lines
from smc.errors import InputError

LINK_PORT, PAGE_PORT = 7001, 7080
METRICS, HEALTH = 10, 11  # offsets of these ports from the page's port
ASIDE = 100  # offset of the dialling party's ports from the listening party's: both may be on one machine
ANYWHERE = "0.0.0.0"
SCHEMA = "schema.toml"
_BUDGET = """# A budget bounds the privacy loss of all noisy answers together. Only a node reads a table with it:
# [tables.{}.budget]
# epsilon = 1.0
# per = "year"
"""


@dataclass(frozen=True)
class PartyDraft:
    """Files to write for one party."""

    directory: Path
    name: str
    peers: Mapping[str, str]  # address of each peer by name; empty for a peer that dials this party
    listen: str | None
    page_port: int
    tables: Mapping[str, str]
    state: Path | None = None

    @property
    def path(self) -> Path:
        """Path of the party's file."""
        return self.directory / PARTY_FILE

    def content(self) -> dict[str, Any]:
        """Return the party's file as tables. Paths in it are relative to it."""
        link = {"identity": f"{self.name}.key", "certificate": f"{self.name}.crt"}
        listen = {"listen": self.listen} if self.listen is not None else {}
        ports = {"web": self.page_port, "metrics": self.page_port + METRICS, "health": self.page_port + HEALTH}
        node = {key: str(Address("127.0.0.1", port)) for key, port in ports.items()}
        if self.state is not None:
            node = {"state": str(self.state.absolute()), **node}
        ways = {name: {"connect": there} if there else {} for name, there in self.peers.items()}
        rest: dict[str, Any] = {}
        if len(self.peers) == 1:
            (name,) = self.peers
            link |= {"peer": f"{name}.crt", **(ways[name] or listen)}
        else:
            node = listen | node
            rest["peers"] = [{"certificate": f"{name}.crt", **way} for name, way in ways.items()]
        if self.tables:
            same = {"schema": SCHEMA, "max_rows": MAX_ROWS}
            rest["tables"] = {name: {"source": source, **same} for name, source in self.tables.items()}
        return {"link": link, "node": node, **rest}

    def tables_there(self) -> str:
        """Return the text of a party.toml that has only tables, as from `smc prepare`; empty without a file.

        Raise InputError if it has more than tables.
        """
        if not os.path.lexists(self.path):
            return ""
        if files.read_toml(self.path).keys() - {"tables"}:
            raise InputError(
                f"{self.path} exists already and is not replaced; choose another --out, or add a table with smc prepare"
            )
        return files.read_text(self.path)

    def text(self) -> str:
        """Return the party's file: existing tables unchanged, then the new content."""
        parts = []
        for name, part in self.content().items():
            if name == "tables":
                parts += [
                    f"[tables.{toml_key(table)}]\n{toml_lines(fields)}{_BUDGET.format(toml_key(table))}"
                    for table, fields in part.items()
                ]
            elif isinstance(part, list):
                parts += [f"[[{name}]]\n{toml_lines(fields)}" for fields in part]
            else:
                parts.append(f"[{name}]\n{toml_lines(part)}")
        before = self.tables_there()
        head = f"# {self.name}, who computes with {', '.join(self.peers)}\n"
        return "\n".join([head, *([before.rstrip() + "\n"] if before else []), *parts])

    def check(self) -> None:
        """Raise InputError if a node would refuse the file, or if an existing file has more than tables."""
        validated(NodeFile, self.content())
        if self.tables_there():
            known = load(self.path).tables
            if twice := next((name for name in self.tables if name in known), None):
                raise InputError(f"--table: {self.path} already has a table {quoted(twice)}; choose another name")
            files.check_addition(self.path, self.text())

    def write(self) -> None:
        """Write the file."""
        files.write_text(self.path, self.text())


@command("init", "smc init --name anna --peer-name bert --listen 0.0.0.0:7001 --table days=days.csv")
def init(
    name: str | None = option("Name of your party; key and certificate are made unless NAME.key exists."),
    peers: tuple[str, ...] = option(
        "Peer with certificate NAME.crt; with several peers, its address to dial.",
        flag="--peer-name",
        metavar="NAME[=HOST:PORT]",
    ),
    listen: str | None = option("Wait for the peer here; 0.0.0.0 = all of IPv4, [::] = IPv6 too.", "HOST:PORT"),
    connect: str | None = option("Dial the peer there.", "HOST:PORT"),
    host: str | None = option(
        "Name of this machine in the certificate and the peer's file  [required if you listen on all addresses]", "HOST"
    ),
    port: int | None = option(
        f"Port of the operator's page  [{PAGE_PORT}; {PAGE_PORT + ASIDE} if you dial]",
        click.IntRange(1, 65535 - HEALTH),
    ),
    tables: tuple[str, ...] = option(
        "Your table: a file, or the URL of a database; repeatable.", flag="--table NAME=SOURCE"
    ),
    state: Path | None = option("State directory of the node  [state, beside party.toml]", FOLDER),
    out: Path = option("Directory for the files  [.]", FOLDER, default=Path()),
    peer_out: Path | None = option("Write the peer's party.toml to this directory too.", FOLDER),
) -> None:
    """Write party.toml and make your identity. A terminal asks you for missing flags.

    Existing files are not replaced. If party.toml has only tables, as smc prepare writes it, the link is added to it.
    With --peer-out the peer's party.toml is written too, as far as its content is known here. The peer's operator moves
    it to the other machine and makes the identity there (smc identity create). To try both parties, keep it here.
    """
    name = _asked("--name", name, "Name of your party")
    named_peers = _peers(peers or (_asked("--peer-name", None, "Name of the peer"),), name)
    peer_name, several = next(iter(named_peers)), len(named_peers) > 1
    if several and (connect is not None or peer_out is not None):
        raise InputError("--connect and --peer-out need a single peer; with several, give --peer-name NAME=HOST:PORT")
    if not several and (there := named_peers[peer_name]):
        connect = _same(connect, there)
    if listen is not None and connect is not None:
        raise InputError("give --listen or --connect: one party listens, the other connects")
    if several and listen is None and not all(named_peers.values()):
        listen = _asked("--listen", None, "Address of this node, HOST:PORT", f"{ANYWHERE}:{LINK_PORT}")
    elif listen is None and connect is None and not several:
        question = f"Address of {peer_name}, HOST:PORT; or listen to wait for it here"
        there = _asked("--listen or --connect", None, question, "listen")
        listen, connect = (f"{ANYWHERE}:{LINK_PORT}", None) if there == "listen" else (None, there)
    if (
        not tables
        and not (out / PARTY_FILE).exists()
        and console.is_asked()
        and (source := click.prompt("Your table: a file or URL (empty: none)", "", err=True))
    ):
        tables = (f"rows={source}",)
    port = port or (PAGE_PORT if connect is None else PAGE_PORT + ASIDE)
    named = dict(_table(text, out) for text in tables)
    dialled = named_peers if several else {peer_name: connect or ""}
    plans = [PartyDraft(out, name, dialled, listen, port, named, state)]
    if peer_out is not None:
        there, opened = (str(_reached(listen, host)), None) if listen else ("", _opened(connect or ""))
        theirs = {table: f"{table}.csv" for table in named}
        aside = PAGE_PORT if port == PAGE_PORT + ASIDE else port + ASIDE if port + ASIDE + HEALTH < 65536 else port
        plans.append(PartyDraft(peer_out, peer_name, {name: there}, opened, aside, theirs))
    for plan in plans:
        plan.check()
    _make(plans[0], host)
    for plan in plans:
        files.make_directory(plan.directory)
        plan.write()
        console.out.print(f"written       {plan.path}")
    for line in _next(plans):
        console.err.print(line)


def _asked(flag: str, value: str | None, question: str, default: str | None = None) -> str:
    """Return the value of a flag, or without it the operator's answer; raise InputError if there is no terminal."""
    if value is not None:
        return value
    if not console.is_asked():
        raise InputError(f"{flag} is missing, and there is no terminal to ask you; give it")
    answer: str = click.prompt(question, default, err=True)
    return answer


def _peers(texts: tuple[str, ...], own_name: str) -> dict[str, str]:
    """Return the address of each peer by name; empty for a peer that dials this party, or if none is known."""
    peers: dict[str, str] = {}
    for text in texts:
        name, sign, there = text.partition("=")
        if name == own_name:
            raise InputError("--peer-name: is the name of your party too; choose different names")
        if not name or name in peers or (sign and not there):
            raise InputError(f"--peer-name: must be NAME or NAME=HOST:PORT, each name once, not {text!r}")
        if there:
            parse_address(there)
        peers[name] = there
    return peers


def _same(connect: str | None, there: str) -> str:
    if connect not in (None, there):
        raise InputError(f"--connect: {connect} is not {there} of --peer-name; give one of them")
    return there


def _table(text: str, out: Path) -> tuple[str, str]:
    """Return a table's name and its source; the path of a file is relative to the folder of party.toml."""
    name, sign, source = text.partition("=")
    if not sign or not name or not source:
        raise InputError(f"--table: must be NAME=SOURCE, such as days=days.csv, not {quoted(text)}")
    return name, source if "://" in source else files.seen_from(out, Path(source))


def _reached(listen: str, host: str | None) -> Address:
    """Return the address at which the peer dials a party that listens here."""
    address = parse_address(listen)
    if host is None and address.host in (ANYWHERE, "::"):
        raise InputError("--host is missing: the peer's file needs the address of this machine")
    return Address(host or address.host, address.port)


def _opened(connect: str) -> str:
    """Return the address at which the dialled peer listens: on all interfaces, unless it is this machine."""
    address = parse_address(connect)
    return str(address if address.is_local else Address(ANYWHERE, address.port))


def _make(plan: PartyDraft, host: str | None) -> None:
    key, certificate = (plan.directory / f"{plan.name}.{ending}" for ending in ("key", "crt"))
    if key.exists() and certificate.exists():
        identity = load_identity(key, certificate)
    else:
        identity = create(plan.name, [host] if host else [], plan.directory)
        console.out.print(f"written       {key}   (private: stays on this machine)")
    console.out.print(f"certificate   {certificate}   fingerprint {short_fingerprint(identity.certificate)}")


def _next(plans: list[PartyDraft]) -> list[str]:
    """Return the steps that remain for the operator, one line each."""
    plan = plans[0]
    tables = files.read_toml(plan.path).get("tables", {})
    certificate = f"{plan.directory / plan.name}.crt"
    return [
        "next:",
        *(f"  give {certificate} to {peer}, put theirs at {plan.directory / peer}.crt," for peer in plan.peers),
        "  and compare the fingerprints over the telephone: smc identity show FILE",
        *(
            []
            if tables
            else [f"  smc prepare RAW.csv --target COLUMN --out {plan.directory}    writes the table, and {SCHEMA}"]
        ),
        f"  agree on {plan.directory / SCHEMA}: exchange it; smc schema --schema it --merge theirs --out NEW",
        f"  smc check --config {plan.path}    shows missing parts",
        f"  smc node --config {plan.path}",
        *([f"  or, for one question: smc id3 --config {plan.path}"] if len(plan.peers) == len(tables) == 1 else []),
    ]
