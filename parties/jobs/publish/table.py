"""Base class of the two forms of a joint table, noisy and sealed: its cells, and a data row's addition to a cell."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from typing_extensions import override

from parties.alone.publish.hiding.tabulation import TOTAL, with_totals
from parties.base.settings import required
from parties.base.text import listed, quoted
from parties.jobs.kind import Description, Document, Inputs, KindSettings, adjacency_of
from parties.jobs.publish import analyst
from parties.jobs.publish.table_settings import NAME, JointTableExtra, JointTableSettings
from parties.jobs.release import reading, values
from parties.jobs.release.noise import Noise
from parties.jobs.release.predicates import parse
from parties.jobs.release.presenting import aligned, amount, shown
from parties.jobs.release.question import Part
from parties.jobs.settings import check_names
from parties.jobs.tabular import BySchema
from parties.tables.schema import Schema
from protocols.arrays import Numbers
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.publish.small_cells import CellProblem

HIDDEN, SEALED = "x", "*"
MOST_CELLS = 600  # at worst, linear programmes take about ten seconds while the peer waits


class TableOfBoth(BySchema):
    """One table of counts or sums of both parties' rows, with totals. Cells with few rows are hidden."""

    name = NAME
    about = Description(
        "Joint table",
        "table",
        example="--by county --across benefit --to analyst.crt --out sealed.json",
        job_example="--by county --across benefit --epsilon 1",
        afterwards="If it is sealed, the analyst opens it with smc publish open.",
        extra=JointTableExtra,
    )
    Settings = JointTableSettings
    settings: JointTableSettings
    unread = ""

    # Making a task.

    @classmethod
    @override
    def planned(cls, settings: Any) -> Self:
        if settings.to is not None:
            settings = settings.model_copy(update={"to": None, "analyst": analyst.in_file(settings.to)})
        return super().planned(settings)

    @classmethod
    @override
    def alone(cls, settings: KindSettings, party: int) -> tuple[Self, Any, list[str]]:
        """Refuse before the rows are read if this party could not do its part."""
        cls.planned(settings).check_part(party)
        return super().alone(settings, party)

    @override
    def check_part(self, party: int) -> None:
        if party == 0 and self.lacking:
            raise InputError(self.lacking)
        if self.lacks_file():
            raise InputError("--out is missing; name a file for the sealed table, which you then send to the analyst")

    @classmethod
    @override
    def canonical(cls, settings: JointTableSettings, schema: Schema) -> TableOfBoth:
        named = {"by": required(settings.by, f"{cls.name}.by"), "across": settings.across, "sum": settings.summed}
        columns = {key: column for key, column in named.items() if column is not None}
        schema = schema.numeric([column for key, column in columns.items() if key == "sum"])
        for key, column in columns.items():
            check_names(key, [column], schema.attributes)
            if key != "sum" and len(schema.attributes[column]) < 2:
                raise InputError(f"{key}: {quoted(column)} has only one value; leave the column out")
        if len(set(columns.values())) < len(columns):
            raise InputError("a column can be used only once: in by, across or sum; name another one")
        if (settings.analyst is None) == (settings.epsilon is None):
            raise InputError(
                "give either epsilon, for numbers with noise, or --to (analyst in a job), the certificate to which "
                "the numbers are sealed; not both"
            )
        task = cls.of(settings, Schema(schema.only(list(columns.values())).attributes))
        task.check()
        return task

    @classmethod
    def of(cls, settings: JointTableSettings, schema: Schema) -> TableOfBoth:
        """Return the task; the kind overrides this to return a `NoisyTable` with epsilon, else a `SealedTable`.

        Args:
            settings: Settings of the job.
            schema: The agreed columns.
        """
        return cls(settings, schema)

    def check(self) -> None:
        """Raise InputError if the table or its numbers are too large, or if the summed values are not nonnegative
        numbers."""
        if self.problem.cells > MOST_CELLS:
            raise InputError(
                f"a table of {self.cells} cells is too large: at most {MOST_CELLS} are allowed, "
                "totals included; name columns with fewer values"
            )
        for column in self.axes:
            if TOTAL in self.schema.attributes[column]:
                raise InputError(
                    f"{quoted(column)} has the value {quoted(TOTAL)}, which is also the name of the "
                    f"totals; rename the value"
                )
        self.counted.check()
        if min(self.whole) < 0:
            raise InputError(
                f"sum: {quoted(str(self.settings.summed))} has negative values, but the rules need 0 or more; "
                "choose another column"
            )
        self.part.check()

    @property
    def lacking(self) -> str:
        """Reason, as a sentence, why party 0 cannot do its part; empty if it can."""
        return ""

    def lacks_file(self) -> bool:
        """Return whether the result needs a file that the settings do not name."""
        return False

    # The table.

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns of the table, with totals; without `across` there is one column."""
        sizes = [len(self.schema.attributes[name]) for name in self.axes]
        return (sizes[0] + 1, sizes[1] + 1 if len(sizes) > 1 else 1)

    @property
    def cells(self) -> int:
        """Number of cells, including totals."""
        return self.shape[0] * self.shape[1]

    @property
    def axes(self) -> tuple[str, ...]:
        """Column that forms the rows, and the column that forms the columns, if any."""
        by = required(self.settings.by, f"{NAME}.by")
        return (by,) if self.settings.across is None else (by, self.settings.across)

    @cached_property
    def problem(self) -> CellProblem:
        """Public parameters by which small cells are hidden."""
        from protocols.publish.small_cells import CellProblem

        s = self.settings
        return CellProblem(self.cells, s.max_rows, s.threshold, s.against, s.zeros)

    @cached_property
    def numbers(self) -> values.Values | None:
        """Number of each value of the summed column; None if rows are counted."""
        column = self.settings.summed
        return None if column is None else values.read(column, self.schema.attributes[column], "a sum")

    @property
    def whole(self) -> tuple[int, ...]:
        """Units that a row adds, by its value of the summed column; one unit if rows are counted."""
        return (1,) if self.numbers is None else self.numbers.whole

    @property
    def unit(self) -> Fraction:
        """Number that one unit of a cell stands for; 1 if rows are counted."""
        return Fraction(1) if self.numbers is None else self.numbers.unit

    @cached_property
    def part(self) -> Part:
        """The numbers of all cells; they have no noise."""
        return self._part(self.cells, None)

    def _part(self, numbers: int, noise: Noise | None) -> Part:
        return Part(numbers, self.settings.max_rows * max(self.whole), False, noise)

    @property
    def counted(self) -> reading.Cells:
        """Cells of the table, further divided by the summed value."""
        return reading.Cells(self.schema, parse("", self.schema)[0], (*self.axes, *self.number_columns))

    @property
    @override
    def number_columns(self) -> tuple[str, ...]:
        return () if self.settings.summed is None else (self.settings.summed,)

    @property
    @override
    def target(self) -> str:
        return self.settings.summed or self.axes[-1]

    # Disclosure and execution.

    @property
    def question(self) -> str:
        """The question, a phrase."""
        what = "rows" if self.settings.summed is None else f"the sum of {self.settings.summed}"
        few = f"cells of fewer than {self.settings.threshold:,} rows hidden"
        return f"a table of {what} by {listed(self.axes)}, {few}"

    @override
    def parameters(self) -> dict[str, Any]:
        """Return the public settings, with the analyst, if any, by name and short fingerprint."""
        values = super().parameters()
        return {**values, "analyst": None if values["analyst"] is None else analyst.in_short(values["analyst"])}

    @override
    def misfit(self, inputs: Inputs) -> str | None:
        """Also refuse an analyst that this party's table does not list, and a party 0 without a solver."""
        table, _ = inputs.required()
        if (reader := self.disclosure.analyst) and reader not in table.analysts:
            what = f"the table here is sealed to nobody with the fingerprint {reader}"
            return f"{what}: its owner must name it under `analysts` of the table in party.toml"
        return super().misfit(inputs) or (self.lacking if inputs.party == 0 else "") or None

    @property
    @override
    def without_holders(self) -> str | None:
        if self.settings.against == "peer":
            return "--against peer asks each party for enough rows of its own in a cell: give --against public"
        return None

    @override
    def own_rows(self, source: Any) -> Numbers:
        """Return this party's rows and its numbers in every cell, int64[2, cells]."""
        table = self.counted.count(source, self.target).reshape(
            self.shape[0] - 1, max(1, self.shape[1] - 1), len(self.whole)
        )
        inner = (table.sum(axis=-1), table @ np.array(self.whole, dtype=np.int64))
        return np.stack([with_totals(cells).reshape(-1) for cells in inner])

    @override
    def fingerprint(self, source: Any, data: Any) -> Callable[[bytes], bytes]:
        return reading.fingerprint(super().fingerprint(source, data), data)

    @property
    def head(self) -> Document:
        """The table's description, the beginning of its result."""
        s, titles = self.settings, [[*self.schema.attributes[name], TOTAL] for name in self.axes]
        return {
            "question": NAME,
            "by": s.by,
            "across": s.across,
            "sum": s.summed,
            "threshold": s.threshold,
            "against": s.against,
            "zeros": s.zeros,
            "rows": titles[0],
            "columns": titles[1] if len(titles) > 1 else [TOTAL],
            **({"rounded": self.rounded} if self.rounded else {}),
        }

    def lines(self, cells: Any) -> list[Any]:
        """Return a flat list of all cells as the table's rows, a list of cells each."""
        return [cells[start : start + self.shape[1]] for start in range(0, len(cells), self.shape[1])]

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        return _text(document)


def _text(document: Document) -> str:
    """Return the table as text: numbers, or the pattern of sealed cells."""
    names = [document["by"], *([document["across"]] if document["across"] else [])]
    lines = [[" \\ ".join(map(shown, names)), *map(shown, document["columns"])]]
    if "cells" in document:
        cells = [[HIDDEN if cell is None else amount(cell["value"]) for cell in line] for line in document["cells"]]
        reach = max((cell["high"] - cell["noisy"] for line in document["cells"] for cell in line if cell), default=0)
        hidden_note = f"{HIDDEN}: fewer than {document['threshold']:,} rows, with noise"
        ending = [
            f"{hidden_note}. 95 %, noise only: each number ± {amount(reach)}; {document['law']} noise of scale "
            f"{document['scale']:.4g}, epsilon {document['epsilon']:g} ({adjacency_of(document)}); totals are no sums"
        ]
    else:
        cells = [[HIDDEN if digit == "1" else SEALED for digit in line] for line in document["hidden"]]
        ending = [f"{HIDDEN}: hidden. {SEALED}: sealed to {shown(document['analyst'])}, who opens it: smc publish open"]
    lines += [[shown(name), *line] for name, line in zip(document["rows"], cells, strict=True)]
    return "\n".join([*aligned(lines, 1), *map(shown, document.get("rounded", ())), *ending]) + "\n"
