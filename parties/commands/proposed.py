"""Commands about a job that does not exist yet: one in a file, or a kind with its settings as flags."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, TypeAlias

import click
from typing_extensions import override

from parties.base import files
from parties.base.report import Report
from parties.base.settings import at_key
from parties.base.text import listed
from parties.commands.brief_help import BriefCommand, example_line
from parties.commands.kinds import missing_by_flag, options_of, read_flags, read_private
from parties.commands.options import FILE
from parties.commands.signature import reporting
from parties.jobs import kinds
from parties.jobs.kind import Kind
from parties.jobs.settings import Parameter, Role, parameters, private_parameters
from smc.errors import InputError

Job: TypeAlias = dict[str, Any]
AnyCommand: TypeAlias = Callable[..., Any]
OF_A_FILE = "JOB.toml"
HEAD = {  # settings of every kind
    "table": ("NAME", "Your table [tables.NAME] of party.toml"),
    "peer_table": ("NAME", "The peer's table  [NAME of --table]"),
    "purpose": ("TEXT", "Purpose, shown to the peer; rules and the peer may require it"),
    "permit": ("ID", "Permit of an authority, in the folder of [permits] in party.toml"),
}
input_options: Any = click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="NAME=VALUE",
    help="Private value that the job needs; NAME=- reads standard input.",
)


class _OfFile(click.Command):
    """Command of a job in a file. The file has the settings of the kind as keys; a flag for one of them is an error."""

    def __init__(self, *args: Any, roles: Collection[Role], **fields: Any) -> None:
        super().__init__(*args, **fields)
        self._roles = roles

    @override
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            flag, above = error.option_name, ctx.parent
            key, path = flag.lstrip("-").replace("-", "_"), "" if above is None else above.command_path
            if (kind := _kind_with(key, self._roles)) is None:
                raise
            says = f"a job file sets this as {key}; or name the kind: {path} {kind} {flag}"
            raise InputError(f"{flag}: {says}") from None

    @override
    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        return [piece for piece in super().collect_usage_pieces(ctx) if piece != OF_A_FILE]  # its name says it


class Proposed(click.Group):
    """Command that takes JOB.toml, or a kind of job with the kind's settings as flags.

    Args:
        path: Words of the command after `smc`.
        intent: Sentence about what the command does with a job, for the help of a kind.
        act: Callback, called with the job, its file or None, and the values of `options`. It returns the report to
            print. Its docstring is the help of JOB.toml.
        options: Decorator that adds options.
        has_inputs: Whether it takes the operator's private values.
    """

    def __init__(
        self,
        path: str,
        intent: str,
        act: Callable[..., Report],
        options: Callable[[AnyCommand], AnyCommand],
        has_inputs: bool = True,
    ) -> None:
        example = f"Example:  smc {path} {OF_A_FILE} --config party.toml"
        super().__init__(path.split()[-1], help=inspect.cleandoc(act.__doc__ or ""), epilog=example)
        self._path, self._intent, self._act, self._options = path, intent, act, options
        self._roles: tuple[Role, ...] = ("public", "private") if has_inputs else ("public",)

    @override
    def list_commands(self, ctx: click.Context) -> list[str]:
        return [OF_A_FILE, *kinds.names()]

    @override
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Join the two words of a kind in a group to one name, and treat names without a kind as the file's command."""
        args = kinds.with_one_name(args)
        if args and not kinds.is_known(args[0]) and args[0] not in ("--help", "-h"):
            if args[0].isalnum() and not Path(args[0]).exists():
                kinds.find(args[0])  # there is none: raise the error with the nearest name
            args = [OF_A_FILE, *args]
        return super().parse_args(ctx, args)

    @override
    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return self._of_file() if cmd_name == OF_A_FILE else self._of_kind(cmd_name)

    @override
    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Give a job file, or a kind with flags"):
            lines = [(OF_A_FILE, 'Job file: protocol = "KIND", and the flags of the kind as keys.')]
            formatter.write_dl([*lines, *((name, kinds.line(name)) for name in kinds.names())])

    def _of_file(self) -> click.Command:
        def of_file(file: Path, peer: str | None, inputs: tuple[str, ...] = (), **others: Any) -> Report:
            job = files.read_toml(file)
            job |= read_inputs(job.get("protocol", kinds.DEFAULT), inputs) | _present({"peer": peer})
            return self._act(job, file, **others)

        with_inputs = input_options if "private" in self._roles else lambda function: function
        command = click.command(OF_A_FILE, cls=_OfFile, roles=self._roles, help=self.help, epilog=self.epilog)(
            _peer("as in JOB.toml, or the only peer")(with_inputs(self._options(reporting(of_file))))
        )
        command.params.insert(0, click.Argument(["file"], metavar=OF_A_FILE, type=FILE))
        return command

    def _of_kind(self, name: str) -> click.Command:
        kind = kinds.find(name)
        options = [option for option in parameters(kind.Settings) if option.role in self._roles]

        def of_kind(peer: str | None, **flags: Any) -> Report:
            mine = {option.variable for option in options}
            read = read_flags(options, {key: value for key, value in flags.items() if key in mine})
            head = {"peer": peer} | {key: flags.get(key) for key in HEAD}
            with missing_by_flag(options, (*HEAD, "peer")):
                others = {key: value for key, value in flags.items() if key not in mine and key not in HEAD}
                return self._act({"protocol": name} | _present(head | read), None, **others)

        example = example_line(f"smc {self._path} {name} {_example_of(name, options)}")
        help_ = f"{self._intent} The job: {kinds.line(name)}"
        command = click.command(name, BriefCommand, help=help_, epilog=example)(
            options_of(options, HEAD)(_peer("the only peer")(self._options(reporting(of_kind))))
        )
        offered = [key for key in HEAD if _may_read(kind) or "table" not in key]
        command.params[:0] = [
            click.Option(["--" + key.replace("_", "-"), key], metavar=HEAD[key][0], help=_head_help(key, kind))
            for key in offered
        ]
        return command


def _peer(default: str) -> Any:
    return click.option("--peer", metavar="NAME", help=f"Peer, needed if the node has several  [{default}]")


def at_file(file: Path | None) -> AbstractContextManager[None]:
    """Return a context manager that puts the name of the job's file before the text of an InputError."""
    return nullcontext() if file is None else at_key(str(file))


def read_inputs(protocol: object, texts: tuple[str, ...]) -> Job:
    """Return typed private inputs by name.

    Args:
        protocol: Name of the kind of job.
        texts: The inputs as NAME=VALUE.

    Raises:
        InputError: An input is wrong; the message has its name.
    """
    if not texts:
        return {}
    known = {parameter.key: parameter for parameter in private_parameters(kinds.find(str(protocol)).Settings)}
    typed: Job = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if not sign or name not in known:
            raise InputError(f"--input: must be NAME=VALUE, with NAME from {listed(known) or 'none'}")
        typed[name] = read_private(known[name], value)
    return typed


def _kind_with(key: str, roles: Collection[Role]) -> str | None:
    names = [kinds.DEFAULT, *kinds.names()]
    keys = ({*HEAD, *(o.key for o in parameters(kinds.find(name).Settings) if o.role in roles)} for name in names)
    return next((name for name, of in zip(names, keys, strict=False) if key in of), None)


def _example_of(name: str, options: list[Parameter]) -> str:
    kind, flags = kinds.find(name), [option.flag for option in options]
    table = "--table patients " if _always_reads(kind) or (_may_read(kind) and not kind.about.example) else ""
    return table + kind.about.flags(flags, kind.about.job_example)


def _always_reads(kind: type[Kind]) -> bool:
    return "own_table" in kind.Settings.model_fields


def _may_read(kind: type[Kind]) -> bool:
    return kind.reads_table is not Kind.reads_table


def _head_help(key: str, kind: type[Kind]) -> str:
    when = "  [required]" if _always_reads(kind) else ", if the job reads rows"
    return HEAD[key][1] + (when if key == "table" else "")


def _present(fields: Mapping[str, Any]) -> Job:
    present = {name: value for name, value in fields.items() if value is not None}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in present.items()}
