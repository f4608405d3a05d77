"""What a question is, from which all else follows: own numbers, how they are opened, with which noise, and shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from parties.base.arrays import Numbers
from parties.jobs.release.noise import Noise
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.counts import Rows
    from smc.circuit import Form, Netlist
    from smc.circuit.wire import Wire
    from smc.counting import Program
    from smc.engines import Engine

Count: TypeAlias = "Callable[[Rows], Any]"
Show: TypeAlias = Callable[[Any], Mapping[str, Any]]


@dataclass(frozen=True)
class Part:
    """Some of a question's numbers: how many, the bound on a party's own, and their noise, None if they are exact."""

    numbers: int
    bound: int  # of the absolute value of an own number; of several units a row, for sums
    signed: bool
    noise: Noise | None

    @property
    def width(self) -> int:
        """Bits of an own number, its sign included."""
        return max(1, self.bound.bit_length() + self.signed)

    @property
    def bits(self) -> int:
        """Bits of its sums, if they are opened exactly."""
        return 0 if self.noise is not None else self.numbers * (self.width + 1)

    def check(self) -> None:
        """`InputError` if a sum, or its noise, could be too large to be opened."""
        from protocols.release.numbers import MOST_BITS, sum_width

        width = self.width + 1 if self.noise is None else sum_width(self.width, self.noise.law(self.numbers))
        if width > MOST_BITS:
            raise InputError(f"a sum could take {width} bits, at most {MOST_BITS} are opened: lower max_rows")

    def opened(self, engine: Engine, numbers: Numbers) -> list[int]:
        """Return the sums of both parties' own numbers, int64[numbers], opened with their noise."""
        from protocols.release.exact import exact_sums
        from protocols.release.numbers import noisy_sums

        if self.noise is None:
            return exact_sums(engine, numbers, self.width, self.signed).tolist()
        return noisy_sums(engine, numbers, self.width, self.noise.law(self.numbers), self.signed).tolist()


@dataclass(frozen=True)
class Question:
    """A question about rows of both parties, by public settings and schema; see `Release.ask`."""

    learnt: str  # by both parties, a phrase
    numbers: int  # that each party brings
    count: Count  # them, int64[numbers], in own rows; or what `run` takes in their place
    open: Callable[[Engine, Any], Any]  # the protocol, from them to what both see
    show: Show  # the result, of what both saw
    mechanisms: tuple[Noise, ...] = ()  # that make it private; none if it is exact, or a decision
    opens: str = "number with noise"  # what is opened
    subject: str = ""  # the column that it is about, if any
    target: str = ""  # the column by whose values own rows are counted; empty for the schema's first
    noise: Mapping[str, Any] = field(default_factory=dict)  # what a result says of it besides epsilon
    program: Program | None = None  # for a counting engine; None if zeros stand for own numbers as well
    parts: tuple[Part, ...] = ()  # its numbers, if they are sums
    bits: int | None = None  # of exact answers, see `Bits`; None if it has noise, or its kind says them


def sums(
    learnt: str, parts: Sequence[Part], count: Count, show: Show, unit: Fraction = Fraction(1), **about: Any
) -> Question:
    """Return a question whose answer is numbers that add up, each part opened with its noise; `unit` of the first.

    `InputError` if one could be too large to be opened.
    """
    for part in parts:
        part.check()
    ends = list(accumulate((part.numbers for part in parts), initial=0))

    def opened(engine: Engine, numbers: Numbers) -> list[int]:
        places = zip(parts, pairwise(ends), strict=True)
        return [number for part, (start, end) in places for number in part.opened(engine, numbers[start:end])]

    mechanisms = tuple(part.noise for part in parts if part.noise is not None)
    opens = "number with noise" if mechanisms else "exact number"
    fields = mechanisms[0].fields(unit) if mechanisms else {}
    about["noise"] = {**fields, **about.get("noise", {})}
    bits = sum(part.bits for part in parts)
    return Question(learnt, ends[-1], count, opened, show, mechanisms, opens, parts=tuple(parts), bits=bits, **about)


def decision(
    learnt: str, widths: Sequence[int], count: Count, circuit: Callable[..., Wire], show: Show, **about: Any
) -> Question:
    """Return a question whose answer is one bit, exact: that of a circuit on the sums of both parties' own numbers.

    These are from 0 up, of so many bits each; the sums come to the circuit as integers, one an argument.
    """

    def decide(engine: Engine, numbers: Numbers) -> list[int]:
        from protocols.inputs import checked
        from smc.primitives import bits

        fitting = [checked([int(value)], width, "the number") for value, width in zip(numbers, widths, strict=True)]
        own_bits = np.concatenate(
            [bits.from_integers(value, width) for value, width in zip(fitting, widths, strict=True)]
        )
        netlist = _decision_netlist(circuit, tuple(widths), engine.form)
        (opened,) = engine.reveal(*engine.run(netlist, *engine.both(own_bits)))
        return opened[0].tolist()

    return Question(learnt, len(widths), count, decide, show, opens="decision", bits=1, **about)


@lru_cache(maxsize=16)  # of the last questions: a node keeps the question of every job, and a netlist has megabytes
def _decision_netlist(circuit: Callable[..., Wire], widths: tuple[int, ...], form: Form) -> Netlist:
    from smc.circuit import Builder

    ends = list(accumulate(widths, initial=0))
    builder = Builder(form)
    left, right = builder.input(ends[-1]), builder.input(ends[-1])
    builder.output(circuit(*(left[start:end].wide_add(right[start:end]) for start, end in pairwise(ends))))
    return builder.build()


def number(
    opened: int, reach: int | None, least: Fraction, greatest: Fraction, unit: Fraction = Fraction(1)
) -> dict[str, Any]:
    """Return a number for a result: as opened, within its bounds, and the interval; nothing but it if it is exact."""
    if reach is None:
        return {"value": plain(opened * unit)}
    low, value, high = (min(max(x * unit, least), greatest) for x in (opened - reach, opened, opened + reach))
    return {"value": plain(value), "noisy": plain(opened * unit), "low": plain(low), "high": plain(high)}


def plain(value: Fraction) -> int | float:
    """Return a fraction as a number of JSON."""
    return int(value) if value.denominator == 1 else float(value)


def own_vector(*tables: Any) -> Numbers:
    """Return own counts of several tables one after the other, int64[numbers]."""
    return np.concatenate([np.asarray(table, dtype=np.int64).reshape(-1) for table in tables])
