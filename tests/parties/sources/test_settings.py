"""What may stand under [tables.NAME], and what is wrong with what may not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from parties.base.settings import Settings
from parties.sources import ColumnSettings, TableSettings, open_table
from parties.sources.mapping import rules
from parties.sources.settings import FormatSettings, public_place
from parties.tables.schema import Schema
from smc.errors import InputError

SCHEMA = Schema({"age": ("young", "middle", "old", "?"), "sex": ("male", "female"), "gone": ("?",)}, "sex")


def table(**given: Any) -> TableSettings:
    return TableSettings.model_validate({"source": "x.csv", "schema": "schema.toml", **given})


def problem_of(**column: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        ColumnSettings.model_validate(column)
    return caught.value.errors()[0]["msg"]


def refusal(name: str, **column: Any) -> str:
    with pytest.raises(InputError) as caught:
        rules({name: ColumnSettings.model_validate(column)}, SCHEMA, list(SCHEMA.attributes))
    return str(caught.value)


def test_paths_are_relative_to_the_file_and_urls_are_not() -> None:
    context = {"directory": Path("/etc/smc")}
    found = TableSettings.model_validate({"source": "rows/*.parquet", "schema": "schema.toml"}, context=context)
    assert found.source == "/etc/smc/rows/*.parquet"
    assert found.schema_file == Path("/etc/smc/schema.toml")
    assert found.max_rows == 65535
    url = "postgresql://host/db"
    assert TableSettings.model_validate({"source": url, "schema": "s"}, context=context).source == url


def test_all_of_a_party_file() -> None:
    class Whole(Settings):
        tables: dict[str, TableSettings]

    columns = {"age": {"column": "alter", "edges": [18, 65.5], "values": {"999": "?"}, "missing": "?"}}
    whole = Whole.model_validate(
        {"tables": {"t": {"source": "a", "schema": "b", "columns": columns, "memory": "500 MB"}}}
    )
    assert whole.tables["t"].columns["age"].edges == (18, 65.5)


def test_whole_numbers_stand_for_their_digits() -> None:
    assert ColumnSettings.model_validate({"values": {"x": 1}, "missing": 0}).values == {"x": "1"}


@pytest.mark.parametrize("bad", [{"memory": "much"}, {"threads": 0}, {"max_rows": 0}, {"colums": {}}, {"source": ""}])
def test_nonsense_about_a_table(bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        table(**bad)


def test_nonsense_about_a_column() -> None:
    assert "must increase, but 2 follows 2" in problem_of(edges=[1, 2, 2])
    assert "must increase, but 1 follows 3" in problem_of(edges=[3, 1.0])
    assert "`missing`" in problem_of(values={" ": "male"})
    assert "`missing`" in problem_of(values={"?": "male"})
    assert "differ only in the space" in problem_of(values={"M": "male", " M": "female"})
    for bad in (
        {"edges": [float("nan")]},
        {"edges": [True]},
        {"edges": ["1"]},
        {"column": ""},
        {"values": {"x": True}},
    ):
        assert problem_of(**bad)


def test_settings_must_fit_the_schema() -> None:
    hint = "(did you mean 'age'?); there are 'age', 'sex', 'gone'"
    assert refusal("agee") == f"columns: 'agee' is not an attribute of the schema {hint}"
    assert "columns.sex.values: 'mail' is not a category of the schema (did you mean 'male'?)" in refusal(
        "sex", values={"M": "mail"}
    )
    assert "columns.sex.missing: '?' is not a category" in refusal("sex", missing="?")
    assert "columns.age.edges: 1 edges, but the 3 categories other than '?' need 2" in refusal("age", edges=[1])
    assert "no category for a range" in refusal("gone", edges=[])


def test_a_renamed_key_beside_the_schema_is_no_typing_error() -> None:
    assert [rule.attribute for rule in rules({"tax": ColumnSettings(column="Steuer Nr.")}, SCHEMA, ["age"])] == ["age"]
    known = "(did you mean 'age'?); there are 'age', 'sex', 'gone'"
    as_key = "if it is a key of smc align, set derived.agee instead"
    assert refusal("agee", column="x") == f"columns: 'agee' is not an attribute of the schema {known}; {as_key}"
    assert "columns: 'tax' is not an attribute of the schema; there are" in refusal("tax", column="x", edges=[1])


def test_rules_come_in_the_order_that_is_asked_for() -> None:
    found = rules({"age": ColumnSettings(edges=(1, 2))}, SCHEMA, ["sex", "age"])
    assert [rule.attribute for rule in found] == ["sex", "age"]
    assert found[1].ranges is not None
    assert found[1].ranges.places == (0, 1, 2)
    assert found[1].missing == 3
    assert found[0].missing is None


def test_only_attributes_of_the_schema_can_be_counted() -> None:
    with pytest.raises(InputError, match=r"'ages' is not an attribute of the schema \(did you mean 'age'\?\)"):
        open_table(table(), SCHEMA, "sex", ["ages"])
    with pytest.raises(InputError, match="did you mean 'postgresql'"):
        open_table(table(source="postgress://host/db"), SCHEMA, "sex")


@pytest.mark.parametrize(("scheme", "package"), [("postgres", "psycopg"), ("spark", "pyspark.errors")])
def test_what_must_be_installed_is_said(scheme: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=rf"pip install 'smc-two-party\[{scheme}\]'"):
        open_table(table(source=f"{scheme}://host:1/db", table="t"), SCHEMA, "sex")


def test_a_password_is_not_shown() -> None:
    settings = table(source="postgresql://me:secret@host:5432/db?password=secret", table="t")
    assert settings.label == "postgresql://host:5432/db, table 't'"
    assert "secret" not in repr(settings)


@given(st.text("abc/:?#@%", max_size=12))
def test_no_part_of_a_password_is_in_a_label(noise: str) -> None:
    password = f"S{noise}S"
    assert "S" not in public_place(f"postgresql://me:{password}@host/db")
    assert "S" not in public_place(f"postgresql://me@host/db?x=1&password={password}")


def test_public_bounds_and_analysts() -> None:
    printed = ":".join(["AB"] * 32)
    assert table(least_rows=5, analysts=[printed.replace(":", "").lower()]).analysts == (printed,)
    with pytest.raises(ValidationError, match="is more than max_rows, 5"):
        table(least_rows=6, max_rows=5)
    for wrong in ("office", printed[:23], ""):
        with pytest.raises(ValidationError, match="not a whole fingerprint"):
            table(analysts=[wrong])


def test_a_version_is_of_the_rows_that_are_chosen() -> None:
    """Without a version there is none, whatever is chosen; with one, each key that chooses or maps makes another."""
    ways: list[dict[str, Any]] = [
        {},
        {"where": "a = 1"},
        {"where": "a = 2"},
        {"consent": "agreed"},
        {"consent": {"column": "agreed", "yes": ["ja"]}},
        {"columns": {"sex": {"column": "x"}}},
        {"format": {"separator": ";"}},
        {"query": "SELECT 1 FROM a"},
    ]
    assert {table(**{"source": "x.csv", **way}).state for way in ways} == {""}
    states = [table(**{"source": "x.csv", "version": "1", **way}).state for way in ways]
    assert len(set(states)) == len(ways)
    assert states[0] == "1"
    assert states == [table(**{"source": "x.csv", "version": "1", **way}).state for way in ways]
    assert table(source="y.csv", version="1", max_rows=9).state == "1"


def test_a_value_that_is_not_in_the_schema_is_refused_with_what_is_allowed_and_how_it_is_mapped() -> None:
    """Spellings of no value are not offered as values."""
    spelling = FormatSettings(missing=("-", "k.A."))
    columns = {"sex": ColumnSettings(values={"9": "?", "Mann": "m"})}
    (rule,) = rules(columns, Schema({"sex": ("m", "w", "?")}), ["sex"], spelling)
    assert rule.complaint("F") == (
        "'F' is not in the schema; allowed: 'm', 'w', '?', 'Mann', or what columns.sex.values maps to them"
    )
    assert rule.code("k.A.") == rule.code("9") == 2
