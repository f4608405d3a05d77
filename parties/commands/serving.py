"""A node's page, API and figures: their addresses, and the people who may use them."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping

from parties.base import files
from parties.base.address import parse_address
from parties.base.settings import at_key
from parties.commands.log_writing import accounts_of
from parties.node.events import Events
from parties.node.notify import Notifier, NotifySettings
from parties.node.settings import NodeSettings
from parties.operator.accounts import unix_user
from parties.operator.interface import Operator
from parties.operator.oidc import Provider
from parties.operator.people import Person
from parties.sources.settings import TableSettings
from parties.web.api import routes
from parties.web.app import make_app
from parties.web.login import Logins
from parties.web.metrics import make_metrics
from parties.web.own_tables import OwnTables
from parties.web.server import WebServer
from parties.web.sign_on import SignOn


class Page:
    """Page and API of a node; `api.json` in its state directory has the address and the key for commands."""

    def __init__(
        self,
        settings: NodeSettings,
        notify: NotifySettings | None = None,
        tables: Mapping[str, TableSettings] | None = None,
    ) -> None:
        self._settings, self._tables = settings, OwnTables(tables)
        self._notify = notify or NotifySettings()
        self._notifier: Notifier | None = None
        self._access = settings.state / "api.json"
        self._accounts = accounts_of(settings.state)
        self._logins = Logins(accounts=self._accounts)
        self._sign_on: SignOn | None = None
        if settings.oidc is not None:
            with at_key("node.oidc"):
                self._sign_on = SignOn(Provider(settings.oidc), self._logins, self._accounts)
        self._server: WebServer | None = None
        self._metrics: WebServer | None = None

    def start(self, operator: Operator, events: Events, failed: Callable[[str, str], None]) -> dict[str, str]:
        """Start the servers, and return the URLs of the page and of the figures.

        Args:
            operator: Calls that operators may make.
            events: Log and figures of the node.
            failed: Called after a failed log-in, with the name of an existing account or "", and the reason.
        """
        self._accounts.all()  # otherwise no person could log in
        key = secrets.token_urlsafe(32)
        self._logins.failed = failed
        api = routes(operator, key, self.login_link, self._on_terminal)
        app = make_app(operator, self._logins, api, self._tables, self._sign_on)
        self._server = WebServer(parse_address(self._settings.web, lowest_port=0), app)
        with at_key("node.web"):
            self._server.start()
        figures = make_metrics(events.registry)
        self._metrics = WebServer(
            parse_address(self._settings.metrics, lowest_port=0), figures, what="the metrics page"
        )
        with at_key("node.metrics"):
            self._metrics.start()
        files.write_text(self._access, json.dumps({"url": self._url, "key": key}) + "\n", private=True)
        self._notifier = Notifier(self._notify, operator, self._url, events.log)
        self._notifier.start()
        return {"web": self._url, "metrics": f"http://{self._metrics.address}/metrics"}

    def login_link(self) -> str:
        """Return a link for one login as this Unix user. Raise NotAllowedError if only other people have accounts."""
        return self._logins.link(self._url, self._on_terminal())

    def _on_terminal(self) -> Person:
        """Return the operator as whom commands act: that of this Unix user, who alone can read the commands' key."""
        return self._accounts.on_terminal(unix_user())

    def stop(self) -> None:
        """Stop the servers; may be called twice, or without a start."""
        if self._notifier is not None:
            self._notifier.stop()
        for server in (self._server, self._metrics):
            if server is not None:
                server.stop()
        if self._server is not None:
            self._access.unlink(missing_ok=True)

    @property
    def _url(self) -> str:
        assert self._server is not None
        return f"http://{self._server.address}"
