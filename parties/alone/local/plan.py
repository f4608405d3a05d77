"""Plan of a local question, `local.toml`: public, and equal on devices and at collectors.

    question = "home page"
    mechanism = "rappor"     # smc local plan tells which is best
    bits = 128
    hashes = 2
    cohorts = 8
    f = 0.5
    p = 0.5
    q = 0.75

    direct, unary, subset, hadamard   values, epsilon; unary: optimised = false for the symmetric form
    mean, histogram                   low, high, epsilon; histogram: buckets, told
    piecewise, laplace, gauss         low, high, epsilon, steps; gauss: delta
    rappor                            as above
    sketch                            rows, bits, epsilon

memoise = false draws each report afresh. Then `reports` must state the most reports a device sends, and each is
charged.
"""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict, Field

from parties.alone.local.mechanism import MECHANISMS, Mechanism
from parties.base import canonical, files
from parties.base.settings import Settings, at_key, validated
from smc.errors import InputError


class LocalPlan(Settings):
    """One question and its mechanism, whose class declares the remaining settings.

    With `memoise` a device keeps the coins of an answer. It sends at most `reports` reports; None: any number.
    """

    model_config = ConfigDict(extra="allow")
    question: Annotated[str, Field(min_length=1, max_length=200)]
    mechanism: str
    memoise: bool = True
    reports: Annotated[int, Field(strict=True, ge=1)] | None = None

    def made(self) -> Mechanism:
        """Return the mechanism that the plan describes; raise InputError if a setting is missing or impossible."""
        kind = MECHANISMS.find(self.mechanism)
        lasting = {"memoise": self.memoise} if "memoise" in kind.named() else {}
        mechanism = kind.of((self.model_extra or {}) | lasting)
        if not self.memoise and self.reports is None:
            raise InputError(
                "memoise = false needs `reports`, the largest number of reports of a device: each report costs epsilon"
            )
        if not self.memoise and math.isinf(mechanism.epsilon):
            raise InputError(
                "memoise = false needs a finite epsilon for each report, which these settings do not "
                "have; choose other settings"
            )
        if self.memoise and math.isinf(mechanism.lasting):
            raise InputError(
                f"these settings of {self.mechanism} memoise no answer, so repeated reports disclose the value; choose "
                "other settings, or memoise = false and reports"
            )
        return mechanism

    def lasting(self, mechanism: Mechanism) -> float:
        """Return the epsilon of all reports that a person ever sends on one value."""
        each = math.inf if self.reports is None else self.reports * mechanism.epsilon
        return min(mechanism.lasting, each) if self.memoise else each

    def lasting_delta(self, mechanism: Mechanism) -> float:
        """Return the delta that goes with `lasting`."""
        return mechanism.delta * (1 if self.memoise else self.reports or 1)

    def digest(self) -> str:
        """Return the digest that marks the reports of this plan, 16 hexadecimal digits."""
        content = self.model_dump(include=set(type(self).model_fields), exclude_none=True) | self.made().settings()
        return hashlib.sha256(canonical.dump(content).encode()).hexdigest()[:16]


def load(path: Path) -> tuple[LocalPlan, Mechanism]:
    """Read and check a plan; the InputError names the file and the key."""
    content = files.read_toml(path)
    with at_key(str(path)):
        plan = validated(LocalPlan, content)
        return plan, plan.made()
