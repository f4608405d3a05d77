"""The command line of benchmarks that measure a table: a line at a time is shown as Markdown, and all are kept."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from parties.bench.json_rows import json_rows

Row = dict[str, Any]


def kept(
    about: str | None,
    measured: Callable[[Path], Iterable[Row]],
    markdown: Callable[[Sequence[Row]], str],
    shape: Mapping[str, Any],
) -> None:
    """Measure the tables of the folder --data, print, and write the fields of `shape` and the results to --out."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="the folder of the tables")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    results: list[Row] = []
    for line in measured(arguments.data.absolute()):
        results.append(line)
        print(markdown([line]).splitlines()[-1], flush=True)
    arguments.out.write_text(json_rows({**shape, "results": results}) + "\n")
    print(markdown(results))
