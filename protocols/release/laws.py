"""Laws of noise: public distributions on the integers, drawn inside a circuit from secret uniform bits.

A law is public; its samples are secrets of the engine. What `Engine.random` draws goes through the circuit `draw`, so
no number with a fraction is near a sample: coins are compared with integers, and the law of the circuit is a table of
exact fractions (Mironov, "On significance of the least significant bits for differential privacy", CCS 2012, tells
what happens otherwise). That law is within `distance` of the ideal one, in statistical distance: a mechanism that is
(epsilon, delta)-private with n samples of the ideal noise is (epsilon, delta + (1 + e^epsilon) n distance)-private with
this one. So the distance has to fall as epsilon grows: `security_for` keeps what is added to delta at 2^-38 or less.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import lru_cache

import gmpy2

from smc.circuit import Builder, Form, Integer, Netlist
from smc.engines import Bits, Engine
from smc.errors import InputError

SECURITY = 40  # default: the statistical distance to the ideal law is at most 2^-40
MOST_SECURITY = 2048  # more than an epsilon of 1,000 needs
TABULATED = 1 << 16  # most values of a law that are listed with their exact probabilities


class Law(ABC):
    """A public distribution of integer noise. Laws with equal parameters are equal and can be keys."""

    @property
    @abstractmethod
    def bits(self) -> int:
        """Number of uniform secret bits that one sample takes."""

    @property
    @abstractmethod
    def least(self) -> int:
        """Least value of a sample."""

    @property
    @abstractmethod
    def greatest(self) -> int:
        """Greatest value of a sample."""

    @property
    @abstractmethod
    def distance(self) -> Fraction:
        """Proven bound on the statistical distance between the law of the circuit and the ideal one."""

    @abstractmethod
    def draw(self, random: Integer) -> Integer:
        """Return the circuit: from `bits` uniform wires to a sample, signed if `least` is negative."""

    @abstractmethod
    def probabilities(self) -> dict[int, Fraction]:
        """Return the exact law of the circuit; values of probability 0 may be missing.

        Raises:
            InputError: The law has too many values to be listed.
        """

    @property
    def width(self) -> int:
        """Bits that hold every sample, with a sign if `least` is negative."""
        largest = max(self.greatest, -1 - self.least)
        return largest.bit_length() + (self.least < 0)

    def _listable(self) -> None:
        """Raise InputError if the law has too many values for `probabilities`."""
        if self.greatest - self.least >= TABULATED:
            raise InputError(
                f"the noise has {self.greatest - self.least + 1} possible values; at most {TABULATED} can be listed"
            )


@lru_cache(maxsize=256)
def security_for(epsilon: Fraction, samples: int = 1, security: int = SECURITY) -> int:
    """Return the statistical parameter of each law of an epsilon-private answer.

    All together they add at most (1 + e^epsilon) samples 2^-found <= 2^(2 - security) to its delta. Up to an epsilon of
    ln 3 that is `security` for one sample; each 1 of epsilon beyond takes 1.44 bits more, each doubling of samples one.

    Args:
        epsilon: Epsilon of the answer.
        samples: Number of samples that the answer takes.
        security: Statistical parameter of the whole answer. If in doubt, 40.
    """
    with gmpy2.context(precision=128, round=gmpy2.RoundUp):
        factor = int(gmpy2.ceil(gmpy2.log2(1 + gmpy2.exp(gmpy2.mpfr(gmpy2.mpq(epsilon))))))
    return security - 2 + max(2, factor) + max(0, samples - 1).bit_length()


def check_security(security: int) -> None:
    """Raise InputError for a statistical parameter s out of range: the distance is to be at most 2^-s.

    Raises:
        InputError: The parameter is not from 1 to 2,048.
    """
    if not 1 <= security <= MOST_SECURITY:
        raise InputError(f"the statistical security is {security} bits, must be from 1 to {MOST_SECURITY}")


@lru_cache(maxsize=64)
def netlist(law: Law, form: Form = "size") -> Netlist:
    """Build the circuit that draws one sample: `law.bits` uniform wires in, `law.width` wires out.

    Args:
        law: Law of the noise.
        form: Form of the netlist, public: "size" for few ANDs, "depth" for few levels.
    """
    builder = Builder(form)
    builder.output(law.draw(builder.input(law.bits)).resize(law.width))
    return builder.build()


def sample(engine: Engine, law: Law, batch: int) -> Bits:
    """Return secret samples that neither party knows, [law.width, batch]; bits for other circuits.

    Large batches are drawn in parts.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        law: Law of the noise; public.
        batch: Number of samples; public.
    """
    made, size = netlist(law, engine.form), max(1, engine.comfortable // max(1, law.bits))
    sizes = [min(size, batch - start) for start in range(0, max(1, batch), size)]
    return Bits.join([engine.run(made, engine.random(law.bits, part))[0] for part in sizes])
