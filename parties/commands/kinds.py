"""A command for each kind of job, made from its settings: `smc id3`, `smc millionaires` and so on."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parties.base import console
from parties.base.address import require_free
from parties.base.settings import merge
from parties.base.text import parts_of
from parties.commands import cost_text
from parties.commands.brief_help import Advanced, BriefCommand, both_terminals
from parties.commands.holders import givers_of, holder_options, part_of_holder
from parties.commands.options import (
    FILE,
    TABLE,
    Command,
    file_and_link,
    find_party_file,
    json_option,
    link_options,
    typed_line,
)
from parties.commands.outputs import FORCE, Outputs
from parties.commands.signature import by_signature
from parties.jobs import kinds
from parties.jobs.inputs import Inputs
from parties.jobs.kind import Kind, people
from parties.jobs.settings import Parameter, parameters
from parties.link.settings import LinkSettings
from protocols.release.promise import epsilon_warnings
from smc.errors import InputError

if TYPE_CHECKING:
    from smc.engines import Profile

_ALONE = click.option("--alone", is_flag=True, help="Use only your rows; no peer. As much noise as with a peer.")
_NODE = click.option(
    "--node",
    is_flag=False,
    flag_value="",
    metavar="[PEER]",
    help="Ask through your running node. The peer types the same command, or approves.",
)
_PURPOSE = click.option("--purpose", metavar="TEXT", help="With --node: purpose of the job, shown to the peer.")
OWN_ROWS = {"data": "--data mine.csv", "schema": "--schema schema.toml"}  # flags of an example
PLAIN = {int: int, float: float, str: str}
SEEN = "Other users of this machine can see a private value on the command line: prefer '-' or the configuration file."


def example_of(kind: type[Kind]) -> str:
    """Return example flags of a kind's command."""
    keys = {parameter.key for parameter in parameters(kind.Settings)}
    own_rows = "".join(f"{flag} " for key, flag in OWN_ROWS.items() if key in keys)
    return f"{own_rows}{kind.about.example} --config party.toml".strip()


def command_of(name: str) -> click.Command:
    """Return the command that runs one job of a kind with the peer; raise InputError if there is no such kind."""
    kind = kinds.find(name)
    options = [parameter for parameter in parameters(kind.Settings) if not parameter.node]
    on_rows = "own_table" in kind.Settings.model_fields
    roles = {option.role for option in options}
    is_typed = "private" in roles and "file" not in roles  # the inputs are complete: a node needs nothing else

    @by_signature
    @link_options
    def run(
        config_file: Path | None,
        force: bool = FORCE,
        as_json: bool = json_option,
        table: str | None = None,
        alone: bool = False,
        node: str | None = None,
        purpose: str | None = None,
        **flags: Any,
    ) -> None:
        if node is not None:
            config_file = find_party_file(config_file)
        file, link = file_and_link(config_file, flags)
        telling: AbstractContextManager[None] = nullcontext()
        if not alone and node is None:
            from parties.jobs.execution.running import Connection, declining  # loads what reads keys

            telling = declining(link)
        with telling:
            read = read_flags(options, flags)
            in_file: Any = file.of_kind(kind.name)
            if on_rows:
                from parties.commands.own_table import check_file, check_has_tables, on_table
                from parties.jobs.tabular import own_table

                in_file = on_table(in_file, table, read.get("data") is not None, file.tables)
            settings = merge(in_file, {option.key: read[option.key] for option in options})
            if on_rows and settings.own_table is None:
                check_file(settings.data, file.tables)
                if table is not None and settings.data is not None:
                    check_has_tables(settings.data)
                    sheet = own_table(settings).model_copy(update={"table": table})
                    settings = settings.model_copy(update={"own_table": sheet})
            if on_rows and settings.own_table is not None:
                settings.own_table.owned_by(link.identity)  # merging drops the identity, and a flag may set it
            outputs = Outputs.of(kind, settings)
            if flags["ray"] is not None and (getattr(settings, "shards", None) or 1) < 2:
                raise InputError("--ray: goes with shards; add --shards N if the job has it, else remove --ray")
            givers = None
            if on_rows:
                givers = givers_of(flags, link, getattr(settings, "max_rows", 0))
                if givers is not None:
                    from parties.jobs.tabular import with_holders

                    settings = with_holders(settings, givers.number)
                if flags["compute_only"] and (read.get("data") is not None or table is not None):
                    raise InputError("--compute-only: the two that compute have no rows; remove --data or --table")
            if givers is not None and alone:
                raise InputError("--alone: uses only your rows; remove --holders")
            if alone and getattr(settings, "listener_columns", None) is not None:
                raise InputError("--alone: cannot be combined with --listener-columns; remove one of them")
            if alone:
                without = {**flags, "report": settings.report}
                if on_rows and settings.own_table is not None and settings.own_table.person is not None:
                    del without["identity"]  # its key chooses the rows of each person
                _check_unlinked("--alone: there is no peer and no link", without)
            if node is not None:
                from parties.commands.through_node import ask

                _check_unlinked("--node: the node has its own link", {**flags, "wait": None})
                with missing_by_flag(options):
                    task, _, _ = kind.alone(settings, 0)
                outputs.check([], config_file, force)
                answer = ask(task, settings, config_file, node, purpose, link.wait)
                _output(outputs, kind, answer.document, answer.party, answer.cost, as_json)
                return
            if purpose is not None:
                raise InputError("--purpose: goes with --node; add --node")
            if not alone and link.listen is not None:
                shards = getattr(settings, "shards", None) or 1
                fixed = shards > 1 and link.ray is None and link.shard_ports is None
                require_free(link.listen, shards if fixed else 0)
            if givers is not None:
                require_free(givers.address)
            inputs = [option.of(settings) for option in options if option.role == "file"]
            outputs.check([*inputs, link.identity, link.certificate, link.peer], config_file, force)
            party = 0 if link.listen is not None else 1
            with missing_by_flag(options), console.progress("reading"):
                if givers is not None and flags["compute_only"]:
                    task = kind.planned(settings)
                    task.check_part(party)
                    data, remarks = task.of_nobody(), list[str]()
                else:
                    task, data, remarks = kind.alone(settings, party)
                if givers is not None:
                    task.take_shares()
        connection = None if alone else Connection(link)
        weak = [
            line
            for name in ("epsilon", "support_epsilon")
            for line in epsilon_warnings(getattr(task.settings, name, None))
        ]
        if alone:
            remarks = [remark.removesuffix(f": {task.disclosure.exact}") for remark in remarks]
        for remark in [*remarks, *people(task), *weak]:
            console.err.print(remark)
        report = None
        if connection is None:
            from parties.jobs.execution.local_run import run_alone

            with console.progress("computing") as status, status.reporting():
                state = run_alone(task, data, lambda step: status.doing(step.words))
        else:
            with console.progress("counting") as status:
                from parties.jobs.execution.engine_selection import choice_for  # the engines take their time to load
                from parties.node.prediction import predicted

                decided = choice_for(task, Inputs(party)).profile is not None

                def on_engine(profile: Profile | None) -> None:
                    cost = predicted(task, Inputs(party), "lan", at_node=False, decided=profile)
                    status.say(cost_text.expected(cost, decided or profile is not None))
                    if givers is not None and cost is not None and profile is None:
                        status.say(part_of_holder(task.cost(Inputs(party)).asked()))

                on_engine(None)
                status.doing("starting")
                state, report = connection.run_task(task, data, status, on_engine, givers)
        _output(outputs, kind, task.document(state), party, report, as_json, alone)

    secret = f"\n\n{SEEN}" if "private" in roles else ""
    example = f"smc {name} {example_of(kind)}"
    command = options_of(options)(TABLE(holder_options(run)) if on_rows else run)
    if kind.runs_alone and "epsilon" in kind.Settings.model_fields:
        command = _ALONE(command)
    if is_typed:
        command = _NODE(_PURPOSE(command))
    help_ = f"{inspect.cleandoc(kind.__doc__ or '')}{secret}"
    return click.command(name, BriefCommand, help=help_, epilog=both_terminals(example))(command)


def _check_unlinked(why: str, flags: Mapping[str, Any]) -> None:
    """Raise InputError if flags set the link to the peer or its cost report, but this command opens no link."""
    typed = [name for name in (*LinkSettings.model_fields, "report") if flags.get(name) is not None]
    if typed:
        raise InputError(f"{why}; remove --{typed[0].replace('_', '-')}")


def _output(
    outputs: Outputs,
    kind: type[Kind],
    document: dict[str, Any],
    party: int,
    report: Mapping[str, Any] | None,
    as_json: bool,
    alone: bool = False,
) -> None:
    """Write the requested files, and print the result, with its cost if there is a cost report."""
    with console.progress("writing"):
        outputs.write(document, report)
    if as_json:
        cost_of = {} if report is None else {"cost": report if kind.about.phases else report["total"]}
        console.print_json({**kind.without_private(document), **cost_of})
    else:
        told = {**document, "alone": True} if alone and document.get("exact") else document
        outputs.print_result(kind.text(told, party), report)


def options_of(options: list[Parameter], others: Collection[str] = ()) -> Callable[[Command], Command]:
    """Return a decorator that adds an option or argument for each parameter.

    Args:
        options: The parameters.
        others: Keys of further flags that the command has.
    """

    def decorate(command: Command) -> Command:
        keys = {*others, *(parameter.key for parameter in options)}
        for parameter in reversed(options):
            command = _option(parameter, keys)(command)
        return command

    return decorate


def read_flags(options: list[Parameter], flags: Mapping[str, Any]) -> dict[str, Any]:
    """Return flags as settings: lists split at commas, private values parsed, `-` for one read from standard input.

    Args:
        options: Parameters of the kind.
        flags: Values of the flags by key.
    """
    read = dict(flags)
    for option in options:
        value = read.get(option.variable)
        if isinstance(value, str) and option.role == "private":
            value = read_private(option, value)
        elif isinstance(value, tuple):
            value = option.joined.join(value) or None
        elif isinstance(value, str) and option.type is tuple:
            value = tuple(parts_of(value))
        read.pop(option.variable, None)
        read[option.key] = value
    return read


def read_private(option: Parameter, text: str) -> Any:
    """Return a private value as int or text; `-` reads it from standard input.

    Args:
        option: The parameter.
        text: The typed text.

    Raises:
        InputError: The value is not valid.
    """
    if text == "-":
        text = typed_line("the private input")
    if option.type is not int:
        return text
    if not re.fullmatch("[0-9]+", text):
        raise InputError(f"{option.flag}: must be a whole number from 0 up")
    return int(text)


@contextmanager
def missing_by_flag(options: Sequence[Parameter], others: Iterable[str] = ()) -> Iterator[None]:
    """Name a missing setting by its flag in errors inside the `with` block.

    Args:
        options: Parameters of the kind.
        others: Keys of further flags.
    """
    flags = {key: "--" + key.replace("_", "-") for key in others} | {option.key: option.flag for option in options}
    try:
        yield
    except InputError as error:
        named = re.sub(r"(?<![^ ])\w+(?=: is missing)", lambda key: flags.get(key[0], key[0]), str(error))
        named = re.sub(r"--input (\w+)=VALUE", lambda typed: f"{flags[typed[1]]} VALUE", named)
        if named == str(error):
            raise
        raise InputError(named.replace(" or exact,", " or --exact,")) from None


def _required(option: Parameter, keys: Collection[str]) -> str:
    return f"  [required, unless --{option.unless}]" if option.unless in keys else "  [required]"


def _option(option: Parameter, keys: Collection[str]) -> Callable[[Command], Command]:
    if option.argument:
        return click.argument(option.variable, metavar=option.key.upper(), type=FILE, required=False)
    help_ = option.help
    if option.role == "private":
        help_ += f"; '-' reads it from standard input.{_required(option, keys)}"
    elif option.role == "public" and option.shown_default() and option.type is not bool:
        help_ += f"  [{option.shown_default()}]"
    elif option.is_needed:
        help_ += _required(option, keys)
    cls = Advanced if option.advanced else click.Option
    if option.type is bool:
        return click.option(option.flag, option.variable, cls=cls, is_flag=True, default=None, help=help_)
    kind: Any = (
        FILE if option.type is Path else click.Choice(option.choices) if option.choices else PLAIN.get(option.type, str)
    )
    if option.role == "private":
        kind = str  # '-' must be possible, and all errors have one form
    column = option.metavar or ("LIST" if option.type is tuple else "COLUMN" if option.column else None)
    fields: dict[str, Any] = {"metavar": column, "multiple": bool(option.joined)}
    return click.option(option.flag, option.variable, cls=cls, type=kind, help=help_, **fields)
