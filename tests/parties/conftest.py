"""Identities of a test session, parties that have them, a node that only pretends, a machine without kernels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from parties.identity import Identity, create
from smc.kernels import warm
from tests.support.links import Parties

if TYPE_CHECKING:
    from tests.support.fake_node import FakeNode


@pytest.fixture(scope="session")
def identities(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Identity]:
    """Keys and certificates of alice, bob and mallory; none of them names the address that tests dial but alice."""
    directory: Path = tmp_path_factory.mktemp("identities")
    hosts = {"alice": ["alice.example", "192.0.2.1"], "bob": ["2001:db8::2"], "mallory": []}
    return {name: create(name, hosts[name], directory) for name in hosts}


@pytest.fixture
def parties(identities: dict[str, Identity]) -> Parties:
    return Parties(identities)


@pytest.fixture
def node() -> FakeNode:
    from tests.support.fake_node import FakeNode  # with the page: most tests need neither

    return FakeNode()


@pytest.fixture
def nothing_compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An empty cache and a quick compiler: the modules of kernels that it has made."""
    made: list[str] = []
    monkeypatch.setattr(warm, "_seen", set())
    monkeypatch.setattr(warm, "is_compiled", made.__contains__)
    monkeypatch.setattr(warm, "prepare", made.append)
    return made
