"""`smc id3`: the joint decision tree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parties import console
from parties.commands.options import FILE, engine_options, json_option, link_options, settings
from parties.commands.outputs import Outputs, output_options
from parties.jobs import running
from parties.jobs.running import Connection, id3_specification, named
from parties.settings import required
from parties.tables import schema
from parties.tables.rows import load
from parties.text import listed
from parties.trees.tree import TreeFile
from protocols.counts import RowCounts
from protocols.id3 import id3 as run_id3

if TYPE_CHECKING:
    from smc.counting import Program


@click.command(
    "id3",
    epilog="Example:  smc id3 --data mine.csv --schema schema.toml --target play --out tree.json --config party.toml",
)
@click.option("--data", type=FILE, help="Own rows, a CSV file; private.")
@click.option("--schema", "schema_", type=FILE, help="The agreed schema.")
@click.option("--target", metavar="COLUMN", help="The class column  [target in the schema]")
@click.option("--delta", type=float, help="Conditional entropies may be that far from the best  [0.001]")
@click.option("--min-rows", type=int, help="Nodes with at most so many rows become leaves  [0]")
@click.option("--max-depth", type=int, help="Deepest level of the tree  [no limit]")
@click.option("--max-rows", type=int, help="Public bound: no party has more rows  [65535]")
@engine_options("mixed", "lean", "yao", "gmw")
@output_options
@link_options
@json_option
def id3(config_file: Path | None, as_json: bool, schema_: Path | None, **flags: Any) -> None:
    """The decision tree of both parties' rows together. Both learn the tree, and nothing else."""
    link, own = settings(lambda file: file.id3, config_file, {**flags, "schema": schema_})
    agreed = schema.load(required(own.schema_file, "id3.schema"))
    target = agreed.choose_target(own.target)
    table = load(required(own.data, "id3.data"), agreed, target, own.max_rows)
    problem = running.problem(own, agreed, target)
    outputs = Outputs(own.out, own.report, own.dot, own.svg)
    outputs.check([own.data, own.schema_file, config_file, link.identity, link.certificate, link.peer])
    counts = RowCounts(problem.domains, problem.classes, table.rows, table.classes)
    connection = Connection(link)
    if table.ignored:
        console.err.print(f"not in the schema, ignored: {listed(table.ignored)}")

    def forecast() -> Program:
        from parties.jobs import planner

        return planner.id3_program(problem, splits=planner.TYPICAL_SPLITS)

    with console.progress("starting") as progress:
        indices, report = connection.run(
            id3_specification(own, agreed, target),
            lambda engine: run_id3(
                engine,
                problem,
                counts,
                lambda level: progress.doing(f"level {level.depth}: {level.nodes} nodes"),
            ),
            progress,
            forecast,
        )
        progress.doing("writing")
        found = TreeFile(agreed.digest(), target, own.delta, named(indices, agreed, target))
        outputs.write(found, report)
    if as_json:
        console.print_json({**found.fields(), "cost": report})
        return
    outputs.tell(found, report)
