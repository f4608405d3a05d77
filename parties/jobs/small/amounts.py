"""Common base of the questions on one number of each party: the number's origin and its width."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from pydantic import Field
from typing_extensions import override

from parties.base.settings import AtMost, Count, Settings
from parties.base.text import did_you_mean, quoted
from parties.jobs.kind import (
    Bits,
    Counted,
    Disclosure,
    Document,
    Inputs,
    Kind,
    KindSettings,
    OnStep,
    Opened,
    State,
    Step,
    nothing_else,
    typed_value,
)
from parties.jobs.settings import BooleanSettings, of_people, private, public
from smc.errors import InputError

if TYPE_CHECKING:
    from smc.counting import Program
    from smc.engines import Engine

ROWS = "rows"  # every row of the table counts


class AmountSettings(BooleanSettings):
    """Settings for a private number of at most `bits` bits: typed, or a count of rows."""

    value: Count | None = private("Own number", "Your number, private", metavar="NUMBER", unless="of")
    bits: Annotated[int, Field(strict=True, ge=1, le=64)] = public(
        32, "Width in bits", "Number of bits of both numbers, public. 32 bits hold numbers up to 4,294,967,295"
    )
    of: str | None = public(
        None,
        "What is counted",
        f"Compare the parties' numbers of rows: {ROWS!r} = of all rows, COLUMN=VALUE = of the rows with this value",
        none="your own number, and one that the peer types when it approves",
        node=True,
    )
    at_most: AtMost | None = of_people(node=True)


class BatchExtra(Settings):
    """Number of questions that are computed at once, for an estimate."""

    batch: Annotated[int, Field(strict=True, ge=1, le=1 << 24)] = public(
        1, "Batch", "Number of questions that are computed at once"
    )


class Batched(Kind):
    """A question for which an estimate may count several at once: its description has `extra=BatchExtra`."""

    @abstractmethod
    def batch_program(self, batch: int, inputs: Inputs) -> Program:
        """Return the program that answers several questions at once.

        Args:
            batch: Number of questions.
            inputs: This party's inputs for all questions.
        """

    @override
    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        return Counted(self.batch_program(1 if extra is None else extra.batch, inputs))


class Amounts(Batched):
    """A question on one number of each party."""

    Settings = AmountSettings
    asks: ClassVar[str]  # the question, a phrase
    learnt: ClassVar[str]  # the result that both parties learn, a phrase
    opens: ClassVar[str]  # name of the value that a run opens
    width: ClassVar[int] = 1  # bits of that value
    settings: AmountSettings

    def __init__(self, settings: KindSettings) -> None:
        super().__init__(settings)
        self._counted_values()  # refuse an unreadable setting here

    @property
    @override
    def columns(self) -> tuple[str, ...]:
        column, _ = self._counted_values()
        return (column,) if column is not None else ()

    @property
    @override
    def reads_table(self) -> bool:
        return self.settings.of is not None

    def whose(self) -> str:
        """Return a description of each party's number: typed by the operator, or a number of rows."""
        column, value = self._counted_values()
        if not self.reads_table:
            return "the number that each operator types"
        return "the number of rows" + ("" if column is None else f" whose {column} is {value}")

    @override
    def misfit(self, inputs: Inputs) -> str | None:
        if not self.reads_table:
            return None
        table, schema = inputs.required()
        column, value = self._counted_values()
        if column is not None and column not in schema.attributes:
            return f"of: the table has no attribute {quoted(column)}{did_you_mean(column, schema.attributes)}"
        if column is not None and value not in schema.attributes[column]:
            hint = did_you_mean(str(value), schema.attributes[column])
            return f"of: the table's attribute {quoted(column)} has no value {quoted(str(value))}{hint}"
        if table.max_rows >> self.settings.bits:
            return f"bits of the job must hold {table.max_rows}, the public bound of the table here"
        return None

    @property
    @override
    def disclosure(self) -> Disclosure:
        return Disclosure(
            lambda peer: [
                f"We and {peer} both learn {self.learnt}: {self.whose()}.",
                *nothing_else(peer, "number", f"it has at most {self.settings.bits} bits"),
            ],
            lambda state, step=None: {self.opens: 0 if state is None else 1},
            Bits.once(self.width if self.reads_table else 0),
            question=f"{self.asks}: {self.whose()}",
            subject=self.settings.of or "",
        )

    def own(self, typed: Mapping[str, Any]) -> int:
        """Return the typed number; raise InputError if it exceeds the width."""
        value: int = typed_value(type(self), typed, "value")
        if value >> self.settings.bits:
            bits = self.settings.bits
            raise InputError(f"value does not fit {bits} bits: it must be from 0 to 2^{bits} - 1")
        return value

    @abstractmethod
    def compared(self, engine: Engine, numbers: Any) -> Sequence[Any]:
        """Return the opened answers of a comparison, one for each question.

        Args:
            engine: Engine of the run.
            numbers: This party's numbers, one for each question, uint64[questions].
        """

    @override
    def batch_program(self, batch: int, inputs: Inputs) -> Program:
        import numpy as np

        return lambda engine: self.compared(engine, np.zeros(batch, dtype=np.uint64))

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        on_step(Step(0, 1, start, "comparing"))
        return self.compared(engine, [data])[0]

    @override
    def document(self, state: State) -> Document:
        return {"result": state}

    @contextmanager
    @override
    def open(self, inputs: Inputs) -> Iterator[Opened]:
        if not self.reads_table:
            yield Opened(self.own(inputs.typed))
            return
        _, schema = inputs.required()
        column, value = self._counted_values()
        target = column if column is not None else next(iter(schema.attributes))
        with inputs.value_counts(target) as counts:
            row_counts = counts.data if column is None else counts.data[schema.attributes[target].index(str(value))]
            yield replace(counts, data=int(row_counts.sum()))

    def _counted_values(self) -> tuple[str | None, str | None]:
        """Return the column and value whose rows are counted; None for all rows. Raise InputError if the text is
        invalid."""
        text = self.settings.of
        if text is None or text == ROWS:
            return None, None
        column, sign, value = text.partition("=")
        if not sign or not column.strip() or not value.strip():
            raise InputError(f"of: must be {ROWS!r} or COLUMN=VALUE, not {quoted(text)}")
        return column.strip(), value.strip()
