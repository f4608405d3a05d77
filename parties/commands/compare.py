"""`smc compare`: comparison of a synthetic table with your own rows. Nothing leaves this machine."""

from __future__ import annotations

from pathlib import Path

from parties.base import console, files
from parties.base.report import Report
from parties.commands.options import TABLE
from parties.commands.outputs import FORCE, check_new
from parties.commands.own_table import chosen
from parties.commands.rows import CONFIG, choose, paths, place, print_left_out
from parties.commands.signature import command, option
from parties.party_file import load
from parties.sources.settings import PlaceSettings
from smc.errors import InputError


@command("compare", "smc compare --data mine.csv --synthetic made.csv --schema schema.toml --page report.html")
def compare_command(
    original: Path | None = option("Your rows, a CSV or Parquet file  [the table of --config]", flag="--data"),
    synthetic: Path = option("Synthetic table to compare with them."),
    schema_file: Path | None = option("Public schema, a TOML file  [the schema of the table of --config]"),
    target: str | None = option("Class column that models predict  [target in the schema]", "COLUMN"),
    report_file: Path | None = option("Write the report as JSON; keep it to yourself."),
    page_file: Path | None = option("Write the report as an HTML page."),
    svg_file: Path | None = option("Draw the report as SVG."),
    config_file: Path | None = CONFIG,
    table: str | None = TABLE,
    force: bool = FORCE,
) -> Report:
    """Compare a synthetic table with your rows: lost information, accuracy of models, copied rows.

    The figures are exact and reveal facts about your rows. Keep them to yourself.
    """
    from parties.alone.comparing.comparison import compare
    from parties.alone.comparing.presenting import draw_svg, report_of, to_html
    from parties.alone.comparing.reading import read

    sheet_named = schema_file is not None  # else --table names the table of --config with the schema
    if original is None or schema_file is None:
        if config_file is None:
            missing = "--data" if original is None else "--schema"
            raise InputError(f"{missing} is missing; give --data and --schema, or --config for both from its table")
        tables = load(config_file).tables
        settings = tables[chosen(table, tables, config_file)]
        schema_file = schema_file or settings.schema_file
    outputs = {"--report": report_file, "--page": page_file, "--svg": svg_file}
    where: PlaceSettings
    if original is not None:
        where = place(str(original), table if sheet_named else None)
        choose(where, config_file)
        inputs = [original]
    else:
        # the number of rows of a person that count concerns noise only
        where = settings.model_copy(update={"person": None, "at_most": None})
        where.read_as(where.model_copy())
        sources = [where.source, *(file.source for file in settings.files.values())]
        inputs = [path for source in sources for path in paths(source)]
    check_new(outputs, [*inputs, synthetic, schema_file], config_file, force)
    if original is None and where.chosen_as is not None:
        print_left_out(where)
    with console.progress("reading") as status, status.reporting():
        pair = read(where, synthetic, schema_file, target)
        try:
            data = compare(pair.domain, pair.original, pair.synthetic, pair.target, status.doing)
        except ValueError as error:
            raise InputError(str(error)) from None
    report = report_of(data)
    report.save(report_file)
    if page_file is not None:
        files.write_text(page_file, to_html(data, synthetic.name))
    if svg_file is not None:
        files.write_text(svg_file, draw_svg(data))
    report.written(*outputs.values())
    return report
