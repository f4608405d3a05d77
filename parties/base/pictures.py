"""Pictures as SVG documents: colours, widths of texts, and matplotlib with settings independent of the user's.

    with pictures.style():
        figure = Figure(figsize=(4, 3))                      # inches
        ...
        return pictures.svg(figure, Title="accuracy")

Matplotlib is imported when a picture is drawn, because it would slow the start of every command.
"""

from __future__ import annotations

import functools
import io
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which people with any colour vision can distinguish.
PALETTE = ("#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#D55E00", "#0072B2", "#999999")
INK, MUTED, RULE, PAPER = "#101418", "#5A6572", "#9AA5B1", "#FFFFFF"

# Widths of the characters from space to tilde in DejaVu Sans, in thousandths of an em.
_WIDTHS = (
    318, 401, 460, 838, 636, 950, 780, 275, 390, 390, 500, 838, 318, 361, 318, 337, 636, 636, 636,
    636, 636, 636, 636, 636, 636, 636, 337, 337, 838, 838, 838, 531, 1000, 684, 686, 698, 770, 632,
    575, 775, 752, 295, 295, 656, 557, 863, 748, 787, 603, 787, 695, 635, 611, 732, 684, 989, 685,
    611, 685, 390, 337, 390, 838, 500, 500, 613, 635, 550, 635, 615, 352, 635, 634, 278, 278, 579,
    278, 974, 634, 612, 635, 635, 411, 521, 392, 634, 592, 818, 592, 592, 525, 636, 337, 636, 838,
)  # fmt: skip
_ADVANCE = {chr(32 + i): width for i, width in enumerate(_WIDTHS)}

Measure = Callable[[str, float], float]  # returns the width in inches of a text at a size in points


@contextmanager
def style(settings: Mapping[str, Any] = MappingProxyType({})) -> Iterator[None]:
    """Use matplotlib's own defaults instead of the user's matplotlibrc; text stays text in an SVG.

    `settings` override them: matplotlib's parameters, as in {"font.size": 10}.
    """
    from matplotlib import rc_context, rcdefaults, rcParams

    ours: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "smc"}
    with rc_context(), warnings.catch_warnings():
        rcdefaults()
        rcParams.update(ours | dict(settings))
        warnings.filterwarnings("ignore", message="Glyph")  # characters that the font lacks; the viewer has its own
        yield


def svg(figure: Figure, **about: str | None) -> str:
    """Return a figure made within `style` as SVG, equal for equal figures.

    Args:
        figure: The figure.
        about: Metadata of the file, such as `Title`; None leaves out one that is usual.
    """
    output = io.StringIO()
    metadata: dict[str, Any] = {"Creator": "smc", "Date": None} | about
    figure.savefig(output, format="svg", metadata=metadata)
    # A path is a line, however many points it has, and a group ends on the line of its last part.
    return re.sub(r"\n *</g>", "</g>", output.getvalue().replace(" \n", " ").replace('\n"', '"'))


def text_measure() -> Measure:
    """Return a function for the width of a text in DejaVu Sans, which is wider than other plain fonts.

    Accented letters count as their plain form, full-width characters as 1.1 em, others beyond ASCII as 0.9 em.
    """
    return lambda text, points: _ems(text) * points / 72


@functools.cache
def _ems(text: str) -> float:
    return sum(_ADVANCE.get(c) or _advance(c) for c in unicodedata.normalize("NFD", text)) / 1000


def _advance(letter: str) -> int:
    if unicodedata.combining(letter):
        return 0
    return 1100 if unicodedata.east_asian_width(letter) in "WF" else 900
