"""Compare two numbers for equality."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from typing_extensions import override

from parties.jobs.kind import Description, Document, Inputs, OnStep, State, Step
from parties.jobs.small.amounts import Amounts, BatchExtra

if TYPE_CHECKING:
    from smc.counting import Program
    from smc.engines import Engine


class Equality(Amounts):
    """Compare the numbers of the two parties. Both learn whether they are equal, and nothing else."""

    name = "equality"
    about = Description("Equal or not", example="--value 1000000", estimate_example="--batch 1000", extra=BatchExtra)
    asks = "whether both parties have the same"
    learnt = "whether both have the same"
    opens = "whether both are equal"

    @override
    def batch_program(self, batch: int, inputs: Inputs) -> Program:
        import numpy as np

        from protocols.equality import equal

        return lambda engine: equal(engine, np.zeros(batch, dtype=np.uint64), self.settings.bits)

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        from protocols.equality import equal

        on_step(Step(0, 1, start, "comparing"))
        return bool(equal(engine, [data], self.settings.bits)[0])

    @override
    def document(self, state: State) -> Document:
        return {"result": state}

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        return "equal: both have the same\n" if document["result"] else "different: the two are not the same\n"
