"""How a decision tree is learnt: all that the kind `id3` asks of the protocol that finds it, whichever that is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from parties.jobs.kind import OnStep, Spending, State, Step
from parties.jobs.tree.settings import Id3Settings
from parties.tables.schema import Schema
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.models.trees.tree import TreeFile
    from protocols.counts import Rows
    from smc.counting import Program
    from smc.engines import Engine

LARGEST_COUNTED = 500_000  # counts: a quarter of a minute for all profiles
TYPICAL_SPLITS = 16  # a level, of the tree that stands for the unknown one when costs are counted ahead


def step(depth: int, nodes: int, state: State) -> Step:
    """Return the step that decides so many nodes at this depth."""
    return Step(depth, nodes, state, f"level {depth} with {nodes:,} {'node' if nodes == 1 else 'nodes'}")


class Learner(ABC):
    """A protocol for a tree that predicts `target`, with the settings that it has."""

    specified: ClassVar[tuple[str, ...]]  # its parameters in a specification, beside the schema and the profile

    def __init__(self, settings: Id3Settings, schema: Schema, target: str) -> None:
        self.settings, self.schema, self.target = settings, schema, target

    @property
    def domains(self) -> tuple[int, ...]:
        """The number of values of each attribute to predict from."""
        return tuple(len(self.schema.attributes[name]) for name in self.schema.features(self.target))

    @property
    def classes(self) -> int:
        """The number of classes."""
        return len(self.schema.attributes[self.target])

    @property
    def levels(self) -> int:
        """The most questions that the tree can ask one after the other."""
        depth = self.settings.max_depth
        return len(self.domains) if depth is None else min(depth, len(self.domains))

    @classmethod
    @abstractmethod
    def completed(cls, settings: Id3Settings, schema: Schema, target: str) -> Id3Settings:
        """Return the settings with what was left open chosen, from public numbers only."""

    @property
    @abstractmethod
    def bounded(self) -> bool:
        """True if the rows bound how many nodes are split, to so few that the largest tree can be counted."""

    @property
    def scored(self) -> int:
        """For how many nodes at most every attribute is scored, for each that is split."""
        return 1

    @abstractmethod
    def check(self) -> None:
        """`InputError` if the settings cannot be met: rather before the run than in the middle of it."""

    def check_depth(self) -> None:
        """`InputError` for a tree that could be written but not be read back."""
        from parties.models.trees.tree import MAX_DEPTH

        depth = len(self.domains) if self.settings.max_depth is None else self.settings.max_depth
        if depth > MAX_DEPTH:
            raise InputError(f"the tree could have {depth} levels: give --max-depth N with at most {MAX_DEPTH}")

    def check_fits(self, found: TreeFile) -> None:
        """`InputError` for a tree of another schema or target."""
        if (found.schema_digest, found.target) != (self.schema.digest(), self.target):
            raise InputError(f"the tree is for another schema or target than this one with target {self.target}")

    # What is said of it.

    @property
    @abstractmethod
    def question(self) -> str:
        """What is asked, a phrase."""

    @abstractmethod
    def reveals(self, peer: str) -> list[str]:
        """See `Kind.reveals`."""

    @abstractmethod
    def opened(self, state: State, step: int | None) -> dict[str, int]:
        """See `Kind.opened`."""

    @property
    def spends(self) -> tuple[Spending, ...]:
        """See `Kind.spends`."""
        return ()

    # How it is run, and what that costs.

    def own(self, rows: Rows, secret: bytes) -> Any:
        """Return what `run` takes of this party; `secret` is the key of its random choices."""
        del secret
        return rows

    @abstractmethod
    def run(self, engine: Engine, own: Any, start: State, on_step: OnStep) -> State:
        """See `Kind.run`."""

    @abstractmethod
    def with_result(self, state: State) -> Program:
        """Return the conversation that ends in this state."""

    @abstractmethod
    def at_most(self, splits: int | None = None) -> Program:
        """Return a conversation that none exceeds; with `splits`, none with at most so many splits a level."""

    # Its states: see `Kind`.

    @property
    @abstractmethod
    def beginning(self) -> State:
        """Before anything is decided."""

    @abstractmethod
    def steps(self, state: State) -> int:
        """Decided levels."""

    @abstractmethod
    def is_done(self, state: State) -> bool:
        """Return whether nothing is left to decide."""

    @abstractmethod
    def cut(self, state: State, steps: int) -> State:
        """Return the state as it was when so many levels were decided."""

    @abstractmethod
    def encode(self, state: State) -> Any:
        """Return the state as JSON."""

    @abstractmethod
    def decode(self, value: Any) -> State:
        """Return the inverse of `encode`."""

    # What it brings.

    @abstractmethod
    def tree_file(self, state: State) -> TreeFile:
        """Return the result, with the schema's names and what it is the answer to."""

    @abstractmethod
    def state_of(self, found: TreeFile) -> State:
        """Return the inverse. `InputError` if it is the answer to something else."""
