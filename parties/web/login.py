"""Who may use the page: one-time login links, names with passwords, and the sessions that they begin.

Whoever can ask the node for a link (through `smc web` and the key of `api.json`) may open the page once with it, as the
person that the link is for; so may, where people have accounts, who knows a name and its password, or whom the log-in
provider names (`sign_on`). The browser then keeps a session in a cookie. Nothing is stored on disk: a node that starts
anew has no sessions.
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
SESSION_SECONDS = 12 * 3600.0  # without use, until a session expires; of a person, however much it is used
IDLE_SECONDS = 30 * 60.0  # without use, until a person's expires
FAILURES, FAILURE_SECONDS = 5, 60.0  # log-ins of one name that may fail at once, and then one in so many seconds
ALL_FAILURES, ALL_SECONDS = 30, 3.0  # likewise of all names together
TOO_MANY = "too many log-ins have failed: wait a minute, and try again"
MAX_NAME = 64  # characters of a name that count
MAX_NAMES = 256  # whose failures are counted, the last ones: more than all failures until a name's are forgotten
MAX_LINKS = 64  # unused at a time; the oldest go first
MAX_OF_PERSON = 4  # sessions of one person
MAX_SESSIONS = 64


@dataclass
class Login:
    """A browser that has signed in: who it is, with the roles of now, and what its cookie and its forms must carry.

    `expires` and `ends`, which no use puts off, are on the logins' clock.
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
    """Login links and sessions. May be called from several threads. `clock` tells seconds that never go back.

    `failed` is called with the name, if it is a person's, and with why, after each log-in that failed.
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
        self._computing = threading.Lock()  # one password at a time: each takes its time and 19 MiB
        self._rates: dict[str, Rate] = {}
        self._rate = Rate(ALL_FAILURES, 1 / ALL_SECONDS, clock)
        self._provider_rate = Rate(ALL_FAILURES, 1 / ALL_SECONDS, clock)  # apart: wrong passwords lock nobody out of it

    @property
    def by_name(self) -> bool:
        """True if people have accounts, and sign in by name and password."""
        return bool(self._accounts.all())

    def link(self, origin: str, person: Person = UNNAMED) -> str:
        """Return a fresh login link for a person; `origin` is the page's own address, e.g. `http://127.0.0.1:7080`.

        It works once, within `LINK_SECONDS`.
        """
        with self._lock:
            self._forget()
            link = _Token(secrets.token_urlsafe(32), person, self._clock() + LINK_SECONDS)
            self._links = [*self._links[1 - MAX_LINKS :], link]
        return f"{origin}/login?token={link.token}"

    def sign_in(self, token: str) -> Login | None:
        """Use up a link's token and begin a session; None if there is no such link (any more)."""
        with self._lock:
            self._forget()
            used = [link for link in self._links if _same(link.token, token)]
            if not used:
                return None
            self._links.remove(used[0])
            person = self._accounts.now(used[0].person)
            return None if person is None else self._begin(person)

    def log_in(self, name: str, password: str) -> Login:
        """Begin a session of the person of this name and password.

        `InputError` if there is none, or if too many log-ins have failed, of this name or of all: then nothing is
        computed. It is the same, and takes as long, whether there is such a name or not.
        """
        known = name if name in self._accounts.all() else ""
        if (rate := self._rate_of(name)) is None:
            self.failed(known, "too many have failed")
            raise InputError(TOO_MANY)
        with self._computing:
            person = self._accounts.signed_in(name, password)
        if person is None:
            self.failed(known, "wrong password" if known else "no such name")
            raise InputError("there is no such name with this password")
        rate.back()
        self._rate.back()
        with self._lock:
            return self._begin(person)

    def log_in_as(self, proven: Callable[[], Person]) -> Login:
        """Begin a session of the person whom `proven` returns; what it raises, `InputError`, is a failed log-in."""
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
        if person.name and len(of_person) >= MAX_OF_PERSON:  # nobody ends another's sessions by signing in
            self._sessions.remove(of_person[0])
        self._sessions = [*self._sessions[1 - MAX_SESSIONS :], session]
        return session

    def _rate_of(self, name: str) -> Rate | None:
        """Take one log-in of a name, and return the rate at which they may fail; None if it is too much."""
        with self._lock:
            if not self._rate.allows():  # first: so no more names than this allows push others out
                return None
            rate = self._rates.pop(name[:MAX_NAME], None) or Rate(FAILURES, 1 / FAILURE_SECONDS, self._clock)
            self._rates = dict([*self._rates.items()][1 - MAX_NAMES :]) | {name[:MAX_NAME]: rate}
            if rate.allows():
                return rate
            self._rate.back()
            return None

    def session(self, secret: str, in_use: bool = True) -> Login | None:
        """Return the session of a cookie, if there is one; `in_use` says that it is a person who asks, not a timer."""
        with self._lock:
            self._forget()
            sessions = [session for session in self._sessions if _same(session.secret, secret)]
            if not sessions:
                return None
            session = sessions[0]
            if (person := self._accounts.now(session.person)) is None:  # the account has gone, or has just come
                self._sessions.remove(session)
                return None
            session.person = person
            if in_use:
                session.expires = self._clock() + _idle(session)
            return session

    def sign_out(self, session: Login) -> None:
        """End a session."""
        with self._lock:
            self._sessions = [other for other in self._sessions if other is not session]

    def _forget(self) -> None:
        """Drop what has expired."""
        now = self._clock()
        self._links = [link for link in self._links if link.expires > now]
        self._sessions = [session for session in self._sessions if min(session.expires, session.ends) > now]


def _idle(session: Login) -> float:
    return IDLE_SECONDS if session.person.name else SESSION_SECONDS


def is_from(session: Login, form_token: str) -> bool:
    """Return whether a form with this token was shown in this session."""
    return _same(session.form_token, form_token)


def _same(expected: str, received: str) -> bool:
    """Compare two secrets in a time that says nothing of where they differ."""
    return hmac.compare_digest(expected.encode(), received.encode())
