"""The table of typed columns in docs/tables-schema.md is what the types are."""

from __future__ import annotations

from parties.sources.settings import FormatSettings
from parties.tables.types import TYPES
from scripts.typed_columns import BEGIN, END, EXAMPLES, PAGE, table

TEXT = PAGE.read_text()


def test_the_page_has_the_table_of_the_types() -> None:
    assert set(EXAMPLES) == set(TYPES)
    assert TEXT.partition(BEGIN)[2].partition(END)[0] == table(), "python -m scripts.typed_columns"


def test_the_page_names_each_key_of_a_format() -> None:
    section = TEXT.partition("patients.format]")[2].partition("\n## ")[0]
    for key in FormatSettings.model_fields:
        assert f"\n    {key} = " in section, key
