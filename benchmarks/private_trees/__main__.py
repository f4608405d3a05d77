"""Accuracy of ID3 with differential privacy against epsilon, beside diffprivlib's forests and published figures.

    python -m benchmarks.private_trees --out benchmarks/results      (or: make bench-private)

Every table is measured on the same stratified folds for all. Both sides are tuned in the same way: each figure of an
epsilon is the best of a grid. Our grid has depth, quality, "stop", share of the leaves, and single trees or forests.
diffprivlib's has depth and number of trees. The accuracy of our defaults, which use public numbers only, stands beside.

PrivaTree's figures are those of its paper (Vos et al., 2023, trees of depth 4), on the same tables without their
incomplete rows, in its own five folds. Mushroom and breast-w are measured if `--more` names a folder with
mushroom.csv and breast-w.csv.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from benchmarks.peers import programs
from benchmarks.peers.programs import DATA, DIFFPRIVLIB, ROOT, RunError, install
from benchmarks.private_trees import cells
from benchmarks.private_trees.cells import Accuracy, Cell
from benchmarks.private_trees.picture import render
from benchmarks.private_trees.tables import Table, folds, load
from parties.base.files import write_text
from parties.bench.json_rows import json_rows
from parties.bench.machine import facts

COMPARED = ("car", "house-votes-84", "adult")  # with diffprivlib
PUBLISHED = {  # PrivaTree's accuracy by epsilon
    "adult-complete": {"0.01": 0.751, "1": 0.822},
    "house-votes-84-complete": {"0.01": 0.689, "1": 0.867},
    "mushroom": {"1": 0.949},
    "breast-w-complete": {"1": 0.939},
}
PUBLISHED_DEPTH = 4
LOOSE = (1, 4, 16)  # ratios of the row bound to the number of rows

Results = dict[str, Any]
Found = dict[Cell, Accuracy]


def measure(directory: Path, name: str) -> tuple[str, Table, Found]:
    """Return a table's name and rows, and the accuracy of all its cells, those of the defaults included."""
    table = load(directory, name)
    wanted = dict.fromkeys(cells.grid() if name in COMPARED else cells.smaller_grid())
    wanted |= dict.fromkeys(cell for _, _, cell in defaults(name, table))
    return name, table, {cell: cells.measure(table, cell) for cell in wanted}


def epsilons(name: str) -> tuple[str, ...]:
    """Return the epsilons at which a table is measured."""
    return cells.EPSILONS if name in COMPARED else cells.FEWER


def defaults(name: str, table: Table) -> Iterable[tuple[str, int, Cell]]:
    """Yield epsilon, looseness of the bound, and the cell that the defaults choose."""
    for epsilon in epsilons(name):
        for loose in LOOSE:
            yield epsilon, loose, cells.default(table, epsilon, loose)


def best(found: Found, where: Callable[[Cell], bool]) -> Results:
    """Return the cell with the greatest accuracy among those that `where` accepts and that have splits."""
    cell = max((cell for cell in found if cell.depth and where(cell)), key=lambda cell: found[cell].mean)
    return {"accuracy": found[cell].mean} | asdict(cell)


def summary(name: str, table: Table, found: Found) -> Results:
    """Return one table's results: the best for each epsilon, those of the defaults, and the published figures."""
    by_epsilon = {
        epsilon: {
            "best": best(found, lambda cell: cell.epsilon == epsilon),  # noqa: B023
            "best max": best(found, lambda cell: cell.epsilon == epsilon and cell.quality == "max"),  # noqa: B023
            f"best of depth {PUBLISHED_DEPTH}": best(
                found,
                lambda cell: cell.epsilon == epsilon and cell.depth == PUBLISHED_DEPTH,  # noqa: B023
            ),
        }
        for epsilon in (*epsilons(name), "inf")
    }
    chosen = [
        {
            "bound": loose,
            "accuracy": found[cell].mean,
            "best depth": max(
                [found[cell].mean]
                + [found[other].mean for depth in cells.DEPTHS if (other := _with_depth(cell, depth)) in found]
            ),
            "best": by_epsilon[epsilon]["best"]["accuracy"],
        }
        | asdict(cell)
        for epsilon, loose, cell in defaults(name, table)
    ]
    return {
        "rows": len(table.labels),
        "domains": table.domains,
        "classes": table.classes,
        "majority": round(table.majority, 4),
        "draws of each fold": cells.repeats(table),
        "epsilon": by_epsilon,
        "defaults": chosen,
        "privatree": PUBLISHED.get(name, {}),
        "cells": by_depth(found),
    }


def by_depth(found: Found) -> list[list[Any]]:
    """Return a list for each group of cells that differ in depth alone.

    The list has the other settings, then [depth, accuracy, standard error] for each depth.
    """
    kept: dict[tuple[Any, ...], list[Any]] = {}
    for cell, accuracy in found.items():
        about = asdict(cell)
        depth = about.pop("depth")
        key = tuple(about.values())
        kept.setdefault(key, [list(key)]).append([depth, accuracy.mean, accuracy.error])
    return list(kept.values())


def kept_cells(rows: Sequence[Sequence[Any]]) -> Found:
    """Return the cells in a result of `by_depth`."""
    return {
        Cell(epsilon, depth, *others): Accuracy(*figures)
        for (epsilon, *others), *depths in rows
        for depth, *figures in depths
    }


def _with_depth(cell: Cell, depth: int) -> Cell:
    return Cell(cell.epsilon, depth, cell.share, cell.stop, cell.quality, cell.trees)


def peer(python: Path, table: Table, epsilons: Sequence[str]) -> list[list[Any]]:
    """Return diffprivlib's results on a table: lists that begin with epsilon, depth, trees and accuracy."""
    arrays = {name: getattr(table, name) for name in ("values", "labels", "domains", "classes")}
    arrays["fold"] = folds(table.labels, cells.FOLDS, cells.SEED)
    rows: list[list[Any]] = programs.found(python, Path(__file__).with_name("peer.py"), arrays, *epsilons)
    return rows


@click.command()
@click.option("--data", type=click.Path(path_type=Path, file_okay=False), default=DATA, help="Folder of the tables.")
@click.option("--more", type=click.Path(path_type=Path, file_okay=False), help="Folder of mushroom.csv, breast-w.csv.")
@click.option("--only", default="", metavar="TEXT", help="Only tables with TEXT in their name.")
@click.option("--processes", type=click.IntRange(min=1), default=2, show_default=True)
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Write JSON and a picture here.")
def main(data: Path, more: Path | None, only: str, processes: int, out: Path | None) -> None:
    """Measure private trees beside diffprivlib's."""
    names = [name for name in dict.fromkeys([*COMPARED, *PUBLISHED]) if only in name]
    places = {name: more if name.startswith(("mushroom", "breast-w")) else data for name in names}
    known = {name: place for name, place in places.items() if place is not None}
    try:
        python = install(ROOT / ".bench" / "diffprivlib", DIFFPRIVLIB)
        with ProcessPoolExecutor(processes) as pool:
            ours = [pool.submit(measure, place, name) for name, place in known.items()]
            theirs = {
                name: pool.submit(peer, python, load(place, name), cells.EPSILONS)
                for name, place in known.items()
                if name in COMPARED
            }
            found = [future.result() for future in ours]
            peers = {name: future.result() for name, future in theirs.items()}
    except (RunError, OSError) as error:
        raise click.ClickException(str(error)) from None
    document = {
        "machine": facts(("numpy",)) | {"peer_packages": DIFFPRIVLIB},
        "settings": {"folds": cells.FOLDS, "seed": cells.SEED},
        "tables": {
            name: summary(name, table, cell) | {"diffprivlib": peers.get(name, [])} for name, table, cell in found
        },
    }
    show(document)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        write_text(out / "private_trees.json", json_rows(document) + "\n")
        write_text(out / "private_trees.svg", render(document))


def show(document: Results) -> None:
    """Print the important figures, a line for each table and epsilon."""
    for name, table in document["tables"].items():
        click.echo(f"{name}: {table['rows']} rows, majority {table['majority']:.3f}")
        for epsilon in epsilons(name):
            ours = table["epsilon"][epsilon]
            own = next(one for one in table["defaults"] if (one["epsilon"], one["bound"]) == (epsilon, 1))
            theirs = max((one[3] for one in table["diffprivlib"] if one[0] == epsilon), default=None)
            line = f"  epsilon {epsilon:>4}: best {ours['best']['accuracy']:.3f}"
            line += f", of max {ours['best max']['accuracy']:.3f}"
            line += f", of depth {PUBLISHED_DEPTH} {ours[f'best of depth {PUBLISHED_DEPTH}']['accuracy']:.3f}"
            line += f", default {own['accuracy']:.3f} (depth {own['depth']}, {own['quality']})"
            line += f", diffprivlib {theirs:.3f}" if theirs is not None else ""
            published = table["privatree"].get(epsilon)
            click.echo(line + (f", PrivaTree {published:.3f}" if published else ""))


if __name__ == "__main__":
    main()
