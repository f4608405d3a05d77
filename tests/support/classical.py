"""A TLS end on either side of gRPC's bytes that knows no post-quantum key exchange: a middle that has both keys."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from parties.base.address import parse_address
from parties.link.identity import Identity


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

    def pump(source: ssl.SSLSocket, target: ssl.SSLSocket) -> None:
        with suppress(OSError, ValueError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        for end in (source, target):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with suppress(OSError):
                left = theirs.wrap_socket(connection, server_side=True)
                right = ours.wrap_socket(socket.create_connection(parse_address(address), timeout=60))
                for pair in ((left, right), (right, left)):
                    threading.Thread(target=pump, args=pair, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.getsockname()[1]}"
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()
