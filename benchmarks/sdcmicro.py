"""Microaggregation beside what sdcMicro 5.7's reference prints of its own test data, which are no part of this project.

    R -e 'library(sdcMicro); data(testdata); data(Tarragona); write.csv(testdata, "testdata.csv"); \\
          write.csv(Tarragona, "Tarragona.csv")'
    python -m benchmarks.sdcmicro --data .

MDAV of three columns of the first 100 rows of `testdata`, groups of four: quantiles of the published values. Columns of
`Tarragona` in groups of three (`onedims`): sdcMicro's groups are three values in order each, whose greatest mean it
prints; ours are the best that there are, so their squared error is less.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np

from parties.alone.publish.protecting.microaggregation import mdav, means, standardised, univariate
from protocols.arrays import Floats

MDAV = {  # by column: least, quartiles and greatest, as summary(m)$meansxm prints them
    "expend": (14471827, 22752145, 42916487, 71888065, 91918606),
    "income": (4482460, 24675000, 46850000, 65000000, 93725000),
    "savings": (872137, 2353262, 5116959, 7020042, 9407783),
}
GREATEST = {"FIXED.ASSETS": 3280469, "CURRENT.ASSETS": 4276147, "TREASURY": 446250, "SALES": 12576186}


def columns(path: Path) -> dict[str, Floats]:
    """Return the columns of numbers."""
    with path.open(encoding="utf-8", newline="") as stream:
        header, *lines = csv.reader(stream)
    table = {name: [line[place] for line in lines] for place, name in enumerate(header)}
    wanted = {*MDAV, *GREATEST}
    return {name: np.array(texts, dtype=np.float64) for name, texts in table.items() if name in wanted}


def in_threes(values: Floats) -> Floats:
    """Return each value's mean with its neighbours in order, in groups of three; the rest goes to the last."""
    order, groups = np.argsort(values, kind="stable"), np.zeros(len(values), dtype=np.int64)
    groups[order] = np.minimum(np.arange(len(values)) // 3, len(values) // 3 - 1)
    return means(values, groups)


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="the folder of the two files")
    folder = parser.parse_args().data
    some = {name: values[:100] for name, values in columns(folder / "testdata.csv").items()}
    groups = mdav(standardised(np.column_stack([some[name] for name in MDAV])), 4)
    for name, theirs in MDAV.items():
        ours = np.percentile(means(some[name], groups), [0, 25, 50, 75, 100])
        print(f"mdav, {name}: {', '.join(f'{x:.0f}' for x in ours)}; off by {np.abs(ours - theirs).max():.2f} at most")
    tarragona = columns(folder / "Tarragona.csv")
    for name, greatest in GREATEST.items():
        values = tarragona[name]
        fixed, best = in_threes(values), means(values, univariate(values, 3))
        share = ((values - best) ** 2).sum() / ((values - fixed) ** 2).sum()
        print(f"onedims, {name}: greatest {fixed.max():.0f} (theirs {greatest}); ours has {share:.3f} of its error")


if __name__ == "__main__":
    main()
