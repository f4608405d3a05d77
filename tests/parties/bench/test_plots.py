"""Pictures from recorded measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest

from parties.bench import plots, survey

RECORDED = {  # seconds and bytes on loopback, of batches of 1, 1,000 and 100,000
    "yao extension half": [(0.034, 8354), (0.042, 1163250), (0.911, 115224000)],
    "yao extension three-halves": [(0.034, 8130), (0.041, 939250), (0.638, 92824000)],
    "gmw extension depth": [(0.067, 15468), (0.076, 640000), (0.436, 62080000)],
    "gmw ferret depth": [(0.083, 878764), (0.063, 918000), (0.998, 5700000)],
}


def row(profile: str, batch: int, seconds: float, size: int, **more: Any) -> dict[str, Any]:
    return {
        "link": "loopback", "protocol": "millionaires 32", "profile": profile, "batch": batch,
        "seconds": seconds, "seconds_min": 0.9 * seconds, "seconds_max": 1.4 * seconds,
        "bytes_sent": size // 2, "bytes_received": size - size // 2,
        "phases": {"base ot": {"bytes": 7200, "seconds": 0.02}, "other": {"bytes": size - 7200, "seconds": seconds}},
    } | more  # fmt: skip


def document() -> dict[str, Any]:
    batches = [
        row(profile, batch, seconds, size)
        for profile, series in RECORDED.items()
        for batch, (seconds, size) in zip((1, 1000, 100_000), series, strict=True)
    ]
    trips = survey.PREDICTED_TRIPS
    lines = [
        {"profile": profile, "round_trips": trips, "seconds": [0.1 + trip for trip in trips]} for profile in RECORDED
    ]
    points = [row(profile, 256, 0.5, 10**6, round_trip=trip) for profile in RECORDED for trip in (1e-3, 4e-2)]
    return {
        "links": {"loopback": "loopback"},
        "rows": [
            row("mixed extension half", 1000, 0.5, 10**8, protocol="x ln x, 2^20, 1e-6"),
            row("a new profile", 1000, 0.5, 10**8, protocol="x ln x, 2^20, 1e-6"),
            row("lean ferret depth", 1, 0.1, 10**6, protocol="ID3, tennis"),
        ],
        "skipped": [],
        "batches": batches,
        "crossover": {"protocol": "AES-128", "batch": 256, "lines": lines, "points": points},
    }  # fmt: skip


@pytest.fixture(scope="module")
def pictures() -> dict[str, str]:
    return plots.render(document())


def test_three_pictures(pictures: dict[str, str]) -> None:
    assert sorted(pictures) == ["batch.svg", "crossover.svg", "phases.svg"]
    for text in pictures.values():
        assert Xml.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.parametrize("measured", ["batches", "crossover", "rows"])
def test_what_was_not_measured_is_not_drawn(measured: str) -> None:
    """Whatever else was, and that is drawn."""
    part = document() | {name: [] for name in ("batches", "crossover", "rows") if name != measured}
    drawn = {"batches": "batch", "crossover": "crossover", "rows": "phases"}[measured]
    assert {name.partition(".")[0] for name in plots.render(part)} == {drawn}


def test_all_files_of_a_survey(pictures: dict[str, str], tmp_path: Path) -> None:
    """The same measurements make the same pictures."""
    survey.prepare(tmp_path / "results")
    written = survey.write(document(), tmp_path / "results")
    assert sorted(path.name for path in written) == sorted(path.name for path in (tmp_path / "results").iterdir())
    assert len(written) == 4
    assert {path.name: path.read_text() for path in written if path.name in pictures} == pictures
