"""The millionaires' comparison as a kind of job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parties.jobs.kind import Document, OnStep, State, Step
from parties.jobs.small.amounts import Amounts

if TYPE_CHECKING:
    from smc.counting import Program
    from smc.engines import Engine


class Millionaires(Amounts):
    """Who has more? Both learn party0, party1 or equal, and nothing else."""

    name = "millionaires"
    title = "Who has more"
    example = "--value 1000000 --config party.toml"
    estimate_example = "--batch 1000000 "
    opens = "who has more"

    @property
    def question(self) -> str:
        """See `Kind.question`."""
        return f"which party has more, or whether both have the same: {self.whose()}"

    def learnt(self) -> str:
        """See `Amounts.learnt`."""
        return "who has more, or that both have the same"

    def batch_program(self, batch: int) -> Program:
        """See `Amounts.batch_program`."""
        import numpy as np

        from protocols.millionaires import three_way

        return lambda engine: three_way(engine, np.zeros(batch, dtype=np.uint64), self.settings.bits)

    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """See `Kind.run`."""
        from protocols.millionaires import three_way

        on_step(Step(0, 1, start, "comparing"))
        return three_way(engine, [data], self.settings.bits)[0]

    def document(self, state: State) -> Document:
        """See `Kind.document`."""
        return {"result": state}

    @classmethod
    def text(cls, document: Document, party: int) -> str:
        """See `Kind.text`."""
        names = {"equal": "both have the same", f"party{party}": "this party has more"}
        return f"{document['result']}: {names.get(document['result'], 'the peer has more')}\n"
