"""`smc contribute`: give shares of your numbers to two parties that compute."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from parties.base import console
from parties.base.settings import merge
from parties.base.text import parts_of, visible
from parties.commands.options import TABLE, find_party_file, party_config
from parties.commands.own_table import check_file, check_has_tables, chosen
from parties.commands.signature import command, option
from parties.link.settings import LinkSettings
from parties.operator.cautions import of_parameters
from parties.party_file import load
from parties.sources.settings import TableSettings
from smc.errors import InputError

ANSWER_SECONDS = 60.0  # both nodes wait for the answer meanwhile


@command("contribute", "smc contribute --config clinic/party.toml")
def contribute_command(
    config_file: Path | None = party_config,
    nodes: str | None = option("Certificates of the two parties that compute: A.crt,B.crt  [as in --config]", "LIST"),
    at: str | None = option(
        "Addresses where these two parties listen for holders: HOST:PORT,HOST:PORT  [as in --config]", "LIST"
    ),
    data: Path | None = option("Your private rows, CSV or Parquet  [the table of --config]"),
    schema_file: Path | None = option("The agreed schema  [required with --data]"),
    table: str | None = TABLE,
    max_rows: int | None = option("Public bound on your rows  [as in --config; 65535 with --data]"),
    identity: Path | None = option("Your private key, NAME.key."),
    certificate: Path | None = option("Your certificate, NAME.crt."),
    wait: float | None = option("Seconds to wait for the two parties that compute  [as in --config, or 180]"),
    yes: bool = option("Consent without being asked."),
) -> None:
    """Give secret shares of your numbers to two parties. They compute the answer over the rows of all.

    You see the question first, and have 60 seconds to answer. Neither of the two learns your numbers, unless both
    put their shares together.
    """
    file = load(find_party_file(config_file))
    link = merge(file.link, {"identity": identity, "certificate": certificate, "wait": wait})
    settings = merge(file.contribute, {"nodes": _list(nodes), "at": _list(at)})
    own = _table(file.tables, table, data, schema_file, max_rows, link)
    from parties.jobs.contributing import contribute, ways_of

    ways = ways_of(link, settings)
    if not yes and not console.is_asked():  # before dialling: a refusal ends the run of everybody
        raise InputError("there is no terminal to ask you: add --yes to consent to each question of the two")

    def consent(lines: list[str], parameters: Mapping[str, Any], status: console.StatusLine) -> None:
        for line in [*lines, *(f"Note: {sentence}" for sentence in of_parameters(parameters))]:
            status.say(visible(line))
        if not yes and not status.asked("Give your shares? [y/N] ", ANSWER_SECONDS):
            raise InputError("you have not consented, so nothing was sent")

    with console.progress("waiting for the two parties") as status:
        answered = contribute(ways, own, lambda lines, parameters: consent(lines, parameters, status), status)
    console.out.print(f"done: you gave shares for {answered} {'question' if answered == 1 else 'questions'}")


def _list(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(parts_of(text))


def _table(
    tables: Mapping[str, TableSettings],
    named: str | None,
    data: Path | None,
    schema_file: Path | None,
    max_rows: int | None,
    link: LinkSettings,
) -> TableSettings:
    """Return the table to contribute. Raise InputError if the choice is unclear, or if only a node may read it."""
    if data is None:
        if not tables:
            raise InputError("no rows: name a file with --config clinic/party.toml, or rows with --data and --schema")
        name = chosen(named, tables)
        table = tables[name]
        if table.budget is not None:
            raise InputError(
                f"tables.{name}: has a budget, which only a node keeps: run smc node, or use a table without a budget"
            )
    else:
        if named is not None:
            check_has_tables(data)
        check_file(data, tables)
        if schema_file is None:
            raise InputError("--schema is missing: give the schema of --data")
        table = TableSettings.model_validate({"source": str(data), "table": named, "schema": schema_file})
    if max_rows is not None:
        table = merge(table, {"max_rows": max_rows})
    table.owned_by(link.identity)
    return table
