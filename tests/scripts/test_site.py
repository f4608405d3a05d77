"""`make docs`: each page is in the site, with its neighbours in reach; the whole reference is built by .ci/run."""

from __future__ import annotations

import html.parser
from pathlib import Path

import pytest

from scripts import site
from scripts.pages import pages

pytestmark = pytest.mark.slow


class References(html.parser.HTMLParser):
    """What a page of the site names, and what it can be named by."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.wanted: list[str] = []
        self.anchors: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self.anchors += [str(given["id"])] if "id" in given else []
        self.wanted += [str(given[name]) for name in ("href", "src") if name in given]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    site.main(["--out", str(out), "--pages"])
    return out


def test_each_page_is_there_and_all_it_names(built: Path) -> None:
    parsed = {path: References(path.read_text()) for path in built.rglob("*.html")}
    assert len(parsed) == len(pages())
    for path, page in parsed.items():
        assert len(page.anchors) == len(set(page.anchors)), path
        for wanted in page.wanted:
            name, _, anchor = wanted.partition("#")
            target = (path.parent / name).resolve() if name else path
            if wanted.startswith("https:") or target == built / "reference" / "index.html":
                continue
            assert target.is_file(), (path, wanted)
            if anchor and target.suffix == ".html":
                assert anchor in parsed[target].anchors, (path, wanted)


def test_every_page_is_in_the_menu_of_every_page(built: Path) -> None:
    for path in built.rglob("*.html"):
        _, _, menu = path.read_text().partition("<nav ")
        assert menu.count("<li>") == len(pages())
        assert menu.count('aria-current="page"') == 1


def test_nothing_comes_from_the_network(built: Path) -> None:
    for path in (*built.rglob("*.html"), built / "style.css"):
        text = path.read_text()
        assert "<script" not in text
        assert 'src="http' not in text
        assert "@import" not in text
        assert "url(" not in text


def test_a_listed_page_that_is_missing_ends_the_build(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(site.NAVIGATION, "Start", ("docs/gone.md",))
    with pytest.raises(SystemExit, match=r"no such page: docs/gone\.md"):
        site.navigation(pages())


def test_the_reference_has_docstrings_and_ends_at_what_cannot_be_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.reference(tmp_path / "out", "smc.meter", "protocols.opened")
    text = (tmp_path / "out" / "smc" / "meter.html").read_text()
    assert "as a tree of named phases" in text
    assert 'href="../../index.html"' in text
    assert 'href="../index.html"' in (tmp_path / "out" / "index.html").read_text()
    package = tmp_path / "halfway"
    package.mkdir()
    (package / "__init__.py").write_text('"""Whole."""\n')
    (package / "broken.py").write_text('"""Broken."""\nimport no_such_module_anywhere\n')
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises((UserWarning, RuntimeError), match=r"halfway\.broken"):
        site.reference(tmp_path / "again", "halfway")
