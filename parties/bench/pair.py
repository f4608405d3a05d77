"""Two processes of one program on this machine, joined by gRPC with mutual TLS, for benchmarks.

The first process makes both identities in a directory and starts the second one, which joins it with `join`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from parties.link import identity
from parties.link.opening import open_link
from parties.link.options import LinkOptions
from smc.link_shape import LinkShape
from smc.session import Session

HOST = "127.0.0.1"
JOB = {"protocol": "bench"}
PEER_DEADLINE = 120.0
GRACE_SECONDS = 2.0


@contextmanager
def lead(directory: Path, arguments: Sequence[str], shape: LinkShape | None = None, **more: Any) -> Iterator[Session]:
    """Open party 0's session with a second Python process, `python ARGUMENTS DIRECTORY ADDRESS`, and end both.

    Args:
        directory: Directory for the identities.
        arguments: Arguments of the second process.
        shape: Link to emulate; None for none.
        more: Further options of the link.
    """
    ours, peer = (identity.create(f"party{i}", [HOST], directory) for i in (0, 1))
    children: list[subprocess.Popen[bytes]] = []

    def start_peer(address: str) -> None:
        children.append(subprocess.Popen([sys.executable, *arguments, str(directory), address]))

    options = LinkOptions(ours, peer.certificate, listen=f"{HOST}:0", shape=shape, on_listening=start_peer, **more)
    try:
        with open_link(options, JOB) as link:
            yield link.session()
        children[0].wait(PEER_DEADLINE)
    finally:
        for child in children:
            with suppress(subprocess.TimeoutExpired):
                child.wait(GRACE_SECONDS)  # time to report an error
            child.kill()
            child.wait()


@contextmanager
def beside(arguments: Sequence[str], **more: Any) -> Iterator[Session]:
    """Yield party 0's session with a second Python process; a temporary directory holds the identities.

    Args:
        arguments: Arguments of the second process, before the directory and party 0's address.
        more: Options of the link.
    """
    with tempfile.TemporaryDirectory(prefix="smc-bench-") as name, lead(Path(name), arguments, **more) as session:
        yield session


def meet(session: Session) -> None:
    """Wait until both parties arrive here."""
    session.send("meet", np.empty(0, dtype=np.uint8))
    session.receive("meet", np.uint8, (0,))


@contextmanager
def join(directory: Path, address: str, shape: LinkShape | None = None) -> Iterator[Session]:
    """Open party 1's session, in the process that `lead` started.

    Args:
        directory: Directory with the identities.
        address: Address of party 0.
        shape: Link to emulate; None for none.
    """
    ours = identity.load_identity(directory / "party1.key", directory / "party1.crt")
    peer = identity.load_certificate(directory / "party0.crt")
    with open_link(LinkOptions(ours, peer, connect=address, shape=shape), JOB) as link:
        yield link.session()
