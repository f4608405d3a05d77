"""Learn a linear classifier or regression, with noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from typing import Any

from typing_extensions import override

from parties.jobs.kind import (
    NO_BITS,
    SVG,
    Counted,
    Description,
    Disclosure,
    Document,
    File,
    Inputs,
    OnStep,
    State,
    States,
    Step,
    changes,
    nothing_else_of_either,
    opened_steps,
)
from parties.jobs.regress import result
from parties.jobs.regress.choice import Choice
from parties.jobs.regress.coordinates import Coordinates
from parties.jobs.regress.gradient import Gradient
from parties.jobs.regress.method import Method
from parties.jobs.regress.output import Output
from parties.jobs.regress.reading import OwnMoments, classes_of, features_of, moments_of, rows_of, stream_of, target_of
from parties.jobs.regress.settings import SQUARES, RegressSettings, completed
from parties.jobs.regress.squares import Squares
from parties.jobs.release.reading import fingerprint
from parties.jobs.tabular import BySchema
from parties.tables.schema import Schema
from parties.tables.types import NumberType, type_of
from parties.tables.unfit import UnfitError
from protocols.counts import Rows as Source
from protocols.regression.features import Features
from protocols.regression.rows import OwnRows
from smc.engines import Engine

COUNTABLE = 1 << 14  # maximum noisy numbers: counting them takes a few seconds
METHODS: dict[str, type[Method]] = {
    "gradient": Gradient,
    "output": Output,
    "choice": Choice,
    **dict.fromkeys(SQUARES, Squares),
}
WAYS = {
    "gradient": "noisy gradient descent",
    "output": "the mean of each party's own minimiser, with noise",
    "choice": "a noisy choice among the weights of a grid",
    "least-squares": "least squares of noisy second moments",
    "ridge": "ridge regression of noisy second moments",
}


class RegressJoint(BySchema):
    """Learn a linear classifier or regression from the rows of both parties. Both learn its weights, found with noise.

    By default this is gradient descent: in each step, each party sums the gradients of its own rows. Both learn the sum
    of the two sums, with noise, and compute the next weights from it.
    """

    name = "regress joint"
    about = Description(
        "Linear classifier",
        "model",
        example="--target outcome --epsilon 1 --out model.json",
        afterwards="smc predict --model model.json --data rows.csv classifies rows with it, on this machine alone.",
        phases=True,
    )
    Settings = RegressSettings
    runs_alone, unread = True, ""
    settings: RegressSettings

    # Making a task.

    @classmethod
    @override
    def canonical(cls, settings: RegressSettings, schema: Schema) -> RegressJoint:
        target = schema.choose_target(settings.target)
        numeric = settings.numeric
        if numeric is None:  # by the schema's types
            typed = [name for name in settings.columns or schema.attributes if name != target]
            numeric = tuple(n for n in typed if isinstance(type_of(schema.attributes.get(n, ())), NumberType)) or None
        classifies = settings.method not in SQUARES
        schema = schema.numeric([*(numeric or ()), *([] if classifies else [target])])
        features, used = features_of(schema, target, settings.columns, numeric, classifies)
        ordered = {
            "target": target,
            "columns": tuple(column.name for column in features.columns),
            "numeric": tuple(column.name for column in features.columns if column.numbers is not None) or None,
        }
        task = cls(completed(settings.model_copy(update=ordered), features), used)
        task.method.check()
        return task

    @property
    @override
    def number_columns(self) -> tuple[str, ...]:
        return (*(self.settings.numeric or ()), *([] if self.classifies else [self.target]))

    @property
    def classifies(self) -> bool:
        """True if the target has two classes; False if it has numbers."""
        return self.settings.method not in SQUARES

    @classmethod
    @override
    def proposed(cls, settings: Any, inputs: Inputs) -> RegressJoint:
        """Take `max_rows` from the table unless the job has its own; for the method output also `least_rows`."""
        table, _ = inputs.required()
        if "least_rows" not in settings.model_fields_set and settings.method == "output" and table.least_rows:
            settings = settings.model_copy(update={"least_rows": table.least_rows})
        return super().proposed(settings, inputs)

    @override
    def notes(self, settings: Any, source: Any) -> list[str]:
        return [f"by public numbers: {self.chosen}", *super().notes(settings, source)]

    @property
    def chosen(self) -> str:
        """The settings of the method that are numbers, such as "steps 30, rate 8"; all are public."""
        names = {"lambda": self.settings.regularisation, "delta": self.settings.delta, "steps": self.settings.steps}
        more = {"rate": self.settings.rate, "clip": self.settings.clip}
        return ", ".join(f"{name} {value:g}" for name, value in {**names, **more}.items() if value is not None)

    @cached_property
    def features(self) -> Features:
        """The features: the numbers that a row's values become, one weight for each."""
        settings = self.settings
        return features_of(self.schema, self.target, settings.columns, settings.numeric, self.classifies)[0]

    @cached_property
    def method(self) -> Method:
        """Training method."""
        target = None if self.classifies else target_of(self.schema, self.target)
        kind = METHODS[self.settings.method]
        if kind is Choice and self.settings.steps is not None:
            kind = Coordinates  # several weights, one after the other
        return kind(self.settings, self.features, *(target or ()))

    # Disclosure.

    @property
    @override
    def target(self) -> str:
        assert self.settings.target is not None
        return self.settings.target

    @property
    def _model(self) -> str:
        return "a linear classifier" if self.classifies else "a linear model"

    @property
    @override
    def disclosure(self) -> Disclosure:
        def opened(state: State, step: int | None = None) -> dict[str, int]:
            return {self.method.what: sum(map(len, state if step is None else state[step : step + 1]))}

        way = f"by {WAYS[self.settings.method]} (epsilon {self.settings.epsilon:g})"
        question = f"{self._model} for {self.target} from the rows of both parties, {way}"
        spends = self.method.spends
        return Disclosure(self._reveals, opened, NO_BITS, spends, question=question, subject=self.target)

    def _reveals(self, peer: str) -> list[str]:
        settings = self.settings
        but = "" if settings.delta is None else f", but for a chance of {settings.delta:g}"
        learnt = {
            "gradient": f"{self.method.steps} sums of the gradients of all rows and the number of rows, each number "
            "with noise that neither knows: the weights follow from them",
            "output": "its weights, with noise that neither knows",
            "choice": "its weight, chosen with noise that neither knows"
            if self.method.steps == 1
            else f"its weights, in {self.method.steps:,} choices of one with noise that neither knows",
            **dict.fromkeys(
                SQUARES,
                f"{self.method.numbers:,} sums of products of two of a row's numbers, each with noise that neither "
                "knows: the weights follow from them",
            ),
        }[settings.method]
        factor = f"e^{settings.epsilon:g} = {math.exp(settings.epsilon or 0):.3g}{but}"
        least = "" if settings.least_rows is None else f", and at least {settings.least_rows:,}"
        return [
            f"We and {peer} both learn {self._model} for {self.target} of both tables' rows together: {learnt}.",
            f"{changes(self.at_most, settings.adjacency == 'replace', 'any result is', factor)}.",
            *self.rounded,
            nothing_else_of_either(peer, settings.max_rows, least),
        ]

    @override
    def misfit(self, inputs: Inputs) -> str | None:
        """Refuse a `least_rows` above the table's: the noise depends on this public bound."""
        table, _ = inputs.required()
        if (self.settings.least_rows or 0) > table.least_rows:
            return f"least_rows of the job must be at most {table.least_rows}, the public bound of the table here"
        return super().misfit(inputs)

    # Cost.

    @override
    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        return Counted(
            lambda engine: self.method.run(engine, self.method.own(None), lambda step, opened: None, ()),
            is_countable=self.method.steps * self.method.numbers <= COUNTABLE,
            asked=lambda: (self.method.summed,) * self.method.steps,
        )

    # Run.

    @property
    @override
    def without_holders(self) -> str | None:
        if self.settings.method == "output":
            return "--method output takes the mean of two parties' minimisers: give another method"
        return None

    @property
    @override
    def streamed(self) -> bool:
        return self.method.streamed

    @property
    @override
    def passes(self) -> int:
        return self.method.steps if self.streamed else 0

    def own_rows(self, source: Source) -> OwnRows | OwnMoments:
        """Return this party's rows as features; for least squares and ridge, their second moments.

        Raises:
            InputError: There are fewer rows than agreed.
        """
        rows: OwnRows | OwnMoments
        if isinstance(self.method, Squares):
            rows = moments_of(source, self.method.moments)
        else:
            rows = (stream_of if self.streamed else rows_of)(source, self.method.space)
        least = self.settings.least_rows or 0
        if rows.total < least:  # of a file; a table has at least its own bound, which is not below the job's
            agreed = f"{least}, the agreed bound (least_rows)"
            raise UnfitError(
                f"there are {rows.total} rows, fewer than {agreed}", loggable=f"the rows are fewer than {agreed}"
            )
        return rows

    @override
    def of_nobody(self) -> Any:
        return self.method.own(None)

    @override
    def data_of(self, source: Any, secret: bytes) -> Any:
        return self.method.own(self.own_rows(source))

    @override
    def fingerprint(self, source: Any, data: Any) -> Callable[[bytes], bytes]:
        digest = source.fingerprint_of_rows
        return fingerprint(digest, data) if isinstance(self.method, Squares) else digest

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """Run the method, and return the opened values. `data` is the result of `Method.own`."""

        def tell(step: int, opened: State) -> None:
            words = f"step {step + 1} of {self.method.steps}" if self.method.steps > 1 else self.method.words
            on_step(Step(step, self.method.numbers, opened, words))

        return self.method.run(engine, data, tell, start)

    # Checkpoints: the opened values, step by step.

    @property
    @override
    def states(self) -> States:
        return opened_steps(lambda state: len(state) == self.method.steps)

    # Result.

    @override
    def document(self, state: State) -> Document:
        settings = self.settings
        about: Document = {"method": settings.method}
        if self.classifies and self.method.minimises:
            about["loss"] = settings.loss
        if self.classifies and self.method.minimises and settings.loss == "huber":
            about["huber"] = settings.huber
        about |= {} if settings.regularisation is None else {"lambda": settings.regularisation}
        about |= {"epsilon": settings.epsilon, "adjacency": settings.adjacency}
        about |= {} if self.at_most is None else {"at_most": self.at_most}
        about |= {"rounded": self.rounded} if self.rounded else {}
        about |= self.method.fields(state)
        weights, spread = self.method.weights(state), self.method.spread(state)
        about |= {} if spread is None else result.noise(self.features, weights, spread)
        of = self.method.target or classes_of(self.schema, self.target)
        model = result.model(self.target, of, self.features, weights)
        return {**about, "schema_digest": self.schema.digest(), **self.split_fields, **model}

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        return result.text(document)

    @classmethod
    @override
    def files(cls) -> tuple[File, ...]:
        return (*super().files(), File(f"{cls.about.noun}.svg", SVG, result.picture, "svg"))
