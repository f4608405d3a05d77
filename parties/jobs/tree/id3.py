"""The joint decision tree as a kind of job: a step is a level, the state the tree so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from parties.base.settings import merge
from parties.base.text import listed
from parties.jobs.kind import Counted, Document, Estimate, File, Inputs, OnStep, Opened, Spending, State
from parties.jobs.settings import ENGINE, KindSettings
from parties.jobs.spending import KEPT_BY_NODES
from parties.jobs.tabular import BySchema
from parties.jobs.tree import leaf_rules, result
from parties.jobs.tree.exact import Exact
from parties.jobs.tree.learner import TYPICAL_SPLITS, Learner
from parties.jobs.tree.private import Private
from parties.jobs.tree.settings import Id3Extra, Id3Settings
from parties.tables.schema import Schema
from smc.errors import InputError

if TYPE_CHECKING:
    from smc.counting import Program
    from smc.engines import Engine

CHOSEN = ("target", "columns")  # what a specification says by its schema


class Id3(BySchema):
    """The decision tree of both parties' rows together. Both learn the tree, and nothing else."""

    name = "id3"
    title = "Decision tree"
    Settings = Id3Settings
    Extra = Id3Extra
    example = "--data mine.csv --schema schema.toml --target play --out tree.json --config party.toml"
    estimate_example = "--schema schema.toml --max-rows 2000 "
    noun = "tree"
    afterwards = "smc predict --tree tree.json --data rows.csv classifies rows with it, on this machine alone."
    integers = True
    phases = True
    page = "tree"
    settings: Id3Settings
    target = ""  # of a task, the class column

    def __init__(self, settings: Id3Settings, schema: Schema, target: str) -> None:
        """Settings of which what is left open is chosen here, by public numbers."""
        learner = Exact if settings.epsilon is None else Private
        super().__init__(learner.completed(settings, schema, target), schema)
        self.target = target

    @classmethod
    @override
    def proposed(cls, settings: KindSettings, inputs: Inputs) -> Id3:
        """See `Kind.proposed`: some of the table's columns, and its public bound unless the job has another."""
        assert isinstance(settings, Id3Settings)
        table, schema = inputs.required()
        target = schema.choose_target(settings.target)
        if settings.columns is not None:
            if set(settings.columns) <= {target} or len(set(settings.columns)) < len(settings.columns):
                raise InputError("columns: name each column once, and one at least besides the target")
            schema = schema.only([*settings.columns, target])
        given = settings.model_dump(exclude_unset=True, exclude=set(CHOSEN), by_alias=True)
        known = {name: value for name, value in given.items() if name in cls._told()}
        merged = merge(Id3Settings(), {"max_rows": table.max_rows, **known})
        return cls(merged, schema, target)._checked()

    @classmethod
    @override
    def agreed(cls, specification: Mapping[str, Any]) -> Id3:
        schema = Schema.from_public(specification.get("schema"))
        target = specification.get("target")
        if not isinstance(target, str) or target not in schema.attributes:
            raise ValueError("the target is not an attribute of the schema")
        given = {name: specification[name] for name in cls._told() if name in specification}
        return cls(merge(Id3Settings(), given), schema, target)._checked()

    @classmethod
    @override
    def canonical(cls, settings: Any, schema: Schema) -> Id3:
        return cls(settings, schema, schema.choose_target(settings.target))._checked()

    @classmethod
    @override
    def alone(cls, settings: KindSettings, party: int) -> tuple[Id3, Any, list[str]]:
        """See `Kind.alone`: the rows are a file too."""
        assert isinstance(settings, Id3Settings)
        task = cls.planned(settings)
        counts, ignored = task.rows_in_file(task.schema, task.target)
        remarks = [f"not in the schema, ignored: {listed(ignored)}"] if ignored else []
        if task.settings.max_depth != settings.max_depth:
            remarks.append(f"at most {task.settings.max_depth} levels, chosen by public numbers")
        if task.settings.k not in (settings.k, None, 1):
            remarks.append(f"k is {task.settings.k}, unless --k or --plain says otherwise")
        if settings.epsilon is not None:
            remarks.append(KEPT_BY_NODES)
        elif leaf_rules.may_speak_of_one(task.settings):
            remarks.append("leaves may speak of one person: --k or --l keeps them from it")
        return task, task.learner.own(counts, Inputs().secret), remarks

    def _checked(self) -> Id3:
        """Return the task itself. `InputError` if its settings do not go together."""
        self.learner.check()
        return self

    @classmethod
    def _told(cls) -> tuple[str, ...]:
        """Return the parameters that a specification has under their own names."""
        return tuple(dict.fromkeys((*Exact.specified, *Private.specified, *ENGINE)))

    @cached_property
    def learner(self) -> Learner:
        """The protocol that finds the tree."""
        return (Exact if self.settings.epsilon is None else Private)(self.settings, self.schema, self.target)

    @override
    def specification(self) -> Document:
        return {
            "protocol": self.name,
            "schema": self.schema.public(),
            "target": self.target,
            **{name: getattr(self.settings, name) for name in self.learner.specified},
            **self.engine_fields(),
        }

    # What is said of it.

    @property
    @override
    def subject(self) -> str:
        return self.target

    @property
    @override
    def question(self) -> str:
        return self.learner.question

    @property
    @override
    def columns(self) -> tuple[str, ...]:
        return tuple(self.schema.attributes)

    @override
    def parameters(self) -> dict[str, Any]:
        """See `Kind.parameters`: but for what the specification says by its schema."""
        return {name: getattr(self.settings, name) for name in (*self.learner.specified, *ENGINE)}

    @override
    def reveals(self, peer: str) -> list[str]:
        return self.learner.reveals(peer)

    @override
    def opened(self, state: State, step: int | None = None) -> dict[str, int]:
        return self.learner.opened(state, step)

    @property
    @override
    def spends(self) -> tuple[Spending, ...]:
        return self.learner.spends

    # What it costs.

    @override
    def program(self, inputs: Inputs) -> Program:
        """See `Kind.program`: for a typical tree."""
        return self.learner.at_most(TYPICAL_SPLITS)

    @override
    def counted(self, extra: Any, inputs: Inputs) -> Counted:
        """See `Kind.counted`: with a tree exactly, else at most."""
        if extra.tree is None:
            if self.learner.bounded:
                return Counted(self.learner.at_most(), "at most", "any tree")
            return super().counted(extra, inputs)
        from parties.models.trees.tree import TreeFile

        found = TreeFile.load(extra.tree)
        try:
            return Counted(self.learner.with_result(self.learner.state_of(found)), "exact", "this tree")
        except InputError as error:
            raise InputError(f"{extra.tree}: {error}") from None

    @property
    @override
    def estimate(self) -> Estimate:
        """See `Kind.estimate`: nobody knows the tree."""
        return "typical"

    @property
    @override
    def assumed(self) -> str:
        return f"a tree of at most {TYPICAL_SPLITS} splits a level"

    @property
    @override
    def is_countable(self) -> bool:
        """See `Kind.is_countable`; by what was measured."""
        domains, classes, levels = self.learner.domains, self.learner.classes, self.learner.levels
        candidates = self.settings.trees * TYPICAL_SPLITS * (levels * len(domains) - levels * (levels - 1) // 2)
        logarithms = candidates * self.learner.scored * max(domains, default=1) * (classes + 1)
        return candidates <= 8000 and logarithms <= 500_000 and classes <= 200

    # How it is run.

    @override
    def own_rows(self, source: Any, secret: bytes = b"") -> Any:
        return self.learner.own(source, secret)

    @contextmanager
    @override
    def open(self, inputs: Inputs) -> Iterator[Opened]:
        with inputs.counts(self.target, self.columns, self.schema) as source:
            yield Opened(self.own_rows(source, inputs.secret), source.fingerprint)

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """See `Kind.run`; `data` is what `Learner.own` makes of the rows."""
        return self.learner.run(engine, data, start, on_step)

    # Its states: see `Learner`.

    @property
    @override
    def beginning(self) -> State:
        return self.learner.beginning

    @override
    def steps(self, state: State) -> int:
        """See `Kind.steps`: decided levels."""
        return self.learner.steps(state)

    @override
    def is_done(self, state: State) -> bool:
        return self.learner.is_done(state)

    @override
    def cut(self, state: State, steps: int) -> State:
        return self.learner.cut(state, steps)

    @override
    def encode(self, state: State) -> Any:
        return self.learner.encode(state)

    @override
    def decode(self, value: Any) -> State:
        return self.learner.decode(value)

    # What it brings.

    @override
    def document(self, state: State) -> Document:
        """See `Kind.document`: the content of tree.json."""
        return self.learner.tree_file(state).fields()

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        return result.text(document)

    @classmethod
    @override
    def picture(cls, document: Document) -> str:
        return result.picture(document)

    @classmethod
    @override
    def files(cls) -> tuple[File, ...]:
        return (*super().files(), *result.FILES)
