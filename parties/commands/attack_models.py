"""`smc attack shadows` and `membership`: whether a row was among the training rows of a model or of synthetic rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from parties.base import console
from parties.base.report import Report
from parties.commands.attack_files import (
    LEAVE_OUT,
    NAMES,
    SEED,
    cells_of,
    check_shared,
    column_of,
    comparable_cells,
    names_of,
)
from parties.commands.options import Between
from parties.commands.rows import CONFIG, chosen
from parties.commands.signature import command, option
from parties.tables.texts import TextColumn
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.alone.attacks.membership import Learn
    from parties.models.load import AnyModel
    from parties.tables.delimited import Columns
    from protocols.arrays import Floats

OF = {  # models that an option applies to
    "--epsilon": ("tree", "forest", "naive-bayes", "synthetic"),
    "--k": ("tree", "forest"),
    "--max-depth": ("tree", "forest"),
    "--trees": ("forest",),
    "--select": ("synthetic",),
}
SUM = "{sum:.3f} (members {members_found:.1%}, others {others_found:.1%})"
MODELS = ("tree", "forest", "naive-bayes", "weights", "synthetic")
TREES = 20
MOST_DISTANCES = 100_000_000  # distances of rows to synthetic rows: about a minute


@command("shadows", "smc attack shadows --data mine.csv --schema schema.toml --target play --model tree --epsilon 1")
def shadows_command(
    data: Path = option("Your rows, a CSV or Parquet file."),
    schema_file: Path = option("Public schema, a TOML file."),
    target: str | None = option("Class column  [target in the schema]", "COLUMN"),
    model: str = option("Kind of model to attack, such as tree  [tree]", click.Choice(MODELS), default="tree"),
    epsilon: float | None = option(
        "Epsilon of the noise, as in the command that learns it  [no noise]", Between(0, min_open=True)
    ),
    k: int | None = option("With exact trees (no --epsilon): minimum rows of a leaf  [5]", click.IntRange(1)),
    max_depth: int | None = option(
        "Trees and forests: maximum depth  [from public numbers; no limit with --k 1]", click.IntRange(0)
    ),
    trees: int | None = option("Forests: number of trees  [20]", click.IntRange(2, 1000)),
    select: str | None = option(
        "Synthetic rows: which column sets are counted, as in smc synthesise  [aim]", click.Choice(["aim", "mst"])
    ),
    models: int = option("Number of models to learn  [64]", click.IntRange(8, 10_000), default=64),
    config_file: Path | None = CONFIG,
) -> Report:
    """Test whether a model reveals the rows it was learnt from.

    The attack learns many shadow models, each from half of your rows (Carlini et al. 2022). It then takes each model in
    turn, and guesses from the other models which rows it was learnt from (its members). Let p be the share of members
    that it guesses correctly, and q that of the other rows. Random guesses reach p + q = 1. A guarantee of epsilon
    allows p + q up to 2 e^epsilon / (1 + e^epsilon) for every row.
    """
    from parties.alone.attacks import membership
    from parties.alone.comparing.reading import coded
    from parties.checking.shadows import Learning

    values = {"--epsilon": epsilon, "--k": k, "--max-depth": max_depth, "--trees": trees, "--select": select}
    for flag, value in values.items():
        if value is not None and model not in OF[flag]:
            raise InputError(f"{flag} goes with --model {' or '.join(OF[flag])}; remove it, or give another --model")
    if epsilon is not None and k is not None:
        raise InputError("--k goes with exact trees; remove it, or remove --epsilon")
    with console.progress("reading") as status:
        table = coded(chosen(str(data), None, config_file), schema_file, target)
        if len(table.labels) < 2:
            raise InputError(f"{data}: has fewer than two rows; give a file with more rows")
        learning = Learning(table.domains, table.classes, len(table.labels), epsilon)
        delta = learning.delta if model == "synthetic" and epsilon is not None else 0.0
        makers: dict[str, Callable[[], Learn]] = {
            "tree": lambda: learning.tree(k or 5, max_depth),
            "forest": lambda: learning.tree(k or 5, max_depth, trees or TREES),
            "naive-bayes": learning.bayes,
            "weights": learning.weights,
            "synthetic": lambda: learning.synthetic(select or "aim"),
        }
        observed = membership.shadows(
            makers[model](),
            table.rows,
            table.labels,
            models,
            np.random.default_rng(SEED),
            lambda done, total: status.share("learning models", done, total),
        )
    promised = {"epsilon": epsilon, **({"delta": delta} if delta else {})}
    report = Report({"model": model, **promised, **membership.attack(observed, epsilon, delta)}, width=NAMES)
    report.facts({"rows, models": f"{{rows:,}}, {models:,}"})
    report.facts({"p + q of all rows": SUM}, report.data["all"])
    exposed = report.data["exposed"]
    report.facts({f"p + q of the {exposed['rows']:,} most exposed": SUM}, exposed)
    report.fact("by chance", 1)
    if epsilon is not None:
        report.facts({f"most that epsilon {epsilon:g} allows": "{allowed:.3f}"})
    for row in report.data["most_exposed"]:
        report.facts({f"row {row['row']:,}": SUM}, row)
    return report


@command("membership", "smc attack membership --model tree.json --members learnt.csv --others fresh.csv")
def membership_command(
    model_file: Path | None = option("Published tree or model."),
    synthetic: Path | None = option("Published synthetic rows, instead of --model."),
    members: Path = option("Rows that the model or the synthetic rows were learnt from."),
    others: Path = option("Rows of the same kind that were not used."),
    columns: str | None = option("With --synthetic: columns to compare  [all of --synthetic]", "LIST"),
    config_file: Path | None = CONFIG,
) -> Report:
    """Guess the rows behind a model or synthetic rows.

    Members are the rows that a model or synthetic rows were learnt from. A model may predict its members correctly more
    often than other rows. Synthetic rows may be nearer to their members. The report has the numbers of members and of
    other rows among the surest guesses. For a naive Bayes model, it also has the number of members with a value that
    only one row of the model has. With --config, the table of a file, or the only table of party.toml, maps the cells
    of --members and --others to its categories.
    """
    from parties.alone.attacks import membership, published_counts
    from parties.models.bayes import NaiveBayesModel
    from parties.models.load import load_any

    if (model_file is None) == (synthetic is None):
        raise InputError("--model: give either --model or --synthetic")
    if columns is not None and synthetic is None:
        raise InputError("--columns goes with --synthetic; a model has its own columns, so remove it")
    counted: dict[str, Any] | None = None
    sure: dict[str, tuple[Floats, Floats]]
    with console.progress("reading") as status:
        if model_file is not None:
            model = load_any(model_file)
            tables = [comparable_cells(model, path, config_file) for path in (members, others)]
            status.doing("comparing")
            members_right, others_right = (_rightness(model, model_file, table) for table in tables)
            sure = {"rightness": (members_right, others_right)}
            if isinstance(model, NaiveBayesModel):
                counted = published_counts.alone(model, tables[0])
        else:
            assert synthetic is not None
            release = cells_of(synthetic, None)
            tables = [comparable_cells(release, path, config_file) for path in (members, others)]
            status.doing("comparing")
            sure = _nearness(release, tables, columns)
        try:
            data = membership.strongest(sure, np.random.default_rng(SEED))
        except ValueError as error:
            raise InputError(str(error)) from None
    many = [len(table.lines) for table in tables]
    by_counts = {} if counted is None else {"published_counts": counted}
    report = Report({"members": many[0], "others": many[1], **data, **by_counts}, width=NAMES)
    report.facts({"rows: members, others": "{members:,}, {others:,}"})
    if counted is not None:
        exact = "exact" if counted["exact"] else "not exact"
        report.facts({"members alone in a count": f"{{alone:,}} (the counts are {exact})"}, counted)
    surest = "{members:,} members, {others:,} others: more than chance"
    surest = surest if data["worst_hit"]["found"] else "no group has more members than chance makes"
    report.facts({f"surest by {data['worst_hit']['attack']}": surest}, data["worst_hit"])
    report.facts({f"p + q by {data['attack']}": SUM})
    report.fact("by chance", 1)
    return report


def _rightness(model: AnyModel, model_file: Path, table: Columns) -> Any:
    """Return 1 for each row that the model classifies correctly, else 0; float64[rows]."""
    from parties.models.load import predicted
    from parties.models.trees.tree import NoBranchError

    target = getattr(model, "target", None)
    if not isinstance(target, str):
        raise InputError(f"{model_file}: this model has no prediction of a class; give a tree or another model")
    try:
        classes = predicted(model, table)
    except NoBranchError as error:
        raise InputError(f"{error}; if the rows are raw, give the --config that smc prepare wrote for them") from None
    return np.array([guess == true for guess, true in zip(classes, column_of(table, target), strict=True)], dtype=float)


def _nearness(release: Columns, tables: Sequence[Columns], columns: str | None) -> dict[str, tuple[Floats, Floats]]:
    """Return minus each row's distance to the nearest synthetic row, float64[rows] for each table, by measure: the
    number of columns that differ; for small tables with numbers also a distance in standard deviations.
    """
    from parties.alone.attacks.agreement import MOST_PAIRS, agreement, measured
    from parties.alone.attacks.attackers import Release
    from parties.alone.comparing.fidelity import nearest

    names = list(release.values) if columns is None else names_of(columns)
    every = [release, *tables]
    ends = np.cumsum([len(table.lines) for table in every])[:-1]
    codes, pairs = [], []
    for name in names:
        labels, *others = (TextColumn.of(column_of(table, name)) for table in every)
        code = {text: i for i, text in enumerate(dict.fromkeys(t for c in (labels, *others) for t in c.texts))}
        places = [np.array([code[text] for text in c.texts], dtype=np.int64)[c.codes] for c in (labels, *others)]
        known = TextColumn.among(list(code), np.concatenate(places[1:]))
        if len(labels) and len(known) and not measured(known, labels, ranges=False):
            check_shared(name, known, labels, release.path, LEAVE_OUT)
        codes.append(np.concatenate(places))
        pairs.append((name, known, labels))
    synthetic, *rows = np.split(np.column_stack(codes), ends)
    if not len(synthetic):
        raise InputError(f"{release.path}: there are no rows; give a file with rows")
    far = np.split(-nearest(np.concatenate(rows), synthetic).astype(np.float64), [len(rows[0])])
    sure = {"columns that differ": (far[0], far[1])}
    sizes = [len(known.texts) * len(labels.texts) for _, known, labels in pairs]
    is_small = sum(map(len, rows)) * len(synthetic) <= MOST_DISTANCES and max(sizes) <= MOST_PAIRS
    if is_small and any(measured(known, labels) for _, known, labels in pairs):
        view = Release([agreement(*pair) for pair in pairs])
        least = np.array([far.min() for far in view.distances()])[view.people[1]]
        sure["distance"] = (-least[: len(rows[0])], -least[len(rows[0]) :])
    return sure
