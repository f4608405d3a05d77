"""The Markdown pages of this repository: their headings, the anchors of these, and their links."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = (".", "docs", "docs/math", "examples", "examples/*", "benchmarks", "deploy")


class Link(NamedTuple):
    """A link or picture: its line, its path (empty for this page) and its anchor (empty for none)."""

    line: int
    path: str
    anchor: str


def pages(root: Path = ROOT) -> list[Path]:
    """Return the paths of all pages, relative to the root."""
    return sorted(path.relative_to(root) for folder in FOLDERS for path in root.glob(f"{folder}/*.md"))


def parser() -> MarkdownIt:
    """Return a parser of CommonMark with tables, the syntax of the pages."""
    return MarkdownIt("commonmark").enable("table")


def slug(heading: str) -> str:
    """Return the anchor of a heading's text: lower case, hyphens for spaces, no punctuation."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def plain(inline: Token) -> str:
    """Return the text of a heading without markup."""
    return "".join(child.content for child in inline.children or [] if child.type in ("text", "code_inline"))


def headings(tokens: list[Token]) -> Iterator[tuple[Token, str, str]]:
    """Yield opening token, text and anchor of each heading; the second equal anchor ends in -1, as on GitHub."""
    seen: dict[str, int] = {}
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            text = plain(inline)
            anchor = slug(text)
            count = seen.get(anchor, 0)
            seen[anchor] = count + 1
            yield opening, text, f"{anchor}-{count}" if count else anchor


def anchors(text: str) -> set[str]:
    """Return the anchors of a page."""
    return {anchor for _, _, anchor in headings(parser().parse(text))}


def inner_links(tokens: list[Token]) -> Iterator[tuple[Token, str]]:
    """Yield token and attribute of each link and picture in this repository, none on the network."""
    for token in tokens:
        for child in token.children or []:
            name = {"link_open": "href", "image": "src"}.get(child.type)
            if name and not re.match(r"[a-z]+:", str(child.attrs[name])):
                yield child, name


def links(text: str) -> Iterator[Link]:
    """Yield the links of a page to this repository."""
    for token in parser().parse(text):
        for child, name in inner_links([token]):
            path, _, anchor = str(child.attrs[name]).partition("#")
            yield Link((token.map or [0])[0] + 1, path, anchor)


def broken(root: Path = ROOT) -> list[str]:
    """Return a line for each link whose file or anchor does not exist."""
    found: list[str] = []
    known: dict[Path, set[str]] = {}
    for page in pages(root):
        text = (root / page).read_text()
        for link in links(text):
            target = (root / page.parent / link.path).resolve() if link.path else root / page
            if not target.exists():
                found.append(f"{page}:{link.line}: there is no {link.path}")
            elif link.anchor and target.suffix == ".md":
                if target not in known:
                    known[target] = anchors(target.read_text())
                if link.anchor not in known[target]:
                    found.append(f"{page}:{link.line}: {link.path or page} has no heading #{link.anchor}")
    return found
