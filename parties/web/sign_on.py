"""Log-ins by the provider of identities: who was sent there, and what becomes of who comes back.

A browser that is sent away gets a cookie; the answer that it brings back counts once, within ten minutes, and only with
that cookie, so nobody can sign somebody else in. What comes without it is no log-in, not even one that fails: any page
elsewhere can make a browser send it. What is kept is bounded, and in memory, and so is how many wait for the provider.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from parties.operator.accounts import Accounts
from parties.operator.oidc import Provider, Request
from parties.operator.people import Person
from parties.web.login import LINK_SECONDS, Login, Logins
from smc.errors import InputError

MAX_AWAY = 64  # browsers that are sent away at a time; the oldest go first
MAX_ASKING = 8  # of the page's threads that wait for the provider at a time


class SignOn:
    """Log-ins of people with an account, by a provider. May be called from several threads."""

    def __init__(
        self, provider: Provider, logins: Logins, accounts: Accounts, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._provider, self._logins, self._accounts, self._clock = provider, logins, accounts, clock
        self._away: dict[str, tuple[float, Request]] = {}
        self._lock = threading.Lock()
        self._asking = threading.BoundedSemaphore(MAX_ASKING)

    @property
    def name(self) -> str:
        """The provider's name for people."""
        return self._provider.name

    def begin(self, back: str) -> tuple[str, str]:
        """Return where to send a browser that shall come back to `back`, and its cookie. `InputError` if nowhere."""
        with self._turn():
            request, cookie = self._provider.begin(back), secrets.token_urlsafe(32)
        with self._lock:
            kept = {key: entry for key, entry in self._away.items() if entry[0] > self._clock()}
            self._away = dict([*kept.items()][1 - MAX_AWAY :]) | {cookie: (self._clock() + LINK_SECONDS, request)}
        return request.url, cookie

    def finish(self, cookie: str, answer: Mapping[str, str]) -> Login:
        """Begin a session of whoever has come back with this cookie and the provider's answer, the query.

        `InputError` if that is nobody with an account here, then a log-in has failed; or if none was begun.
        """
        with self._lock:
            until, request = self._away.pop(cookie, (0.0, None))
        if request is None or until <= self._clock():
            raise InputError("this log-in was not begun in this browser, or has taken too long: begin it again")

        def proven() -> Person:
            person = self._accounts.of_oidc(self._provider.identity(request, answer))
            if person is None:
                raise InputError("nobody with an account here is whom the log-in provider names")
            return person

        with self._turn():
            return self._logins.log_in_as(proven)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for the provider, in the enclosed block, if not too many do already. `InputError` if so."""
        if not self._asking.acquire(blocking=False):
            raise InputError(f"the log-in provider {self.name} keeps others waiting: try again in a moment")
        try:
            yield
        finally:
            self._asking.release()
