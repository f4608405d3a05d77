"""Laws of noise: public distributions on the integers, drawn inside a circuit from secret uniform bits.

A law is public; its samples are secrets of the engine. The circuit `draw` turns bits of `Engine.random` into a sample.
It uses no floating-point numbers, which can break privacy (Mironov, "On significance of the least significant bits for
differential privacy", CCS 2012): coins are compared with integers, and the circuit's law has exact rational
probabilities. The statistical distance to the ideal law is at most `distance`. A mechanism that is (epsilon,
delta)-private with n samples of the ideal noise is (epsilon, delta + (1 + e^epsilon) n distance)-private with this one.
So the distance has to fall as epsilon grows: with `security_for` at most 2^-38 is added to delta.
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
        """Build the circuit of a sample from `bits` uniform wires; the result is signed if `least` is negative."""

    @abstractmethod
    def probabilities(self) -> dict[int, Fraction]:
        """Return the exact probability of each sample of the circuit; values of probability 0 may be missing.

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
    """Return the statistical parameter s of each law of an epsilon-private answer.

    All samples add at most (1 + e^epsilon) samples 2^-s <= 2^(2 - security) to its delta. Up to an epsilon of ln 3, s
    is `security` for one sample. It grows by 1.44 for each further 1 of epsilon, by 1 if the samples double.

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
    """Draw secret samples that neither party knows, and return their bits, [law.width, batch].

    Large batches are drawn in parts.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        law: Law of the noise; public.
        batch: Number of samples; public.
    """
    made, size = netlist(law, engine.form), max(1, engine.comfortable // max(1, law.bits))
    sizes = [min(size, batch - start) for start in range(0, max(1, batch), size)]
    return Bits.join([engine.run(made, engine.random(law.bits, part))[0] for part in sizes])
