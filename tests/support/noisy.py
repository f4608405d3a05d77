"""A kind of job for tests that spends privacy: it reads a table, and opens only random bits that neither party knew."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from pydantic import Field

from parties.jobs.kind import Inputs, Opened
from parties.jobs.settings import public
from parties.jobs.spending import Spending
from tests.support.coins import Coins, CoinSettings

Loss = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]


class NoisySettings(CoinSettings):
    """`smc noisy`."""

    column: str = public("play", "Column", "What is read")
    epsilon: Loss = public(1.0, "Epsilon", "Pure loss")
    rho: Loss = public(0.0, "Rho", "Concentrated loss")
    times: Annotated[int, Field(strict=True, ge=1)] = public(1, "Times", "How often")
    without_noise: int = public(0, "Exact", "1: it opens a joint number without noise")


class Noisy(Coins):
    """Spend privacy, and toss coins."""

    name = "noisy"
    title = "Noisy coins"
    Settings = NoisySettings
    settings: NoisySettings

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Kind.columns`."""
        return (self.settings.column,)

    @property
    def reads_table(self) -> bool:
        """See `Kind.reads_table`."""
        return True

    @property
    def exact(self) -> bool:
        """See `Kind.exact`."""
        return self.settings.without_noise == 1

    @property
    def spends(self) -> tuple[Spending, ...]:
        """See `Kind.spends`."""
        told = self.settings
        if self.exact or not (told.epsilon or told.rho):
            return ()
        return (Spending("noisy coins", told.epsilon, told.rho, times=told.times),)

    @contextmanager
    def open(self, inputs: Inputs) -> Iterator[Opened]:
        """See `Kind.open`."""
        with inputs.counts(self.settings.column, [self.settings.column]) as source:
            yield Opened(True, source.fingerprint)
