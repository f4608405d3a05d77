"""Options that several commands of `smc publish` share: the plan, and where the report goes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parties.base import files
from parties.base.report import Report
from parties.base.text import quoted
from parties.commands.options import FILE
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.alone.publish.settings import HistoryPlan
    from parties.alone.publish.versions import History

PLAN: Any = click.option("--plan", "plan_file", type=FILE, required=True, help="The table's plan, a TOML file.")
ESCAPE: Any = click.option(
    "--escape-formulas", is_flag=True, help="In CSV put ' before text that a spreadsheet would compute (= + - @)."
)
HISTORY: Any = click.option(
    "--history", "history_file", type=FILE, help="What was published before: a private file  [the plan's; or none]"
)
ROW: Any = click.option(
    "--row", "row_column", metavar="COLUMN", help="With --history: the column that says whose row each is."
)
PERSON: Any = click.option(
    "--person", "person_column", metavar="COLUMN", help="If people have several rows: whose; --row tells rows apart."
)
_REPORT = click.option("--report", "report_file", type=FILE, help="Write the report as JSON.")
_PAGE = click.option("--page", "page_file", type=FILE, help="Write the report as a page, HTML.")


def history_of(
    history_file: Path | None,
    row_column: str | None,
    person_column: str | None = None,
    planned: HistoryPlan | None = None,
) -> History | None:
    """Return the history that is to be added to, if any, the plan's if it has one.

    `InputError` if it is none, if one of the two is missing, or if the plan has another.
    """
    from parties.alone.publish.versions import load

    if planned is not None:
        wanted = (history_file or planned.file, row_column or planned.row, person_column or planned.person)
        if (wanted[0].absolute(), *wanted[1:]) != (planned.file.absolute(), planned.row, planned.person):
            raise InputError(
                f"--history: the plan puts publications down in {planned.file}, by {quoted(planned.row)}: leave it out"
            )
        history_file, row_column, person_column = planned.file, planned.row, planned.person
    if history_file is None or row_column is None:
        if history_file is not None or row_column is not None or person_column is not None:
            raise InputError("give both --history, a file, and --row, the column that says whose row each is")
        return None
    return load(history_file, row_column, person_column)


def note_beginning(report: Report, history: History | None) -> None:
    """Note of a history that was empty that it is: a file whose name was mistyped is one, too."""
    if history is not None and not history.versions:
        report.note(f"{history.path} begins with this: what was published before was not looked at")


@dataclass(frozen=True)
class Telling:
    """The places for the report besides standard output."""

    report: Path | None
    page: Path | None

    @property
    def outputs(self) -> dict[str, Path | None]:
        """The files by their flags."""
        return {"--report": self.report, "--page": self.page}

    def told(self, data: dict[str, Any], name: str) -> Report:
        """Write the report on the rows of this name to its files, and return it."""
        from parties.alone.publish.recoding.report import report_of, to_html

        report = report_of(data)
        report.save(self.report)
        if self.page is not None:
            files.write_text(self.page, to_html(data, name))
        return report


def _report_options(command: Callable[..., Any]) -> Callable[..., Any]:

    @wraps(command)
    def call(*, report_file: Path | None, page_file: Path | None, **others: Any) -> Any:
        return command(telling=Telling(report_file, page_file), **others)

    return _REPORT(_PAGE(call))


TELLING: Any = _report_options  # adds --report and --page; the command has them as one parameter, `telling`
