"""Report of a command: a JSON document and its form for people. Only this module makes text, JSON, CSV and HTML.

    report = Report({"rows": 9, "right": 0.5, "engines": [{"name": "yao", "sent": 1400}]})
    report.facts({"rows": "{rows:,}", "right": "{right:.1%}"})                     # a name and a figure each
    report.table({"engine": "{name}", "sent": ">{sent:size}"}, report.data["engines"])
    report.note("written: table.csv")                                              # on standard error

The document is the JSON output. A template is filled in from the document, or from a row of a table, by keys or
attributes, as `str.format` does it; `size` formats bytes (1.4 MB), `list` joins texts by commas. A template that begins
with "?" is used only if its keys exist. A column's template may begin with its kind: ">" for numbers, "~" for sentences
to wrap, "|" for a share drawn as a bar on a page. A column with a kind alone takes the next cell of a row.
"""

from __future__ import annotations

import io
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from parties.base import console, files
from parties.base.text import csv_text, printable, visible
from smc.errors import SmcError

if TYPE_CHECKING:
    from rich.table import Table as RichTable

Columns = Mapping[str, str] | Sequence[tuple[str, str]]  # headings with their templates
KINDS = {">": "number", "~": "sentence", "|": "bar"}
MARKS = {"holds": "good", "fails": "bad"}  # cells coloured on a page


_UNITS: Mapping[str, Callable[[float], str]] = {"size": console.size, "time": console.estimated}


class _Fill(string.Formatter):
    """Formatter of templates from mappings or objects; `nothing` replaces None."""

    def __init__(self, nothing: str) -> None:
        self.nothing = nothing

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Any) -> Any:
        return kwargs[key] if isinstance(kwargs, Mapping) else getattr(kwargs, str(key))

    def format_field(self, value: Any, format_spec: str) -> str:
        """Return a value as `format` does, and also None, sizes and lists."""
        if value is None:
            return self.nothing
        if format_spec == "list":
            return ", ".join(value)
        if format_spec in _UNITS:
            return _UNITS[format_spec](value)
        return str(format(value, format_spec))


_FACT, _CELL = _Fill("-"), _Fill("")


def _filled(fill: _Fill, template: str, source: Any) -> str | None:
    """Return a filled template; None if the template is optional and a key is missing."""
    try:
        return fill.vformat(template.removeprefix("?"), (), source)
    except (KeyError, AttributeError):
        if template.startswith("?"):
            return None
        raise


@dataclass(frozen=True)
class Column:
    """Column of a table: its heading, and its kind, see `KINDS`."""

    heading: str
    kind: str = ""


@dataclass(frozen=True)
class Table:
    """Table for people: rows of cells as text."""

    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]
    title: str = ""
    strong: frozenset[int] = frozenset()  # rows shown in bold on a terminal
    in_pages: bool = False  # sentences are also wrapped in a pipe

    @property
    def has_heading(self) -> bool:
        """Whether any column has a heading."""
        return any(column.heading for column in self.columns)

    def csv(self) -> str:
        """Return the table as CSV, with its headings."""
        return csv_text([[column.heading for column in self.columns], *self.rows])

    def screen(self) -> RichTable:
        """Return the table in its form for a terminal."""
        from rich.table import Table as RichTable

        table = RichTable(title=self.title or None, title_justify="left", box=None, padding=(0, 1))
        for column in self.columns:
            if column.kind == "sentence":
                table.add_column(column.heading, overflow="fold")
            else:
                table.add_column(column.heading, justify="right" if column.kind else "left", no_wrap=True)
        for place, cells in enumerate(self.rows):
            table.add_row(*cells, style="bold" if place in self.strong else None)
        return table


@dataclass(frozen=True)
class Part:
    """Piece of a report: lines, facts, a table, a picture or a heading."""

    kind: str
    text: str = ""
    about: str = ""
    facts: Sequence[tuple[str, str]] = ()
    table: Table | None = None


@dataclass
class Report:
    """Result of a command: a document, and its presentation as text, JSON, CSV and HTML."""

    data: Any = None
    is_foreign: bool = False  # True if other people wrote parts of it: characters that may mislead a reader are escaped
    failure: SmcError | None = None  # error raised after everything else is printed
    exit_code: int = 0
    width: int = 0  # least width of the names of facts
    parts: list[Part] = field(default_factory=list)
    notes: list[tuple[str, bool]] = field(default_factory=list)

    def line(self, text: str) -> None:
        """Add a line."""
        self.parts.append(Part("line", self._clean(text)))

    def lines(self, texts: Iterable[str]) -> None:
        """Add lines."""
        for text in texts:
            self.line(text)

    def block(self, text: str) -> None:
        """Add lines with their own layout, unchanged."""
        self.parts.append(Part("block", text))

    def fact(self, name: str, text: object) -> None:
        """Add a name and its value.

        Args:
            name: The name.
            text: The value, converted to text.
        """
        self._add_facts([(name, str(text))])

    def facts(self, facts: Mapping[str, str], data: Any = None) -> None:
        """Add names and values from templates.

        Args:
            facts: The template of each name.
            data: Source of the values. None: the document.
        """
        source = self.data if data is None else data
        filled = ((name, _filled(_FACT, template, source)) for name, template in facts.items())
        self._add_facts([(name, text) for name, text in filled if text is not None])

    def all_facts(self) -> None:
        """Add all fields of the document; the names are the keys as words."""
        forms = {key: ":list" if isinstance(value, list) else "" for key, value in self.data.items()}
        self.facts({key.replace("_", " "): f"{{{key}{form}}}" for key, form in forms.items()})

    def table(
        self,
        columns: Columns,
        rows: Iterable[Any],
        title: str = "",
        *,
        strong: Callable[[Any], bool] = lambda row: False,
        in_pages: bool = False,
    ) -> None:
        """Add a table.

        Args:
            columns: Headings with their templates, see this module.
            rows: Sources of the templates: mappings, objects, or the cells themselves.
            title: Line above the table.
            strong: Returns whether a row is shown in bold on a terminal.
            in_pages: True: sentences are also wrapped in a pipe.
        """
        self.parts.append(Part("table", table=self._table(columns, list(rows), title, strong, in_pages)))

    def listing(self, columns: Columns, rows: Sequence[Any], none: str) -> None:
        """Add a table; without rows, add a note instead, which JSON output omits.

        Args:
            columns: Headings with their templates.
            rows: Sources of the templates.
            none: The note that replaces an empty table.
        """
        if rows:
            self.table(columns, rows)
        else:
            self.note(none, always=False)

    def section(self, title: str, about: str = "", key: str = "") -> None:
        """Begin a section of a page.

        Args:
            title: Title of the section.
            about: Sentence about it; empty: none.
            key: Anchor of the section in the page; empty: none.
        """
        self.parts.append(Part("section", self._clean(title), self._clean(about), facts=[("id", key)]))

    def heading(self, title: str, about: str = "") -> None:
        """Add a heading within a section of a page.

        Args:
            title: The heading.
            about: Sentence about it; empty: none.
        """
        self.parts.append(Part("heading", self._clean(title), self._clean(about)))

    def picture(self, svg: str, label: str = "") -> None:
        """Add a picture to a page.

        Args:
            svg: The SVG document.
            label: Description of the picture.
        """
        self.parts.append(Part("picture", svg[svg.index("<svg") :], label))

    def note(self, text: str, always: bool = True) -> None:
        """Add a line for standard error.

        Args:
            text: The line.
            always: False: omit the line from JSON output.
        """
        self.notes.append((self._clean(text), always))

    def written(self, *paths: object) -> None:
        """Note the written files; None entries are skipped."""
        if names := [str(path) for path in paths if path is not None]:
            self.note(f"written: {', '.join(names)}")

    def save(self, path: Path | None) -> None:
        """Write the document as JSON to a file; do nothing without a path."""
        if path is not None:
            files.write_json(path, self.data)

    def show(self, as_json: bool) -> int:
        """Print the report, and return the exit code; raise its failure, if it has one."""
        if as_json:
            console.print_json(self.data, ascii_only=self.is_foreign)
        else:
            self.print()
        for text, always in self.notes:
            if always or not as_json:
                console.err.print(text)
        if self.failure:
            raise self.failure
        return self.exit_code

    def print(self, screen: Any = None) -> None:
        """Print the text on standard output, or on another screen."""
        screen = screen or console.out
        for part in self.parts:
            if part.table is not None:
                console.show(part.table.screen(), screen, part.table.in_pages)
            elif part.kind in ("line", "block", "facts"):
                screen.print(self._words(part), end="")

    def text(self) -> str:
        """Return the text in its form for a file."""
        from rich.console import Console

        stream = io.StringIO()
        self.print(Console(file=stream, highlight=False, soft_wrap=True, markup=False, emoji=False))
        return stream.getvalue()

    def csv(self) -> str:
        """Return the tables as CSV, with an empty line between two tables."""
        return "\n".join(part.table.csv() for part in self.parts if part.table is not None)

    def html(self, title: str, is_wide: bool = False) -> str:
        """Return a self-contained page: it fetches nothing and runs no script.

        Args:
            title: Heading of the page.
            is_wide: True: sections are side by side where the width allows.
        """
        from parties.base.templates import environment

        template = environment("parties.base").get_template("report.html")
        sections: list[tuple[Part, list[Part]]] = [(Part("section"), [])]
        for part in self.parts:
            if part.kind == "section":
                sections.append((part, []))
            else:
                sections[-1][1].append(part)
        (_, before), *others = sections
        page: str = template.render(
            title=self._clean(title), before=before, sections=others, is_wide=is_wide, marks=MARKS
        )
        return page

    def _clean(self, text: str) -> str:
        return visible(text) if self.is_foreign else printable(text)

    def _add_facts(self, facts: list[tuple[str, str]]) -> None:
        facts = [(self._clean(name), self._clean(text)) for name, text in facts]
        if self.parts and self.parts[-1].kind == "facts":  # they are aligned with the previous facts
            facts = [*self.parts.pop().facts, *facts]
        self.parts.append(Part("facts", facts=facts))

    def _words(self, part: Part) -> str:
        if part.kind != "facts":
            return part.text if part.kind == "block" else part.text + "\n"
        width = max([self.width, *(len(name) for name, _ in part.facts)])
        return "".join(f"{f'{name:{width}} {text}'.rstrip()}\n" for name, text in part.facts)

    def _table(
        self, columns: Columns, rows: list[Any], title: str, strong: Callable[[Any], bool], in_pages: bool
    ) -> Table:
        pairs = list(columns.items()) if isinstance(columns, Mapping) else list(columns)
        kinds = [KINDS.get(template[:1], "") for _, template in pairs]
        templates = [template[1:] if kind else template for (_, template), kind in zip(pairs, kinds, strict=True)]
        cells = []
        for row in rows:
            ready = iter(()) if any(templates) else iter(row)
            texts = (_filled(_CELL, template, row) if template else str(next(ready)) for template in templates)
            cells.append([self._clean(text or "") for text in texts])
        heads = [Column(self._clean(heading), kind) for (heading, _), kind in zip(pairs, kinds, strict=True)]
        bold = frozenset(place for place, row in enumerate(rows) if strong(row))
        return Table(heads, cells, self._clean(title), bold, in_pages)
