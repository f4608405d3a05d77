"""`make docs`: each page is in the site and its menu, and nothing comes from the network; .ci/run builds all of it."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

from scripts.pages import pages
from tests.support.places import ROOT

pytestmark = pytest.mark.slow


def built(out: Path, **settings: Any) -> Path:
    """Build the site without what mkdocstrings makes of docstrings, which takes its time."""
    logging.getLogger("mkdocs").setLevel(logging.WARNING)
    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(out), plugins=["search"], **settings)
    build(config)
    return out


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("site"))


def test_each_page_is_there(site: Path) -> None:
    for page in pages():
        target = page.with_name("index.html") if page.name == "README.md" else page.with_suffix(".html")
        assert (site / target).is_file(), page
    assert (site / "docs" / "pictures" / "two_parties.svg").is_file()


def test_the_reference_has_every_option_of_a_command(site: Path) -> None:
    text = (site / "reference" / "commands.html").read_text()
    for heading in ("smc id3", "smc release mean", "smc publish apply", "smc submit"):
        assert re.search(rf"<h2[^>]*>{heading}<", text), heading
    assert "--leaf-epsilon" in text  # --help leaves it out


def test_nothing_comes_from_the_network(site: Path) -> None:
    for path in site.rglob("*.html"):
        assert not re.findall(r"""<(?:script|link|img)[^>]+(?:src|href)=["']?https?:[^>]*>""", path.read_text()), path


def test_a_page_that_the_menu_leaves_out_ends_the_build(tmp_path: Path) -> None:
    with pytest.raises(Abort, match=r"\d+ warnings"):
        built(tmp_path, nav=[{"Start": ["README.md"]}])
