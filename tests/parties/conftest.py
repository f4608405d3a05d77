"""Identities of a test session, parties that have them, one that waits, a node that only pretends, no kernels."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from parties.link.identity import Identity, create
from parties.link.listening import Listener
from parties.link.transport import Stream
from smc.kernels import warm
from tests.support.links import Parties
from tests.support.tokens import SoftHsm, soft_hsm

if TYPE_CHECKING:
    from tests.support.fake_node import FakeNode


@pytest.fixture(scope="session")
def identities(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Identity]:
    """Keys and certificates of alice, bob and mallory; none of them names the address that tests dial but alice."""
    directory: Path = tmp_path_factory.mktemp("identities")
    hosts = {"alice": ["alice.example", "192.0.2.1"], "bob": ["2001:db8::2"], "mallory": []}
    return {name: create(name, hosts[name], directory) for name in hosts}


@pytest.fixture(scope="session")
def hsm(tmp_path_factory: pytest.TempPathFactory) -> SoftHsm:
    """SoftHSM with tokens: `smc`, one that is never opened, and one to be taken out."""
    hsm = soft_hsm(tmp_path_factory.mktemp("hsm"))
    for label in ("smc", "other", "away"):
        hsm.add(label)
    return hsm


@pytest.fixture
def parties(identities: dict[str, Identity]) -> Parties:
    return Parties(identities)


@pytest.fixture
def node() -> FakeNode:
    from tests.support.fake_node import FakeNode  # with the page: most tests need neither

    return FakeNode()


@pytest.fixture
def enough(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Until it is set a listening party waits for its peer, though it was told to wait for less."""
    over, accept = threading.Event(), Listener.accept

    def patiently(self: Listener, wait: float) -> Stream | None:
        while not over.is_set():
            if (stream := accept(self, 0.02)) is not None:
                return stream
        return accept(self, wait)

    monkeypatch.setattr(Listener, "accept", patiently)
    return over


@pytest.fixture
def nothing_compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An empty cache and a quick compiler: the modules of kernels that it has made."""
    made: list[str] = []
    monkeypatch.setattr(warm, "_seen", set())
    monkeypatch.setattr(warm, "is_compiled", made.__contains__)
    monkeypatch.setattr(warm, "prepare", made.append)
    monkeypatch.setattr(warm, "compiling", lambda: nullcontext(False))
    return made
