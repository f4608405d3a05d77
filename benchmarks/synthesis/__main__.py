"""Synthetic rows of Adult at epsilon 1: models learnt from ours and from OpenDP's, on the same folds.

    python -m benchmarks.synthesis --out benchmarks/results [--folds 1] [--peer]           (or: make bench-synthesis)

Four fifths of the rows are dealt to two parties. Synthetic rows are made from them, models learn from the synthetic
rows, and predict the last fifth. Ours is the joint protocol itself, `protocols.release.aim` and `mst`, on the clear
engine: the opened numbers have the same law as on other engines. Both sides spend the same rho, within (1, 1e-9).

With `--peer`, OpenDP 0.16 with its extra `mbi` is installed in a separate environment and run on the same folds. A fold
with results is not run again. A fold needs minutes by MST, and an hour or more by AIM. Our generator also makes rows of
OpenDP's measurements. The generator that OpenDP pins, mbi 1.1.0, draws all columns that depend on a common one in one
order, so they seem to depend on each other (corrected in mbi 2).
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.peers.programs import DATA, ROOT, install
from benchmarks.private_trees.tables import Table, folds, load
from benchmarks.synthesis.picture import draw
from parties.alone.comparing.fidelity import marginal_errors
from parties.alone.comparing.learners import LEARNERS, majority
from parties.base.files import write_text
from parties.bench.json_rows import json_rows
from parties.bench.machine import facts
from parties.jobs.release.synthesise.state import GraphicalModel, Synthesis, measurements
from protocols.arrays import Codes
from protocols.release import aim, mst
from protocols.release.selection import State, Workload
from protocols.synthesis.graphical import Graphical
from protocols.synthesis.marginals import Generator, Measurement
from protocols.synthesis.relaxed_projection import RelaxedProjection
from smc.engines import Profile, engine_of
from smc.local import run_local
from smc.session import Session

KEPT = ROOT / ".bench" / "synthesis"
OPENDP = ("opendp[mbi]==0.16.0", "pandas")
RHO = Fraction("0.01179")  # in the documented runs; epsilon 1 at delta 1e-9 allows 0.01497
FOLDS, SEED = 5, 1  # the same as in benchmarks.private_trees
MODEL_CELLS = 1 << 17
GENERATORS: dict[str, Generator] = {"graphical": Graphical(), "relaxed": RelaxedProjection()}

Row = dict[str, Any]


def released(
    rows: Codes, domains: tuple[int, ...], how: str, rho: Fraction = RHO, ways: int = 3
) -> tuple[list[Measurement], int]:
    """Return the measurements that the joint protocol opens, and the seed that follows from them.

    Each party has every other row. AIM is asked for all marginals of `ways` columns.
    """
    columns = range(len(domains))
    sets = [one for many in range(1, (2 if how == "MST" else ways) + 1) for one in combinations(columns, many)]
    if how == "AIM":
        sets = [one for one in sets if prod(domains[column] for column in one) <= MODEL_CELLS]
    work = Workload(domains, tuple(sets), -(-len(rows) // 2), rho)

    def program(session: Session) -> State:
        own = [_counts(rows[session.party :: 2], domains, one) for one in sets]
        engine, model = engine_of(session, Profile("clear")), GraphicalModel(work)
        if how == "MST":
            return mst.mst(engine, work, np.concatenate(own), model, lambda state: None)
        wanted = [one for one in sets if len(one) == ways]
        plan = aim.AimProblem(work, aim.weights(sets, wanted), MODEL_CELLS)
        return aim.aim(engine, plan, np.concatenate(own), model, lambda state: None)

    state, _ = run_local(program, timeout=7200.0)
    return measurements(work, [str(column) for column in columns], state), Synthesis(state).seed


def _counts(rows: Codes, domains: tuple[int, ...], columns: tuple[int, ...]) -> Codes:
    shape = [domains[column] for column in columns]
    return np.bincount(np.ravel_multi_index(tuple(rows[:, list(columns)].T), shape), minlength=prod(shape))


def learnt(name: str, fold: int, synthetic: Codes, train: Codes, test: Codes, domains: tuple[int, ...]) -> Row:
    """Return a line of results: accuracies on unseen rows, and the error of marginals of three columns.

    The last column is the class.
    """
    found: Row = {"rows from": name, "fold": fold, "rows": len(synthetic)}
    found["error"] = round(error(train, synthetic, domains), 4)
    for model, learner in {"majority": majority, **LEARNERS}.items():
        predict = learner(domains[:-1], domains[-1], synthetic[:, :-1], synthetic[:, -1])
        found[model] = round(float((predict(test[:, :-1]) == test[:, -1]).mean()), 4)
    return found


def error(rows: Codes, synthetic: Codes, domains: tuple[int, ...], many: int = 3) -> float:
    """Return the mean total variation distance between the marginals of `many` columns."""
    names = {str(i): size for i, size in enumerate(domains)}
    errors = marginal_errors(names, *({n: table[:, int(n)] for n in names} for table in (rows, synthetic)), many)
    return float(np.mean([distance for _, distance in errors]))


def ours(train: Codes, test: Codes, domains: tuple[int, ...], fold: int, how: str) -> Iterator[Row]:
    """Yield the lines of our AIM or MST, for each generator."""
    start = time.perf_counter()
    measured, seed = released(train, domains, how)
    chosen = time.perf_counter() - start
    for name, generator in GENERATORS.items():
        start = time.perf_counter()
        made = generated(generator, domains, measured, len(train), seed)
        row = learnt(f"{how}, {name}", fold, made, train, test, domains)
        yield row | {
            "measured": len(measured),
            "seconds to choose": round(chosen, 1),
            "seconds to generate": round(time.perf_counter() - start, 1),
        }


def generated(
    generator: Generator, domains: tuple[int, ...], measured: list[Measurement], many: int, seed: int
) -> Codes:
    """Return synthetic rows from the measurements, int64[many, columns]."""
    made = generator.generate({str(i): size for i, size in enumerate(domains)}, measured, many, seed)
    return np.column_stack([made[str(i)] for i in range(len(domains))])


def theirs(path: Path, train: Codes, test: Codes, domains: tuple[int, ...], fold: int, how: str) -> Iterator[Row]:
    """Yield the lines of OpenDP's own rows, and of rows that our generator makes of its measurements."""
    with np.load(path) as kept:
        content = dict(kept)
    about = {"measured": len(content["sigmas"]), "seconds": round(float(content["seconds"]), 1)}
    for method in ("round", "sample"):
        yield learnt(f"OpenDP {how}, {method}", fold, content[method], train, test, domains) | about
    measured, start = [], 0
    for text, sigma in zip(content["columns"].tolist(), content["sigmas"].tolist(), strict=True):
        columns = text.split(",")
        shape = [domains[int(column)] + 1 for column in columns]  # one more category, for missing values
        counts = content["counts"][start : start + prod(shape)].reshape(shape)[(slice(-1),) * len(shape)]
        start += prod(shape)
        measured.append(Measurement(tuple(columns), counts.astype(np.int64), sigma))
    made = generated(Graphical(), domains, measured, len(train), SEED)
    yield learnt(f"OpenDP {how}, our generator", fold, made, train, test, domains) | about


def run_peer(table: Table, fold: Codes, many: int) -> None:
    """Run OpenDP on the folds without results."""
    python = install(ROOT / ".bench" / "opendp", OPENDP)
    KEPT.mkdir(parents=True, exist_ok=True)
    path = KEPT / "table.npz"
    np.savez(path, values=table.values, labels=table.labels, fold=fold, domains=table.domains, classes=table.classes)
    for how in ("MST", "AIM"):
        missing = [str(k) for k in range(many) if not (KEPT / f"{how}-{k}.npz").exists()]
        if missing:
            program = Path(__file__).with_name("peer.py")
            subprocess.run([python, program, path, KEPT, how, str(float(RHO)), *missing], check=True)


@click.command(help=__doc__)
@click.option("--data", type=click.Path(path_type=Path, file_okay=False), default=DATA, help="Folder of the tables.")
@click.option("--folds", "many", type=click.IntRange(1, FOLDS), default=FOLDS, show_default=True, help="How many.")
@click.option("--only", default="", metavar="TEXT", help="Only ways with TEXT in their name: AIM, MST, OpenDP.")
@click.option("--peer", is_flag=True, help="Run OpenDP where it was not run yet.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Write JSON and a picture here.")
def main(data: Path, many: int, only: str, peer: bool, out: Path | None) -> None:
    table = load(data, "adult")
    rows = np.column_stack([table.values, table.labels])
    domains = (*table.domains, table.classes)
    fold = folds(table.labels, FOLDS, SEED)
    if peer:
        run_peer(table, fold, many)
    found: list[Row] = []
    for k in range(many):
        train, test = rows[fold != k], rows[fold == k]
        ways: list[tuple[str, Callable[[], Iterator[Row]]]] = [
            ("rows as they came", lambda: iter([learnt("rows as they came", k, train, train, test, domains)])),  # noqa: B023
            *((how, lambda how=how: ours(train, test, domains, k, how)) for how in ("MST", "AIM")),  # noqa: B023
        ]
        for how in ("MST", "AIM"):
            path = KEPT / f"{how}-{k}.npz"
            if path.exists():
                ways.append((f"OpenDP {how}", lambda path=path, how=how: theirs(path, train, test, domains, k, how)))  # noqa: B023
        for name, way in ways:
            if only in name:
                for row in way():
                    click.echo(json.dumps(row))
                    found.append(row)
    if out is not None:
        document = {"machine": facts(("numpy",)), "rho": float(RHO), "peer_packages": OPENDP, "rows": found}
        write_text(out / "synthesis.json", json_rows(document) + "\n")
        write_text(out / "synthesis.svg", draw(found))


if __name__ == "__main__":
    main()
