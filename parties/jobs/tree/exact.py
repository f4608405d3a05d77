"""The exact tree, ID3-delta: opened without noise, for it is made of decisions only."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from parties.jobs.inputs import Inputs
from parties.jobs.kind import OnStep, State
from parties.jobs.sentences import nothing_else_of_rows
from parties.jobs.tree import leaf_rules
from parties.jobs.tree.joint import JointTree
from parties.jobs.tree.result import indexed, named
from parties.jobs.tree.settings import Id3Settings
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.models.trees.tree import TreeFile
    from protocols import id3
    from smc.counting import Program
    from smc.engines import Engine, Profile

LARGEST_COUNTED = 500_000  # counts: a quarter of a minute for all profiles
LARGEST_BOUND = 50_000  # the same, of a part from which the bound of the whole follows


class ExactTree(JointTree):
    """`protocols.id3`; a state is the tree so far."""

    specified = ("tolerance", "min_rows", "max_depth", "max_rows", "plain", *leaf_rules.KEYS)

    @override
    def completed(self) -> Id3Settings:
        """See `JointTree.completed`: k and a depth that keep leaves from pointing at people, unless it is plain."""
        from protocols.rules import NO_RULES, USUAL, usual_depth

        settings = self.settings
        if settings.k is None:
            settings = settings.model_copy(update={"k": (NO_RULES if settings.plain else USUAL).k})
        if settings.max_depth is None and not settings.plain:
            depth = usual_depth(leaf_rules.rules_of(settings), self.domains, settings.max_rows)
            settings = settings.model_copy(update={"max_depth": depth})
        return settings

    @cached_property
    def problem(self) -> id3.Problem:
        """The protocol's view."""
        from protocols import id3

        return id3.Problem(
            domains=self.domains,
            classes=self.classes,
            max_rows=self.settings.max_rows,
            delta=self.settings.tolerance,
            min_rows=self.settings.min_rows,
            max_depth=self.settings.max_depth,
            rules=leaf_rules.rules_of(self.settings),
        )

    @override
    def check(self) -> None:
        """See `JointTree.check`: also if tolerance and bound do not fit the word size."""
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
    def opened(self, state: State, step: int | None = None) -> dict[str, int]:
        """See `Kind.opened`: what the tree says, nothing else."""
        from protocols.openings import opened

        return opened(self.problem.domains, self.problem.classes, state, step)

    # What it costs, and how it is run.

    @property
    def scored(self) -> int:
        """The number of nodes, at most, of which every attribute is scored for each node that is split.

        Rules that sum up both parties' rows do so for leaves too.
        """
        rules = self.problem.rules
        computed = rules.against == "public" and (rules.close or rules.diversity == "entropy")
        return max(self.domains, default=1) if computed else 1

    @override
    def program(self, inputs: Inputs) -> Program:
        """See `Kind.program`: for a typical tree."""
        from protocols import cost_model

        return lambda engine: cost_model.typical(engine, self.problem)

    @property
    @override
    def assumed(self) -> str:
        from protocols import cost_model

        splits = [str(number) for number in cost_model.typical_splits(self.problem) if number] or ["no"]
        return f"a tree of {', '.join(splits[:12])}{' ...' if len(splits) > 12 else ''} splits, level by level"

    @property
    @override
    def is_countable(self) -> bool:
        """See `Kind.is_countable`; by what was measured."""
        from protocols import cost_model

        return cost_model.typical_cells(self.problem) * self.scored <= LARGEST_COUNTED and self.classes <= 200

    @override
    def most(self, profile: Profile) -> int | None:
        """See `Kind.most`."""
        from protocols import cost_model

        largest = LARGEST_BOUND // self.scored
        if cost_model.counted_cells(self.problem, largest) * self.scored > LARGEST_COUNTED:
            return None
        return cost_model.most_bytes(self.problem, profile, largest)

    @override
    def with_result(self, state: State) -> Program:
        from protocols import cost_model

        return lambda engine: cost_model.with_tree(engine, self.problem, state)

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """See `Kind.run`; `data` is a `protocols.counts.Counts`."""
        from protocols import id3

        def on_level(level: id3.Level) -> None:
            on_step(self.step(level.depth, level.nodes, level.tree))

        return id3.id3(engine, self.problem, data, on_level, start)

    # Its states.

    @property
    @override
    def beginning(self) -> State:
        from protocols.tree import Open

        return Open()

    @override
    def steps(self, state: State) -> int:
        """See `Kind.steps`: decided levels."""
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
        return TreeFile(self.schema.digest(), self.target, self.settings.tolerance, tree)

    @override
    def state_of_trees(self, tree_file: TreeFile) -> State:
        if tree_file.noise is not None:
            raise InputError("the tree was made with noise: give epsilon")
        return indexed(tree_file.tree, self.schema, self.target)
