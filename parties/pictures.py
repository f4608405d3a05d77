"""Pictures as SVG documents: colours, how wide a text is, and matplotlib set up the same wherever it runs.

    with pictures.style():
        figure = Figure(figsize=(4, 3))                      # inches
        ...
        return pictures.svg(figure, Title="accuracy")

Matplotlib is imported when a picture is drawn: it would slow the start of every command.
"""

from __future__ import annotations

import functools
import io
import unicodedata
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's colours, which people with any colour vision tell apart.
PALETTE = ("#56B4E9", "#E69F00", "#009E73", "#CC79A7", "#F0E442", "#D55E00", "#0072B2", "#999999")
INK, MUTED, RULE, PAPER = "#101418", "#5A6572", "#9AA5B1", "#FFFFFF"

Measure = Callable[[str, float], float]  # text and size in points to width in inches


@contextmanager
def style(settings: Mapping[str, Any] = MappingProxyType({})) -> Iterator[None]:
    """Matplotlib's own defaults, whatever the user's matplotlibrc says; text stays text in an SVG.

    `settings` go before them: matplotlib's parameters, as in {"font.size": 10}.
    """
    from matplotlib import rc_context, rcdefaults, rcParams

    ours: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "smc"}
    with rc_context(), warnings.catch_warnings():
        rcdefaults()
        rcParams.update(ours | dict(settings))
        warnings.filterwarnings("ignore", message="Glyph")  # letters our font lacks; the viewer has its own
        yield


def svg(figure: Figure, **about: str | None) -> str:
    """A figure made within `style` as an SVG document, the same for the same figure; `about`: Title, Description."""
    output = io.StringIO()
    metadata: dict[str, Any] = {"Creator": "smc", "Date": None} | about
    figure.savefig(output, format="svg", metadata=metadata)
    return output.getvalue()


def text_measure() -> Measure:
    """A function for the width of a text as drawn; letters our font lacks count as full-width ones."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    font = FontProperties(family="DejaVu Sans", size=1.0)

    @functools.cache
    def width_of_one_point(text: str) -> float:
        wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph")
            points, _, _ = text_to_path.get_text_width_height_descent(text, font, ismath=False)
        return float(points + 0.5 * wide) / 72

    return lambda text, points: width_of_one_point(text) * points
