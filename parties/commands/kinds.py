"""A command for each kind of job, made from its settings: `smc id3`, `smc millionaires` and so on."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from parties.base import console
from parties.commands.options import FILE, Command, json_option, link_options, settings, typed_line
from parties.commands.outputs import Outputs
from parties.commands.own_table import TABLE, on_table
from parties.jobs import kinds
from parties.jobs.kind import Kind
from parties.jobs.running import Connection
from parties.jobs.settings import KindSettings, Parameter, parameters
from parties.jobs.tabular_settings import TabularSettings
from parties.party_file import PartyFile
from smc.errors import InputError

PLAIN = {int: int, float: float, str: str}
SEEN = (
    "A private value on the command line can be seen by other users of this machine: prefer '-' or the configuration "
    "file."
)


def command_of(name: str) -> click.Command:
    """Return the command that runs one task of a kind with the peer. `InputError` if there is no such kind."""
    kind = kinds.find(name)

    @json_option
    @link_options
    def run(config_file: Path | None, as_json: bool, table: str | None = None, **flags: Any) -> None:
        _run(kind, config_file, as_json, table, flags)

    chosen = [parameter for parameter in parameters(kind.Settings) if not parameter.node]
    secret = f"\n\n{SEEN}" if any(parameter.role == "private" for parameter in chosen) else ""
    example = f"Example:  smc {kinds.command(name)} {kind.example or '--config party.toml'}"
    whole = options_of(chosen)(TABLE(run) if issubclass(kind.Settings, TabularSettings) else run)
    return click.command(name, help=f"{inspect.cleandoc(kind.__doc__ or '')}{secret}", epilog=example)(whole)


def options_of(chosen: list[Parameter]) -> Callable[[Command], Command]:
    """Add options, or arguments, for these parameters."""

    def decorate(command: Command) -> Command:
        for parameter in reversed(chosen):
            command = _option(parameter)(command)
        return command

    return decorate


def read_flags(chosen: list[Parameter], flags: Mapping[str, Any]) -> dict[str, Any]:
    """Read flags as settings want them: lists cut at commas, `-` read from standard input, numbers read."""
    read = dict(flags)
    for parameter in chosen:
        value = read.get(parameter.variable)
        if isinstance(value, str) and parameter.role == "private":
            value = read_private(parameter, value)
        elif isinstance(value, tuple):
            value = parameter.joined.join(value) or None
        elif isinstance(value, str) and parameter.type is tuple:
            value = tuple(part.strip() for part in value.split(",") if part.strip())
        read.pop(parameter.variable, None)
        read[parameter.key] = value
    return read


def read_private(parameter: Parameter, text: str) -> Any:
    """Read a private value as it was typed; '-' reads it from standard input. `InputError` if it cannot be one."""
    if text == "-":
        text = typed_line("the private input")
    if parameter.type is not int:
        return text
    if not re.fullmatch("[0-9]+", text):
        raise InputError(f"{parameter.flag}: must be a whole number from 0 up")
    return int(text)


@contextmanager
def missing_by_flag(chosen: Sequence[Parameter]) -> Iterator[None]:
    """Name a setting that a kind finds to be missing by the flag that gives it."""
    try:
        yield
    except InputError as error:
        key, colon, problem = str(error).partition(": is missing")
        flag = next((parameter.flag for parameter in chosen if parameter.key == key), None)
        if not colon or flag is None:
            raise
        raise InputError(f"{flag}{colon}{problem}") from None


def _option(parameter: Parameter) -> Callable[[Command], Command]:
    if parameter.argument:
        return click.argument(parameter.variable, metavar=parameter.key.upper(), type=FILE, required=False)
    help_ = parameter.help
    if parameter.role == "private":
        help_ += "; '-' reads it from standard input."
    elif parameter.role == "public" and parameter.shown_default() and parameter.type is not bool:
        help_ += f"  [{parameter.shown_default()}]"
    elif parameter.is_needed:
        help_ += f"  [required, unless --{parameter.unless}]" if parameter.unless else "  [required]"
    if parameter.type is bool:
        return click.option(parameter.flag, parameter.variable, is_flag=True, default=None, help=help_)
    plain = FILE if parameter.type is Path else PLAIN.get(parameter.type, str)
    kind: Any = click.Choice(parameter.choices) if parameter.choices else plain
    if parameter.role == "private":
        kind = str  # '-' must be possible, and what is wrong is said in one way
    column = parameter.metavar or ("LIST" if parameter.type is tuple else "COLUMN" if parameter.column else None)
    return click.option(
        parameter.flag, parameter.variable, type=kind, metavar=column, help=help_, multiple=bool(parameter.joined)
    )


def _run(
    kind: type[Kind], config_file: Path | None, as_json: bool, table: str | None, flags: Mapping[str, Any]
) -> None:
    chosen = [parameter for parameter in parameters(kind.Settings) if not parameter.node]
    read = read_flags(chosen, flags)

    def in_file(file: PartyFile) -> KindSettings:
        in_table = file.of_kind(kind.name)
        if isinstance(in_table, TabularSettings):
            return on_table(in_table, table, read.get("data") is not None, file.tables)
        return in_table

    link, kind_settings = settings(in_file, config_file, read)
    party = 0 if link.listen is not None else 1
    with missing_by_flag(chosen):
        task, data, remarks = kind.alone(kind_settings, party)
    outputs = Outputs.of(kind, kind_settings)
    inputs = [parameter.of(kind_settings) for parameter in chosen if parameter.role == "file"]
    outputs.check([*inputs, config_file, link.identity, link.certificate, link.peer])
    connection = Connection(link)
    for remark in remarks:
        console.err.print(remark)
    with console.progress("starting") as status:
        state, report = connection.run_task(task, data, status)
        status.doing("writing")
        document = task.document(state)
        outputs.write(document, report)
    if as_json:
        console.print_json({**document, "cost": report if kind.phases else report["total"]})
    else:
        outputs.tell(kind.text(document, party), report)
