"""A question: a party's own numbers, the protocol that opens them, the noise and the form of the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from parties.jobs.release.noise import Noise
from protocols.arrays import Numbers
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.counts import Rows
    from protocols.release.laws import Law
    from smc.circuit import Form, Netlist
    from smc.circuit.wire import Wire
    from smc.counting import Program
    from smc.engines import Engine

Count: TypeAlias = "Callable[[Rows], Any]"
Show: TypeAlias = Callable[[Any], Mapping[str, Any]]


@dataclass(frozen=True)
class Part:
    """A group of a question's numbers: their count, the bound on a party's number, and their noise; None if exact."""

    numbers: int
    bound: int  # bound on the absolute value of an own number; a row may add several units to a sum
    signed: bool
    noise: Noise | None

    @property
    def width(self) -> int:
        """Bits of one party's number, including its sign."""
        return max(1, self.bound.bit_length() + self.signed)

    @property
    def bits(self) -> int:
        """Bits of the sums if they are opened exactly, else 0."""
        return 0 if self.noise is not None else self.numbers * (self.width + 1)

    @property
    def law(self) -> Law | None:
        """Exact law of the noise of all numbers; None if they are exact."""
        return None if self.noise is None else self.noise.law(self.numbers)

    @property
    def opened_width(self) -> int:
        """Bits of an opened sum, with its noise."""
        from protocols.release.numbers import sum_width

        return self.width + 1 if self.noise is None else sum_width(self.width, self.noise.law(self.numbers))

    def check(self, bound: str = "max_rows") -> None:
        """Raise InputError, which advises to lower `bound`, if a sum with its noise could be too large to be opened."""
        from protocols.release.numbers import MOST_BITS

        if (width := self.opened_width) > MOST_BITS:
            raise InputError(f"a sum could take {width} bits, at most {MOST_BITS} are opened: lower {bound}")

    def opened(self, engine: Engine, numbers: Numbers) -> list[int]:
        """Open the sums of both parties' numbers, with their noise unless they are exact.

        Args:
            engine: The engine of the session.
            numbers: This party's numbers, int64[numbers], or some of them.
        """
        from protocols.release.exact import exact_sums
        from protocols.release.numbers import noisy_sums

        if self.law is None:
            return exact_sums(engine, numbers, self.width, self.signed).tolist()
        return noisy_sums(engine, numbers, self.width, self.law, self.signed).tolist()


@dataclass(frozen=True)
class Question:
    """A question about rows of both parties, by public settings and schema; see `Release.ask`."""

    learnt: str  # description of the result that both parties learn
    numbers: int  # count of each party's own numbers
    count: Count  # own numbers of own rows, int64[numbers]; or other data for `open`
    open: Callable[[Engine, Any], Any]  # protocol from own numbers to the opened state
    show: Show  # result from the opened state
    mechanisms: tuple[Noise, ...] = ()  # privacy mechanisms; empty if the answer is exact or a decision
    opens: str = "number with noise"  # kind of opened value
    subject: str | None = None  # column that the question is about; None for the target
    target: str = ""  # column by whose values own rows are counted; empty for the schema's first
    noise: Mapping[str, Any] = field(default_factory=dict)  # fields on the noise in a result, besides epsilon
    program: Program | None = None  # program for a counting engine; None if `open` on zeros will do
    parts: tuple[Part, ...] = ()  # groups of its numbers, if they are sums
    bits: int | None = None  # bits of an exact answer, see `Bits`; None if it has only noise, or the kind computes them


def sums(
    learnt: str, parts: Sequence[Part], count: Count, show: Show, unit: Fraction = Fraction(1), **about: Any
) -> Question:
    """Return a question whose answer is sums, each part opened with its own noise.

    Args:
        learnt: Description of the result.
        parts: Groups of numbers, in their order.
        count: Function that reads this party's numbers from its rows.
        show: Function that makes the result from the opened numbers.
        unit: Unit of the first part, for the noise in a result.
        about: Further fields of the question.

    Raises:
        InputError: A sum could be too large to be opened.
    """
    for part in parts:
        part.check()
    offsets = list(accumulate((part.numbers for part in parts), initial=0))

    def opened(engine: Engine, numbers: Numbers) -> list[int]:
        ranges = zip(parts, pairwise(offsets), strict=True)
        return [number for part, (start, end) in ranges for number in part.opened(engine, numbers[start:end])]

    mechanisms = tuple(part.noise for part in parts if part.noise is not None)
    opens = "number with noise" if mechanisms else "exact number"
    fields = mechanisms[0].fields(unit) if mechanisms else {}
    about["noise"] = {**fields, **about.get("noise", {})}
    bits = sum(part.bits for part in parts)
    open_ = parts[0].opened if len(parts) == 1 else opened
    return Question(learnt, offsets[-1], count, open_, show, mechanisms, opens, parts=tuple(parts), bits=bits, **about)


def decision(
    learnt: str, widths: Sequence[int], count: Count, circuit: Callable[..., Wire], show: Show, **about: Any
) -> Question:
    """Return a question whose answer is one exact bit, computed by a circuit on sums of both parties' own numbers.

    Args:
        learnt: Description of the result.
        widths: Bits of each number of a party; all are nonnegative.
        count: Function that reads this party's numbers from its rows.
        circuit: Function of the sums as integers, one argument each.
        show: Function that makes the result from the opened bit.
        about: Further fields of the question.
    """

    def decide(engine: Engine, numbers: Numbers) -> list[int]:
        from protocols.inputs import both_rows, summands

        columns = [
            (summands(engine, np.array([value]), width, "the number"), width, False)
            for value, width in zip(numbers, widths, strict=True)
        ]
        netlist = _decision_netlist(circuit, tuple(widths), engine.form)
        (opened,) = engine.reveal(*engine.run(netlist, *both_rows(engine, columns)))
        return opened[0].tolist()

    return Question(learnt, len(widths), count, decide, show, opens="decision", bits=1, **about)


@lru_cache(maxsize=16)  # a node keeps the question of every job, and a netlist takes megabytes
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
    """Return a number in the form of a result: within its bounds, with the opened value and the interval if it is
    noisy.

    Args:
        opened: The opened integer.
        reach: Half the interval's length, in units; None if the number is exact.
        least: Lower bound of the value.
        greatest: Upper bound of the value.
        unit: Value that the opened integer 1 stands for.
    """
    if reach is None:
        return {"value": plain(opened * unit)}
    low, value, high = (min(max(x * unit, least), greatest) for x in (opened - reach, opened, opened + reach))
    return {"value": plain(value), "noisy": plain(opened * unit), "low": plain(low), "high": plain(high)}


def plain(value: Fraction) -> int | float:
    """Return a fraction as a JSON number."""
    return int(value) if value.denominator == 1 else float(value)


def own_vector(*tables: Any) -> Numbers:
    """Return the entries of several tables one after the other, int64[numbers]."""
    return np.concatenate([np.asarray(table, dtype=np.int64).reshape(-1) for table in tables])
