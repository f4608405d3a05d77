"""ln x of a sum of two counts: the rough approximation by a garbled circuit, then the Taylor series."""

from __future__ import annotations

import math

from parties.lesson.view import View, require_bits, watched
from protocols.inputs import both_inputs, checked
from protocols.logarithm import rough_netlist, tables, x_log_x
from protocols.precision import derive
from smc.engines import Engine, make_engine
from smc.errors import InputError
from smc.primitives.bits import to_integers

COUNT_BITS, DELTA = 15, 0.001  # of a party's count; tolerance of ID3-delta
BOUND = 2 << COUNT_BITS  # on the sum of both counts


def logarithm(engine: Engine, count: int) -> View:
    """Watch ln x and x ln x of the sum x of two counts. The intermediate values are opened here, for the lesson alone.

    Args:
        engine: The engine of the run.
        count: This party's count, 0 to 32,767; private until the lesson opens it.
    """
    require_bits(count, COUNT_BITS)
    view = View()
    with watched(engine.session, view) as (session, _):
        mixed = make_engine(session, "mixed")
        precision = derive(DELTA, BOUND, prices=mixed.words.prices)
        width, cells = precision.count_width, precision.cells
        left, right = both_inputs(mixed, checked([count], width, "the count"), width)
        text = (
            "Yao's circuit adds the counts and approximates x = 2^n (c + d), with c the middle of a cell. ID3 opens "
            "none of these numbers."
        )
        x, cell, shift, *_ = mixed.reveal(*mixed.run(rough_netlist(precision, mixed.form), left, right))
        (total,) = to_integers(x)
        if total == 0:
            raise InputError("both counts are 0, and ln 0 is no number: at most one count may be 0")
        n, place = width - 1 - int(shift[:, 0].argmax()), int(cell[:, 0].argmax())
        c = 1 + (2 * place + 1) / (2 << cells)
        d = total / 2**n - c
        view.step(text, your_count=count, x=total, n=n, cell=f"{place} of 0 to {(1 << cells) - 1}", c=c, d=f"{d:.8f}")
        (constants, *coefficients), octaves = tables(precision)
        unit = 1 << precision.fraction
        true, value, power = math.log(total), (constants[place] + octaves[width - 1 - n]) / unit, 1.0
        series = [f"{'n ln 2 + ln c':48} =  {value:.8f}   error {value - true:+.1e}"]
        for i, (kept, column) in enumerate(zip(precision.digits, coefficients, strict=True), 1):
            power *= math.floor(d * 2**kept) / 2**kept
            entry = column[place] / 2 ** precision.scales[i]
            value += entry * power
            term = f"{'+' if i % 2 else '-'} d^{i} / ({i} c^{i})"
            rounded = f"{1 / (i * c**i):.6f} as {abs(entry):.6f}"
            series.append(f"{term} {rounded}, d to 2^-{kept:<2} -> {value:.8f}   error {value - true:+.1e}")
        text = (
            "The Taylor series of ln(1 + d / c) refines it, term by term. The protocol rounds the factor of d^i to a "
            "table entry. Each term multiplies by one d more, cut after the binary digit shown. In ID3 these products "
            "are computed on shares."
        )
        view.step(text, terms=series, true_ln_x=f"{true:.8f}")
        (opened,) = mixed.reveal(mixed.words.bits(x_log_x(mixed, precision, left, right)))
        (result,) = to_integers(opened, signed=True)
        computed, exact = result / unit, total * true
        names = ("terms left out", "digits cut off", "entries rounded")
        view.step(
            "The protocol multiplies the last value by x. The error is x times the error of ln x. Its bound is proven, "
            "and has three parts.",
            fraction_bits=precision.fraction,
            x_ln_x=f"{computed:.6f}",
            true_value=f"{exact:.6f}",
            error=f"{computed - exact:+.1e}",
            bound=f"{float(precision.error) * total:.1e}",
            parts=[
                f"{float(part) * total:.1e}  {name}" for name, part in zip(names, precision.error_parts, strict=True)
            ],
        )
    return view
