"""Local commands before and after `smc id3`: `smc schema`, `smc predict`; no protocol is loaded for them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from parties.base import console, files
from parties.base.report import Report
from parties.base.text import quoted
from parties.commands.options import TABLE, check_proposal, json_option, proposal_option
from parties.commands.own_table import chosen, has_tables
from parties.commands.rows import print_left_out
from parties.commands.signature import command, option
from parties.models import linear
from parties.models.load import AnyModel, columns_of, load_model, load_trees, predicted, schema_for
from parties.models.rules import Rules, words
from parties.models.scored import Scored
from parties.models.trees import prediction
from parties.models.trees.prediction import Predicted
from parties.models.trees.tree import NoBranchError, TreeFile
from parties.party_file import load
from parties.sources.cells import cells, cells_at
from parties.sources.settings import PlaceSettings
from parties.tables import schema
from parties.tables.delimited import Columns
from parties.tables.merging import merge_all, side_by_side
from parties.tables.unfit import NoColumnError
from smc.errors import InputError

MOST_NUMBERS = 10_000  # most numbers of a column that are listed
WHOLE = "0|-?[1-9][0-9]{0,8}"  # numbers listed as they are: a cell 007 would not match one of 0 to 9


@command("schema", "smc schema --data mine.csv --target play --out schema.toml")
def schema_command(
    data: Path | None = option("Your rows, a CSV or Parquet file."),
    own_file: Path | None = option("Your proposal, instead of --data; with --merge or --edges.", flag="--schema"),
    their_files: tuple[Path, ...] = option("Another party's proposal; repeatable: a schema for all.", flag="--merge"),
    beside: Path | None = option("Proposal of the party that has other columns of the same people."),
    edges_file: Path | None = option("Edges for --schema: the result of smc release edges."),
    target: str | None = option("Class column.", "COLUMN"),
    exclude: tuple[str, ...] = option("Leave this column out; repeatable.", "COLUMN"),
    numbers: tuple[str, ...] = option(
        "Column of whole numbers; the schema lists every number from LOW to HIGH. Repeatable.",
        flag="--numeric",
        metavar="COLUMN=LOW:HIGH",
    ),
    verbose: bool = option("With --merge: list all differences, column by column."),
    out: Path = proposal_option,
) -> Report:
    """Propose a schema from your own file. The operators complete it and agree on it.

    The cells of the file must already be categories; use smc prepare for a raw table. The proposal shows the values in
    this file, never their counts. The bounds of --numeric are never taken from the rows.

    --merge combines the proposals of all parties: the common columns, with the values of any party, the widest bounds
    and the edges of all. Disagreements are listed. Each party merges the others' proposals into its own and gets the
    same schema: compare the digests. --beside takes all columns of two proposals that have none in common.
    --edges groups columns of numbers by the edges of smc release edges.
    """
    if (data is None) == (own_file is None):
        raise InputError("--data: give it, or --schema with --merge, --beside or --edges; not both")
    if own_file is not None and ((not their_files and beside is None and edges_file is None) or exclude or numbers):
        raise InputError("--schema goes with --merge, --beside or --edges; remove --exclude, --numeric and --target")
    if beside is not None and their_files:
        raise InputError("--beside: the columns of --merge are common, those of --beside are not; give one of them")
    files.check_outputs({"--out": out}, [data, own_file, *their_files, beside, edges_file])
    check_proposal(out)
    if data is not None:
        with console.progress("reading"):
            proposal = schema.propose(cells(data), target, exclude, numbers=dict(map(_bounded, numbers)))
    else:
        assert own_file is not None
        proposal = schema.Proposal(schema.load(own_file), ())
    for note in proposal.notes:
        console.err.print(note)
    agreed = proposal.schema
    remarks: dict[str, list[Any]] = {"notes": list(proposal.notes)}
    if their_files:
        merged = merge_all(agreed, _proposals(their_files), target)
        for line in (note.text for note in merged.notes) if verbose else merged.summary():
            console.err.print(line)
        if not verbose and len(list(merged.summary())) < len(merged.notes):
            console.err.print("--verbose lists all differences, column by column")
        agreed = merged.schema
        remarks |= {"merging": [vars(note) for note in merged.notes]}
    if beside is not None:
        agreed = side_by_side(agreed, schema.load(beside), target)
    if edges_file is not None:
        agreed = agreed.with_edges(_edges(edges_file))
    agreed.save(out)
    report = Report({"digest": agreed.digest(), "attributes": list(agreed.attributes), **remarks})
    report.line(f"{out}: {len(agreed.attributes)} attributes, digest {agreed.digest()}")
    return report


def _proposals(paths: Sequence[Path]) -> dict[str, schema.Schema]:
    """Return the others' proposals by the names of their files. Raise InputError if a file is listed twice."""
    proposals: dict[str, schema.Schema] = {}
    for path in paths:
        if str(path) in proposals:
            raise InputError(f"--merge: {path} is listed twice; list one file of each party")
        proposals[str(path)] = schema.load(path)
    return proposals


def _edges(path: Path) -> dict[str, list[object]]:
    """Return the edges of each column in a result of `smc release edges`; raise InputError for another file."""
    result = files.read_json(path)
    try:
        return {str(entry["column"]): list(entry["edges"]) for entry in result["edges"]}
    except (TypeError, KeyError):
        raise InputError(f"{path}: has no edges; give a result of smc release edges") from None


def _bounded(text: str) -> tuple[str, range]:
    match = re.fullmatch(rf"(.+)=({WHOLE}):({WHOLE})", text)
    low, high = (0, 0) if match is None else (int(match[2]), int(match[3]))
    if match is None or not low < high <= low + MOST_NUMBERS:
        if re.fullmatch(r".+=-?[0-9]+:-?[0-9]+", text) and re.search(r"[=:]-?0[0-9]+(:|$)", text):
            raise InputError(f"--numeric: {quoted(text)}: remove the leading zeros; a cell 007 is a code, not a number")
        raise InputError(
            f"--numeric: {quoted(text)} must be COLUMN=LOW:HIGH with LOW < HIGH, at most {MOST_NUMBERS:,} apart; "
            "age=0:120 for example"
        )
    return match[1], range(low, high + 1)


@command(example="smc predict --tree tree.json --data raw.csv --config party.toml --score")
def predict(
    tree_file: Path | None = option("Trees written by smc id3 or smc forest --out; or give --model or --rules."),
    model_file: Path | None = option("Model of smc release naive-bayes, smc scorecard, smc regress or smc boost."),
    rules_file: Path | None = option("Rules written by smc rules --out: list those that match each row."),
    data: Path | None = option("Rows to classify, CSV or Parquet; with --config, raw rows like those of its table."),
    config_file: Path | None = option("party.toml: map the rows to the schema in the same way as its table."),
    table: str | None = TABLE,
    only_score: bool = option("Print the accuracy on rows of known class, in detail.", flag="--score"),
    as_json: bool = json_option,
) -> None:
    """Classify rows on this machine, one class per line. If a file has several trees, they vote.

    If the rows have the target column, the accuracy is printed. With --config, the rows are those of its table, or of a
    file --data with the same cell formats: raw cells become the schema's categories as in the job that made the model.
    With --rules, each line lists the matching rules of a row, by their numbers in the file. The last lines show how
    often the rules hold here.
    """
    if rules_file is not None:
        if tree_file is not None or model_file is not None:
            raise InputError("give exactly one of --tree, --model and --rules")
        _apply_rules(rules_file, data, config_file, table, only_score, as_json)
        return
    with console.progress("classifying"):
        if (tree_file, model_file, data, config_file) == (None, None, None, None):
            raise click.UsageError("give --tree, --model or --rules, and the rows: --data or --config")
        if (tree_file is None) == (model_file is None):
            raise InputError("give exactly one of --tree, --model and --rules")
        model = _tree(tree_file) if tree_file is not None else load_model(model_file or Path())
        rows = _rows_for(model, data, config_file, table)
        try:
            labels = predicted(model, rows)
        except NoBranchError as error:
            raw = "" if config_file is not None else "; if the rows are as raw as a table's, give its --config"
            raise InputError(f"{error}{raw}") from None
    actual = rows.values.get(model.target)
    if isinstance(model, Scored) and model.classes is None:
        _show_numbers(labels, model, actual, only_score, as_json)
        return
    score = prediction.score(labels, actual) if actual is not None else None
    calibration: list[Predicted] = []
    if actual is not None and (only_score or as_json):
        scores = model.scores(rows) if isinstance(model, Scored) else None
        calibration = prediction.calibration(labels, actual, scores)
    if only_score and (score is None or score.accuracy is None):
        raise InputError(
            f"--score: the rows have no column {quoted(model.target)} with classes; add it, or remove --score"
        )
    if as_json:
        result: dict[str, Any] = {} if only_score else {"predictions": labels}
        if score is not None:
            result |= {"accuracy": score.accuracy, "majority": score.majority, "rows": score.rows}
            result["confusion"] = score.confusion
            result["calibration"] = [group.fields() for group in calibration]
        console.print_json(result)
        return
    for label in [] if only_score else labels:
        print(label)
    if score is not None and score.accuracy is not None:
        screen = console.out if only_score else console.err
        report, classes = Report(), score.confusion
        counted = [(actual, *counts.values()) for actual, counts in classes.items()]
        heads = [("", ""), *((predicted, ">") for predicted in classes)]
        report.table(heads, counted, "rows by actual (down) and predicted (across) class")
        report.lines(map(_calibration_line, calibration))
        about = f"accuracy {score.accuracy:.4f}: {score.correct} of {score.rows} rows"
        report.line(f"{about}; the most frequent class alone: {score.majority:.4f}")
        report.print(screen)


def _tree(path: Path) -> TreeFile:
    """Return the tree of a file; raise InputError with the right flag if the file holds a model."""
    try:
        return load_trees(path)
    except InputError as error:
        try:
            load_model(path)
        except InputError:
            raise error from None
        raise InputError(f"--tree: {path} is a model, not a tree; give it with --model") from None


def _show_numbers(
    numbers: list[str], model: Scored, actual: Sequence[str] | None, only_score: bool, as_json: bool
) -> None:
    """Print the predictions of a model for numbers, and their errors on rows with a known number."""
    score = None if actual is None else linear.score(numbers, actual)
    if only_score and score is None:
        raise InputError(
            f"--score: the rows have no column {quoted(model.target)} with numbers; add it, or remove --score"
        )
    if as_json:
        result: dict[str, Any] = {} if only_score else {"predictions": list(map(float, numbers))}
        console.print_json(result if score is None else result | score)
        return
    for number in [] if only_score else numbers:
        print(number)
    if score is not None:
        screen = console.out if only_score else console.err
        about = f"root of the mean square error {score['rmse']:.6g}, R2 {score['r2']:.4f}"
        screen.print(f"{about}: {score['rows']} rows")


def _apply_rules(
    path: Path, data: Path | None, config_file: Path | None, table: str | None, only_score: bool, as_json: bool
) -> None:
    """Print the rules that match each row, and how often each rule holds."""
    with console.progress("applying"):
        rules = Rules.load(path)
        if not rules.rules:
            raise InputError(f"{path}: has no rules to apply; learn rules with a lower support or confidence")
        rows = _rows_for(rules, data, config_file, table)
        fire, hold = rules.fire(rows), rules.hold(rows)
    fires, holds = fire.sum(axis=0).tolist(), hold.sum(axis=0).tolist()
    of_rows = [[place + 1 for place in row.nonzero()[0].tolist()] for row in fire]
    if as_json:
        lines = [
            {"rule": place, "if": conditions, "then": then, "rows": spoken, "right": right}
            for place, ((conditions, then), spoken, right) in enumerate(zip(rules.texts, fires, holds, strict=True), 1)
        ]
        console.print_json({**({} if only_score else {"fire": of_rows}), "rules": lines, "rows": len(fire)})
        return
    for numbers in [] if only_score else of_rows:
        print(" ".join(map(str, numbers)))
    listed = []
    for place, ((conditions, then), spoken, right) in enumerate(zip(rules.rules, fires, holds, strict=True), 1):
        share = f"{right / spoken:.1%}" if spoken else "-"
        listed.append((place, f"if {words(conditions)} then {words(then)}", f"{spoken:,}", f"{right:,}", share))
    report, title = Report(is_foreign=True), f"rules on {len(fire):,} rows of this file or table"
    report.table({"": "", "rule": "", "rows": ">", "right": ">", "share": ">"}, listed, title)
    report.print(console.out if only_score else console.err)


def _rows_for(model: AnyModel | Rules, data: Path | None, config_file: Path | None, named: str | None) -> Columns:
    """Return the rows to classify: the cells of a file, or with party.toml cells mapped to the schema's categories."""
    if config_file is None:
        if data is None:
            raise InputError("--data is missing; give it, or --config for the rows of a table")
        if named is not None:
            if not has_tables(data):
                raise InputError("--table: needs --config, which is missing; give both")
            return cells_at(PlaceSettings(source=str(data), table=named))
        return cells(data)
    tables = load(config_file).tables
    # predictions are shown to the owner only, so all rows of a person count
    everybody = {"person": None, "at_most": None}
    table = tables[chosen(named, tables, config_file)].model_copy(update=everybody)
    if data is not None:
        elsewhere: dict[str, Any] = {"source": str(data), "table": None, "query": None, "files": {}}
        table = table.model_copy(update=elsewhere)
    if table.is_chosen:
        print_left_out(table)
    columns, agreed = columns_of(model), schema_for(model, table.schema_file)
    from parties.sources.labels import labelled

    if isinstance(model, Rules) or model.target not in agreed.attributes:
        return labelled(table, agreed, columns)
    try:
        return labelled(table, agreed, [*columns, model.target])
    except NoColumnError:
        return labelled(table, agreed, columns)  # new rows have no class yet


def _calibration_line(group: Predicted) -> str:
    reach = "" if group.scores is None else " with scores from {:.3g} to {:.3g}".format(*group.scores)
    label = quoted(group.label)
    return f"predicted {label}{reach}: {group.right / group.rows:.1%} right, {group.right:,} of {group.rows:,} rows"
