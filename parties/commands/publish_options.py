"""Options shared by several commands of `smc publish`: the plan, and the files of the report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parties.base import files
from parties.base.report import Report
from parties.base.text import quoted
from parties.commands.options import FILE
from parties.commands.signature import option
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.alone.publish.settings import HistoryPlan
    from parties.alone.publish.versions import History

PLAN: Any = click.option("--plan", "plan_file", type=FILE, required=True, help="Plan of the table, a TOML file.")
ESCAPE: Any = click.option(
    "--escape-formulas", is_flag=True, help="CSV: put ' before text that a spreadsheet would compute (= + - @)."
)


@dataclass(frozen=True)
class HistoryOptions:
    """File of earlier publications, and the columns that identify a row and, if people have several rows, a person."""

    history_file: Path | None = option("Private file of earlier publications  [the plan's; or none]")
    row_column: str | None = option("With --history: column that identifies the row's owner.", flag="--row COLUMN")
    person_column: str | None = option(
        "Person column if people have several rows; --row then identifies the row.", flag="--person COLUMN"
    )

    def load(self, planned: HistoryPlan | None = None) -> History | None:
        """Return the history of publications that the command extends: the plan's, else that of the options, else None.

        Raise InputError if the file is not a history, if an option is missing, or if plan and options differ.
        """
        from parties.alone.publish.versions import load

        if planned is not None:
            where, how = (planned.file, planned.row, planned.person), (self.row_column, self.person_column)
            typed = (self.history_file or where[0], how[0] or where[1], how[1] or where[2])
            if (typed[0].absolute(), *typed[1:]) != (where[0].absolute(), *where[1:]):
                place = f"{planned.file} and row column {quoted(planned.row)}"
                raise InputError(
                    f"--history: the plan already sets history file {place}; remove --history, --row and --person"
                )
            return load(*where)
        if self.history_file is None or self.row_column is None:
            if self != HistoryOptions(None, None, None):
                raise InputError(
                    "--history: give both --history, a file, and --row, the column that identifies the row's owner"
                )
            return None
        return load(self.history_file, self.row_column, self.person_column)


def note_beginning(report: Report, history: History | None) -> None:
    """Add a note to a report if the history of publications was empty, because its file name may be mistyped.

    Args:
        report: The report.
        history: The history; None without one.
    """
    if history is not None and not history.versions:
        report.note(f"{history.path} is new: earlier publications were not checked")


@dataclass(frozen=True)
class ReportFiles:
    """Options for the files of a report."""

    report_file: Path | None = option("Write the report as JSON.")
    page_file: Path | None = option("Write the report as an HTML page.")

    @property
    def outputs(self) -> dict[str, Path | None]:
        """Requested files of the report, by flag."""
        return {"--report": self.report_file, "--page": self.page_file}

    def report(self, data: dict[str, Any], name: str) -> Report:
        """Return the report on published rows, and write it to the requested files.

        Args:
            data: Content of the report.
            name: Name of the rows, for the page.
        """
        from parties.alone.publish.recoding.report import report_of, to_html

        report = report_of(data)
        report.save(self.report_file)
        if self.page_file is not None:
            files.write_text(self.page_file, to_html(data, name))
        return report
