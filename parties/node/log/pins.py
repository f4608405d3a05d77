"""Trusted certificates of peers: revocations, and the replacement of a certificate by its successor."""

from __future__ import annotations

from parties.base.text import quoted
from parties.link.identity import fingerprint
from parties.node.log.heads import Heads
from parties.node.log.node_log import NodeLog
from parties.node.peers import PeerIdentity
from parties.operator.people import acting
from smc.errors import InputError


class Pins:
    """The certificates of a node's peers, as its log knows them. `revoked` are fingerprints."""

    def __init__(self, log: NodeLog, heads: Heads) -> None:
        self._log, self._heads = log, heads
        entries = log.audit.of_kind("pin revoked")
        self.revoked = frozenset(entry.fields["peer_fingerprint"] for entry in entries)

    def is_revoked(self, who: PeerIdentity) -> bool:
        """Return whether a peer's present certificate has been revoked."""
        return fingerprint(who.peer) in self.revoked

    def revoke(self, peer: str, why: str) -> None:
        """Revoke a peer's present certificate.

        Args:
            peer: Name of the peer.
            why: Reason for the log.

        Raises:
            InputError: There is no such peer, or its certificate is revoked already.
        """
        with self._log.writing():
            who = self._log.peers.named(peer)
            if self.is_revoked(who):
                raise InputError(f"the certificate of {quoted(peer)} is revoked already")
            fields = {"peer": who.peer_name, "peer_fingerprint": fingerprint(who.peer), "why": why}
            self._log.audit.append("pin revoked", None, {**fields, "person": acting.get()})
        self.revoked |= {fingerprint(who.peer)}

    def succeed(self, who: PeerIdentity) -> PeerIdentity:
        """Replace a peer's certificate by its successor; return the peer with the new one.

        The log gets one entry, however often this is called.
        """
        with self._log.writing():
            if not self._is_replaced(who):
                new = {"peer": who.peer_name, "peer_fingerprint": fingerprint(who.succeeded.peer)}
                self._log.audit.append("pin replaced", None, {**new, "former_fingerprint": fingerprint(who.peer)})
                self._heads.succeed(who)
        self._log.peers.replace(who.succeeded)
        return who.succeeded

    def is_succeeded(self, who: PeerIdentity) -> bool:
        """Return whether a peer has connected with its new certificate before."""
        with self._log.reading():
            return self._is_replaced(who)

    def _is_replaced(self, who: PeerIdentity) -> bool:
        if who.successor is None:
            return False
        prints = fingerprint(who.peer), fingerprint(who.successor.certificate)
        replacements = (entry.fields for entry in self._log.audit.of_kind("pin replaced"))
        return any((fields["former_fingerprint"], fields["peer_fingerprint"]) == prints for fields in replacements)
