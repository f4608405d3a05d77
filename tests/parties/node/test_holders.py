"""Jobs of two computing nodes and three holders of rows, each a node with its own policy, budget and log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from parties.node.events import Events
from tests.support.consortium import HOLDERS, NODES, Consortium


@pytest.fixture
def consortium(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Consortium]:
    monkeypatch.setattr(Events, "watch_process", lambda self: None)
    made = Consortium(tmp_path)
    try:
        made.start()
        yield made
    finally:
        made.stop()


def test_a_noisy_count_is_charged_once_at_each_holder_and_signed_by_all(consortium: Consortium) -> None:
    job = consortium.propose(protocol="release count", epsilon=1.0, to=["anna"])
    assert set(consortium.ended(job).values()) == {"done"}
    for name in HOLDERS:
        assert consortium[name].record(job).charged is not None
        assert consortium[name].kinds(job).count("spent") == 1
    for name in NODES:
        assert consortium[name].record(job).charged is None
    for member in consortium.members.values():
        assert member.operator.verify().problems == []
