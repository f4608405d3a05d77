"""Real `smc` processes, real gRPC, real files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from parties.tables import example
from tests.support.nodes import RESEARCH, Nodes
from tests.support.processes import Processes


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    started = Processes(tmp_path)
    yield started
    started.stop()


NOT_FOR_FUN = '[[policy]]\nname = "not for fun"\neffect = "deny"\npurpose = "fun"\n'


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Nodes]:
    made = Nodes(tmp_path)
    yield made
    made.close()


@pytest.fixture
def days(nodes: Nodes) -> Nodes:
    """The bundled clinics, where the second permits research by a rule and denies fun."""
    demo = example.demo()
    rows = demo.clinic_a.read_text(), demo.clinic_b.read_text()
    nodes.furnish(rows, demo.schema.read_text(), more=("", RESEARCH + NOT_FOR_FUN))
    nodes.start()
    return nodes
