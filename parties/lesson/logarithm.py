"""ln x of a sum of two counts: the rough approximation by a garbled circuit, then the Taylor series."""

from __future__ import annotations

import math

from parties.lesson.view import View, require_bits, watched
from protocols.inputs import both_inputs, checked
from protocols.logarithm import rough_netlist, x_log_x
from protocols.precision import derive
from smc.engines import Engine, make_engine
from smc.errors import InputError
from smc.primitives.bits import to_integers

COUNT_BITS, DELTA = 15, 0.001  # of a party's count; tolerance of ID3-delta
BOUND = 2 << COUNT_BITS  # on the sum of both counts
TERMS = 3  # of the Taylor series; one would do, and would not show a series


def logarithm(engine: Engine, count: int) -> View:
    """Watch ln x and x ln x of the sum x of two counts. The intermediate values are opened here, for the lesson alone.

    Args:
        engine: The engine of the run.
        count: This party's count, 0 to 32,767; private until the lesson opens it.
    """
    require_bits(count, COUNT_BITS)
    view = View()
    with watched(engine.session, view) as (session, _):
        yao = make_engine(session, "yao")
        precision = derive(DELTA, BOUND, TERMS, prices=yao.words.prices)
        width, cells = precision.count_width, precision.cells
        left, right = both_inputs(yao, checked([count], width, "the count"), width)
        text = (
            "Yao's circuit adds the counts and approximates x = 2^n (c + d), with c the middle of a cell. ID3 opens "
            "none of these numbers."
        )
        x, cell, shift, *_ = yao.reveal(*yao.run(rough_netlist(precision, yao.form), left, right))
        (total,) = to_integers(x)
        if total == 0:
            raise InputError("both counts are 0, and ln 0 is undefined: give a count above 0")
        n = width - 1 - int(shift[:, 0].argmax())
        centre = 1 + (2 * int(cell[:, 0].argmax()) + 1) / (2 << cells)
        d = total / 2**n - centre
        view.step(text, your_count=count, x=total, n=n, c=centre, d=f"{d:.8f}", cells=1 << cells)
        rough = n * math.log(2) + math.log(centre)
        true, value = math.log(total), rough
        series = [f"n ln 2 + ln c               = {rough:.8f}   error {rough - true:+.1e}"]
        for i in range(1, precision.terms + 1):
            value += (-1) ** (i - 1) * d**i / (i * centre**i)
            sign = "+" if i % 2 else "-"
            series.append(f"{sign} d^{i} / ({i} c^{i})              -> {value:.8f}   error {value - true:+.1e}")
        text = (
            "The Taylor series of ln(1 + d / c) refines it, term by term. In ID3 these products are computed on shares."
        )
        view.step(text, terms=series, true_ln_x=f"{true:.8f}")
        (opened,) = yao.reveal(yao.words.bits(x_log_x(yao, precision, left, right)))
        (result,) = to_integers(opened, signed=True)
        computed, exact = result / (1 << precision.fraction), total * true
        view.step(
            "The protocol computes x ln x on integers, with rounded table entries and cut digits of d. This error "
            "adds to that of the series. The bound on both together is proven.",
            fraction_bits=precision.fraction,
            x_ln_x=f"{computed:.6f}",
            true_value=f"{exact:.6f}",
            error=f"{computed - exact:+.1e}",
            bound=f"{float(precision.error) * total:.1e}",
        )
    return view
