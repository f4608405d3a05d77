"""Options that several commands share, as decorators."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from typing_extensions import override

from parties.base import console, files
from parties.base.settings import merge
from parties.base.text import instead, parts_of, quoted
from parties.commands.brief_help import Advanced, BriefCommand
from parties.link.settings import TIMEOUT_SECONDS, WAIT_SECONDS, LinkSettings
from parties.party_file import PartyFile, files_of, load
from smc.errors import InputError

Command = TypeVar("Command", bound=Callable[..., Any])


class _File(click.Path):
    """Option type for a path. An empty text, from an unset shell variable, would mean the current directory."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            self.fail("the file name is empty; give one", param, ctx)
        return super().convert(value, param, ctx)


class ProgramCommand(BriefCommand):
    """A command whose arguments may be negative numbers: -20, or -20,5."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse as click does; an unknown option is an error unless it begins like a number."""
        self.make_parser(ctx).parse_args([_NEGATIVE.sub("0", word) for word in args])
        ctx.ignore_unknown_options = True
        return super().parse_args(ctx, args)


_NEGATIVE = re.compile(r"-\.?\d.*", re.DOTALL)


class Between(click.FloatRange):
    """Finite number in a range: click's own type accepts NaN in every range."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Convert as click does. Raise InputError for NaN and infinity."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            name = "" if param is None else f"{param.opts[0]}: "
            raise InputError(f"{name}must be a number, not {value}")
        return number

    @override
    def _describe_range(self) -> str:
        """Describe the range as click does, with powers of two and whole numbers in short form."""
        return re.sub(r"[\d.e-]{4,}", lambda match: _short(float(match[0])), super()._describe_range())


def _short(number: float) -> str:
    mantissa, exponent = math.frexp(number)
    return f"2^{exponent - 1}" if mantissa == 0.5 and exponent < -8 else f"{number:,.12g}"


FILE = _File(path_type=Path, dir_okay=False)
FOLDER = click.Path(path_type=Path, file_okay=False)

# Options shared by several commands.
json_option: Any = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
node_config: Any = click.option("--config", "config_file", type=FILE, help="party.toml of the node  [./party.toml]")
party_config: Any = click.option("--config", "config_file", type=FILE, help="Your party.toml  [./party.toml]")
out_option: Any = click.option("--out", type=FILE, help="Output file  [standard output]")
proposal_option: Any = click.option("--out", type=FILE, required=True, help="New TOML file for the proposal.")

PARTY_FILE = Path("party.toml")


def check_proposal(out: Path, remedy: str = "give another name") -> None:
    """Raise InputError if the file exists: people complete a proposal by hand, and a new one would undo their work.

    Args:
        out: The file.
        remedy: Remedy for the message.
    """
    if out.is_file():
        raise InputError(f"--out: {out} exists already and may have been edited by hand; {remedy}")


def find_party_file(path: Path | None) -> Path | None:
    """Return the party's file: the given one, else ./party.toml if it exists."""
    return path or (PARTY_FILE if PARTY_FILE.exists() else None)


def required_party_file(path: Path | None, otherwise: str = "") -> Path:
    """Return the party's file: the given one, else ./party.toml.

    Args:
        path: The file given by --config, None if it was left out.
        otherwise: End of the error message: an alternative to --config.

    Raises:
        InputError: No file is given, and there is none here.
    """
    if (found_path := find_party_file(path)) is None:
        raise InputError(f"--config: there is no party.toml here; give --config party.toml{otherwise}")
    return found_path


def check_outputs(outputs: Mapping[str, Path | None], inputs: Iterable[Path | None], config_file: Path | None) -> None:
    """Check before long work that outputs are writable and not inputs, such as party.toml and files that it names.

    Args:
        outputs: Files to write, by their flags.
        inputs: Further files that the command reads.
        config_file: The file party.toml, if there is one.
    """
    is_asked = any(path is not None for path in outputs.values())  # otherwise the files of party.toml need no check
    named = files_of(config_file) if is_asked and config_file is not None else []
    files.check_outputs(outputs, [*inputs, *named])


_LINK = (
    click.option("--config", "config_file", type=FILE, help="TOML file with any of these options; flags override it."),
    click.option("--identity", cls=Advanced, type=FILE, help="Your private key, NAME.key."),
    click.option("--certificate", cls=Advanced, type=FILE, help="Your certificate, NAME.crt."),
    click.option("--peer", cls=Advanced, type=FILE, help="The peer's certificate, the only one trusted."),
    click.option(
        "--listen",
        metavar="HOST:PORT",
        help="Be party 0 and wait for the peer here; 0.0.0.0 = all of IPv4, [::] = IPv6 too.",
    ),
    click.option("--connect", metavar="HOST:PORT", help="Be party 1 and connect to the peer there."),
    click.option("--wait", type=float, help=f"Seconds to wait for the peer  [{WAIT_SECONDS:g}]"),
    click.option(
        "--timeout", cls=Advanced, type=float, help=f"Seconds of silence that end the session  [{TIMEOUT_SECONDS:g}]"
    ),
    click.option(
        "--window",
        cls=Advanced,
        type=int,
        help="MiB sent before the peer must confirm. Raise it for a fast link with a long round trip  [1]",
    ),
    click.option(
        "--classical", cls=Advanced, is_flag=True, default=None, help="Allow a key exchange that is not post-quantum."
    ),
    click.option(
        "--emulate",
        cls=Advanced,
        metavar="LINK",
        help="Slow the link down to RATE,ROUND-TRIP, e.g. 100mbit,40ms; for trials.",
    ),
    click.option("--ray", cls=Advanced, metavar="ADDRESS", help="Run shards on your Ray cluster: HOST:PORT, or auto."),
    click.option(
        "--shards-at",
        cls=Advanced,
        multiple=True,
        metavar="HOST",
        callback=lambda _, __, value: value or None,  # no value typed: the file's setting applies
        help="Host or network at which the peer's shards may listen; repeatable.",
    ),
    click.option(
        "--shard-ports",
        cls=Advanced,
        metavar="FIRST[-LAST]",
        help="Ports on which your parallel processes (shards) listen, such as 7100-7163.",
    ),
    click.option(
        "--data-ports",
        cls=Advanced,
        metavar="FIRST[-LAST]",
        help="Ports for a second, faster connection, such as 7200-7203, if you listen.",
    ),
)


def link_options(command: Command) -> Command:
    """Add the options of the link to the peer, such as --config, --listen and --timeout."""
    for option in reversed(_LINK):
        command = option(command)
    return command


TABLE: Any = click.option("--table", metavar="NAME", help="Your table [tables.NAME] in --config; needed if several.")


def program_arguments(command: Command) -> Command:
    """Add MODULE:FUNCTION and its arguments."""
    rest = click.argument("arguments", nargs=-1, metavar="[ARGUMENT]...")
    return click.argument("program", metavar="MODULE:FUNCTION")(rest(command))


def typed_line(what: str) -> str:
    """Return the first line of standard input, the value of '-'; raise InputError if there is none."""
    text = sys.stdin.readline().strip() if sys.stdin is not None else ""
    if not text:
        raise InputError(f"-: standard input is empty or closed; write {what} to it")
    return text


def new_secret(what: str, path: Path | None) -> str:
    """Return a new password or passphrase: the first line of a file, or a text that the user types twice, unseen.

    Args:
        what: Name of the secret, for the prompt.
        path: The file, - for standard input; None to ask at the terminal.

    Raises:
        InputError: The secret is too short or too long, or there is neither a file nor a terminal.
    """
    from parties.operator.accounts import check_length

    secret = _new_secret(what, path)
    check_length(what, secret)
    return secret


def _new_secret(what: str, path: Path | None) -> str:
    if path is not None and str(path) != "-":
        return files.read_bytes(path).decode(errors="replace").partition("\n")[0].rstrip("\r")
    if path is not None:
        return typed_line(f"the {what}")
    if not console.is_asked():
        raise InputError(
            f"--{what}-file is missing, and there is no terminal to ask you; give a file, or - for standard input"
        )
    answer: str = click.prompt(what.capitalize(), hide_input=True, confirmation_prompt=True, err=True)
    return answer


def known_table(name: str, tables: Collection[str]) -> str:
    """Return the name of the table that --table gives.

    Args:
        name: The name.
        tables: Names of all tables.

    Raises:
        InputError: There is no such table.
    """
    if name not in tables:
        raise InputError(f"--table: there is no table {quoted(name)}{instead(name, tables)}")
    return name


def require_confirmation(lines: Sequence[str], question: str, declined: str) -> None:
    """Ask the user at the terminal to confirm. Without a terminal raise an InputError that names --yes.

    Args:
        lines: Text above the question.
        question: The question.
        declined: Error message if the user declines, such as "nothing was archived".

    Raises:
        InputError: The user does not confirm.
    """
    if not console.is_asked():
        raise InputError(f"{' '.join(lines)} Add --yes if you are sure")
    for number, line in enumerate(lines):
        console.err.print(f"  {line}" if number else line)
    if not click.confirm(question, err=True):
        raise InputError(declined)


def file_and_link(config_file: Path | None, flags: Mapping[str, Any]) -> tuple[PartyFile, LinkSettings]:
    """Return the content of party.toml (empty if None), and the settings of the link, in which flags override the file.

    Args:
        config_file: The file.
        flags: Values of flags by key.
    """
    file = load(config_file)
    return file, merge(file.link, {name: flags[name] for name in LinkSettings.model_fields})


def names_of(columns: Sequence[str]) -> Callable[[str], list[str]]:
    """Return a function that splits a text at commas into names of these columns; a single name may have commas."""

    def check(text: str) -> list[str]:
        whole = text.strip()
        names = [whole] if whole in columns else parts_of(text)
        for name in names:
            if name not in columns:
                raise InputError(f"there is no column {quoted(name)}{instead(name, columns)}")
        return names

    return check
