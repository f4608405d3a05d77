"""How a question is answered, `local.toml`: devices and collectors have the same file, and it is public.

    question = "home page"
    mechanism = "rappor"     # direct, unary, hadamard; mean, histogram; rappor, sketch
    bits = 128
    hashes = 2
    cohorts = 8
    f = 0.5
    p = 0.5
    q = 0.75

    direct, unary, hadamard   values, epsilon; unary: optimised = false for the symmetric form
    mean, histogram           low, high, epsilon; histogram: buckets, told
    rappor                    as above
    sketch                    rows, bits, epsilon

memoise = false draws each report afresh: then `reports` must say how many a device sends at most, and each is charged.
"""

from __future__ import annotations

import hashlib
import math
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from parties.alone.local.categories import DirectResponse
from parties.alone.local.hadamard import HadamardResponse
from parties.alone.local.mechanism import Mechanism
from parties.alone.local.numbers import BitHistogram, OneBitMean
from parties.alone.local.rappor import Rappor
from parties.alone.local.sketch import CountMeanSketch
from parties.alone.local.unary import UnaryEncoding
from parties.base import canonical, files
from parties.base.settings import Settings, explained
from smc.errors import InputError

Real = Annotated[float, Field(allow_inf_nan=False)]
Chance = Annotated[float, Field(ge=0, le=1)]
Size = Annotated[int, Field(strict=True, ge=2, le=1 << 16)]
LARGEST_EPSILON = 15.0  # beyond, the coins of 32 bits are too coarse, and nothing is private anyway

NEEDS = {
    "direct": ("values", "epsilon"),
    "unary": ("values", "epsilon"),
    "hadamard": ("values", "epsilon"),
    "mean": ("low", "high", "epsilon"),
    "histogram": ("low", "high", "buckets", "told", "epsilon"),
    "rappor": ("bits", "hashes", "cohorts", "f", "p", "q"),
    "sketch": ("rows", "bits", "epsilon"),
}
MAY = {"unary": ("optimised",)}
ALWAYS = ("question", "mechanism", "memoise", "reports")


class LocalPlan(Settings):
    """One question, and how each device answers it."""

    question: Annotated[str, Field(min_length=1, max_length=200)]
    mechanism: Literal["direct", "unary", "hadamard", "mean", "histogram", "rappor", "sketch"]
    epsilon: Annotated[float, Field(gt=0, le=LARGEST_EPSILON)] | None = None
    values: tuple[str, ...] | None = None
    optimised: bool = True
    low: Real | None = None
    high: Real | None = None
    buckets: Size | None = None
    told: Annotated[int, Field(strict=True, ge=1)] | None = None
    bits: Size | None = None
    hashes: Annotated[int, Field(strict=True, ge=1, le=16)] | None = None
    cohorts: Annotated[int, Field(strict=True, ge=1, le=1 << 16)] | None = None
    f: Annotated[float, Field(ge=0, lt=1)] | None = None
    p: Chance | None = None
    q: Chance | None = None
    rows: Size | None = None
    memoise: bool = True
    reports: Annotated[int, Field(strict=True, ge=1)] | None = None

    def made(self) -> Mechanism:
        """Return the way of answering. `InputError` says what is missing or makes no sense."""
        needed = NEEDS[self.mechanism]
        if missing := [key for key in needed if getattr(self, key) is None]:
            raise InputError(f"{missing[0]} is missing: mechanism {self.mechanism} needs {', '.join(needed)}")
        known = {*needed, *MAY.get(self.mechanism, ()), *ALWAYS}
        if extra := sorted(self.model_fields_set - known):
            raise InputError(f"{extra[0]} means nothing to mechanism {self.mechanism}, which takes {', '.join(needed)}")
        if not self.memoise and self.reports is None:
            only = " (and f = 0 leaves nothing that lasts)" if self.f == 0 else ""
            raise InputError(f"memoise = false needs reports, how many a device sends at most: each is charged{only}")
        if self.f == 0 and self.memoise:
            raise InputError(
                "f = 0 leaves nothing that lasts: whoever hears often enough learns the text; "
                "give f above 0, or memoise = false and reports"
            )
        return self._built()

    def _built(self) -> Mechanism:
        epsilon, names = self.epsilon or 0.0, self.values or ()
        if self.values is not None and (len(names) < 2 or len(set(names)) < len(names) or len(names) > 1 << 16):
            raise InputError("values must be two or more, and none twice")
        low, high = self.low or 0.0, self.high or 0.0
        if "low" in NEEDS[self.mechanism] and not low < high:
            raise InputError(f"low must be below high, not {low:g} and {high:g}")
        match self.mechanism:
            case "direct":
                return DirectResponse(names, epsilon)
            case "unary":
                return UnaryEncoding(names, epsilon, self.optimised)
            case "hadamard":
                return HadamardResponse(names, epsilon)
            case "mean":
                return OneBitMean(low, high, epsilon, self.memoise)
            case "histogram":
                buckets, drawn = self.buckets or 0, self.told or 0
                if drawn > buckets:
                    raise InputError(f"told must be <= buckets, {buckets}, not {drawn}")
                return BitHistogram(low, high, buckets, drawn, epsilon)
            case "sketch":
                return CountMeanSketch(self.rows or 0, self.bits or 0, epsilon)
            case "rappor":
                rappor = Rappor(self.bits or 0, self.hashes or 0, self.cohorts or 0, self.f or 0.0, *self._pq())
                if not self.memoise and math.isinf(rappor.epsilon):
                    raise InputError("p = 0 or q = 1 gives bits away, and memoise = false keeps nothing: choose others")
                return rappor

    def _pq(self) -> tuple[float, float]:
        p, q = self.p or 0.0, self.q or 0.0
        if not p < q:
            raise InputError(f"p must be below q, not {p:g} and {q:g}: reports would say nothing")
        return p, q

    def lasting(self, mechanism: Mechanism) -> float:
        """Return the privacy of all reports that a person ever sends on one value."""
        each = math.inf if self.reports is None else self.reports * mechanism.epsilon
        return min(mechanism.lasting, each) if self.memoise else each

    def digest(self) -> str:
        """Return what marks the reports made by this plan, 16 hexadecimal digits."""
        content = self.model_dump(mode="json", exclude_none=True)
        return hashlib.sha256(canonical.dump(content).encode()).hexdigest()[:16]


def load(path: Path) -> tuple[LocalPlan, Mechanism]:
    """Read and check a plan. `InputError` names the file and the key."""
    content = files.read_toml(path)
    try:
        plan = LocalPlan.model_validate(content)
        return plan, plan.made()
    except ValidationError as error:
        raise InputError(f"{path}: {explained(error, LocalPlan)}") from None
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
