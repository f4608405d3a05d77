"""What a party does alone, before and after `smc id3`: `smc schema`, `smc predict`. No protocol is loaded for it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from parties.base import console, files
from parties.base.text import quoted
from parties.commands.options import FILE, check_proposal, json_option
from parties.models.load import load_model
from parties.models.trees import prediction
from parties.models.trees.prediction import Score
from parties.models.trees.tree import TreeFile
from parties.sources.cells import cells
from parties.tables import schema
from parties.tables.merging import merge
from smc.errors import InputError

MOST_NUMBERS = 10_000  # of a column, that are listed
WHOLE = "0|-?[1-9][0-9]{0,8}"  # as it is listed: a cell 007 would be none of 0 to 9


@click.command("schema", epilog="Example:  smc schema --data mine.csv --target play --out schema.toml")
@click.option("--data", type=FILE, help="Own rows, a CSV or Parquet file.")
@click.option("--schema", "own_file", type=FILE, help="Own proposal, instead of --data; with --merge.")
@click.option("--merge", "their_file", type=FILE, help="The peer's proposal: what both together need.")
@click.option("--target", metavar="COLUMN", help="The class column.")
@click.option("--exclude", metavar="COLUMN", multiple=True, help="Leave a column out; may be repeated.")
@click.option(
    "--numbers",
    metavar="COLUMN=LOW:HIGH",
    multiple=True,
    help="A column of whole numbers between public bounds, never taken from the rows: all are listed; may be repeated.",
)
@click.option("--out", type=FILE, required=True, help="The proposal, a new TOML file.")
def schema_command(
    data: Path | None,
    own_file: Path | None,
    their_file: Path | None,
    target: str | None,
    exclude: tuple[str, ...],
    numbers: tuple[str, ...],
    out: Path,
) -> None:
    """Propose a schema from one's own file, for the operators to complete and agree on.

    The proposal shows which values occur in this file, never how often. With --merge it is what both parties'
    proposals need: the columns that both have, with the values of either, the wider bounds and the edges of both; what
    they disagree on is named. Each party merges the other's into its own and gets the same: compare the digests.
    """
    if (data is None) == (own_file is None):
        raise InputError("give --data, or with --merge --schema: one of the two")
    if own_file is not None and (their_file is None or exclude or numbers):
        raise InputError("--schema is for --merge, and nothing can be excluded from it, or added")
    files.check_outputs({"--out": out}, [data, own_file, their_file])
    check_proposal(out)
    if data is not None:
        with console.progress("reading"):
            own = schema.propose(data, target, exclude, read=cells, numbers=dict(map(_bounded, numbers)))
    else:
        assert own_file is not None
        own = schema.Proposal(schema.load(own_file), ())
    for note in own.notes:
        console.err.print(note)
    if their_file is not None:
        own = merge(own.schema, schema.load(their_file), target)
        for note in own.notes:
            console.err.print(note)
    own.schema.save(out)
    console.out.print(f"{out}: {len(own.schema.attributes)} attributes, digest {own.schema.digest()}")


def _bounded(text: str) -> tuple[str, range]:
    """COLUMN=LOW:HIGH as the column and its numbers."""
    found = re.fullmatch(rf"(.+)=({WHOLE}):({WHOLE})", text)
    low, high = (0, 0) if found is None else (int(found[2]), int(found[3]))
    if found is None or not low < high <= low + MOST_NUMBERS:
        if re.fullmatch(r".+=-?[0-9]+:-?[0-9]+", text) and re.search(r"[=:]-?0[0-9]+(:|$)", text):
            raise InputError(
                f"--numbers: {quoted(text)}: write it without leading zeros; a cell 007 is no number, but a code"
            )
        raise InputError(
            f"--numbers: {quoted(text)} is no COLUMN=LOW:HIGH with LOW < HIGH, at most {MOST_NUMBERS:,} apart; "
            "age=0:120 for example"
        )
    return found[1], range(low, high + 1)


@click.command(epilog="Example:  smc predict --tree tree.json --data rows.csv")
@click.option("--tree", "tree_file", type=FILE, help="A tree that `smc id3 --out` wrote.")
@click.option("--model", "model_file", type=FILE, help="A model of `smc release naive-bayes` or `smc regress`.")
@click.option("--data", type=FILE, required=True, help="Rows to classify, a CSV or Parquet file.")
@json_option
def predict(tree_file: Path | None, model_file: Path | None, data: Path, as_json: bool) -> None:
    """Classify rows on this machine, one class a line; accuracy when the target column is there. Several trees vote."""
    with console.progress("classifying"):
        if tree_file is not None and model_file is None:
            tree = TreeFile.load(tree_file)
            target, rows = tree.target, cells(data)
            labels = prediction.vote(tree.trees, rows)
        elif model_file is not None and tree_file is None:
            model = load_model(model_file)
            target, rows = model.target, cells(data)
            labels = model.predict(rows)
        else:
            raise InputError("give --tree or --model, one of the two")
    score = prediction.score(labels, rows.values[target]) if target in rows.values else None
    if as_json:
        result: dict[str, Any] = {"predictions": labels}
        if score is not None:
            result |= {"accuracy": score.accuracy, "rows": score.rows, "confusion": score.confusion}
        console.print_json(result)
        return
    for label in labels:
        print(label)
    if score is not None and score.accuracy is not None:
        console.show(_confusion_table(score), console.err)
        console.err.print(f"accuracy {score.accuracy:.4f}: {score.correct} of {score.rows} rows")


def _confusion_table(score: Score) -> Table:
    table = console.columns(("",), score.confusion, "rows by actual (down) and predicted (across) class")
    for actual, counts in score.confusion.items():
        table.add_row(actual, *(str(count) for count in counts.values()))
    return table
