"""Settings of a linear classifier, and their defaults from public numbers."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field

from parties.base.settings import AtMost, LocalPath
from parties.jobs import settings as fields
from parties.jobs.kind import Adjacency
from parties.jobs.release.settings import Delta, Epsilon, default_delta, failure, neighbours
from parties.jobs.settings import BooleanSettings, Columns, Name, RowBound, output, public
from parties.jobs.tabular import TabularSettings
from protocols.regression.features import Contrasts, Features
from protocols.regression.losses import Loss, LossName, loss
from protocols.regression.minimiser import LEAST_HUBER, LEAST_LAMBDA
from protocols.release.promise import check_delta
from smc.errors import InputError

Method: TypeAlias = Literal["gradient", "output", "choice", "least-squares", "ridge"]
SQUARES: tuple[Method, ...] = ("least-squares", "ridge")  # methods whose target is a column of numbers
MOST_STEPS = 1_000


class RegressSettings(BooleanSettings, TabularSettings):
    """Settings of `smc regress joint`."""

    target: Name | None = public(
        None,
        "Target",
        "Class column with two classes; a column of numbers for least squares and ridge",
        none="target in the schema",
        column=True,
    )
    columns: Columns | None = fields.predictors()
    numeric: Columns | None = fields.numbers("all are categories")
    method: Method = public(
        "gradient",
        "Method",
        "gradient = noise on gradients; output = on the final weights; choice = weights chosen from a public grid; "
        "least-squares, ridge = noise on second moments, for a target of numbers",
    )
    loss: LossName = public("logistic", "Loss", "Loss: logistic, or huber = hinge, its corner rounded", advanced=True)
    huber: Annotated[float, Field(strict=True, gt=0, lt=1, allow_inf_nan=False)] = public(
        0.5,
        "Huber's width",
        "With loss huber: half the width of the interval in which the loss is rounded",
        advanced=True,
    )
    regularisation: Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)] | None = public(
        None,
        "Lambda",
        "Regularisation: lambda / 2 |w|^2 is added to the loss. A larger lambda keeps the weights w smaller",
        none="computed from public numbers",
        alias="lambda",
        advanced=True,
    )
    epsilon: Epsilon | None = public(
        None,
        "Epsilon",
        "Privacy loss: a row changes a result's chance by the factor e^epsilon at most. Less = more noise",
    )
    delta: Delta | None = failure("; not with choice")
    adjacency: Adjacency = neighbours()
    steps: Annotated[int, Field(strict=True, ge=1, le=MOST_STEPS)] | None = public(
        None,
        "Steps",
        "Number of steps of gradient descent, or of choices. The steps share epsilon",
        none="computed from public numbers",
        advanced=True,
    )
    rate: Annotated[float, Field(strict=True, gt=0, le=1000, allow_inf_nan=False)] | None = public(
        None,
        "Rate",
        "Step size of gradient descent: factor on each gradient",
        none="computed from public numbers",
        advanced=True,
    )
    clip: Annotated[float, Field(strict=True, ge=0.01, le=1, allow_inf_nan=False)] | None = public(
        None,
        "Clip",
        "Maximum length of a row's gradient. Longer ones are shortened, so that one row changes little",
        none="computed from public numbers",
        advanced=True,
    )
    max_rows: RowBound = fields.row_bound()
    at_most: AtMost | None = fields.of_people()
    least_rows: RowBound | None = public(
        None,
        "Least rows",
        "Number of rows that each party has at least, public. Required by method output",
        none="none",
        advanced=True,
    )
    held_out: fields.HeldOut | None = fields.held_out()
    fold: fields.Fold | None = fields.fold()
    svg: LocalPath | None = output("Draw the weights as SVG.")

    @property
    def objective(self) -> Loss:
        """Loss function of the settings."""
        return loss(self.loss, self.huber)


def completed(settings: RegressSettings, features: Features) -> RegressSettings:
    """Return the settings with all defaults from public numbers.

    The ratio r = n sqrt(2 rho / d), for n rows of a party, compares the gradient's sum with the noise of one step. The
    larger it is, the more steps are worth their noise, 5 sqrt(r) of them, and the longer they may be. The constants
    were measured on eight tables at epsilon 0.1 to 16, of categories and of numbers, and checked on three more. All
    defaults are rounded to decimal numbers, which are part of the agreement.

    Args:
        settings: The settings.
        features: The features.

    Raises:
        InputError: A setting is missing, or does not apply to the method.
    """
    if settings.epsilon is None:
        raise InputError("epsilon: is missing: give the privacy loss, 1 for example")
    if settings.least_rows is not None and settings.least_rows > settings.max_rows:
        raise InputError("least_rows: is more than max_rows; choose a smaller number")
    least = {"lambda": (settings.regularisation, LEAST_LAMBDA), "huber": (settings.huber, LEAST_HUBER)}
    for key, (value, bound) in least.items():
        if value is not None and value < bound:
            why = "below it rounding decides whether a minimiser is found, and one row could make a run fail"
            raise InputError(f"{key}: must be at least {bound:g}, not {value:g}: {why}")
    more: dict[str, Any] = {}
    if settings.method == "choice":
        for name in ("delta", "rate", "clip"):
            if getattr(settings, name) is not None:
                raise InputError(f"{name}: does not apply to method choice; remove it")
        if settings.steps is None and features.is_one_number:
            return settings.model_copy(update={"regularisation": settings.regularisation or 0.001})
        if settings.regularisation is not None or settings.loss != "logistic":
            name = "lambda" if settings.regularisation is not None else "loss"
            raise InputError(
                f"{name}: applies to method choice only with a single column, of numbers, and without steps; remove it"
            )
        return settings.model_copy(update={"steps": settings.steps or features.number})
    if settings.method in SQUARES:
        for name in ("steps", "rate", "clip", "least_rows"):
            if getattr(settings, name) is not None:
                raise InputError(f"{name}: does not apply to {settings.method}; remove it")
        if settings.method == "least-squares":
            if settings.regularisation is not None:
                raise InputError("lambda: applies to ridge only; remove it")
        else:
            more["regularisation"] = settings.regularisation or 0.001
        more["delta"] = settings.delta or default_delta(settings.max_rows)
        check_delta(more["delta"], 2 * settings.max_rows)
        return settings.model_copy(update=more)
    delta = settings.delta or default_delta(settings.max_rows)
    check_delta(delta, 2 * settings.max_rows)
    more["delta"] = delta
    if settings.method == "gradient":
        space = Contrasts(features.columns)
        ratio = _ratio(settings, delta, space.number)
        longer = min(max(float(space.square) * math.sqrt(ratio) / 20, 0.25), 8.0)
        more["regularisation"] = settings.regularisation or max(float(f"{0.05 / settings.max_rows:.1g}"), LEAST_LAMBDA)
        more["steps"] = settings.steps or min(max(round(5 * math.sqrt(ratio)), 5), 60)
        more["rate"] = settings.rate or round(8 * longer, 2)  # 8 is safe for the logistic loss
        more["clip"] = settings.clip or (1.0 if ratio >= 300 else 0.5)
        return settings.model_copy(update=more)
    for name in ("steps", "rate", "clip"):
        if getattr(settings, name) is not None:
            raise InputError(f"{name}: applies to gradient descent only; remove it")
    if settings.held_out is not None:
        raise InputError(
            "held_out: does not apply to method output, whose noise needs a lower bound on rows; remove it"
        )
    if settings.least_rows is None:
        raise InputError("least_rows: is missing: the method output needs a public lower bound on each party's rows")
    ratio = _ratio(settings, delta, features.number)
    more["regularisation"] = settings.regularisation or min(max(float(f"{0.2 / ratio:.1g}"), LEAST_LAMBDA), 1.0)
    return settings.model_copy(update=more)


def safe_rate(settings: RegressSettings) -> float:
    """Return a step size that overshoots in no direction, for any rows of norm 1."""
    return round(2 / settings.objective.smoothness, 6)


def _ratio(settings: RegressSettings, delta: float, numbers: int) -> float:
    """Return the ratio r of `completed`, for the bound on one party's rows that matters for the method."""
    assert settings.epsilon is not None
    rows = (settings.max_rows if settings.method == "gradient" else settings.least_rows or 1) / settings.together
    log = -math.log(delta)
    root = math.sqrt(log + settings.epsilon) - math.sqrt(log)  # root of rho
    return rows * root * math.sqrt(2 / numbers)
