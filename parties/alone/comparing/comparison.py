"""A synthetic table held against a party's own rows: marginals, models that are learnt from it, distances of rows.

Every figure stands beside what own rows give, or nobody could tell what it means: the marginals of one half of them
beside the other half's, models learnt from four fifths and tested on the last fifth, the distance of a fifth's rows to
the nearest of the others. The figures are exact, without noise: they are for this party, and not for publication.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from parties.alone.comparing.fidelity import marginal_errors, nearest
from parties.alone.comparing.learners import LEARNERS, Learner, majority
from parties.base.arrays import Codes

CodedRows = Mapping[str, Codes]  # category codes, int64[rows] for each column
OnProgress = Callable[[str], object]  # before each step: what is done

FOLDS = 5
ORDER = 3  # columns of a marginal
WORST = 5  # marginals that are named
_SEED = 1  # how own rows are dealt into folds: the same report for the same rows


def compare(
    domain: Mapping[str, int],
    own: CodedRows,
    synthetic: CodedRows,
    target: str | None,
    on_progress: OnProgress = lambda what: None,
) -> dict[str, Any]:
    """Return the comparison as plain JSON; without a target no models are learnt.

    `domain` is the number of categories of each column. ValueError for fewer than `FOLDS` rows in either table.
    """
    many = {name: len(next(iter(rows.values()))) for name, rows in (("own", own), ("synthetic", synthetic))}
    for name, count in many.items():
        if count < FOLDS:
            raise ValueError(f"a comparison takes at least {FOLDS} rows, the {name} table has {count}")
    rng = np.random.default_rng(_SEED)
    folds = {name: rng.permutation(np.arange(count) % FOLDS) for name, count in many.items()}
    on_progress("counting marginals")
    report: dict[str, Any] = {"rows": many, "columns": len(domain), "marginals": _marginals(domain, own, synthetic)}
    report["marginals"]["own_halves"] = _halves(domain, own, rng)
    if target is not None:
        report["models"] = _models(domain, own, synthetic, target, folds["own"], on_progress)
    on_progress("looking for the nearest rows")
    report["distances"] = _distances(_matrix(domain, own), _matrix(domain, synthetic), folds)
    return report


def _marginals(domain: Mapping[str, int], own: CodedRows, synthetic: CodedRows) -> dict[str, Any]:
    found = sorted(marginal_errors(domain, own, synthetic, ORDER), key=lambda pair: -pair[1])
    return {
        "ways": len(found[0][0]),
        "tables": len(found),
        "average": float(np.mean([distance for _, distance in found])),
        "worst": [{"columns": list(columns), "distance": distance} for columns, distance in found[:WORST]],
    }


def _halves(domain: Mapping[str, int], own: CodedRows, rng: np.random.Generator) -> float:
    """Return what two halves of the own rows differ by: nothing that is learnt from one of them can be nearer to the
    other."""
    count = len(next(iter(own.values())))
    half = rng.permutation(np.arange(count) % 2 == 0)
    one, other = ({name: codes[where] for name, codes in own.items()} for where in (half, ~half))
    return float(np.mean([distance for _, distance in marginal_errors(domain, one, other, ORDER)]))


def _models(
    domain: Mapping[str, int], own: CodedRows, synthetic: CodedRows, target: str, fold: Codes, on_progress: OnProgress
) -> dict[str, Any]:
    """Shares of own rows whose class is found by models of either table."""
    features = [name for name in domain if name != target]
    domains, classes = [domain[name] for name in features], domain[target]
    mine, theirs = ((_matrix(features, rows), rows[target]) for rows in (own, synthetic))

    def accuracies(learner: Learner) -> dict[str, float]:
        found = learner(domains, classes, *theirs)(mine[0])
        known = np.empty_like(found)
        for part in range(FOLDS):
            held = fold == part
            known[held] = learner(domains, classes, mine[0][~held], mine[1][~held])(mine[0][held])
        return {"synthetic": float((found == mine[1]).mean()), "own": float((known == mine[1]).mean())}

    report: dict[str, Any] = {"target": target, "majority": accuracies(majority)["own"], "accuracy": []}
    for name, learner in LEARNERS.items():
        on_progress(f"learning: {name}")
        report["accuracy"].append({"model": name} | accuracies(learner))
    return report


def _distances(own: Codes, synthetic: Codes, folds: Mapping[str, Codes]) -> dict[str, Any]:
    """In how many columns the nearest own row of the other four fifths differs, for synthetic rows and for own ones."""
    report: dict[str, Any] = {}
    for name, rows in (("synthetic", synthetic), ("own", own)):
        parts = [nearest(rows[folds[name] == part], own[folds["own"] != part]) for part in range(FOLDS)]
        often = np.bincount(np.concatenate(parts), minlength=own.shape[1] + 1)
        shares = often / often.sum()
        report[name] = {"mean": float(shares @ np.arange(len(shares))), "shares": shares.tolist()}
    return report


def _matrix(columns: Mapping[str, int] | list[str], rows: CodedRows) -> Codes:
    return np.column_stack([rows[name] for name in columns])
