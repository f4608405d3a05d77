"""Real `smc` processes, real gRPC, real files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.nodes import Nodes
from tests.support.processes import Processes
from tests.support.slow import pytest_ignore_collect, pytest_itemcollected

__all__ = ["pytest_ignore_collect", "pytest_itemcollected"]


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    started = Processes(tmp_path)
    yield started
    started.stop()


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    made = Nodes(tmp_path)
    yield made
    made.close()
