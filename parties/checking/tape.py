"""Record of a job's noisy openings: its own protocol on the clear engine, each noisy opening recorded and replayed.

A run on one table is recorded as a list of uses: exact numbers or scores, and the law of the noise that hides them. A
run on a neighbouring table is then *played along*: it gets the same openings, so both runs take the same path, and each
pair of uses gives the loss of its opening (`parties.checking.contract`). Noise drawn anywhere else is an error, so no
kind of job has unchecked noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, TypeAlias
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from parties.jobs.kinds import boost
from protocols.arrays import Floats, Numbers
from protocols.boosting import Gains
from protocols.publish import small_cells
from protocols.release import (
    aim,
    choice,
    clusters,
    descent,
    exact,
    frequent_sets,
    leaf_counts,
    median,
    mst,
    numbers,
    selection,
    top,
    tree,
    triangles,
)
from protocols.release.exponential import Powers
from protocols.release.ladder import Ladder
from protocols.release.laws import Law
from protocols.release.tree_problem import Problem
from smc.engines import Bits
from smc.engines.circuit_words import CircuitWords
from smc.engines.clear import ClearEngine
from smc.primitives import bits as bitpack
from smc.primitives.bits import BitMatrix
from smc.session import Session

What: TypeAlias = Literal["numbers", "choice", "top", "place", "powers", "ladder"]
FAR = 3.0  # an invented opening is off by at most 10^FAR scales of the noise


@dataclass(frozen=True)
class Use:
    """One opening with noise: `values` are exact numbers, or the scores of candidates.

    `law` is the law of the noise on each. `first` is the number of opened candidates of a "top" list. `taken` is the
    chosen candidate of a "place", whose noise is drawn once for all positions of a run.
    """

    what: What
    values: Any
    law: Any
    first: int = 1
    taken: int = 0


@dataclass
class Tape:
    """Openings of a run: recorded, or replayed from an earlier run of the same party.

    A recorded run opens exact numbers. With `far` it opens random candidates, and numbers that are off by 1 to 1000
    scales of the noise, all to the side `sign`, so that their consequences are extreme.
    """

    played: Tape | None = None
    far: np.random.Generator | None = None
    sign: int = 1
    uses: list[Use] = field(default_factory=list)
    openings: list[Any] = field(default_factory=list)
    place_law: Any = None  # law of the noise drawn for positions
    aside: bool = False  # whether the engine opens values for this tape, not for the job

    def opening(self, value: Any) -> Any:
        """Return the value that the job sees for an opening: the earlier run's value, if there is one."""
        if self.played is not None:
            value = self.played.openings[len(self.openings)]
        self.openings.append(value)
        return value

    def numbers(self, values: NDArray[Any], law: Law, least: float = -np.inf) -> Any:
        """Record numbers with noise, and return the opened values, int64 in their shape.

        Args:
            values: Exact numbers.
            law: Law of the noise.
            least: Lower bound of the invented noise.
        """
        self.uses.append(Use("numbers", values, law))
        if self.far is not None:
            off = self.sign * 10 ** self.far.uniform(0, FAR, values.shape) * spread(law)
            values = values + np.rint(np.maximum(off, least)).astype(np.int64)
        return self.opening(values)

    def choice(self, scores: NDArray[Any], law: Any, what: What = "choice", first: int = 1) -> Any:
        """Record a choice by noisy scores, and return the first candidates in their order, int64[first].

        Args:
            scores: Scores without noise.
            law: Law of the noise.
            what: Mechanism of the choice, for the record.
            first: Number of opened candidates.
        """
        order = np.argsort(-scores, kind="stable") if self.far is None else self.far.permutation(len(scores))
        candidates = self.opening(order[:first].astype(np.int64))
        self.uses.append(Use(what, scores, law, first, int(candidates[0])))
        return candidates


class TapedEngine(ClearEngine):
    """The clear engine, whose noisy openings a `Tape` records or replays."""

    def __init__(self, session: Session, tape: Tape) -> None:
        super().__init__(session)
        self.tape, self.form, self.words = tape, "size", CircuitWords(self)

    @override
    def reveal(self, *secrets: Bits) -> list[BitMatrix]:
        bits = super().reveal(*secrets)
        if self.tape.aside:
            return bits
        opened: list[BitMatrix] = self.tape.opening(bits)
        return opened

    @override
    def random(self, width: int, batch: int) -> Bits:
        if width and not self.tape.aside:
            raise AssertionError("noise is drawn in a way that the contract of kinds does not know")
        return super().random(width, batch)

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Open values for the tape that the job does not open."""
        self.tape.aside = True
        try:
            yield
        finally:
            self.tape.aside = False

    def integers(self, secrets: Bits, signed: bool = False) -> Numbers:
        """Return the integers that some secret bits encode.

        Args:
            secrets: Secret bits.
            signed: Whether they are in two's complement.
        """
        with self.looking():
            (opened,) = self.reveal(secrets)
        return np.array(bitpack.to_integers(opened, signed=signed), dtype=np.int64)

    def sums(self, values: NDArray[Any], width: int, signed: bool = False) -> Numbers:
        """Return the sums of both parties' numbers, in their shape.

        Args:
            values: This party's numbers.
            width: Bits of each number.
            signed: Whether numbers may be negative.
        """
        with self.looking():
            sums = exact.exact_sums(self, values.reshape(-1), width, signed)
        return np.asarray(sums, dtype=np.int64).reshape(values.shape)

    def secret(self, values: Sequence[int] | Numbers, width: int) -> Bits:
        """Return integers as secret bits. They are not recorded as public constants: no party would know them.

        Args:
            values: The integers; negative ones in two's complement.
            width: Bits of each integer.
        """
        whole = [int(value) % (1 << width) for value in values]
        return self._constant(bitpack.from_integers(np.array(whole, dtype=np.uint64), width))


def spread(law: Any) -> float:
    """Return the scale of a noise distribution: of a Gaussian its standard deviation, else that of Laplace noise."""
    return float(law.scale) if hasattr(law, "scale") else math.sqrt(variance(law))


@lru_cache(maxsize=256)
def variance(law: Any) -> float:
    """Return sigma^2 of Gaussian noise from the law: by the decay of a table's weights, or as a sum of two laws.

    The weight of k and -k together is 2 e^(-k^2 / (2 sigma^2)) times that of 0; k is near sigma.
    """
    if hasattr(law, "fine"):
        return variance(law.fine) + 4.0**law.shift * variance(law.coarse)
    weights = np.array([float(weight) for weight in law.weights])
    k = max(1, round(math.sqrt(weights @ np.arange(len(weights)) ** 2.0 / weights.sum())))
    return k**2 / (2 * math.log(2 * weights[0] / weights[k]))


# Replacements for each way to open a value with noise.


def _noisy_sums(engine: TapedEngine, values: NDArray[Any], width: int, law: Law, signed: bool = False) -> Any:
    return engine.tape.numbers(engine.sums(values, width, signed), law)


def _noisy_choice(engine: TapedEngine, values: NDArray[Any], width: int, law: Law) -> Any:
    return _best(engine, engine.sums(values, width), law)


def _noisy_median(engine: TapedEngine, below: NDArray[Any], above: NDArray[Any], width: int, law: Law) -> Any:
    return _best(engine, -np.maximum(engine.sums(below, width), engine.sums(above, width)), law)


def _best(engine: TapedEngine, scores: Numbers, law: Law) -> Numbers:
    """Return the chosen candidate of each instance, from scores int64[candidates, batch]; a sole one is not opened."""
    if len(scores) == 1:
        return np.zeros(scores.shape[1], dtype=np.int64)
    return np.array([engine.tape.choice(column, law)[0] for column in scores.T], dtype=np.int64)


def _noisy_top(engine: TapedEngine, counts: NDArray[Any], most: int, width: int, law: Law) -> Any:
    scores = engine.sums(counts, width)
    if len(scores) == 1:
        return np.zeros((1, scores.shape[1]), dtype=np.int64)
    return np.array([engine.tape.choice(column, law, "top", most) for column in scores.T]).T


def _noisy_scores(engine: TapedEngine, values: NDArray[Any], width: int, law: Law) -> Bits:
    engine.tape.place_law = law
    return engine.secret(engine.sums(values, width), numbers.sum_width(width, law))


def _with_ties(_: TapedEngine, scores: Bits) -> Bits:
    """Return the scores unchanged: the random order of ties, which this replaces, costs no privacy."""
    return scores


def _greatest(engine: TapedEngine, scores: Bits) -> int:
    if scores.batch == 1:
        return 0
    law = engine.tape.place_law
    return int(engine.tape.choice(engine.integers(scores), law, "place")[0])


def _choices(engine: TapedEngine, problem: Problem, lefts: Sequence[tuple[int, ...]], counts: Any) -> Any:
    most = max(map(len, lefts))
    choices = []
    for node, left in enumerate(lefts):
        tables = list(tree._tables(problem, counts, left, node))
        with engine.looking():
            scores = problem.measure.scores(engine, tables)
        values = engine.integers(scores, problem.measure.signed)
        (index,) = engine.tape.choice(values, problem.attribute_law(most))
        choices.append(most if index == len(left) else index)
    return np.array(choices, dtype=np.int64)


def _labels(engine: TapedEngine, problem: Problem, counts: Any) -> Any:
    if not len(counts):
        return np.zeros(0, dtype=np.int64)
    return _best(engine, engine.sums(counts.T, problem.count_width), problem.class_law())


def _opened(engine: TapedEngine, secret: Bits, law: Law, times: int) -> int:
    (number,) = engine.tape.numbers(engine.integers(secret) // times, law, least=0.0)
    return int(number) * times


def _with_ladder(engine: TapedEngine, law: Ladder, most_common: Bits, thrice: Bits) -> Bits:
    common, triangles_of = engine.integers(most_common), engine.integers(thrice) // 3
    engine.tape.uses.append(Use("ladder", (int(common[0]), int(triangles_of[0])), law))
    return engine.secret(3 * triangles_of, thrice.width + 1)


def _opened_with_noise(engine: TapedEngine, secrets: Bits, law: Law) -> Any:
    return engine.tape.numbers(engine.integers(secrets), law)


def _chosen(engine: TapedEngine, parts: Bits, law: Powers) -> int:
    if parts.batch == 1:
        return 0
    bits = law.precision + 1
    mantissas, exponents = engine.integers(parts[:bits]), engine.integers(parts[slice(bits, None)])
    weights: Floats = np.log(mantissas) + exponents * math.log(2)
    return int(engine.tape.choice(weights, law, "powers")[0])


def _noisy_cells(
    engine: TapedEngine, values: NDArray[Any], width: int, law: Law, threshold: int, rows: tuple[int, Law] | None
) -> Any:
    noisy = engine.tape.numbers(engine.sums(values[1], width), law)
    row_counts = noisy if rows is None else engine.tape.numbers(engine.sums(values[0], rows[0]), rows[1])
    return row_counts < threshold, noisy[row_counts >= threshold]


def _best_splits(engine: TapedEngine, gains: Gains, slopes: Numbers, *sums: Numbers) -> Numbers:
    """Return invented splits: splits are chosen without noise, so they do not change the privacy loss."""
    candidates, far = sums[-1].shape[1], engine.tape.far
    made_up = np.zeros(len(slopes), dtype=np.int64) if far is None else far.integers(-1, candidates, len(slopes))
    return np.asarray(engine.tape.opening(made_up))


TAKEN_OVER: tuple[tuple[Any, str, Callable[..., Any]], ...] = (
    *((module, "noisy_sums", _noisy_sums) for module in (numbers, clusters, descent, frequent_sets, leaf_counts)),
    (choice, "noisy_choice", _noisy_choice),
    (median, "noisy_median", _noisy_median),
    (top, "noisy_top", _noisy_top),
    (frequent_sets, "noisy_scores", _noisy_scores),
    (frequent_sets, "with_ties", _with_ties),
    (frequent_sets, "greatest", _greatest),
    (tree, "_choices", _choices),
    (tree, "_labels", _labels),
    (triangles, "_opened", _opened),
    (triangles, "with_ladder", _with_ladder),
    (selection, "opened_with_noise", _opened_with_noise),
    (aim, "chosen", _chosen),
    (mst, "chosen", _chosen),
    (small_cells, "noisy_cells", _noisy_cells),
    (boost, "best_splits", _best_splits),
)


@contextmanager
def taped() -> Iterator[None]:
    """Replace all ways to open a value with noise, for engines that have a tape."""
    with ExitStack() as stack:
        for module, name, ours in TAKEN_OVER:
            stack.enter_context(patch.object(module, name, _for_taped(getattr(module, name), ours)))
        yield


def _for_taped(real: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    def either(engine: Any, *arguments: Any, **more: Any) -> Any:
        return (ours if isinstance(engine, TapedEngine) else real)(engine, *arguments, **more)

    return either
