"""Which ways there are to find a linear classifier, or least squares, by their names in the settings."""

from __future__ import annotations

from parties.jobs.regress.choice import Choice
from parties.jobs.regress.gradient import Gradient
from parties.jobs.regress.method import Method
from parties.jobs.regress.output import Output
from parties.jobs.regress.settings import SQUARES
from parties.jobs.regress.squares import Squares

METHODS: dict[str, type[Method]] = {
    "gradient": Gradient,
    "output": Output,
    "choice": Choice,
    **dict.fromkeys(SQUARES, Squares),
}
