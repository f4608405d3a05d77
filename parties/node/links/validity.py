"""Validity of a link's certificates: a warning a month before one expires, and the reason why no session can begin."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from cryptography import x509

from parties.link.identity import SOON
from parties.node.peers import PeerIdentity

LOOK_SECONDS = 600.0
AGAIN_SECONDS = 24 * 3600.0  # before a warning is repeated


def lapsed(who: PeerIdentity) -> str:
    """Return the reason why no session with this peer can begin now; empty if both certificates are valid."""
    if who.is_overdue:
        return f"{who.peer_name}'s certificate should have been replaced by now, but it has not used its new one"
    for certificate, whose, what in _both(who):
        begins, ends = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        if datetime.now(UTC) > ends:
            return f"{whose} certificate expired on {_when(ends)}: {what}"
        if datetime.now(UTC) < begins:
            return f"{whose} certificate is not valid before {_when(begins)}: one of the clocks is wrong"
    return ""


def warning(who: PeerIdentity) -> str:
    """Return the text of `lapsed`, or a line on the certificate that expires within a month; empty otherwise.

    A peer's certificate whose successor is here needs nothing: it is replaced at its first use.
    """
    if why := lapsed(who):
        return why
    for certificate, whose, what in _both(who):
        if who.successor is not None and certificate == who.peer:
            continue
        if certificate.not_valid_after_utc - datetime.now(UTC) < SOON:
            return f"{whose} certificate ends on {_when(certificate.not_valid_after_utc)}: {what}"
    return ""


def days_left(certificate: x509.Certificate) -> float:
    """Return the number of days until a certificate ends; below 0 if it has ended."""
    return (certificate.not_valid_after_utc - datetime.now(UTC)).total_seconds() / (24 * 3600)


class Watch:
    """A thread that reports texts by subject: when a text changes, and daily while it stays."""

    def __init__(
        self, look: Callable[[], Mapping[str, str]], tell: Callable[[str, str], None], seconds: float = LOOK_SECONDS
    ) -> None:
        self._look, self._tell, self._seconds = look, tell, seconds
        self._over = threading.Event()

    def start(self) -> None:
        """Look now, and repeatedly from now on."""
        threading.Thread(target=self._watch, name="smc-watch", daemon=True).start()

    def stop(self) -> None:
        """Stop looking."""
        self._over.set()

    def _watch(self) -> None:
        warned: dict[str, tuple[str, float]] = {}
        while not self._over.is_set():
            now = datetime.now(UTC).timestamp()
            for name, text in self._look().items():
                before, at = warned.get(name, ("", 0.0))
                if text and (text != before or now - at >= AGAIN_SECONDS):
                    self._tell(name, text)
                    warned[name] = text, now
            self._over.wait(self._seconds)


def _both(who: PeerIdentity) -> list[tuple[x509.Certificate, str, str]]:
    """Return each certificate, its owner, and the remedy when it expires; the first to expire comes first."""
    name = who.peer_name
    ours = f"make a new one (smc identity create), give it to {name}, and start the node with it"
    theirs = f"ask {name} for a new one, install it, and restart the node"
    both = [(who.identity.certificate, "our", ours), (who.peer, f"{name}'s", theirs)]
    return sorted(both, key=lambda entry: entry[0].not_valid_after_utc)


def _when(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
