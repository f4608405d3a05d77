"""Python's ssl on a socket of this machine: megabytes a second one way, between two processes, by mutual TLS.

    python -m benchmarks.peers.ssl_link PORT PARTY MEGABYTES     (in a folder with both parties' keys and certificates)

Party 0 sends objects of 1 MiB until the last has come, as in `benchmarks.link`, a first time uncounted, and prints the
number.
"""

from __future__ import annotations

import socket
import ssl
import sys
import time

HOST, MIB = "127.0.0.1", 1 << 20


def main(port: int, party: int, megabytes: int) -> None:
    """Play one party."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if party == 0 else ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_REQUIRED
    context.load_cert_chain(f"party{party}.crt", f"party{party}.key")
    context.load_verify_locations(f"party{1 - party}.crt")
    if party == 0:
        with socket.create_server((HOST, port)) as server:
            raw, _ = server.accept()
    else:
        raw = _dialled(port)
    with context.wrap_socket(raw, server_side=party == 0) as link:
        block = bytearray(MIB)
        for _ in range(2):
            start = time.perf_counter()
            for _ in range(megabytes):
                if party == 0:
                    link.sendall(block)
                else:
                    view = memoryview(block)
                    while view:
                        view = view[link.recv_into(view) :]
            if party == 0:
                link.recv(1)
            else:
                link.sendall(b"\0")
        if party == 0:
            print(megabytes * MIB / 1e6 / (time.perf_counter() - start))


def _dialled(port: int) -> socket.socket:
    while True:
        try:
            return socket.create_connection((HOST, port))
        except ConnectionRefusedError:
            time.sleep(0.01)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
