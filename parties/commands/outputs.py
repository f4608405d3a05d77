"""Output files of a result and its cost: the check before the run, and the writing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parties.base import console, files
from parties.base.extras import require
from parties.commands.options import FILE, Command, check_outputs
from parties.jobs.settings import parameters
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.jobs.kind import Kind, KindSettings


SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods")
FORCE: Any = click.option("--force", is_flag=True, help="Replace existing files.")

_OUTPUTS = {  # outputs of `smc result`, which does not know the job's kind yet
    "out": "Write the result as JSON.",
    "report": "Write the cost report as JSON.",
    "dot": "Write a tree in Graphviz's DOT.",
    "rules": "Write a tree as rules in words.",
    "svg": "Draw the result.",
    "csv": "Write rows or numbers as CSV.",
}


def output_options(command: Command) -> Command:
    """Add --out, --report, the options for other file formats of some kinds, and --force."""
    command = FORCE(command)
    for name, help_ in reversed(_OUTPUTS.items()):
        command = click.option(f"--{name}", type=FILE, help=help_)(command)
    return command


def check_new(
    outputs: Mapping[str, Path | None],
    inputs: Iterable[Path | None],
    config_file: Path | None,
    force: bool,
    added_to: Mapping[str, Path | None] | None = None,
) -> None:
    """Check that all outputs can be written, that none is an input, and that none exists unless `force` is set.

    Args:
        outputs: Files to write, by their flags.
        inputs: Files that the command reads.
        config_file: The file party.toml, if there is one.
        force: Whether existing files may be replaced.
        added_to: Further outputs, which may exist because they are extended.

    Raises:
        InputError: An output exists, cannot be written, is an input, or has the name of a spreadsheet.
    """
    for flag, path in outputs.items():
        if path is not None and path.suffix.lower() in SPREADSHEETS:
            raise InputError(f"{flag}: {path}: spreadsheets are not written; name a file in .csv, or .parquet for rows")
    check_outputs({**outputs, **(added_to or {})}, inputs, config_file)
    for flag, path in outputs.items():
        if path is not None and files.would_be_replaced(path) and not force:
            raise InputError(f"{flag}: {path} exists already; give another name, or --force to replace it")


@dataclass(frozen=True)
class Outputs:
    """Output files of a result, by option: one option for each file format."""

    kind: type[Kind] | None
    paths: Mapping[str, Path | None]

    @classmethod
    def of(cls, kind: type[Kind], settings: KindSettings) -> Outputs:
        """Return the outputs that a command's settings name.

        Args:
            kind: The kind of job.
            settings: Its settings.
        """
        wanted = [parameter for parameter in parameters(kind.Settings) if parameter.role == "output"]
        return cls(kind, {parameter.key: parameter.of(settings) for parameter in wanted})

    def for_kind(self, kind: type[Kind]) -> Outputs:
        """Return these outputs with the kind of the result; raise InputError if the kind lacks a requested format."""
        known = {"report", *(file.option for file in kind.files())}
        for name, path in self.paths.items():
            if path is not None and name not in known:
                raise InputError(f"--{name}: a result of {kind.name} has no such file; remove it")
        return Outputs(kind, self.paths)

    def check(self, inputs: Iterable[Path | None], config_file: Path | None, force: bool = False) -> None:
        """Check all outputs before anything else is done.

        An existing result is replaced only with `force`, because it may have cost a budget.

        Args:
            inputs: Files that the command reads.
            config_file: The file party.toml, whose files are inputs too.
            force: Whether existing files may be replaced.

        Raises:
            InputError: A file exists and `force` is not set, cannot be written, is an input or a spreadsheet, or needs
                a library that is not installed.
        """
        for file in self.kind.files() if self.kind is not None else ():
            if file.option is not None and self.paths.get(file.option) is not None:
                require(f"--{file.option}", *file.needs)
        check_new({f"--{name}": path for name, path in self.paths.items()}, inputs, config_file, force)

    def write(self, document: dict[str, Any], report: Mapping[str, Any] | None) -> None:
        """Write the requested files.

        Args:
            document: The result.
            report: The cost report, if there is one.

        Raises:
            InputError: A file cannot be written.
        """
        assert self.kind is not None
        shown = self.kind.without_private(document)
        for file in self.kind.files():
            path = self.paths.get(file.option or "")
            if path is not None:
                files.write_text(path, file.content(document if file.private else shown), file.private)
        report_path = self.paths.get("report")
        if report_path is not None:
            files.write_text(report_path, json.dumps(report, indent=2) + "\n")

    def print_result(self, text: str, report: Mapping[str, Any] | None) -> None:
        """Print the result on standard output, and the names of written files and the cost on standard error.

        Args:
            text: The result as text.
            report: The cost report, if there is one.
        """
        console.out.print(text, end="")
        written = [str(path) for path in self.paths.values() if path is not None]
        if written:
            console.err.print(f"written: {', '.join(written)}")
        if report is not None:
            console.err.print(console.cost_table(report))
