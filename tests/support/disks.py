"""What a party's disk holds of a job between sessions, by the events of its worker: checkpoint, shares, charges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from parties.node.executor import Event, Finished, Leaving, Order, Reached, Written
from parties.node.openings import Stored


class Disk:
    """One party's."""

    def __init__(self) -> None:
        self.state: Any = None
        self.stored = Stored()
        self.finished = False

    def hear(self, events: Iterable[Event]) -> None:
        """Write down what a session told, as the ledger does."""
        for event in events:
            match event:
                case Reached(state=state):
                    self.state = state
                case Finished(state=state):
                    self.state, self.finished = state, True
                case Written(step, place, share, seed):
                    before = self.stored.shares[:place] if self.stored.step == step else ()
                    assert len(before) == place, "a share is written at a place before which there is none"
                    left = min(self.stored.left, place) if self.stored.step == step else 0
                    self.stored = Stored(step, left, (*before, share), seed)
                case Leaving(step, place):
                    assert self.stored.step == step
                    assert self.stored.left == place, "shares leave in their order"
                    self.stored = replace(self.stored, left=place + 1)

    def order(self, fresh: Order) -> Order:
        """The order of the next session."""
        return replace(fresh, state=self.state, stored=self.stored)
