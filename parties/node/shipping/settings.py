"""Settings of shipping: the targets of audit log entries.

[[records.ship]]
file = "/var/log/smc/audit.jsonl"

[[records.ship]]
name = "siem"                            # left out: the location; for a web address the host
syslog = "logs.clinic-a.example:6514"    # RFC 5424 over TLS (RFC 5425)
ca = "keys/logs-ca.crt"                  # trusted CA; left out: the system's CAs
certificate = "keys/a-logs.crt"          # ours, if the server requires one
key = "keys/a-logs.key"

[[records.ship]]
webhook = "https://siem.example/hook"    # JSON lines by POST
token_file = "keys/siem.token"           # its first line is sent as Authorization: Bearer; or systemd's credential

[[records.ship]]
otlp = "https://collector.example:4318/v1/logs"    # OpenTelemetry's logs, OTLP over HTTP in JSON
"""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, model_validator

from parties.base.settings import LocalPath, Seconds, Settings
from parties.base.text import quoted
from parties.node.notify import ServerAddress, ServerSettings, TokenAddress
from parties.sources.rights import line


class ShipSettings(ServerSettings):
    """The table [[records.ship]]: one target of log entries. `seconds` is the deadline of one sending."""

    name: Annotated[str, AfterValidator(line)] = ""
    file: LocalPath | None = None
    syslog: ServerAddress | None = None
    webhook: TokenAddress | None = None
    otlp: TokenAddress | None = None
    seconds: Seconds = 10.0

    @property
    def where(self) -> str:
        """The location to which entries go."""
        return str(self.file or self.syslog or self.web)

    @property
    def web(self) -> str | None:
        """The web address to which entries go by POST."""
        return self.webhook or self.otlp

    @property
    def called(self) -> str:
        """The target's name in the database and the node's log.

        For a web address it is the host alone, since the rest of the address is usually secret.
        """
        host = self.web and urlsplit(self.web).hostname
        return self.name or host or self.where

    @model_validator(mode="after")
    def _one_way(self) -> ShipSettings:
        if sum(way is not None for way in (self.file, self.syslog, self.webhook, self.otlp)) != 1:
            raise ValueError("give one of file, syslog, webhook and otlp")
        if self.file is not None and (self.ca or self.certificate or self.key):
            raise ValueError("ca, certificate and key are for a server, not for a file")
        if self.token_file is not None and self.web is None:
            raise ValueError("token_file is for webhook and otlp")
        return self


class RecordsSettings(Settings):
    """The table [records] of `party.toml`: the targets to which log entries are shipped."""

    ship: tuple[ShipSettings, ...] = ()

    @model_validator(mode="after")
    def _names(self) -> RecordsSettings:
        names = [target.called for target in self.ship]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"two targets are called {quoted(twice[0])}: give each a name")
        return self
