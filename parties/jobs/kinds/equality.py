"""Compare two numbers for equality."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from parties.jobs.kind import Description, Document
from parties.jobs.small.amounts import Amounts, BatchExtra

if TYPE_CHECKING:
    from smc.engines import Engine


class Equality(Amounts):
    """Compare the numbers of the two parties. Both learn whether they are equal, and nothing else."""

    name = "equality"
    about = Description("Equal or not", example="--value -", estimate_example="--batch 1000", extra=BatchExtra)
    asks = "whether both parties have the same"
    learnt = "whether both have the same"
    opens = "whether both are equal"

    @override
    def compared(self, engine: Engine, numbers: Any) -> Sequence[Any]:
        from protocols.equality import equal

        return equal(engine, numbers, self.settings.bits).tolist()

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        return "equal: both have the same\n" if document["result"] else "different: the two are not the same\n"
