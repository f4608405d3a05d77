"""Rows have one budget, whatever the names of their tables: which names are refused, and which belong together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parties.node.budget.same_rows import groups, have_two_budgets, recorded, two_names, unknown_names
from parties.party_file import PartyFile, read
from parties.sources.settings import TableSettings
from smc.errors import InputError

BUDGET = {"epsilon": 1}
Tables = dict[str, TableSettings]


def tables(**spelled: dict[str, Any]) -> Tables:
    own = {name: {"schema": "s.toml", "source": f"/data/{name}.csv"} | more for name, more in spelled.items()}
    return {name: TableSettings.model_validate(table) for name, table in own.items()}


def in_file(directory: Path, text: str) -> Tables:
    (directory / "party.toml").write_text(text)
    return read(PartyFile, directory / "party.toml").tables


def two(directory: Path, more: str = "", first: str = "", source: str = "a.csv") -> Tables:
    """Tables a, which has a budget, and b."""
    table = '[tables.{}]\nsource = "{}"\nschema = "s.toml"\n{}\n'
    budget = "[tables.a.budget]\nepsilon = 1\ndelta = 1e-5\n"
    return in_file(directory, table.format("a", "a.csv", first) + budget + table.format("b", source, more))


def test_a_second_name_for_rows_with_a_budget_is_refused(tmp_path: Path) -> None:
    """Whichever comes first in the file, and whichever has the budget; without one nothing is bounded."""
    both = tables(a={}, b={"source": "/data/./a.csv", "budget": BUDGET})
    at = '/data/a.csv is read by tables.{}, too, and rows have one budget: set same_rows_as = "{}"'
    assert two_names(both) == {"a": at.format("b", "b")}
    assert two_names(dict(reversed(both.items()))) == {"a": at.format("b", "b")}
    both["a"] = both["a"].model_copy(update={"budget": both["b"].budget})
    assert two_names(both) == {"b": at.format("a", "a") + " in place of [tables.b.budget]"}
    assert two_names({name: table.model_copy(update={"budget": None}) for name, table in both.items()}) == {}
    assert two_names(tables(a={"budget": BUDGET}, b={"budget": BUDGET})) == {}
    assert two_names(tables(a={"budget": BUDGET})) == {}
    (why,) = two_names(two(tmp_path)).values()
    assert "same_rows_as" in why
    assert two_names(two(tmp_path, source="b.csv")) == {}


def test_the_remedy_says_what_else_may_be_meant() -> None:
    pg = {"source": "postgresql://h/d", "schema": "s.toml"}
    both = tables(a=pg | {"table": "rows", "budget": BUDGET}, b=pg | {"table": "other.rows"})
    assert two_names(both)["b"].endswith("; if they are two tables, name each with its schema")
    both = tables(a=pg | {"table": "public.rows", "budget": BUDGET}, b=pg | {"table": "other.rows"})
    assert two_names(both) == {}
    query = "SELECT * FROM {} JOIN codes USING (code)"
    both = tables(a=pg | {"query": query.format("x"), "budget": BUDGET}, b=pg | {"query": query.format("y")})
    assert "list it in `lookups`" in two_names(both)["b"]
    lookups = {"lookups": ("codes",)}
    assert two_names({name: table.model_copy(update=lookups) for name, table in both.items()}) == {}
    wrong = {name: table.model_copy(update={"lookups": ("nothing",)}) for name, table in both.items()}
    assert [why[:26] for why in two_names(wrong).values()] == ["lookups: the query reads n"] * 2


def test_a_table_that_says_so_shares_the_budget(tmp_path: Path) -> None:
    shared = two(tmp_path, 'same_rows_as = "a"')
    assert two_names(shared) == {}
    assert shared["b"].budget == shared["a"].budget
    assert not have_two_budgets(shared, "a", "b")
    assert groups(shared, []) == dict.fromkeys("ab", frozenset("ab"))
    assert groups(two(tmp_path, 'same_rows_as = "a"', source="copy.csv"), []) == dict.fromkeys("ab", frozenset("ab"))
    assert two(tmp_path)["b"].budget is None


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("", 'same_rows_as = "b"', "b.same_rows_as: names the table itself; remove it"),
        ('same_rows_as = "b"', "", "a.same_rows_as: the budget of 'b' counts; remove [tables.a.budget]"),
        ('same_rows_as = "b"', 'same_rows_as = "a"', "a.same_rows_as: name 'a', as 'b' does"),
        ("", 'same_rows_as = "a"\nmax_rows = 1000000', "b.same_rows_as: the budget of 'a': delta"),
        ("", 'same_rows_as = ""', "b.same_rows_as: "),
    ],
)
def test_what_cannot_be_shared(tmp_path: Path, first: str, second: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        two(tmp_path, second, first)
    assert f"party.toml: tables{'.' if said.endswith('_as: ') else ': '}{said}" in str(refused.value)


def test_a_name_that_nobody_knows(tmp_path: Path) -> None:
    """A former name is one that the log knows: what was charged under it counts."""
    named = two(tmp_path, 'same_rows_as = "old"', source="b.csv")
    assert unknown_names(named, {"old"}) == {}
    (why,) = unknown_names(named, {"oldest"}).values()
    assert why.startswith("same_rows_as: there is no table 'old', nor was there one (did you mean 'oldest'?)")
    assert groups(named, [])["b"] == {"b", "old"}


def start(held: Tables, *before: dict[str, Any]) -> dict[str, Any]:
    return recorded(held, groups(held, before))


def test_a_renamed_table_keeps_its_names() -> None:
    """By the place of its rows; and from then on by the log, wherever the rows move, and whatever the file says."""
    first = start(tables(a={}, z={}))
    assert first == {"rows": {name: [[f"/data/{name}.csv", None]] for name in "az"}, "same_rows": {}}
    renamed = tables(b={"source": "/data/../data/a.csv"}, z={})
    second = start(renamed, first)
    assert second["same_rows"] == {"b": ["a"]}
    assert groups(renamed, [first])["z"] == {"z"}
    moved = start(tables(b={"source": "/new/b.csv"}, z={}), first, second)
    assert moved["same_rows"] == {"b": ["a"]}
    third = start(tables(c={"source": "/new/b.csv"}), first, second, moved)
    assert third["same_rows"] == {"c": ["a", "b"]}
    said = start(tables(d={"same_rows_as": "c"}), first, second, moved, third)
    assert start(tables(d={}), first, second, moved, third, said)["same_rows"] == {"d": ["a", "b", "c"]}
    assert start(tables(e={}), first, second, moved, third, said)["same_rows"] == {}


def test_a_name_that_is_given_to_other_rows_takes_no_charge_away() -> None:
    """The first name goes to a new file, and the old file gets a new name: what was spent of it still counts there."""
    first = start(tables(a={}))
    swapped = tables(a={"source": "/data/b.csv"}, b={"source": "/data/a.csv"})
    assert groups(swapped, [first]) == dict.fromkeys("ab", frozenset("ab"))


def test_starts_of_earlier_releases_say_no_places() -> None:
    """Their states start as they are: a name is itself."""
    assert groups(tables(a={}), [{"version": "1.0", "tables": ["a", "b"]}]) == {"a": {"a"}}
