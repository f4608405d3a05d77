"""Make one table of the rows of both parties, small cells hidden.

Neither party sees a number without noise; see `noisy_table` and `sealed_table`.
"""

from __future__ import annotations

from typing import Any

from typing_extensions import override

from parties.jobs.publish.noisy_table import NoisyTable
from parties.jobs.publish.sealed_table import SealedTable
from parties.jobs.publish.table import TableOfBoth
from parties.tables.schema import Schema


class JointTable(TableOfBoth):
    """Make one table of counts or sums, with totals, from the rows of both parties. Cells with few rows are hidden.

    Give --to or --epsilon. With --to the numbers are sealed to the certificate of a third party, who reads them with
    smc publish open. Further cells are then hidden, so that totals do not reveal the small ones. With --epsilon both
    learn the numbers with noise, and the noise also decides which cells are hidden.
    """

    @classmethod
    @override
    def of(cls, settings: Any, schema: Schema) -> TableOfBoth:
        return (SealedTable if settings.epsilon is None else NoisyTable).of(settings, schema)
