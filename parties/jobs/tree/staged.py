"""Exact tree with further stages after its growth, in the same job: each stage is a step of its own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import override

from parties.jobs.kind import Counted, OnStep, State, States
from parties.jobs.tree.exact import ExactTree
from parties.jobs.tree.joint import Levels

if TYPE_CHECKING:
    from protocols.tree import Forest, Tree
    from smc.counting import CountingEngine, Program
    from smc.engines import Engine, Profile

LARGEST_PART = 1 << 13  # counts of one part in a forecast


@dataclass(frozen=True)
class Staged:
    """A tree; once it is grown, also the opened values of the stages after it."""

    tree: Tree
    after: tuple[Any, ...] = ()


class StagedTree(ExactTree):
    """Task that grows a tree by `protocols.id3`, and then runs stages on it."""

    key: ClassVar[str]  # the name of the stages in a stored state

    @abstractmethod
    def stages(self, tree: Tree) -> int:
        """Return the number of stages after a grown tree."""

    @abstractmethod
    def run_stages(self, engine: Engine, data: Any, state: Staged, on_step: OnStep) -> tuple[Any, ...]:
        """Run the stages that a state lacks, and return the values of all.

        Args:
            engine: Engine of the session.
            data: This party's data.
            state: The state, with the grown tree.
            on_step: Called before each stage.
        """

    def growing(self, data: Any) -> Any:
        """Return the part of the data with which the tree grows."""
        return data

    # Cost and execution.

    @property
    @abstractmethod
    def sizes(self) -> tuple[Sequence[int], Sequence[int]]:
        """Number of items that each stage handles: for a typical tree, and for the largest possible one."""

    @abstractmethod
    def count_stages(self, engine: CountingEngine, sizes: Sequence[int], largest: int = LARGEST_PART) -> None:
        """Count the cost of the stages on a counting engine.

        Args:
            engine: The counting engine.
            sizes: Number of items that each stage handles.
            largest: Largest number of counts that are simulated at once; a larger stage is counted in equal parts.
        """

    @override
    def typical_cost(self) -> Counted:
        from smc.counting import forecast

        tree, (typical, largest) = super().typical_cost(), self.sizes

        def program(engine: CountingEngine) -> None:
            tree.program(engine)
            self.count_stages(engine, typical)

        def most(profile: Profile) -> int | None:
            if (tree_bytes := tree.most(profile)) is None:
                return None
            return tree_bytes + forecast(lambda engine: self.count_stages(engine, largest), profile).bytes

        return replace(tree, program=program, most=most)

    @override
    def with_result(self, state: State) -> Program:
        tree = super().with_result(state.tree)

        def program(engine: CountingEngine) -> None:
            tree(engine)
            sizes = [len(values) for values in state.after]
            self.count_stages(engine, sizes, max(1, *sizes) * self.classes)

        return program

    @override
    def levels_of(self, state: State) -> Levels:
        return super().levels_of(state.tree)

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """Grow the tree unless `start` has it, then run the stages; return the tree with the values of the stages."""
        from protocols.tree import open_depth

        state = start
        if open_depth(state.tree) is not None:
            state = super().run(engine, self.growing(data), start.tree, on_step)
        return Staged(state.tree, self.run_stages(engine, data, state, on_step))

    @override
    def reached(self, trees: Forest) -> State:
        return Staged(super().reached(trees))

    # States.

    def encoded(self, after: tuple[Any, ...]) -> Any:
        """Return the values of the stages as JSON: a list for each stage."""
        return [list(values) for values in after]

    def decoded(self, value: Any) -> tuple[Any, ...]:
        """Return the values of the stages; the inverse of `encoded`."""
        return tuple(map(tuple, value))

    @property
    @override
    def states(self) -> States:
        """The states of the tree; the opened values of each stage are one step more."""
        trees = super().states

        def cut(state: Staged, steps: int) -> Staged:
            levels = trees.steps(state.tree)
            return Staged(trees.cut(state.tree, min(steps, levels)), state.after[: max(0, steps - levels)])

        def encode(state: Staged) -> Any:
            return {"tree": trees.encode(state.tree), self.key: self.encoded(state.after)}

        return States(
            beginning := Staged(trees.beginning),
            lambda state: trees.steps(state.tree) + len(state.after),
            lambda state: trees.is_done(state.tree) and len(state.after) == self.stages(state.tree),
            cut,
            lambda state: None if state == beginning else encode(state),
            lambda value: (
                beginning if value is None else Staged(trees.decode(value["tree"]), self.decoded(value[self.key]))
            ),
        )
