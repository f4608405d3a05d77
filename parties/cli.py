"""The command line `smc`: parse, call, print; every expected error is one line and an exit code.

Exit codes: 0 done, 2 wrong usage or input, 3 the peer or the link failed, 4 the peer wants a different job, 1 a bug in
this program, 130 interrupted.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from typing import Any

import click

from smc.errors import InputError, JobMismatchError, LinkError, SmcError

COMMANDS = {
    "demo": "parties.commands.demo:demo",
    "identity": "parties.commands.identity:group",
    "schema": "parties.commands.trees:schema_command",
    "id3": "parties.commands.trees:id3",
    "predict": "parties.commands.trees:predict",
    "millionaires": "parties.commands.questions:millionaires",
    "circuit": "parties.commands.questions:circuit",
    "bench": "parties.commands.bench:bench",
}
EXIT_CODES: dict[type[SmcError], int] = {InputError: 2, LinkError: 3, JobMismatchError: 4}
TRACEBACK_VARIABLE = "SMC_TRACEBACK"


class _Lazy(click.Group):
    """A group that loads a command's module only when it is asked for: each start stays quick."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command


@click.command(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="smc")
def cli() -> None:
    """Secure two-party computation: joint decision trees, comparisons and circuits."""


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    sys.exit(run(arguments))


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit code. Expected errors become one line on standard error."""
    try:
        result: Any = cli.main(arguments, prog_name="smc", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _fail("interrupted", 130)
    except SmcError as error:
        code = next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind))
        return _fail(str(error), code)
    except BrokenPipeError:
        # The reader of our output has gone; nothing more can be said there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        if os.environ.get(TRACEBACK_VARIABLE):
            traceback.print_exc()
        return _fail(f"internal error, please report it: {type(error).__name__}; {TRACEBACK_VARIABLE}=1 shows more", 1)


def _fail(message: str, code: int) -> int:
    print("smc: " + " ".join(message.split()), file=sys.stderr)
    return code


if __name__ == "__main__":
    main()
