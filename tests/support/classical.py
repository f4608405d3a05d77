"""A TLS end on either side of gRPC's bytes that knows no post-quantum key exchange: a middle that has both keys."""

from __future__ import annotations

import select
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from parties.base.address import parse_address
from parties.link.identity import Identity
from tests.support.waiting import PATIENCE


def context(own: Identity, role: int) -> ssl.SSLContext:
    """Of a party that checks nothing and exchanges keys on P-256 alone."""
    made = ssl.SSLContext(role)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    made.set_ecdh_curve("prime256v1")
    made.set_alpn_protocols(["h2"])
    made.load_cert_chain(own.certificate_path, own.key_path)
    return made


@contextmanager
def middle(listening: Identity, dialling: Identity, address: str) -> Iterator[str]:
    """Where to dial instead: what comes is passed on to `address` and back, under each party's own certificate."""
    theirs, ours = context(listening, ssl.PROTOCOL_TLS_SERVER), context(dialling, ssl.PROTOCOL_TLS_CLIENT)
    server = socket.create_server(("127.0.0.1", 0))

    def relay(left: ssl.SSLSocket, right: ssl.SSLSocket) -> None:
        """Pass on until one end is over: in one thread, for two may not use a TLS connection at once."""
        other = {left: right, right: left}
        with left, right, suppress(OSError, ValueError):
            while True:
                for source in [end for end in other if end.pending()] or select.select([*other], [], [])[0]:
                    source.settimeout(0.0)
                    try:
                        data = source.recv(1 << 16)
                    except ssl.SSLWantReadError:  # of a record that is no data, or not all there
                        continue
                    if not data:
                        return
                    other[source].settimeout(PATIENCE)
                    other[source].sendall(data)

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with suppress(OSError):
                left = theirs.wrap_socket(connection, server_side=True)
                right = ours.wrap_socket(socket.create_connection(parse_address(address), timeout=PATIENCE))
                threading.Thread(target=relay, args=(left, right), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.getsockname()[1]}"
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
