"""Write the table of types in docs/tables-schema.md from the types themselves: `python -m scripts.typed_columns`."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

from parties.tables.toml_text import toml_value
from parties.tables.types import TYPES, read_type

PAGE = Path(__file__).parents[1] / "docs" / "tables-schema.md"
BEGIN, END = "<!-- made by scripts/typed_columns.py -->\n", "<!-- until here -->\n"

EXAMPLES: dict[str, dict[str, Any]] = {
    "category": {"groups": {"north": ["A", "B"], "south": ["C"]}, "other": "other"},
    "flag": {"missing": True},
    "integer": {"low": 0, "high": 110, "edges": [18, 40, 65]},
    "real": {"low": 0, "high": 2, "step": 0.1, "width": 0.5},
    "date": {"low": date(2025, 1, 1), "high": date(2025, 12, 31), "granularity": "quarter"},
    "time": {"edges": ["06:00", "18:00"]},
    "key": {},
}


def table() -> str:
    """Return the table in Markdown: each type, the keys that it takes, an example and its categories."""
    lines = ["| type | keys besides `missing` | example | categories |", "|---|---|---|---|"]
    for name, kind in TYPES.items():
        keys = [key for key in kind.model_fields if key not in ("type", "missing")]
        example = {"type": name} | EXAMPLES[name]
        categories = ", ".join(read_type(example).categories)
        cells = (
            f"`{name}`",
            ", ".join(f"`{key}`" for key in keys),
            f"`{toml_value(example)}`",
            categories or "none: it is never counted",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Put the table into the page."""
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + table() + END + rest.partition(END)[2])


if __name__ == "__main__":
    main()
