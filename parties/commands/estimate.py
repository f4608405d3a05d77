"""`smc estimate`: what a job will cost on every engine, before anything runs and with no peer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.table import Table

from parties import console
from parties.commands.options import FILE, json_option
from parties.jobs import planner, running
from parties.jobs.running import indexed
from parties.jobs.settings import Id3Settings
from parties.settings import merge
from parties.tables import schema
from parties.trees.tree import TreeFile
from smc.circuit import load as load_circuit
from smc.counting import Forecast, Program, forecast
from smc.engines import Profile
from smc.errors import InputError
from smc.link_shape import LinkShape

Command = TypeVar("Command", bound=Callable[..., Any])


def _common(command: Command) -> Command:
    """Options of every estimate."""
    batch = click.option("--link", default="loopback", metavar="LINK", help="RATE,ROUND-TRIP[,WINDOW] or loopback, lan, wan.")
    return batch(json_option(command))


_batch = click.option("--batch", type=click.IntRange(1, 1 << 24), default=1, help="So many at once  [1]")


@click.group("estimate")
def group() -> None:
    """What a job will cost on every engine: AND gates, bytes each way, messages, rounds, and seconds on a link.

    Nothing runs and no peer is needed. Bytes, messages and rounds (party 0's, party 1's) are exactly what the run will
    measure; seconds are a prediction.
    """


@group.command(
    short_help="Comparisons.",
    epilog="Example:  smc estimate millionaires --bits 32 --batch 1000000 --link 100mbit,40ms",
)
@click.option("--bits", type=click.IntRange(1, 64), default=32, help="Width of the numbers  [32]")
@_batch
@_common
def millionaires(bits: int, batch: int, link: str, as_json: bool) -> None:
    """Estimate `smc millionaires`; --batch for many comparisons at once, by the library."""
    _show(planner.millionaires_program(bits, batch), planner.profiles(integers=False), link, as_json)


@group.command(short_help="A Bristol circuit.", epilog="Example:  smc estimate circuit aes_128.txt --link lan")
@click.argument("file", type=FILE)
@_batch
@_common
def circuit(file: Path, batch: int, link: str, as_json: bool) -> None:
    """Estimate `smc circuit` for a Bristol circuit FILE."""
    netlist = load_circuit(file)
    if not 1 <= len(netlist.input_widths) <= 2:
        raise InputError(f"{file}: the circuit has {len(netlist.input_widths)} inputs; two parties can hold one or two")
    _show(planner.circuit_program(netlist, batch), planner.profiles(integers=False), link, as_json)


@group.command(
    "id3",
    short_help="A joint decision tree.",
    epilog="Example:  smc estimate id3 --schema schema.toml --max-rows 2000 --link wan",
)
@click.option("--schema", "schema_", type=FILE, required=True, help="The agreed schema.")
@click.option("--target", metavar="COLUMN", help="The class column  [target in the schema]")
@click.option("--delta", type=float, help="As for smc id3  [0.001]")
@click.option("--min-rows", type=int, help="As for smc id3  [0]")
@click.option("--max-depth", type=int, help="As for smc id3  [no limit]")
@click.option("--max-rows", type=int, help="As for smc id3  [65535]")
@click.option("--tree", type=FILE, help="The tree of an earlier run: then the costs are exact.")
@_common
def id3(schema_: Path, tree: Path | None, link: str, as_json: bool, **flags: Any) -> None:
    """Estimate `smc id3`: exact for the tree of an earlier run, else the most that any tree can cost."""
    own = merge(Id3Settings(), flags)
    agreed = schema.load(schema_)
    target = agreed.choose_target(own.target)
    problem = running.problem(own, agreed, target)
    known = None
    if tree is not None:
        found = TreeFile.load(tree)
        if (found.schema_digest, found.target) != (agreed.digest(), target):
            raise InputError(f"{tree}: the tree is for another schema or target than {schema_} with target {target}")
        known = indexed(found.tree, agreed, target)
    title = "for this tree" if known is not None else "at most, whatever the tree"
    _show(planner.id3_program(problem, known), planner.profiles(integers=True), link, as_json, title)


def _show(program: Program, profiles: Sequence[Profile], link: str, as_json: bool, title: str = "") -> None:
    shape = LinkShape.parse(link)
    rows: list[dict[str, Any]] = []
    with console.progress("counting") as progress:
        for profile in profiles:
            progress.doing(f"counting: {profile}")
            rows.append(_fields(forecast(program, profile), shape))
    rows.sort(key=lambda row: row["seconds"])
    if as_json:
        console.print_json({"link": str(shape), "estimates": rows})
        return
    table = Table(box=None, padding=(0, 1), title=f"on {shape}{', ' + title if title else ''}", title_justify="left")
    for name in ("engine", "OT", "garbling", "circuits"):
        table.add_column(name, no_wrap=True)
    for name in ("AND gates", "party 0 sends", "party 1 sends", "messages", "rounds", "seconds"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            row["engine"],
            row["ot"],
            row["garbling"] or "",
            row["form"] or "",
            f"{row['and_gates']:,}",
            console.size(row["party0_sends"]),
            console.size(row["party1_sends"]),
            f"{row['messages']:,}",
            f"{row['party0_rounds']:,}, {row['party1_rounds']:,}",
            f"{row['seconds']:.3g}",
        )
    console.show(table)


def _fields(one: Forecast, shape: LinkShape) -> dict[str, Any]:
    profile, (own, peer) = one.profile, one.costs
    return {
        "engine": profile.engine,
        "ot": profile.ot,
        "garbling": profile.garbling if profile.garbles else None,
        "form": profile.form,
        "and_gates": own.and_gates,
        "party0_sends": own.bytes_sent,
        "party1_sends": peer.bytes_sent,
        "messages": own.messages,
        "party0_rounds": own.rounds,
        "party1_rounds": peer.rounds,
        "seconds": round(one.seconds(shape), 6),
    }
