"""`smc run`: any program written against the engine, with the peer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from parties.base import console
from parties.base.address import require_free
from parties.base.code_digest import code_digest
from parties.base.settings import merge
from parties.commands.kinds import options_of, read_flags
from parties.commands.options import ProgramCommand, file_and_link, json_option, link_options, program_arguments
from parties.commands.signature import by_signature
from parties.jobs.execution.running import Connection, declining
from parties.jobs.kind import KindSettings
from parties.jobs.settings import ENGINE, AnyEngine, engine_field, parameters
from parties.jobs.small.programs import arguments_of, check_arguments, load_program, public_arguments
from smc.counting import Program
from smc.errors import InputError


class RunSettings(KindSettings):
    """Engine settings of any program. The default is not auto, because a forecast would call the program."""

    engine: AnyEngine = engine_field("mixed")


PROFILE = [option for option in parameters(RunSettings) if option.key in ENGINE]


@click.command("run", cls=ProgramCommand, epilog="Example:  smc run protocols.equality:equal 5,7 --config party.toml")
@program_arguments
@click.option(
    "--own",
    "own_names",
    multiple=True,
    metavar="NAME",
    help="Name of a further argument that is private to you; repeatable.",
)
@click.option(
    "--integers", is_flag=True, help="The program uses integers, so --engine auto may choose an engine for integers."
)
@options_of(PROFILE)
@link_options
@by_signature
def run(
    program: str,
    arguments: tuple[str, ...],
    own_names: tuple[str, ...],
    integers: bool,
    config_file: Path | None,
    as_json: bool = json_option,
    **flags: Any,
) -> None:
    """Run FUNCTION(engine, ARGUMENT...) of a Python MODULE with the peer, who runs the same function.

    Arguments are read as in Python: -5 is a number, 1,2,3 and 5, are lists, anything else is text. The result is
    printed. The first argument is private to you, and so are those of *args and those named by --own. Both parties must
    give equal values for all others, name the same program and have the same code. Only the program decides what it
    reveals.
    """
    _, link = file_and_link(config_file, flags)
    with declining(link):
        if flags["ray"] is not None:
            raise InputError("--ray: goes with shards, which a program does not have; remove --ray")
        if link.listen is not None:
            require_free(link.listen)
        read = read_flags(PROFILE, flags)
        settings = merge(RunSettings.model_construct(), {option.key: read[option.key] for option in PROFILE})
        function, inputs = load_program(program), arguments_of(arguments)
        check_arguments(function, inputs)
        engine = {"engine": "auto"} if settings.engine == "auto" else {name: getattr(settings, name) for name in ENGINE}
        specification = {
            "protocol": "run",
            "program": program,
            "code": code_digest(program.partition(":")[0]),
            "arguments": public_arguments(function, inputs, own_names),
            **{k: v for k, v in engine.items() if v is not None},
        }
    connection = Connection(link)

    def counted() -> Program:
        return lambda engine: function(engine, *inputs)

    from parties.jobs.execution.engine_selection import choice, usual  # the engines take their time to load

    with (
        console.progress("starting") as status,
        connection.agreed(specification, status, choice(specification, counted, integers, usual(settings))) as running,
    ):
        result = function(running.engine, *inputs)
        report = running.finish()
    if as_json:
        console.print_json({"result": _as_json(result), "cost": report["total"]})
        return
    console.out.print(str(result))
    console.err.print(console.cost_table(report))


def _as_json(result: Any) -> Any:
    """Return the result as JSON; raise InputError if JSON cannot express it, for example keys that are not texts."""
    try:
        return json.loads(json.dumps(result, default=_plain))
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"--json: the result cannot be written as JSON: {error}; remove --json") from None


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)
