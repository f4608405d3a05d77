"""The command line `smc`: parse, call, print; every expected error is one line and an exit code.

Exit codes: 0 done, 2 wrong usage or input, 3 the peer or the link failed, 4 the peer wants a different job, 1 a bug in
this program, 130 interrupted, 143 terminated.
"""

from __future__ import annotations

import gc
import importlib
import io
import os
import signal
import sys
import traceback
from contextlib import suppress
from types import ModuleType
from typing import Any, NoReturn

import click

from parties.base import extras, signals
from parties.base.plain_letters import PLAIN_LETTERS
from parties.base.text import did_you_mean, quoted
from parties.commands import brief_help
from parties.jobs import kinds
from smc import __version__
from smc.errors import InputError, JobMismatchError, LinkError, MachineError, SmcError

COMMANDS = {  # module:function, and the line in the list; the kinds of jobs are commands, too
    "demo": ("parties.commands.demo:demo", "Let two parties on this machine learn a tree from bundled data."),
    "init": ("parties.commands.init:init", "Write party.toml, from flags or by asking you."),
    "check": ("parties.commands.check:check", "Check settings, tables, keys and this machine before you start."),
    "identity": ("parties.commands.identity:group", "Make keys and certificates, and show their fingerprints."),
    "start": ("parties.commands.start:start", "Go step by step from a raw file to the first joint answer."),
    "prepare": ("parties.commands.prepare:prepare", "Propose a schema and a mapping from a raw table."),
    "schema": ("parties.commands.alone:schema_command", "Propose a schema from a clean file, or merge two schemas."),
    "compare": ("parties.commands.compare:compare_command", "Compare a synthetic table with your rows."),
    "combine": ("parties.commands.combine:combine", "Combine models that several holders learned alone."),
    "predict": ("parties.commands.alone:predict", "Apply a model to rows on this machine."),
    "export": ("parties.commands.export:export", "Export a model as SQL, ONNX or PMML."),
    "serve": ("parties.commands.serve:serve", "Serve a model over HTTP on this machine."),
    "contribute": (
        "parties.commands.contribute:contribute_command",
        "Give secret shares of your numbers to two parties that compute.",
    ),
    "run": ("parties.commands.run:run", "Run your own program on the engine."),
    "estimate": ("parties.commands.estimate:group", "Estimate the cost of a job before it runs."),
    "node": ("parties.commands.node:node", "Run a node: a service that takes jobs and runs the permitted ones."),
    "submit": ("parties.commands.operator:submit", "Propose a job through your node."),
    "jobs": ("parties.commands.operator:jobs", "List the jobs of your node."),
    "show": ("parties.commands.operator:show", "Show a job: question, peer, cost and progress."),
    "approve": ("parties.commands.decisions:approve", "Approve a job."),
    "refuse": ("parties.commands.decisions:refuse", "Refuse a job."),
    "cancel": ("parties.commands.decisions:cancel", "Cancel a job."),
    "result": ("parties.commands.operator:result", "Show the result and the cost of a job."),
    "forget": ("parties.commands.forget:forget", "List the results learnt from a table, and withdraw a result."),
    "web": ("parties.commands.operator:web", "Print a login link for the operator's page."),
    "operator": ("parties.commands.people:group", "Manage operators and their roles at your node."),
    "permit": ("parties.commands.permit:group", "Sign, show and check the permits of an authority."),
    "policy": ("parties.commands.policy:policy", "Test your policy rules on a job without running it."),
    "budget": ("parties.commands.budget:group", "Show the spent privacy budget, and simulate a job's cost."),
    "audit": ("parties.commands.audit:group", "Verify, show and export the audit records."),
    "backup": ("parties.commands.backup:backup", "Back up a node, also a running one, to one file."),
    "restore": ("parties.commands.backup:restore", "Restore a node from a backup."),
    "rights": ("parties.commands.rights:group", "Answer requests of people in your tables: access, objection."),
    "breach": (
        "parties.commands.breach:group",
        "Keep the register of breaches: steps, 72-hour deadline, draft notice.",
    ),
    "publish": ("parties.commands.publish:group", "Anonymise your own rows and tables for publication."),
    "attack": ("parties.commands.attack:group", "Attack your own publications as a reader could."),
    "blur": ("parties.commands.blur:group", "Blur your own values before you give them away, and measure the risk."),
    "reconstruct": ("parties.commands.blur:reconstruct_command", "Reconstruct distributions from blurred values."),
    "local": ("parties.commands.local:group", "Collect answers that are randomised on each device."),
    "lesson": ("parties.commands.lesson:lesson", "Watch a protocol of the lecture notes, step by step."),
    "explain": ("parties.commands.explain:explain", "Explain a word that smc uses, or an exit code."),
    "bench": ("parties.commands.bench:bench", "Measure the cost of each protocol."),
}
FIRST = (
    "demo",
    "start",
    "prepare",
    "init",
    "check",
    "estimate",
    "id3",
    "release",
    "run",
    "predict",
    "node",
    "submit",
    "publish",
)
SECTIONS = {  # titles in the list of commands
    "Models": ("combine", "export", "serve", "compare"),
    "A node's jobs": ("jobs", "show", "approve", "refuse", "cancel", "result", "web"),
    "A node's rules": ("policy", "permit", "budget", "operator"),
    "A node's records": ("audit", "backup", "restore", "forget", "rights", "breach"),
    "Your own data": ("schema", "contribute", "blur", "reconstruct", "local", "attack"),
    "Help and tools": ("explain", "lesson", "identity", "bench"),
}
IN_GROUPS: dict[str, dict[str, tuple[str, str]]] = {  # likewise, in a group; its kinds of jobs are commands, too
    "align": {
        "check": ("parties.commands.align_check:check_command", "Show how your keys look, before anything is sent."),
        "weights": ("parties.commands.align_weights:weights_command", "Estimate the weights of smc align fuzzy alone."),
        "rows": ("parties.commands.align_rows:rows_command", "Write the keys of your rows that a node's job matched."),
    },
    "regress": {
        "alone": ("parties.commands.regress_alone:alone", "Learn a linear model from your own rows, with noise.")
    },
    "release": {
        "alone": (
            "parties.commands.release_alone:alone",
            "Compute the noisy median of your own numbers, without a peer.",
        ),
        "check": ("parties.commands.release_check:check_command", "Test each noise mechanism as a black box."),
    },
}
# numpy reads it when it is loaded. By default it starts busy threads for linear algebra, which is hardly used here.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("PYTHONSAFEPATH", "")  # shards change it: see `parties.jobs.execution.shard_processes`
_LOADER = "pydantic.plugin._loader"  # searches all installed packages for plugins, and is slow to load
if os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__") == "__all__":
    vars(sys.modules.setdefault(_LOADER, ModuleType(_LOADER))).setdefault("get_plugins", tuple)

EXIT_CODES: dict[type[SmcError], int] = {MachineError: 5, InputError: 2, LinkError: 3, JobMismatchError: 4}
TRACEBACK_VARIABLE = "SMC_TRACEBACK"
LINE = 2000  # characters of a message: a quoted input may have any length
YOUNG_OBJECTS = 200_000  # before a garbage collection: loading modules makes 100,000 objects and no garbage


class _Lazy(click.Group):
    """A group that loads a command's module only when the command runs, so that each start and --help stay quick.

    `commands` are commands that are loaded already: those of a module's own group of the same name.
    """

    within: str | None = None  # the group of kinds whose commands this group has

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.commands, *self._others(), *self._kinds()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        if cmd_name in self._others():
            module, name = self._others()[cmd_name][0].split(":")
            command: click.Command = getattr(importlib.import_module(module), name)
            return command
        if (kind := self._kind(cmd_name)) is None:
            return None
        from parties.commands.kinds import command_of

        return command_of(kind)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        is_ours = name.startswith("-") or name in self._others() or self._kind(name) is not None
        if not ctx.resilient_parsing and not is_ours and name not in (known := self.list_commands(ctx)):
            ctx.fail(f"there is no command {quoted(name)}{did_you_mean(name, known) or _elsewhere(name)}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("What two parties can learn together"):
            formatter.write_dl([(command, kinds.line(name)) for command, name in self._kinds().items()])
        others = [(name, line) for name, (_, line) in self._others().items()]
        others += [(name, command.get_short_help_str(100)) for name, command in self.commands.items()]
        if others:
            with formatter.section("Commands"):
                formatter.write_dl(others)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the group's example; a group of kinds without one has that of its first kind."""
        if self.epilog is None and self.within is not None:
            name = next(iter(self._kinds().values()))
            from parties.commands.kinds import example_of

            self.epilog = f"Example:  smc {name} {example_of(kinds.find(name))}"
        super().format_epilog(ctx, formatter)

    def _kind(self, command: str) -> str | None:
        """Return the kind of jobs of a command in this group. Search other packages only if no built-in kind has it."""
        name = command if self.within is None else f"{self.within} {command}"
        is_ours = name in kinds.BUILT_IN and kinds.group(name) == self.within
        return name if is_ours else self._kinds().get(command)

    def _kinds(self) -> dict[str, str]:
        return {name.split()[-1]: name for name in kinds.names() if kinds.group(name) == self.within}

    def _others(self) -> dict[str, tuple[str, str]]:
        return COMMANDS if self.within is None else IN_GROUPS.get(self.within, {})


def _elsewhere(name: str) -> str:
    """Return ` (did you mean 'smc quantile'?)` if `name` is the last word of a kind's name; otherwise an empty text."""
    found = [kind for kind in kinds.names() if kind.rpartition(" ")[2] == name]
    return f" (did you mean {quoted(f'smc {found[0]}')}?)" if found else ""


class _Whole(_Lazy):
    """All commands, the groups of kinds among them."""

    def invoke(self, ctx: click.Context) -> Any:
        try:  # begin and over are inside, too: a signal may arrive during them
            signals.begin()
            try:
                return super().invoke(ctx)
            finally:
                signals.over()
        except (KeyboardInterrupt, BrokenPipeError) as error:
            raise _EndedError from error

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(dict.fromkeys([*super().list_commands(ctx), *kinds.GROUPS]))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in kinds.GROUPS:
            return super().get_command(ctx, cmd_name)
        group = _Lazy(cmd_name, help=kinds.line(cmd_name))
        group.within = cmd_name
        if cmd_name in COMMANDS:
            whole = super().get_command(ctx, cmd_name)
            assert isinstance(whole, click.Group)
            group.commands, group.epilog = dict(whole.commands), whole.epilog
        return group

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write a line for each first command, and the names of all others; with --help-all a line for each command."""
        asked = [name for name in [*self._kinds().values(), *kinds.GROUPS] if name not in COMMANDS]
        others = {
            title: [name for name in names if name not in FIRST]
            for title, names in {"Questions to ask with a peer": asked, **SECTIONS}.items()
        }
        is_brief = not ctx.meta.get(brief_help.SHOWS_ALL)
        for title, names in {"First steps": FIRST, **({} if is_brief else others)}.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name, COMMANDS[name][1] if name in COMMANDS else kinds.line(name)) for name in names]
                )
        if is_brief:
            with formatter.section("More commands"):
                formatter.write_dl([(title, ", ".join(names)) for title, names in others.items()])


@click.command(
    cls=_Whole,
    epilog="Example:  smc demo",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(__version__, prog_name="smc")
@brief_help.help_all("List all commands, one line each.")
def cli() -> None:
    """Learn trees, statistics and models from the tables of two parties. Neither party sees a row of the other."""


class _EndedError(Exception):
    """Ctrl-C, SIGTERM or a closed output pipe, in a form that click passes on unchanged."""


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line and exit."""
    signals.watch()
    gc.set_threshold(YOUNG_OBJECTS)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=PLAIN_LETTERS)  # a terminal that lacks a character gets a plain one
    _leave(run(arguments))


def _leave(code: int) -> NoReturn:
    """End the process at once: deleting each object of the interpreter can take a fifth of a whole run.

    Files, links and child processes have been closed before: they are context managers.
    """
    signals.end()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # results are flushed already; the stream may be closed
            stream.flush()
    os._exit(code)


def run(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code. Expected errors become one line on standard error."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        _check_text(words)
        result: Any = cli.main(arguments, prog_name="smc", standalone_mode=False)
        signals.end()
        if sys.stdout is not None:
            sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx is not None else "smc"
        return _fail(f"{error.format_message()} (see {path} --help)", error.exit_code)
    except click.ClickException as error:
        return _fail(error.format_message(), error.exit_code)
    except _EndedError as error:
        return _ended(error.__cause__)
    except (KeyboardInterrupt, click.Abort) as error:
        return _ended(error.__cause__ or error)
    except SmcError as error:
        _show_traceback()
        code = next(code for kind, code in EXIT_CODES.items() if isinstance(error, kind))
        return _fail(_by_flag(str(error), words), code)
    except BrokenPipeError as error:
        return _ended(error)
    except OSError as error:
        _show_traceback()
        _forget_output()
        name = f" ({error.filename})" if error.filename else ""
        return _fail(f"the system refused: {error.strerror or error}{name}", 2)
    except Exception as error:
        _show_traceback()
        if isinstance(error, ImportError) and (line := extras.remedy(error)) is not None:
            return _fail(f"this {line}", 2)
        what = type(error).__name__
        if isinstance(error, ImportError | NameError):  # the message has only names in code, such as a missing module
            what += f": {error}"
        return _fail(f"internal error, please report it: {what}; {TRACEBACK_VARIABLE}=1 shows more", 1)


def _check_text(arguments: list[str]) -> None:
    """Raise `InputError` for an argument that is not UTF-8: files, reports and records cannot contain it."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise InputError(f"the argument {quoted(argument)} is not UTF-8; rename a file with this name") from None


def _by_flag(message: str, words: list[str]) -> str:
    """Return the message, with the flag in place of the settings key at its start if the value came from the flag."""
    key, colon, problem = message.partition(": ")
    flag = "--" + key.replace("_", "-")
    is_given = any(word == flag or word.startswith(f"{flag}=") for word in words)
    return f"{flag}: {problem}" if colon and is_given else message


def _show_traceback() -> None:
    if os.environ.get(TRACEBACK_VARIABLE):
        traceback.print_exc()


def _ended(cause: BaseException | None) -> int:
    if isinstance(cause, KeyboardInterrupt | click.Abort):
        return _fail("interrupted", 130)
    _forget_output()  # the reader closed the pipe; the command may be incomplete
    return 128 + signal.SIGPIPE


def _forget_output() -> None:
    """Discard unwritten standard output: Python would try to write it again at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def _fail(message: str, code: int) -> int:
    signals.end()
    if (number := signals.raised()) is not None:
        message, code = signals.WORDS[number], signals.CODES[number]
    if sys.stderr is not None:
        line = " ".join(message.split())
        shown = line if len(line) <= LINE else f"{line[: LINE // 2]} … {line[-LINE // 2 :]}"
        print(f"smc: {shown}\n", end="", file=sys.stderr)  # one write: two commands on a terminal do not mix lines
    return code


if __name__ == "__main__":
    main()
