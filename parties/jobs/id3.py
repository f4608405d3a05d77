"""The joint decision tree as a kind of job: a step is a level, the state the tree so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from parties.jobs.kind import Document, Extra, File, Kind, Means, Opened, State, Step, Told
from parties.jobs.settings import MAX_ROWS, AnyEngine, KindSettings, output, own_file, public
from parties.settings import Count, LocalPath, merge, required
from parties.tables import schema as schemas
from parties.tables.schema import Schema
from parties.text import listed
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.trees.tree import Node, TreeFile
    from protocols import id3
    from smc.counting import Program
    from smc.engines import Engine

TYPICAL_SPLITS = 16  # a level, of the tree that stands for the unknown one when costs are counted ahead


class Id3Settings(KindSettings):
    """`smc id3`."""

    data: LocalPath | None = own_file("Rows", "Own rows, a CSV file; private.", data=True)
    schema_file: LocalPath | None = own_file("Schema", "The agreed schema.", alias="schema")  # `schema` is pydantic's
    target: str | None = public(None, "Target", "The class column", none="target in the schema")
    columns: tuple[str, ...] | None = public(
        None, "Columns", "The columns to predict from, with commas between them", none="all of the schema", node=True
    )
    delta: Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)] = public(
        0.001, "Delta", "Attributes whose conditional entropy is so near the best are as good"
    )
    min_rows: Count = public(0, "Fewest rows", "Nodes with at most so many rows, of both together, become leaves")
    max_depth: Count | None = public(
        None, "Most levels", "Deepest level of the tree: questions one after the other", none="no limit"
    )
    max_rows: Annotated[int, Field(strict=True, ge=1, le=2**31)] = public(
        MAX_ROWS, "Row bound", "Public bound: no party has more rows"
    )
    engine: AnyEngine = public("mixed", "Engine", "How it is computed; auto measures the link and chooses")
    out: LocalPath | None = output("Write the tree as JSON.")
    dot: LocalPath | None = output("Write the tree in Graphviz's DOT.")
    svg: LocalPath | None = output("Draw the tree.")


class Id3Extra(Extra):
    """`smc estimate id3`."""

    tree: LocalPath | None = own_file("Tree", "The tree of an earlier run: then the costs are exact.")


CHOSEN = ("target", "columns")  # what a specification says by its schema


class Id3(Kind):
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

    def __init__(self, settings: Id3Settings, schema: Schema, target: str) -> None:
        super().__init__(settings)
        self.schema, self.target = schema, target

    @classmethod
    def proposed(cls, settings: KindSettings, means: Means) -> Id3:
        """See `Kind.proposed`: some of the table's columns, and its public bound unless the job has another."""
        assert isinstance(settings, Id3Settings)
        table, schema = means.required()
        target = schema.choose_target(settings.target)
        if settings.columns is not None:
            if set(settings.columns) <= {target} or len(set(settings.columns)) < len(settings.columns):
                raise InputError("columns: name each column once, and one at least besides the target")
            schema = schema.only([*settings.columns, target])
        given = settings.model_dump(exclude_unset=True, exclude=set(CHOSEN), by_alias=True)
        known = {name: value for name, value in given.items() if name in cls._told()}
        return cls(merge(Id3Settings(), {"max_rows": table.max_rows, **known}), schema, target)

    @classmethod
    def agreed(cls, specification: Mapping[str, Any]) -> Id3:
        """See `Kind.agreed`."""
        schema = Schema.from_public(specification.get("schema"))
        target = specification.get("target")
        if not isinstance(target, str) or target not in schema.attributes:
            raise ValueError("the target is not an attribute of the schema")
        given = {name: specification[name] for name in cls._told() if name in specification}
        task = cls(merge(Id3Settings(), given), schema, target)
        _ = task.problem  # refused here if it cannot be
        return task

    @classmethod
    def planned(cls, settings: KindSettings) -> Id3:
        """See `Kind.planned`: the schema is a file."""
        assert isinstance(settings, Id3Settings)
        agreed = schemas.load(required(settings.schema_file, "id3.schema"))
        return cls(settings, agreed, agreed.choose_target(settings.target))

    @classmethod
    def alone(cls, settings: KindSettings, party: int) -> tuple[Id3, Any, list[str]]:
        """See `Kind.alone`: the rows are a file too."""
        from parties.tables import rows
        from protocols.counts import RowCounts

        assert isinstance(settings, Id3Settings)
        task = cls.planned(settings)
        table = rows.load(required(settings.data, "id3.data"), task.schema, task.target, settings.max_rows)
        counts = RowCounts(task.problem.domains, task.problem.classes, table.rows, table.classes)
        return task, counts, [f"not in the schema, ignored: {listed(table.ignored)}"] if table.ignored else []

    @classmethod
    def _told(cls) -> tuple[str, ...]:
        """The parameters that a specification has under their own names."""
        return ("delta", "min_rows", "max_depth", "max_rows", "engine", "ot", "garbling", "form")

    def specification(self) -> Document:
        """See `Kind.specification`."""
        return {
            "protocol": self.name,
            "schema": self.schema.public(),
            "target": self.target,
            "delta": self.settings.delta,
            "min_rows": self.settings.min_rows,
            "max_depth": self.settings.max_depth,
            "max_rows": self.settings.max_rows,
            **self.engine_fields(),
        }

    @cached_property
    def problem(self) -> id3.Problem:
        """The protocol's view. `InputError` if delta and bound do not fit the word size.

        So it is for a tree that could be deeper than `MAX_DEPTH`: it could be written but not be read back.
        """
        from parties.trees.tree import MAX_DEPTH
        from protocols import id3

        settings, features = self.settings, self.schema.features(self.target)
        deepest = len(features) if settings.max_depth is None else settings.max_depth
        if deepest > MAX_DEPTH:
            raise InputError(f"the tree could have {deepest} levels: give --max-depth N with at most {MAX_DEPTH}")
        found = id3.Problem(
            domains=tuple(len(self.schema.attributes[name]) for name in features),
            classes=len(self.schema.attributes[self.target]),
            max_rows=settings.max_rows,
            delta=settings.delta,
            min_rows=settings.min_rows,
            max_depth=settings.max_depth,
        )
        found.precision()  # refused here rather than in the middle of the run
        return found

    # What is said of it.

    @property
    def subject(self) -> str:
        """See `Kind.subject`."""
        return self.target

    @property
    def question(self) -> str:
        """See `Kind.question`."""
        return f"a decision tree that predicts {self.target} from the rows of both parties (ID3)"

    @property
    def columns(self) -> tuple[str, ...]:
        """See `Kind.columns`."""
        return tuple(self.schema.attributes)

    def parameters(self) -> dict[str, Any]:
        """See `Kind.parameters`: but for what the specification says by its schema."""
        return {name: getattr(self.settings, name) for name in self._told()}

    def reveals(self, peer: str) -> list[str]:
        """See `Kind.reveals`."""
        rows = f"{self.settings.max_rows:,}"
        return [
            f"We and {peer} both learn the decision tree for {self.target} of both tables' rows together.",
            f"{peer} learns nothing else of our rows, only that they are at most {rows}.",
            f"We learn nothing else of {peer}'s rows, only that they are at most {rows}.",
        ]

    def opened(self, state: State, step: int | None = None) -> dict[str, int]:
        """See `Kind.opened`: what the tree says, nothing else."""
        from protocols.openings import opened

        return opened(self.problem.domains, self.problem.classes, state, step)

    # Whether it can be had here.

    @property
    def reads_table(self) -> bool:
        """See `Kind.reads_table`."""
        return True

    def misfit(self, means: Means) -> str | None:
        """See `Kind.misfit`: a table that lacks an attribute, or knows it with other values."""
        table, schema = means.required()
        if self.settings.max_rows < table.max_rows:  # or a run that fails for too many rows would tell about them
            return f"max_rows of the job must be at least {table.max_rows}, the public bound of the table here"
        return schema.misfit(self.schema)

    # What it costs.

    def program(self, means: Means) -> Program:
        """See `Kind.program`: for a typical tree."""
        return self._program(splits=TYPICAL_SPLITS)

    def counted(self, extra: Any, means: Means) -> tuple[Program, str]:
        """See `Kind.counted`: with a tree exactly, else at most."""
        if extra.tree is None:
            return self._program(), "at most, whatever the tree"
        from parties.trees.tree import TreeFile

        found = TreeFile.load(extra.tree)
        if (found.schema_digest, found.target) != (self.schema.digest(), self.target):
            raise InputError(
                f"{extra.tree}: the tree is for another schema or target than this one with target {self.target}"
            )
        return self._program(self.indexed(found.tree)), "for this tree"

    @property
    def assumed(self) -> str:
        """See `Kind.assumed`."""
        return f"a tree of at most {TYPICAL_SPLITS} splits a level"

    @property
    def is_countable(self) -> bool:
        """See `Kind.is_countable`; by what was measured."""
        problem = self.problem
        attributes, classes = len(problem.domains), problem.classes
        levels = attributes if problem.max_depth is None else min(problem.max_depth, attributes)
        candidates = TYPICAL_SPLITS * (levels * attributes - levels * (levels - 1) // 2)
        logarithms = candidates * max(problem.domains, default=1) * (classes + 1)
        return candidates <= 8000 and logarithms <= 500_000 and classes <= 200

    def _program(self, tree: id3.Tree | None = None, splits: int | None = None) -> Program:
        from protocols import foresight

        if tree is not None:
            return lambda engine: foresight.with_tree(engine, self.problem, tree)
        return lambda engine: foresight.at_most(engine, self.problem, splits)

    # How it is run.

    @contextmanager
    def open(self, means: Means) -> Iterator[Opened]:
        """See `Kind.open`."""
        with means.counts(self.target, self.columns, self.settings.max_rows) as source:
            yield Opened(source, source.fingerprint)

    def run(self, engine: Engine, data: Any, start: State, told: Told) -> State:
        """See `Kind.run`; `data` is a `protocols.counts.Counts`."""
        from protocols import id3

        def tell(level: id3.Level) -> None:
            nodes = "node" if level.nodes == 1 else "nodes"
            told(Step(level.depth, level.nodes, level.tree, f"level {level.depth} with {level.nodes:,} {nodes}"))

        return id3.id3(engine, self.problem, data, tell, start)

    # Its states: trees of indices.

    @property
    def beginning(self) -> State:
        """See `Kind.beginning`."""
        from protocols.tree import Open

        return Open()

    def steps(self, state: State) -> int:
        """See `Kind.steps`: decided levels."""
        from protocols.tree import open_depth, walk

        depth = open_depth(state)
        return depth if depth is not None else 1 + max(depth for _, depth in walk(state))

    def is_done(self, state: State) -> bool:
        """See `Kind.is_done`."""
        from protocols.tree import open_depth

        return open_depth(state) is None

    def cut(self, state: State, steps: int) -> State:
        """See `Kind.cut`."""
        from protocols.tree import cut

        return cut(state, min(steps, self.steps(state)))

    def encode(self, state: State) -> Any:
        """See `Kind.encode`: null for an open node, a number for a leaf, [attribute, children] for a split."""
        from protocols.tree import Leaf, Split

        if isinstance(state, Split):
            return [state.attribute, [self.encode(child) for child in state.children]]
        return state.label if isinstance(state, Leaf) else None

    def decode(self, value: Any) -> State:
        """See `Kind.decode`."""
        from protocols.tree import Leaf, Open, Split

        if value is None:
            return Open()
        if isinstance(value, int):
            return Leaf(value)
        attribute, children = value
        return Split(attribute, tuple(self.decode(child) for child in children))

    # What it brings.

    def named(self, tree: id3.Tree) -> Node:
        """The protocol's tree of indices with the schema's names."""
        from parties.trees.tree import Leaf, Split
        from protocols import id3

        if isinstance(tree, id3.Leaf):
            return Leaf(self.schema.attributes[self.target][tree.label])
        if isinstance(tree, id3.Open):
            raise ValueError("the tree is not finished")
        attribute = self.schema.features(self.target)[tree.attribute]
        values = self.schema.attributes[attribute]
        return Split(attribute, {v: self.named(child) for v, child in zip(values, tree.children, strict=True)})

    def indexed(self, tree: Node) -> id3.Tree:
        """The inverse of `named`. `InputError` for a name that the schema does not have."""
        from parties.trees.tree import Leaf
        from protocols import id3

        features = self.schema.features(self.target)
        try:
            if isinstance(tree, Leaf):
                return id3.Leaf(self.schema.attributes[self.target].index(tree.label))
            values = self.schema.attributes[tree.attribute]
            children = tuple(self.indexed(tree.branches[value]) for value in values)
            return id3.Split(features.index(tree.attribute), children)
        except (ValueError, KeyError):
            raise InputError("the tree does not fit the schema") from None

    def tree_file(self, state: State) -> TreeFile:
        """The tree with the schema's names, and what it is the answer to."""
        from parties.trees.tree import TreeFile

        return TreeFile(self.schema.digest(), self.target, self.settings.delta, self.named(state))

    def document(self, state: State) -> Document:
        """See `Kind.document`: the content of tree.json."""
        return self.tree_file(state).fields()

    @classmethod
    def text(cls, document: Document, party: int) -> str:
        """See `Kind.text`."""
        return _text(document)

    @classmethod
    def picture(cls, document: Document) -> str:
        """See `Kind.picture`."""
        from parties.trees.drawing import draw_svg  # matplotlib takes its time to load

        found = _tree_file(document)
        return draw_svg(found.tree, found.target, f"Decision tree for {found.target}")

    @classmethod
    def files(cls) -> tuple[File, ...]:
        """See `Kind.files`."""
        return (
            *super().files(),
            File("tree.txt", "text/plain", _text),
            File("tree.dot", "text/vnd.graphviz", _dot, "dot"),
            File("tree.svg", "image/svg+xml", cls.picture, "svg"),
        )


def _tree_file(document: Document) -> TreeFile:
    """The checked tree of a result. `InputError` if it cannot be read."""
    from parties.trees.tree import TreeFile

    try:
        return TreeFile.parse(document)
    except ValueError as error:
        raise InputError(f"the tree of this job cannot be read: {error}") from None


def _text(document: Document) -> str:
    from parties.trees.text import to_text

    return to_text(_tree_file(document).tree)


def _dot(document: Document) -> str:
    from parties.trees.text import to_dot

    found = _tree_file(document)
    return to_dot(found.tree, found.target)
