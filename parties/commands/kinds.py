"""A command for each kind of job, made from its settings: `smc id3`, `smc millionaires` and so on."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

from parties.base import console
from parties.commands.options import FILE, json_option, link_options, settings, typed_line
from parties.commands.outputs import FORCE, Outputs
from parties.commands.own_table import TABLE, on_table
from parties.jobs import kinds
from parties.jobs.kind import Kind
from parties.jobs.running import Connection, declining
from parties.jobs.settings import KindSettings, Parameter, parameters
from parties.jobs.tabular_settings import TabularSettings
from parties.party_file import PartyFile
from smc.errors import InputError

Command = TypeVar("Command", bound=Callable[..., Any])
PLAIN = {int: int, float: float, str: str}
SEEN = (
    "A private value on the command line can be seen by other users of this machine: prefer '-' or the configuration "
    "file."
)


def command_of(name: str) -> click.Command:
    """Return the command that runs one task of a kind with the peer. `InputError` if there is no such kind."""
    kind = kinds.find(name)

    @FORCE
    @json_option
    @link_options
    def run(config_file: Path | None, as_json: bool, force: bool, table: str | None = None, **flags: Any) -> None:
        _run(kind, config_file, as_json, force, table, flags)

    found = [one for one in parameters(kind.Settings) if not one.node]
    secret = f"\n\n{SEEN}" if any(one.role == "private" for one in found) else ""
    example = f"Example:  smc {kinds.command(name)} {kind.example or '--config party.toml'}"
    whole = options_of(found)(TABLE(run) if issubclass(kind.Settings, TabularSettings) else run)
    return click.command(name, help=f"{inspect.cleandoc(kind.__doc__ or '')}{secret}", epilog=example)(whole)


def options_of(found: list[Parameter]) -> Callable[[Command], Command]:
    """Options, or arguments, for these parameters."""

    def decorate(command: Command) -> Command:
        for one in reversed(found):
            command = _option(one)(command)
        return command

    return decorate


def read_flags(found: list[Parameter], flags: Mapping[str, Any]) -> dict[str, Any]:
    """Flags as settings want them: lists cut at commas, `-` read from standard input, numbers read."""
    read = dict(flags)
    for one in found:
        value = read.get(one.variable)
        if isinstance(value, str) and one.role == "private":
            value = read_private(one, value)
        elif isinstance(value, tuple):
            value = one.joined.join(value) or None
        elif isinstance(value, str) and one.type is tuple:
            value = tuple(part.strip() for part in value.split(",") if part.strip())
        read.pop(one.variable, None)
        read[one.key] = value
    return read


def read_private(one: Parameter, text: str) -> Any:
    """Return a private value as it was typed; '-' reads it from standard input. `InputError` if it cannot be one."""
    if text == "-":
        text = typed_line("the private input")
    if one.type is not int:
        return text
    if not re.fullmatch("[0-9]+", text):
        raise InputError(f"{one.flag}: must be a whole number from 0 up")
    return int(text)


@contextmanager
def missing_by_flag(found: Sequence[Parameter]) -> Iterator[None]:
    """Give a setting that a kind finds to be missing is named by the flag that gives it."""
    try:
        yield
    except InputError as error:
        key, colon, problem = str(error).partition(": is missing")
        flag = next((one.flag for one in found if one.key == key), None)
        if not colon or flag is None:
            raise
        raise InputError(f"{flag}{colon}{problem}") from None


def _option(one: Parameter) -> Callable[[Command], Command]:
    if one.argument:
        return click.argument(one.variable, metavar=one.key.upper(), type=FILE, required=False)
    help_ = one.help
    if one.role == "private":
        help_ += "; '-' reads it from standard input."
    elif one.role == "public" and one.shown_default() and one.type is not bool:
        help_ += f"  [{one.shown_default()}]"
    elif one.is_needed:
        help_ += f"  [required, unless --{one.unless}]" if one.unless else "  [required]"
    if one.type is bool:
        return click.option(one.flag, one.variable, is_flag=True, default=None, help=help_)
    kind: Any = FILE if one.type is Path else click.Choice(one.choices) if one.choices else PLAIN.get(one.type, str)
    if one.role == "private":
        kind = str  # '-' must be possible, and what is wrong is said in one way
    column = one.metavar or ("LIST" if one.type is tuple else "COLUMN" if one.column else None)
    return click.option(one.flag, one.variable, type=kind, metavar=column, help=help_, multiple=bool(one.joined))


def _run(
    kind: type[Kind],
    config_file: Path | None,
    as_json: bool,
    force: bool,
    table: str | None,
    flags: Mapping[str, Any],
) -> None:
    found = [one for one in parameters(kind.Settings) if not one.node]
    read = read_flags(found, flags)

    def in_file(file: PartyFile) -> KindSettings:
        said = file.of_kind(kind.name)
        if isinstance(said, TabularSettings):
            return on_table(said, table, read.get("data") is not None, file.tables)
        return said

    link, own = settings(in_file, config_file, read)
    party = 0 if link.listen is not None else 1
    with missing_by_flag(found), declining(link):
        task, data, remarks = kind.alone(own, party)
    outputs = Outputs.of(kind, own)
    inputs = [kind.value(own, one) for one in found if one.role == "file"]
    outputs.check([*inputs, config_file, link.identity, link.certificate, link.peer], force)
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
