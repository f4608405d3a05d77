"""A kind of job for tests that spends privacy: it reads a table, and opens only random bits that neither party knew."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Annotated

from pydantic import Field

from parties.jobs.kind import NO_BITS, Bits, Description, Disclosure, Inputs, Opened
from parties.jobs.settings import public
from parties.jobs.spending import EXACT, ConcentratedLoss, Loss, PureLoss, exact
from tests.support.coins import BATCH, Coins, CoinSettings

Size = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]


class NoisySettings(CoinSettings):
    """`smc noisy`."""

    column: str = public("play", "Column", "What is read")
    epsilon: Size = public(1.0, "Epsilon", "Pure loss")
    rho: Size = public(0.0, "Rho", "Concentrated loss")
    times: Annotated[int, Field(strict=True, ge=1)] = public(1, "Times", "How often")
    without_noise: int = public(0, "Exact", "1: it opens a joint number without noise")


class Noisy(Coins):
    """Spend privacy, and toss coins."""

    name = "noisy"
    about = Description("Noisy coins")
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
    def disclosure(self) -> Disclosure:
        is_exact, losses = self.settings.without_noise == 1, self._losses()
        bits = NO_BITS if losses else Bits(lambda step: BATCH, None)
        return replace(super().disclosure, bits=bits, spends=losses, exact=EXACT if is_exact else "")

    def _losses(self) -> tuple[Loss, ...]:
        if self.settings.without_noise == 1 or not (self.settings.epsilon or self.settings.rho):
            return ()
        if self.settings.rho:
            return (ConcentratedLoss("noisy coins", exact(self.settings.rho), times=self.settings.times),)
        return (PureLoss("noisy coins", exact(self.settings.epsilon), times=self.settings.times),)

    @contextmanager
    def open(self, inputs: Inputs) -> Iterator[Opened]:
        """See `Kind.open`."""
        with inputs.counts(self.settings.column, [self.settings.column]) as source:
            yield Opened(True, source.fingerprint)
