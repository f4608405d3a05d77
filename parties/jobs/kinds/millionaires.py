"""Compare two numbers: which party has more?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import override

from parties.jobs.kind import Description, Document, Inputs, OnStep, State, Step
from parties.jobs.small.amounts import Amounts, BatchExtra

if TYPE_CHECKING:
    from smc.counting import Program
    from smc.engines import Engine


class Millionaires(Amounts):
    """Compare the numbers of the two parties. Both learn party0, party1 or equal, and nothing else."""

    name = "millionaires"
    about = Description("Who has more", example="--value 1000000", estimate_example="--batch 1000000", extra=BatchExtra)
    asks = "which party has more, or whether both have the same"
    learnt = "who has more, or that both have the same"
    opens = "who has more"
    width = 2

    @override
    def batch_program(self, batch: int, inputs: Inputs) -> Program:
        import numpy as np

        from protocols.millionaires import three_way

        return lambda engine: three_way(engine, np.zeros(batch, dtype=np.uint64), self.settings.bits)

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        from protocols.millionaires import three_way

        on_step(Step(0, 1, start, "comparing"))
        return three_way(engine, [data], self.settings.bits)[0]

    @override
    def document(self, state: State) -> Document:
        return {"result": state}

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        names = {"equal": "both have the same", f"party{party}": "this party has more"}
        return f"{document['result']}: {names.get(document['result'], 'the peer has more')}\n"
