"""Log-ins by the identity provider: browsers sent to it, and their return.

A browser that is sent away gets a cookie. The answer that it brings back is valid once, within ten minutes, and only
with that cookie, so nobody can sign in another person. An answer without it does not count as a log-in, not even as a
failed one: any foreign page can make a browser send it. The number of browsers sent away, kept in memory, and of
threads that wait for the provider is bounded.
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

MAX_AWAY = 64  # browsers sent away at a time; the oldest are dropped
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
        """Return the URL for a browser that will return to `back`, and its cookie. Raise InputError on failure."""
        with self._turn():
            request, cookie = self._provider.begin(back), secrets.token_urlsafe(32)
        with self._lock:
            kept = {key: entry for key, entry in self._away.items() if entry[0] > self._clock()}
            self._away = dict([*kept.items()][1 - MAX_AWAY :]) | {cookie: (self._clock() + LINK_SECONDS, request)}
        return request.url, cookie

    def finish(self, cookie: str, answer: Mapping[str, str]) -> Login:
        """Start a session for a browser that has returned.

        Args:
            cookie: Cookie of the browser.
            answer: The provider's answer, in the query.

        Raises:
            InputError: The person has no account here, which is a failed log-in, or no log-in was begun.
        """
        with self._lock:
            until, request = self._away.pop(cookie, (0.0, None))
        if request is None or until <= self._clock():
            raise InputError("this log-in was not started in this browser, or took too long: start it again")

        def proven() -> Person:
            person = self._accounts.of_oidc(self._provider.identity(request, answer))
            if person is None:
                raise InputError(
                    "no account here belongs to the person named by the log-in provider; an administrator adds one: "
                    "smc operator add NAME --oidc PERSON"
                )
            return person

        with self._turn():
            return self._logins.log_in_as(proven)

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Run the block, which waits for the provider. Raise InputError if too many threads do so already."""
        if not self._asking.acquire(blocking=False):
            raise InputError(f"the log-in provider {self.name} keeps others waiting: try again in a moment")
        try:
            yield
        finally:
            self._asking.release()
