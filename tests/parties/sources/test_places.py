"""Which two spellings of a place may mean some of the same rows: budgets depend on it, and who is left out."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from parties.sources.places import common, places_of, same_place
from parties.sources.settings import PlaceSettings, TableSettings
from smc.errors import InputError

Spelling = dict[str, Any]


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def of(spelling: Spelling) -> TableSettings:
    return TableSettings.model_validate({"schema": "s.toml", **spelling})


def shared(one: Spelling, two: Spelling) -> bool:
    found = [places_of(of(spelling)) for spelling in (one, two)]
    both = common(*found) is not None
    assert both == (common(*reversed(found)) is not None)
    return both


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (("x.duckdb", "people"), ("x.duckdb", None)),  # its only table
        (("x.duckdb", "people"), ("x.duckdb", "main.PEOPLE")),
        (("parts/*.parquet", None), ("parts/a.parquet", None)),
        (("parts/**/*.parquet", None), ("parts/2026/01/a.parquet", None)),
        (("parts/2026*.parquet", None), ("parts/*.parquet", None)),
        (("parts", None), ("./parts/a.parquet", None)),
        (("parts", None), ("parts/2026", None)),
        (("postgres://a:pw@H:5432/d", "people"), ("postgresql://b@h/d?sslmode=require", "public.people")),
        (("postgresql://h/d", "people"), ("postgresql:///?host=H&dbname=d", "people")),
        (("postgresql://[::1]/d", "people"), ("postgresql:///d?host=/var/run/postgresql", "people")),
        (("postgresql://h./d", "people"), ("postgresql://h/%64", "people")),
        (("mysql://a@localhost/d", "people"), ("mariadb://127.0.0.1:3306/d", "d.people")),
        (("mysql://h/d", "people"), ("mysql://h/e", "d.people")),
        (("spark://local", "parts"), ("spark://local", "default.parts")),
        (("spark://local", "{here}/parts"), ("parts", None)),
        (("spark://local", "file://{here}/parts"), ("parts/a.parquet", None)),
        (("postgresql://h:port/d", "people"), ("postgresql://h/d", "people")),  # not a URL: nobody knows
    ],
)
def test_another_spelling_is_the_same_place(one: tuple[str, str | None], two: tuple[str, str | None]) -> None:
    spelled = [(source, name and name.format(here=Path.cwd())) for source, name in (one, two)]
    settings = [PlaceSettings(source=source, table=name) for source, name in spelled]
    assert same_place(*settings, whole=True)
    assert same_place(*reversed(settings), whole=True)
    assert shared(*({"source": source, "table": name} for source, name in spelled))


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (("a.csv", None), ("b.csv", None)),
        (("x.duckdb", "people"), ("x.duckdb", "others")),
        (("x.duckdb", "a.people"), ("x.duckdb", "b.people")),
        (("x.duckdb", "people"), ("x.duckdb", "b.people")),
        (("postgres://h/d", "people"), ("postgres://h/e", "people")),
        (("postgres://h/d", "people"), ("postgres://h:5433/d", "people")),
        (("postgres://h/d", "people"), ("mysql://h/d", "people")),
        (("mysql://h/d", "people"), ("mysql://h/d", "e.people")),
        (("parts/*.csv", None), ("parts/a.parquet", None)),
        (("parts/*.parquet", None), ("parts/old/a.parquet", None)),
        (("parts", None), ("parts/labels.csv", None)),
    ],
)
def test_other_places_are_told_apart(one: tuple[str, str | None], two: tuple[str, str | None]) -> None:
    for name in ("parts/labels.csv", "parts/old/a.parquet"):
        Path(name).parent.mkdir(exist_ok=True, parents=True)
        Path(name).touch()
    settings = [PlaceSettings(source=source, table=name) for source, name in (one, two)]
    assert not same_place(*settings, whole=True)
    assert not shared(*({"source": source, "table": name} for source, name in (one, two)))


def test_links_and_spellings_of_a_file_are_the_file(directory: Path) -> None:
    Path("folder").mkdir()
    Path("folder/a.parquet").write_text("rows")
    Path("soft.parquet").symlink_to("folder/a.parquet")
    Path("way").symlink_to("folder")
    os.link("folder/a.parquet", "hard.parquet")
    Path("other").mkdir()
    os.link("folder/a.parquet", "other/b.parquet")
    Path("copy.parquet").write_text("rows")
    same = ["folder/a.parquet", "./folder/../folder/a.parquet", str(directory / "folder/a.parquet"), "soft.parquet"]
    same += ["way/a.parquet", "hard.parquet", "folder", "way", "other", "fold*/*.parquet", "other/?.parquet"]
    for one in same:
        assert all(shared({"source": one}, {"source": two}) for two in same), one
        assert not shared({"source": one}, {"source": "copy.parquet"})  # which docs/tables-rows.md says


PG, DUCK = "postgresql://h/d", "x.duckdb"


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ({"source": PG, "query": "SELECT * FROM people"}, {"source": PG, "table": "people"}, True),
        ({"source": PG, "query": "SELECT * FROM public.people p"}, {"source": PG, "table": "People"}, True),
        ({"source": PG, "query": "SELECT * FROM people"}, {"source": PG, "table": "visits"}, False),
        (
            {"source": PG, "query": "WITH visits AS (SELECT * FROM people) SELECT * FROM visits"},
            {"source": PG, "table": "visits"},
            False,
        ),
        (
            {"source": PG, "query": "SELECT * FROM labs WHERE who IN (SELECT who FROM people)"},
            {"source": PG, "table": "people"},
            True,
        ),
        ({"source": PG, "query": "SELECT nonsense FROM ("}, {"source": PG, "table": "people"}, True),  # nobody knows
        ({"source": DUCK, "query": "SELECT * FROM people"}, {"source": DUCK, "table": "main.people"}, True),
        ({"source": DUCK, "query": "SELECT * FROM people"}, {"source": DUCK, "table": "visits"}, False),
        ({"query": "SELECT * FROM v", "files": {"v": "v.csv"}}, {"source": "./v.csv"}, True),
        ({"query": "SELECT * FROM v", "files": {"v": "v.csv"}}, {"source": "w.csv"}, False),
        (
            {"query": "SELECT * FROM p", "files": {"p": {"source": DUCK, "table": "people"}}},
            {"source": DUCK, "table": "people"},
            True,
        ),
    ],
)
def test_a_query_reads_the_tables_that_it_names(one: Spelling, two: Spelling, same: bool) -> None:
    assert shared(one, two) == same


def test_a_lookup_of_a_query_is_nobody_s_rows() -> None:
    """Two queries may read one list of codes. It has to be one of the tables that are read, and not all of them."""
    visits = {"source": PG, "query": "SELECT * FROM visits JOIN Codes USING (code)"}
    labs = {"source": PG, "query": "SELECT * FROM labs JOIN codes USING (code)"}
    assert shared(visits, labs)
    assert not shared(visits | {"lookups": ["codes"]}, labs)
    with pytest.raises(InputError, match=r"^lookups: the query reads no 'code' \(did you mean 'Codes'\?\)"):
        places_of(of(visits | {"lookups": ["code"]}))
    with pytest.raises(InputError, match=r"^lookups: the list has every table of the query"):
        places_of(of(visits | {"lookups": ["codes", "visits"]}))
    with pytest.raises(ValueError, match="only a `query` reads several tables"):
        of({"source": PG, "table": "visits", "lookups": ["codes"]})


def test_a_query_that_is_not_understood_may_read_every_table() -> None:
    query = {"source": PG, "query": "SELECT unknown_function(a) FROM visits"}
    files = {
        "query": "SELECT unknown_function(a) FROM v",
        "files": {"v": {"source": DUCK, "table": "v"}, "w": "w.csv"},
    }
    assert not shared(query | {"query": "SELECT * FROM visits"}, {"source": PG, "table": "people"})
    assert shared(query, {"source": PG, "table": "people"})
    assert shared(files, {"source": "w.csv"})
    assert shared(files, {"source": DUCK, "table": "people"})
    assert not shared(query, {"source": "postgresql://h/e", "table": "visits"})
