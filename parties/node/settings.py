"""The node's part of `party.toml`, beside the tables that commands read (`parties.party_file`).

[node]
state = "state"                  # jobs, records, and the key to the node's own interface
retention_days = 365             # jobs that ended longer ago are archived; a table's rights may set fewer days
web = "127.0.0.1:7080"           # the operator's page, on this machine only

[node.limits]                     # what each peer may ask of this node
jobs_a_day = 10000

[node.oidc]                       # people with an account may sign in with it
issuer = "https://login.example.org/realms/clinic"
client_id = "smc"

[controller]                      # for the record of processing
name = "Clinic A"
contact = "privacy@clinic-a.example"

[peer]
roles = ["hospital"]             # roles of the peer, for the policy
attributes.gdpr_compliant = true # other attributes of the peer

With several peers leave out [peer], and `peer`, `listen` and `connect` under [link]. Set `node.listen` and

[[peers]]
name = "clinic-b"                # left out: the name in its certificate
certificate = "keys/b.crt"       # it connects to us at node.listen
roles = ["hospital"]
share = 0.25                     # of each table's privacy budget; left out: an equal part of the rest

[[peers]]
certificate = "keys/c.crt"
connect = "c.example:7001"       # we connect to it

[notify]                          # notices of waiting jobs; none if left out
webhook = "https://chat.example/hook"

[[records.ship]]                  # targets of audit log entries, as they are written
file = "/var/log/smc/audit.jsonl"

[decision]                        # an outside decision point, which must also permit our jobs
url = "https://pdp.example/authorize"

[tables.patients]
source = "patients.parquet"
schema = "schema.toml"

[[policy]]
name = "coarse trees"
effect = "permit"

[permits]                         # authorities whose permits jobs may or must have
issuers = ["keys/authority.crt"]

[template."mean income"]          # a question to be asked by name, see `parties.node.policy.templates`
protocol = "release mean"
"""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from parties.base.address import parse_address
from parties.base.settings import LocalPath, Seconds, Settings
from parties.base.text import quoted
from parties.jobs.settings import public_parameters
from parties.link.settings import Here, There, link_shape, port_range
from parties.node.notify import NotifySettings
from parties.node.point.settings import DecisionSettings
from parties.node.policy.rules import Rule, check_names, unbounded
from parties.node.policy.templates import Template
from parties.node.proposal import read_job
from parties.node.shipping.settings import RecordsSettings
from parties.operator.oidc import OidcSettings
from parties.party_file import STATE, CommandTables, named_files, read
from parties.sources.rights import Line, RetentionDays
from parties.sources.settings import Combine, Tables
from smc.errors import InputError

WEB = "127.0.0.1:7080"
METRICS = "127.0.0.1:7090"
HEALTH = "127.0.0.1:7091"
ALIGNED_HOURS = 30 * 24
DAY_SECONDS = 24 * 3600.0


def _local(value: str) -> str:
    if not parse_address(value, lowest_port=0).is_local:
        raise ValueError(f"must be an address of this machine only, such as 127.0.0.1:7080, not {quoted(value)}")
    return value


LocalAddress = Annotated[Here, AfterValidator(_local)]


class LimitSettings(Settings):
    """The table [node.limits]: limits on what each peer may ask of this node. A refusal names the limit.

    `jobs_a_day` is the number of proposals accepted on a day of UTC. `mib_a_day` limits the rows and entries written
    that day because of the peer's statements. `sessions_a_day` is the number of sessions that may begin at once; it
    refills at this number a day. `waiting` is the number of proposals that wait for the operator.
    `processes` is the number of shards of all sessions with the peer at once; `memory` is their forecast memory in MiB.

    The defaults permit 10,000 quick jobs a day, each with one broken session. Such a job writes 10 kB in all.
    """

    jobs_a_day: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] = 10_000
    mib_a_day: Annotated[int, Field(strict=True, ge=1, le=100_000)] = 256
    sessions_a_day: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] = 20_000
    waiting: Annotated[int, Field(strict=True, ge=1, le=10_000)] = 100
    processes: Annotated[int, Field(strict=True, ge=1, le=1024)] = 16
    memory: Annotated[int, Field(strict=True, ge=1, le=16_777_216)] = 8192


class NodeSettings(Settings):
    """The table [node]. Port 0 is any free one. `web`, `metrics` and `health` serve this machine only.

    With `role = "holder"` the node gives rows to jobs that its two peers compute, and opens no port for them.

    `listen` is the address for connecting peers (that of a single peer may be given under [link] instead). `approvals`
    is the number of people who must approve our jobs, and jobs of a peer that no rule permits; the person who proposed
    a job counts as one. Jobs begun for one of the purposes in `emergency` are reviewed afterwards, by `smc audit
    review`. `sessions` is the number of sessions at once with each peer. `stop` is the number of seconds that running
    sessions have to finish when the node stops. Jobs that ended `retention_days` ago are archived. The rows
    that a job has matched are kept for `aligned_hours` after its end. `sealed` states that the state is encrypted:
    unencrypted state is refused (`smc audit seal`). `link` is the kind of connection to the peer, for predictions only.
    `oidc` is a provider by which people with an account sign in on the page. `limits` limit each peer.
    """

    state: LocalPath = Field(default=Path(STATE), validate_default=True)  # relative to the file, like all its paths
    role: Literal["", "holder"] = ""
    listen: Here | None = None
    web: LocalAddress = WEB
    metrics: LocalAddress = METRICS
    health: LocalAddress = HEALTH
    approvals: Annotated[int, Field(strict=True, ge=1, le=16)] = 1
    retention_days: RetentionDays = None
    aligned_hours: Annotated[int, Field(strict=True, ge=1, le=87_600)] = ALIGNED_HOURS
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
    officer: Line | None = None  # the data protection officer


class PeerSettings(Settings):
    """The peer as this party's administrator describes it.

    `transfer` states the ground on which results go to a third country (GDPR art. 30(1)(e)), or that the peer is in
    none. `share` is the part of each table's budget that jobs with the peer may spend; if left out, an equal part of
    what the other shares leave. `successor` is the peer's signed announcement of a new certificate
    (`records.succession`), which is trusted in addition.
    """

    share: Annotated[float, Field(strict=True, ge=0, le=1)] | None = None
    roles: tuple[str, ...] = ()
    attributes: dict[str, Annotated[bool, Field(strict=True)] | str] = Field(default_factory=dict)
    contact: Line | None = None
    transfer: Line | None = None
    successor: LocalPath | None = None


class PeerEntry(PeerSettings):
    """One of several peers: it connects to this node, unless `connect` gives the address where it listens."""

    name: Line | None = None
    certificate: LocalPath
    connect: There | None = None


class PermitSettings(Settings):
    """The table [permits]: the certificates of the authorities whose permits count here.

    With `required` every job must have a permit. `folder` has the permits under which this party proposes jobs.
    """

    issuers: tuple[LocalPath, ...] = ()
    required: Annotated[bool, Field(strict=True)] = False
    folder: LocalPath | None = None


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
    template: dict[str, Template] = Field(default_factory=dict)
    permits: PermitSettings = Field(default_factory=PermitSettings)

    @model_validator(mode="after")
    def _templates(self) -> NodeFile:
        """Check that each template is the beginning of a job file, and that rules name templates that exist."""
        for name, template in self.template.items():
            try:
                kind = read_job(template.job({})).kind
            except InputError as error:
                raise ValueError(f"template.{name}: {error}") from None
            keys = {parameter.key for parameter in public_parameters(kind.Settings)}
            if wrong := [key for key in template.parameters if key not in keys]:
                raise ValueError(f"template.{name}.parameters.{wrong[0]}: is no setting of {quoted(kind.name)}")
        for rule in self.policy:
            if unknown := [name for name in rule.template if name not in self.template]:
                raise ValueError(f"policy: rule {quoted(rule.name)}: there is no template {quoted(unknown[0])}")
        return self

    def unbounded(self) -> list[str]:
        """Return a line for each permitting rule with the bounds that it lacks."""
        return unbounded(
            self.policy, {name: one.budget is not None for name, one in self.tables.items()}, self.template
        )

    @model_validator(mode="after")
    def _one_place(self) -> NodeFile:
        """Check that a single peer is set under [link] and [peer], several under [[peers]], and a port only once."""
        if self.peers and "peer" in self.model_fields_set:
            raise ValueError("[peer] is for a single peer: move its keys to the [[peers]] of that one")
        if self.peers and (self.link.peer is not None or self.link.connect is not None):
            raise ValueError(
                "link.peer and link.connect are for a single peer: write one more [[peers]] instead, with link.peer as "
                "its certificate and link.connect, if there is one, as its connect"
            )
        if sum(Fraction(peer.share) for peer in self.peers if peer.share is not None) > 1:
            raise ValueError("peers: their shares of budgets add up to more than 1")
        if self.node.listen is not None and (self.link.listen or self.link.connect) is not None:
            raise ValueError("node.listen: [link] already sets where to listen or connect")
        if self.node.role == "holder" and [peer.connect is None for peer in self.peers] != [False, False]:
            raise ValueError(
                'node.role: a holder has two [[peers]], the nodes that compute, each with connect = "HOST:PORT"'
            )
        if self.node.role == "holder" and (self.node.listen or self.link.listen) is not None:
            raise ValueError("node.listen: a holder opens no port to those that compute; remove listen")
        return self

    def ports(self) -> dict[str, str]:
        """Return the addresses of the ports that the node would open, by setting."""
        addresses = {"node.listen": self.node.listen, "link.listen": self.link.listen}
        addresses |= {"node.web": self.node.web, "node.metrics": self.node.metrics, "node.health": self.node.health}
        return {key: address for key, address in addresses.items() if address is not None}

    def shared_ports(self) -> dict[str, str]:
        """Return a message for each port setting whose port an earlier one has, too; port 0 may be set twice."""
        first: dict[str, str] = {}
        wrong = {}
        data_ports = self.link.data_ports if (self.node.listen or self.link.listen) is not None else None
        for key, address in self.ports().items():
            if address in first and not address.endswith(":0"):
                wrong[key] = f"{address} is {first[address]} as well: give each its own port"
            elif data_ports is not None and parse_address(address, lowest_port=0).port in port_range(data_ports):
                wrong[key] = f"{address} has a port of link.data_ports, {data_ports}: give each its own port"
            first.setdefault(address, key)
        return wrong

    def combine(self, table: str) -> Combine:
        """Return how differing rules of a table's owners are combined; for an unknown table, the stricter counts."""
        settings = self.tables.get(table)
        return "deny-overrides" if settings is None else settings.combine


def load(path: Path) -> NodeFile:
    """Read a node's `party.toml`. Raise InputError with the file and the key at fault."""
    file = read(NodeFile, path)
    if shipped := [target.file for target in file.records.ship if target.file is not None]:
        named = [os.path.realpath(other) for other in named_files(path)]
        for path_ in shipped:
            if named.count(os.path.realpath(path_)) > 1:
                raise InputError(f"{path}: records.ship.file: {path_} is another file of this node's: name a new one")
            if os.path.realpath(path_.parent) == os.path.realpath(file.node.state):
                raise InputError(f"{path}: records.ship.file: {path_} is in the node's state: name another directory")
    return file
