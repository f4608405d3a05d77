"""Comparison of a synthetic table with a party's own rows: marginals, models learnt from it, distances of rows.

Each figure is shown with the same figure of the party's rows alone, as a reference. For marginals, that compares two
halves of these rows. Models are learnt from four fifths and tested on the last fifth. Distances are from a fifth's
rows to the nearest own row in the others. All figures are exact, without noise: for this party, not for publication.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from parties.alone.comparing.fidelity import copies, marginal_errors, nearest
from parties.alone.comparing.learners import LEARNERS, Learner, majority
from protocols.arrays import Codes

CodedRows = Mapping[str, Codes]  # category codes, int64[rows] for each column
OnProgress = Callable[[str], object]  # called before each step with its description

FOLDS = 5
ORDER = 3  # most columns of a marginal
WORST = 5  # number of marginals listed
_SEED = 1  # of the assignment of own rows to folds: equal rows give an equal report


def compare(
    domain: Mapping[str, int],
    original: CodedRows,
    synthetic: CodedRows,
    target: str | None,
    on_progress: OnProgress = lambda what: None,
) -> dict[str, Any]:
    """Return the comparison as plain JSON.

    Args:
        domain: number of categories of each column
        original: the party's own rows
        synthetic: the synthetic rows
        target: the class column; None: no models are learnt
        on_progress: called before each step with its description

    Raises:
        ValueError: a table has fewer than `FOLDS` rows
    """
    row_counts = {name: len(next(iter(rows.values()))) for name, rows in (("own", original), ("synthetic", synthetic))}
    for name, count in row_counts.items():
        if count < FOLDS:
            raise ValueError(f"a comparison takes at least {FOLDS} rows, the {name} table has {count}")
    rng = np.random.default_rng(_SEED)
    folds = {name: rng.permutation(np.arange(count) % FOLDS) for name, count in row_counts.items()}
    on_progress("counting marginals")
    report: dict[str, Any] = {
        "rows": row_counts,
        "columns": len(domain),
        "marginals": _marginals(domain, original, synthetic),
    }
    report["marginals"]["own_halves"] = _halves(domain, original, rng)
    if target is not None:
        report["models"] = _models(domain, original, synthetic, target, folds["own"], on_progress)
    on_progress("looking for the nearest rows")
    mine, theirs = _matrix(domain, original), _matrix(domain, synthetic)
    report["distances"] = _distances(mine, theirs, folds)
    report["copies"] = copies(mine, theirs)
    return report


def _marginals(domain: Mapping[str, int], original: CodedRows, synthetic: CodedRows) -> dict[str, Any]:
    errors = sorted(marginal_errors(domain, original, synthetic, ORDER), key=lambda pair: -pair[1])
    return {
        "ways": len(errors[0][0]),
        "tables": len(errors),
        "average": float(np.mean([distance for _, distance in errors])),
        "worst": [{"columns": list(columns), "distance": distance} for columns, distance in errors[:WORST]],
    }


def _halves(domain: Mapping[str, int], original: CodedRows, rng: np.random.Generator) -> float:
    """Return the average marginal error between two random halves of the party's rows, as a reference."""
    count = len(next(iter(original.values())))
    half = rng.permutation(np.arange(count) % 2 == 0)
    first, second = ({name: codes[where] for name, codes in original.items()} for where in (half, ~half))
    return float(np.mean([distance for _, distance in marginal_errors(domain, first, second, ORDER)]))


def _models(
    domain: Mapping[str, int],
    original: CodedRows,
    synthetic: CodedRows,
    target: str,
    fold: Codes,
    on_progress: OnProgress,
) -> dict[str, Any]:
    """Return the accuracies of models learnt from each table, tested on the party's rows."""
    features = [name for name in domain if name != target]
    domains, classes = [domain[name] for name in features], domain[target]
    mine, theirs = ((_matrix(features, rows), rows[target]) for rows in (original, synthetic))

    def accuracies(learner: Learner) -> dict[str, float]:
        predicted = learner(domains, classes, *theirs)(mine[0])
        cross_validated = np.empty_like(predicted)
        for part in range(FOLDS):
            held = fold == part
            cross_validated[held] = learner(domains, classes, mine[0][~held], mine[1][~held])(mine[0][held])
        return {"synthetic": float((predicted == mine[1]).mean()), "own": float((cross_validated == mine[1]).mean())}

    report: dict[str, Any] = {"target": target, "majority": accuracies(majority)["own"], "accuracy": []}
    for name, learner in LEARNERS.items():
        on_progress(f"learning: {name}")
        report["accuracy"].append({"model": name} | accuracies(learner))
    return report


def _distances(original: Codes, synthetic: Codes, folds: Mapping[str, Codes]) -> dict[str, Any]:
    """Return the distribution of each row's distance to the nearest of the party's rows in the other four fifths.

    The rows are the synthetic ones, and the party's own (`original`). The distance is the number of columns that
    differ. `folds` has the fifth of each row.
    """
    report: dict[str, Any] = {}
    for name, rows in (("synthetic", synthetic), ("own", original)):
        far = nearest(rows, original, (folds[name], folds["own"]))
        counts = np.bincount(far, minlength=original.shape[1] + 1)
        shares = counts / counts.sum()
        report[name] = {"mean": float(shares @ np.arange(len(shares))), "shares": shares.tolist()}
    return report


def _matrix(columns: Mapping[str, int] | list[str], rows: CodedRows) -> Codes:
    return np.column_stack([rows[name] for name in columns])
