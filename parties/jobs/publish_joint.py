"""One recoding for the rows of two parties as a kind of job: a step is a level of cuts, the state the cuts so far."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from parties.jobs.kind import Document, Extra, KindSettings, Means, Opened, State, Step, Told
from parties.jobs.settings import MAX_ROWS, BooleanEngine, output, own_file, public
from parties.jobs.tabular import BySchema
from parties.settings import LocalPath, required
from parties.tables.schema import Schema
from parties.text import did_you_mean, listed, quoted
from smc import recipes
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.counts import Indices, Rows
    from protocols.publish.problem import Problem
    from smc.counting import Program
    from smc.engines import Engine

TYPICAL_CLASSES = 1000  # of the recoding that stands for the unknown one when costs are counted ahead
COUNTABLE = 1000  # values of all columns to recode: such a run is counted in a few seconds
SHOWN = 20  # classes on a terminal

Name = Annotated[str, Field(min_length=1, max_length=200)]
Columns = Annotated[tuple[Name, ...], Field(min_length=1, max_length=64)]


class JointSettings(KindSettings):
    """`smc publish joint`."""

    data: LocalPath | None = own_file("Rows", "Own rows, a CSV file; private.", data=True)
    schema_file: LocalPath | None = own_file("Schema", "The agreed schema.", alias="schema")  # `schema` is pydantic's
    recode: Columns | None = public(
        None, "Recoded", "The columns by which somebody could be found, with commas between them"
    )
    keep: Columns | None = public(None, "Kept", "The columns that are published as they are", none="none")
    k: Annotated[int, Field(strict=True, ge=1, le=2**32)] | None = public(
        None, "k", "No class of rows that look alike has fewer rows (k-anonymity)"
    )
    against: Literal["peer", "public"] = public(
        "peer", "Against", "Whether k holds for each party's own rows in a class or only for those of both together"
    )
    max_rows: Annotated[int, Field(strict=True, ge=1, le=2**31)] = public(
        MAX_ROWS, "Row bound", "Public bound: no party has more rows"
    )
    engine: BooleanEngine = public("gmw", "Engine", "How it is computed; auto measures the link and chooses")
    ot: recipes.Kind = public(
        "ferret", "Oblivious transfer", "Kind of oblivious transfer; ferret has the least traffic for many gates"
    )
    out: LocalPath | None = output("Write the recoding, for smc publish apply.")


class JointExtra(Extra):
    """`smc estimate publish-joint`."""

    recoding: LocalPath | None = own_file("Recoding", "The recoding of an earlier run: then the costs are exact.")


class PublishJoint(BySchema):
    """Find one recoding of both parties' rows, so that no class of rows that look alike is small; nobody shows a count.

    Both learn the recoding and nothing else. Each then recodes and writes its own rows with smc publish apply.
    """

    name = "publish-joint"
    title = "Joint recoding"
    Settings = JointSettings
    Extra = JointExtra
    example = "--data mine.csv --schema schema.toml --recode age,sex,zip --keep disease --k 10 --config party.toml"
    estimate_example = "--schema schema.toml --recode age,sex,zip --k 10 "
    noun = "recoding"
    afterwards = "Each party recodes its own rows with smc publish apply --recoding."
    phases = True
    settings: JointSettings

    # How a task comes about.

    @classmethod
    def canonical(cls, settings: JointSettings, schema: Schema) -> PublishJoint:
        """The task of these settings, columns in the schema's order. `InputError` names what is wrong."""
        recode, keep = required(settings.recode, f"{cls.name}.recode"), settings.keep or ()
        for key, names in (("recode", recode), ("keep", keep)):
            for name in names:
                if name not in schema.attributes:
                    hint = did_you_mean(name, schema.attributes)
                    raise InputError(f"{key}: {quoted(name)} is not an attribute of the schema{hint}")
            if len(set(names)) < len(names):
                raise InputError(f"{key}: name each column once, not {listed(names)}")
        if both := [name for name in recode if name in keep]:
            raise InputError(f"keep: {quoted(both[0])} is recoded; it cannot be published as it is, too")
        if settings.k is None:
            raise InputError("k: is missing: give the fewest rows of a class, 10 for example")
        used = schema.only([*recode, *keep])
        ordered = {
            "recode": tuple(name for name in used.attributes if name in recode),
            "keep": tuple(name for name in used.attributes if name in keep) or None,
        }
        task = cls(settings.model_copy(update=ordered), Schema(used.attributes))
        task.problem  # noqa: B018 (its checks)
        return task

    @classmethod
    def alone(cls, settings: KindSettings, party: int) -> tuple[PublishJoint, Any, list[str]]:
        """See `Kind.alone`: the rows are a file too."""
        task = cls.planned(settings)
        ordered = Schema({name: task.schema.attributes[name] for name in task.columns})
        counts, ignored = task.rows_in_file(ordered, task.columns[-1])
        remarks = [f"not published: {listed(ignored)}"] if ignored else []
        return task, task.own_rows(counts), remarks

    @cached_property
    def problem(self) -> Problem:
        """The protocol's view."""
        from protocols.publish.problem import Problem

        assert self.settings.recode is not None
        assert self.settings.k is not None
        sizes = {name: len(values) for name, values in self.schema.attributes.items()}
        return Problem(
            domains=tuple(sizes[name] for name in self.settings.recode),
            max_rows=self.settings.max_rows,
            k=self.settings.k,
            against=self.settings.against,
            others=tuple(sizes[name] for name in self.settings.keep or ()),
        )

    # What is said of it.

    @property
    def question(self) -> str:
        """See `Kind.question`."""
        return (
            f"one recoding of {listed(self.settings.recode or ())}, by which each party publishes its own rows "
            f"({self.settings.k}-anonymity)"
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Kind.columns`: those that are recoded, then those that are kept."""
        return (*(self.settings.recode or ()), *(self.settings.keep or ()))

    def reveals(self, peer: str) -> list[str]:
        """See `Kind.reveals`."""
        rows = f"{self.settings.max_rows:,}"
        found = [
            f"We and {peer} both learn one recoding of {listed(self.settings.recode or ())} for both tables' rows: "
            "the ranges of values of every class.",
            f"{peer} learns nothing else of our rows, only that they are at most {rows}.",
            f"We learn nothing else of {peer}'s rows, only that they are at most {rows}.",
        ]
        if self.settings.against == "peer":
            return [*found, f"No class has fewer than {self.settings.k:,} rows of {peer} or of us alone, unless none."]
        return [
            *found,
            f"No class has fewer than {self.settings.k:,} rows of both parties together.",
            "Who has rows in a class can subtract them: of the other's rows alone nothing is promised.",
        ]

    def opened(self, state: State, step: int | None = None) -> dict[str, int]:
        """See `Kind.opened`."""
        from protocols.publish.openings import opened

        return opened(len(self.columns), state, step)

    # What it costs.

    def program(self, means: Means) -> Program:
        """See `Kind.program`: for a typical recoding."""
        from protocols.publish import foresight

        return lambda engine: foresight.with_classes(engine, self.problem, TYPICAL_CLASSES)

    def counted(self, extra: Any, means: Means) -> tuple[Program, str]:
        """See `Kind.counted`: with a recoding exactly."""
        from protocols.publish import foresight

        if extra.recoding is None:
            return self.program(means), f"for {self.assumed}"
        from parties.jobs import publish_recoding

        cuts = publish_recoding.cuts_in(extra.recoding, self.schema, self.settings.recode or ())
        return lambda engine: foresight.with_cuts(engine, self.problem, cuts), "for this recoding"

    @property
    def assumed(self) -> str:
        """See `Kind.assumed`."""
        return f"a recoding with {TYPICAL_CLASSES:,} classes, or as many as the rows allow"

    @property
    def is_countable(self) -> bool:
        """See `Kind.is_countable`; by what was measured."""
        return sum(self.problem.domains) <= COUNTABLE

    # How it is run.

    def own_rows(self, source: Rows) -> Indices:
        """What the protocol takes of this party: the distinct rows, and how often each occurs."""
        return source.distinct()

    @contextmanager
    def open(self, means: Means) -> Iterator[Opened]:
        """See `Kind.open`."""
        with means.counts(self.columns[-1], self.columns, self.settings.max_rows) as source:
            yield Opened(self.own_rows(source), source.fingerprint)

    def run(self, engine: Engine, data: Any, start: State, told: Told) -> State:
        """See `Kind.run`; `data` are this party's distinct rows."""
        from protocols.publish.mondrian import Progress, mondrian

        def tell(now: Progress) -> None:
            classes = "class" if now.boxes == 1 else "classes"
            told(Step(len(now.cuts), now.boxes, now.cuts, f"level {len(now.cuts)}: {now.boxes:,} {classes} to cut"))

        return mondrian(engine, self.problem, data, tell, start, self.columns)

    # Its states: the cuts, level by level.

    beginning: State = ()

    def steps(self, state: State) -> int:
        """See `Kind.steps`: decided levels."""
        return len(state)

    def is_done(self, state: State) -> bool:
        """See `Kind.is_done`: the last level cuts nothing."""
        return bool(state) and all(cut is None for cut in state[-1])

    def cut(self, state: State, steps: int) -> State:
        """See `Kind.cut`."""
        return state[:steps]

    def encode(self, state: State) -> Any:
        """See `Kind.encode`."""
        from protocols.publish.cuts import encode

        return encode(state)

    def decode(self, value: Any) -> State:
        """See `Kind.decode`."""
        from protocols.publish.cuts import decode

        return decode(value or ())

    # What it brings.

    def document(self, state: State) -> Document:
        """See `Kind.document`: the content of a recoding file, the cuts besides."""
        from parties.jobs import publish_recoding

        assert self.settings.recode is not None
        assert self.settings.k is not None
        keep = self.settings.keep or ()
        return publish_recoding.document(
            state, self.schema, self.settings.recode, keep, self.settings.k, self.settings.against
        )

    @classmethod
    def text(cls, document: Document, party: int) -> str:
        """See `Kind.text`."""
        columns = [name for name, about in document["columns"].items() if about["role"] == "quasi-identifier"]
        boxes: Sequence[Any] = document["boxes"]
        whose = "rows of each party that has some" if document["joint"]["against"] == "peer" else "rows of both"
        lines = [f"{len(boxes):,} classes, each with at least {document['joint']['k']:,} {whose}"]
        for box in boxes[:SHOWN]:
            lines.append("  " + ", ".join(f"{name} {span['label']}" for name, span in zip(columns, box, strict=True)))
        if len(boxes) > SHOWN:
            lines.append(f"  and {len(boxes) - SHOWN:,} more")
        return "\n".join(lines) + "\n"
