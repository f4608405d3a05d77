"""The bundled example: two clinics' rows."""

from __future__ import annotations

import importlib.resources
from pathlib import Path
from typing import NamedTuple


class Demo(NamedTuple):
    """The bundled example: two parties' rows of Quinlan's weather table, and their schema."""

    clinic_a: Path
    clinic_b: Path
    schema: Path


def demo() -> Demo:
    """Return the paths of the bundled example (J. R. Quinlan, Induction of Decision Trees, 1986, table 1)."""
    data = Path(str(importlib.resources.files("parties") / "data"))
    return Demo(data / "clinic_a.csv", data / "clinic_b.csv", data / "schema.toml")
