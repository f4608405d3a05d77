"""The private equality test as a kind of job."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from parties.jobs.kind import Document, OnStep, State, Step
from parties.jobs.small.amounts import Amounts

if TYPE_CHECKING:
    from smc.counting import Program
    from smc.engines import Engine


class Equality(Amounts):
    """Do both have the same number? Both learn yes or no, and nothing else."""

    name = "equality"
    title = "Equal or not"
    example = "--value 1000000 --config party.toml"
    estimate_example = "--batch 1000 "
    opens = "whether both are equal"

    @property
    def question(self) -> str:
        """See `Kind.question`."""
        return f"whether both parties have the same: {self.whose()}"

    def learnt(self) -> str:
        """See `Amounts.learnt`."""
        return "whether both have the same"

    def batch_program(self, batch: int) -> Program:
        """See `Amounts.batch_program`."""
        import numpy as np

        from protocols.equality import equal

        return lambda engine: equal(engine, np.zeros(batch, dtype=np.uint64), self.settings.bits)

    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """See `Kind.run`."""
        from protocols.equality import equal

        on_step(Step(0, 1, start, "comparing"))
        return bool(equal(engine, [data], self.settings.bits)[0])

    def document(self, state: State) -> Document:
        """See `Kind.document`."""
        return {"result": state}

    @classmethod
    def text(cls, document: Document, party: int) -> str:
        """See `Kind.text`."""
        return "equal: both have the same\n" if document["result"] else "different: the two are not the same\n"
