"""Two ledgers that hear each other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from parties.identity import Identity
from tests.support.ledgers import Pair, paired


@pytest.fixture
def pair(tmp_path: Path, identities: dict[str, Identity]) -> Iterator[Pair]:
    with paired(tmp_path, identities) as made:
        yield made
