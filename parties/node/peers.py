"""The peers of a node: their certificates, their links, and this party's number with each of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from cryptography import x509

from parties.base.text import did_you_mean, listed, quoted
from parties.link.identity import Identity, common_name, fingerprint, load_certificate, load_identity, short_fingerprint
from parties.link.options import LinkOptions, options_of
from parties.link.settings import LinkSettings, require_link
from parties.node.records import succession
from parties.node.records.succession import Succession, Successor
from parties.node.settings import NodeFile, PeerSettings
from smc.errors import InputError

Found = TypeVar("Found")


@dataclass(frozen=True)
class PeerDescription:
    """A peer as this party's settings describe it. If `certificate` is None, `name` may be None, too."""

    certificate: x509.Certificate | None
    settings: PeerSettings
    name: str | None


@dataclass(frozen=True)
class PeerIdentity:
    """Our identity and the peer's certificate. `party` is our number, 0 if the peer connects to us."""

    identity: Identity
    peer: x509.Certificate
    party: int
    settings: PeerSettings = field(default_factory=PeerSettings)
    name: str = ""  # local name of the peer; if empty, that of its certificate
    share: float = 1.0  # of each table's privacy budget
    successor: Successor | None = None  # of the peer's certificate, until it is used
    # the peer's former certificate: statements signed with it may still be on their way, and jobs list it
    former: x509.Certificate | None = None
    succession: Succession | None = None  # by which the former certificate has named the present one

    @property
    def trusted(self) -> list[x509.Certificate]:
        """The certificates with which the peer may connect."""
        return [self.peer, *([] if self.successor is None else [self.successor.certificate])]

    @property
    def succeeded(self) -> PeerIdentity:
        """A copy with the peer's new certificate in place of the present one, under the same name."""
        assert self.successor is not None
        new, word = self.successor.certificate, self.successor.word
        return replace(self, peer=new, successor=None, name=self.peer_name, former=self.peer, succession=word)

    @property
    def is_overdue(self) -> bool:
        """True if the peer's certificate should have been replaced by now."""
        return self.successor is not None and self.successor.is_due

    @property
    def certificates(self) -> list[x509.Certificate]:
        """All certificates that are this peer's: the present, the next and the former one."""
        return [*self.trusted, *([] if self.former is None else [self.former])]

    def signer(self, is_signed_by: Callable[[x509.Certificate], bool]) -> x509.Certificate | None:
        """Return the certificate of this peer under which the signature is valid; None if none is."""
        return next(filter(is_signed_by, self.certificates), None)

    def listed(self, participants: Collection[str]) -> x509.Certificate | None:
        """Return the certificate by which a job lists this peer, now or formerly; None if the job does not list it.

        Args:
            participants: Fingerprints of participants of the job.
        """
        return next((one for one in self.certificates if fingerprint(one) in participants), None)

    @property
    def peer_name(self) -> str:
        """The peer's local name; without one, the name in its certificate."""
        return self.name or common_name(self.peer)

    @property
    def acquaintance(self) -> PeerDescription:
        """Description of the peer, without the link to it."""
        return PeerDescription(self.peer, self.settings, self.peer_name)


class Peers:
    """The peers of a node, at least one, by name."""

    def __init__(self, all_: Sequence[PeerIdentity]) -> None:
        self._by_name = {who.peer_name: who for who in all_}
        self.identity = all_[0].identity

    def __iter__(self) -> Iterator[PeerIdentity]:
        return iter(self._by_name.values())

    def __len__(self) -> int:
        return len(self._by_name)

    def replace(self, who: PeerIdentity) -> None:
        """Replace the peer of this name."""
        self._by_name[who.peer_name] = who

    def get(self, name: str) -> PeerIdentity | None:
        """Return the peer of this name; None if there is none."""
        return self._by_name.get(name)

    def are(self, certificates: Sequence[x509.Certificate], participants: Sequence[str]) -> bool:
        """Return whether these are certificates of a job's participants in this order, now or formerly.

        Args:
            certificates: The certificates.
            participants: Fingerprints in the job.
        """
        return len(certificates) == len(participants) and all(
            any(one in who.certificates and who.listed([listed]) is not None for who in self)
            for one, listed in zip(certificates, participants, strict=True)
        )

    def named(self, name: str | None) -> PeerIdentity:
        """Return the named peer; None names the only one. Raise InputError if there is no such peer, or several."""
        return _chosen(self._by_name, name)


class MisnamedError(InputError):
    """A peer has the name of another peer, or a different name than before."""


def misnamed(who: PeerIdentity, peers: Iterable[PeerIdentity], known: Mapping[str, str]) -> str:
    """Return why a peer's name does not fit its certificate; empty if it is that of the certificate, or unchanged.

    A new certificate may have any name that no other certificate in the file bears. Otherwise two peers' certificates
    may have been swapped.

    Args:
        who: The peer.
        peers: All peers of the file.
        known: Names by certificate fingerprint, from the log.
    """
    subject, name = common_name(who.peer), who.peer_name
    before = known.get(fingerprint(who.peer), "")
    if name in (subject, before):
        return ""
    if before:
        return (
            f"peers: the certificate {short_fingerprint(who.peer)} is called {quoted(name)}, and the log knows it as "
            f"{quoted(before)}: name the right certificate, keep the name, or leave it out for {quoted(subject)}"
        )
    if any(common_name(other.peer) == name for other in peers):
        return f"peers: {quoted(name)} has the certificate of {quoted(subject)}, and another has that of {quoted(name)}"
    return ""


def reached(file: NodeFile) -> list[tuple[PeerIdentity, LinkOptions]]:
    """Return the peers of a node's file with the link options for each. Raise InputError for a wrong or doubled one."""
    peers = [_reached(file, link, name, settings) for link, name, settings in entries(file)]
    certificates = Counter(one for who, _ in peers for one in who.trusted)
    if same := [certificate for certificate in certificates if certificates[certificate] > 1]:
        raise InputError(
            f"peers: two entries have the certificate of {quoted(common_name(same[0]))}; give each peer its own"
        )
    names = Counter(who.peer_name for who, _ in peers)
    if twice := [name for name in names if names[name] > 1]:
        raise InputError(f"peers: two are called {quoted(twice[0])}: give each its own name")
    shares = [who.settings.share for who, _ in peers]
    if file.node.role == "holder":  # its two peers compute together, and a job is charged to one of them
        shares = [1.0, 1.0]
    rest = max(0.0, 1 - sum(share for share in shares if share is not None)) / max(1, shares.count(None))
    all_shares = [rest if share is None else share for share in shares]
    return [(replace(who, share=share), way) for (who, way), share in zip(peers, all_shares, strict=True)]


def acquaintances(file: NodeFile) -> list[PeerDescription]:
    """Return the peers of a node's file, without reading keys or links."""
    peers = []
    for link, name, settings in entries(file):
        certificate = None if link.peer is None else load_certificate(link.peer)
        peers.append(
            PeerDescription(certificate, settings, name or (None if certificate is None else common_name(certificate)))
        )
    return peers


def acquainted(file: NodeFile, name: str | None) -> PeerDescription:
    """Return the description of the peer with this name in a node's file.

    Args:
        file: Settings of the node.
        name: Name of the peer; None for the only one.

    Raises:
        InputError: There is no such peer, or there are several and `name` is None.
    """
    return _chosen({peer.name or "": peer for peer in acquaintances(file)}, name)


def _chosen(by_name: Mapping[str, Found], name: str | None) -> Found:
    if name is None and len(by_name) == 1:
        return next(iter(by_name.values()))
    if name is None:
        raise InputError(f"peer: is missing; there are {listed(by_name)}")
    if name not in by_name:
        hint = did_you_mean(name, by_name) or f"; there are {listed(by_name)}"
        raise InputError(f"peer: there is no peer {quoted(name)}{hint}")
    return by_name[name]


def holders_of(
    names: Iterable[str], peer: str | None, own: x509.Certificate, find: Callable[[str], x509.Certificate | None]
) -> dict[str, str]:
    """Return the fingerprints of a job's holders by their names here.

    Args:
        names: Names of the holders.
        peer: Name of the peer that computes.
        own: Certificate of this node.
        find: Returns the certificate of a named peer, or raises InputError.

    Raises:
        InputError: A holder computes, or is not a peer.
    """
    holders = {}
    for name in names:
        if name == peer:
            raise InputError(f"peer: {quoted(name)} is listed in holders too; name the other node that computes")
        try:
            certificate = find(name)
        except InputError as error:
            if name == common_name(own):
                raise InputError(f"holders: {quoted(name)} is this node, which computes; name other peers") from None
            raise InputError(f"holders: {str(error).removeprefix('peer: ')}") from None
        holders[name] = "" if certificate is None else fingerprint(certificate)
    return holders


def entries(file: NodeFile) -> Iterator[tuple[LinkSettings, str, PeerSettings]]:
    """Yield link settings, name (empty if not given) and settings of each peer. Raise InputError without an address."""
    listen = file.node.listen or file.link.listen
    if not file.peers:
        options = file.link if file.node.listen is None else file.link.model_copy(update={"listen": listen})
        yield options, "", file.peer
    for number, peer in enumerate(file.peers):
        if peer.connect is None and listen is None:
            raise InputError(
                f"peers.{number}: no way to the peer: give connect, or node.listen if the peer connects to this node"
            )
        way = {"peer": peer.certificate, "connect": peer.connect, "listen": None if peer.connect else listen}
        yield file.link.model_copy(update=way), peer.name or "", peer


def _reached(file: NodeFile, link: LinkSettings, name: str, settings: PeerSettings) -> tuple[PeerIdentity, LinkOptions]:
    way = require_link(link)
    identity, certificate = load_identity(way.identity, way.certificate), load_certificate(way.peer)
    options = options_of(way, identity, certificate)
    successor = None if settings.successor is None else succession.load(settings.successor, certificate)
    party = 0 if way.listen is not None else 1
    return PeerIdentity(identity, certificate, party, settings, name, successor=successor), options
