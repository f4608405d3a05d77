"""`smc align check`: the keys of your own table, before anything is sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from parties.base import console
from parties.base.report import Report
from parties.base.settings import merge
from parties.base.text import listed, parts_of, quoted
from parties.commands.rows import CONFIG, TABLE, chosen
from parties.commands.signature import argument, command, option
from parties.jobs.align.reading import Value, forms_in, problems, problems_of_doubles, read_table
from parties.jobs.align.settings import ExactSettings, bounds, key_columns
from protocols.alignment.keys import first_with_value, tokens_per_row

FEW = 10  # keys: an answer about fewer describes single people
SHOWN = 3  # normal forms of a column
LISTED = 20  # rows with the key of an earlier row


@command("check", "smc align check mine.csv --by tax_number,name+born --forms name=accents+case,born=date:dmy")
def check_command(
    data: str = argument(metavar="DATA"),
    table: str | None = TABLE,
    by: str = option("Key columns, tried in order; + joins the columns of one key.", "LIST"),
    forms: str | None = option("Normal form of key columns, as for smc align exact  [as they are written]", "LIST"),
    keys: int | None = option("Bound --keys of the job: check that your keys fit  [not checked]"),
    config_file: Path | None = CONFIG,
) -> Report:
    """Show how your keys look, and what would keep your table from an alignment. Nothing is sent.

    The report counts rows without a key, doubles and cells that a normal form cannot read, and shows a few normal
    forms. They are private: the report is for you alone. Exit code 2 means that smc align exact would refuse the table.
    """
    given = {"by": parts_of(by), "forms": None if forms is None else parts_of(forms), "keys": keys}
    settings = merge(ExactSettings(), given)
    with console.progress("reading"):
        place, columns = chosen(data, table, config_file, is_own=True), key_columns(settings.by or ())
        found = read_table(place, columns, forms_in(place, settings, columns))
    most = found.rows if keys is None else bounds(settings, tokens_per_row(len(columns)))[1]
    reasons = [*problems(found, most), *problems_of_doubles(found, settings)]
    usable = found.rows - found.keyless
    report = Report(
        {
            "rows": found.rows,
            "rows_without_key": found.keyless,
            "keys": [
                {
                    "key": key,
                    "rows": sum(value is not None for value in values),
                    "doubles": doubles,
                    "double_rows": _double_rows(values),
                    "most_frequent": _most_frequent(values),
                }
                for key, values, doubles in zip(settings.by or (), found.keys, found.doubles, strict=True)
            ],
            "columns": [
                {
                    "column": name,
                    "empty": sum(cell is None for cell in normal) - unreadable,
                    "unreadable": unreadable,
                    "like_missing": dict(words.most_common(SHOWN)),
                    "normal": list(dict.fromkeys(cell for cell in normal if cell is not None))[:SHOWN],
                }
                for name, normal, unreadable, words in zip(
                    found.columns, found.normal, found.unreadable, found.wordlike, strict=True
                )
            ],
            "problems": reasons,
        },
        is_foreign=True,
        exit_code=2 if reasons else 0,
    )
    report.facts({"rows": "{rows:,}", "rows without any key": "{rows_without_key:,}"})
    report.table({"key": "{key}", "rows with it": ">{rows:,}", "doubles": ">{doubles:,}"}, report.data["keys"])
    report.table(
        {"column": "{column}", "empty": ">{empty:,}", "unreadable": ">{unreadable:,}", "normal form": "~{normal:list}"},
        report.data["columns"],
    )
    for one in report.data["keys"]:
        if pairs := [f"{pair['row']:,} as {pair['earlier']:,}" for pair in one["double_rows"]]:
            rest = ", ..." if one["doubles"] > LISTED else ""
            most = one["most_frequent"]
            report.line(f"most frequent {one['key']}: {listed(most['value'])} ({most['rows']:,})")
            report.line(f"doubles of key {one['key']}, the first row is 1: row {', '.join(pairs)}{rest}")
    for one in report.data["columns"]:
        if words := [f"{quoted(word)} ({number:,})" for word, number in one["like_missing"].items()]:
            report.line(f"column {one['column']}: looks like a missing value: {', '.join(words)}")
    for reason in reasons:
        report.line(f"refused: {reason}")
    if usable < FEW:
        report.line(f"only {usable:,} rows have a key: an answer about fewer than {FEW} describes single people")
    return report


def _most_frequent(values: Sequence[Value]) -> dict[str, Any] | None:
    most = Counter(value for value in values if value is not None).most_common(1)
    return {"value": most[0][0], "rows": most[0][1]} if most else None


def _double_rows(values: Sequence[Value]) -> list[dict[str, int]]:
    pairs = enumerate(first_with_value(values).tolist())
    return [{"row": row + 1, "earlier": earlier + 1} for row, earlier in pairs if row != earlier][:LISTED]
