"""RAPPOR: texts as Bloom filters, randomised once permanently and once for each report.

A device belongs to one of the cohorts, whose h hash functions set bits among k. *Permanent* response: each bit becomes
1 with probability f/2, becomes 0 with f/2, and stays otherwise. It is drawn once for each text, and derived from the
device's key. *Instantaneous* response: a permanent 1 is sent as 1 with probability q, a 0 with p. Source: U.
Erlingsson, V. Pihur, A. Korolova, "RAPPOR", CCS 2014.

    all reports   2 h ln((1 - f/2) / (f/2))
    one report    h ln(q* (1 - p*) / (p* (1 - q*))),  q* = f (p + q) / 2 + (1 - f) q,  p* = f (p + q) / 2 + (1 - f) p

Both epsilons hold for a text that does not change. Each further text of the same person spends again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import override

from parties.alone.local import rappor_decoding
from parties.alone.local.coins import ONE, Coins, below, falls, threshold
from parties.alone.local.estimation import absent
from parties.alone.local.grouped import GROUP_BYTES, GroupedBits
from parties.alone.local.hashing import all_places, digests_of, places
from parties.alone.local.mechanism import Estimates, Reports, Size
from parties.alone.local.packing import pack, to_bytes
from parties.base.settings import Finite
from smc.errors import InputError


@dataclass(frozen=True)
class Rappor(GroupedBits):
    """RAPPOR with `bits` k, `hashes` h, `cohorts`, and the probabilities f, p and q."""

    bits: Annotated[Size, Field(description="bits of a report")]
    hashes: Annotated[int, Field(strict=True, ge=1, le=16, description="bits that a text sets")]
    cohorts: Annotated[
        int, Field(strict=True, ge=1, le=1 << 16, description="groups of devices, each with its own hash functions")
    ]
    f: Annotated[
        Finite, Field(ge=0, lt=1, description="probability that the permanent response replaces a bit by a coin")
    ]
    p: Annotated[Finite, Field(ge=0, le=1, description="probability that a bit 0 is sent as 1")]
    q: Annotated[Finite, Field(ge=0, le=1, description="probability that a bit 1 is sent as 1")]
    name: ClassVar[str] = "rappor"
    about: ClassVar[Literal["texts"]] = "texts"

    @override
    def check(self) -> None:
        if not self.p < self.q:
            raise InputError(f"p must be below q, not {self.p:g} and {self.q:g}: otherwise reports have no information")

    @property
    @override
    def groups(self) -> int:
        return self.cohorts

    @cached_property
    def _thresholds(self) -> tuple[int, int, int]:
        return threshold(self.f / 2), threshold(self.p), threshold(self.q)

    @property
    def _sent(self) -> tuple[float, float]:
        """Probabilities of sending a 1 for a true bit 0, and for a true bit 1."""
        half, p, q = (value / ONE for value in self._thresholds)
        return half * (p + q) + (1 - 2 * half) * p, half * (p + q) + (1 - 2 * half) * q

    @property
    def epsilon(self) -> float:
        """Epsilon of one report; infinite if a report can prove a bit."""
        if_unset, if_set = self._sent
        sure = min(if_unset, 1 - if_set) <= 0
        return math.inf if sure else self.hashes * math.log(if_set * (1 - if_unset) / (if_unset * (1 - if_set)))

    @property
    @override
    def variance(self) -> float:
        """Variance, from one report, of the estimated share of an absent text that shares no bit with another."""
        if_unset, if_set = self._sent
        return absent(if_set, if_unset) / self.hashes

    @property
    def lasting(self) -> float:
        """Epsilon of all reports on one text; infinite without a permanent response."""
        half = self._thresholds[0] / ONE
        return 2 * self.hashes * math.log((1 - half) / half) if half else math.inf

    @override
    def report(self, values: Any, coins: Coins) -> Reports:
        digests = digests_of(values)
        drawn = coins.lasting("cohort", None, 2)
        cohort = below(drawn[:, 0], drawn[:, 1], self.cohorts)
        bloom = np.zeros((len(cohort), self.bits), dtype=np.bool_)
        set_bits = places(digests, cohort, self.hashes, self.bits)
        np.put_along_axis(bloom, set_bits, True, axis=1)
        half, p, q = self._thresholds
        words = coins.lasting("bits", digests, self.bits)
        permanent = (bloom & ~falls(words, 2 * half)) | falls(words, half)
        sent = coins.fresh(self.bits)
        return np.concatenate(
            [to_bytes(cohort, GROUP_BYTES), pack((falls(sent, q) & permanent) | (falls(sent, p) & ~permanent))], axis=1
        )

    def shares(self, tally: NDArray[np.int64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return, for each cohort and bit, the estimated share of persons whose text sets the bit, and its standard
        deviation, float64[cohorts, bits] each."""
        table = tally.reshape(self.cohorts, self.bits + 1)
        if_unset, if_set = self._sent
        with np.errstate(invalid="ignore", divide="ignore"):
            seen = table[:, :-1] / table[:, -1:]
            return (seen - if_unset) / (if_set - if_unset), np.sqrt(seen * (1 - seen) / table[:, -1:]) / (
                if_set - if_unset
            )

    @override
    def estimate(self, tally: NDArray[np.int64], candidates: Sequence[str] = ()) -> Estimates:
        """Return the shares of the candidates whose presence the reports, counted in `tally`, prove."""
        shares, deviations = self.shares(tally)
        reported = tally.reshape(self.cohorts, -1)[:, -1] > 0
        design = np.zeros((len(candidates), self.cohorts, self.bits))
        np.put_along_axis(design, all_places(candidates, self.cohorts, self.hashes, self.bits), 1.0, axis=2)
        matrix = design[:, reported].reshape(len(candidates), -1).T
        return rappor_decoding.decode(
            candidates, matrix, shares[reported].reshape(-1), deviations[reported].reshape(-1)
        )
