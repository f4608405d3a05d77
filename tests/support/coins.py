"""A kind of job for tests: two steps, each of which opens random bits that neither party knew."""

from __future__ import annotations

import json
import os
import time
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from parties.jobs.kind import (
    NO_BITS,
    Counted,
    Description,
    Disclosure,
    Document,
    Inputs,
    Kind,
    KindSettings,
    OnStep,
    State,
    States,
    Step,
)
from parties.jobs.settings import BooleanEngine, public
from smc.engines import Engine
from smc.primitives import bits as bitpack

STEPS, WIDTH, BATCH = 2, 8, 4
PLACE = "COINS"  # names a folder: each party notes there what it sees opened, and waits while there is a `hold`


class CoinSettings(KindSettings):
    """`smc coins`."""

    engine: BooleanEngine = public("yao", "Engine", "How it is computed")


class Coins(Kind):
    """Toss coins, twice."""

    name = "coins"
    about = Description("Coins")
    Settings = CoinSettings
    each = 1  # openings of a step

    @property
    def disclosure(self) -> Disclosure:
        return Disclosure(
            lambda peer: [f"We and {peer} both learn the coins."],
            lambda state, step=None: {"coins": BATCH * (1 if step is not None else self.states.steps(state))},
            NO_BITS,
        )

    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        """See `Kind.cost`."""
        return Counted(lambda engine: self.run(engine, None, None, lambda step: None))

    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """See `Kind.run`."""
        state = list(start or [])
        for number in range(self.states.steps(state), STEPS):
            on_step(Step(number, BATCH, state or None, f"toss {number}"))
            state = [*state, *(self.toss(engine) for _ in range(self.each))]
            if data is not None:  # it is not only counted
                note(engine.party, number, state[-1])
        return state

    def toss(self, engine: Engine) -> list[int]:
        """Coins, opened."""
        (opened,) = engine.reveal(engine.random(WIDTH, BATCH))
        return bitpack.to_integers(np.asarray(opened, dtype=np.uint8))

    @cached_property
    def states(self) -> States:
        """See `Kind.states`."""

        def steps(state: State) -> int:
            return len(state or []) // self.each

        return States(
            None,
            steps,
            lambda state: steps(state) == STEPS,
            lambda state, at: (state or [])[: at * self.each] or None,
        )

    def document(self, state: State) -> Document:
        """See `Kind.document`."""
        return {"coins": state}

    @classmethod
    def text(cls, document: Document, party: int) -> str:
        """See `Kind.text`."""
        return f"{document['coins']}\n"


class Twice(Coins):
    """Toss coins twice in each of the two steps."""

    name = "twice"
    each = 2


def note(party: int, step: int, coins: list[int]) -> None:
    """Write down what was opened, and stay in the step as long as the test wants."""
    place = os.environ.get(PLACE)
    if place is None:
        return
    with (Path(place) / str(party)).open("a") as notes:
        notes.write(json.dumps([step, coins]) + "\n")
    while (Path(place) / f"hold {step}").exists():
        time.sleep(0.02)


def noted(place: Path, party: int) -> list[tuple[int, list[int]]]:
    """What a party has seen, in order: the step and its coins."""
    path = place / str(party)
    return [(step, coins) for step, coins in map(json.loads, path.read_text().splitlines())] if path.exists() else []
