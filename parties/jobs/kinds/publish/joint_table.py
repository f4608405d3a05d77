"""Make one table of the rows of both parties, small cells hidden.

Neither party sees a number without noise; see `noisy_table` and `sealed_table`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from parties.base.arrays import Numbers
from parties.base.canonical import job_digest
from parties.base.settings import required
from parties.base.text import listed, quoted
from parties.jobs.kind import Counted, Description, Disclosure, Document, Inputs, KindSettings, OnStep, Opened, State
from parties.jobs.publish import analyst
from parties.jobs.publish.noisy_table import NoisyTable
from parties.jobs.publish.sealed_table import SealedTable
from parties.jobs.publish.table_form import TableForm
from parties.jobs.publish.table_layout import NAME, Layout
from parties.jobs.publish.table_result import text
from parties.jobs.publish.table_settings import JointTableExtra, JointTableSettings
from parties.jobs.release import reading
from parties.jobs.settings import check_names
from parties.jobs.tabular import BySchema
from parties.tables.schema import Schema
from smc.errors import InputError

if TYPE_CHECKING:
    from smc.engines import Engine


class JointTable(BySchema):
    """Make one table of counts or sums, with totals, from the rows of both parties. Cells with few rows are hidden.

    With --to the numbers are sealed to the certificate of a third party, who reads them with smc publish open.
    Further cells are then hidden, so that totals do not reveal the small ones. With --epsilon both learn the
    numbers with noise, and the noise also decides which cells are hidden.
    """

    name = NAME
    about = Description(
        "Joint table",
        "table",
        example="--by county --across benefit --to analyst.crt --out sealed.json ",
        job_example="--by county --across benefit --epsilon 1",
        afterwards="If it is sealed, the analyst opens it with smc publish open.",
        extra=JointTableExtra,
    )
    Settings = JointTableSettings
    settings: JointTableSettings

    # Making a task.

    @classmethod
    @override
    def planned(cls, settings: Any) -> JointTable:
        """Read the analyst's certificate from its file."""
        if settings.to is not None:
            settings = settings.model_copy(update={"to": None, "analyst": analyst.in_file(settings.to)})
        return super().planned(settings)

    @classmethod
    @override
    def alone(cls, settings: KindSettings, party: int) -> tuple[JointTable, Any, list[str]]:
        """Read the rows from --data."""
        task = cls.planned(settings)
        if party == 0 and (lacking := task.form.lacking):
            raise InputError(lacking)
        if task.form.lacks_file():
            raise InputError("--out is missing; name a file for the sealed table, which you then send to the analyst")
        counts, _ = task.rows_in_file(task.schema, task.layout.target)
        return task, task.layout.own_numbers(counts), list(task.form.remarks)

    @property
    @override
    def number_columns(self) -> tuple[str, ...]:
        return () if self.settings.summed is None else (self.settings.summed,)

    @classmethod
    def canonical(cls, settings: JointTableSettings, schema: Schema) -> JointTable:
        """Return the task with columns in the schema's order. Raise InputError if a setting is invalid.

        Args:
            settings: The settings as given, some perhaps missing.
            schema: The agreed schema; it may have more columns.
        """
        named = {"by": required(settings.by, f"{cls.name}.by"), "across": settings.across, "sum": settings.summed}
        columns = {key: column for key, column in named.items() if column is not None}
        schema = schema.numeric([column for key, column in columns.items() if key == "sum"])
        for key, column in columns.items():
            check_names(key, [column], schema.attributes)
            if key != "sum" and len(schema.attributes[column]) < 2:
                raise InputError(f"{key}: {quoted(column)} has only one value; leave the column out")
        if len(set(columns.values())) < len(columns):
            raise InputError("a column can be used once: by, across, or sum")
        if (settings.analyst is None) == (settings.epsilon is None):
            raise InputError(
                "give either epsilon, for numbers with noise, or --to (analyst in a job), the certificate to which "
                "the numbers are sealed; not both"
            )
        if settings.analyst is not None:
            settings = settings.model_copy(update={"analyst": analyst.canonical_text(settings.analyst)})
        else:
            noisy: dict[str, object] = {"against": "public", "zeros": "hidden"}
            for key, only in noisy.items():
                if key in settings.model_fields_set and getattr(settings, key) != only:
                    raise InputError(
                        f"{key}: does not apply with epsilon, where noisy row counts decide which cells are hidden; "
                        f"remove it"
                    )
            settings = settings.model_copy(update=noisy)
        task = cls(settings, Schema(schema.only(list(columns.values())).attributes))
        task.layout.check()
        return task

    @cached_property
    def layout(self) -> Layout:
        """Cells, sums and totals of the table."""
        return Layout(self.settings, self.schema)

    @cached_property
    def form(self) -> TableForm:
        """Form in which the numbers are opened: with noise, or sealed to the analyst."""
        form = SealedTable if self.settings.epsilon is None else NoisyTable
        return form(self.layout, lambda: job_digest(self.specification()))

    # Disclosure.

    @property
    @override
    def disclosure(self) -> Disclosure:
        what = "rows" if self.settings.summed is None else f"the sum of {self.settings.summed}"
        few = f"cells of fewer than {self.settings.threshold:,} rows hidden"
        question = f"a table of {what} by {listed(self.layout.axes)}, {few}{self.form.words}"
        return replace(self.form.disclosure(self.at_most), question=question, subject=self.layout.axes[-1])

    @override
    def parameters(self) -> dict[str, Any]:
        """Return the public settings, with the analyst by name and fingerprint."""
        values = super().parameters()
        return {**values, "analyst": None if values["analyst"] is None else analyst.told(values["analyst"])}

    @override
    def misfit(self, inputs: Inputs) -> str | None:
        """Refuse an analyst that this party's table does not list."""
        table, _ = inputs.required()
        if (reader := self.disclosure.analyst) and reader not in table.analysts:
            what = f"the table here is sealed to nobody with the fingerprint {reader}"
            return f"{what}: its owner must name it under `analysts` of the table in party.toml"
        return super().misfit(inputs) or (self.form.lacking if inputs.party == 0 else "") or None

    # Cost.

    @override
    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        """Return the exact cost if the number of hidden cells is given."""
        return self.form.cost(0 if extra is None else extra.hidden)

    # Run.

    @override
    def own_rows(self, source: Any) -> Numbers:
        return self.layout.own_numbers(source)

    @contextmanager
    @override
    def open(self, inputs: Inputs) -> Iterator[Opened]:
        with inputs.counts(self.layout.target, self.columns, self.schema) as source:
            numbers = self.own_rows(source)
            yield Opened(numbers, reading.fingerprint(source.fingerprint, numbers))

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """Compute the table. `data` are this party's numbers."""
        return self.form.run(engine, data, start, on_step)

    # Result.

    @override
    def document(self, state: State) -> Document:
        return self.form.document(state)

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        return text(document)
