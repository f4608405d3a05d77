"""An evaluator that corrects trees to different choices ends the session before it has a table."""

from __future__ import annotations

import types

import pytest

from smc.errors import ProtocolError
from smc.ot import columns
from smc.recipes import OTKind
from tests.support.delta_thief import TREE_BITS, stolen


@pytest.mark.parametrize("announced", [False, True], ids=["", "announced"])
@pytest.mark.parametrize("kind", TREE_BITS)
def test_it_is_caught_before_the_garbler_sends_a_table(kind: OTKind, announced: bool) -> None:
    garbler, _ = stolen(kind, announced)
    assert isinstance(garbler.error, ProtocolError)
    assert "matrix" in str(garbler.error)
    assert not garbler.gave_away("ot0.matrix", 0)


@pytest.mark.parametrize("kind", TREE_BITS)
def test_without_the_check_it_reads_every_number(kind: OTKind, monkeypatch: pytest.MonkeyPatch) -> None:
    passing = types.SimpleNamespace(compare_digest=lambda *_: True)
    monkeypatch.setattr(columns, "hmac", passing)
    garbler, thief = stolen(kind, announced=True)
    assert garbler.error is None
    read, cells = thief.result
    assert read == cells >= 64
