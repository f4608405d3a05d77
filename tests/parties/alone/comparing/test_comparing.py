"""A comparison read from files and shown: text, picture, page."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from parties.alone.comparing.presenting import draw_svg, report_of, to_html
from parties.alone.comparing.reading import read
from parties.sources.settings import PlaceSettings
from smc.errors import InputError

SCHEMA = """
target = "play"
[attributes]
wind = ["weak", "strong"]
sky = ["sun", "rain"]
play = ["yes", "no"]
"""


def report(columns: int = 3, models: bool = True, mark: str = "") -> dict[str, Any]:
    shares = [0.25, 0.5, 0.25, *[0.0] * (columns - 2)]
    found: dict[str, Any] = {
        "rows": {"own": 1000, "synthetic": 2000},
        "columns": columns,
        "marginals": {
            "ways": 3,
            "tables": 1,
            "average": 0.125,
            "own_halves": 0.0625,
            "worst": [{"columns": ["wind" + mark, "sky", "play"], "distance": 0.125}],
        },
        "copies": {"alone": 9, "copied": 7, "synthetic_rows": 8, "by_chance": 1.5, "found": True},
        "distances": {key: {"mean": 1.0, "shares": shares} for key in ("synthetic", "own")},
    }
    accuracy = [{"model": "tree (ID3)", "synthetic": 0.75, "own": 0.875}]
    return found | ({"models": {"target": "play" + mark, "majority": 0.5, "accuracy": accuracy}} if models else {})


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "own.csv").write_text("play,id,sky,wind\nyes,1,sun,weak\nno,2,rain,strong\n")
    (tmp_path / "synthetic.csv").write_text("sky,play\nrain,no\nrain,yes\nsun,yes\n")
    return tmp_path


def test_the_columns_that_both_have(files: Path) -> None:
    pair = read(PlaceSettings(source=str(files / "own.csv")), files / "synthetic.csv", files / "schema.toml", None)
    assert pair.domain == {"sky": 2, "play": 2}
    assert {name: codes.tolist() for name, codes in pair.original.items()} == {"sky": [0, 1], "play": [0, 1]}
    assert {name: codes.tolist() for name, codes in pair.synthetic.items()} == {"sky": [1, 1, 0], "play": [1, 0, 0]}
    assert pair.target == "play"
    assert (
        read(PlaceSettings(source=str(files / "own.csv")), files / "synthetic.csv", files / "schema.toml", "sky").target
        == "sky"
    )


def test_a_target_that_is_not_there_is_none_unless_it_is_asked_for(files: Path) -> None:
    (files / "synthetic.csv").write_text("sky,wind\nrain,weak\n")
    assert (
        read(PlaceSettings(source=str(files / "own.csv")), files / "synthetic.csv", files / "schema.toml", None).target
        is None
    )
    with pytest.raises(InputError, match="target 'play' is not an attribute"):
        read(PlaceSettings(source=str(files / "own.csv")), files / "synthetic.csv", files / "schema.toml", "play")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("synthetic.csv", "sky,colour\nrain,red\n", "two columns"),
        ("synthetic.csv", "sky,play\nsnow,no\n", "synthetic.csv, line 2, column 'sky': 'snow' is not in the schema"),
        ("own.csv", "sky\nrain\n", "own.csv: the header lacks the column 'play'"),
    ],
)
def test_what_cannot_be_compared(files: Path, name: str, content: str, message: str) -> None:
    (files / name).write_text(content)
    with pytest.raises(InputError, match=message):
        read(PlaceSettings(source=str(files / "own.csv")), files / "synthetic.csv", files / "schema.toml", None)


def test_text() -> None:
    lines = report_of(report()).text().splitlines()
    assert lines[0].split() == ["synthetic", "own"]
    assert lines[1].split() == ["rows", "2,000", "1,000"]
    assert next(line for line in lines if "wind" in line).split() == ["wind,", "sky,", "play", "0.125"]
    assert next(line for line in lines if "ID3" in line).split()[-2:] == ["75.0%", "87.5%"]
    assert next(line for line in lines if "of these, also synthetic" in line).split()[-2:] == ["7", "COPIES"]
    assert next(line for line in lines if "same row" in line).split()[-2:] == ["25.0%", "25.0%"]
    assert "accuracy" not in report_of(report(models=False)).text()


@pytest.mark.parametrize(("columns", "models"), [(3, True), (40, False)])
def test_picture(columns: int, models: bool) -> None:
    found = draw_svg(report(columns, models))
    assert ElementTree.fromstring(found.encode()).tag.endswith("svg")
    assert found == draw_svg(report(columns, models))
    assert ("share of own rows" in found) == models
    assert (">6+<" in found) == (columns == 40)


def test_page_shows_names_as_they_are() -> None:
    found = to_html(report(mark="<b>$x$"), "a&b.csv")
    assert "a&amp;b.csv beside own rows" in found
    assert "wind&lt;b&gt;$x$, sky, play" in found
    assert "<b>" not in found
    assert found.count("<section") == 6
    assert to_html(report(models=False), "x").count("<section") == 5
