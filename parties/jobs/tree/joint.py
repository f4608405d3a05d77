"""Base class of decision trees: a step is a level, the state is the decided part."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import override

from parties.base.settings import at_key, merge
from parties.base.text import listed, quoted
from parties.jobs.kind import Counted, Description, Document, File, Inputs, State, States, Step
from parties.jobs.settings import ENGINE, KindSettings, shared_parameters
from parties.jobs.tabular import BySchema, with_matching
from parties.jobs.tree import apart, leaf_rules, result
from parties.jobs.tree.settings import ExactSettings, Id3Extra, Id3Settings
from parties.tables.schema import Schema
from parties.tables.types import OrderedType, ranges_as_classes, type_of
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.models.trees.tree import Node, TreeFile
    from protocols.counts import Rows
    from protocols.edges import Questions
    from smc.counting import CountingEngine, Program

OPTIONAL = ("at_most", "held_out", "fold", "shards")  # in a specification only if they are given
Levels = Sequence[tuple[int, int, int]]  # nodes, splits, and greatest number of attributes left at a node
BY_SCHEMA = ("target", "columns")  # a specification gives these through its schema


class JointTree(BySchema):
    """A decision tree, or several, of both parties' rows together."""

    name = "id3"
    about = Description(
        "Decision tree",
        "tree",
        example="--target play --out tree.json",
        afterwards="smc predict --tree tree.json --data rows.csv classifies rows with it, on this machine alone.",
        integers=True,
        phases=True,
        page="tree",
        extra=Id3Extra,
    )
    Settings: ClassVar[type[ExactSettings]] = Id3Settings
    settings: Any  # of type `Settings`
    runs_alone = True
    takes_holders = True
    target = ""  # class column of a task
    votes: ClassVar[bool] = False  # whether the state is `settings.trees` trees that grow together
    problem: Any  # of the protocol
    specified: ClassVar[tuple[str, ...]]  # parameters in a specification, beside the schema and the profile

    def __init__(self, settings: ExactSettings, schema: Schema, target: str) -> None:
        super().__init__(settings, schema)
        self.target = target
        self.settings = self.completed()

    @classmethod
    def of(cls, settings: Any, schema: Schema, target: str) -> JointTree:
        """Return the task of these settings.

        Args:
            settings: The settings.
            schema: Schema of the columns to use.
            target: Column of the classes.
        """
        return cls(settings, schema, target)

    @classmethod
    def checked(cls, settings: Any, schema: Schema, target: str) -> JointTree:
        """Return the task of these settings. Raise InputError if they are inconsistent.

        Args:
            settings: The settings.
            schema: Schema of the columns to use.
            target: Column of the classes.
        """
        if len(values := schema.attributes[target]) < 2:
            raise InputError(f"target: {quoted(target)} has one value, {listed(values)}; choose another target")
        task = cls.of(settings, schema, target)
        if task.apart is not None:
            task.check_apart()
            apart.check(task)
        task.check()
        return task

    @classmethod
    @override
    def proposed(cls, settings: KindSettings, inputs: Inputs) -> JointTree:
        """Use the columns in the settings, with the row bound and the schema of `with_matching`."""
        assert isinstance(settings, ExactSettings)
        given, schema = with_matching(settings, inputs)
        target = schema.choose_target(given.target)
        fields = given.model_dump(include=cls._in_specifications(), exclude_unset=True)
        return cls.checked(merge(cls.Settings(), fields), _of_columns(given, schema, target), target)

    @classmethod
    @override
    def agreed(cls, specification: Mapping[str, Any]) -> JointTree:
        schema = Schema.from_public(specification.get("schema"))
        target = specification.get("target")
        if not isinstance(target, str) or target not in schema.attributes:
            raise ValueError("the target is not an attribute of the schema")
        fields = {name: value for name, value in specification.items() if name in cls._in_specifications()}
        return cls.checked(merge(cls.Settings(), fields), schema, target)

    @classmethod
    @override
    def canonical(cls, settings: Any, schema: Schema) -> JointTree:
        target = schema.choose_target(settings.target)
        return cls.checked(settings, _of_columns(settings, schema, target), target)

    @override
    def notes(self, settings: Any, source: Any) -> list[str]:
        remarks = []
        if self.settings.max_depth != settings.max_depth:
            chosen = f"at most {self.settings.max_depth} levels, chosen from public numbers"
            remarks.append(f"{chosen}: --max-depth sets another maximum")
        if self.settings.k not in (settings.k, None, 1):
            remarks.append(f"k is {self.settings.k} by default; --k or --plain changes it")
        remarks += ranges_as_classes(self.target, self.schema.attributes[self.target])
        remarks += super().notes(settings, source)
        if "epsilon" not in self.specified and leaf_rules.may_speak_of_one(self.settings):
            remarks.append("leaves may describe a single person: --k or --l prevents it")
        if source is None:
            return [*remarks, *apart.remarks(settings)]
        return [*remarks, *self.leaks(source)]

    @override
    def remarks(self, inputs: Inputs) -> list[str]:
        if self.apart is not None:
            return apart.remarks(self.settings)
        with inputs.counts(self.target, self.columns, self.schema, part=self.rows_taken) as source:
            return [*ranges_as_classes(self.target, self.schema.attributes[self.target]), *self.leaks(source)]

    def leaks(self, source: Rows) -> list[str]:
        """Return the columns that almost decide the target by this party's rows alone, one line each.

        The lines are for this party's operator. The peer sees nothing that depends on them.
        """
        from parties.alone.preparing.leaks import leak
        from protocols.tree import Open

        lines = []
        classes = self.schema.attributes[self.target]
        tables = source.level(Open(), attributes=True).values
        for name, table in zip(self.schema.features(self.target), tables, strict=True):
            rows = {str(value): dict(zip(classes, of, strict=True)) for value, of in enumerate(table[0].tolist())}
            found = leak(rows)
            if found.is_one:
                finding = (
                    f"{quoted(name)} alone predicts {self.target} = {quoted(found.label)} correctly for "
                    f"{found.right:.0%}"
                )
                lines.append(f"{finding} of your rows: is it known only after the outcome?")
        return lines

    @classmethod
    def _in_specifications(cls) -> set[str]:
        return {parameter.key for parameter in shared_parameters(cls.Settings)} - set(BY_SCHEMA)

    @abstractmethod
    def completed(self) -> Any:
        """Return the settings with open choices made, from public numbers only."""

    @abstractmethod
    def check(self) -> None:
        """Raise InputError before the run if the settings contradict each other or need numbers that are too large."""

    def check_depth(self) -> None:
        """Raise InputError for a tree too deep to be read back."""
        from parties.models.trees.tree import MAX_DEPTH

        depth = self.questions.deepest if self.settings.max_depth is None else self.settings.max_depth
        if depth > MAX_DEPTH:
            raise InputError(f"the tree could have {depth} levels: give --max-depth N with at most {MAX_DEPTH}")

    @override
    def specification(self) -> Document:
        return {
            "protocol": self.name,
            "schema": self.schema.public(),
            "target": self.target,
            **{name: getattr(self.settings, name) for name in self.specified},
            **{name: value for name in OPTIONAL if (value := getattr(self.settings, name)) is not None},
            **self.terms_apart,
            **self._engine_fields(),
        }

    # Description.

    @property
    def domains(self) -> tuple[int, ...]:
        """Number of values of each attribute to predict from."""
        return tuple(len(self.schema.attributes[name]) for name in self.schema.features(self.target))

    @cached_property
    def questions(self) -> Questions:
        """Questions that a node can ask: one on all values of a column, or one on each edge of a column.

        A column of three values without an order has a third edge, the second value against the others.
        """
        from protocols.edges import Questions

        types = [type_of(self.schema.attributes[name]) for name in self.schema.features(self.target)]
        ordered = [isinstance(column, OrderedType) for column in types]
        if self.settings.splits != "binary":
            by_edges = ordered if self.settings.splits == "ordered" else [False] * len(ordered)
            return Questions(self.domains, tuple(by_edges))
        columns = list(enumerate(zip(ordered, self.domains, strict=True)))
        return Questions(
            self.domains,
            tuple(typed or size > 2 for _, (typed, size) in columns),
            tuple(column for column, (typed, size) in columns if size == 3 and not typed),
        )

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.schema.attributes[self.target])

    @override
    def parameters(self) -> dict[str, Any]:
        """Return the public settings without those that the specification gives through its schema."""
        alignment = {} if self.apart is None else {"alignment": self.settings.alignment}
        return {name: getattr(self.settings, name) for name in (*self.specified, *OPTIONAL, *ENGINE)} | alignment

    # Cost.

    @override
    def own_seconds(self) -> dict[str, float]:
        from smc.counting.rates import TALLY_SECONDS

        predictors, deepest = len(self.columns) - 1, self.settings.max_depth
        levels = 1 + (predictors if deepest is None else deepest)
        tally = self.own_bound * predictors * levels * TALLY_SECONDS
        return {**super().own_seconds(), "counting rows": tally}

    @override
    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        if extra is None or extra.tree is None:
            return self._typical_cost
        from parties.models.trees.tree import TreeFile

        tree_file = TreeFile.load(extra.tree)
        with at_key(str(extra.tree)):
            state = self.state_of(tree_file)
            return Counted(
                self.with_result(state), "exact", "this tree", asked=lambda: self.asked(self.levels_of(state))
            )

    @cached_property
    def _typical_cost(self) -> Counted:
        typical = self.typical_cost()
        if self.apart is None:
            return typical

        def program(engine: CountingEngine) -> None:
            from protocols.cost_model import typical_counts

            trees = self.settings.trees if self.votes else 1
            splits = [splits for _, splits, _ in self.typical_levels()]
            typical_counts(self.problem, self.sent_counts(engine), splits, trees)
            typical.program(engine)

        return replace(typical, program=program)

    @override
    def sent_counts(self, engine: CountingEngine) -> Any:
        """Return a source of counts without values, to count a run on columns that lie apart; else None."""
        from protocols.counts import Unpartitioned

        source = super().sent_counts(engine)
        return source if source is None or self.votes else Unpartitioned(source)

    @abstractmethod
    def typical_levels(self) -> Levels:
        """Return the levels of a typical run."""

    @abstractmethod
    def typical_cost(self) -> Counted:
        """Return the cost of a typical tree, since the real tree is unknown."""

    @abstractmethod
    def with_result(self, state: State) -> Program:
        """Return the program of a run that ends in this state, to count its cost."""

    @abstractmethod
    def levels_of(self, state: State) -> Levels:
        """Return the levels of the run that ends in this state."""

    def asked(self, levels: Levels) -> Sequence[int]:
        """Return how many numbers each question of a run with these levels asks a holder of rows."""
        from protocols.counts import level_sizes

        return level_sizes(self.problem, ((nodes, left) for nodes, _, left in levels))

    # Execution.

    @override
    def own_rows(self, source: Rows, secret: bytes = b"") -> Any:
        """Return the source of this party's counts.

        Args:
            source: This party's rows.
            secret: Key of the random choices in a subclass, such as the rows of each tree of a forest; not used here.
        """
        del secret
        return self.by_questions(source)

    def by_questions(self, source: Any) -> Any:
        """Return a source of counts by columns as a source of counts by a node's questions."""
        from protocols.edges import Asked

        return Asked(source, self.questions) if self.questions.runs else source

    @override
    def data_of(self, source: Any, secret: bytes) -> Any:
        return self.own_rows(source, secret)

    @staticmethod
    def step(depth: int, nodes: int, state: State) -> Step:
        """Return the step that decides the nodes of one depth.

        Args:
            depth: The depth.
            nodes: Number of nodes.
            state: State before the step.
        """
        return Step(depth, nodes, state, f"level {depth} with {nodes:,} {'node' if nodes == 1 else 'nodes'}")

    @property
    @override
    def states(self) -> States:
        """States with a step for each level of the tree, or of the deepest of several trees."""
        from protocols.tree import Open, cut, decided_levels, decode, encode, open_depth

        if not self.votes:
            return States(
                Open(),
                decided_levels,
                lambda tree: open_depth(tree) is None,
                lambda tree, steps: cut(tree, min(steps, decided_levels(tree))),
                encode,
                decode,
            )
        beginning = (Open(),) * self.settings.trees
        return States(
            beginning,
            lambda trees: max(map(decided_levels, trees)),
            lambda trees: all(open_depth(tree) is None for tree in trees),
            lambda trees, steps: tuple(cut(tree, min(steps, max(map(decided_levels, trees)))) for tree in trees),
            lambda trees: None if trees == beginning else [encode(tree) for tree in trees],
            lambda value: beginning if value is None else tuple(map(decode, value)),
        )

    # Results.

    def named(self, state: State) -> list[Node]:
        """Return the trees with the schema's names."""
        trees = state if self.votes else (state,)
        return [result.named(tree, self.schema, self.target, self.questions) for tree in trees]

    def indexed(self, tree_file: TreeFile) -> State:
        """Return the state of a tree file: trees of indices, the inverse of `named`."""
        trees = tuple(result.indexed(tree, self.schema, self.target, self.questions) for tree in tree_file.trees)
        return trees if self.votes else trees[0]

    @abstractmethod
    def file_of(self, state: State) -> TreeFile:
        """Return the result with the schema's names, and the schema's digest and target."""

    def tree_file(self, state: State) -> TreeFile:
        """Return the result of `file_of`, with the split of the rows."""
        return replace(self.file_of(state), split=self.split)

    def state_of(self, tree_file: TreeFile) -> State:
        """Return the state in a tree file, the inverse of `tree_file`. Raise InputError if schema or target differ."""
        if (tree_file.schema_digest, tree_file.target) != (self.schema.digest(), self.target):
            raise InputError(f"the tree is for another schema or target; give a tree with target {self.target}")
        return self.state_of_trees(tree_file)

    @abstractmethod
    def state_of_trees(self, tree_file: TreeFile) -> State:
        """Return the state of a run that ends with the trees of a file; its schema and target are checked already."""

    @override
    def document(self, state: State) -> Document:
        return self.tree_file(state).fields()

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        return result.text(document)

    @classmethod
    @override
    def files(cls) -> tuple[File, ...]:
        return (*super().files(), *result.FILES)


def _of_columns(settings: ExactSettings, schema: Schema, target: str) -> Schema:
    """Return the schema of the columns in the settings. Raise InputError if none is left, or one is repeated."""
    columns = settings.columns
    if columns is None:
        return schema
    if set(columns) <= {target} or len(set(columns)) < len(columns):
        raise InputError("columns: name each column once, and at least one besides the target")
    return schema.only([*columns, target])
