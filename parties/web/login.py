"""Authentication for the page: one-time login links, names with passwords, and the sessions that they start.

A caller that can ask the node for a link (through `smc web` and the key of `api.json`) may open the page once with it,
as the person that the link is for. If people have accounts, a name with its password also starts a session, as does the
identity that the provider states (`sign_on`). The browser then has a session cookie. Nothing is stored on disk: a
restarted node has no sessions.
"""

from __future__ import annotations

import hmac
import math
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from parties.base.rate import Rate
from parties.operator.accounts import Accounts
from parties.operator.people import UNNAMED, Person
from smc.errors import InputError

LINK_SECONDS = 600.0  # until an unused link expires
SESSION_SECONDS = 12 * 3600.0  # without use, until a session expires; for a person, even in use
IDLE_SECONDS = 30 * 60.0  # without use, until a person's session expires
FAILURES, FAILURE_SECONDS = 5, 60.0  # failed log-ins of one name at once, then one in each interval
ALL_FAILURES, ALL_SECONDS = 30, 3.0  # likewise for all names together
TOO_MANY = "too many log-ins have failed: wait a minute, and try again"
MAX_NAME = 64  # characters of a name that count
MAX_NAMES = 256  # names whose failures are counted, the last ones: more than all failures until a name's expire
MAX_LINKS = 64  # unused at a time; the oldest are dropped
MAX_OF_PERSON = 4  # sessions of one person
MAX_SESSIONS = 64


@dataclass
class Login:
    """A browser that has signed in: the person with present roles, and the secrets in its cookie and its forms.

    `expires` and `ends` are on the logins' clock; use does not extend `ends`.
    """

    secret: str = field(repr=False)
    form_token: str = field(repr=False)
    person: Person
    expires: float
    ends: float


@dataclass
class _Token:
    """A login link that has not been used."""

    token: str = field(repr=False)
    person: Person
    expires: float


class Logins:
    """Login links and sessions. May be called from several threads. `clock` returns monotonic seconds.

    `failed` is called after each failed log-in, with the name, if it is that of an account, and the reason.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        accounts: Accounts | None = None,
        failed: Callable[[str, str], None] = lambda name, why: None,
    ) -> None:
        self._clock, self.failed = clock, failed
        self._accounts = accounts or Accounts()
        self._links: list[_Token] = []
        self._sessions: list[Login] = []
        self._lock = threading.Lock()
        self._computing = threading.Lock()  # one password at a time: each takes some time and 19 MiB
        self._rates: dict[str, Rate] = {}
        self._rate = Rate(ALL_FAILURES, 1 / ALL_SECONDS, clock)
        # separate, so that wrong passwords do not block the provider
        self._provider_rate = Rate(ALL_FAILURES, 1 / ALL_SECONDS, clock)

    @property
    def by_name(self) -> bool:
        """True if people have accounts, and sign in by name and password."""
        return bool(self._accounts.all())

    def link(self, origin: str, person: Person = UNNAMED) -> str:
        """Return a fresh login link, which works once, within `LINK_SECONDS`.

        Args:
            origin: The page's own address, e.g. `http://127.0.0.1:7080`.
            person: The person that it is for.
        """
        with self._lock:
            self._forget()
            link = _Token(secrets.token_urlsafe(32), person, self._clock() + LINK_SECONDS)
            self._links = [*self._links[1 - MAX_LINKS :], link]
        return f"{origin}/login?token={link.token}"

    def sign_in(self, token: str) -> Login | None:
        """Start a session for the token of a login link, which works once; None if there is no such link (any more)."""
        with self._lock:
            self._forget()
            used = [link for link in self._links if _same(link.token, token)]
            if not used:
                return None
            self._links.remove(used[0])
            person = self._accounts.now(used[0].person)
            return None if person is None else self._begin(person)

    def log_in(self, name: str, password: str) -> Login:
        """Start a session for a name and password.

        The error and its time are the same whether the name exists or not.

        Args:
            name: The name.
            password: The password.

        Raises:
            InputError: Name or password is wrong, or too many log-ins of this name or of all names have failed; then no
                hash is computed.
        """
        existing_name = name if name in self._accounts.all() else ""
        if (rate := self._rate_of(name)) is None:
            self.failed(existing_name, "too many have failed")
            raise InputError(TOO_MANY)
        with self._computing:
            person = self._accounts.signed_in(name, password)
        if person is None:
            self.failed(existing_name, "wrong password" if existing_name else "no such name")
            raise InputError("no account has this name and password")
        rate.back()
        self._rate.back()
        with self._lock:
            return self._begin(person)

    def log_in_as(self, proven: Callable[[], Person]) -> Login:
        """Start a session of the person whom `proven` returns; an InputError that it raises is a failed log-in."""
        if not self._provider_rate.allows():
            self.failed("", "too many have failed")
            raise InputError(TOO_MANY)
        try:
            person = proven()
        except InputError as error:
            self.failed("", str(error))
            raise
        self._provider_rate.back()
        with self._lock:
            return self._begin(person)

    def _begin(self, person: Person) -> Login:
        now = self._clock()
        ends = now + SESSION_SECONDS if person.name else math.inf
        session = Login(secrets.token_urlsafe(32), secrets.token_urlsafe(32), person, 0.0, ends)
        session.expires = now + _idle(session)
        of_person = [other for other in self._sessions if other.person.name == person.name]
        if person.name and len(of_person) >= MAX_OF_PERSON:  # nobody ends another person's sessions by signing in
            self._sessions.remove(of_person[0])
        self._sessions = [*self._sessions[1 - MAX_SESSIONS :], session]
        return session

    def _rate_of(self, name: str) -> Rate | None:
        """Take one of a name's allowed log-in attempts; return the name's rate, to give it back after a success.

        Return None if no attempt is left now, for this name or for all names together.
        """
        with self._lock:
            if not self._rate.allows():  # first, so that no more names than this rate allows can displace others
                return None
            rate = self._rates.pop(name[:MAX_NAME], None) or Rate(FAILURES, 1 / FAILURE_SECONDS, self._clock)
            self._rates = dict([*self._rates.items()][1 - MAX_NAMES :]) | {name[:MAX_NAME]: rate}
            if rate.allows():
                return rate
            self._rate.back()
            return None

    def session(self, secret: str, in_use: bool = True) -> Login | None:
        """Return the session of a cookie; None if there is none.

        Args:
            secret: The cookie's content.
            in_use: Whether a person makes the request, rather than a timer.
        """
        with self._lock:
            self._forget()
            sessions = [session for session in self._sessions if _same(session.secret, secret)]
            if not sessions:
                return None
            session = sessions[0]
            # the account was removed, or the first one was made
            if (person := self._accounts.now(session.person)) is None:
                self._sessions.remove(session)
                return None
            session.person = person
            if in_use:
                session.expires = self._clock() + _idle(session)
            return session

    def sign_out(self, session: Login) -> None:
        """End the session of a browser."""
        with self._lock:
            self._sessions = [other for other in self._sessions if other is not session]

    def _forget(self) -> None:
        now = self._clock()
        self._links = [link for link in self._links if link.expires > now]
        self._sessions = [session for session in self._sessions if min(session.expires, session.ends) > now]


def _idle(session: Login) -> float:
    return IDLE_SECONDS if session.person.name else SESSION_SECONDS


def is_from(session: Login, form_token: str) -> bool:
    """Return whether a form with this token was shown in this session.

    Args:
        session: The session.
        form_token: The token.
    """
    return _same(session.form_token, form_token)


def _same(expected: str, received: str) -> bool:
    """Return whether two secrets are equal, in constant time."""
    return hmac.compare_digest(expected.encode(), received.encode())
