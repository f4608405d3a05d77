"""The results that are kept: figures as JSON, a row a line, and the pictures that pages show; nothing twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parties.bench.json_rows import json_rows
from scripts.pages import links, pages
from tests.support.places import ROOT

FILES = sorted((ROOT / "benchmarks" / "results").iterdir())


def test_each_file_is_figures_or_a_picture_that_a_page_shows() -> None:
    shown = {(ROOT / page).parent / link.path for page in pages() for link in links((ROOT / page).read_text())}
    pictures = {path for path in FILES if path.suffix != ".json"}
    assert {path.suffix for path in pictures} == {".svg"}
    assert pictures <= {path.resolve() for path in shown}


def test_no_picture_is_there_twice() -> None:
    paths = [path for folder in ("benchmarks", "docs") for path in (ROOT / folder).rglob("*.[ps][nv]g")]
    contents = [path.read_bytes() for path in paths]
    assert len(set(contents)) == len(contents) > 10


@pytest.mark.parametrize("path", [path for path in FILES if path.suffix == ".json"], ids=lambda path: path.name)
def test_figures_are_written_as_the_benchmarks_write_them(path: Path) -> None:
    text = path.read_text()
    assert text == json_rows(json.loads(text)) + "\n"
