"""`smc bench`: measured cost of each protocol on each profile and link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from parties.base import console
from parties.base.report import Report
from parties.bench import survey
from parties.bench.cases import LONGEST_SECONDS, Case, default_cases, program_cases
from parties.commands.options import FOLDER
from parties.commands.signature import command, option
from smc.errors import InputError

COLUMNS = {  # sent and received from the view of party 0
    "protocol": "{protocol}",
    "profile": "{profile}",
    "batch": ">{batch:,}",
    "seconds": ">{seconds:.3f}",
    "least .. most": ">{seconds_min:.3f} .. {seconds_max:.3f}",
    "predicted": ">{predicted_seconds:.3f}",
    "sent": ">{bytes_sent:size}",
    "received": ">{bytes_received:size}",
    "messages": ">{messages:,}",
    "rounds": ">{rounds:,}",
    "AND gates": ">{and_gates:,}",
    "AND/s": ">{and_gates_per_second:,}",
}


@command(
    example="smc bench --only millionaires --links 'lan;50mbit,80ms'", short_help="Measure the cost of each protocol."
)
def bench(
    only: str = option("Run only cases that have TEXT in their title, such as 'gmw'.", "TEXT", default=""),
    program: str | None = option("Measure FUNCTION(engine, ARGUMENT...) instead.", "MODULE:FUNCTION"),
    arguments: tuple[str, ...] = option(
        "Argument of the program, for both parties; repeatable.", flag="--argument ARGUMENT"
    ),
    integers: bool = option("The program uses integers, so engines for integers are measured too."),
    links: str = option(
        "Links to emulate: presets separated by commas, or RATE,ROUND-TRIP separated by semicolons  [loopback,lan,wan]",
        default="loopback,lan,wan",
        metavar="LINKS",
    ),
    repeats: int = option("Runs of each case  [3]", click.IntRange(1, 100), default=3),
    out: Path | None = option(
        "Directory for bench.json and pictures. More cases are then measured, for the pictures.", FOLDER
    ),
) -> Report:
    """Measure each protocol and profile between two processes of this machine, over gRPC with mutual TLS.

    The link is emulated: loopback without limits, lan = 1 Gbit/s and a round trip of 0.5 ms, wan = 100 Mbit/s and 40
    ms. The figures include the setup (base OT, RSA keys), but not the start of the processes. Results are checked
    against the plain computation. Bytes, messages and rounds are checked against the forecast of smc estimate. For a
    program of yours, only the cost is checked.
    """
    shapes = survey.parse_links(links)
    cases = [case for case in _cases(program, arguments, integers) if only in case.title]
    if not cases and program is not None:
        raise InputError(f"--only: no profile of {program} has {only!r} in its name; give another TEXT")
    if not cases:
        protocols = "; ".join(dict.fromkeys(case.workload.name for case in default_cases()))
        raise InputError(
            f"--only: no case has {only!r} in its title 'PROTOCOL, PROFILE, batch N'; the protocols are: {protocols}"
        )
    if out is not None:
        survey.prepare(out)
    with console.progress("starting") as progress:
        document = survey.survey(shapes, cases, repeats, out is not None and not (only or program), progress.doing)
        if out is not None:
            progress.doing("drawing")
            for path in survey.write(document, out):
                progress.say(f"wrote {path}")
    report = Report(document)
    for name, shape in document["links"].items():
        title = name if name == shape else f"{name} ({shape})"
        report.table(COLUMNS, _of(document["rows"], name), f"{title}: median of {repeats}")
        for skipped in _of(document["skipped"], name):
            report.line(
                f" left out: {skipped['protocol']}, {skipped['profile']}, batch {skipped['batch']:,}: it would take "
                f"{skipped['predicted_seconds']:.0f} s a run, more than {LONGEST_SECONDS:.0f}"
            )
        report.line("")
    return report


def _cases(program: str | None, arguments: tuple[str, ...], integers: bool) -> list[Case]:
    if program is not None:
        return program_cases(program, arguments, integers)
    if arguments or integers:
        raise InputError("--argument and --integers go with --program; add --program")
    return default_cases()


def _of(rows: Sequence[Mapping[str, Any]], link: str) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["link"] == link]
