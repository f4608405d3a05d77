"""The pages and the reference of the packages as a site: `make docs` writes build/site, to be read from the disk.

Pages keep their paths, with .html for .md; README.md is index.html. Whatever file a page links to comes along. The
reference is pdoc's, from the docstrings. Whatever would be a warning is an error.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import warnings
from html import escape
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pygments import highlight as marked
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

from scripts.pages import ROOT, broken, headings, inner_links, pages, parser

FILES = Path(__file__).parent / "site_files"
# What programs of one's own import; a party's inside is told by docs/architecture.md.
PACKAGES = (
    "smc",
    "protocols",
    "parties",
    r"!smc\.kernels\.",
    r"!parties\.(web|node|commands|bench|cli|console|signals|__main__)\b",
    r"!parties\.link\.(?!settings)",
)
# What is not listed stands under the last title.
NAVIGATION: dict[str, tuple[str, ...]] = {
    "Start": (
        "README.md",
        "docs/two-machines.md",
        "docs/choosing.md",
        "docs/security.md",
        "docs/security-disk.md",
        "SECURITY.md",
        "docs/tutorial.md",
        "docs/tutorial-server.md",
        "docs/notes.md",
        "examples/README.md",
    ),
    "Questions": (
        "docs/release.md",
        "docs/release-guarantee.md",
        "docs/release-check.md",
        "docs/boosting.md",
        "docs/clusters.md",
        "docs/regression.md",
        "docs/studies.md",
        "docs/synthesis.md",
        "docs/publish.md",
        "docs/publish-again.md",
        "docs/publish-pseudonyms.md",
        "docs/publish-joint.md",
        "docs/publish-protect.md",
        "docs/publish-blur.md",
        "docs/publish-tables.md",
        "docs/attacks.md",
        "docs/local.md",
        "docs/python.md",
    ),
    "Running": (
        "docs/tables.md",
        "docs/tables-schema.md",
        "docs/tables-source.md",
        "docs/tables-rows.md",
        "docs/tables-models.md",
        "docs/policy.md",
        "docs/policy-points.md",
        "docs/records.md",
        "docs/records-budgets.md",
        "docs/records-shipping.md",
        "docs/records-duties.md",
        "docs/questionnaire.md",
        "docs/scale.md",
    ),
    "Inside": (
        "docs/architecture.md",
        "docs/protocols.md",
        "docs/protocols-tables.md",
        "docs/protocols-noise.md",
        "docs/protocols-engines.md",
        "docs/protocols-limits.md",
        "docs/measured.md",
        "docs/errors.md",
        "docs/cost.md",
        "docs/extending.md",
        "docs/extending-models.md",
        "docs/extending-engines.md",
    ),
    "More": (),
}


def navigation(found: list[Path]) -> dict[str, list[Path]]:
    """Titles and their pages; a listed page that is missing is an error."""
    sections = {title: [Path(name) for name in names] for title, names in NAVIGATION.items()}
    listed = {page for section in sections.values() for page in section}
    if missing := listed - set(found):
        raise SystemExit(f"site: no such page: {', '.join(map(str, sorted(missing)))}")
    sections[list(sections)[-1]] += [page for page in found if page not in listed]
    return sections


def place(page: Path) -> Path:
    """Where a page stands in the site."""
    return Path("index.html") if page == Path("README.md") else page.with_suffix(".html")


def coloured(code: str, language: str, _: str) -> str:
    """A code block of a known language; any other as it is."""
    try:
        lexer = get_lexer_by_name(language)
    except ClassNotFound:
        return escape(code)
    return str(marked(code, lexer, HtmlFormatter(nowrap=True)))


class Site:
    """One build."""

    def __init__(self, out: Path) -> None:
        self.out = out
        self.pages = pages()
        self.sections = navigation(self.pages)
        self.titles = {page: self._title(page) for page in self.pages}
        templates = Environment(loader=FileSystemLoader(FILES), autoescape=True, undefined=StrictUndefined)
        self.template = templates.get_template("page.html")

    @staticmethod
    def _title(page: Path) -> str:
        _, text, _ = next(headings(parser().parse((ROOT / page).read_text())))
        return text.partition(":")[0]

    def build(self) -> None:
        """Write all pages and what they show and link to."""
        if wrong := broken():
            raise SystemExit("\n".join(wrong))
        shutil.rmtree(self.out, ignore_errors=True)
        for page in self.pages:
            target = self.out / place(page)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(self._page(page))
        light, dark = (HtmlFormatter(style=name).get_style_defs("pre") for name in ("default", "monokai"))
        style = (FILES / "style.css").read_text()
        (self.out / "style.css").write_text(f"{style}\n{light}\n@media (prefers-color-scheme: dark) {{\n{dark}\n}}\n")

    def _page(self, page: Path) -> str:
        here = place(page).parent
        markdown = parser()
        markdown.options["highlight"] = coloured
        tokens = markdown.parse((ROOT / page).read_text())
        contents = []
        for opening, text, anchor in headings(tokens):
            opening.attrSet("id", anchor)
            if opening.tag == "h2":
                contents.append((text, anchor))
        for token, name in inner_links(tokens):
            token.attrSet(name, self._reachable(page, str(token.attrs[name])))
        menu = [
            (title, [(self.titles[other], os.path.relpath(place(other), here), other == page) for other in section])
            for title, section in self.sections.items()
            if section
        ]
        body = markdown.renderer.render(tokens, markdown.options, {})
        top = os.path.relpath(".", here)
        return self.template.render(title=self.titles[page], menu=menu, contents=contents, body=body, top=top)

    def _reachable(self, page: Path, link: str) -> str:
        """The link as the site has it; a file that is no page is copied."""
        path, mark, anchor = link.partition("#")
        if not path:
            return link
        target = (ROOT / page.parent / path).resolve().relative_to(ROOT)
        if target in self.titles:
            target = place(target)
        elif (ROOT / target).is_dir():
            if target / "README.md" not in self.titles:
                raise SystemExit(f"{page}: {path} is a folder without a README.md")
            target = place(target / "README.md")
        else:
            (self.out / target).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / target, self.out / target)
        return os.path.relpath(target, place(page).parent) + mark + anchor


def reference(out: Path, *modules: str) -> None:
    """pdoc's pages of the packages."""
    import pdoc

    from parties import notebook

    for name in notebook.__all__:  # pdoc takes what the module has, and asks no `__getattr__`
        setattr(notebook, name, getattr(notebook, name))
    pdoc.render.configure(
        docformat="markdown", show_source=False, include_undocumented=False, template_directory=FILES / "reference"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        # Fields made by a loop have no line of source, named tuples no module to look types up in: the pages are right.
        warnings.filterwarnings("ignore", "Cannot determine where .* is taken from", UserWarning)
        warnings.filterwarnings("ignore", "Error parsing type annotation ForwardRef", UserWarning)
        pdoc.pdoc(*modules, output_directory=out)


def main(words: list[str]) -> None:
    """Build the site; --pages leaves the reference out."""
    asked = argparse.ArgumentParser(description=main.__doc__)
    asked.add_argument("--out", type=Path, default=ROOT / "build" / "site")
    asked.add_argument("--pages", action="store_true")
    given = asked.parse_args(words)
    Site(given.out).build()
    if not given.pages:
        reference(given.out / "reference", *PACKAGES)
    print(given.out / "index.html")


if __name__ == "__main__":
    main(sys.argv[1:])
