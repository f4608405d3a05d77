"""Whoever has no kernels yet compiles them before the link is opened: no silence, and the peer is not kept waiting."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from parties.link.opening import Link
from smc.kernels import warm
from smc.kernels.native import Kernel
from tests.support.links import Parties

pytestmark = pytest.mark.slow


def exchange(link: Link) -> Any:
    link.channel.send("word", b"%d" % link.party)
    word = bytes(link.channel.receive("word", 1))
    return word, json.dumps(link.session().meter.report())


def test_no_time_out_of_the_peer_runs_while_we_compile(
    parties: Parties,
    nothing_compiled: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    def compile_slowly(module: str) -> None:
        time.sleep(0.0 if nothing_compiled else 3.2)
        nothing_compiled.append(module)

    monkeypatch.setattr(warm, "prepare", compile_slowly)
    left, right = parties.run(exchange, exchange, timeout=3.0)
    assert (left[0], right[0]) == (b"1", b"0")
    assert sorted(nothing_compiled) == sorted(Kernel.registry)
    assert capfd.readouterr().err.count(warm.NOTICE) == 1  # said without being asked, by the one that compiled


def test_what_the_session_calls_is_compiled_and_told_before_anything_is_opened(
    parties: Parties, nothing_compiled: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    told: list[Any] = []
    ways: dict[str, Any] = {
        "kernels": ["gmw", "ot"],
        "on_compile": lambda done, total: told.append((done, total)),
    }
    running, address = parties.listen(exchange, **ways)
    assert told == [(0, 2), (1, 2), (2, 2)]  # when the port is open
    assert nothing_compiled == ["gmw", "ot"]
    parties.connect(address, exchange, **ways).outcome()
    assert running.outcome()[0] == b"1"
    assert len(told) == 3
    assert warm.NOTICE not in capfd.readouterr().err


def test_a_link_that_computes_nothing_compiles_nothing(parties: Parties, nothing_compiled: list[str]) -> None:
    running, address = parties.listen(exchange, kernels=())
    parties.connect(address, exchange, kernels=()).outcome()
    assert running.outcome()[0] == b"1"
    assert nothing_compiled == []
