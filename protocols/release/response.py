"""Randomized response: a secret answer out of k is opened with noise.

Ideal functionality. Input: a secret of the engine, an answer from 0 to k - 1 (a batch). Output to both: the true answer
with probability e^epsilon / (e^epsilon + k - 1), each other answer with probability 1 / (e^epsilon + k - 1). Leakage:
k, epsilon, batch size. Security is that of the engine.

Privacy: no answer is more than e^epsilon times as likely under one secret as under another, so the secret is
epsilon-private, however it was computed. Papers: Warner, "Randomized response" (JASA 60, 1965); Kairouz, Oh, Viswanath,
"Extremal mechanisms for local differential privacy" (NIPS 2014). In the classic survey a fair coin decides whether to
answer truthfully; if not, a second coin gives the answer: k = 2 and epsilon = ln 3.

The protocol opens the answer plus an offset, modulo k. The offset is 0 with probability e^epsilon / (e^epsilon + k -
1), and else uniform on 1 to k - 1 (`offset_law`). Its statistical distance follows from `security_for`.

Cost: for k = 2 one coin, of at most s - 1 ANDs; else a table of k points and less than 3 ceil(log2 k) + 2 ANDs.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import gmpy2
import numpy as np
from numpy.typing import NDArray

from protocols.opened import index_below
from protocols.release.laws import SECURITY, Law, security_for
from protocols.release.table import LARGEST, PublicTable
from smc.circuit import Builder, Form, Integer, Netlist, select
from smc.engines import Bits, Engine
from smc.errors import InputError

GUARD_BITS = 64


def offset_law(epsilon: Fraction, answers: int, security: int = SECURITY) -> PublicTable:
    """Return the law of the offset that is added to an answer.

    Args:
        epsilon: Epsilon of one response, above 0.
        answers: Number of possible answers, from 2 to 4,096.
        security: Statistical parameter: samples add at most 2^(2 - security) to delta. If in doubt, 40.

    Raises:
        InputError: Epsilon or the number of answers is out of range.
    """
    if not epsilon > 0:
        raise InputError(f"epsilon is {float(epsilon):g}, must be positive")
    if not 2 <= answers <= LARGEST:
        raise InputError(f"randomized response has 2 to {LARGEST} answers, not {answers}")
    security = security_for(epsilon, security=security)
    precision = security + GUARD_BITS
    with gmpy2.context(precision=2 * precision):
        # Weights 2^p for the truth and 2^p e^-epsilon for the others: however large epsilon is, they stay small.
        other = int(gmpy2.rint(gmpy2.exp2(precision) * gmpy2.exp(-gmpy2.mpfr(gmpy2.mpq(epsilon)))))
    rounded = Fraction(answers, 1 << precision)
    return PublicTable((1 << precision, *[other] * (answers - 1)), security=security, missing=rounded)


def respond(engine: Engine, secret: Bits, answers: int, law: Law) -> NDArray[np.int64]:
    """Open the randomised responses to secret answers, int64[batch].

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        secret: Secret answers from 0 to answers - 1, [ceil(log2 answers), batch].
        answers: Number of possible answers; public.
        law: Law of the offset, from `offset_law`; public.

    Raises:
        ProtocolError: The opened number is not an answer.
    """
    netlist = _netlist(answers, law, engine.form)
    (opened,) = engine.reveal(*engine.run(netlist, secret, engine.random(law.bits, secret.batch)))
    return index_below(opened, answers, "a randomized response")


@lru_cache(maxsize=64)
def _netlist(answers: int, law: Law, form: Form) -> Netlist:
    """Build the response, one of `answers` numbers, from a secret one and the law's uniform bits."""
    builder = Builder(form)
    width = (answers - 1).bit_length()
    secret, offset = builder.input(width), law.draw(builder.input(law.bits))
    builder.output(add_modulo(secret, offset.resize(width), answers))
    return builder.build()


def add_modulo(left: Integer, right: Integer, modulus: int) -> Integer:
    """Build left + right modulo a public number.

    Args:
        left: First number, below the modulus.
        right: Second number, below the modulus, of the width of the first.
        modulus: Public modulus, at most 2^width.
    """
    if modulus == 1 << len(left):
        return left + right
    total = left.wide_add(right)
    reduced = total.wide_subtract(modulus)
    return select(reduced[-1], total, reduced)[: len(left)]
