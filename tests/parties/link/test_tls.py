"""TLS 1.3 and nothing older, at both ends of the link, and what is told of it."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from parties.base.address import Address, parse_address
from parties.cli import cli
from parties.link import tls
from parties.link.identity import Identity
from smc.errors import LinkError
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
# One end in a process of its own: here a test may have loaded gRPC before.
END = """if True:
    import sys, threading
    from pathlib import Path
    from parties.link.identity import load_certificate, load_identity
    from parties.link.opening import open_link
    from parties.link.options import LinkOptions
    from smc.errors import SmcError
    side, address, own, peer = sys.argv[1:]
    identity = load_identity(Path(own).with_suffix(".key"), Path(own))
    tell = lambda text: print(text, flush=True)
    options = LinkOptions(identity, load_certificate(Path(peer)), **{side: address}, on_listening=tell, wait=60)
    try:
        with open_link(options, {"protocol": "test"}):
            tell("a session")
    except SmcError as error:
        tell(error)
    """
OLD, NEW = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3


def context(own: Identity, role: int, newest: ssl.TLSVersion) -> ssl.SSLContext:
    """Of a party that checks nothing, but has the right certificate."""
    made = ssl.SSLContext(role)
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    made.maximum_version = newest
    made.set_ciphers("ALL:@SECLEVEL=0")
    made.set_alpn_protocols(["h2"])
    made.load_cert_chain(own.certificate_path, own.key_path)
    return made


@contextmanager
def end(identities: dict[str, Identity], side: str, address: str) -> Iterator[Callable[[], str]]:
    """Alice listens, or bob connects; what it says, line by line."""
    own, peer = ("alice", "bob") if side == "listen" else ("bob", "alice")
    paths = [str(identities[name].certificate_path) for name in (own, peer)]
    command = [sys.executable, "-c", END, side, address, *paths]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        stream = process.stdout
        yield lambda: stream.readline().strip()
        process.kill()


@pytest.fixture
def address(identities) -> Iterator[Address]:
    with end(identities, "listen", "127.0.0.1:0") as line:
        yield parse_address(line())


def test_a_peer_that_speaks_nothing_newer_than_1_2_is_refused_in_the_handshake(address, identities) -> None:
    old = context(identities["bob"], ssl.PROTOCOL_TLS_CLIENT, OLD)
    with (
        socket.create_connection(address, timeout=PATIENCE) as connection,
        pytest.raises((ssl.SSLError, ConnectionError)),
    ):
        old.wrap_socket(connection)
    new = context(identities["bob"], ssl.PROTOCOL_TLS_CLIENT, NEW)
    with socket.create_connection(address, timeout=PATIENCE) as connection, new.wrap_socket(connection) as secured:
        assert secured.version() == "TLSv1.3"
        assert secured.recv(1)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl")
@pytest.mark.parametrize(("flag", "version"), [("-tls1_2", "(NONE)"), ("-tls1_3", "TLSv1.3")])
def test_openssl_sees_the_same(address, identities, flag: str, version: str) -> None:
    own = identities["bob"]
    command = ["openssl", "s_client", "-connect", str(address), "-alpn", "h2", flag]
    command += ["-cert", str(own.certificate_path), "-key", str(own.key_path)]
    done = subprocess.run(command, input=b"", capture_output=True, timeout=PATIENCE, check=False)
    assert f"New, {version}, Cipher is ".encode() in done.stdout


def test_a_listener_that_speaks_nothing_newer_is_not_spoken_to(identities) -> None:
    heard: list[bytes] = []
    old = context(identities["alice"], ssl.PROTOCOL_TLS_SERVER, OLD)

    def serve(server: socket.socket) -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            try:
                with old.wrap_socket(connection, server_side=True) as secured:
                    heard.append(secured.recv(100))
            except OSError:
                connection.close()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, args=(server,), daemon=True).start()
        port = server.getsockname()[1]
        with end(identities, "connect", f"127.0.0.1:{port}") as line:
            assert line() == f"the program at 127.0.0.1:{port} does not use TLS 1.3; check the port"
        server.shutdown(socket.SHUT_RDWR)
    assert heard == []


def test_what_grpc_tells_of_a_connection() -> None:
    new = {"ssl_tls_version": [b"TLSv1.3"], "ssl_negotiated_key_exchange_group": [b"X25519"]}
    assert (tls.is_too_old(new), tls.version(new), tls.group(new)) == (False, "TLS 1.3", "X25519")
    assert (tls.is_too_old({}), tls.version({}), tls.group({})) == (False, "", "")
    for name in (b"TLSv1.2", b"TLSv1.1", b"something"):
        assert tls.is_too_old({"ssl_tls_version": [name]})
        assert tls.version({"ssl_tls_version": [name]}) == ""


@pytest.mark.parametrize("first", ["grpc", "parties.link.transport"])
def test_whoever_has_loaded_grpc_earlier_is_not_told_what_is_not_so(first: str) -> None:
    script = f"import {first}\nfrom parties.link import tls\nprint(tls.NOTHING_OLDER)"
    environment = {name: value for name, value in os.environ.items() if name != "GRPC_SSL_CIPHER_SUITES"}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        env=environment | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{first != 'grpc'}\n"


def test_the_listening_end_refuses_an_old_connection_that_came_about_all_the_same(parties, monkeypatch, enough) -> None:
    monkeypatch.setattr(tls, "is_too_old", lambda facts: facts["ssl_tls_version"] == [b"TLSv1.3"])
    listening, address = parties.listen(lambda link: None, wait=0.1)
    error = parties.connect(address, lambda link: None).outcome()
    enough.set()
    assert isinstance(error, LinkError)
    assert "older than TLS 1.3" in str(error)
    assert isinstance(listening.outcome(), LinkError)


def test_the_command_tells_the_oldest_version(identities) -> None:
    done = CliRunner().invoke(cli, ["identity", "show", str(identities["alice"].certificate_path)])
    assert "TLS 1.3" in done.output
