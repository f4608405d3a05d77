"""Links of the pages lead to files and headings that are there."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.pages import Link, anchors, broken, links, pages, slug
from tests.support.places import ROOT

pytestmark = pytest.mark.slow


def test_no_link_of_this_repository_is_broken() -> None:
    assert broken() == []


def test_the_pages_that_people_read_are_among_them() -> None:
    found = set(map(str, pages()))
    assert {"README.md", "docs/tutorial.md", "benchmarks/README.md", "examples/node/README.md"} <= found
    assert {str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md")} <= found
    assert sum(len(list(links((ROOT / page).read_text()))) for page in found) > 100


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("What two parties can ask (`protocols/`)", "what-two-parties-can-ask-protocols"),
        ("Neighbours: `--adjacency`", "neighbours---adjacency"),
        ("x ln x", "x-ln-x"),
        ("1. Two parties", "1-two-parties"),
        ("Straße *und* Ufer", "straße-und-ufer"),
    ],
)
def test_anchors_are_those_that_hosts_of_repositories_make(heading: str, anchor: str) -> None:
    assert anchors(f"# {heading}\n") == {anchor}


def test_headings_of_one_name_are_counted_and_code_has_none() -> None:
    assert anchors("# A\n## A\n### A\n\n```\n# B\n```\n    # C\n") == {"a", "a-1", "a-2"}


def test_links_are_found_in_tables_and_pictures_and_not_in_code_or_the_network() -> None:
    text = "x\n\n| a |\n|---|\n| [b](c.md#d) |\n\n![e](f.svg)\n\n`[g](h)` <https://i.org> [j](https://k.org) [l](#m)\n"
    assert {link[1:] for link in links(text)} == {("c.md", "d"), ("f.svg", ""), ("", "m")}
    assert next(links("x\n\n[a](b)\n")) == Link(3, "b", "")


def test_each_broken_link_is_a_line(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text("# A\n[b](docs/b.md#one) [c](docs/b.md#two)\n\n[d](d.md) [a](#a) [e](#e)\n")
    (tmp_path / "docs" / "b.md").write_text("# One\n[up](../README.md#a)\n")
    assert broken(tmp_path) == [
        "README.md:2: docs/b.md has no heading #two",
        "README.md:4: there is no d.md",
        "README.md:4: README.md has no heading #e",
    ]


@given(st.text())
def test_an_anchor_has_no_space_and_no_capital(text: str) -> None:
    assert " " not in slug(text)
    assert slug(text) == slug(text.strip().lower())
