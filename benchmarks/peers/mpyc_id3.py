"""Secure ID3 by three parties on MPyC, the peer that `smc id3` is measured against.

The algorithm is that of MPyC's own demonstration (B. Schoenmakers, MPyC, demos/id3gini.py and np_id3gini.py): the rows
are one-hot indicators, shared by Shamir's scheme; a node is a shared 0/1 vector of the rows that belong to it; the
attribute with the best Gini gain is found by comparing fractions, and opened. Nothing but the tree is opened.

Two things are in its favour when it is timed: the parties start from a fixed sharing of data that all of them read, so
that no input is sent, and the integers are as short as the demonstration's author found enough for each data set.

Runs in a virtual environment with MPyC (benchmarks/peers/id3.py makes one), once for each party:

    python mpyc_id3.py --data tennis.csv --target Play --tree tree.json \
        -L 32 -P 127.0.0.1:7001 -P 127.0.0.1:7002 -P 127.0.0.1:7003 -I 0

Options in capital letters are MPyC's; -L is the bit length of the integers. At the end MPyC logs how many bytes this
party sent.
"""

from __future__ import annotations

import argparse
import csv
import json
from asyncio import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from mpyc.runtime import mpc

SCALE = 8  # an empty branch counts as 1/8 of a row, so that no share is divided by zero

Array = Any  # MPyC makes its array types while it runs


@dataclass(frozen=True, eq=False)
class Sample:
    """The shared rows. `indicators[name]` is a secret 0/1 array[values, rows]; the values themselves are public."""

    values: dict[str, list[str]]
    indicators: dict[str, Array]
    target: str
    count: int


def load(path: Path, target: str) -> Sample:
    """Read a CSV file into indicators, under the trivial sharing in which every party's share is the value."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    values = {name: sorted(set(column)) for name, column in columns.items()}
    number = mpc.SecInt()
    indicators = {
        name: number.array(np.array([[int(cell == value) for cell in column] for value in values[name]]))
        for name, column in columns.items()
    }
    return Sample(values, indicators, target, len(rows))


class Fraction:
    """A sort key for MPyC's argmax; the last axis has numerator and denominator, both positive."""

    size = 2

    def __init__(self, pair: Array) -> None:
        self.numerator, self.denominator = pair[..., 0], pair[..., 1]

    def __lt__(self, other: Fraction) -> Array:
        return self.numerator * other.denominator < other.numerator * self.denominator


class Learner:
    """Grows the tree of a sample; a node of at most `min_rows` rows is a leaf."""

    def __init__(self, sample: Sample, min_rows: int, parallel: bool) -> None:
        self._sample = sample
        self._classes = sample.indicators[sample.target]
        self._min_rows = min_rows
        self._parallel = parallel

    @mpc.coroutine
    async def grow(self, members: Array, attributes: tuple[str, ...]) -> Future:
        """Return the tree of the rows in `members`, a secret 0/1 array[rows], as the JSON object of `tree.json`."""
        sample = self._sample
        per_class = self._classes @ members
        majority, most = per_class.argmax(arg_unary=False)
        total = per_class.sum()
        done = (total <= self._min_rows) + (most == total)
        if not attributes or not await mpc.is_zero_public(done):
            return {"class": sample.values[sample.target][int(await mpc.output(majority))]}
        gains = self._gains((members * self._classes).T, attributes)
        best = attributes[int(await mpc.output(gains.argmax(key=Fraction, arg_unary=False, arg_only=True)))]
        rest = tuple(name for name in attributes if name != best)
        branches = list(members * sample.indicators[best])
        if self._parallel:
            below = await mpc.gather([self.grow(branch, rest) for branch in branches])
        else:
            below = [await self.grow(branch, rest) for branch in branches]
        return {"attribute": best, "branches": dict(zip(sample.values[best], below, strict=True))}

    def _gains(self, by_class: Array, attributes: tuple[str, ...]) -> Array:
        """Return secret fractions[attributes, 2]; the attribute with the greatest one leaves the least Gini impurity.

        With n(v, c) rows of value v and class c, n(v) of value v: sum over v and c of n(v, c)^2 / (n(v) + 1/SCALE),
        up to a factor. `by_class` is the node's 0/1 array[rows, classes]. All attributes' counts are one matrix.
        """
        indicators = [self._sample.indicators[name] for name in attributes]
        counts = np.concatenate(indicators) @ by_class
        sizes = SCALE * counts.sum(axis=1) + 1
        quotients = (counts * counts).sum(axis=1) / sizes  # in the field; times all sizes they are integers
        fractions = []
        start = 0
        for indicator in indicators:
            values = slice(start, start + len(indicator))
            denominator = mpc.prod(sizes[values].tolist())
            fractions.append(mpc.np_fromlist([denominator * quotients[values].sum(), denominator]))
            start = values.stop
        return np.stack(fractions)


async def main() -> None:
    """Run one party of the computation."""
    parser = argparse.ArgumentParser(description="One party of secure ID3 on MPyC.")
    parser.add_argument("--data", type=Path, required=True, help="all rows, CSV")
    parser.add_argument("--target", required=True, help="the class column")
    parser.add_argument("--min-rows", type=int, help="nodes with at most so many rows become leaves [5 %% of the rows]")
    parser.add_argument("--parallel", action="store_true", help="grow all branches of a node at the same time")
    parser.add_argument("--tree", type=Path, help="write the tree as JSON")
    options = parser.parse_args()
    sample = load(options.data, options.target)
    min_rows = int(0.05 * sample.count) if options.min_rows is None else options.min_rows
    learner = Learner(sample, min_rows, options.parallel)
    everybody = mpc.SecInt().array(np.ones(sample.count, dtype=int))
    attributes = tuple(name for name in sample.values if name != options.target)
    async with mpc:
        tree = await learner.grow(everybody, attributes)
    if options.tree is not None:
        options.tree.write_text(json.dumps(tree, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    mpc.run(main())
