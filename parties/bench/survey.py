"""Survey of costs: a table for every link, the data of the plots, and the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from parties.base import files
from parties.bench import machine
from parties.bench.cases import Case, batch_cases, crossover_cases
from parties.bench.json_rows import json_rows
from parties.bench.measuring import Measurement, OnProgress, measure
from smc.errors import InputError
from smc.link_shape import PRESETS, LinkShape

Document = dict[str, Any]

CROSSOVER_RATE = 1e9
CROSSOVER_TRIPS = (1e-3, 10e-3, 40e-3)  # seconds; measured on emulated links
PREDICTED_TRIPS = [10 ** (power / 10 - 4) for power in range(31)]  # 0.1 to 100 ms


def parse_links(text: str) -> dict[str, LinkShape]:
    """Return links by name: presets separated by commas, and RATE,ROUND-TRIP links separated by semicolons.

    "loopback,lan;100mbit,40ms" gives three. Raise InputError for any other text.
    """
    links: dict[str, LinkShape] = {}
    for part in text.lower().split(";"):
        names = [word.strip() for word in part.split(",")]
        for name in names if set(names) <= set(PRESETS) else [part.strip()]:
            try:
                links[name] = LinkShape.parse(name)
            except InputError as error:
                raise InputError(f"--links: {error}; separate links by semicolons, such as lan;100mbit,40ms") from None
    return links


def survey(
    links: Mapping[str, LinkShape], cases: Sequence[Case], repeats: int, pictures: bool, on_progress: OnProgress
) -> Document:
    """Measure the cases on every link, and return the measurements as the JSON document that `write` writes.

    Args:
        links: Links by name.
        cases: The cases.
        repeats: Runs of each case.
        pictures: Whether to measure the data of the plots as well.
        on_progress: Called with a description of the current step.
    """
    document: Document = {
        "machine": machine.facts(),
        "repeats": repeats,
        "links": {name: str(shape) for name, shape in links.items()},
        "rows": [],
        "skipped": [],
    }
    for name, shape in links.items():
        rows, skipped = measure(name, shape, [case for case in cases if case.suits(shape)], repeats, on_progress)
        document["rows"] += _fields(rows)
        document["skipped"] += [asdict(case) for case in skipped]
    if pictures:
        rows, _ = measure("loopback", LinkShape(), batch_cases(), repeats, on_progress)
        document["batches"] = _fields(rows)
        document["crossover"] = _crossover(repeats, on_progress)
    return document


def _crossover(repeats: int, on_progress: OnProgress) -> Document:
    """Return seconds by round trip: predicted for many round trips, measured for some."""
    cases = crossover_cases()
    lines = []
    for case in cases:
        on_progress(f"forecast of {case.title}")
        forecast = case.forecast()
        seconds = [forecast.seconds(LinkShape(CROSSOVER_RATE, trip / 2)) for trip in PREDICTED_TRIPS]
        lines.append({"profile": str(case.profile), "round_trips": PREDICTED_TRIPS, "seconds": seconds})
    points = []
    for trip in CROSSOVER_TRIPS:
        shape = LinkShape(CROSSOVER_RATE, trip / 2)
        rows, _ = measure(str(shape), shape, cases, repeats, on_progress)
        points += [row | {"round_trip": trip} for row in _fields(rows)]
    return {"protocol": cases[0].workload.name, "batch": cases[0].batch, "lines": lines, "points": points}


def _fields(rows: Sequence[Measurement]) -> list[dict[str, Any]]:
    return [asdict(row) for row in rows]


def write(document: Document, directory: Path) -> list[Path]:
    """Write bench.json and the plots, each completely or not at all; return the paths.

    Raise InputError if a file cannot be written.

    Args:
        document: Result of `survey`.
        directory: Directory of the files.
    """
    from parties.bench import plots  # matplotlib is slow to load

    texts = {"bench.json": json_rows(document) + "\n", **plots.render(document)}
    for name, text in texts.items():
        files.write_text(directory / name, text)
    return [directory / name for name in texts]


def prepare(directory: Path) -> None:
    """Make the output directory and check that it is writable, before the measurement takes minutes."""
    files.make_directory(directory)
    files.ensure_writable(directory / "bench.json")
