"""`smc audit processing`: the record of processing, and a draft of the impact assessment. The node may be running."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parties.base import console, files
from parties.base.settings import required
from parties.base.text import printable
from parties.commands.options import node_config, out_option, required_party_file
from parties.commands.outputs import FORCE, check_new
from parties.commands.signature import command, option
from parties.link.identity import read_certificate
from parties.node.records import audit, database
from parties.tables import schema
from smc import __version__
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.node.governance.processing import Evidence


@command("processing", "smc audit processing --config party.toml --dpia --report report.json")
def processing(
    config_file: Path | None = node_config,
    form: str = option(
        "Output format: Markdown or JSON  [md]", click.Choice(["md", "json"]), flag="--format", default="md"
    ),
    dpia: bool = option("Add a draft of the impact assessment, with the measured risks."),
    reports: tuple[Path, ...] = option("With --dpia: report of smc publish; repeatable.", flag="--report"),
    out: Path | None = out_option,
    force: bool = FORCE,
) -> None:
    """Write the record of processing (GDPR, article 30).

    The record lists purposes, categories, recipients, terms and measures. Its sources are party.toml and the audit log.
    Facts in neither of them are listed as missing.
    """
    from parties.node.governance import assessment, processing
    from parties.node.governance.markdown import to_markdown

    path = required_party_file(config_file)
    if reports and not dpia:
        raise InputError("--report: goes with --dpia, the assessment that lists its risks; add --dpia")
    check_new({"--out": out}, reports, path, force)
    evidence = _evidence(path)
    document: dict[str, Any] = {"record": processing.record(evidence)}
    if dpia:
        document["assessment"] = assessment.assess(evidence, {str(report): _json(report) for report in reports})
    if out is not None:
        written = to_markdown(document) if form == "md" else json.dumps(document, ensure_ascii=False, indent=2) + "\n"
        files.write_text(out, written)
        console.err.print(f"written: {out}")
    elif form == "md":
        print(to_markdown(document), end="")
    else:
        console.print_json(document)
    if evidence.state is not None and not evidence.state.ok:
        console.err.print(printable(f"the records are not whole: {evidence.state.problems[0]}"))


def _evidence(path: Path) -> Evidence:
    """Return all sources of the record: party.toml, its schemas, and the log if it exists."""
    from parties.node import peers, settings
    from parties.node.governance.activities import Log, read
    from parties.node.governance.processing import Evidence
    from parties.node.log import integrity

    file = settings.load(path)
    log, state, place = Log(), None, file.node.state / database.FILE_NAME
    if place.exists():
        owner = read_certificate(required(file.link.certificate, "link.certificate"))
        with database.reading(place) as connection:
            state = audit.state(integrity.verify(connection, owner, state=place.parent))
            log = read(map(audit.entry, database.rows(connection)))
    return Evidence(
        file=file,
        schemas={name: schema.load(table.schema_file) for name, table in file.tables.items()},
        peers=peers.acquaintances(file),
        log=log,
        state=state,
        at=datetime.now(UTC).isoformat(timespec="seconds"),
        software=f"smc {__version__}",
    )


def _json(path: Path) -> dict[str, Any]:
    try:
        content = files.read_json(path)
    except InputError as error:
        raise InputError(
            f"--report: {path} is no report of smc publish ({error}); give one written with --report"
        ) from None
    if not isinstance(content, dict):
        raise InputError(f"--report: {path} is no report of smc publish; give one written with --report")
    return content
