"""Two parties' logs of one and the same job, as their nodes would write them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from parties.link.identity import Identity
from parties.node.events import Events
from parties.node.records.database import FILE_NAME
from tests.support.logs import Node, two_jobs
from tests.support.slow import pytest_ignore_collect, pytest_itemcollected

__all__ = ["pytest_ignore_collect", "pytest_itemcollected"]


@pytest.fixture(autouse=True)
def unwatched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no node take the process's loggers, which would outlive the test and its stream."""
    monkeypatch.setattr(Events, "watch_process", lambda self: None)


@pytest.fixture
def nodes(tmp_path: Path, identities: dict[str, Identity]) -> Iterator[tuple[Node, Node]]:
    """alice and bob after two jobs."""
    with two_jobs(tmp_path, identities) as both:
        yield both


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory, identities: dict[str, Identity]) -> Path:
    """The database file of a log with 9 entries, closed: to be copied, and never changed."""
    node = Node(tmp_path_factory.mktemp("kept"), identities["alice"], identities["bob"])
    peer = Node(tmp_path_factory.mktemp("peers"), identities["bob"], identities["alice"])
    node.start()
    peer.start()
    node.keep(node.run("us"), peer.run("peer"))
    node.connection.close()
    peer.connection.close()
    return node.path


@pytest.fixture
def copy(kept: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    tmp_path.joinpath("state").mkdir(mode=0o700)
    return Path(shutil.copy(kept, tmp_path / "state" / FILE_NAME))
