"""Rows held out of training: SQL against the reference in Python, rows by their cells, and people whole."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pandas
import pytest

from parties.sources import TableSettings, open_table
from parties.tables.schema import Schema
from parties.tables.split import Part, Split
from smc.errors import InputError
from tests.support.postgres import Server

WORDS = ("", "a|b", "!", "!0", "ü", "x")
SCHEMA = Schema({"word": ("?", *WORDS[1:]), "sex": ("f", "m")}, "sex")
ROWS = [(WORDS[i % 6], "fm"[i // 3 % 2], f"p{i // 4}") for i in range(400)]
BY_ROW, BY_PERSON = Split(0.3, ("sex", "word")), Split(0.3)


def table(path: Path, **more: object) -> TableSettings:
    frame = pandas.DataFrame(ROWS, columns=["wort", "sex", "person"])
    frame.to_csv(path / "x.csv", index=False)
    (path / "a.key").write_bytes(b"a private key")
    fields = {"source": str(path / "x.csv"), "schema": "s.toml", "least_rows": 400}
    settings = TableSettings.model_validate({**fields, "columns": {"word": {"column": "wort"}}, **more})
    settings.owned_by(path / "a.key")
    return settings


def counted(settings: TableSettings) -> Counter[tuple[str, str]]:
    with open_table(settings, SCHEMA, "sex") as source:
        source.check()
        words, sexes = SCHEMA.attributes["word"], SCHEMA.attributes["sex"]
        return Counter({(words[word], sexes[sex]): n for word, sex, n in source.distinct().tolist()})


@pytest.mark.parametrize(("share", "fold", "is_held_out"), [(0.3, 1, True), (0.3, 2, False), (0.25, 4, True)])
def test_rows_are_those_of_the_reference(tmp_path: Path, share: float, fold: int, is_held_out: bool) -> None:
    part = Part(Split(share, ("sex", "word"), fold), is_held_out)
    words, sexes, _ = zip(*ROWS, strict=True)
    pairs = zip(words, sexes, part.has([sexes, words]), strict=True)
    expected = Counter((word or "?", sex) for word, sex, is_in in pairs if is_in)
    assert counted(table(tmp_path).only(part)) == expected
    assert abs(expected.total() / len(ROWS) - (share if is_held_out else 1 - share)) < 0.1


def test_folds_are_a_partition() -> None:
    words, sexes, _ = zip(*ROWS, strict=True)
    folds = [Part(Split(0.05, ("sex", "word"), fold), True).has([sexes, words]) for fold in range(1, 21)]
    assert {sum(row) for row in zip(*folds, strict=True)} == {1}


def test_parts_are_all_rows_whatever_other_columns_there_are(tmp_path: Path) -> None:
    settings = table(tmp_path)
    held_out, others = (counted(settings.only(Part(BY_ROW, is_in))) for is_in in (True, False))
    assert held_out + others == counted(settings)
    frame = pandas.read_csv(tmp_path / "x.csv").assign(score=range(400)).sample(frac=1, random_state=1)
    frame.to_csv(tmp_path / "x.csv", index=False)
    assert counted(settings.only(Part(BY_ROW, True))) == held_out


def test_people_are_held_out_whole(tmp_path: Path) -> None:
    schema = Schema({"person": tuple(dict.fromkeys(person for *_, person in ROWS)), "sex": ("f", "m")}, "sex")
    people: list[set[int]] = []
    for is_held_out in (True, False):
        settings = table(tmp_path, person="person", at_most=9, columns={}).only(Part(BY_PERSON, is_held_out))
        with open_table(settings, schema, "sex") as source:
            source.check()
            people.append(set(source.distinct()[:, 0].tolist()))
    assert people[0].isdisjoint(people[1])
    assert len(people[0] | people[1]) == 100
    assert 15 < len(people[0]) < 45


def test_postgres_holds_out_the_same_rows(tmp_path: Path, postgres: Server) -> None:
    with postgres.connect() as connection:
        connection.execute("CREATE TABLE held_out (wort text, sex text, person text)")
        for word, *rest in ROWS:
            connection.execute("INSERT INTO held_out VALUES (%s, %s, %s)", (word or None, *rest))
    there = table(tmp_path, source=postgres.url(), table="held_out").only(Part(BY_ROW, True))
    assert counted(there) == counted(table(tmp_path).only(Part(BY_ROW, True)))


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the rows held out: there is no column 'age'"):
        open_table(table(tmp_path).only(Part(Split(0.3, ("age",)), True)), SCHEMA, "sex")
