"""Accuracy of linear classifiers of Adult against epsilon, beside diffprivlib's, and what the protocol costs.

    python -m benchmarks.regression --out benchmarks/results        (or: make bench-regress)

Adult is coded as in `benchmarks.private_trees`, every column as categories, in the same five folds. Two parties each
have half of the other four folds. Accuracies come from the protocol's law (`simulation`). The protocol itself runs once
on all of Adult by two processes, for each profile. Ours uses the settings that follow from public numbers.
diffprivlib's logistic regression has one curator; the table shows its default and the best of six strengths of
regularisation.
"""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.peers import programs
from benchmarks.peers.programs import DATA, DIFFPRIVLIB, ROOT, RunError, install
from benchmarks.private_trees.tables import Table, folds, load
from benchmarks.regression.simulation import (
    FOLDS,
    REPEATS,
    SEED,
    Split,
    chosen,
    gradient,
    measure,
    other_tables,
    rows_of,
    task,
)
from parties.base.files import write_text
from parties.base.pictures import INK, MUTED, PALETTE, style, svg
from parties.bench import machine, pair
from parties.bench.json_rows import json_rows
from parties.bench.plots import STYLE
from smc.engines import Profile, engine_of
from smc.session import Session

FEW_EPSILONS, DRAWS = ("0.1", "0.5", "1", "2"), 5  # for other tables
EPSILONS = ("0.01", "0.1", "0.2", "0.5", "1", "2")
PROFILES = (Profile("yao"), Profile("gmw", form="size"), Profile("gmw", "ferret", form="size"))
Results = dict[str, Any]


def accuracies(table: Table) -> Results:
    """Return our accuracies at each epsilon, and at one with almost no noise."""
    split = Split(table)
    return {
        "epsilon 16": split.accuracy(gradient(task(table, "16", "gradient")), 1),
        "epsilon": {epsilon: measure(table, split, epsilon) for epsilon in EPSILONS},
    }


def peer(
    python: Path, table: Table, epsilons: tuple[str, ...] = EPSILONS, repeats: int = 1, numeric: tuple[str, ...] = ()
) -> list[list[Any]]:
    """Return diffprivlib's lists [epsilon, C, accuracy]."""
    features = task(table, "1", "output", numeric=numeric or None).features
    rows = np.zeros((len(table.labels), features.number), dtype=np.float64)
    for place, (start, column, amounts) in enumerate(
        zip(features.starts, features.columns, features.amounts, strict=True)
    ):
        codes = table.values[:, place]
        rows[np.arange(len(rows)), start + (codes if column.numbers is None else 0)] = amounts[codes] / 2**14
    rows[:, -1] = features.unit / 2**14
    arrays = {"rows": rows, "labels": table.labels, "fold": folds(table.labels, FOLDS, SEED)}
    answer: list[list[Any]] = programs.found(
        python, Path(__file__).with_name("peer.py"), arrays, str(repeats), *epsilons
    )
    return answer


def by_table(directory: Path) -> Results:
    """Return results on five more tables: of gradient descent by default, and of diffprivlib with its best C."""
    python, found = install(ROOT / ".bench" / "diffprivlib", DIFFPRIVLIB), {}
    for name, table, numeric in other_tables(directory):
        more = {"numeric": numeric or None}
        split = Split(table, **more)
        ours = {e: split.accuracy(gradient(task(table, e, "gradient", **more)), DRAWS) for e in FEW_EPSILONS}
        theirs = peer(python, table, FEW_EPSILONS, REPEATS, numeric)
        best = {e: max(accuracy for epsilon, _, accuracy in theirs if epsilon == e) for e in FEW_EPSILONS}
        about = {"rows": len(table.labels), "majority": round(table.majority, 4)}
        found[name] = {**about, "gradient": ours, "diffprivlib": best}
        click.echo(json_rows({name: found[name]}))
    return found


def run(session: Session, directory: Path, only: str) -> list[Results]:
    """Run this party's side of the protocol at full size, at epsilon 1, with each profile and method."""
    table, found = load(directory, "adult"), []
    mine = table.part(np.flatnonzero(np.arange(len(table.labels)) % 2 == session.party))
    for method in ("gradient", "output"):
        made = task(table, "1", method)
        if method == "gradient":
            made = task(table, "1", method, max_rows=1 << 14)
        data = made.method.own(rows_of(made, mine))
        for profile in PROFILES:
            if only not in f"{method}, {profile}":
                continue
            here = session.branch(f"{method} {profile}")
            pair.meet(session)
            start = time.perf_counter()
            with here.phase("run"):
                state = made.run(engine_of(here, profile), data, (), lambda step: None)
            pair.meet(session)
            seconds, cost = time.perf_counter() - start, here.meter.phases["run"]
            found.append(
                {
                    "method": method,
                    "profile": str(profile),
                    "chosen": made.chosen,
                    "numbers": sum(made.disclosure.opened(state).values()),
                    "seconds": round(seconds, 2),
                    "bytes": cost.bytes_sent + cost.bytes_received,
                    "rounds": cost.rounds,
                    "and_gates": cost.and_gates,
                }
            )
    return found


def render(document: Results) -> str:
    """Draw accuracy against epsilon, as SVG."""
    from matplotlib.figure import Figure

    table, theirs = document["epsilon"], document["diffprivlib"]
    places = [float(epsilon) for epsilon in EPSILONS]

    def best(name: str) -> list[float]:
        return [max(value or 0 for value in table[epsilon][name]["by lambda"].values()) for epsilon in EPSILONS]

    lines = [
        (
            "jointly, gradient descent",
            PALETTE[6],
            "o",
            [table[epsilon]["gradient"]["accuracy"] for epsilon in EPSILONS],
        ),
        ("jointly, output", PALETTE[5], "s", [table[epsilon]["output"]["accuracy"] for epsilon in EPSILONS]),
        ("alone on half, objective (best lambda)", PALETTE[1], "D", best("alone, objective")),
        ("alone on half, output (best lambda)", PALETTE[0], "v", best("alone, output")),
        (
            "diffprivlib, one curator (best C)",
            PALETTE[2],
            "^",
            [max(a for e, _, a in theirs if e == x) for x in EPSILONS],
        ),
    ]
    with style(STYLE):
        figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        axes = figure.subplots()
        for label, colour, marker, heights in lines:
            axes.plot(places, heights, color=colour, marker=marker, ms=5, label=label)
        axes.axhline(
            document["epsilon 16"], color=INK, linewidth=1, linestyle="--", label="gradient descent, epsilon 16"
        )
        axes.axhline(document["majority"], color=MUTED, linewidth=1, linestyle=":", label="majority")
        axes.set_xscale("log")
        axes.set_xticks(places, EPSILONS)
        axes.set_ylim(0.6, 0.87)
        axes.set_xlabel("epsilon")
        axes.set_ylabel("accuracy on unseen rows")
        axes.set_title(f"Adult, {document['rows']:,} rows")
        axes.grid(True)
        axes.legend(fontsize=8)
        return svg(figure, Title="Accuracy of linear classifiers against epsilon")


def show(document: Results) -> None:
    """Print a line for each epsilon, and for each run."""
    for epsilon, found in document["epsilon"].items():
        theirs = {strength: accuracy for e, strength, accuracy in document["diffprivlib"] if e == epsilon}
        line = f"epsilon {epsilon:>4}: gradient {found['gradient']['accuracy']:.3f}"
        line += f", output {found['output']['accuracy']:.3f} (best {_best(found['output']):.3f})"
        line += f", alone objective {_best(found['alone, objective']):.3f}, output {_best(found['alone, output']):.3f}"
        click.echo(line + f", diffprivlib {theirs.get(1.0, 0):.3f} (best {max(theirs.values(), default=0):.3f})")
    for one in document["runs"]:
        click.echo(
            f"{one['method']:9}{one['profile']:22}{one['seconds']:8.2f} s{one['bytes'] / 1e6:9.1f} MB"
            f"{one['rounds']:7} rounds{one['and_gates']:12,} ANDs"
        )


def _best(found: Results) -> float:
    return max(value or 0.0 for value in found["by lambda"].values())


@click.command(help=__doc__)
@click.option("--data", type=click.Path(path_type=Path, file_okay=False), default=DATA, help="Folder of the tables.")
@click.option("--only", default="", metavar="TEXT", help="Only runs whose method and profile contain this.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Write JSON and a picture here.")
@click.option(
    "--part", "only_part", type=click.Choice(["choice", "tables"]), help="Measure that only, add it to the JSON."
)
@click.option("--peer", "peer_", nargs=2, hidden=True)
def main(data: Path, only: str, out: Path | None, only_part: str | None, peer_: tuple[str, str] | None) -> None:
    if peer_ is not None:
        with pair.join(Path(peer_[0]), peer_[1]) as session:
            run(session, data, only)
        return
    table = load(data, "adult")
    if only_part:
        part = {"choice": chosen(table, EPSILONS)} if only_part == "choice" else {"tables": by_table(data)}
        click.echo(json_rows(part))
        if out is not None:
            known = json.loads((out / "regression.json").read_text())
            write_text(out / "regression.json", json_rows(known | part) + "\n")
        return
    with pair.beside(["-m", "benchmarks.regression", "--data", str(data), "--only", only, "--peer"]) as session:
        runs = run(session, data, only)
    try:
        python = install(ROOT / ".bench" / "diffprivlib", DIFFPRIVLIB)
        with ThreadPoolExecutor(1) as pool:
            theirs = pool.submit(peer, python, table)
            ours = accuracies(table)
            anchor = theirs.result()
    except (RunError, OSError) as error:
        raise click.ClickException(str(error)) from None
    document: Results = {
        "machine": machine.facts(("numpy", "scipy")) | {"peer_packages": DIFFPRIVLIB},
        "settings": {"folds": FOLDS, "seed": SEED, "draws": REPEATS},
        "rows": len(table.labels),
        "features": task(table, "1", "gradient").features.number,
        "majority": round(table.majority, 4),
        **ours,
        "choice": chosen(table, EPSILONS),
        "tables": by_table(data),
        "diffprivlib": anchor,
        "runs": runs,
    }
    show(document)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_text(out / "regression.json", json_rows(document) + "\n")
        write_text(out / "regression.svg", render(document))


if __name__ == "__main__":
    main()
