"""At most so many rows of each person: against a reference in Python, on every engine, whatever the rows' order."""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st
from pydantic import ValidationError

from parties.base.settings import MOST_OF_A_PERSON
from parties.sources import TableSettings, open_table
from parties.sources.source import LeftOut
from parties.tables.schema import Schema
from smc.errors import InputError
from tests.support.postgres import Server

Row = tuple[str | None, ...]
COLUMNS = ("person", "year", "sex")
SCHEMA = Schema({"year": ("2020", "2021", "2022"), "sex": ("f", "m")}, "sex")
NOBODY = (None, "", "?", "NA")


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "a.key"
    path.write_bytes(b"a private key")
    return path


def reference(rows: Sequence[Row], at_most: int, identity: Path, person: int = 0) -> tuple[list[Row], LeftOut]:
    """The rows that take part, as the documents say it."""
    key = hashlib.sha256(b"smc rows of people 1\0" + identity.read_bytes()).hexdigest()
    people: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row[person] not in NOBODY:
            people[str(row[person])].append(row)
    taken: list[Row] = []
    for own in people.values():
        seen: Counter[str] = Counter()
        placed = []
        for row in own:
            marked = [None if c is None else c.replace("!", "!!").replace("|", "!|") for c in row]
            text = "".join(("!0" if cell is None else cell) + "|" for cell in marked)
            digest = hashlib.sha256(text.encode()).hexdigest()
            seen[digest] += 1
            placed.append((hashlib.sha256(f"{key}{digest}{seen[digest]}".encode()).hexdigest(), row))
        taken += [row for _, row in sorted(placed)[:at_most]]
    of_people = sum(map(len, people.values()))
    return taken, LeftOut(nobody=len(rows) - of_people, beyond=of_people - len(taken))


def settings_of(identity: Path | None, **said: Any) -> TableSettings:
    known = {"schema": "schema.toml", "person": "person", "at_most": 2, "format": {"missing": ["NA"]}}
    table = TableSettings.model_validate({**known, **said})
    table.owned_by(identity)
    return table


def counted(table: TableSettings) -> tuple[Counter[tuple[str, str]], LeftOut]:
    with open_table(table, SCHEMA, "sex") as source:
        assert source.check() == source.distinct()[:, -1].sum()
        years, sexes = SCHEMA.attributes["year"], SCHEMA.attributes["sex"]
        lines = source.distinct().tolist()
        return Counter({(years[year], sexes[sex]): n for year, sex, n in lines}), source.left_out()


def collected(table: TableSettings) -> list[set[tuple[str, str]]]:
    """The rows of each person as the source collects baskets."""
    baskets: dict[int, set[tuple[str, str]]] = defaultdict(set)
    with open_table(table, SCHEMA, "sex") as source:
        for basket, year, sex in source.baskets("person").tolist():
            baskets[basket].add((SCHEMA.attributes["year"][year], SCHEMA.attributes["sex"][sex]))
    return sorted(baskets.values(), key=sorted)


def by_person(rows: Sequence[Row]) -> list[set[tuple[Any, Any]]]:
    people: dict[Any, set[tuple[Any, Any]]] = defaultdict(set)
    for person, year, sex in rows:
        people[person].add((year, sex))
    return sorted(people.values(), key=sorted)


def expected(rows: Sequence[Row]) -> Counter[tuple[Any, Any]]:
    return Counter((row[1], row[2]) for row in rows)


def drawn(rows: int, seed: int = 3) -> list[Row]:
    rng = np.random.default_rng(seed)
    known = ["", "?", "NA", "a|b", "!", "!0", "O'Brien", "ü 1", *(f"p{i}" for i in range(rows // 6))]
    columns = known, ["2020", "2021", "2022"], ["f", "m"]
    return [tuple(str(rng.choice(values)) for values in columns) for _ in range(rows)]


def written(rows: Sequence[Row], path: Path) -> Path:
    pandas.DataFrame(rows, columns=COLUMNS, dtype=str).to_csv(path, index=False, na_rep="")
    return path


@pytest.mark.parametrize("at_most", [1, 2, 4, 1000])
def test_rows_are_those_of_the_reference(tmp_path: Path, identity: Path, at_most: int) -> None:
    rows = drawn(400)
    path = written(rows, tmp_path / "x.csv")
    taken, left_out = reference(rows, at_most, identity)
    assert counted(settings_of(identity, source=str(path), at_most=at_most)) == (expected(taken), left_out)
    assert (left_out.beyond > 0) == (at_most < 1000)
    assert left_out.nobody > 0


@limits(max_examples=12, deadline=None)
@given(data=st.data())
def test_any_rows_in_any_order(identity: Path, data: st.DataObject) -> None:
    one = st.tuples(
        st.sampled_from(["", "?", "NA", "a", "b|", "!", "|!", "'", "ü"]),
        st.sampled_from(["2020", "2021"]),
        st.sampled_from(["f", "m"]),
    )
    rows = data.draw(st.lists(one, min_size=1, max_size=25))
    at_most = data.draw(st.integers(1, 4))
    with tempfile.TemporaryDirectory() as folder:
        for order in (rows, data.draw(st.permutations(rows))):
            path = written(order, Path(folder) / "x.csv")
            taken, left_out = reference(rows, at_most, identity)
            assert counted(settings_of(identity, source=str(path), at_most=at_most)) == (expected(taken), left_out)


def test_who_is_away_changes_nobody_elses_rows(tmp_path: Path, identity: Path) -> None:
    """Neighbours by brute force: for every person, what is counted loses that person's rows and no other."""
    rows = drawn(60)
    whole, _ = counted(settings_of(identity, source=str(written(rows, tmp_path / "whole.csv"))))
    for person in {row[0] for row in rows} - set(NOBODY):
        rest = [row for row in rows if row[0] != person]
        without, _ = counted(settings_of(identity, source=str(written(rest, tmp_path / "rest.csv"))))
        assert not without - whole
        assert (whole - without).total() == min(2, len(rows) - len(rest))


def test_equal_rows_are_drawn_as_often_as_they_are(tmp_path: Path) -> None:
    """Of nine equal rows and one other, the other is the one that takes part for about a tenth of the people."""
    rows = [row for n in range(800) for row in [*[(f"p{n}", "2020", "f")] * 9, (f"p{n}", "2021", "m")]]
    path = written(rows, tmp_path / "x.csv")
    (tmp_path / "key").write_bytes(b"7")
    found, _ = counted(settings_of(tmp_path / "key", source=str(path), at_most=1))
    assert found.total() == 800
    assert 46 <= found["2021", "m"] <= 114  # 80 are expected, with a standard deviation of 8.5: 4 of them


def test_the_key_chooses_and_chooses_again(tmp_path: Path, identity: Path) -> None:
    table = {"source": str(written(drawn(400), tmp_path / "x.csv"))}
    first, again = counted(settings_of(identity, **table)), counted(settings_of(identity, **table))
    (tmp_path / "other.key").write_bytes(b"another private key")
    other = counted(settings_of(tmp_path / "other.key", **table))
    assert first == again
    assert first[0] != other[0]
    assert first[1] == other[1]


def test_sql_says_whose_row_it_is(tmp_path: Path, identity: Path) -> None:
    rows = [("a-1", "2020", "f"), ("a-2", "2021", "f"), ("b-1", "2020", "m"), ("-9", "2020", "m")]
    table = {"source": str(written(rows, tmp_path / "x.csv")), "person": "SPLIT_PART(person, '-', 1)", "at_most": 1}
    found, left_out = counted(settings_of(identity, **table))
    assert (found.total(), left_out) == (2, LeftOut(nobody=1, beyond=1))
    assert counted(settings_of(identity, **table, where="year = 2020"))[1] == LeftOut(where=1, nobody=1)


def test_rules_come_before_people(tmp_path: Path, identity: Path) -> None:
    """Rows without consent take no place of a person's."""
    frame = pandas.DataFrame(drawn(300), columns=COLUMNS).assign(agreed=["yes", "no", ""] * 100)
    frame.to_csv(path := tmp_path / "x.csv", index=False)
    kept = frame[(frame["agreed"] == "yes") & (frame["year"] != "2022")]
    taken, of_people = reference(list(kept.itertuples(index=False, name=None)), 2, identity)
    said = {"source": str(path), "where": "year <> 2022", "consent": "agreed"}
    found, left_out = counted(settings_of(identity, **said))
    assert found == expected(taken)
    refused = ((frame["year"] != "2022") & (frame["agreed"] != "yes")).sum()
    assert left_out == of_people._replace(where=(frame["year"] == "2022").sum(), consent=refused)


def test_numbers_name_people(tmp_path: Path, identity: Path) -> None:
    """A number is a person by its digits, whichever type holds it; NaN and NULL are nobody."""
    frame = pandas.DataFrame({"person": [1.0, 1.0, 2.0, None, float("nan")], "year": ["2020"] * 5, "sex": ["f"] * 5})
    frame.to_parquet(path := tmp_path / "x.parquet")
    found, left_out = counted(settings_of(identity, source=str(path), at_most=1))
    assert (found.total(), left_out) == (2, LeftOut(nobody=2, beyond=1))


REFUSED = [
    ({"person": "persom"}, "person: there is no column 'persom' (did you mean 'person'?)"),
    ({"person": "PERSOM || 1"}, "person: there is no column 'PERSOM'"),
    ({"person": "row_number() over (order by person)"}, "person: must be computed from one row"),
    ({"person": "min(person)"}, "person: must be computed from one row"),
    ({"person": "1 + 1"}, "person: names no column"),
    ({"person": "person || (SELECT '1')"}, "person: a condition must not contain SELECT"),
    ({"person": "read_text(person)"}, "person: the function 'read_text'"),
    ({"person": "person +"}, "person: not valid SQL"),
]


@pytest.mark.parametrize(("said", "reason"), REFUSED)
def test_what_names_no_person_is_refused(tmp_path: Path, identity: Path, said: dict[str, Any], reason: str) -> None:
    path = written(drawn(10), tmp_path / "x.csv")
    with pytest.raises(InputError) as caught:
        counted(settings_of(identity, source=str(path), **said))
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_rows_are_chosen_without_a_key(tmp_path: Path) -> None:
    path = written(drawn(10), tmp_path / "x.csv")
    with pytest.raises(InputError, match=r"private key; name the key as link\.identity"):
        counted(settings_of(None, source=str(path)))
    with pytest.raises(InputError, match=r"none\.key"):
        counted(settings_of(tmp_path / "none.key", source=str(path)))


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"person": None}, "person: is missing"),
        ({"at_most": None}, "at_most: is missing"),
        ({"at_most": 0}, "greater than or equal to 1"),
        ({"at_most": MOST_OF_A_PERSON + 1}, "less than or equal to 1000"),
        ({"at_most": 2.0}, "valid integer"),
    ],
)
def test_settings_go_together(said: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        settings_of(None, source="x.csv", **said)


def test_the_state_of_a_table_says_who_takes_part() -> None:
    known = {"source": "x.csv", "schema": "s.toml"}
    assert TableSettings.model_validate(known | {"version": "1"}).state == "1"
    assert settings_of(None, source="x.csv").state == ""
    states = {
        settings_of(None, source="x.csv", version="1", **more).state for more in ({}, {"at_most": 3}, {"person": "x"})
    }
    assert len(states) == 3


def test_postgres_takes_the_same_rows(postgres: Server, identity: Path) -> None:
    rows = drawn(300)
    source = postgres.url()
    with postgres.connect() as connection:
        connection.execute("CREATE TABLE of_people (person text, year int, sex text)")
        with connection.cursor() as cursor:
            cursor.executemany("INSERT INTO of_people VALUES (%s, %s, %s)", rows)
    taken, left_out = reference(rows, 2, identity)
    assert counted(settings_of(identity, source=source, table="of_people")) == (expected(taken), left_out)
    assert collected(settings_of(identity, source=source, table="of_people")) == by_person(taken)
    assert counted(settings_of(identity, source=source, table="of_people", person="lower(person)"))[0].total() > 0


def test_spark_takes_the_same_rows(spark: Any, tmp_path: Path, identity: Path) -> None:
    rows = drawn(300)
    pandas.DataFrame(rows, columns=COLUMNS).to_parquet(path := tmp_path / "x.parquet")
    taken, left_out = reference(rows, 2, identity)
    assert counted(settings_of(identity, source="spark://local", table=str(path))) == (expected(taken), left_out)
    assert collected(settings_of(identity, source="spark://local", table=str(path))) == by_person(taken)
