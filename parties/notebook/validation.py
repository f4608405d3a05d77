"""Cross-validation on the rows of both parties: each fold's model is judged on rows that it has not seen.

    joint_cross_validate(JointNaiveBayes("schema.toml", peer="party.toml"), frame, epsilon=2)      at both parties

The folds are those of `parties.tables.split`: equal at both parties, without a message. All scores have noise.
"""

from __future__ import annotations

import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import narwhals as nw
from sklearn.base import clone

from parties.base import files
from parties.models.load import is_of_numbers, load_any
from parties.notebook.questions import study
from parties.notebook.study import JointEstimator
from parties.tables import categories
from smc.errors import InputError

FOLDS = (2, 4, 5, 10, 20)  # shares of the rows that are multiples of 0.05
ALIKE = ("schema", "peer", "holders", "where", "adjacency", "max_rows", "at_most", "engine")  # of model and judgement
OF_CLASSES = ("auc", "ks", "accuracy", "precision", "recall")
GRAIN = 1e6  # epsilons are multiples of 1 / GRAIN


def joint_cross_validate(
    estimator: JointEstimator,
    X: Any = None,
    *,
    epsilon: float,
    folds: int = 5,
    judging: float = 0.5,
    target_value: str | None = None,
    **fit: Any,
) -> Any:
    """Train a model without each fold of the rows, judge it on that fold, and return the scores, a line for each fold.

    Both parties call this function with equal arguments. A row trains all models but one, and judges that one. So the
    epsilons of the `folds` - 1 trainings and of one judgement add up to `epsilon` for a row or person. If neighbouring
    tables differ by a replaced row, it may be in two folds: the epsilons of all trainings and of two judgements add up.
    A node's account adds up all jobs. So do they here, if a node is the peer. Deltas add up likewise.

    Args:
        estimator: A model's estimator with its parameters, such as schema and peer; its epsilon is set here.
        X: Data frame with the columns of the schema, the target too. At a node: None.
        epsilon: Privacy loss of all folds together.
        folds: Number of folds: 2, 4, 5, 10 or 20.
        judging: Share of epsilon for the judgements.
        target_value: Value of the target that high scores predict, if it is not "yes".
        fit: At a node: table, peer_table, purpose and deadline, as for `fit`.

    Returns:
        A frame of the library of X (of Arrow at a node). For classes it has auc, ks, accuracy, precision and recall;
        for numbers rmse and r2; each with the ends of its interval. `epsilon` and `delta` are those of the fold's jobs.
        A fold whose model drowns in noise has no scores, and a `reason`.

    Raises:
        InputError: An argument is wrong, or the estimator is of no model with noise.
        LinkError: The peer cannot be reached, or the node's job was refused, failed or did not end in time.
        JobMismatchError: The peer wants another job.
    """
    own = estimator.get_params(deep=False)
    if missing := {"epsilon", "held_out", "fold"} - own.keys():
        name = type(estimator).__name__
        raise InputError(f"estimator: {name} has no {', '.join(sorted(missing))}; give one of a model with noise")
    if folds not in FOLDS:
        raise InputError(f"folds: is one of {', '.join(map(str, FOLDS))}, not {folds}")
    if not 0 < judging < 1:
        raise InputError(f"judging: is a share between 0 and 1, not {judging:g}")
    uses = (folds - 1, 1) if own.get("adjacency") != "replace" else (folds, 2)
    if hasattr(estimator.peer, "submit"):
        uses = (folds, folds)
    each = [_down(epsilon * part / times) for part, times in zip((1 - judging, judging), uses, strict=True)]
    lines = []
    for fold in range(1, folds + 1):
        model = clone(estimator).set_params(epsilon=each[0], held_out=1 / folds, fold=fold).fit(X, **fit)
        tree = getattr(model, "tree_file_", None)
        document: dict[str, Any] = model.document_ if tree is None else tree.fields()
        spent = {"epsilon": each[0], "delta": document.get("delta", 0.0)}
        if "reason" in document:  # the noise is too great for a model
            lines.append({"fold": fold, **spent, "reason": document["reason"]})
            continue
        judged = _judged(document, model, X, epsilon=each[1], target_value=target_value, **fit)
        lines.append({"fold": fold, **_scores(judged), **spent, "epsilon": sum(each)})
    names = dict.fromkeys(name for line in sorted(lines, key=len, reverse=True) for name in line)
    columns = {name: [line.get(name) for line in lines] for name in names}
    backend: Any = "pyarrow" if X is None else nw.get_native_namespace(categories.named_frame(X))
    return nw.from_dict(columns, backend=backend).to_native()


def _judged(
    document: dict[str, Any], model: Any, X: Any, *, epsilon: float, target_value: str | None, **fit: Any
) -> dict[str, Any]:
    """Return the judgement of a fitted model, whose file is `document`, on the rows that its training held out."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        files.write_json(path, document)
        kind = "evaluate error" if is_of_numbers(load_any(path)) else "evaluate report"
        judge = study(kind)()
        own, known = model.get_params(deep=False), judge.get_params(deep=False)
        alike = {name: own[name] for name in ALIKE if name in own and name in known}
        value = {} if target_value is None else {"target_value": target_value}
        judge.set_params(**alike, **value, model=path, epsilon=epsilon).fit(X, **fit)
    judged: dict[str, Any] = judge.document_
    return judged


def _scores(judged: dict[str, Any]) -> dict[str, Any]:
    numbers = {**judged, **judged.get("confusion", {})}
    names = OF_CLASSES if "auc" in judged else ("rmse", "r2")
    scores: dict[str, Any] = {}
    for name in names:
        scores |= {name: numbers[name]["value"], f"{name}_low": numbers[name].get("low")}
        scores[f"{name}_high"] = numbers[name].get("high")
    return scores


def _down(epsilon: float) -> float:
    """Return an epsilon as a multiple of the grain, rounded down, so that sums are no larger than what they share."""
    return math.floor(epsilon * GRAIN) / GRAIN
