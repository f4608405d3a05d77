"""Log-rank test of two arms: opens whether X^2 = U^2 / V is above a public quantile q.

Ideal functionality. Inputs: from each party its rows by arm, event and bin of time, int64[2, 2, bins]. Output to both:
whether the survival of the two arms differs. Leakage: the number of bins, the bound on rows, q. Papers: Mantel (Cancer
Chemotherapy Reports 50, 1966); Peto, Peto (J. R. Statist. Soc. A 135, 1972).

The test is on binned times: all events of a bin are at one time, and rows censored in the bin are at risk there. With
n_b at risk (in both arms; n_1b in the second one) and d_b events in bin b, D events in total, D_1 of them in the second
arm,

    U = D_1 - sum_b d_b P_b,    V = sum_b d_b P_b (1 - P_b) R_b,    P_b = n_1b / n_b,    R_b = (n_b - d_b) / (n_b - 1)

Each party adds up its own rows at risk. One circuit divides, for all bins as one batch: p_b and r_b are P_b and R_b
truncated to F fraction bits, and so are the products p_b (1 - p_b) and that times r_b. The sums over bins are exact.

Error, with e = 2^-F. 0 <= P - p < e, so the U of the circuit is above U by less than D e. As |1 - P - p| <= 1,
p (1 - p) is off by less than e, cut by less than 2 e. R <= 1 and P (1 - P) <= 1 / 4 where d > 0, so that times r is
off by less than (2 + 1/4) e, cut by 3.25 e, and V by less than 3.25 D e. The quantile is a multiple of 2^-16, off by
2^-17.
Where d = 0 the factor d makes a term 0 whatever the quotients are, also n = 0; where n_b = d_b or an arm is
empty its variance is 0 in the circuit too, and V = 0 is never a difference. So the bit is that of the exact test unless

    |X^2 - q| <= (2 |U| D e + D^2 e^2 + 3.25 q D e) / V + 2^-17 (1 + 3.25 D e / V)          (`undecided`)

F = ceil(N / 2) + 12, N the bits of a number of rows of both parties: so D e <= 2^-12 sqrt(D), next to a standard
deviation sqrt(V) of about sqrt(D) / 2. For 228 rows with 165 events (U = 10.5, V = 26), bound 65,535, this is
1e-4.

Cost: about 2 F (2 N + 1) + 2 N F + 4 F^2 ANDs a bin, and 2 (N + F)^2 once.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from protocols.counts import Indices
from protocols.inputs import both_inputs, summands
from protocols.opened import index_below
from smc.circuit import Builder, Form, Integer, Netlist, any_of, concatenate, multiply, select
from smc.circuit import fraction as cut_fraction
from smc.engines import Bits, Choice, Engine

QUANTILE_BITS = 16  # fraction bits of a quantile


def fraction_bits(max_rows: int) -> int:
    """Return the number F of fraction bits of each quotient in the log-rank statistic."""
    return math.ceil((max_rows.bit_length() + 1) / 2) + 12


def undecided(u: float, v: float, events: int, quantile: float, max_rows: int) -> float:
    """Return the distance from the quantile below which the bit may differ from the exact test's.

    Args:
        u: U, the events of the second arm minus those expected.
        v: V, the variance of U, above 0.
        events: D, the number of events.
        quantile: The quantile that X^2 = U^2 / V is compared with.
        max_rows: Upper bound on the rows of a party.
    """
    off = events * 2.0 ** -fraction_bits(max_rows)
    cut = 2.0 ** -(QUANTILE_BITS + 1)
    return (2 * abs(u) * off + off**2 + 3.25 * quantile * off) / v + cut * (1 + 3.25 * off / v)


@lru_cache(maxsize=16)
def _bin_netlist(width: int, fraction: int, form: Form) -> Netlist:
    """Build the circuit of a bin: outputs d p and d p (1 - p) r, each times 2^fraction.

    Inputs: rows at risk by arm and events, of party 0, of party 1.
    """
    builder = Builder(form)
    left, right = ([builder.input(width) for _ in range(3)] for _ in range(2))
    first, second, events = (a.wide_add(b) for a, b in zip(left, right, strict=True))
    at_risk = first + second  # fits: a row is in one arm, so both arms together are the rows of both parties
    share = cut_fraction(second, at_risk, fraction)
    survivors = cut_fraction(at_risk - events, at_risk - 1, fraction)
    below_one = share[:fraction]  # shares of 0 and of 1 have no variance
    variance = (below_one * (-below_one))[fraction:]
    corrected = (variance * survivors)[fraction : 2 * fraction]
    whole = width + 1 + fraction
    builder.output(multiply(events, share, whole))
    builder.output(multiply(events, corrected, whole))
    return builder.build()


@lru_cache(maxsize=16)
def _test_netlist(width: int, fraction: int, quantile: int, form: Form) -> Netlist:
    """Build the circuit of the test: inputs D_1 of party 0 and of party 1, the expected events of the second arm, V."""
    builder = Builder(form)
    left, right = builder.input(width), builder.input(width)
    expected, variance = builder.input(width + 1 + fraction), builder.input(width + 1 + fraction)
    observed = concatenate(Integer.constant(builder.graph, 0, fraction), left.wide_add(right))
    difference = observed.wide_subtract(expected)
    size = select(difference[-1], -difference, difference)[: len(expected)]
    scaled = concatenate(Integer.constant(builder.graph, 0, fraction), variance * quantile)
    square = concatenate(Integer.constant(builder.graph, 0, QUANTILE_BITS), size * size)
    builder.output([(square > scaled) & any_of(variance.wires)])
    return builder.build()


def differ(engine: Engine, rows: Indices, quantile: float, max_rows: int) -> bool:
    """Open whether the survival of the two arms differs.

    Args:
        engine: The engine of this session.
        rows: This party's rows by arm, event (0 = censored, 1 = event) and bin of time, int64[2, 2, bins]; private.
        quantile: Quantile of chi-square with one degree of freedom, such as 3.84 for a level of 5 %; public.
        max_rows: Upper bound on the rows of a party; public.

    Returns:
        True if the statistic is above the quantile; both parties learn it.

    Raises:
        InputError: A number of rows does not fit the bits of `max_rows`.
        ProtocolError: The opened value is not a bit.

    Examples:
        >>> from smc.engines import make_engine
        >>> from smc.local import run_local
        >>> rows = np.array([[[0, 0, 9], [9, 9, 0]], [[0, 0, 60], [1, 1, 0]]])  # few events in the second arm
        >>> run_local(lambda session: differ(make_engine(session, "clear"), rows, 3.84, 1000))[0]
        True
    """
    width, fraction, words, session = max_rows.bit_length(), fraction_bits(max_rows), engine.words, engine.session
    bins, whole = rows.shape[2], width + 1 + fraction
    at_risk = rows.sum(axis=1)[:, ::-1].cumsum(axis=1)[:, ::-1]
    of_bins = np.concatenate([at_risk, rows[:, 1].sum(axis=0)[None]]).reshape(-1)
    events = rows[1, 1].sum(keepdims=True)
    fitting = summands(engine, np.concatenate([of_bins, events]), width, "the number of rows")
    inputs = both_inputs(engine, fitting, width)
    by_bin = [side.take(slice(i * bins, (i + 1) * bins)) for side in inputs for i in range(3)]
    with session.phase("bins"):
        parts = engine.run(_bin_netlist(width, fraction, engine.form), *by_bin)
    with session.phase("sums"):
        ((terms,),) = words.select([Choice(Bits.join(parts), [[1 << i for i in range(whole)]])], whole + 1)
        sums = words.bits(words.total(terms, np.arange(2 * bins).reshape(2, bins), whole + 1))
    with session.phase("test"):
        ends = [side.take(slice(3 * bins, None)) for side in inputs]
        expected, variance = (Bits(sums.take(slice(i, i + 1)).data[:whole]) for i in range(2))
        rounded = round(quantile * (1 << QUANTILE_BITS))
        opened = engine.reveal(
            *engine.run(_test_netlist(width, fraction, rounded, engine.form), *ends, expected, variance)
        )
    return bool(index_below(opened[0], 2, "whether arms differ")[0])
