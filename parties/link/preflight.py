"""Waiting for the peer to answer, and diagnosis in plain words if it does not.

gRPC reports every failed handshake alike. So after a failed connection the dialling party makes one with Python's
`ssl`, inspects it, and drops it. This is diagnosis only: gRPC verifies the pins itself, before this and after it.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable

from cryptography import x509

from parties.base import keyfile
from parties.base.address import Address, addresses_of
from parties.link import tls
from parties.link.identity import Identity, common_name, short_fingerprint
from smc.errors import LinkError, SmcError

ATTEMPT_SECONDS = 5.0
TOLD_SECONDS = 30.0
SHORTEST_PAUSE, LONGEST_PAUSE = 0.002, 0.25  # between attempts
PAUSE = 0.25  # as a multiple of the time waited already


CHECK_PEER = "check --peer"
LIST_US = "it must be given as --peer there, or as a peer in party.toml"


class TrustError(LinkError):
    """A certificate at either end that the other end does not expect."""

    def __init__(self, fact: str, remedy: str) -> None:
        super().__init__(f"{fact}; {remedy}")
        self.fact, self.remedy = fact, remedy


class _NoAnswerError(Exception):
    """The peer may not be up yet; the message is the reason."""


class _RefusedError(_NoAnswerError):
    """No program listens there."""


def await_peer(
    address: Address,
    identity: Identity,
    peer: x509.Certificate,
    wait: float,
    deadline: float,
    on_waiting: Callable[[float], object] = lambda _: None,
    hasty: bool = False,
) -> bool:
    """Wait until the pinned peer answers and accepts our certificate.

    It tries again until the deadline while there is no answer, so the parties may start in any order.

    Args:
        address: Address of the peer.
        identity: Identity of this party.
        peer: Certificate of the peer.
        wait: Seconds from the start to the deadline, for messages.
        deadline: The deadline, in `time.monotonic`.
        on_waiting: Called every 30 seconds with the seconds that remain.
        hasty: Return as soon as a program listens where none did before.

    Returns:
        True if the peer was seen to accept our certificate; False if `hasty` and a program listens: it may be dialled.

    Raises:
        LinkError: There was no answer, or the answering program is not the peer or does not trust us.
    """
    began_at = last_report = time.monotonic()
    was_refused = False
    while True:
        left = deadline - time.monotonic()
        if time.monotonic() - last_report >= TOLD_SECONDS:
            last_report = time.monotonic()
            on_waiting(max(0.0, left))
        try:
            return _attempt(address, identity, peer, min(ATTEMPT_SECONDS, max(left, 0.1)), not (hasty and was_refused))
        except _NoAnswerError as error:
            was_refused = isinstance(error, _RefusedError)
            pause = min(max(SHORTEST_PAUSE, PAUSE * (time.monotonic() - began_at)), LONGEST_PAUSE)
            if left <= pause:
                raise LinkError(
                    f"no answer from {common_name(peer)} at {address} within {wait:g} s ({error}); "
                    "is the peer running, and its port open?"
                ) from None
        time.sleep(pause)


def _attempt(address: Address, identity: Identity, peer: x509.Certificate, timeout: float, look: bool) -> bool:
    """Return whether the peer answers; with `look` False, only connect and return False.

    All addresses of the host are tried in turn, in `timeout` seconds altogether. If the peer is at none of them, the
    error is that of an address where a program answered.
    """
    try:
        addresses = addresses_of(address)
    except socket.gaierror as error:
        if error.errno == socket.EAI_AGAIN:
            raise _NoAnswerError("the name cannot be looked up now") from None
        raise LinkError(f"the host name in {address} cannot be found: {error.strerror}") from None
    failures: list[LinkError | _NoAnswerError] = []
    for numeric in addresses:
        try:
            named = address if len(addresses) == 1 else numeric
            return _attempt_at(numeric, named, identity, peer, timeout / len(addresses), look)
        except (LinkError, _NoAnswerError) as error:
            failures.append(error)
    answers = [error for error in failures if isinstance(error, LinkError)]
    if answers or len(addresses) == 1:
        raise [*answers, *failures][0]
    kind = _RefusedError if all(isinstance(error, _RefusedError) for error in failures) else _NoAnswerError
    raise kind("; ".join(f"{numeric.host}: {error}" for numeric, error in zip(addresses, failures, strict=True)))


def _attempt_at(
    numeric: Address, address: Address, identity: Identity, peer: x509.Certificate, timeout: float, look: bool
) -> bool:
    """Do as `_attempt` at the one numeric address `numeric`; messages call it `address`."""
    try:
        with socket.create_connection(numeric, timeout=timeout) as connection:
            if look:
                _examine(connection, address, identity, peer)
            return look
    except ssl.SSLError as error:
        reason = error.reason or ""
        if reason == "TLSV1_ALERT_PROTOCOL_VERSION":
            raise LinkError(f"the program at {address} does not use {tls.VERSION}; check the port") from None
        if "ALERT" in reason:
            raise _untrusted(address, identity) from None
        if isinstance(error, ssl.SSLEOFError):
            raise _NoAnswerError("it hangs up during the TLS handshake") from None
        raise LinkError(f"the program at {address} does not use TLS; check the port") from None
    except ConnectionRefusedError as error:
        raise _RefusedError(error.strerror or "the connection was refused") from None
    except TimeoutError:
        raise _NoAnswerError("nothing answers in time") from None
    except OSError as error:
        raise _NoAnswerError(error.strerror or "the connection failed") from None


def _examine(connection: socket.socket, address: Address, identity: Identity, peer: x509.Certificate) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # the certificate is inspected here, so that the message can name the other one
    context.set_alpn_protocols(["h2"])
    if identity.is_in_files:
        context.load_cert_chain(identity.certificate_path, identity.key_path, keyfile.passphrase(identity.key_path))
    with context.wrap_socket(connection) as secured:
        presented = x509.load_der_x509_certificate(secured.getpeercert(binary_form=True) or b"")
        if presented != peer:
            raise TrustError(
                f"the peer at {address} presents certificate {short_fingerprint(presented)} "
                f"({common_name(presented) or 'no name'}), expected {short_fingerprint(peer)} "
                f"({common_name(peer)})",
                CHECK_PEER,
            )
        if not identity.is_in_files:  # this TLS cannot sign then: a refusal shows when gRPC dials again
            return
        # In TLS 1.3 our certificate is judged after our side of the handshake: a refusal is an alert or, from gRPC,
        # just the end of the connection. A party that trusts us sends its HTTP/2 settings instead.
        try:
            refused = not secured.recv(1)
        except (ssl.SSLEOFError, ConnectionError):
            refused = True
        if refused:
            raise _untrusted(address, identity)


def unreached(address: Address, identity: Identity) -> SmcError:
    """Return the reason why there is no link with a peer that answers, if our key is in a token.

    Args:
        address: Address of the peer.
        identity: Identity of this party.
    """
    if identity.token is not None and identity.token.trouble:
        from parties.base.token_key import TokenError  # loaded only if there is a token

        return TokenError(identity.token.trouble)
    return _untrusted(address, identity)


def _untrusted(address: Address, identity: Identity) -> LinkError:
    return TrustError(
        f"the peer at {address} does not trust our certificate {identity.name} "
        f"{short_fingerprint(identity.certificate)}",
        LIST_US,
    )
