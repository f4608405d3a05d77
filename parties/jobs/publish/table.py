"""A table of counts or sums over two parties' rows as a kind of job: small cells hidden, the others noisy or sealed.

Neither party ever sees a number without noise. Numbers leave with noise, by which it is decided, too, which cells are
small: all that is opened is private. Or they leave as shares that are sealed to the key of a third party: then both
have one and the same file, which neither can read. Which cells are small is then decided in secret by exact numbers and
opened; which others must be hidden, too, follows from that (`parties.alone.publish.hiding.patterns`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from parties.base.arrays import Numbers
from parties.base.canonical import job_digest
from parties.base.extras import install_line, installed
from parties.base.settings import required
from parties.base.text import listed, quoted
from parties.jobs.kind import Counted, Document, Estimate, Inputs, KindSettings, OnStep, Opened, State, Step
from parties.jobs.publish import analyst
from parties.jobs.publish.table_layout import NAME, Layout
from parties.jobs.publish.table_result import noisy_cells, sealed_head, text
from parties.jobs.publish.table_settings import JointTableExtra, JointTableSettings
from parties.jobs.release import reading
from parties.jobs.sentences import hidden, nothing_else_of_rows
from parties.jobs.spending import KEPT_BY_NODES, Loss
from parties.jobs.tabular import BySchema
from parties.jobs.tabular_settings import check_names
from parties.tables.schema import Schema
from smc.errors import InputError, JointRefusalError

if TYPE_CHECKING:
    from smc.counting import Program
    from smc.engines import Engine


class JointTable(BySchema):
    """Make one table, of counts or sums with totals, of the rows of both parties. Cells of few rows are hidden.

    With --to the numbers are sealed to a third party's certificate, who reads them with smc publish open; other cells
    are hidden too, so that totals do not tell. With --epsilon both learn them with noise, and noise decides what is
    hidden, too.
    """

    name = NAME
    title = "Joint table"
    Settings = JointTableSettings
    Extra = JointTableExtra
    example = (
        "--data mine.csv --schema schema.toml --by county --across benefit --to analyst.crt --out sealed.json "
        "--config party.toml"
    )
    estimate_example = "--schema schema.toml --by county --across benefit --epsilon 1 "
    job_example = "--by county --across benefit --epsilon 1"
    noun = "table"
    afterwards = "If it is sealed, the analyst opens it with smc publish open."
    settings: JointTableSettings

    # How a task comes about.

    @classmethod
    @override
    def planned(cls, settings: Any) -> JointTable:
        """See `Kind.planned`: the analyst's certificate is a file, too."""
        if settings.to is not None:
            settings = settings.model_copy(update={"to": None, "analyst": analyst.in_file(settings.to)})
        return super().planned(settings)

    @classmethod
    @override
    def alone(cls, settings: KindSettings, party: int) -> tuple[JointTable, Any, list[str]]:
        """See `Kind.alone`: the rows are a file too."""
        task = cls.planned(settings)
        if party == 0 and (lacking := task.lacking()):
            raise InputError(lacking)
        if task.layout.noise is None and task.settings.out is None:
            raise InputError("--out is missing: the sealed table is a file, to be given to who can open it")
        counts, _ = task.rows_in_file(task.schema, task.layout.target)
        remarks = [KEPT_BY_NODES]
        return task, task.layout.own_numbers(counts), remarks if task.layout.noise is not None else []

    @property
    @override
    def number_columns(self) -> tuple[str, ...]:
        return () if self.settings.summed is None else (self.settings.summed,)

    @classmethod
    def canonical(cls, settings: JointTableSettings, schema: Schema) -> JointTable:
        """Return the task of these settings, by a schema with more columns perhaps. `InputError` names what is
        wrong."""
        named = {"by": required(settings.by, f"{cls.name}.by"), "across": settings.across, "sum": settings.summed}
        columns = {key: column for key, column in named.items() if column is not None}
        schema = schema.numeric([column for key, column in columns.items() if key == "sum"])
        for key, column in columns.items():
            check_names(key, [column], schema.attributes)
            if key != "sum" and len(schema.attributes[column]) < 2:
                raise InputError(f"{key}: {quoted(column)} has one value only: leave it out")
        if len(set(columns.values())) < len(columns):
            raise InputError("a column can be used once: by, across, or sum")
        if (settings.analyst is None) == (settings.epsilon is None):
            raise InputError(
                "give epsilon, and both learn the numbers with noise, or the certificate that they are sealed to "
                "(--to, analyst in a job): without either there is no table, with both there would be two"
            )
        if settings.analyst is not None:
            settings = settings.model_copy(update={"analyst": analyst.canonical_text(settings.analyst)})
        else:
            noisy: dict[str, object] = {"against": "public", "zeros": "hidden"}
            for key, only in noisy.items():
                if key in settings.model_fields_set and getattr(settings, key) != only:
                    raise InputError(
                        f"{key}: with epsilon cells are shown or hidden by the noisy rows of both: leave it out"
                    )
            settings = settings.model_copy(update=noisy)
        task = cls(settings, Schema(schema.only(list(columns.values())).attributes))
        task.layout.check()
        return task

    @cached_property
    def layout(self) -> Layout:
        """The table that is counted."""
        return Layout(self.settings, self.schema)

    # What is said of it.

    @property
    @override
    def subject(self) -> str:
        return self.layout.axes[-1]

    @property
    @override
    def question(self) -> str:
        what = "rows" if self.settings.summed is None else f"the sum of {self.settings.summed}"
        few = f"cells of fewer than {self.settings.threshold:,} rows hidden"
        if self.layout.noise is not None:
            few += f", with noise (epsilon {self.settings.epsilon:g})"
        return f"a table of {what} by {listed(self.layout.axes)}, {few}"

    @override
    def parameters(self) -> dict[str, Any]:
        """See `Kind.parameters`: the analyst by name and fingerprint."""
        values = super().parameters()
        return {**values, "analyst": None if values["analyst"] is None else analyst.told(values["analyst"])}

    @override
    def reveals(self, peer: str) -> list[str]:
        s = self.settings
        if s.analyst is None:
            return [
                f"We and {peer} both learn, with noise that neither knows, the number of every cell and total of which "
                f"the rows, with noise, are {s.threshold:,} or more; of the others only that they are fewer.",
                f"{hidden(self.at_most, s.adjacency == 'replace').capitalize()} changes the chance of any result, "
                f"hidden cells too, by a factor of at most e^{s.epsilon:g}.",
                *nothing_else_of_rows(peer, s.max_rows),
            ]
        each = "we or the peer have" if s.against == "peer" else "we and the peer together have"
        few = f"fewer than {s.threshold:,} rows" if s.zeros == "hidden" else f"1 to {s.threshold - 1:,} rows"
        empty = "" if s.zeros == "hidden" else ", and which are empty"
        lines = [
            f"We and {peer} both learn in which cells and totals {each} {few}{empty}; no noise covers that, and it "
            "costs no epsilon: its bits are counted.",
            "Neither of us learns a number from that alone. The other cells are for who has the key of "
            f"{analyst.in_full(s.analyst)}, as they are.",
            f"Whoever holds that key and one party's rows has the other's numbers: {peer} has ours if it gets the key.",
        ]
        if s.against == "public":
            lines.append("Who has rows in a cell can subtract them: of the other's rows alone nothing is promised.")
        return [*lines, *nothing_else_of_rows(peer, s.max_rows)]

    @override
    def opened(self, state: State, step: int | None = None) -> dict[str, int]:
        visible = 0 if state is None else state["hidden"].count("0")
        if self.layout.noise is not None:
            cells = 0 if state is None else self.layout.problem.cells
            return {"whether a number with noise is small": cells, "number with noise": visible}
        return {
            "whether a cell is small": 0 if state is None else self.layout.problem.cells,
            "whether a cell is empty": 0
            if state is None or self.settings.zeros == "hidden"
            else self.layout.problem.cells,
            "masked number": visible,
        }

    @override
    def bits(self, step: Step) -> int:
        """See `Kind.bits`: what is small, what is empty, and the numbers that the analyst sees."""
        return self.bits_at_most

    @property
    @override
    def bits_at_most(self) -> int:
        if self.layout.noise is not None:
            return 0
        return self.layout.problem.cells * (1 + (self.settings.zeros == "shown") + self.layout.width + 1)

    @property
    @override
    def bits_at_least(self) -> int:
        return self.bits_at_most

    @property
    @override
    def spends(self) -> tuple[Loss, ...]:
        return tuple(noise.loss for noise in (self.layout.noise, self.layout.rows_noise) if noise is not None)

    @property
    @override
    def exact(self) -> bool:
        """See `Kind.exact`: numbers are sealed as they are, and which cells are small is opened as it is."""
        return self.layout.noise is None

    @property
    @override
    def told_exactly(self) -> str:
        return "whoever holds the analyst's key and one party's rows has the other's numbers"

    @property
    @override
    def analyst(self) -> str:
        return "" if self.settings.analyst is None else analyst.of(self.settings.analyst)

    def lacking(self) -> str:
        """Return what party 0 lacks to find the cells to hide, a sentence; nothing if it has it."""
        if self.layout.noise is not None or installed("scipy"):
            return ""
        return f"party 0 finds the cells to hide, which takes a solver: {install_line('tables')}"

    @override
    def misfit(self, inputs: Inputs) -> str | None:
        """See `Kind.misfit`: our table names who may read it."""
        table, _ = inputs.required()
        if self.analyst and self.analyst not in table.analysts:
            what = f"the table here is sealed to nobody with the fingerprint {self.analyst}"
            return f"{what}: its owner must name it under `analysts` of the table in party.toml"
        return super().misfit(inputs) or (self.lacking() if inputs.party == 0 else "") or None

    # What it costs.

    @override
    def program(self, inputs: Inputs) -> Program:
        """See `Kind.program`: no cell is hidden."""
        if self.layout.noise is None:
            return self._program(0)
        zeros = np.zeros((2, self.layout.problem.cells), dtype=np.int64)
        return lambda engine: self._noisy(engine, zeros)

    @override
    def counted(self, extra: Any, inputs: Inputs) -> Counted:
        """See `Kind.counted`: exactly, for a number of hidden cells; with noise it does not matter which they are."""
        if self.layout.noise is not None:
            if extra.hidden:
                raise InputError("--hidden: with epsilon a hidden cell costs what others do: leave it out")
            return super().counted(extra, inputs)
        if extra.hidden >= self.layout.problem.cells:
            raise InputError(
                f"--hidden: the table has {self.layout.problem.cells} cells, totals too; some must be left"
            )
        if not extra.hidden:
            return super().counted(extra, inputs)
        return Counted(self._program(extra.hidden), "exact", f"a table with {extra.hidden} hidden cells")

    def _program(self, hidden: int) -> Program:
        from protocols.publish.small_cells import cell_states, chosen

        mask = np.arange(self.layout.problem.cells) < hidden
        zeros = np.zeros((2, self.layout.problem.cells), dtype=np.int64)

        def program(engine: Engine) -> object:
            states = cell_states(engine, self.layout.problem, zeros[0])
            chosen(engine, states, mask if engine.party == 0 else None)
            return self._leave(engine, zeros[1], mask)

        return program

    @property
    @override
    def estimate(self) -> Estimate:
        """See `Kind.estimate`: fewer cells leave a sealed table if some are hidden."""
        return "at most" if self.layout.noise is None else "exact"

    @property
    @override
    def assumed(self) -> str:
        if self.layout.noise is not None:
            return ""
        return "a table of which no cell is hidden"

    # How it is run.

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
        """See `Kind.run`; `data` are this party's numbers."""
        if self.layout.noise is not None:
            on_step(Step(0, self.layout.problem.cells, start, "adding noise"))
            return self._noisy(engine, data)
        from parties.alone.publish.hiding.patterns import hide_by_pattern
        from protocols.publish.small_cells import ENOUGH, cell_states, chosen

        on_step(Step(0, self.layout.problem.cells, start, "finding small cells"))
        states = cell_states(engine, self.layout.problem, data[0])
        if states[-1] != ENOUGH:
            raise JointRefusalError(f"there are fewer than {self.settings.threshold:,} rows: nothing can be published")
        pattern = None
        if engine.party == 0:
            zeros_shown = self.settings.zeros == "shown"
            pattern = hide_by_pattern(states.reshape(self.layout.shape), self.settings.threshold, zeros_shown).reshape(
                -1
            )
        hidden = chosen(engine, states, pattern)
        if hidden.all():
            raise JointRefusalError("every cell would be hidden: nothing can be published; take coarser columns")
        return self._leave(engine, data[1], hidden)

    def _noisy(self, engine: Engine, our_numbers: Numbers) -> State:
        """Return which cells are hidden, and the numbers of the others, all by noise."""
        from protocols.publish.small_cells import noisy_cells

        layout = self.layout
        assert layout.noise is not None
        behind = layout.rows_noise
        rows = None if behind is None else (layout.problem.width, behind.law(layout.samples))
        law = layout.noise.law(layout.samples)
        hidden, numbers = noisy_cells(engine, our_numbers, layout.width, law, self.settings.threshold, rows)
        return {"hidden": "".join(map(str, hidden.astype(int))), "numbers": numbers.tolist()}

    def _leave(self, engine: Engine, our_numbers: Numbers, hidden: NDArray[np.bool_]) -> State:
        """Return the numbers of the cells that are not hidden, sealed, and which those are."""
        state: dict[str, Any] = {"hidden": "".join(map(str, hidden.astype(int)))}
        from parties.alone.publish.sealing import sealed, sealing
        from protocols.publish.small_cells import masked_sums

        masked, mine = masked_sums(engine, our_numbers[~hidden], self.layout.width)
        state["masked"] = sealed.packed(masked).hex()
        key = analyst.public_key(analyst.certificate(required(self.settings.analyst, f"{self.name}.analyst")))
        seed = engine.session.contributions.bytes(sealing.SEED_BYTES).tobytes()
        share = sealed.sealed_share(self._head(state), key, engine.party, mine, seed)
        with engine.session.phase("sealed shares"):
            engine.session.send("sealed", np.frombuffer(share, dtype=np.uint8))
            theirs = engine.session.receive("sealed", np.uint8, (len(share),)).tobytes()
        pair = (share, theirs) if engine.party == 0 else (theirs, share)
        return {**state, "shares": [share_bytes.hex() for share_bytes in pair]}

    def _head(self, state: State) -> Document:
        """Return a sealed table but for its shares."""
        return sealed_head(self.layout, state, job_digest(self.specification()))

    # What it brings.

    @override
    def document(self, state: State) -> Document:
        if self.layout.noise is None:
            return {**self._head(state), "shares": state["shares"]}
        return noisy_cells(self.layout, state, self.layout.noise)

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        return text(document)
