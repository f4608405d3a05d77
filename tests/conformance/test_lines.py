"""Nodes over lines that are slow, lossy, forgetful or dead; `make lines` has all of them, and writes docs/lines.md."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.line_table import BREAKS, LINES, PAGE, furnished, passage
from tests.support.nodes import Nodes


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nodes]:
    nodes = furnished(tmp_path_factory.mktemp("lines"), 100)
    try:
        yield nodes
    finally:
        nodes.close()


def test_a_line_that_is_slow_and_loses_segments(nodes: Nodes) -> None:
    """No loss ends a session before either party has the result."""
    assert passage(nodes, LINES["40 ms, 1 % of segments lost"]).computing == 1


@pytest.mark.campaign
def test_a_line_that_forgets_a_silent_connection(nodes: Nodes) -> None:
    """The job's connection is one of its own, so it may end before the nodes notice that theirs carries nothing.

    Both then wait for the other's signature, and begin sessions ever more rarely, that open nothing.
    """
    found = passage(nodes, LINES["forgets after 2 s of silence"])
    assert nodes.cable.forgotten > 0
    assert found.sessions <= 7


def test_the_page_has_every_line() -> None:
    lines = [line.split("|")[1].strip() for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:1] == "|"]
    assert lines[2:] == [*LINES, *BREAKS]
