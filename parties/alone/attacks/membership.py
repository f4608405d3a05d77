"""Membership inference by shadow models: was a row among those that a model was learnt from?

Every model is learnt from a random half of the rows, each drawn by an independent coin, so that models with a row and
without it are neighbours. The attack is the likelihood ratio of N. Carlini et al., "Membership inference attacks from
first principles" (S&P 2022). From the first half of the models, the attacker computes the mean and variance of the
certainty of each row's true class, with the row and without it. A model of the other half is guessed to include
the row if the normal law with the row is the likelier. If a model returns classes only, certainty is right (1) or
wrong (0).

p is the share of members guessed members, q that of others guessed others. With (epsilon, delta)-differential privacy p
+ q <= (2 e^epsilon + 2 delta) / (1 + e^epsilon) for every row (P. Kairouz, S. Oh, P. Viswanath, ICML 2015); pure
guessing has 1. Rows are not equally exposed. The rows that the first half of the models separates best are also judged
alone, on the other half, so that selection and judgement are independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parties.alone.publish.models.strongest import CHANCE
from protocols.arrays import Codes, Floats

LEAST_MODELS = 8
EXPOSED = 0.01  # share of rows that count as most exposed, at least one row
SHOWN = 10  # most exposed rows listed
MOST_THRESHOLDS = 200
_SPREAD = 0.1  # one more observation has this square deviation, so that a variance is positive

Sure: TypeAlias = Callable[[Codes, Codes], Floats]  # takes rows and a class for each; returns certainties, 0 to 1
Learn: TypeAlias = Callable[[Codes, Codes], Sure]
OnProgress = Callable[[int, int], object]


@dataclass(frozen=True, eq=False)
class Shadows:
    """Shadow models and their certainty.

    Attributes:
        inside: whether each model was learnt from each row, bool[models, rows]
        sure: certainty of each row's true class, float64[models, rows]
    """

    inside: NDArray[np.bool_]
    sure: Floats


def shadows(
    learn: Learn,
    rows: Codes,
    labels: Codes,
    models: int,
    random: np.random.Generator,
    on_progress: OnProgress = lambda done, total: None,
) -> Shadows:
    """Learn models, each from a random half of the rows.

    Args:
        learn: function that learns a model from rows
        rows: codes of the training rows, int64[rows, columns]
        labels: class of each row, int64[rows]
        models: number of models
        random: source of randomness
        on_progress: called with the numbers of models done and in total
    """
    inside = random.random((models, len(labels))) < 0.5
    sure = np.zeros((models, len(labels)))
    for model in range(models):
        on_progress(model, models)
        sure[model] = learn(rows[inside[model]], labels[inside[model]])(rows, labels)
    return Shadows(inside, sure)


def attack(observed: Shadows, epsilon: float | None, delta: float = 0.0) -> dict[str, Any]:
    """Return the success rates of the attack, and their bound by epsilon, as JSON.

    Args:
        observed: the shadow models
        epsilon: epsilon of the models, from which the greatest possible success follows; None: no bound is reported
        delta: delta of the models

    Raises:
        ValueError: there are fewer than `LEAST_MODELS` models
    """
    models, rows = observed.inside.shape
    if models < LEAST_MODELS:
        raise ValueError(f"the attack takes at least {LEAST_MODELS} models, not {models}")
    half = models // 2
    first, second = Shadows(observed.inside[:half], observed.sure[:half]), observed.sure[half:]
    members = observed.inside[half:]
    (mean_in, variance_in), (mean_out, variance_out) = (_law(first, side) for side in (True, False))
    ratio = _log_density(second, mean_in, variance_in) - _log_density(second, mean_out, variance_out)
    guesses = np.where(ratio > 0, 1.0, np.where(ratio < 0, 0.0, 0.5))
    exposure = np.abs(mean_in - mean_out) / np.sqrt(variance_in + variance_out)
    order = np.argsort(-exposure, kind="stable")[: max(1, math.ceil(EXPOSED * rows))]
    document: dict[str, Any] = {
        "rows": rows,
        "models": models,
        "all": _success(guesses, members),
        "exposed": {"rows": len(order), **_success(guesses[:, order], members[:, order])},
        "most_exposed": [
            {"row": int(row) + 1, **_success(guesses[:, [row]], members[:, [row]])} for row in order[:SHOWN]
        ],
    }
    if epsilon is not None:
        document["allowed"] = allowed(epsilon, delta)
    return document


def by_threshold(members: Floats, others: Floats, random: np.random.Generator) -> dict[str, float]:
    """Return the success of guessing that a row is a member if its certainty is at least a threshold.

    Half of the members and of the others choose the threshold; it is tested on the other halves (S. Yeom et al.,
    "Privacy risk in machine learning", CSF 2018).

    Args:
        members: certainty of each member, float64[rows]
        others: certainty of each other row, float64[rows]
        random: source of randomness

    Raises:
        ValueError: there are fewer than two rows of either kind
    """
    if min(len(members), len(others)) < 2:
        raise ValueError("the attack needs at least two rows of members and two of others")
    (choosing, judged), (choosing_others, judged_others) = (
        np.array_split(random.permutation(values), 2) for values in (members, others)
    )
    thresholds = np.unique(np.concatenate([choosing, choosing_others]))
    sums = [(choosing >= t).mean() + (choosing_others < t).mean() for t in thresholds]
    threshold = thresholds[int(np.argmax(sums))]
    p, q = float((judged >= threshold).mean()), float((judged_others < threshold).mean())
    return {"members_found": p, "others_found": q, "sum": p + q}


def strongest(sure: Mapping[str, tuple[Floats, Floats]], random: np.random.Generator) -> dict[str, Any]:
    """Return the success of the best of several attacks, and the worst-hit people, ready for JSON.

    A threshold that suits all people misses a few people who are copied. So members are also counted among the n rows
    of which an attack is most certain, for the n that chance explains least.

    Args:
        sure: certainty of members and of others for each attack, float64[rows] each
        random: source of randomness

    Raises:
        ValueError: there are fewer than two rows of either kind
    """
    sums = {name: by_threshold(*pair, random) for name, pair in sure.items()}
    best = max(sums, key=lambda name: sums[name]["sum"])
    groups = {name: _most_members(*pair) for name, pair in sure.items()}
    hit = min(groups, key=lambda name: groups[name][2])
    members, others, log_chance = groups[hit]
    return {
        "attack": best,
        **sums[best],
        "worst_hit": {
            "attack": hit,
            "members": members,
            "others": others,
            "found": log_chance < math.log(CHANCE / len(sure)),
        },
    }


def _most_members(members: Floats, others: Floats) -> tuple[int, int, float]:
    """Return the numbers of members and others among the n most certain rows, for the n that chance explains least.

    The third result bounds the logarithm of that chance: the hypergeometric law's, for all thresholds.
    """
    thresholds = np.unique(np.concatenate([members, others]))[::-1][:MOST_THRESHOLDS]
    best = (0, 0, 0.0)
    for threshold in thresholds:
        m, o = int((members >= threshold).sum()), int((others >= threshold).sum())
        hits = np.arange(m, min(m + o, len(members)) + 1)
        terms = _log_choose(len(members), hits) + _log_choose(len(others), m + o - hits)
        chance = float(np.logaddexp.reduce(terms) - _log_choose(len(members) + len(others), np.array([m + o]))[0])
        if chance + math.log(len(thresholds)) < best[2]:
            best = (m, o, chance + math.log(len(thresholds)))
    return best


def _log_choose(n: int, k: Codes) -> Floats:
    """Return ln (n over k), minus infinity for k outside 0..n."""
    inside = (k >= 0) & (k <= n)
    logs = [math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) for i in k[inside].tolist()]
    result = np.full(len(k), -np.inf)
    result[inside] = logs
    return result


def allowed(epsilon: float, delta: float = 0.0) -> float:
    """Return the largest p + q of an attacker that (epsilon, delta)-privacy permits.

    Args:
        epsilon: Privacy loss.
        delta: Probability that epsilon fails.
    """
    return (2 + 2 * delta * math.exp(-epsilon)) / (1 + math.exp(-epsilon))


def _law(observed: Shadows, side: bool) -> tuple[Floats, Floats]:
    """Return mean and variance of the certainty of the models learnt with each row, or if not `side`, without it.

    Half a right and half a wrong answer are added, so that a few models do not give certainty.
    """
    selected = observed.inside == side
    number = selected.sum(axis=0) + 1
    mean = ((observed.sure * selected).sum(axis=0) + 0.5) / number
    variance = (((observed.sure - mean) ** 2 * selected).sum(axis=0) + _SPREAD) / number
    return mean, variance


def _log_density(values: Floats, mean: Floats, variance: Floats) -> Floats:
    density: Floats = -((values - mean) ** 2) / (2 * variance) - np.log(variance) / 2
    return density


def _success(guesses: Floats, members: NDArray[np.bool_]) -> dict[str, float]:
    """Return p, q and their sum from guesses float64[models, rows]: 1 for a member, 0.5 for undecided."""
    p = float((guesses * members).sum() / max(1, members.sum()))
    q = float(((1 - guesses) * ~members).sum() / max(1, (~members).sum()))
    return {"members_found": p, "others_found": q, "sum": p + q}
