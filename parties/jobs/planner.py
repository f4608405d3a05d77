"""Which profile suits a job and a link: all are counted and the quickest wins, the same one at both parties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from protocols import circuit, foresight, id3, millionaires
from smc.circuit import Netlist
from smc.counting import Program, cheapest
from smc.engines import Profile
from smc.link_shape import LinkShape

TYPICAL_SPLITS = 16  # a level, of the tree that stands for the unknown one when profiles are compared

BOOLEAN = (
    Profile("yao"),
    Profile("yao", garbling="three-halves"),
    Profile("gmw", form="depth"),
    Profile("gmw", form="size"),
    Profile("gmw", "ferret", form="depth"),
    Profile("gmw", "ferret", form="size"),
)
INTEGER = (
    Profile("mixed"),
    Profile("mixed", garbling="three-halves"),
    Profile("mixed", "ferret", garbling="three-halves"),
    Profile("lean", form="depth"),
    Profile("lean", form="size"),
    Profile("lean", "ferret", form="depth"),
    Profile("lean", "ferret", form="size"),
)


def profiles(integers: bool) -> tuple[Profile, ...]:
    """All that suit a job: with additive shares only where it computes with integers."""
    return INTEGER + BOOLEAN if integers else BOOLEAN


def contenders(integers: bool) -> tuple[Profile, ...]:
    """Those among which the engine "auto" chooses: for integers, what no other one beats on every link."""
    return (*INTEGER, BOOLEAN[1]) if integers else BOOLEAN


def millionaires_program(bits: int, batch: int = 1) -> Program:
    """`smc millionaires`, on so many pairs."""
    return lambda engine: millionaires.three_way(engine, np.zeros(batch, dtype=np.uint64), bits)


def circuit_program(netlist: Netlist, batch: int = 1) -> Program:
    """`smc circuit`, on so many inputs."""

    def program(engine: Any) -> object:
        width = netlist.input_widths[engine.party] if engine.party < len(netlist.input_widths) else None
        own = None if width is None else np.zeros((width, batch), dtype=np.uint8)
        return circuit.evaluate(engine, netlist, own)

    return program


def id3_program(problem: id3.Problem, tree: id3.Tree | None = None, splits: int | None = None) -> Program:
    """`smc id3`: with its tree, or at most; `splits` a level bound a typical one."""
    if tree is not None:
        return lambda engine: foresight.with_tree(engine, problem, tree)
    return lambda engine: foresight.at_most(engine, problem, splits)


def choose(program: Program, candidates: Sequence[Profile], shape: LinkShape) -> Profile:
    """The profile of least predicted time."""
    return cheapest(program, candidates, shape).profile
