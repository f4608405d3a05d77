"""Learn boosted trees, or one regression tree."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from parties.base.text import quoted
from parties.jobs.boost import result
from parties.jobs.boost.columns import Features
from parties.jobs.boost.growing import Growing, Lines, OwnSums
from parties.jobs.boost.objectives import OBJECTIVES, Objective
from parties.jobs.boost.settings import DEFAULT_BITS, MOST_ROUNDS, BoostSettings
from parties.jobs.kind import (
    EXACT,
    Bits,
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
    changes,
    exact,
    nothing_else_of_rows,
    opened_steps,
    svg_file,
)
from parties.jobs.release import values
from parties.jobs.release.noise import Noise, gauss_of_uses
from parties.jobs.release.question import Part
from parties.jobs.release.settings import default_delta
from parties.jobs.settings import check_names
from parties.jobs.spending import Noised
from parties.jobs.tabular import BySchema
from parties.tables.schema import Schema
from parties.tables.types import NumberType, type_of
from protocols.arrays import Floats, Numbers
from protocols.boosting import FINE, Gains, best_splits, opened_bits
from protocols.release.promise import check_delta
from smc.errors import InputError

if TYPE_CHECKING:
    from protocols.counts import Rows
    from smc.counting.engines import CountingEngine
    from smc.engines import Engine
    from smc.primitives.bits import BitMatrix

NOISY_POINT = 10  # bits behind the point of sums that are opened with noise
COUNTABLE = 1 << 18  # maximum candidates: counting their comparison takes a few seconds
MOST_CLASSES = 64
LEAVES = {True: "exact number", False: "number with noise"}


class Boost(Noised, BySchema):
    """Learn boosted trees, or one regression tree, from the rows of both parties.

    Both parties learn the best splits, but not their gain. The weights of the leaves have noise (--epsilon), or are
    exact (--exact).
    """

    name = "boost"
    about = Description(
        "Boosted trees",
        "model",
        example="--target outcome --epsilon 1 --out model.json",
        afterwards="smc predict --model model.json --data rows.csv predicts by it, on this machine alone.",
        integers=True,
        phases=True,
    )
    Settings = BoostSettings
    settings: BoostSettings
    streamed = takes_holders = True

    # Making a task.

    @classmethod
    @override
    def canonical(cls, settings: Any, schema: Schema) -> Boost:
        if settings.exact == (settings.epsilon is not None):
            raise InputError(
                "epsilon: is missing: the leaves' weights are numbers: give a privacy loss, 1 for example, or exact"
                if not settings.exact
                else "exact: excludes epsilon, because there is no noise; remove one of them"
            )
        target = schema.choose_target(settings.target)
        known = schema.features(target)
        check_names("columns", settings.columns or (), known)
        names = known if settings.columns is None else tuple(name for name in known if name in settings.columns)
        if not names:
            raise InputError("columns: name at least one besides the target")
        check_names("numeric", settings.numeric or (), [*names, target])
        numeric = {*(settings.numeric or ()), *(name for name in (*names, target) if _is_plain(schema, name))}
        if settings.objective == "squared" and isinstance(type_of(schema.attributes[target]), NumberType):
            numeric.add(target)  # each number is a value, whatever its edges
        schema = schema.numeric(sorted(numeric))
        used = Schema(schema.only([*names, target]).attributes)
        more: dict[str, Any] = {
            "target": target,
            "columns": names,
            "numeric": tuple(name for name in (*names, target) if name in numeric) or None,
            "objective": _objective(settings.objective, used, target, target in numeric),
        }
        if settings.exact and settings.delta is not None:
            raise InputError("exact: excludes delta, because there is no noise; remove one of them")
        if not settings.exact:
            more["delta"] = settings.delta or default_delta(settings.max_rows)
            check_delta(more["delta"], 2 * settings.max_rows)
        task = cls(settings.model_copy(update=more), used)
        rounds = settings.rounds or task.rounds_that_fit
        rate = settings.rate or round(min(max(0.3, 10 / rounds), 1.0), 2)
        task = cls(task.settings.model_copy(update={"rounds": rounds, "rate": rate}), used)
        _ = task.features, task.gains, task.scaled
        return task

    @override
    def notes(self, settings: Any, source: Any) -> list[str]:
        rounds = [f"{self.rounds} rounds: {self.bits_of_splits}; --rounds sets another number"]
        exact = [f"exact, without noise, {self.most_bits:,} bits at most: {EXACT}"] if self.exact else []
        return [*(rounds if settings.rounds is None else []), *(exact or super().notes(settings, source))]

    @property
    @override
    def number_columns(self) -> tuple[str, ...]:
        return tuple(self.settings.numeric or ())

    @property
    @override
    def columns(self) -> tuple[str, ...]:
        return (*(self.settings.columns or ()), self.target)

    @property
    def target(self) -> str:
        """Target column: classes or numbers."""
        assert self.settings.target is not None
        return self.settings.target

    @property
    def classes(self) -> tuple[str, ...]:
        """Classes of the target; empty for a target of numbers."""
        return () if self.settings.objective == "squared" else self.schema.attributes[self.target]

    @cached_property
    def features(self) -> Features:
        """Columns to predict from, with the splits that a node can have."""
        names = self.settings.columns or ()
        return Features.of(self.schema, names, [n for n in self.number_columns if n in names], self.settings.bins)

    @cached_property
    def gains(self) -> Gains:
        """Public parameters for the comparison of splits by their gains."""
        settings = self.settings
        return Gains(settings.max_rows, settings.regularisation, settings.min_child_weight, settings.gamma)

    @property
    def objective(self) -> Objective:
        """Loss function that the trees minimise."""
        return OBJECTIVES[self.settings.objective]

    @property
    def rounds(self) -> int:
        """Number of boosting rounds."""
        assert self.settings.rounds is not None
        return self.settings.rounds

    @property
    @override
    def passes(self) -> int:
        return self.rounds * (self.settings.depth + 1)

    @property
    def rounds_that_fit(self) -> int:
        """Default number of rounds: as many as the default limit on opened bits allows."""
        return max(1, min(MOST_ROUNDS, DEFAULT_BITS // (self.trees * self._splits_of_a_tree * self._bits_of_a_node)))

    @property
    def bits_of_splits(self) -> str:
        """Phrase with the maximum bits that all splits open, and whether this limit sets the number of rounds."""
        opened = self.rounds * self.trees * self._splits_of_a_tree * self._bits_of_a_node
        fits = self.rounds == self.rounds_that_fit < MOST_ROUNDS and opened <= DEFAULT_BITS
        why = f", as many as fit in {DEFAULT_BITS:,}" if fits else ""
        return f"their splits open {opened:,} bits at most{why}"

    @property
    def trees(self) -> int:
        """Number of trees in a round."""
        return len(self.classes) if self.settings.objective == "softmax" else 1

    @cached_property
    def scaled(self) -> tuple[Fraction, Fraction]:
        """Middle and span of a target of numbers; 0 and 1 for classes."""
        if self.classes:
            return Fraction(0), Fraction(1)
        known = values.read(self.target, self.schema.attributes[self.target], "a number", "target")
        return known.middle, (known.greatest - known.least) or Fraction(1)

    # Noise on the leaves.

    @cached_property
    def noise(self) -> Noise | None:
        """Noise on both sums of each leaf, in units of 2^-NOISY_POINT; None if the sums are exact.

        In each round a row is in one leaf of each tree. It changes the sums there by at most sqrt(bound) in the
        Euclidean norm, where the objective gives the bound. Rounding adds one unit to each sum. A replaced row doubles
        the change.
        """
        settings = self.settings
        if settings.exact:
            return None
        assert settings.delta is not None
        squared = self.objective.squared(self.trees) * settings.together**2 * (1 << 2 * NOISY_POINT)
        moved = math.isqrt(math.ceil(squared)) + 1 + math.isqrt(2 * self.trees * settings.together) + 1
        change = (moved * (1 + self.replaced)) ** 2
        return gauss_of_uses(self.epsilon, exact(settings.delta), self.rounds, change, settings.adjacency)

    @property
    def point(self) -> int:
        """Number of fractional bits in the opened sums of leaves."""
        return FINE if self.noise is None else NOISY_POINT

    @cached_property
    def leaves(self) -> Part:
        """The opened numbers of all leaves of all rounds: two sums of each, with their noise."""
        numbers = self.rounds * self.trees << (self.settings.depth + 1)
        return Part(numbers, (self.settings.max_rows << self.point) + 1, True, self.noise)

    def weigh(self, sums: Numbers) -> Floats:
        """Return the weights of leaves from their opened sums: -rate G / (H + lambda).

        G and H are a leaf's sums of slopes and of curvatures: its row of `sums`, int64[leaves, 2] in units of
        2^-`point`. With noise, an H below `min_child_weight` is raised to it, and weights are clipped to public bounds.
        """
        slopes, curvatures = sums.T / (1 << self.point)
        if self.noise is not None:
            curvatures = np.maximum(curvatures, self.settings.min_child_weight)
        best = -slopes / np.maximum(curvatures + self.settings.regularisation, 2.0**-FINE)
        best = best if self.noise is None else np.clip(best, -self.objective.most, self.objective.most)
        assert self.settings.rate is not None
        weights: Floats = self.settings.rate * best
        return weights

    # Disclosure.

    @property
    def exact(self) -> bool:
        """True if the sums of leaves are opened without noise."""
        return self.settings.exact

    @property
    @override
    def disclosure(self) -> Disclosure:
        trees = "a tree" if self.rounds == 1 else f"{self.rounds} boosted trees"
        return Disclosure(
            self._reveals,
            self._opened,
            Bits(self._bits_of_step, self.most_bits, self.most_bits),  # a part of a run is worthless
            () if self.noise is None else (self.noise.loss,),
            opens_exact_too=True,  # the best splits have no noise
            exact=EXACT if self.exact else "",
            question=f"{trees} for {self.target} from the rows of both parties",
            subject=self.target,
        )

    def _reveals(self, peer: str) -> list[str]:
        settings = self.settings
        many = self.rounds * self.trees
        trees = f"{many} trees" if many > 1 else "a tree"
        if settings.exact:
            leaves = f"And for every leaf the sums that its weight is made of, exactly: {EXACT}."
        else:
            factor = f"e^{settings.epsilon:g}, but for a chance of {settings.delta:g}"
            leaves = (
                "And for every leaf the sums that its weight is made of, with noise that neither knows. "
                f"{changes(self.at_most, settings.adjacency == 'replace', 'these sums are', factor)}; "
                "the opened splits have no noise."
            )
        return [
            f"We and {peer} both learn {trees} for {self.target} of both tables' rows together: at each node which "
            "split is best, or that none is.",
            leaves,
            *self.rounded,
            f"{self.rounds} {'round' if self.rounds == 1 else 'rounds'}: {self.bits_of_splits}.",
            *nothing_else_of_rows(peer, settings.max_rows),
        ]

    def _opened(self, state: State, step: int | None = None) -> dict[str, int]:
        counts = {"best split": 0, LEAVES[self.exact]: 0}
        growing = self._growing
        for number, opened in enumerate(state):
            if step in (None, number):
                counts["best split" if growing.splitting else LEAVES[self.exact]] += len(opened)
            growing.step(opened)
        return counts

    def _bits_of_step(self, step: Step) -> int:
        """Return the bits of the best split of each open node, and of two sums of each leaf if they are exact."""
        growing = self._grown(step.state or ())
        if growing.splitting:
            return growing.open_nodes * self._bits_of_a_node
        return 2 * growing.leaves * self.leaves.opened_width if self.exact else 0

    @property
    def _bits_of_a_node(self) -> int:
        return 1 + (len(self.features.candidates) - 1).bit_length()

    @property
    def _splits_of_a_tree(self) -> int:
        return (1 << self.settings.depth) - 1

    @property
    def _bits_of_a_tree(self) -> int:
        leaves = 2 * (self._splits_of_a_tree + 1) * self.leaves.opened_width if self.exact else 0
        return self._splits_of_a_tree * self._bits_of_a_node + leaves

    @property
    def most_bits(self) -> int:
        """The maximum number of bits of exact answers of a run."""
        return self.rounds * self.trees * self._bits_of_a_tree

    # Cost.

    @override
    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        def program(engine: CountingEngine) -> None:
            engine.answers = self._answers()
            self.run(engine, self.of_nobody(), (), lambda step: None)

        nodes = self.rounds * self.trees << self.settings.depth
        is_countable = nodes * len(self.features.candidates) <= COUNTABLE * 64
        return Counted(
            program, "at most", "trees whose nodes are all split", is_countable=is_countable, asked=self._asked
        )

    def _asked(self) -> list[int]:
        """Return for each step how many own sums a holder gives, in a run in which every node is split."""
        candidates, trees, depth = len(self.features.candidates), self.trees, self.settings.depth
        levels = [2 * (trees << level) * (1 + candidates) for level in range(depth)]
        return [*levels, 2 * trees << depth] * self.rounds

    def _answers(self) -> Iterator[list[BitMatrix]]:
        """Yield the openings of a run in which every node is split by its first candidate."""
        growing = self._growing
        while len(growing.rounds) < self.rounds:
            if growing.splitting:
                nodes = growing.open_nodes
                yield [opened_bits(np.zeros(nodes, dtype=np.int64), len(self.features.candidates))]
                growing.step([0] * nodes)
                continue
            leaves = growing.leaves
            yield [np.zeros((self.leaves.opened_width, 2 * leaves), dtype=np.uint8)]
            growing.step([0] * (2 * leaves))

    # Run.

    @override
    def own_rows(self, source: Rows) -> OwnSums:
        rounded = self.gains.rounded, self._rounded_leaves
        return OwnSums(lambda: self._growing, self.objective, lambda: self._pieces(source), rounded)

    def _rounded_leaves(self, sums: Numbers) -> Numbers:
        shift = FINE - self.point
        return sums if not shift else (sums + (1 << (shift - 1))) >> shift

    def _pieces(self, source: Rows) -> Iterator[Lines]:
        """Yield this party's rows whose target is not missing, as bins, scaled targets and frequencies."""
        order, features = [*self.schema.features(self.target), self.target], self.features
        places = [order.index(column.name) for column in features.columns]
        domain, middle_and_span = self.schema.attributes[self.target], self.scaled
        targets, is_row = np.arange(len(domain), dtype=np.float64), np.ones(len(domain), dtype=bool)
        if not self.classes:
            numbers = values.read(self.target, domain, "a number", "target").numbers
            middle, span = middle_and_span
            is_row = np.array([number is not None for number in numbers])
            targets = np.array([0.0 if number is None else float((number - middle) / span) for number in numbers])
        for lines in source.batches():
            lines = lines if is_row.all() else lines[is_row[lines[:, -2]]]
            yield features.codes([lines[:, place] for place in places]), targets[lines[:, -2]], lines[:, -1]

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        """Run the rounds; `data` are own sums."""
        growing, state, session = self._grown(start), tuple(start), engine.session
        while len(growing.rounds) < self.rounds:
            number = len(growing.rounds)
            words = f"round {number + 1} of {self.rounds}, "
            words += f"level {growing.level + 1}" if growing.splitting else "leaves"
            size = growing.open_nodes if growing.splitting else growing.leaves
            on_step(Step(len(state), size, state, words))
            with session.phase("splits" if growing.splitting else "leaves"):
                sums = data.sums([*state])
                opened = self._level(engine, sums, size) if growing.splitting else self.leaves.opened(engine, sums)
            growing.step(opened)
            state = (*state, tuple(opened))
        return state

    def _level(self, engine: Engine, sums: Numbers, nodes: int) -> list[int]:
        of_nodes, left = sums[: 2 * nodes].reshape(nodes, 2), sums[2 * nodes :].reshape(nodes, -1, 2)
        chosen = best_splits(engine, self.gains, of_nodes[:, 0], of_nodes[:, 1], left[..., 0], left[..., 1])
        return [int(candidate) for candidate in chosen]

    @property
    def _growing(self) -> Growing:
        return Growing(self.features, self.trees, self.settings.depth, self.weigh)

    def _grown(self, state: State) -> Growing:
        growing = self._growing
        for opened in state:
            growing.step(opened)
        return growing

    # Checkpoints: the opened values, step by step.

    @property
    @override
    def states(self) -> States:
        return opened_steps(lambda state: len(self._grown(state).rounds) == self.rounds)

    # Result.

    @override
    def document(self, state: State) -> Document:
        settings = self.settings
        about: Document = {"model": "boosted trees", "objective": settings.objective}
        about |= {"rounds": self.rounds, "depth": settings.depth, "rate": settings.rate}
        about |= {"lambda": settings.regularisation, "gamma": settings.gamma}
        about["min_child_weight"] = settings.min_child_weight
        if self.noise is None:
            about["exact"] = True
        else:
            about |= {"epsilon": settings.epsilon, "delta": settings.delta, "adjacency": settings.adjacency}
            about |= self.noise.fields(Fraction(1, 1 << self.point))
        about |= {} if self.at_most is None else {"at_most": self.at_most}
        about |= {"rounded": self.rounded} if self.rounded else {}
        about |= {"schema_digest": self.schema.digest(), "target": self.target, **self.split_fields}
        rounds = [[tree.root for tree in trees] for trees in self._grown(state).rounds]
        middle, span = map(float, self.scaled)
        if self.classes:
            about["classes"] = list(self.classes)
        else:
            about |= {"least": middle - span / 2, "greatest": middle + span / 2}
        return about | result.fields(self.features, rounds, middle, span)

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        return result.text(document)

    @classmethod
    @override
    def files(cls) -> tuple[File, ...]:
        from parties.models.boosted import xgboost_text

        drawn = svg_file(cls.about.noun, result.picture)  # which columns the trees ask
        return (*super().files(), drawn, File("xgboost.json", "application/json", xgboost_text, "xgboost"))


def _is_plain(schema: Schema, name: str) -> bool:
    """Return True if the schema types the column as numbers and each number is a category."""
    kind = type_of(schema.attributes.get(name, ()))
    return isinstance(kind, NumberType) and kind.edges is None and kind.width is None


def _objective(wanted: str, schema: Schema, target: str, is_number: bool) -> str:
    """Return the objective of the settings.

    Raises:
        InputError: The target does not suit the objective.
    """
    classes = len(schema.attributes[target])
    if wanted == "auto":
        wanted = "squared" if is_number else "logistic" if classes == 2 else "softmax"
    if wanted == "squared":
        if not is_number:
            raise InputError(
                f"target: {quoted(target)} is not a column of numbers; if its values are numbers, name it in numeric"
            )
    elif classes < 2 or (wanted == "logistic" and classes != 2) or classes > MOST_CLASSES:
        most = "two" if wanted == "logistic" else f"2 to {MOST_CLASSES}"
        has = "class" if classes == 1 else "classes"
        raise InputError(f"target: {quoted(target)} has {classes} {has}; {wanted} is for {most}")
    return wanted
