"""Synthetic rows by OpenDP's AIM and MST: a program for an environment of its own.

    python peer.py TABLE.npz FOLDER ALGORITHM RHO FOLD ...   the file holds values, labels, fold, domains and classes

For each fold the other rows are released as a contingency table that spends RHO. What was measured and OpenDP's own
synthetic rows are written to FOLDER/ALGORITHM-FOLD.npz, the class last. OpenDP's extra pins versions of packages that
the project does not use, so this file imports nothing of the project.
"""

import sys
import time
from pathlib import Path

import numpy as np
import opendp.prelude as dp
import polars as pl
from opendp.extras.mbi import _mst, mirror_descent


def main(path: str, folder: str, algorithm: str, rho: str, *folds: str) -> None:
    dp.enable_features("contrib")
    # OpenDP 0.16 divides MST's budget by the number of choices and then finds their sum an ulp above it.
    _mst.prior = lambda value: value * (1 - 1e-12)
    table = np.load(path)
    rows = np.column_stack([table["values"], table["labels"]])
    names = [f"c{i}" for i in range(rows.shape[1])]
    keys = {
        name: list(range(size)) for name, size in zip(names, [*table["domains"], int(table["classes"])], strict=True)
    }
    for fold in folds:
        train = rows[table["fold"] != int(fold)]
        start = time.perf_counter()

        def estimator(domain, measurements, *, potentials=None):
            print(f"{time.perf_counter() - start:.0f} s, {len(measurements)} measured", file=sys.stderr)  # noqa: B023
            return mirror_descent(domain, measurements, potentials=potentials)

        context = dp.Context.compositor(
            data=pl.LazyFrame(dict(zip(names, train.T, strict=True))),
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(rho=float(rho)),
        )
        chosen = getattr(dp.mbi, algorithm)(estimator=estimator)
        released = context.query(rho=float(rho)).contingency_table(keys=keys, algorithm=chosen).release()
        found = {method: released.synthesize(method=method) for method in ("round", "sample")}
        seconds = time.perf_counter() - start
        measured = released.marginals.flatten()
        np.savez(
            Path(folder) / f"{algorithm}-{fold}.npz",
            seconds=seconds,
            sigmas=[one.stddev for one in measured],
            columns=np.array([",".join(name[1:] for name in one.clique) for one in measured]),
            counts=np.concatenate([np.asarray(one.noisy_measurement).ravel() for one in measured]),
            **{method: rows.select(names).drop_nulls().to_numpy().astype(np.int64) for method, rows in found.items()},
        )
        print(algorithm, fold, f"{seconds:.0f} s, {len(measured)} measured", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
