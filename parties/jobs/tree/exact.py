"""Exact decision tree, ID3-delta: opened without noise, because it consists of decisions only."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from typing_extensions import override

from parties.base.text import listed, quoted
from parties.jobs.kind import Bits, Counted, Disclosure, OnStep, State
from parties.jobs.tabular import StoppingKind
from parties.jobs.tree import apart, leaf_rules
from parties.jobs.tree.joint import JointTree, Levels
from parties.jobs.tree.settings import Id3Settings
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.models.trees.tree import TreeFile
    from protocols import id3
    from protocols.grower import Level
    from protocols.tree import Forest
    from smc.counting import Program
    from smc.engines import Engine, Profile

LARGEST_COUNTED = 500_000  # counts: a quarter of a minute for all profiles
MOST_WEIGHT = 1_000
# edges of a column that a node of a tree under rules compares; twice as many cost twice as much and gain little
EDGES = 3
LARGEST_BOUND = 50_000  # limit for the part from which the bound of the whole follows


class ExactTree(JointTree, StoppingKind):
    """Task of `protocols.id3`; the state is the unfinished tree."""

    enlarged, smaller = "the tree is", "ask for fewer --max-depth"

    specified: ClassVar[tuple[str, ...]] = (
        "tolerance",
        "criterion",
        "min_rows",
        "max_depth",
        "max_rows",
        "most_bytes",
        "splits",
        "prune",
        "weights",
        "plain",
        *leaf_rules.KEYS,
    )

    @override
    def completed(self) -> Any:
        """Return the settings with default splits, k and depth, which protect single persons unless `plain`."""
        from protocols.edges import compared
        from protocols.rules import NO_RULES, USUAL, usual_depth

        settings = self.settings
        if settings.splits is None:
            settings = settings.model_copy(update={"splits": "multiway" if settings.plain else "binary"})
        if settings.k is None:
            settings = settings.model_copy(update={"k": (NO_RULES if settings.plain else USUAL).k})
        self.settings = settings
        if settings.max_depth is None and not settings.plain:
            runs, domains = self.questions.runs, self.questions.domains
            counts = 0 if self.edges is None else sum(compared(runs, domains, self.edges)) * (self.classes + 1)
            depth = usual_depth(leaf_rules.rules_of(settings), domains, self.rows_each, counts)
            settings = settings.model_copy(update={"max_depth": min(depth, self.questions.deepest)})
        return settings

    @property
    def edges(self) -> int | None:
        """Largest number of a column's edges that a node compares; None for all edges, or no edges."""
        return EDGES if self.settings.splits == "binary" and not self.settings.plain else None

    @cached_property
    def problem(self) -> id3.Problem:
        """The protocol's public description of this task: domains, edges, classes, bounds and rules."""
        return self._problem()

    def _problem(self) -> id3.Problem:
        from protocols import id3

        return id3.Problem(
            domains=self.questions.domains,
            runs=self.questions.runs,
            edges=self.edges,
            classes=self.classes,
            max_rows=self.rows_each * max(self.weights),
            delta=self.settings.tolerance,
            min_rows=self.settings.min_rows,
            max_depth=self.settings.max_depth,
            rules=leaf_rules.rules_of(self.settings),
            criterion=self.settings.criterion,
            prune=None if self.settings.prune in ("off", "holdout") else self.settings.prune,
        )

    @property
    def single(self) -> id3.Problem:
        """Problem of one tree whose nodes choose from all attributes."""
        return self.problem

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """Weight of a row of each class. Raise InputError if a weight is invalid."""
        classes = self.schema.attributes[self.target]
        weights = dict.fromkeys(map(str, classes), 1)
        for text in self.settings.weights or ():
            label, _, times = text.rpartition(":")
            if label not in weights:
                raise InputError(f"weights: {quoted(text)} must be CLASS:TIMES, of {listed([*weights])}")
            if not (times.isascii() and times.isdigit() and 1 <= int(times[:5]) <= MOST_WEIGHT):
                raise InputError(f"weights: {quoted(text)} must count rows 1 to {MOST_WEIGHT:,} times")
            weights[label] = int(times)
        return tuple(weights.values())

    @override
    def by_questions(self, source: Any) -> Any:
        """Return the source of counts by a node's questions, with each row repeated by the weight of its class.

        With rules against the peer, the source also has the numbers by which k is decided on shares of holders.
        """
        from protocols.class_weights import Weighted
        from protocols.feasibility import Grouped

        counts, rows = super().by_questions(source), self.rows_each * self.problem.trees
        counts = counts if max(self.weights) == 1 else Weighted(counts, self.weights, rows)
        return Grouped(counts, self.problem.rules.k) if self._against_peer else counts

    @property
    def _against_peer(self) -> bool:
        """Whether rules hold against the peer: for the rows of a leaf that belong to one party."""
        return self.problem.rules.any and self.problem.rules.against == "peer"

    @override
    def check(self) -> None:
        """Raise InputError also if `max_rows` and the tolerance need numbers larger than a word."""
        self.check_noise()
        self.check_depth()
        self.problem.check()

    def check_noise(self) -> None:
        """Raise InputError for a setting that needs epsilon or prune holdout, or weights with support_epsilon."""
        defaults = Id3Settings()
        adjacency = () if "adjacency" in self.specified else ("adjacency",)
        for name in (*adjacency, "quality", "stop", "leaf_epsilon", "trees"):
            if getattr(self.settings, name) != getattr(defaults, name):
                raise InputError(f"{name} needs epsilon; give epsilon, or remove {name}")
        if self.settings.prune != "holdout" and self.settings.holdout != defaults.holdout:
            raise InputError("holdout: goes with prune holdout; give that too, or remove holdout")
        if max(self.weights) > 1 and self.settings.support_epsilon is not None:
            raise InputError(
                "weights: cannot be combined with support_epsilon, which counts single rows; remove one of them"
            )

    @property
    @override
    def disclosure(self) -> Disclosure:
        from protocols.openings import opened

        rules = " under rules for its leaves" if self.problem.rules.any else ""
        pruned = f", pruned while it grows ({self.settings.prune})" if self.problem.prune else ""
        tree = f"a decision tree that predicts {self.target} from the rows of both parties (ID3)"
        return Disclosure(
            lambda peer: [
                f"We and {peer} both learn the decision tree for {self.target} of both tables' rows together.",
                *self.nothing_else(peer),
                *([] if self.apart is None else apart.inferences(self.settings)),
                *leaf_rules.promises(self.settings, peer, self.on_shares),
            ],
            lambda state, step=None: opened(self.problem, (state,), step),
            Bits(lambda step: self.bits_of_nodes(step.size), self.bits_of_nodes(self._most_nodes)),
            question=tree + rules + pruned,
            subject=self.target,
        )

    def bits_of_nodes(self, nodes: int) -> int:
        """Return the bits of nodes: for each whether it is a leaf, its class, and the attribute that it asks."""
        from protocols.openings import index_width

        of_node = 1 + index_width(self.classes) + index_width(max(1, len(self.problem.compared)))
        return 0 if self.classes == 1 else nodes * of_node

    @cached_property
    def _most_nodes(self) -> int:
        from protocols import cost_model

        return self.problem.trees * cost_model.most_nodes(self.single)

    # Cost and execution.

    @property
    @override
    def without_holders(self) -> str | None:
        """Reason why further holders cannot give rows: l and t against the peer compare each party's own classes."""
        rules = self.problem.rules
        if rules.against == "peer" and (rules.diverse or rules.close):
            return "l and t against the peer need each party's own rows: give --against public, or k alone"
        return super().without_holders

    @property
    def scored(self) -> int:
        """Upper bound on the nodes that compute a score of every attribute, as a multiple of the split nodes.

        It is 1 if only split nodes compute scores. Leaves compute them too under rules on sums of both parties'
        rows, and under pruning.
        """
        rules = self.problem.rules
        computed = rules.against == "public" and (rules.close or rules.diversity == "entropy")
        computed |= self.problem.prune is not None
        return max(self.questions.domains, default=1) if computed else 1

    @override
    def typical_cost(self) -> Counted:
        """Return the cost of a typical tree, from measurements."""
        from protocols import cost_model

        splits = [str(number) for number in cost_model.typical_splits(self.problem) if number] or ["no"]
        counted = cost_model.counted_typically(self.problem, LARGEST_COUNTED // self.scored)
        return Counted(
            lambda engine: cost_model.typical(engine, self.problem, LARGEST_COUNTED // self.scored),
            "typical",
            f"a tree with {', '.join(splits[:12])}{' ...' if len(splits) > 12 else ''} splits on its levels",
            self._most,
            counted * self.scored <= LARGEST_COUNTED and self.classes <= 200,
            lambda: self.asked(self.typical_levels()),
        )

    @override
    def typical_levels(self) -> Levels:
        from protocols import cost_model

        return cost_model.typical_levels(self.problem)

    @override
    def levels_of(self, state: State) -> Levels:
        from protocols.openings import levels

        return [level.shape for level in levels(self.problem, state if self.votes else (state,))]

    @override
    def asked(self, levels: Levels) -> Sequence[int]:
        """Return how many numbers each question of a run with these levels asks a holder of rows.

        If rows are repeated, a holder also gives the counts of rows without repetition. For t it first gives the
        classes of all rows, unless the root's question asks for them alone.
        """
        problem = self.problem
        close = problem.rules.close and problem.counts_attributes(0, levels[0][2])
        times = 2 if problem.drawn is not None or max(self.weights) > 1 else 1
        sizes = [self.classes] * close + list(super().asked(levels))
        return [(times * self.classes + self._groups_asked) * size // self.classes for size in sizes]

    @property
    def _groups_asked(self) -> int:
        """How many numbers a holder gives for each group of rows, besides its count of each class."""
        return 2 * self._against_peer

    def _most(self, profile: Profile) -> int | None:
        """Return the largest number of bytes of any tree; None for shards, whose batches depend on the tree."""
        from protocols import cost_model

        if profile.shards > 1:
            return None
        largest = min(LARGEST_BOUND, LARGEST_COUNTED // (len(self.questions.domains) + 1)) // self.scored
        if cost_model.counted_cells(self.single, largest) * self.scored > LARGEST_COUNTED:
            return None
        return cost_model.most_bytes(self.single, profile, largest)

    @override
    def with_result(self, state: State) -> Program:
        from protocols import cost_model

        return lambda engine: cost_model.with_tree(engine, self.problem, state, self.sent_counts(engine))

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """Grow the tree or trees, and return them; `data` is a `protocols.counts.Counts`, or counts of all trees."""
        from protocols import id3
        from protocols.counts import Unpartitioned

        watched = self.stopping(engine, on_step)

        def on_level(level: Level) -> None:
            watched(self.step(level.depth, level.nodes, self.reached(level.trees)))

        counts, trees = (data, start) if self.votes else (Unpartitioned(data), (start,))
        return self.reached(id3.grown(engine, self.problem, counts, on_level, trees))

    def reached(self, trees: Forest) -> State:
        """Return the state with these trees, which may have open nodes."""
        return trees if self.votes else trees[0]

    @property
    @override
    def is_measured(self) -> bool:
        """False for a single tree that compares all edges of its columns."""
        return not self.problem.runs or self.problem.drawn is not None or self.edges is not None

    @override
    def allowing(self, most_bytes: int) -> ExactTree:
        return type(self)(self.allowed_settings(most_bytes), self.schema, self.target)

    # Results.

    @override
    def file_of(self, state: State) -> TreeFile:
        from parties.models.trees.tree import TreeFile

        first, *others = self.named(state)
        return TreeFile(self.schema.digest(), self.target, self.settings.tolerance, first, None, tuple(others))

    @override
    def state_of_trees(self, tree_file: TreeFile) -> State:
        if tree_file.noise is not None:
            raise InputError("the tree was made with noise; add epsilon")
        return self.indexed(tree_file)
