"""`smc demo`: two real party processes on this machine, from certificates to the joint tree."""

from __future__ import annotations

import json
import os
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from parties.base import console
from parties.base.settings import merge
from parties.base.temporary import HeldDirectory
from parties.commands.kinds import options_of
from parties.commands.outputs import FORCE, Outputs
from parties.commands.signature import by_signature, option
from parties.commands.two_processes import run_both
from parties.jobs.execution.running import kernels_of
from parties.jobs.kind import Counted
from parties.jobs.kinds.id3 import Id3
from parties.jobs.settings import ENGINE, parameters
from parties.jobs.tree.settings import MOST_SHARDS, Id3Settings
from parties.models.trees.text import to_text
from parties.models.trees.tree import TreeFile
from parties.tables import example
from smc.errors import InputError

ROWS = 7  # rows of a clinic


@click.command(epilog="Example:  smc demo --svg tree.svg")
@options_of([parameter for parameter in parameters(Id3Settings) if parameter.key in ENGINE])
@by_signature
def demo(
    svg: Path | None = option("Draw the tree as SVG."),
    holders: int | None = option("Deal the rows to N clinics; two more parties compute.", "N"),
    force: bool = FORCE,
    **flags: str | None,
) -> None:
    """Let two clinics learn one decision tree: new identities, mutual TLS on loopback, bundled data.

    Each clinic is a separate process that reads its own seven rows. This command only starts them. With so few rows, a
    tree needs smc id3 --plain, which has no minimum per leaf. The data describe no real person.

    With --holders 3, three clinics give shares of their numbers to two universities, who have no rows.
    """
    if holders is not None and not 2 <= holders <= 2 * ROWS:
        raise InputError(f"--holders: must be 2 to {2 * ROWS}, so that each clinic has a row")
    from parties.jobs.execution.engine_selection import usual  # with the engines
    from parties.jobs.execution.profiles import contenders
    from smc.kernels.warm import NOTICE, warm  # loads LLVM

    bundled = example.demo()
    Outputs(Id3, {"svg": svg}).check([], None, force)
    with HeldDirectory("demo") as name:
        directory = Path(name)
        chosen: dict[str, Any] = {name.removeprefix("own_"): value for name, value in flags.items()}
        if chosen["ot"] == "trapdoor":  # each gate is an operation of RSA: few gates, and every core takes its part
            chosen |= {"form": chosen["form"] or "size", "shards": min(MOST_SHARDS, os.cpu_count() or 1)}
        settings = merge(Id3Settings(), chosen | {"schema": bundled.schema, "plain": True, "max_rows": ROWS})
        givers: dict[str, list[str]] | None
        rows = ROWS if holders is None else -(-2 * ROWS // holders)  # of each clinic, at most
        with console.progress("starting") as status:
            possible = [usual(settings)] if settings.engine != "auto" else contenders(integers=True)
            warm(kernels_of(possible), lambda done, total: status.share(NOTICE, done, total))
        if settings.engine != "auto":
            console.err.print(
                f"forecast: about {console.duration(_forecast(settings, directory, holders is not None))}"
            )
        job = ["--schema", str(bundled.schema), "--plain"]  # with seven rows each, rules would leave no tree
        job += ["--max-rows", str(rows)]
        for name, value in chosen.items():
            job += [f"--{name}", str(value)] if value is not None else []
        outputs = ["--out", str(directory / "tree.json"), "--report", str(directory / "cost.json")]
        outputs += ["--svg", str(svg), "--force"] if svg is not None else []
        if holders is None:
            own, givers = (["--data", str(bundled.clinic_a)], ["--data", str(bundled.clinic_b)]), None
            names, progress = ("clinic-a", "clinic-b"), "the clinics compute"
        else:
            names, progress = ("university-a", "university-b"), "the universities compute"
            own, givers = _with_holders(directory, holders, names, rows)
        run_both(directory, names, (["id3", *own[0], *job, *outputs], ["id3", *own[1], *job]), progress, givers)
        tree_file = TreeFile.load(directory / "tree.json")
        report = json.loads((directory / "cost.json").read_text())
    console.out.print(
        f"\nThe tree of {'both' if holders is None else 'all'} clinics' rows, target {tree_file.target}:\n"
    )
    console.out.print(to_text(tree_file.tree))
    console.out.print(console.cost_table(report))
    if svg is not None:
        console.out.print(f"\ndrawn in {svg}")


def _with_holders(
    directory: Path, number: int, nodes: tuple[str, str], rows: int
) -> tuple[tuple[list[str], list[str]], dict[str, list[str]]]:
    """Deal the bundled rows to clinics; return the options of both that compute, and the command of each clinic.

    Args:
        directory: A folder for the rows.
        number: Number of clinics.
        nodes: Names of the two that compute.
        rows: Greatest number of rows of a clinic.
    """
    bundled = example.demo()
    head, *lines = bundled.clinic_a.read_text().splitlines()
    lines += bundled.clinic_b.read_text().splitlines()[1:]
    names, ways = [f"clinic-{place + 1}" for place in range(number)], _free_addresses(len(nodes))
    certificates = [",".join(f"{directory / name}.crt" for name in some) for some in (names, nodes)]
    give = ["contribute", "--yes", "--schema", str(bundled.schema), "--max-rows", str(rows)]
    give += ["--nodes", certificates[1], "--at", ",".join(ways)]
    for place, name in enumerate(names):
        (directory / f"{name}.csv").write_text("\n".join([head, *lines[place::number], ""]))
    one, other = (["--compute-only", "--holders", certificates[0], "--holders-at", way] for way in ways)
    return (one, other), {name: [*give, "--data", f"{directory / name}.csv"] for name in names}


def _free_addresses(number: int) -> list[str]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)]
        return ["127.0.0.1:" + str(one.getsockname()[1]) for one in sockets]


def _forecast(settings: Id3Settings, directory: Path, on_shares: bool = False) -> float:
    """Return the approximate seconds of the clinics' job on this machine; the tree of the bundled rows is public.

    Args:
        settings: Settings of the job.
        directory: A folder for the rows of both.
        on_shares: True if the rows are those of holders.
    """
    from parties.jobs.execution.engine_selection import usual
    from parties.jobs.execution.local_run import run_alone
    from parties.link.pace import USUAL, own_pace_of
    from smc.counting import forecast
    from smc.link_shape import LinkShape

    profile = usual(settings)
    bundled, rows = example.demo(), directory / "rows.csv"
    rows.write_text(bundled.clinic_a.read_text() + bundled.clinic_b.read_text().partition("\n")[2])
    joined, data, _ = Id3.alone(merge(settings, {"data": rows, "max_rows": 2 * ROWS}), 0)
    counted = Counted(Id3.planned(settings).with_result(run_alone(joined, data)))
    program = counted.on_shares().program if on_shares else counted.program
    return forecast(program, profile).seconds(LinkShape(), own_pace_of(profile.ot) / USUAL)
