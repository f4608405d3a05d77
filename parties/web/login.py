"""Who may use the page: one-time login links, and the sessions that they begin.

Whoever can ask the node for a link (through `smc web` and the key of `api.json`) may open the page once with it; the
browser then keeps a session in a cookie. Nothing is stored on disk: a node that starts anew has no sessions.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

LINK_SECONDS = 600.0  # until an unused link expires
SESSION_SECONDS = 12 * 3600.0  # without use, until a session expires
MAX_LINKS = 64  # unused at a time; the oldest go first
MAX_SESSIONS = 64


@dataclass
class Login:
    """A browser that has signed in: what its cookie and its forms must carry. `expires` is on the logins' clock."""

    secret: str = field(repr=False)
    form_token: str = field(repr=False)
    expires: float


@dataclass
class _Token:
    """A login link that has not been used."""

    token: str = field(repr=False)
    expires: float


class Logins:
    """Login links and sessions. May be called from several threads. `clock` tells seconds that never go back."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._links: list[_Token] = []
        self._sessions: list[Login] = []
        self._lock = threading.Lock()

    def link(self, origin: str) -> str:
        """Return a fresh login link; `origin` is the page's own address, e.g. `http://127.0.0.1:7080`.

        It works once, within `LINK_SECONDS`.
        """
        with self._lock:
            self._forget()
            link = _Token(secrets.token_urlsafe(32), self._clock() + LINK_SECONDS)
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
            session = Login(secrets.token_urlsafe(32), secrets.token_urlsafe(32), self._clock() + SESSION_SECONDS)
            self._sessions = [*self._sessions[1 - MAX_SESSIONS :], session]
            return session

    def session(self, secret: str, in_use: bool = True) -> Login | None:
        """Return the session of a cookie, if there is one; `in_use` says that it is a person who asks, not a timer."""
        with self._lock:
            self._forget()
            sessions = [session for session in self._sessions if _same(session.secret, secret)]
            if not sessions:
                return None
            if in_use:
                sessions[0].expires = self._clock() + SESSION_SECONDS
            return sessions[0]

    def sign_out(self, session: Login) -> None:
        """End a session."""
        with self._lock:
            self._sessions = [other for other in self._sessions if other is not session]

    def _forget(self) -> None:
        """Drop what has expired."""
        now = self._clock()
        self._links = [link for link in self._links if link.expires > now]
        self._sessions = [session for session in self._sessions if session.expires > now]


def is_from(session: Login, form_token: str) -> bool:
    """Return whether a form with this token was shown in this session."""
    return _same(session.form_token, form_token)


def _same(expected: str, received: str) -> bool:
    """Compare two secrets in a time that says nothing of where they differ."""
    return hmac.compare_digest(expected.encode(), received.encode())
