"""`smc release check`: black-box test whether every mechanism keeps its privacy guarantee."""

from __future__ import annotations

from typing import Any

import click

from parties.base import console
from parties.base.report import Report
from parties.checking.cases import CASES
from parties.checking.contract import Finding as ViewCache
from parties.checking.contract import check_case
from parties.checking.mechanism import ERROR, Mechanism, check
from parties.checking.mechanisms import BROKEN, MECHANISMS, UNCHECKED
from parties.checking.promise import Promise
from parties.checking.statistics.losses import Finding
from parties.commands.signature import argument, command, option

SAMPLES = 200_000
MOST_SAMPLES = 10_000_000  # samples of each table: all outcomes are kept in memory
EXIT_BROKEN = 1
KEPT = {True: "kept", False: "BROKEN"}
CONTRACT = "contract"  # not a mechanism: the rules that every kind of job keeps
PEOPLE = (None, 2)  # rows of a person in the tables of a contract; None for single rows
EXAMPLE = "Example:  smc release check count top --epsilon 0.5 --samples 100000"


@command("check", epilog=f"Mechanisms:  {' '.join(MECHANISMS)}\n\n{EXAMPLE}")
def check_command(
    mechanisms: tuple[str, ...] = argument(
        metavar="[MECHANISM]...", type=click.Choice([*MECHANISMS, *BROKEN, CONTRACT])
    ),
    epsilon: str = option("Epsilon to test  [1]", "NUMBER", default="1"),
    delta: str = option("Delta, for mechanisms that need one  [0.00001]", "NUMBER", default="0.00001"),
    adjacency: Any = option(
        "Difference between the two tables: a row added or removed, or a row replaced  [add-remove]",
        click.Choice(["add-remove", "replace"]),
        default="add-remove",
    ),
    samples: int = option(
        f"Samples from each table  [{SAMPLES:,}]", click.IntRange(1000, MOST_SAMPLES), default=SAMPLES
    ),
) -> Report:
    """Test the noise of this program on two tables that differ by one row. You need no peer.

    The test runs each mechanism many times on neighbouring tables that are easy to distinguish. It runs the circuits,
    or samples their distribution where they draw many numbers. For joint-median and the mechanisms listed after it, a
    job computes the noise from its settings. A quarter of the answers selects events that are likelier on one table.
    The other answers estimate how often these events happen on each table, which bounds the privacy loss from below. An
    attacker who knows both tables then guesses the table of each answer. The attacker may not be right more often than
    the guarantee allows. The test wrongly fails a kept guarantee once in 10^9 checks. Slow mechanisms get fewer
    samples. Without MECHANISM, all mechanisms below and "contract" are tested.

    "contract" runs every kind of job with a budget on neighbours of tiny tables: a row, a basket or a person with two
    rows is added or replaced. It fails if the loss exceeds the booked budget. It also fails if the job charges a
    different epsilon than requested, or if the consent text differs.

    Three mechanisms break the guarantee on purpose, and run only if you name them: fixed-local and local have noise of
    the local sensitivity, half-scale has half the noise of a count.

    A passed test is no proof. From epsilon 0.25 on, it detects twice the loss; for joint-choice, joint-coordinates and
    smooth only more than twice. A few percent more loss, or a smaller epsilon, needs more samples. Exit codes: 0 all
    guarantees are kept, 1 one is broken.
    """
    promise = Promise.read(epsilon, delta, adjacency)
    known = MECHANISMS | BROKEN
    names = dict.fromkeys(mechanisms or [*MECHANISMS, CONTRACT])
    chosen = [known[name](promise) for name in names if name != CONTRACT]
    results, contracts = [], []
    with console.progress("starting") as status:
        for mechanism in chosen:

            def on_progress(done: int, mechanism: Mechanism = mechanism) -> None:
                status.doing(f"{mechanism.name}: {done:,} of {2 * (samples // mechanism.cost):,} samples")

            results.append(check(mechanism, samples, on_progress=on_progress))
        for case in CASES if CONTRACT in names else ():
            status.doing(f"contract: {case.kind}")
            settings = {"epsilon": float(promise.epsilon), "adjacency": promise.adjacency}
            contracts += [check_case(case, settings, at_most) for at_most in PEOPLE]
    checked = [_document(mechanism, finding) for mechanism, finding in zip(chosen, results, strict=True)]
    fulfilled = [_contract_document(contract) for contract in contracts]
    report = Report([*checked, *fulfilled])
    report.exit_code = 0 if all(row["kept"] for row in report.data) else EXIT_BROKEN
    if checked:
        _add_mechanisms(report, checked)
    if fulfilled:
        _add_contracts(report, fulfilled)
    if not mechanisms:
        report.line("Not checked so: " + "; ".join(f"{name} ({why})" for name, why in UNCHECKED.items()) + ".")
    return report


def _document(mechanism: Mechanism, finding: Finding) -> dict[str, Any]:
    return {
        "mechanism": mechanism.name,
        "tables": mechanism.tables,
        "epsilon": finding.epsilon,
        "delta": finding.delta,
        "samples": finding.samples,
        "false_alarm": finding.error,
        "loss_at_least": finding.loss,
        "attacker": {
            "p": finding.guess.recognised,
            "q": finding.guess.rejected,
            "sum_at_least": finding.guess.least,
            "sum_allowed": finding.guess.allowed,
        },
        "kept": finding.holds,
    }


def _add_mechanisms(report: Report, rows: list[dict[str, Any]]) -> None:
    said = [
        {
            "promised": f"{row['epsilon']:.4g}" + (f", {row['delta']:g}" if row["delta"] else ""),
            "success": row["attacker"]["p"] + row["attacker"]["q"],
            "verdict": KEPT[row["kept"]],
            **row,
        }
        for row in rows
    ]
    columns = {
        "mechanism": "{mechanism}",
        "samples": ">{samples:,}",
        "promised": ">{promised}",
        "loss at least": ">{loss_at_least:.3f}",
        "attacker p + q": ">{success:.4f}",
        "at least": ">{attacker[sum_at_least]:.4f}",
        "allowed": ">{attacker[sum_allowed]:.4f}",
        "": "{verdict}",
        "tables": "{tables}",
    }
    report.table(columns, said)
    report.line(
        "Samples are the answers from each of the two tables. The limits of a line hold together with probability "
        f"1 - {ERROR:g}: a kept guarantee is reported as broken with probability {ERROR:g} at most."
    )


def _contract_document(finding: ViewCache) -> dict[str, Any]:
    return {
        "kind": finding.name,
        "at_most": finding.at_most,
        "adjacency": finding.adjacency,
        "measure": finding.measure,
        "booked": finding.charged,
        "lost": finding.lost,
        "problems": finding.problems,
        "kept": not finding.problems,
    }


def _add_contracts(report: Report, rows: list[dict[str, Any]]) -> None:
    heads = ("kind of job", "hides", "", ">booked", ">lost: added", ">booked", ">lost: replaced", "", "why")
    cells = []
    for row in rows:
        numbers = [f"{of[adjacency]:.4g}" for adjacency in row["lost"] for of in (row["booked"], row["lost"])]
        unit = "a row" if row["at_most"] is None else f"{row['at_most']} rows"
        cells.append((row["kind"], unit, row["measure"], *numbers, KEPT[row["kept"]], "; ".join(row["problems"])))
    report.table([(head.lstrip(">"), head[:1] if head.startswith(">") else "") for head in heads], cells)
    report.line(
        "Lost: the largest privacy loss over all neighbours of tiny tables, if a row or person is added or replaced. "
        "Booked: the loss that the job charges to a budget of this adjacency."
    )
