"""The node's part of `party.toml`, beside the tables that commands read (`parties.party_file`).

[node]
state = "state"                  # jobs, records, and the key to the node's own interface
retention_days = 365             # jobs that ended longer ago are archived; or what rights of their table say
web = "127.0.0.1:7080"           # the operator's page, on this machine only

[node.limits]                     # what each peer may ask of this node
jobs_a_day = 10000

[node.oidc]                       # people with an account may sign in by it
issuer = "https://login.example.org/realms/clinic"
client_id = "smc"

[controller]                      # for the record of processing
name = "Clinic A"
contact = "privacy@clinic-a.example"

[peer]
roles = ["hospital"]             # what this party says the peer is, for the policy
attributes.gdpr_compliant = true # and what else it knows of it

With several peers there is no `peer`, `listen` or `connect` under [link], no [peer], but `node.listen` and

[[peers]]
name = "clinic-b"                # left out: the name in its certificate
certificate = "keys/b.crt"       # it connects to us at node.listen
roles = ["hospital"]
share = 0.25                     # of each table's privacy budget; left out: an equal part of what others leave

[[peers]]
certificate = "keys/c.crt"
connect = "c.example:7001"       # we connect to it

[notify]                          # who is told that a job waits; nobody if left out
webhook = "https://chat.example/hook"

[[records.ship]]                  # where entries of the audit log go as they are written
file = "/var/log/smc/audit.jsonl"

[decision]                        # an outside decision point, which has to permit our jobs, too
url = "https://pdp.example/authorize"

[tables.patients]
source = "patients.parquet"
schema = "schema.toml"

[[policy]]
name = "coarse trees"
effect = "permit"
"""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from parties.base.address import parse_address
from parties.base.settings import LocalPath, Seconds, Settings
from parties.base.text import quoted
from parties.link.settings import Here, There, link_shape
from parties.node.notify import NotifySettings
from parties.node.point.settings import DecisionSettings
from parties.node.policy.rules import Rule, check_names
from parties.node.shipping.settings import RecordsSettings
from parties.operator.oidc import OidcSettings
from parties.party_file import STATE, CommandTables, named_files, read
from parties.sources.rights import Line, RetentionDays
from parties.sources.settings import Combine, Tables
from smc.errors import InputError

WEB = "127.0.0.1:7080"
METRICS = "127.0.0.1:7090"
HEALTH = "127.0.0.1:7091"
DAY_SECONDS = 24 * 3600.0


def _local(value: str) -> str:
    """Check that an address is this machine's own."""
    if not parse_address(value, lowest_port=0).is_local:
        raise ValueError(f"must be an address of this machine only, such as 127.0.0.1:7080, not {quoted(value)}")
    return value


LocalAddress = Annotated[Here, AfterValidator(_local)]


class LimitSettings(Settings):
    """The table [node.limits]: what each peer may ask of this node. A refusal names the limit.

    `jobs_a_day` proposals are taken on a day of UTC. `mib_a_day` is the size of the rows and entries that all that the
    peer says makes this node write then. `sessions_a_day` are begun: all at once if the peer likes, and as many again
    spread over each day. `waiting` proposals wait for the operator. `processes` is how many shards all sessions with
    the peer have at once; `memory` is how many MiB these take, by their forecasts.

    The defaults permit 10,000 quick jobs a day, each with a session that breaks: such a job writes 10 kB in all.
    """

    jobs_a_day: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] = 10_000
    mib_a_day: Annotated[int, Field(strict=True, ge=1, le=100_000)] = 256
    sessions_a_day: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] = 20_000
    waiting: Annotated[int, Field(strict=True, ge=1, le=10_000)] = 100
    processes: Annotated[int, Field(strict=True, ge=1, le=1024)] = 16
    memory: Annotated[int, Field(strict=True, ge=1, le=16_777_216)] = 8192


class NodeSettings(Settings):
    """The table [node]. All ports that it opens are here; port 0 is any free one.

    `listen` is where peers connect to (that of a single one may stand under [link] instead). `approvals` is how many
    people must approve our jobs, and what no rule permits of a peer's; who proposed a job is one of them. Jobs that
    were begun for one of the purposes `emergency` are looked at afterwards, by `smc audit review`. `sessions` is how
    many run at once with each peer; `stop` how many seconds the running ones have to finish once the node is told
    to stop. Jobs that ended `retention_days` ago are archived. `sealed` says that the state is encrypted: one that is
    not is refused (`smc audit seal`). `link` is what the connection to the peer is like: for
    predictions only. `oidc` is a provider by which people with an account sign in on the page. `limits` are for what
    each peer may ask.
    """

    state: LocalPath = Field(default=Path(STATE), validate_default=True)  # beside the file, as paths in it are
    listen: Here | None = None
    web: LocalAddress = WEB
    metrics: LocalAddress = METRICS
    health: LocalAddress = HEALTH
    approvals: Annotated[int, Field(strict=True, ge=1, le=16)] = 1
    retention_days: RetentionDays = None
    emergency: tuple[Line, ...] = ()
    sealed: Annotated[bool, Field(strict=True)] = False
    sessions: Annotated[int, Field(strict=True, ge=1, le=16)] = 2
    stop: Seconds = 30.0
    link: Annotated[str, AfterValidator(link_shape)] = "lan"
    oidc: OidcSettings | None = None
    limits: LimitSettings = Field(default_factory=LimitSettings)


class ControllerSettings(Settings):
    """The controller of this party's tables, for the record of processing (GDPR art. 30(1)(a))."""

    name: Line
    contact: Line
    representative: Line | None = None
    officer: Line | None = None  # for data protection


class PeerSettings(Settings):
    """The peer as this party's administration knows it.

    `transfer` says on what ground results go to a third country (GDPR art. 30(1)(e)), or that the peer is in none.
    `share` is the part of each table's budget that jobs with the peer may spend; left out: an equal part of what others
    leave. `successor` is the peer's signed word of a new certificate (`records.succession`), which is trusted besides.
    """

    share: Annotated[float, Field(strict=True, ge=0, le=1)] | None = None
    roles: tuple[str, ...] = ()
    attributes: dict[str, Annotated[bool, Field(strict=True)] | str] = Field(default_factory=dict)
    contact: Line | None = None
    transfer: Line | None = None
    successor: LocalPath | None = None


class PeerEntry(PeerSettings):
    """One of several peers: it connects to this node, unless `connect` says where it listens."""

    name: Line | None = None
    certificate: LocalPath
    connect: There | None = None


class NodeFile(CommandTables):
    """All of a node's `party.toml`."""

    tables: Tables = Field(default_factory=dict)
    node: NodeSettings = Field(default_factory=dict, validate_default=True)
    controller: ControllerSettings | None = None
    peer: PeerSettings = Field(default_factory=PeerSettings)
    notify: NotifySettings = Field(default_factory=NotifySettings)
    records: RecordsSettings = Field(default_factory=RecordsSettings)
    decision: DecisionSettings | None = None
    peers: tuple[PeerEntry, ...] = ()
    policy: Annotated[tuple[Rule, ...], AfterValidator(check_names)] = ()

    @model_validator(mode="after")
    def _one_place(self) -> NodeFile:
        """Check that one peer stands under [link] and [peer], several under [[peers]]; a port in one place."""
        if self.peers and "peer" in self.model_fields_set:
            raise ValueError("[peer] is for a single peer: move what it says to the [[peers]] of that one")
        if self.peers and (self.link.peer is not None or self.link.connect is not None):
            raise ValueError(
                "link.peer and link.connect are for a single peer: write one more [[peers]] instead, with link.peer as "
                "its certificate and link.connect, if there is one, as its connect"
            )
        if sum(Fraction(peer.share) for peer in self.peers if peer.share is not None) > 1:
            raise ValueError("peers: their shares of budgets come to more than 1")
        if self.node.listen is not None and (self.link.listen or self.link.connect) is not None:
            raise ValueError("node.listen: the [link] says already where to listen or connect")
        return self

    def ports(self) -> dict[str, str]:
        """Return the addresses at which the node would open ports, by the keys that say so."""
        wanted = {"node.listen": self.node.listen, "link.listen": self.link.listen}
        wanted |= {"node.web": self.node.web, "node.metrics": self.node.metrics, "node.health": self.node.health}
        return {key: address for key, address in wanted.items() if address is not None}

    def shared_ports(self) -> dict[str, str]:
        """Return what is wrong with each of those keys whose address is another's."""
        first: dict[str, str] = {}
        wrong = {}
        for key, address in self.ports().items():
            if address in first and not address.endswith(":0"):
                wrong[key] = f"{address} is {first[address]} as well: give each another port"
            first.setdefault(address, key)
        return wrong

    def combine(self, table: str) -> Combine:
        """Return whose word counts if the rules of a table's owners differ; of no table of ours, the stricter one's."""
        settings = self.tables.get(table)
        return "deny-overrides" if settings is None else settings.combine


def load(path: Path) -> NodeFile:
    """Read a node's `party.toml`. `InputError` names the file and the key."""
    file = read(NodeFile, path)
    if shipped := [target.file for target in file.records.ship if target.file is not None]:
        named = [os.path.realpath(other) for other in named_files(path)]
        for place in shipped:
            if named.count(os.path.realpath(place)) > 1:
                raise InputError(f"{path}: records.ship.file: {place} is another file of this node's: name a new one")
            if os.path.realpath(place.parent) == os.path.realpath(file.node.state):
                raise InputError(f"{path}: records.ship.file: {place} is in the node's state: name another directory")
    return file
