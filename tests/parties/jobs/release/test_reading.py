"""Own counts for a question, against counting rows one by one; from memory and from a mapped table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.jobs.inputs import Inputs
from parties.jobs.kinds.release.mean import Mean
from parties.jobs.kinds.release.sum import Sum, SumSettings
from parties.jobs.release.predicates import Predicate, parse
from parties.jobs.release.reading import Cells, fingerprint, pairs, used
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema
from protocols.counts import RowCounts
from smc.errors import InputError

SCHEMA = Schema({"age": ("young", "middle", "old"), "sex": ("m", "f"), "town": ("a", "b", "c"), "out": ("yes", "no")})
NAMES = list(SCHEMA.attributes)


def meant(row: dict[str, str], where: Predicate) -> bool:
    return all(row[column] in values for column, values in where.wanted)


def counts(rows: list[dict[str, str]], target: str) -> RowCounts:
    features = SCHEMA.features(target)
    table = np.array([[SCHEMA.attributes[c].index(row[c]) for c in features] for row in rows], dtype=np.int64)
    labels = np.array([SCHEMA.attributes[target].index(row[target]) for row in rows], dtype=np.int64)
    domains = [len(SCHEMA.attributes[c]) for c in features]
    return RowCounts(domains, len(SCHEMA.attributes[target]), table.reshape(len(rows), len(features)), labels)


ROWS = st.lists(st.fixed_dictionaries({name: st.sampled_from(values) for name, values in SCHEMA.attributes.items()}))
WHERE = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 1)).map(
    lambda found: Predicate(
        tuple((name, SCHEMA.attributes[name][i : i + 1 + i]) for name in NAMES if (i := found.get(name)) is not None)
    )
)
CASES = st.tuples(ROWS, WHERE, st.lists(st.sampled_from(NAMES), unique=True), st.sampled_from(NAMES))


@given(CASES)
def test_cells_are_those_of_counting_row_by_row(
    case: tuple[list[dict[str, str]], Predicate, list[str], str],
) -> None:
    """Whatever the target is: one of the columns that tell rows apart, one with a condition, or another."""
    rows, where, by, target = case
    found = Cells(SCHEMA, where, tuple(by)).count(counts(rows, target), target)
    domains = Cells(SCHEMA, where, tuple(by)).domains
    assert found.shape == tuple(map(len, domains))
    for place in np.ndindex(*found.shape):
        cell = [domain[i] for domain, i in zip(domains, place, strict=True)]
        expected = sum(meant(row, where) and [row[c] for c in by] == cell for row in rows)
        assert found[place] == expected


@given(CASES)
def test_pairs_are_those_of_counting_row_by_row(
    case: tuple[list[dict[str, str]], Predicate, list[str], str],
) -> None:
    rows, where, _, target = case
    found = pairs(counts(rows, target), SCHEMA, target, where)
    assert list(found) == list(SCHEMA.features(target))
    for column, table in found.items():
        values, classes = where.values(column, SCHEMA), where.values(target, SCHEMA)
        expected = [
            [sum(meant(row, where) and (row[column], row[target]) == (v, c) for row in rows) for c in classes]
            for v in values
        ]
        assert table.tolist() == expected


def test_from_a_mapped_table(tmp_path: Path) -> None:
    """Renamed columns, other spellings, numbers in ranges: as `[tables.NAME.columns]` says."""
    (tmp_path / "people.csv").write_text("Alter,sex,out\n20,M,yes\n40,F,yes\n65,F,no\n39,F,no\n,M,no\n")
    schema = Schema({"age": ("young", "middle", "old", "?"), "sex": ("m", "f"), "out": ("yes", "no")})
    columns = {"age": {"column": "Alter", "edges": [40, 65]}, "sex": {"values": {"M": "m", "F": "f"}}}
    table = TableSettings.model_validate({"source": "people.csv", "schema": "s.toml", "columns": columns})
    table = table.model_copy(update={"source": str(tmp_path / "people.csv")})
    read = used(schema, ["sex", "age"])
    with Inputs(0, table, schema).counts("sex", list(read.attributes)) as source:
        by_sex = Cells(read, Predicate(), ("sex", "age")).count(source, "sex")
        (where,) = parse("age in [young, middle]", read)
        assert by_sex.tolist() == [[1, 0, 0, 1], [1, 1, 1, 0]]
        assert Cells(read, where).count(source, "sex") == 3
        assert pairs(source, read, "sex", where)["age"].tolist() == [[1, 1], [0, 1]]
        first = fingerprint(source.fingerprint, by_sex)
        assert first(b"key") == fingerprint(source.fingerprint, by_sex)(b"key")
        assert first(b"key") != first(b"other")
        assert first(b"key") != fingerprint(source.fingerprint, by_sex.T)(b"key")


def test_too_many_cells_are_refused() -> None:
    wide: dict[str, Any] = {f"c{i}": tuple(map(str, range(16))) for i in range(5)}
    schema = Schema(wide)
    Cells(schema, Predicate(), ("c0", "c1", "c2", "c3")).check()
    with pytest.raises(InputError, match="needs 1048576 cells, more than 65536"):
        Cells(schema, Predicate(), tuple(wide)).check()
    where = Predicate((("c0", ("1", "2")),))
    with pytest.raises(InputError, match="needs 131072 cells"):
        Cells(schema, where, ("c1", "c2", "c3", "c4")).check()


def test_what_is_read_are_the_columns_of_the_question() -> None:
    assert list(used(SCHEMA, ["out", "age"]).attributes) == ["age", "out"]
    assert list(used(SCHEMA, []).attributes) == ["age"]
    assert list(used(SCHEMA, ["sex"], "out").attributes) == ["sex", "out"]
    with pytest.raises(InputError, match="no attribute 'ag'"):
        used(SCHEMA, ["ag"])


def test_numbers_of_any_size_are_summed_as_a_database_sums_them(tmp_path: Path) -> None:
    """10,001 values in ten groups: more cells than a question may tell apart; a condition leaves rows out."""
    duckdb = pytest.importorskip("duckdb")
    path, random = tmp_path / "rows.csv", np.random.default_rng(1)
    costs, (sexes, towns) = random.integers(-5000, 5001, 3000), random.integers(0, (2, 10), (3000, 2)).T
    lines = (f"{c / 100},{'mf'[s]},{'abcdefghij'[t]}\n" for c, s, t in zip(costs, sexes, towns, strict=True))
    path.write_text("cost,sex,town\n" + "".join(lines) + "?,m,a\n")
    (tmp_path / "schema.toml").write_text(
        '[attributes]\ncost = { type = "real", low = -50, high = 50, step = 0.01, width = 10, missing = true }\n'
        f'sex = ["m", "f"]\ntown = {[*"abcdefghij"]}\n'
    )
    of_town = "sum(try_cast(cost AS DECIMAL(9, 2))), count(try_cast(cost AS DECIMAL(9, 2)))"
    truth = duckdb.sql(f"SELECT {of_town} FROM '{path}' WHERE sex = 'm' GROUP BY town ORDER BY town").fetchall()
    shared: dict[str, Any] = {"data": path, "schema": tmp_path / "schema.toml", "column": "cost", "by": ("town",)}
    settings = SumSettings(**shared, exact=True, where="sex = m", max_rows=4000)
    task, numbers, _ = Sum.alone(settings, 0)
    assert task.query.numbers == 10
    assert [int(number) for number in numbers] == [total * 100 for total, _ in truth]
    mean, numbers, _ = Mean.alone(settings, 0)
    opened = mean.document(numbers.tolist())["numbers"]
    assert [one["rows"] for one in opened] == [rows for _, rows in truth]
    assert [one["value"] for one in opened] == pytest.approx([float(total) / rows for total, rows in truth], abs=1e-12)
