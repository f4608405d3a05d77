"""Loading of models from files: the columns that they need, and their predictions."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from parties.base import file_kinds, files
from parties.base.file_kinds import BAYES, BOOSTED, FOREST, JSON, LINEAR, TREE
from parties.base.text import listed
from parties.models import bayes, boosted, linear
from parties.models.rules import Rules
from parties.models.scored import Scored
from parties.models.trees import prediction
from parties.models.trees.reading import asking
from parties.models.trees.tree import TreeFile, domains
from parties.tables import schema
from parties.tables.delimited import Columns
from smc.errors import InputError

Classifier: TypeAlias = bayes.NaiveBayesModel | linear.LinearModel | boosted.BoostedModel
MODELS = ("a model", LINEAR, BOOSTED, BAYES, TREE, FOREST, JSON)  # trees have their own error
AnyModel: TypeAlias = TreeFile | Classifier


def load_model(path: Path) -> Classifier:
    """Return the model in a file. Raise InputError, naming the file, if it is invalid."""
    with file_kinds.expecting(path, MODELS, "give a file of a model that smc wrote"):
        return _model(path)


def _model(path: Path) -> Classifier:
    fields = files.read_json(path)
    try:
        json.dumps(fields, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise InputError(
            f"{path}: a text has an unpaired surrogate, such as \\ud800; write the whole character"
        ) from None
    content = fields if isinstance(fields, dict) else {}
    description: str = "naive Bayes model"
    model: Callable[[Any], Classifier] = bayes.NaiveBayesModel.parse
    if "intercept" in content or "reason" in content:
        description, model = "linear model", linear.LinearModel.parse
    elif "trees" in content:
        description, model = "model of boosted trees", boosted.BoostedModel.parse
    elif "tree" in content:
        raise InputError(f"{path}: this is a tree; use --tree")
    elif "classes" not in content:
        raise InputError(
            f"{path}: not a known kind of model; give a file of smc id3, forest, boost, regress or release naive-bayes"
        )
    try:
        return model(fields)
    except (ValueError, OverflowError) as error:
        raise InputError(f"{path}: not a {description}: {error}") from None


def load_any(path: Path) -> AnyModel:
    """Return the model or the trees in a file. Raise InputError, naming the file, if it is invalid."""
    with file_kinds.expecting(path, MODELS, "give a file of a model or of trees that smc wrote"):
        fields = files.read_json(path)
    is_trees = isinstance(fields, dict) and "columns" not in fields and ("tree" in fields or "trees" in fields)
    return load_trees(path) if is_trees else load_model(path)


def load_trees(path: Path) -> TreeFile:
    """Return the trees in a file, simplified for prediction. Raise InputError as `TreeFile.load` does."""
    return asking(TreeFile.load(path))


def predicted(model: AnyModel, rows: Columns) -> list[str]:
    """Return the predicted class or number of every row. Raise InputError for a missing column or an unknown value.

    Args:
        model: The model; several trees vote.
        rows: Rows with the model's columns.
    """
    return prediction.vote(model.trees, rows) if isinstance(model, TreeFile) else model.predict(rows)


def columns_of(model: AnyModel | Rules) -> list[str]:
    """Return the columns that a model needs."""
    if not isinstance(model, TreeFile):
        return list(model.columns)
    return list(domains(model.trees))


def numbers_of(model: AnyModel | Rules) -> tuple[str, ...]:
    """Return the columns whose cells a model reads as numbers."""
    return model.numeric if isinstance(model, Scored) else ()


def form_of(model: Classifier) -> Scored:
    """Return a model as it predicts, by sums of terms: `form` of a naive Bayes model, any other model itself."""
    return model.form if isinstance(model, bayes.NaiveBayesModel) else model


def is_of_numbers(model: AnyModel) -> bool:
    """Return whether a model predicts a number, not a class."""
    return isinstance(model, Scored) and model.classes is None


def schema_for(model: AnyModel | Rules, path: Path) -> schema.Schema:
    """Return the schema for a model's rows, with single numbers where the model reads numbers.

    Args:
        model: The model.
        path: File of the schema.

    Raises:
        InputError: The schema is invalid, or lacks a column that the model needs.
    """
    target = [model.target] if not isinstance(model, Rules) and is_of_numbers(model) else []
    agreed = schema.load(path).numeric([*numbers_of(model), *target])
    if lacking := [name for name in columns_of(model) if name not in agreed.attributes]:
        raise InputError(
            f"{path}: the model asks for {listed(lacking)}, which the schema lacks; "
            "give the schema that the model was made with"
        )
    return agreed
