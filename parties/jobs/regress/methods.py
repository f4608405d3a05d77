"""Selection of the method for a linear classifier or least squares, by the settings."""

from __future__ import annotations

from parties.alone.regression.features import Column, Features
from parties.jobs.regress.choice import Choice
from parties.jobs.regress.coordinates import Coordinates
from parties.jobs.regress.gradient import Gradient
from parties.jobs.regress.method import Method
from parties.jobs.regress.output import Output
from parties.jobs.regress.settings import SQUARES, RegressSettings
from parties.jobs.regress.squares import Squares

_METHODS: dict[str, type[Method]] = {
    "gradient": Gradient,
    "output": Output,
    "choice": Choice,
    **dict.fromkeys(SQUARES, Squares),
}


def method_of(settings: RegressSettings, features: Features, target: tuple[Column, tuple[bool, ...]] | None) -> Method:
    """Return the method of complete settings; `choice` with steps selects several weights in turn.

    Args:
        settings: The settings, complete.
        features: The features.
        target: Numeric target and whether each of its values is a number; None for classes.
    """
    kind = _METHODS[settings.method]
    if kind is Choice and settings.steps is not None:
        kind = Coordinates
    return kind(settings, features, *(target or ()))
