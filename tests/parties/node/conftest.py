"""Two ledgers that hear each other, a day that does not end during a test, base OTs in a group that costs nothing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, tzinfo
from pathlib import Path

import pytest

from parties.link.identity import Identity
from parties.node.acts import hearing, parts
from parties.node.log import jobs
from tests.support.ledgers import Pair, paired
from tests.support.toy_curve import toy_curve

__all__ = ["one_day", "pair", "toy_curve"]


@pytest.fixture
def pair(tmp_path: Path, identities: dict[str, Identity]) -> Iterator[Pair]:
    with paired(tmp_path, identities) as made:
        yield made


@pytest.fixture
def one_day(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is noon of today: no midnight comes between what a test does."""
    noon = datetime.now(UTC).replace(hour=12, minute=0, second=0, microsecond=0)

    class Noon(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Noon:
            return cls.fromtimestamp(noon.timestamp(), tz)

    for module in (hearing, jobs, parts):
        monkeypatch.setattr(module, "datetime", Noon)
