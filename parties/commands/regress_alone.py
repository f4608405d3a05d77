"""`smc regress alone`: a linear model of your own table, with noise and without a peer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from parties.alone.perturbation import Way, perturbed
from parties.base import console, files
from parties.base.randomness import private
from parties.base.report import Report
from parties.base.settings import validated
from parties.base.text import parts_of
from parties.commands.options import Between
from parties.commands.outputs import FORCE, check_new
from parties.commands.signature import command, option
from parties.jobs.execution.local_run import run_alone
from parties.jobs.kinds.regress.joint import RegressJoint
from parties.jobs.regress import result
from parties.jobs.regress.reading import classes_of, features_of, rows_of
from parties.jobs.regress.settings import SQUARES, Method, RegressSettings
from parties.jobs.settings import MAX_ROWS
from parties.sources.opening import open_table
from parties.sources.settings import TableSettings
from parties.tables import schema as schemas
from parties.tables.schema import Schema
from protocols.regression.features import Features
from protocols.regression.losses import LossName, loss
from protocols.regression.rows import TrainingRows
from protocols.release.promise import LEAST_EPSILON, MOST_EPSILON
from smc.errors import InputError


@command(
    "alone",
    "smc regress alone --data mine.csv --schema schema.toml --target outcome --epsilon 1 "
    "--lambda 0.003 --out model.json",
)
def alone(
    data: Path = option("Your rows, a CSV or Parquet file."),
    schema_file: Path = option("Public schema with their columns and values, a TOML file."),
    target: str | None = option("Class column; numbers for least squares and ridge  [target in the schema]", "COLUMN"),
    columns: str | None = option("Columns to predict from, comma-separated  [all of the schema]", "LIST"),
    numeric: str | None = option(
        "Those of the columns that are numbers. Their least and greatest values in the schema are public bounds.",
        "LIST",
    ),
    method: Way | Method = option(
        "objective = noise in the minimised objective; output = on the weights; least-squares, ridge = on second "
        "moments, for a target of numbers  [objective]",
        click.Choice(["objective", "output", *SQUARES]),
        default="objective",
    ),
    named: LossName = option(
        "Loss function  [logistic]", click.Choice(["logistic", "huber"]), flag="--loss", default="logistic"
    ),
    huber: float = option(
        "With loss huber: half the width of the interval in which the loss is rounded  [0.5]",
        Between(0, 1, min_open=True, max_open=True),
        default=0.5,
    ),
    regularisation: float | None = option(
        "Regularisation lambda. A larger lambda keeps the weights smaller. Choose it without a "
        "look at the rows  [required with objective and output; ridge: 0.001]",
        Between(0, 1, min_open=True),
        flag="--lambda",
    ),
    epsilon: float = option("Privacy loss of a row.", Between(LEAST_EPSILON, MOST_EPSILON)),
    delta: float | None = option(
        "Least squares, ridge: probability that the guarantee of epsilon fails  [0.001 / (2 max-rows), or less]",
        Between(0, 1, min_open=True, max_open=True),
    ),
    max_rows: int | None = option(
        f"Least squares, ridge: public upper bound on the rows  [{MAX_ROWS}]", click.IntRange(1, 1 << 31)
    ),
    out: Path | None = option("Write the model as JSON."),
    svg: Path | None = option("Draw the weights as SVG."),
    force: bool = FORCE,
) -> Report:
    """Learn a linear classifier from your own rows, with noise (Chaudhuri, Monteleoni, Sarwate 2011).

    With the methods objective and output, neighbouring tables differ by one replaced row, and the result reveals the
    number of rows. Least squares and ridge need a target of numbers. Their neighbouring tables differ by one added or
    removed row, as in smc regress joint, and they read the rows in parts.
    """
    check_new({"--out": out, "--svg": svg}, [data, schema_file], None, force)
    if method == "objective" or method == "output":  # two comparisons, because `in` does not narrow the type
        if delta is not None or max_rows is not None:
            flag = "--max-rows" if delta is None else "--delta"
            raise InputError(f"{flag}: applies only to least squares and ridge; remove it")
        if regularisation is None:
            raise InputError("--lambda: is missing; choose it without a look at the rows, 0.001 for example")
        listed = _listed(columns), _listed(numeric)
        document = _classifier(data, schema_file, target, *listed, method, named, huber, regularisation, epsilon)
    else:
        flags = {"target": target, "columns": _listed(columns), "numeric": _listed(numeric), "lambda": regularisation}
        flags |= {"method": method, "epsilon": epsilon, "delta": delta, "max_rows": max_rows}
        there = {key: value for key, value in flags.items() if value is not None}
        with console.progress("fitting"):
            settings = validated(RegressSettings, {"data": data, "schema": schema_file, **there})
            task, moments, _ = RegressJoint.alone(settings, 0)
            document = task.document(run_alone(task, moments))
    report = Report(document)
    report.block(result.text(document))
    report.save(out)
    if svg is not None:
        files.write_text(svg, result.picture(document))
    report.written(out, svg)
    return report


def _classifier(
    data: Path,
    schema_file: Path,
    target: str | None,
    columns: tuple[str, ...] | None,
    numeric: tuple[str, ...] | None,
    method: Way,
    named: LossName,
    huber: float,
    regularisation: float,
    epsilon: float,
) -> dict[str, Any]:
    schema = schemas.load(schema_file).numeric(numeric or ())
    label = schema.choose_target(target)
    features, used = features_of(schema, label, columns, numeric)
    with console.progress("fitting"):
        rows = _rows(data, used, label, features)
        fit = perturbed(rows, loss(named, huber), regularisation, epsilon, method, private())
    return {
        "method": method,
        "loss": named,
        **({"huber": huber} if named == "huber" else {}),
        "lambda": regularisation,
        "epsilon": epsilon,
        "epsilon_of_noise": fit.epsilon,
        "adjacency": "replace",
        "rows": fit.rows,
        "gradient": fit.gradient,
        **result.noise(features, fit.weights, fit.spread),
        "schema_digest": used.digest(),
        **result.model(label, classes_of(used, label), features, fit.weights),
    }


def _rows(data: Path, schema: Schema, target: str, features: Features) -> TrainingRows:
    """Return a file's rows: cells are the schema's categories as they stand, else raw values of its types."""
    table = TableSettings.model_construct(source=str(data), max_rows=MAX_ROWS << 8)
    as_it_stands = Schema({name: tuple(values) for name, values in schema.attributes.items()})
    try:
        with open_table(table, as_it_stands, target) as source:
            return rows_of(source, features)
    except InputError:
        if not schema.has_types:
            raise
    with open_table(table, schema, target) as source:
        return rows_of(source, features)


def _listed(words: str | None) -> tuple[str, ...] | None:
    if words is None:
        return None
    names = tuple(parts_of(words))
    if not names:
        raise InputError("columns, numeric: name at least one column, separated by commas")
    return names
