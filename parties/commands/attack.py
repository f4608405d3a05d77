"""`smc attack`: attacks on your own publications, to see what an attacker could learn. Nothing leaves this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from parties.base import console, files
from parties.base.report import Report
from parties.base.text import csv_text, quoted
from parties.commands.attack_files import (
    LEAVE_OUT,
    NAMES,
    cells_of,
    check_shared,
    column_of,
    comparable_cells,
    names_of,
)
from parties.commands.attack_models import membership_command, shadows_command
from parties.commands.attack_tables import counts_command, reconstruct_command
from parties.commands.options import Between
from parties.commands.outputs import FORCE, check_new
from parties.commands.rows import CONFIG
from parties.commands.signature import command, option, settings
from parties.tables.texts import TextColumn
from smc.errors import InputError

if TYPE_CHECKING:
    from parties.alone.attacks.agreement import Agreement
    from parties.alone.publish.settings import PublishPlan
    from parties.tables.delimited import Columns

SHARE = Between(0, 1)
LINKED = "{linked:,} ({share:.1%})"
INFERRED = {
    "right by naive Bayes": "{classifier:.1%} ({gain_of_classifier:+.1%})",
    "right by rows that could be theirs": "{class:.1%} ({gain_of_class:+.1%})",
    "right by the nearest row": "{nearest:.1%}",
    "right by the ten nearest rows": "{neighbours:.1%}",
    "right by the rarest match": "{rare:.1%}",
}
TRIED = {"known rows that were tried": "{known:,}", "columns": "{columns:list}"}


@dataclass(frozen=True)
class Attacked:
    """Published rows, and the knowledge of their attacker."""

    published: Path = option("Published rows, CSV or Parquet.")
    known: Path = option("Knowledge of the attacker: a file of rows with true values.")
    columns: str | None = option("Columns that the attacker knows  [quasi-identifiers of the plan]", "LIST")
    tolerance: tuple[str, ...] = option(
        "Typical error of a number that the attacker knows; repeatable.", "COLUMN=NUMBER"
    )
    plan_file: Path | None = option("Plan of the publication, publish.toml: it defines the groups of values.")
    config_file: Path | None = CONFIG

    def read(self) -> tuple[PublishPlan | None, Columns, Columns]:
        """Return the plan (None without one), the published rows and the rows that the attacker knows."""
        from parties.alone.publish.settings import read

        plan = None if self.plan_file is None else read(self.plan_file)
        release = cells_of(self.published, None)
        return plan, release, comparable_cells(release, self.known, self.config_file, plan)


@click.group("attack", epilog="Example:  smc attack link --published out.csv --known rows.csv --plan publish.toml")
def group() -> None:
    """Attack your own publications as a reader could. Nothing leaves this machine."""


group.add_command(membership_command)
group.add_command(shadows_command)
group.add_command(reconstruct_command)
group.add_command(counts_command)


@command("link", "smc attack link --published out.csv --known rows.csv --columns zip,age,sex --tolerance age=2", group)
def link_command(
    of: Attacked = settings(Attacked),
    row_column: str | None = option(
        "Column in both files that identifies the row; only to judge the attack.", flag="--row COLUMN"
    ),
    threshold: float = option(
        "Minimum distance of the best score from the second best, in standard deviations of all scores  [1.5]",
        Between(0),
        default=1.5,
    ),
    out: Path | None = option("Write the link of each known row, CSV; keep it to yourself."),
    force: bool = FORCE,
) -> Report:
    """Find people in published rows.

    The attacker knows some columns of each person, exactly or with errors (Narayanan, Shmatikov 2008). The attack
    compares them with all published rows. It links a person if one row fits much better than all others. With --row,
    the report has the share of correct links of the strongest of three attacks. It also has the most correct links
    that one of them makes among its surest people (1 %, at least 10). With --config, the table of --known, or the only
    table of party.toml, maps the cells of --known to its categories.
    """
    from parties.alone.attacks import attackers, linking
    from parties.alone.publish.models import strongest

    check_new({"--out": out}, [of.published, of.known, of.plan_file], of.config_file, force)
    with console.progress("reading") as status:
        plan, release, mine = of.read()
        pairs = _agreements(release, mine, of.columns, plan, of.tolerance, [row_column])
        view = attackers.Release(pairs.columns, None, lambda done, total: status.share("looking for rows", done, total))
        named = {name: attackers.ATTACKERS[name](view) for name in attackers.LINKERS}
    links = named["rare match"]
    right, first = None, {}
    if row_column is not None:
        of_known, of_published = (np.array(column_of(rows, row_column)) for rows in (mine, release))
        hits = {name: of_known[pairs.rows] == of_published[guess.rows] for name, guess in named.items()}
        right = hits["rare match"].astype(np.int64)
        sure = {name: guess.sure for name, guess in named.items()}
        first = strongest.headline(hits, sure, 1 / len(release.lines))
    data = first | linking.report(links, right, threshold)
    data |= {"published": len(release.lines), "columns": pairs.names}
    far = named["nearest row"].sure >= attackers.STANDS_OUT * np.log(max(2, len(release.lines)))
    data["nearest"] = {"linked": int(far.sum()), "share": float(far.mean())}
    if right is not None:
        of_those = int(hits["nearest row"][far].sum())
        data["nearest"] |= {"right": of_those, "confidence": of_those / max(1, int(far.sum()))}
    if out is not None:
        rows = zip(pairs.rows.tolist(), links.rows.tolist(), links.sure.tolist(), strict=True)
        lines = [(mine.lines[row], release.lines[best], f"{far:.4g}") for row, best, far in rows]
        header = ("known_line", "published_line", "eccentricity")
        files.write_text(out, csv_text([header, *lines]), private=True)
    report = Report(data, width=NAMES)
    report.facts(strongest.facts(first) if first else {})
    report.facts(TRIED)
    linked = LINKED if right is None else f"{LINKED}, right {{right:,}} ({{confidence:.1%}} of these)"
    report.facts({"linked, half as far as the next": linked}, data["nearest"])
    report.facts({f"linked, at least {threshold:g} deviations ahead": linked})
    for step in data["thresholds"]:
        report.facts({f"linked, {'at least' if (x := step['eccentricity']) else 'over'} {x:g} ahead": linked}, step)
    return report


@command(
    "infer", "smc attack infer --published out.csv --known rows.csv --plan publish.toml --sensitive disease", group
)
def infer_command(
    of: Attacked = settings(Attacked), sensitive: str = option("Column to guess, in both files.", "COLUMN")
) -> Report:
    """Guess a sensitive value from published rows.

    The attacker knows other columns of each person. Five attacks guess: by all rows that fit, by the nearest row, by
    the ten nearest rows, by the row with the rarest match, and by naive Bayes learnt from all rows. The report
    compares them with a guess without the published rows. A guessed number is right within 5 % of a standard
    deviation. With --config, the table of --known, or the only table of party.toml, maps the cells of --known to its
    categories.
    """
    from parties.alone.attacks import inference
    from parties.alone.attacks.agreement import measured
    from parties.alone.publish.models import strongest

    with console.progress("reading") as status:
        plan, release, mine = of.read()
        pairs = _agreements(release, mine, of.columns, plan, of.tolerance, [sensitive])
        truth, values = column_of(mine, sensitive), column_of(release, sensitive)
        if not measured(truth, values, ranges=False):
            check_shared(sensitive, truth, values, of.published, "")
        status.doing("guessing")
        data = inference.infer(pairs.columns, values, [truth[row] for row in pairs.rows])
    many = {"known": len(pairs.rows), "published": len(release.lines)}
    report = Report(data | {"sensitive": sensitive, **many, "columns": pairs.names}, width=NAMES)
    report.facts(strongest.facts(data) | TRIED | {f"right by the most frequent {sensitive}": "{prior:.1%}"} | INFERRED)
    return report


@command(
    "presence", "smc attack presence --rate 0.07 --share 0.04 --worth 10000 --cost 100 --cost-of-absence 200", group
)
def presence_command(
    rate: float = option(
        "Share of the whole population that has the property, such as a disease; between 0 and 1.", SHARE
    ),
    share: float = option("Share of the whole population that is in the table; between 0 and 1.", SHARE),
    worth: float = option(
        "Value for an attacker of knowing that a person has the property, in any unit.", Between(0, min_open=True)
    ),
    cost: float = option("Tolerable gain of an attacker who learns of a presence, in the unit of --worth.", Between(0)),
    cost_of_absence: float | None = option(
        "Tolerable gain of an attacker who learns of an absence  [--cost]", Between(0)
    ),
) -> Report:
    """Compute bounds of presence from the cost of misuse.

    The table lists only people with a property, such as a disease. The bounds limit how sure an attacker may be that
    a person is in the table, or is not. Source: Nergiz, Atzori, Clifton 2007.
    """
    from parties.alone.attacks.presence import bounds

    absence = cost if cost_of_absence is None else cost_of_absence
    least, most = bounds(rate, share, cost / worth, absence / worth)
    report = Report({"least": least, "most": most})
    report.lines(("[[models]]", 'model = "presence"', f"least = {least:.4f}", f"most = {most:.4f}"))
    return report


class _Pairs:
    """Comparison of known and published rows: `columns` has the agreement of cells in each of the columns `names`.

    `rows` are the indices of the compared known rows, int64[rows].
    """

    def __init__(self, names: list[str], columns: list[Agreement], rows: Any) -> None:
        self.names, self.columns, self.rows = names, columns, rows


def _agreements(
    release: Columns,
    mine: Columns,
    listed: str | None,
    plan: PublishPlan | None,
    tolerances: Sequence[str],
    judged: Sequence[str | None],
) -> _Pairs:
    """Return how known and published cells agree in each column; of many known rows, some are tried."""
    from parties.alone.attacks import linking
    from parties.alone.attacks.agreement import agreement, measured
    from parties.alone.publish.reading import hierarchies

    if listed is None and plan is None:
        raise InputError("--columns is missing: give the known columns, or --plan for its quasi-identifiers")
    names = names_of(listed) if listed is not None else ([] if plan is None else plan.named("quasi-identifier"))
    if both := [name for name in names if name in judged]:
        raise InputError(f"--columns: {quoted(both[0])} is the column to guess; remove it")
    errors = dict(_tolerance(text, names) for text in tolerances)
    for rows in (release, mine):
        if not len(rows.lines):
            raise InputError(f"{rows.path}: there are no rows; give a file with rows")
    places = linking.tried(len(mine.lines))
    columns = []
    for name in names:
        cells, labels = column_of(mine, name), column_of(release, name)
        rule = None if plan is None or name not in plan.columns else plan.columns[name]
        hierarchy = None if rule is None else hierarchies([name], {name: rule}, [list(TextColumn.of(cells).texts)])[0]
        pair = agreement(name, [cells[row] for row in places.tolist()], labels, hierarchy, errors.get(name))
        if not pair.similar.any() and not measured(cells, labels):
            ways = f", say --plan if they are groups{LEAVE_OUT}"
            check_shared(name, cells, labels, release.path, ways)
        columns.append(pair)
    return _Pairs(names, columns, places)


def _tolerance(text: str, names: Sequence[str]) -> tuple[str, float]:
    from parties.alone.publish.rules import number

    name, mark, value = text.rpartition("=")
    error = number(value)
    if not mark or error is None or error <= 0:
        raise InputError(f"--tolerance: {quoted(text)} must be COLUMN=NUMBER above 0, such as age=2")
    if name not in names:
        raise InputError(f"--tolerance: {quoted(name)} is not among the known columns; add it to --columns")
    return name, error
