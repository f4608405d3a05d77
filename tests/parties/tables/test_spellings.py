"""Two tables that spell a value in two ways: one schema, one meaning of their rows. Python reads them to compare."""

from __future__ import annotations

import unicodedata
from collections import Counter
from functools import lru_cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.cli import run
from parties.party_file import load as load_party
from parties.sources.opening import open_table
from parties.tables import schema as schemas
from parties.tables.merging import merge
from parties.tables.schema import Schema
from parties.tables.spellings import canonical, distance, look_alike, readings
from parties.tables.types import CategoryType, Domain, FlagType, IntegerType

OURS = ["0,Köln,true,0", "1,Liège,false,1", "1,Köln,true,1"] * 12
THEIRS = ["0.0,Köln,True,1.0", "1.0,Liège,False,1.0", ",Liège,True,1.0"] * 12


def prepared(folder: Path, name: str, header: str, rows: list[str]) -> Path:
    """The directory of a party that has prepared its table."""
    raw = folder / f"{name}.csv"
    raw.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    assert run(["prepare", str(raw), "--target", "y", "--out", str(folder / name)]) == 0
    return folder / name


def counted(folder: Path, schema: Schema) -> Counter[tuple[str, ...]]:
    """The rows of a party's table by a schema, as categories."""
    (table,) = load_party(folder / "party.toml").tables.values()
    names = [*schema.features("y"), "y"]
    with open_table(table, schema, "y") as source:
        return Counter(
            {
                tuple(schema.attributes[name][code] for name, code in zip(names, line, strict=False)): int(line[-1])
                for line in source.distinct()
            }
        )


def test_two_spellings_are_one_value(tmp_path: Path) -> None:
    """Whole numbers with a gap, decomposed letters in values and a name, truth values, one class at one party."""
    one = prepared(tmp_path, "one", "code,città,member,y", OURS)
    two = prepared(
        tmp_path,
        "two",
        unicodedata.normalize("NFD", "code,città,member,y"),
        [unicodedata.normalize("NFD", row) for row in THEIRS],
    )
    merged = merge(schemas.load(one / "schema.toml"), schemas.load(two / "schema.toml"))
    assert not [note for note in merged.notes if "left out" in note.text]
    assert list(merged.schema.attributes) == ["code", "città", "member", "y"]
    assert merged.schema.attributes["città"] == ("Köln", "Liège")
    assert {*merged.schema.attributes["y"]} == {"0", "1"}
    for folder, rows in ((one, OURS), (two, THEIRS)):
        cells = [row.split(",") for row in rows]
        wanted = Counter((str(int(float(a))) if a else "?", b, c.lower(), str(int(float(y)))) for a, b, c, y in cells)
        assert counted(folder, merged.schema) == wanted


def test_what_prepare_writes_of_a_constant_column_one_class_and_no_row(tmp_path: Path) -> None:
    many = prepared(
        tmp_path,
        "many",
        "rural,n,day,y",
        [f"{'yes' if i % 2 else 'no'},{i % 9},2024-0{1 + i % 9}-03,{i % 2}" for i in range(60)],
    )
    same = prepared(tmp_path, "same", "rural,n,day,y", ["no,4,2024-02-03,0"] * 60)
    none = prepared(tmp_path, "none", "rural,n,day,y", [])
    schema_of = {name: schemas.load(tmp_path / name / "schema.toml") for name in ("many", "same", "none")}
    for name, folder in (("same", same), ("none", none)):
        for merged in (merge(schema_of["many"], schema_of[name]), merge(schema_of[name], schema_of["many"])):
            assert list(merged.schema.attributes) == ["rural", "n", "day", "y"]
            assert merged.schema.attributes["rural"] == ("no", "yes")
            assert merged.schema.attributes["y"] == ("0", "1")
            assert not [note for note in merged.notes if "lists it" in note.text]
            assert sum(counted(folder, merged.schema).values()) == (60 if name == "same" else 0)
            assert sum(counted(many, merged.schema).values()) == 60


@pytest.mark.parametrize(
    ("ours", "theirs", "agreed"),
    [
        (("0", "1"), ("0.0", "1.0", "?"), ("0", "1", "?")),
        (("True", "False"), ("true", "false"), ("true", "false")),
        (("250", "250.1"), ("250.0",), ("250", "250.0", "250.1")),  # codes
        (("1", "1.0"), ("1",), ("1", "1.0")),  # two values of one table stay two
        (("007",), ("7.0",), ("007", "7")),
        (Domain(FlagType()), ("true",), ("yes", "no")),
        (Domain(IntegerType(low=0, high=3)), ("5", "?"), ("0", "1", "2", "3", "4", "5", "?")),
        (Domain(CategoryType(values=("a",))), ("?",), ("a", "?")),
    ],
)
def test_what_one_meaning_is(ours: tuple[str, ...], theirs: tuple[str, ...], agreed: tuple[str, ...]) -> None:
    both = Schema({"c": ours, "d": ("x",)}), Schema({"c": theirs, "d": ("x",)})
    for one, other in (both, both[::-1]):
        assert tuple(merge(one, other).schema.attributes["c"]) == agreed


@given(
    st.lists(
        st.sampled_from(["1", "1.0", "1.5", "True", "true", "FALSE", "é", "e\u0301", "?", "01", "x "]), unique=True
    )
)
def test_what_agrees_is_read(values: list[str]) -> None:
    """Each value of a table is read as its canonical spelling, or stands for itself."""
    meant = canonical(values)
    categories = tuple(dict.fromkeys(meant.values()))
    others = readings(categories)
    for value in values:
        assert meant[value] in (value, others.get(value), value.strip())


@given(st.text("abc", max_size=5), st.text("abc", max_size=5))
def test_the_distance_is_the_one_of_the_textbook(one: str, other: str) -> None:
    """By the recursion of its definition: optimal string alignment."""

    @lru_cache(None)
    def steps(i: int, j: int) -> int:
        if not i or not j:
            return i + j
        least = min(steps(i - 1, j) + 1, steps(i, j - 1) + 1, steps(i - 1, j - 1) + (one[i - 1] != other[j - 1]))
        swapped = i > 1 and j > 1 and one[i - 2 : i] == other[j - 2 : j][::-1]
        return min(least, steps(i - 2, j - 2) + 1) if swapped else least

    assert distance(one, other) == steps(len(one), len(other))


def test_what_looks_alike() -> None:
    assert look_alike(["Cologne", "grade 1", "male"], ["Colonge", "grade 2", "female"]) == [("Cologne", "Colonge")]
    assert look_alike(["body_weight"], ["Body weight"]) == [("body_weight", "Body weight")]
    assert look_alike(["weights"], ["weightx", "weighty"]) == []  # two candidates: nothing is proposed
    assert look_alike([f"name{'a' * i}" for i in range(400)], ["NAME"]) == [("name", "NAME")]


def test_a_pair_that_looks_alike_is_proposed() -> None:
    ours = Schema({"smoking_status": ("current", "never"), "y": ("0", "1")})
    theirs = Schema({"smoking-statuss": ("curent", "never"), "y": ("0", "1")})
    (*_, note) = merge(ours, theirs).notes
    assert "'smoking_status' (ours) and 'smoking-statuss' (theirs) look alike" in note.text
    alike = Schema({**ours.attributes, "smoking_status": ("curent", "never")})
    assert any("'current' (ours) and 'curent' (theirs) look alike" in note.text for note in merge(ours, alike).notes)


def test_which_other_spellings_are_read() -> None:
    """Also where no mapping names them: both parties may have agreed on a schema without `smc prepare`."""
    assert dict(readings(("\u00e9", "x"))) == {"e\u0301": "\u00e9"}
    assert dict(readings(("0", "10", "?"))) == {"0.0": "0", "10.0": "10"}
    assert dict(readings(("0.0", "1.0"))) == {"0": "0.0", "1": "1.0"}
    assert dict(readings(("true", "false"))) == {"True": "true", "TRUE": "true", "False": "false", "FALSE": "false"}
    assert dict(readings(("250", "250.1", "007", "yes"))) == {}
