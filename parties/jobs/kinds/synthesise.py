"""Make synthetic rows, with noise."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from parties.base.text import listed
from parties.jobs.kind import (
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
    exact,
)
from parties.jobs.release.columns import check_cells, ordered
from parties.jobs.release.kind import Release
from parties.jobs.release.noise import Noise, gauss
from parties.jobs.release.question import Question, own_vector
from parties.jobs.release.reading import marginals
from parties.jobs.release.synthesise import result, rows
from parties.jobs.release.synthesise.settings import SynthesiseSettings
from parties.jobs.release.synthesise.state import GraphicalModel, Synthesis
from parties.tables.schema import Schema
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.release.aim import AimProblem
    from protocols.release.selection import Workload
    from smc.engines import Engine, Profile

MOST_CODES = 1 << 16  # maximum values of a column


class Synthesise(Release):
    """Make rows that resemble those of both parties together. Both get these rows, and may use them without limit.

    Marginals (tables of counts of a few columns) are chosen and counted with noise inside the protocol. The rows are
    made from these public counts alone, so any use of them costs no privacy.
    """

    name = "synthesise"
    about = Description(
        "Synthetic table",
        "synthesis",
        example="--epsilon 1 --delta 1e-9 --csv synthetic.csv",
        afterwards="The rows may be used, published and asked anything without further cost.",
        phases=True,
    )
    streamed = True
    Settings = SynthesiseSettings
    settings: Any

    # Making a task.

    @classmethod
    @override
    def canonical(cls, settings: Any, schema: Schema) -> Synthesise:
        chosen = settings.model_copy(update={"columns": ordered(settings.columns, schema)})
        return super().canonical(chosen, schema)

    @override
    def ask(self) -> Question:
        settings = self.settings
        if settings.delta is None:
            raise InputError("delta: is missing: give far less than one over the number of rows, 1e-9 for example")
        if settings.ways > len(self.names):
            raise InputError(f"ways: {len(self.names)} columns cannot be taken {settings.ways} together; lower ways")
        for name, values in zip(self.names, self.values, strict=True):
            if len(values) > MOST_CODES:
                raise InputError(
                    f"columns: {name} has {len(values):,} values, at most {MOST_CODES:,} can be made; "
                    "group its values in the schema"
                )
        check_cells(self.sets, self.where, self.schema)
        self.cells()  # refused here if there are too many
        if (least := sum(map(len, self.values))) > settings.model_cells:
            raise InputError(f"model_cells: the columns have {least:,} values together; give at least this number")
        return Question(
            self._learnt(),
            sum(self.work.sizes),
            lambda counts: own_vector(*marginals(counts, self.schema, self.columns[0], self.where, self.sets)),
            lambda engine, numbers: self.run(engine, numbers, self.states.beginning, lambda step: None),
            lambda state: result.fields(settings, self.work, dict(zip(self.names, self.values, strict=True)), state),
            (self._mechanism,),
            subject=listed(self.names),
            noise={"rho": float(self.work.rho)},
            program=self._program,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Columns, in the schema's order."""
        return self.named(self.settings)

    @property
    def values(self) -> list[tuple[str, ...]]:
        """Values of each column."""
        return [self.where.values(name, self.schema) for name in self.names]

    @property
    def sets(self) -> list[tuple[str, ...]]:
        """Marginals that may be measured: single columns first, then sets of columns."""
        most = 2 if self.settings.select == "mst" else self.settings.ways
        return [names for many in range(1, min(most, len(self.names)) + 1) for names in combinations(self.names, many)]

    @cached_property
    def _mechanism(self) -> Noise:
        """Privacy loss of all rounds together. A run always spends all of rho."""
        noise = gauss(self.epsilon, exact(self.settings.delta), 1, self.settings.adjacency, self.settings.together)
        name = f"marginals by {self.settings.select.upper()}"
        return replace(noise, loss=replace(noise.loss, mechanism=name))

    @cached_property
    def work(self) -> Workload:
        """Public parameters of the choice and measurement of marginals."""
        from protocols.release.selection import Workload

        place = {name: number for number, name in enumerate(self.names)}
        return Workload(
            tuple(map(len, self.values)),
            tuple(tuple(place[name] for name in names) for names in self.sets),
            self.rows_each,
            self._mechanism.loss.amount,
            self.replaced,
            self.epsilon,
            self.settings.together,
        )

    @property
    def plan(self) -> AimProblem:
        """Parameters of AIM in the protocol."""
        from protocols.release.aim import AimProblem, weights

        wanted = [names for names in self.work.sets if len(names) == self.settings.ways]
        return AimProblem(self.work, weights(self.work.sets, wanted), self.settings.model_cells)

    # Disclosure.

    def _learnt(self) -> str:
        which = "some small sets of them" if self.settings.select == "aim" else "pairs that join them"
        return (
            f"how often values of {listed(self.names)}, alone and in {which}, occur in both tables' rows"
            f"{self.where.words()}, and rows that are made of this"
        )

    @property
    @override
    def disclosure(self) -> Disclosure:
        question = f"synthetic rows of {listed(self.names)} (epsilon {self.settings.epsilon:g})"
        return replace(super().disclosure, opened=self._opened, question=question)

    def _opened(self, state: State, step: int | None = None) -> dict[str, int]:
        measured = state.measured
        if step is not None:
            ends = self._ends(state)
            measured = measured[ends[step - 1] if step else 0 : ends[step]] if step < len(ends) else ()
        return {
            "choice with noise": sum(measurement.epsilon > 0 for measurement in measured),
            "number with noise": sum(measurement.counts.size for measurement in measured),
        }

    # Cost.

    def _program(self, engine: Any) -> None:
        from parties.jobs.release.synthesise import expected
        from protocols.release import aim, mst

        if self.settings.select == "mst":
            mst.count(engine, self.work)
        else:
            aim.count(engine, self.plan, expected.rounds(self.plan), sum(self.work.sizes) // len(self.work.sizes))
        rows.count_at_most(engine, self.settings, self.names)

    @override
    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        """Return the cost of a typical run, because opened values decide the number of AIM's rounds."""
        from parties.jobs.release.synthesise import expected
        from protocols.release import aim
        from smc.counting import forecast

        cost, many = super().cost(inputs, extra), f"{rows.most(self.settings):,} rows"
        if self.settings.select == "mst":
            return replace(cost, estimate="at most", of=f"the largest pairs, and {many}")

        def most(profile: Profile) -> int:
            def program(engine: Any) -> None:
                self.sent_counts(engine)
                aim.count_at_most(engine, self.plan, profile.ot == "ferret")
                rows.count_at_most(engine, self.settings, self.names)

            return forecast(program, profile).bytes

        def of() -> str:
            return f"{expected.rounds(self.plan)} rounds, and {many}"

        return replace(cost, estimate="typical", of=of, most=most)

    @override
    def own_seconds(self) -> dict[str, float]:
        from parties.jobs.release.synthesise import expected
        from parties.link.pace import USUAL, own_pace_alone

        fits = expected.seconds(self.plan, self.settings.select, self.settings.generator)
        return {**super().own_seconds(), "fitting models": round(fits * own_pace_alone() / USUAL, 3)}

    # Run.

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """Run the rounds, and return the measurements and rows. `data` are this party's counts of the marginals."""
        from protocols.release import aim, mst

        model = GraphicalModel(self.work)

        def tell(measured: Any) -> None:
            state = Synthesis(measured)
            number = self.states.steps(state)
            words = f"round {number}: choosing and counting" if number else f"counting {len(self.names)} columns"
            on_step(Step(number, 1 if number else len(self.names), state, words))

        if start.rows is not None:
            return start
        if self.settings.select == "mst":
            measured = mst.mst(engine, self.work, data, model, tell, start.measured)
        else:
            measured = aim.aim(engine, self.plan, data, model, tell, start.measured)
        state = Synthesis(measured)
        on_step(Step(self.states.steps(state), 1, state, "making rows"))
        return Synthesis(measured, rows.agreed(engine, self.settings, self.work, self.names, model, state))

    @property
    @override
    def states(self) -> States:
        """Checkpoints: each step is a round, and the last step has the rows."""

        def steps(state: Synthesis) -> int:
            return len(self._ends(state)) + (state.rows is not None)

        def cut(state: Synthesis, at: int) -> Synthesis:
            if at >= steps(state):
                return state
            return Synthesis(state.measured[: self._ends(state)[at - 1]] if at else ())

        return States(Synthesis(), steps, lambda state: state.rows is not None, cut, Synthesis.encode, Synthesis.decode)

    def _ends(self, state: State) -> list[int]:
        many, single = len(state.measured), len(self.names)
        if not many:
            return []
        return (
            [single, *([many] if many > single else [])]
            if self.settings.select == "mst"
            else [*range(single, many + 1)]
        )

    # Result.

    @classmethod
    @override
    def lines(cls, document: Document) -> list[str]:
        return result.lines(document)

    @classmethod
    @override
    def files(cls) -> tuple[File, ...]:
        return (*super().files(), File("synthetic.csv", "text/csv", result.rows_as_csv, "csv"))
