"""Cost of `smc align exact` by its two methods: two processes over TLS on one machine, half of the keys in common.

    python -m benchmarks.matching [--keys N ...] [--method dh --method fast]

A line a run: seconds from start to end of both processes, seconds of the session, processor seconds of both processes,
bytes both ways, and the memory of the larger process. Run sizes of one process each for the memory.
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import click

from benchmarks.linkage import aligned


@click.command(help=__doc__)
@click.option("--keys", "sizes", multiple=True, type=int, default=(1 << 16, 1 << 18, 1 << 20))
@click.option("--method", "methods", multiple=True, default=("fast", "dh"))
def main(sizes: tuple[int, ...], methods: tuple[str, ...]) -> None:
    """Print the cost of each size and method."""
    for size in sizes:
        for method in methods:
            with tempfile.TemporaryDirectory() as name:
                paths = [Path(name) / f"{party}.csv" for party in (0, 1)]
                for party, path in enumerate(paths):
                    first = 10**9 + party * size // 2
                    path.write_text("key\n" + "".join(f"{key}\n" for key in range(first, first + size)))
                words = ["exact", "--by", "key", "--method", method]
                cost, printed = aligned(Path(name), words, size, paths)
            assert printed["matched"] == size - size // 2
            click.echo(json.dumps({"keys": size, "method": method, **cost, "load": os.getloadavg()[0]}))


if __name__ == "__main__":
    main()
