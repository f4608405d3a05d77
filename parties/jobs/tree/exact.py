"""The exact tree, ID3-delta: opened without noise, for it is made of decisions only."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from parties.jobs.kind import OnStep, State
from parties.jobs.sentences import nothing_else_of_rows
from parties.jobs.tree import leaf_rules
from parties.jobs.tree.learner import LARGEST_COUNTED, Learner, step
from parties.jobs.tree.result import indexed, named
from parties.jobs.tree.settings import Id3Settings
from parties.tables.schema import Schema
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.models.trees.tree import TreeFile
    from protocols import id3
    from smc.counting import Program
    from smc.engines import Engine


class Exact(Learner):
    """`protocols.id3`; a state is the tree so far."""

    specified = ("delta", "min_rows", "max_depth", "max_rows", "plain", *leaf_rules.KEYS)

    @classmethod
    @override
    def completed(cls, settings: Id3Settings, schema: Schema, target: str) -> Id3Settings:
        """See `Learner.completed`: k and a depth that keep leaves from pointing at people, unless it shall be plain."""
        from protocols.rules import NO_RULES, USUAL, usual_depth

        if settings.k is None:
            settings = settings.model_copy(update={"k": (NO_RULES if settings.plain else USUAL).k})
        if settings.max_depth is None and not settings.plain:
            domains, rules = cls(settings, schema, target).domains, leaf_rules.rules_of(settings)
            settings = settings.model_copy(update={"max_depth": usual_depth(rules, domains, settings.max_rows)})
        return settings

    @cached_property
    def problem(self) -> id3.Problem:
        """The protocol's view."""
        from protocols import id3

        return id3.Problem(
            domains=self.domains,
            classes=self.classes,
            max_rows=self.settings.max_rows,
            delta=self.settings.delta,
            min_rows=self.settings.min_rows,
            max_depth=self.settings.max_depth,
            rules=leaf_rules.rules_of(self.settings),
        )

    @property
    @override
    def bounded(self) -> bool:
        from protocols import cost_model

        return cost_model.cells(self.problem) <= LARGEST_COUNTED

    @property
    @override
    def scored(self) -> int:
        """See `Learner.scored`: rules that sum up both parties' rows do so for leaves too."""
        rules = self.problem.rules
        computed = rules.against == "public" and (rules.close or rules.diversity == "entropy")
        return max(self.domains, default=1) if computed else 1

    @override
    def check(self) -> None:
        """See `Learner.check`: also if delta and bound do not fit the word size."""
        defaults = Id3Settings()
        for name in ("adjacency", "quality", "stop", "leaf_epsilon", "trees"):
            if getattr(self.settings, name) != getattr(defaults, name):
                raise InputError(f"{name} is for a tree with noise: give epsilon, or leave it out")
        self.check_depth()
        self.problem.precision()

    @property
    @override
    def question(self) -> str:
        rules = " under rules for its leaves" if self.problem.rules.any else ""
        return f"a decision tree that predicts {self.target} from the rows of both parties (ID3){rules}"

    @override
    def reveals(self, peer: str) -> list[str]:
        return [
            f"We and {peer} both learn the decision tree for {self.target} of both tables' rows together.",
            *nothing_else_of_rows(peer, self.settings.max_rows),
            *leaf_rules.promises(self.settings, peer),
        ]

    @override
    def opened(self, state: State, step: int | None) -> dict[str, int]:
        """See `Learner.opened`: what the tree says, nothing else."""
        from protocols.openings import opened

        return opened(self.problem.domains, self.problem.classes, state, step)

    @override
    def run(self, engine: Engine, own: Any, start: State, on_step: OnStep) -> State:
        """See `Learner.run`; `own` is a `protocols.counts.Counts`."""
        from protocols import id3

        def tell(level: id3.Level) -> None:
            on_step(step(level.depth, level.nodes, level.tree))

        return id3.id3(engine, self.problem, own, tell, start)

    @override
    def with_result(self, state: State) -> Program:
        from protocols import cost_model

        return lambda engine: cost_model.with_tree(engine, self.problem, state)

    @override
    def at_most(self, splits: int | None = None) -> Program:
        from protocols import cost_model

        return lambda engine: cost_model.at_most(engine, self.problem, splits)

    @property
    @override
    def beginning(self) -> State:
        from protocols.tree import Open

        return Open()

    @override
    def steps(self, state: State) -> int:
        from protocols.tree import decided_levels

        return decided_levels(state)

    @override
    def is_done(self, state: State) -> bool:
        from protocols.tree import open_depth

        return open_depth(state) is None

    @override
    def cut(self, state: State, steps: int) -> State:
        from protocols.tree import cut

        return cut(state, min(steps, self.steps(state)))

    @override
    def encode(self, state: State) -> Any:
        from protocols.tree import encode

        return encode(state)

    @override
    def decode(self, value: Any) -> State:
        from protocols.tree import decode

        return decode(value)

    @override
    def tree_file(self, state: State) -> TreeFile:
        from parties.models.trees.tree import TreeFile

        tree = named(state, self.schema, self.target)
        return TreeFile(self.schema.digest(), self.target, self.settings.delta, tree)

    @override
    def state_of(self, found: TreeFile) -> State:
        self.check_fits(found)
        if found.noise is not None:
            raise InputError("the tree was made with noise: give epsilon")
        return indexed(found.tree, self.schema, self.target)
