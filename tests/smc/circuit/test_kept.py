"""Circuits that are built once in a process, and not again in one that is told them."""

from __future__ import annotations

import pickle
from collections import OrderedDict

import pytest

from smc.circuit import Builder, Netlist
from smc.circuit import kept as kept_circuits
from smc.circuit.kept import keep, kept, recent

built: list[int] = []


@kept
def negation(width: int) -> Netlist:
    built.append(width)
    builder = Builder()
    builder.output(~builder.input(width))
    return builder.build()


@pytest.fixture(autouse=True)
def empty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_circuits, "_built", OrderedDict())
    built.clear()


def test_a_circuit_is_built_once_and_told_to_another_process() -> None:
    first, second = negation(8), negation(9)
    assert negation(8) is first
    told = pickle.dumps(recent(1))  # the one asked for last
    kept_circuits._built.clear()
    keep(pickle.loads(told))  # noqa: S301 (made here)
    assert negation(8).digest() == first.digest()
    assert built == [8, 9]
    assert negation(9).digest() == second.digest()
    assert built == [8, 9, 9]


def test_no_more_are_kept_than_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_circuits, "MOST", 2)
    for width in (1, 2, 1, 3, 1, 2):  # 2 goes when 3 comes, as 1 was asked for since
        negation(width)
    assert built == [1, 2, 3, 2]
    assert len(recent(10)) == 2
