"""Synthetic rows by AIM of private-PGM, on mbi 2: a program for an environment of its own.

    python marginals_peer.py MECHANISMS TABLE.npz OUT.npz EPSILON DELTA RUNS

MECHANISMS is the folder of that name in a copy of github.com/ryan112358/private-pgm; the file holds `rows` and
`domains`. The environment has mbi 2, pandas and matplotlib, and this file imports nothing of the project. AIM is asked
for all pairs, with its own settings; rows of each run and its seconds of processor are written to OUT.npz.
"""

import itertools
import sys
import time

import numpy as np


def main(mechanisms: str, path: str, out: str, epsilon: str, delta: str, runs: str) -> None:
    sys.path.insert(0, mechanisms)
    import mbi
    from aim import AIM

    def mirror_descent(domain, measurements, iters, potentials=None, callback_fn=None):
        return mbi.estimation.MirrorDescent().estimate(domain, measurements, iters=iters, warm_start=potentials)

    mbi.estimation.mirror_descent = mirror_descent  # as AIM, written for mbi 1, calls it

    table = np.load(path)
    domain = mbi.Domain([f"c{i}" for i in range(len(table["domains"]))], [int(size) for size in table["domains"]])
    data = mbi.Dataset({name: table["rows"][:, i] for i, name in enumerate(domain.attributes)}, domain)
    pairs = [(pair, 1.0) for pair in itertools.combinations(domain.attributes, 2)]
    made, seconds = [], []
    for _ in range(int(runs)):
        start = time.process_time()
        _, synthetic = AIM(float(epsilon), float(delta)).run(data, pairs, num_synth_rows=len(table["rows"]))
        seconds.append(time.process_time() - start)
        columns = synthetic.to_dict()
        made.append(np.column_stack([np.asarray(columns[name]) for name in domain.attributes]))
        print(epsilon, f"{seconds[-1]:.0f} s", file=sys.stderr, flush=True)
    np.savez(out, rows=np.stack(made), seconds=seconds)


if __name__ == "__main__":
    main(*sys.argv[1:])
