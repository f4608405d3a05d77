"""Most frequent sets of items in both parties' rows, with noise, and the noisy number of rows of each.

Ideal functionality. Inputs: each party's own rows, each a set of items; public `association.Problem`, a number `first`,
two laws. Output to both: a list of at most `first` sets X_1, X_2, ... For each set, and for all rows, also the number
of rows of both parties with noise of the second law. A set is a candidate for place j if it has no place yet, and all
its subsets with one item less have one (sets of one item are candidates from the start). X_j is the candidate with the
greatest q_X + g_X. Here q_X is the number of rows with X, and g_X one-sided geometric noise of the first law, drawn
once for a set. Ties are decided at random (`protocols.release.choice`). Leakage: laws, widths, bounds. No other count,
score or order is opened. A set is never more frequent than its subsets, so without noise the result is the most
frequent of all sets of any length. The noise grows with `first`, not with the number of sets or lengths.

Privacy of the choice. Let the rows of a person change each q_X by m at most. The choice is epsilon-private with alpha =
e^(-epsilon / (first m)) if these rows are added or removed, and with alpha = e^(-epsilon / (2 first m)) if they are
replaced, for any number of items in a row.

Proof. Draw the noise of all possible sets at the start; most of it is never used. Let q and q' be neighbours, d_X =
q'_X - q_X, and S = (X_1, ..., X_k) an answer. Rows are added: all d_X are from 0 to m. If noise g gives S on q, then on
q' so does g' with g'_X = g_X + m - d_X for X in S, and g'_X = g_X otherwise: the sums of S have all become m more and
those of the others at most m more, so at each place, whose candidates follow from the places before, the same wins
again, by the same order among equals. If g gives S on q', then on q so does g with g_X + d_X for X in S: the sums of S
are what they were, the others at most that. Both maps are injective, keep g >= 0 and move k values by at most m each,
so P(g) falls by a factor of at least alpha^(k m). Rows replaced are rows removed and rows added. (This is
`protocols.release.top` with rows that count for several candidates, and with candidates that follow from the opened
values.)

Papers: Bhaskar, Laxman, Smith, Thakurta, "Discovering frequent patterns in sensitive data" (KDD 2010), whose candidates
are all sets of one length; Lyu, Su, Li, "Understanding the sparse vector technique for differential privacy" (VLDB
2017): this kind of choice is more accurate than a noisy threshold if questions need not be answered one by one.

Cost: a sample for each of n items, and at place j for at most j - 1 new candidates. Each place takes a tournament of
all candidates (`protocols.release.choice`): 2 (w + 2) ANDs for each of about n + j^2 / 2 candidates at place j.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np

from protocols.association import Counting, ItemSet, Problem
from protocols.counts import Indices
from protocols.release.choice import greatest, noisy_scores, with_ties
from protocols.release.laws import Law
from protocols.release.numbers import noisy_sums
from smc.counting import CountingEngine
from smc.engines import Bits, Engine

Fresh = Callable[[Sequence[ItemSet]], list[ItemSet]]  # returns the candidates that the last place adds


def most_samples(problem: Problem, first: int) -> int:
    """Return the greatest number of sets that become candidates.

    Args:
        problem: Public problem: items, bound on rows and longest set.
        first: Greatest number of sets to choose.
    """
    return len(problem.columns) + first * (first - 1) // 2


def noisy_sets(
    engine: Engine, problem: Problem, first: int, laws: tuple[Law, Law], counting: Counting, rows: int
) -> tuple[list[ItemSet], list[int]]:
    """Open the chosen sets in order, and noisy numbers of rows: those with each chosen set, then those of all rows.

    Args:
        engine: Engine of this party. The peer must pass equal public arguments.
        problem: Public problem: items, bound on rows and longest set.
        first: Greatest number of sets to choose; public.
        laws: Law of the noise in the choice, then of the noise on the numbers; public.
        counting: Function from sets to this party's number of rows with each, int64[sets]; private.
        rows: This party's number of rows; private.

    Raises:
        InputError: A number of rows does not fit the bits of the agreed bound, or is too wide with its noise.
        ProtocolError: The opened index is not that of a candidate.
    """
    return _opened(engine, problem, first, laws, counting, rows, lambda chosen: candidates_after(problem, chosen))


def count_at_most(engine: CountingEngine, problem: Problem, first: int, laws: tuple[Law, Law]) -> None:
    """Count the cost of the most expensive run, in which each chosen set adds as many candidates as possible.

    Args:
        engine: Engine that counts cost. Nothing is computed and nothing is sent.
        problem: Public problem: items, bound on rows and longest set.
        first: Greatest number of sets to choose.
        laws: Law of the noise in the choice, then of the noise on the numbers.
    """

    def counting(sets: Sequence[ItemSet]) -> Indices:
        return np.zeros(len(sets), dtype=np.int64)

    _opened(engine, problem, first, laws, counting, 0, lambda chosen: list(chosen[1:]))


def candidates_after(problem: Problem, chosen: Sequence[ItemSet]) -> list[ItemSet]:
    """Return the new candidates after the last chosen set, in rising order.

    All subsets of a candidate with one item less are chosen, and the last chosen set is one of them.

    Args:
        problem: Public problem: items, bound on rows and longest set.
        chosen: Sets chosen so far, one at least, in their order.
    """
    *before, latest = chosen
    length, known = len(latest), set(chosen)
    if length == problem.max_length:
        return []
    joined = {tuple(sorted({*latest, *other})) for other in before if len(other) == length}
    return sorted(
        items
        for items in joined
        if len(items) == length + 1
        and len({problem.columns[item] for item in items}) == length + 1
        and all(part in known for part in combinations(items, length))
    )


def _opened(
    engine: Engine,
    problem: Problem,
    first: int,
    laws: tuple[Law, Law],
    counting: Counting,
    rows: int,
    fresh: Fresh,
) -> tuple[list[ItemSet], list[int]]:
    width = problem.max_rows.bit_length()
    chosen: list[ItemSet] = []
    numbers: list[int] = []  # own numbers of the chosen sets
    candidates: list[tuple[ItemSet, int]] = []  # candidates with own numbers
    scores: Bits | None = None  # noisy scores of the candidates
    new: list[ItemSet] = [(item,) for item in range(len(problem.columns))]
    with engine.session.phase("sets"):
        while new or candidates:
            if new:
                counts = counting(new)
                candidates += zip(new, counts.tolist(), strict=True)
                drawn = with_ties(engine, noisy_scores(engine, counts, width, laws[0]))
                scores = drawn if scores is None else Bits.join([scores, drawn])
            assert scores is not None
            place = greatest(engine, scores)
            items, number = candidates.pop(place)
            chosen.append(items)
            numbers.append(number)
            if len(chosen) == first:
                break
            scores = scores.take(np.delete(np.arange(scores.batch), place))
            new = fresh(chosen)
    with engine.session.phase("numbers"):
        own = np.array([*numbers, rows], dtype=np.int64)
        return chosen, noisy_sums(engine, own, width, laws[1]).tolist()
