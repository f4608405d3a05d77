"""Compare two numbers: which party has more?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from parties.jobs.kind import Description, Document
from parties.jobs.small.amounts import Amounts, BatchExtra

if TYPE_CHECKING:
    from smc.engines import Engine


class Millionaires(Amounts):
    """Compare the numbers of the two parties. Both learn party0, party1 or equal, and nothing else."""

    name = "millionaires"
    about = Description("Who has more", example="--value -", estimate_example="--batch 1000000", extra=BatchExtra)
    asks = "which party has more, or whether both have the same"
    learnt = "who has more, or that both have the same"
    opens = "who has more"
    width = 2

    @override
    def compared(self, engine: Engine, numbers: Any) -> Sequence[Any]:
        from protocols.millionaires import three_way

        return three_way(engine, numbers, self.settings.bits)

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        names = {"equal": "both have the same", f"party{party}": "this party has more"}
        return f"{document['result']}: {names.get(document['result'], 'the peer has more')}\n"
