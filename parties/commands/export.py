"""`smc export`: models in formats of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from parties.base import console, files
from parties.base.text import listed
from parties.commands.options import TABLE, out_option
from parties.commands.outputs import FORCE, check_new
from parties.commands.own_table import spelled
from parties.commands.signature import command, option
from parties.models.load import load_any
from smc.errors import InputError


@command("export", "smc export --model tree.json --to sql --config party.toml --out tree.sql")
def export(
    model_file: Path = option("Trees or a model, as for smc predict."),
    form: Literal["sql", "onnx", "pmml", "lightgbm"] = option(
        "Output format.", click.Choice(["sql", "onnx", "pmml", "lightgbm"]), flag="--to"
    ),
    schema_file: Path | None = option("Schema: the exported model reads raw cells of its types."),
    config_file: Path | None = option("party.toml: the exported model reads raw cells, spelled as in its table."),
    table: str | None = TABLE,
    rows: str = option("SQL: name of the table in the query  [rows]", "NAME", default="rows"),
    dialect: str = option(
        "SQL: dialect of the database  [duckdb]",
        click.Choice(["duckdb", "postgres", "mysql", "spark"]),
        default="duckdb",
    ),
    out: Path | None = out_option,
    force: bool = FORCE,
) -> None:
    """Write a model as SQL, ONNX, PMML 4.4 or LightGBM's text. It predicts the same as smc predict.

    Input cells are the categories of the model. With --schema they are raw values of its types. With --config they are
    the raw values of a table, and an SQL query leaves out the rows that the table leaves out.

    You can export trees, forests, linear models, boosted trees and naive Bayes models. Scorecards are naive Bayes
    models. LightGBM takes only boosted trees.
    """
    if form == "onnx" and out is None:
        raise InputError("--out is missing: ONNX is a binary format, so give a file")
    check_new({"--out": out}, [model_file, schema_file], config_file, force)
    model = load_any(model_file)
    mapped = spelled(schema_file, config_file, table)
    from parties.deployed.columns import asked

    columns = asked(model, schema_file, mapped)
    if form == "onnx":
        from parties.deployed.onnx import to_onnx

        assert out is not None
        files.write_bytes(out, to_onnx(model, columns))
        console.err.print(f"written: {out}")
        return
    if form == "pmml":
        from parties.deployed.pmml import to_pmml

        text = to_pmml(model, columns)
    elif form == "lightgbm":
        from parties.deployed.lightgbm import beyond_bounds, to_lightgbm

        text = to_lightgbm(model, columns)
        if remark := beyond_bounds(model):
            click.echo(remark, err=True)
    else:
        from parties.deployed.sql import to_sql

        types, conditions = None, None
        if mapped is not None:
            if computed := [ask.rule.column for ask in columns.values() if ask.rule.column in mapped.derived]:
                raise InputError(
                    f"--to sql: {listed(computed)} are derived columns, which the database lacks; give --to pmml"
                )
            from parties.sources import open_rows
            from parties.sources.row_filter import conditions_of

            with open_rows(mapped) as opened:
                opened.select([ask.rule.column for ask in columns.values()])  # raises an error for a missing column
                types, conditions = dict(opened.types), conditions_of(opened, mapped)
            if mapped.objections is not None:
                click.echo(
                    "this query includes people who have objected, because it would name them otherwise", err=True
                )
        text = to_sql(model, columns, rows, dialect, types, conditions or ())
    if out is None:
        print(text, end="")
    else:
        files.write_text(out, text)
        console.err.print(f"written: {out}")
