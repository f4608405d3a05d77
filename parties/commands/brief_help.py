"""Help in two lengths: --help shows the everyday options of a command, --help-all shows all of them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import click
from typing_extensions import override

_WIDTH = 78  # width of a line of an example
SHOWS_ALL = f"{__name__}.all"  # key in the meta of a context: --help-all was typed


class Advanced(click.Option):
    """Option omitted from --help."""


class BriefCommand(click.Command):
    """Command whose --help omits the options of the class `Advanced`."""

    @override
    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters; add --help-all if --help omits any."""
        params = super().get_params(ctx)
        return [*params, _HELP_ALL] if any(isinstance(param, Advanced) for param in params) else params

    @override
    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options: all for --help-all, else the everyday ones."""
        shown = [param for param in self.get_params(ctx) if ctx.meta.get(SHOWS_ALL) or not isinstance(param, Advanced)]
        with formatter.section("Options"):
            formatter.write_dl([record for param in shown if (record := param.get_help_record(ctx)) is not None])


def _show_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        ctx.meta[SHOWS_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


_FIELDS: dict[str, Any] = {"is_flag": True, "is_eager": True, "expose_value": False, "callback": _show_all}
_HELP_ALL = click.Option(["--help-all"], help="Show all options and exit.", **_FIELDS)


def help_all(help_: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that adds --help-all to a command's function."""
    return click.option("--help-all", help=help_, **_FIELDS)


def both_terminals(command: str) -> str:
    """Return the example of a joint command for help: the command lines of one party and of its peer."""
    ways = ("Example: ", "--listen 0.0.0.0:7001"), ("Its peer:", "--connect anna.example.org:7001")
    return "\b\n" + "\n".join(_whole_options(f"{head} {command} {way}") for head, way in ways)


def example_line(command: str) -> str:
    """Return the example of a command for help."""
    return "\b\n" + _whole_options(f"Example:  {command}")


def _whole_options(line: str) -> str:
    return textwrap.fill(line, _WIDTH, subsequent_indent=" " * 10, break_long_words=False, break_on_hyphens=False)
