"""What somebody without a certificate can hold of a party that listens: little, and not for long."""

from __future__ import annotations

import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pytest

from parties.base import bounds
from parties.base.address import parse_address
from tests.support.ports import dial
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[3]
DESCRIPTORS = 128

# A party that may open few files and waits for its peer.
LISTENING = """if True:
    import resource, sys
    from pathlib import Path
    resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128))
    from parties.link.identity import load_certificate, load_identity
    from parties.base import bounds
    from parties.link.opening import open_link
    from parties.link.options import LinkOptions
    bounds.HANDSHAKE_SECONDS = 1.0
    own, peer = sys.argv[1:]
    options = LinkOptions(
        load_identity(Path(own + ".key"), Path(own + ".crt")), load_certificate(Path(peer)), listen="127.0.0.1:0",
        on_listening=lambda address: print(address, flush=True), wait=60, timeout=60,
    )
    with open_link(options, {"protocol": "test", "tolerance": 0.001}) as link:
        print(bytes(link.channel.receive("word", 5)).decode(), flush=True)
    """


@contextmanager
def half_open(address: str, count: int) -> Iterator[list[socket.socket]]:
    """Connections on which nothing is ever said."""
    with ExitStack() as stack:
        yield [stack.enter_context(dial(parse_address(address))) for _ in range(count)]


@pytest.mark.parametrize("said", [b"", b"\x16\x03\x01\x02\x00\x01"])
def test_a_connection_that_does_not_get_on_with_its_handshake_is_closed(parties, monkeypatch, said: bytes) -> None:
    monkeypatch.setattr(bounds, "HANDSHAKE_SECONDS", 0.3)
    listening, address = parties.listen(lambda link: None)
    with dial(parse_address(address)) as stranger:
        stranger.sendall(said)
        assert not stranger.recv(1)
    assert parties.connect(address, lambda link: None).outcome() is None
    assert listening.outcome() is None


def test_many_of_them_leave_descriptors_for_the_party_and_do_not_keep_the_peer_out(parties) -> None:
    own = parties.identities["alice"].key_path.with_suffix("")
    command = [sys.executable, "-c", LISTENING, own, parties.identities["bob"].certificate_path]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        before = psutil.Process(process.pid).num_fds()
        with half_open(address, 2 * DESCRIPTORS) as strangers:
            assert not strangers[-1].recv(1)  # is turned away, after the others were let in or turned away
            assert psutil.Process(process.pid).num_fds() <= before + DESCRIPTORS // 2 + 1  # one is being turned away
            dialling = parties.connect(address, lambda link: link.channel.send("word", b"hello"))
            assert dialling.outcome() is None
        out, errors = process.communicate(timeout=PATIENCE)
    assert (out, errors, process.returncode) == ("hello\n", "", 0)


def test_a_process_may_open_as_many_files_as_the_system_allows() -> None:
    script = """if True:
        import resource
        from parties.base import bounds
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 96))
        bounds.raise_descriptors()
        print(resource.getrlimit(resource.RLIMIT_NOFILE), bounds.connections(), bounds.local_connections())
        """
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "(96, 96) 48 3\n"


@pytest.mark.parametrize(("soft", "most"), [(10**6, 2048), (1024, 512), (1, 1), (resource.RLIM_INFINITY, 2048)])
def test_a_port_has_half_of_the_descriptors_and_no_more_than_memory_bears(monkeypatch, soft: int, most: int) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, soft))
    assert bounds.connections() == most
