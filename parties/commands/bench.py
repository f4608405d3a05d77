"""`smc bench`: what each protocol costs on each engine and link."""

from __future__ import annotations

import platform

import click
from rich.table import Table

from parties import console
from parties.bench import Measurement, run_all
from parties.cases import chosen_cases
from parties.commands.options import json_option
from smc.errors import InputError


@click.command(short_help="Measure what each protocol costs.", epilog="Example:  smc bench --json > costs.json")
@click.option("--only", default="", metavar="TEXT", help="Only cases with TEXT in their title, such as 'gmw'.")
@json_option
def bench(only: str, as_json: bool) -> None:
    """Measure each protocol and engine, in memory and over gRPC with mutual TLS on loopback.

    Setting up (base OT, RSA keys) is included; the start of the processes is not. Median of three runs.
    """
    if not chosen_cases(only):
        titles = "; ".join(case.title for case in chosen_cases(""))
        raise InputError(f"--only: no case has {only!r} in its title; there are: {titles}")
    rows: list[Measurement] = []
    with console.progress("warming up") as progress:

        def told(row: Measurement) -> None:
            rows.append(row)
            progress.doing(f"{row.protocol}, {row.engine}, {row.ot}, {row.link}")

        run_all(told, only)
    if as_json:
        machine = {"processor": platform.processor() or platform.machine(), "python": platform.python_version()}
        console.print_json({"machine": machine, "rows": [row.as_dict() for row in rows]})
        return
    console.show(_table(rows))


def _table(rows: list[Measurement]) -> Table:
    """One line a case: bytes, rounds and gates are the same on both links."""
    table = Table(box=None, padding=(0, 1))
    for name in ("protocol", "engine", "OT"):
        table.add_column(name, no_wrap=True)
    for name in ("batch", "memory s", "gRPC s", "both ways", "rounds", "AND gates"):
        table.add_column(name, justify="right", no_wrap=True)
    for memory, grpc in zip(rows[::2], rows[1::2], strict=True):
        table.add_row(
            memory.protocol,
            memory.engine,
            memory.ot,
            f"{memory.batch:,}",
            f"{memory.seconds:.3f}",
            f"{grpc.seconds:.3f}",
            console.size(memory.bytes),
            f"{memory.rounds:,}",
            f"{memory.and_gates:,}",
        )
    return table
