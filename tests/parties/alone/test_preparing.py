"""Raw tables looked at: what is guessed, what the schema tells; every odd file is read or refused in a line."""

from __future__ import annotations

import csv
import gzip
import io
import random
import runpy
import shutil
import sys
import tomllib
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pandas
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parties.alone.preparing.fitting import fit
from parties.alone.preparing.profile import profile
from parties.alone.preparing.proposing import TableProposal, propose
from parties.alone.preparing.writing import party_text
from parties.cli import run
from parties.party_file import load as load_party
from parties.sources.opening import open_table
from parties.sources.settings import PlaceSettings
from parties.tables import schema as schemas
from parties.tables.types import DateType, Domain, NumberType, read_type, type_of
from smc.errors import InputError

RAW = Path(__file__).parents[4] / "shared" / "data" / "raw"


def look(path: Path, target: str | None = None) -> TableProposal:
    return propose(profile(PlaceSettings(source=str(path)), target), target)


def becomes(proposal: TableProposal) -> dict[str, str]:
    kinds = {name: type_of(values) for name, values in proposal.schema.attributes.items()}
    return {name: "category" if kind is None else kind.type for name, kind in kinds.items()}


def messy(path: Path, rows: int = 400, seed: int = 1) -> list[dict[str, str]]:
    """Write an export with semicolons, decimal commas, German dates and codes for missing; return its cells."""
    draw = random.Random(seed)
    records = []
    for number in range(rows):
        age = draw.randint(0, 95)
        records.append(
            {
                "FallNr": str(700_000 + number),
                "Alter": draw.choice([str(age)] * 9 + ["k.A."]),
                "Gewicht": draw.choice([f"{draw.uniform(40, 120):.1f}".replace(".", ",")] * 9 + ["k.A.", ""]),
                "geboren": f"{draw.randint(1, 28):02}.{draw.randint(1, 12):02}.{2025 - age}",
                "PLZ": draw.choice(["01067", "10115", "80331"]),
                "Code": draw.choice("AB") + str(draw.randint(100, 999)),
                "Text": "; ".join(draw.choice(["starker Schmerz", "ohne Befund", "Kontrolle"]) for _ in range(9))
                + str(number),
                "selten": "x" if number else "einmalig",
                "leer": "",
                "Ausgang": "ja" if age > 60 else "nein",
            }
        )
    with path.open("w", newline="", encoding="utf-8-sig") as stream:
        writer = csv.DictWriter(stream, list(records[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(records)
    return records


def test_what_a_hospitals_export_becomes(tmp_path: Path) -> None:
    records = messy(tmp_path / "a.csv")
    proposal = look(tmp_path / "a.csv", "Ausgang")
    assert becomes(proposal) == {
        "Alter": "integer",
        "Gewicht": "real",
        "geboren": "date",
        "PLZ": "category",
        "Code": "category",
        "selten": "category",
        "Ausgang": "category",
    }
    assert proposal.schema.keys == ("FallNr",)
    by_name = {column.name: column for column in proposal.columns}
    assert "free text" in by_name["Text"].aside
    assert by_name["leer"].aside == "it is empty"
    assert proposal.schema.attributes["PLZ"] == ("01067", "10115", "80331")
    assert {value[0] for value in proposal.schema.attributes["Code"]} == {"A", "B"}
    assert {len(value) for value in proposal.schema.attributes["Code"]} == {2}  # counted by its first two letters
    assert "almost decides" in " ".join(by_name["geboren"].remarks) or "almost decides" in " ".join(
        by_name["Alter"].remarks
    )
    assert len(records) == 400


def test_noise_of_distinct_values_decides_nothing(tmp_path: Path) -> None:
    """Noise is silent in each type of ordered cells. A threshold decides, though each value is rare."""
    draw = random.Random(3)
    lines = ["cost,born,at,over,y"]
    for number in range(240):
        y = number % 3 == 0
        born = date(1930, 1, 1) + timedelta(draw.randrange(25_000))
        at = f"{draw.randrange(24):02}:{draw.randrange(60):02}"
        over = 5000 * y + draw.uniform(0, 5000)
        lines.append(f"{draw.uniform(0, 8000):.2f},{born},{at},{over:.2f},{'ab'[y]}")
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    proposal = look(tmp_path / "a.csv", "y")
    alarmed = [column.name for column in proposal.columns if "almost decides 'y'" in " ".join(column.remarks)]
    assert alarmed == ["over"]


def test_the_schema_tells_no_rare_value_and_no_extreme(tmp_path: Path) -> None:
    records = messy(tmp_path / "a.csv")
    text = look(tmp_path / "a.csv", "Ausgang").schema
    text.save(tmp_path / "schema.toml")
    told = (tmp_path / "schema.toml").read_text()
    assert "einmalig" not in told
    weights = sorted(float(r["Gewicht"].replace(",", ".")) for r in records if r["Gewicht"] not in ("", "k.A."))
    assert str(weights[0]) not in told
    assert str(weights[-1]) not in told
    weight = type_of(text.attributes["Gewicht"])
    assert weight is not None
    assert getattr(weight, "low") <= weights[0]  # noqa: B009
    assert getattr(weight, "high") >= weights[-1]  # noqa: B009


def test_the_files_are_read_as_pandas_reads_the_raw_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    messy(tmp_path / "a.csv")
    assert run(["prepare", str(tmp_path / "a.csv"), "--target", "Ausgang", "--out", str(tmp_path / "clinic")]) == 0
    assert "tells the peer" in capsys.readouterr().err
    table = load_party(tmp_path / "clinic" / "party.toml").tables["a"]
    schema = schemas.load(table.schema_file)
    frame = pandas.read_csv(tmp_path / "a.csv", sep=";", decimal=",", na_values=["k.A."], encoding="utf-8-sig")
    age = type_of(schema.attributes["Alter"])
    edges = [-1, *age.edges, 1000]  # type: ignore[union-attr]
    wanted = pandas.cut(frame["Alter"], edges, right=False, labels=False).value_counts(dropna=False)
    with open_table(table, schema, "Ausgang") as source:
        assert source.check() == 400
        rows = source.distinct()
    place = list(schema.features("Ausgang")).index("Alter")
    counts = pandas.Series(rows[:, -1]).groupby(rows[:, place]).sum()
    for code, number in wanted.items():
        assert counts[len(schema.attributes["Alter"]) - 1 if pandas.isna(code) else int(code)] == number


def test_another_table_is_mapped_to_a_schema_that_exists(tmp_path: Path) -> None:
    messy(tmp_path / "a.csv")
    schema = look(tmp_path / "a.csv", "Ausgang").schema
    (tmp_path / "b.csv").write_text("alter,AUSGANG,plz,neu\n" + "70,Ja,01067,1\n30,nein,99999,2\n" * 20)
    table = profile(PlaceSettings(source=str(tmp_path / "b.csv")))
    fitted = fit(table, schema)
    assert fitted.mapping["Alter"] == {"column": "alter"}
    assert fitted.mapping["Ausgang"] == {"column": "AUSGANG", "values": {"Ja": "ja"}}
    remarks = {column.name: " ".join(column.remarks) for column in fitted.columns}
    assert "'99999': not in the schema" in remarks["plz"]
    assert any("'Gewicht'" in remark for remark in fitted.remarks)
    with pytest.raises(InputError, match="no column has the name of an attribute"):
        fit(table, schemas.Schema({"zzz": ("a",)}))


WORDS = "id,kg,seen,blood\n" + "".join(
    f"{i},{'zu dick' if i == 7 else 50 + i % 40},{'gestern' if i == 9 else f'2020-01-{i % 28 + 1:02}'},"
    f"{'A-' if i == 3 else 'a+' if i == 4 else 'A+'}\n"
    for i in range(100)
)


def test_words_among_numbers_are_no_values_whoever_made_the_schema(tmp_path: Path) -> None:
    """One mapping for both ways; and it never takes a value for one that means something else."""
    (tmp_path / "a.csv").write_text(WORDS)
    table = profile(PlaceSettings(source=str(tmp_path / "a.csv")))
    proposal = propose(table)
    assert proposal.mapping["kg"] == {"values": {"zu dick": "?"}}
    assert proposal.mapping["seen"] == {"values": {"gestern": "?"}}
    assert proposal.mapping["blood"] == {"values": {"a+": "A+"}}
    fitted = fit(table, proposal.schema)
    assert fitted.mapping == proposal.mapping
    strict = {name: values for name, values in proposal.schema.attributes.items() if name != "kg"}
    kg = Domain(read_type({"type": "integer", "low": 40, "high": 100, "edges": [60]}))
    remarks = {c.name: " ".join(c.remarks) for c in fit(table, schemas.Schema(strict | {"kg": kg})).columns}
    assert "'zu dick': means no value, and the schema does not list '?'" in remarks["kg"]
    (tmp_path / "b.csv").write_text(WORDS.replace("id,kg", "Id,K.G."))
    assert fit(profile(PlaceSettings(source=str(tmp_path / "b.csv"))), proposal.schema).mapping["kg"] == {
        "column": "K.G.",
        "values": {"zu dick": "?"},
    }


def test_round_extremes_are_not_told_either(tmp_path: Path) -> None:
    """Bounds are the same for neighbouring extremes: nobody learns from them which it is."""

    def bounds(low: str, high: str) -> tuple[object, ...]:
        cells = [low, high] * 2 + [f"{40 + i % 37}" for i in range(100)]
        (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{cell},{i % 2}\n" for i, cell in enumerate(cells)))
        kind = type_of(look(tmp_path / "a.csv", "y").schema.attributes["x"])
        assert isinstance(kind, NumberType)
        return kind.low, kind.high

    assert bounds("20", "100") == bounds("19", "101") == (10, 110)
    assert bounds("20.0", "100.0") == bounds("19.5", "100.5")
    assert bounds("0", "100") == bounds("5", "100") == (0, 110)  # nobody wonders at there being no negative number
    assert bounds("-100", "90")[0] == bounds("-98", "90")[0] - 20 == -120


def test_first_and_last_days_are_not_told(tmp_path: Path) -> None:
    def bounds(low: str, high: str) -> tuple[object, ...]:
        rows = [low, high] * 2 + [f"2024-{i % 12 + 1:02}-15" for i in range(100)]
        (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{cell},{i % 2}\n" for i, cell in enumerate(rows)))
        kind = type_of(look(tmp_path / "a.csv", "y").schema.attributes["x"])
        assert isinstance(kind, DateType)
        return kind.low, kind.high

    assert bounds("2024-01-01", "2024-12-31") == bounds("2023-12-24", "2025-01-06")
    assert bounds("2024-01-01", "2024-12-31") == (date(2023, 10, 1), date(2025, 3, 31))


@pytest.mark.parametrize("newest", [1999, 2023, 2026])
def test_ages_are_at_a_day_that_is_public(tmp_path: Path, newest: int) -> None:
    days = [f"{newest - i % 80}-11-09" for i in range(160)]
    (tmp_path / "a.csv").write_text("birthday,y\n" + "".join(f"{day},{i % 3}\n" for i, day in enumerate(days)))
    table = profile(PlaceSettings(source=str(tmp_path / "a.csv")))
    proposal = propose(table, today=date(2024, 7, 5))
    kind = type_of(proposal.schema.attributes["birthday"])
    assert isinstance(kind, DateType)
    assert kind.age_at == date(2024, 1, 1)
    assert "becomes the age on 2024-01-01" in proposal.columns[0].remarks


@pytest.mark.parametrize(
    ("content", "arguments", "complaint"),
    [
        ("", [], "the file is empty"),
        ("a,b\n1,2\n1\n", [], "x.csv"),
        ("a,a\n1,2\n", [], "occurs twice"),
        ("a,b\n1,x\n2,y\n", ["--target", "c"], "there is no column 'c'"),
        ("<!doctype html>\n<p>\n", ["--target", "c"], "this is HTML or XML"),
        ("a,b\n1,x\n2,y\n", ["--exclude", "z"], "--exclude: there is no column 'z'"),
        ("a\nx\n", [], "no other column can be an attribute"),
    ],
)
def test_what_cannot_be_prepared_is_refused_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, arguments: list[str], complaint: str
) -> None:
    (tmp_path / "x.csv").write_text(content)
    assert run(["prepare", str(tmp_path / "x.csv"), "--out", str(tmp_path / "out"), *arguments]) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert len(error.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_nothing_is_written_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    messy(tmp_path / "a.csv")
    arguments = ["prepare", str(tmp_path / "a.csv"), "--out", str(tmp_path / "clinic")]
    assert run(arguments) == 0
    assert run(arguments) == 2
    assert "tables.a already has format; give --force" in capsys.readouterr().err
    assert run([*arguments, "--table", "again"]) == 2
    assert "schema.toml exists already" in capsys.readouterr().err
    assert run([*arguments, "--table", "again", "--schema", str(tmp_path / "clinic" / "schema.toml")]) == 0
    assert {"a", "again"} == set(load_party(tmp_path / "clinic" / "party.toml").tables)


def test_a_schema_of_another_table_is_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = tmp_path / "clinic" / "schema.toml"
    for name in ("a.csv", "b.csv"):
        messy(tmp_path / name)
    words = ["prepare", str(tmp_path / "b.csv"), "--out", str(schema.parent), "--force"]
    assert run(["prepare", str(tmp_path / "a.csv"), "--out", str(schema.parent)]) == 0
    before = schema.read_bytes()
    assert run([*words, "--exclude", "Alter"]) == 2
    assert f"{schema} is also the schema of 'a'; give --schema {schema} to keep it" in capsys.readouterr().err
    assert schema.read_bytes() == before
    assert run([*words, "--schema", str(schema)]) == 0


DROPPED = '[tables.a.columns.selten]\nvalues = { x = "y" }\n'


@pytest.mark.parametrize("by", ["file", "table"])
def test_a_table_is_prepared_anew_by_one_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], by: str) -> None:
    """What stands there besides, by hand or by other commands, stays as it is: also of this table."""
    raw, folder = tmp_path / "a.csv", tmp_path / "clinic"
    messy(raw)
    party = folder / "party.toml"
    words = ["prepare", str(raw), "--target", "Ausgang"]
    assert run([*words, "--out", str(folder)]) == 0
    text = party.read_text()
    by_hand = (
        text.replace("[tables.a]\n", '[tables.a]\nmemory = "1GB"\n')
        + "# ours\n[tables.a.budget]\nepsilon = 3.0\n"
        + DROPPED
    )
    party.write_text("[link]\nwait = 7\n\n" + by_hand)
    where = ["--out", str(folder)] if by == "file" else ["--config", str(party)]
    again = ["prepare", *([str(raw)] if by == "file" else []), *where, "--target", "Ausgang", "--exclude", "Alter"]
    before = (party.read_bytes(), (folder / "schema.toml").read_bytes())
    assert run(again) == 2
    assert "--force" in capsys.readouterr().err
    assert (party.read_bytes(), (folder / "schema.toml").read_bytes()) == before
    assert run([*again, "--force"]) == 0
    table = load_party(party).tables["a"]
    assert "Alter" not in schemas.load(table.schema_file).attributes
    assert (table.memory, table.source) == ("1GB", str(folder.parent / "a.csv"))
    now, then = (tomllib.loads(some) for some in (party.read_text(), before[0].decode().replace(DROPPED, "")))
    assert now == then
    assert now["tables"]["a"]["budget"] == {"epsilon": 3.0}
    assert "# ours" in party.read_text()


def test_only_a_table_that_is_written_as_prepare_writes_it_is_replaced(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a.csv", "b.csv"):
        messy(tmp_path / name)
    party = tmp_path / "clinic" / "party.toml"
    words = ["--out", str(party.parent), "--force"]
    assert run(["prepare", str(tmp_path / "a.csv"), *words]) == 0
    before = party.read_bytes()
    assert run(["prepare", str(tmp_path / "b.csv"), "--table", "a", *words]) == 2
    assert "tables.a names another source; give another --table" in capsys.readouterr().err
    inline = '[tables.a]\ncolumns = { selten = { values = { x = "y" } } }\n'
    party.write_text(before.decode().replace("[tables.a]\n", inline))
    before = party.read_bytes()
    assert run(["prepare", str(tmp_path / "a.csv"), *words]) == 2
    assert "cannot separate the lines of format, columns and derived in tables.a" in capsys.readouterr().err
    assert party.read_bytes() == before


FIELDS = st.one_of(
    st.text(st.characters(codec="utf-8"), max_size=12),
    st.sampled_from(
        ["", "?", "NA", "nan", "inf", "-inf", "-", "1", "0,5", "1.5", "1e400", "-0", "+1.", "1_000", "0x1f"]
    ),
    st.sampled_from(
        ["31.12.2020", "2020-02-30", "2020-01-01 10:00:00", "1/2/20", "12:30", "24:00", "ja", "007", "1 000"]
    ),
    st.sampled_from(
        ["١٢", "１２", "½", "Ⅷ", "1,5.3", "1.000,5", " 5 ", "\u00a05", "\ufeff1", "a\nb", "x" * 300, '"', "'", "''"]
    ),
    st.decimals(allow_nan=False, allow_infinity=False).map(str),
    st.integers(-(10**20), 10**20).map(str),
    st.dates().map(lambda day: f"{day:%d.%m.%Y}"),
    st.dates().map(str),
    st.datetimes().map(str),
)
KINDS = st.sampled_from(
    [
        FIELDS,
        st.integers(-5, 200).map(str),
        st.floats(-1e6, 1e6).map(lambda x: f"{x:.2f}".replace(".", ",")),
        st.sampled_from(["a", "b", "A", "", "?", "é", "e\u0301"]),
        st.dates().map(lambda day: f"{day:%d.%m.%Y}"),
        st.times().map(lambda time: f"{time:%H:%M}"),
        st.just(""),
        st.sampled_from(["NA", "", "k.A.", "?"]),
    ]
)
NAMES = st.one_of(
    st.sampled_from(["a", "b", "A", "a ", "", "id", "?", "x" * 3000, "a.b", '"', "tables", "c0", "ä", "a\u0308", "1"]),
    st.text(max_size=8),
)


@st.composite
def odd_files(draw: st.DrawFn) -> bytes:
    """A table of columns of some kind each, with stray cells, written in some spelling, and maybe damaged."""
    width = draw(st.integers(1, 4))
    kinds = [draw(KINDS) for _ in range(width)]
    names = draw(st.lists(NAMES, min_size=width, max_size=width))
    if draw(st.integers(0, 9)) == 0:
        names = draw(st.sampled_from([names[:1] * width, [""] * width, [*names, ""], ["", *names[1:]], [" "] * width]))
    stray = st.integers(0, 9).flatmap(lambda i: FIELDS if i == 0 else st.nothing() | st.none())
    rows = []
    for _ in range(draw(st.sampled_from([0, 1, 2, 12, 25]))):
        cells = [draw(stray) or draw(kind) for kind in kinds]
        rows.append(cells)
    rows *= draw(st.sampled_from([1, 1, 12]))
    mark = draw(st.sampled_from(",;\t|:"))
    writer = csv.writer(
        stream := io.StringIO(newline=""),
        delimiter=mark,
        quotechar=draw(st.sampled_from("\"'")),
        quoting=draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])),
        lineterminator=draw(st.sampled_from(["\n", "\r\n", "\r"])),
    )
    writer.writerow(names)
    writer.writerows(rows)
    text = stream.getvalue()
    damages = ["ragged", "short", "blank", "mixed", "quotes", "cut quote", "nul", "huge", "no end"]
    match draw(st.sampled_from(["", "", "", "", *damages])):
        case "ragged":
            text += mark.join("1" * draw(st.integers(0, 6))) + "\n"
        case "short":
            lines = text.splitlines(keepends=True)
            place = draw(st.integers(0, len(lines)))
            text = "".join([*lines[:place], "1\n", *lines[place:]])
        case "quotes":
            text += mark.join(draw(st.sampled_from(["'a\"", "\"a'", 'a"b', "a'b", '"a"b', '""', "'"])) for _ in names)
        case "huge":
            text += mark.join(["x" * draw(st.sampled_from([1 << 17, (1 << 17) + 1, 1 << 22])), *names[1:]]) + "\n"
        case "blank":
            text = "\n\n" + text + "\n \n"
        case "mixed":
            text = text.replace("\n", "\r\n", 3).replace("\r\r", "\r")
        case "cut quote":
            text += '"a'
        case "nul":
            text = text[: len(text) // 2] + "\0" + text[len(text) // 2 :]
        case "no end":
            text = text.rstrip("\r\n")
    content = text.encode(
        draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252", "latin-1"])),
        "replace",
    )
    match draw(st.sampled_from(["", "", "", "", "gzip", "cut gzip", "bytes"])):
        case "gzip":
            content = gzip.compress(content)
        case "cut gzip":
            content = gzip.compress(content)[: -draw(st.integers(1, 20))]
        case "bytes":
            place = draw(st.integers(0, len(content)))
            content = content[:place] + draw(st.binary(min_size=1, max_size=3)) + content[place:]
    return content


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large],
    max_examples=60,
    deadline=None,
)
@given(odd_files(), st.booleans())
def test_any_file_is_prepared_and_then_read_or_refused_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, has_target: bool
) -> None:
    """What is refused leaves nothing behind; what is prepared, all commands read, every row of it."""
    folder = tmp_path / "out"
    shutil.rmtree(folder, ignore_errors=True)
    (tmp_path / "odd.csv").write_bytes(content)
    capsys.readouterr()
    code = run(["prepare", str(tmp_path / "odd.csv"), "--out", str(folder), *(["--target", "a"] if has_target else [])])
    shown = capsys.readouterr()
    if code:
        assert code == 2, shown.err
        assert len(shown.err.splitlines()) == 1, shown.err
        assert not folder.exists()
        return
    assert not set(shown.out + shown.err) & set("\x1b\x07\x00\u202e")
    (table,) = load_party(folder / "party.toml").tables.values()
    schema = schemas.load(table.schema_file)
    with open_table(table, schema, "a" if has_target else next(iter(schema.attributes))) as source:
        rows = source.check()
        assert 0 <= rows <= table.max_rows
        assert source.distinct()[:, -1].sum() == rows
    again = profile(PlaceSettings(source=str(tmp_path / "odd.csv")))
    assert again.rows == rows
    fitted = fit(again, schema)
    assert fitted.mapping == {name: c.model_dump(exclude_unset=True) for name, c in table.columns.items()}


@pytest.mark.skipif(not RAW.exists(), reason="the raw tables are not here")
@pytest.mark.parametrize(
    ("name", "target", "usable"),
    [("fars.csv.gz", "INJURY_SEVERITY", 29), ("abalone.csv", "Sex", 9), ("casp.csv.gz", None, 10)],
)
def test_raw_tables_are_usable(name: str, target: str | None, usable: int) -> None:
    proposal = look(RAW / name, target)
    assert len(proposal.schema.attributes) >= usable
    if name.startswith("fars"):
        race = next(column for column in proposal.columns if column.name == "RACE")
        assert "almost decides 'INJURY_SEVERITY' = 'Fatal_Injury'" in " ".join(race.remarks)


@pytest.mark.skipif(not RAW.exists(), reason="the raw tables are not here")
def test_the_hospitals_export_is_usable_with_two_edits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["make_hospital.py", "3000"])
    runpy.run_path(str(RAW / "make_hospital.py"))
    proposal = look(tmp_path / "a.csv", "Wiederaufnahme")
    assert len(proposal.schema.attributes) >= 45
    fitted: Any = fit(profile(PlaceSettings(source=str(tmp_path / "b.csv"))), proposal.schema)
    edits = [column.name for column in fitted.columns if any("not in the schema" in text for text in column.remarks)]
    assert len(edits) <= 2


PLAIN = "a,b,out\n" + "1,x,yes\n2,y,no\n" * 30
ODD = {  # a file's bytes, and what is said of it; nothing if it is read
    "cut.gz": (gzip.compress(PLAIN.encode() * 50)[:-20], "cannot read"),
    "broken.gz": (gzip.compress(random.Random(1).randbytes(999))[:60] + b"x" * 900, "cannot read"),
    "empty.gz": (gzip.compress(b""), "the file is empty"),
    "neither.csv": (PLAIN.encode() + b"1,\x81\xfe\xff,yes\n", "neither UTF-8 nor UTF-16 nor a known code page"),
    "nul.csv": (b"a\0,b\n1,2\n", "a NUL byte"),
    "archive.csv": (b"PK\x03\x04" + bytes(99), "a spreadsheet or an archive"),
    "objects.json": (
        b'[\n  {\n    "a": 1, "b": "x"\n  },\n  {"a": 2, "b": "y"}\n]\n',
        "this is JSON; save the table as CSV",
    ),
    "lines.json": (b'{"a": 1, "b": "x"}\n' * 30, "this is JSON; save the table as CSV or Parquet"),
    "long_numbers.csv": (b"a,b\n" + b"".join(b"%d,%d\n" % (10**30 + i, i % 2) for i in range(60)), ""),
    "far_days.csv": (b"birth,b\n" + b"1900-01-01,x\n9999-12-31,y\n" * 20, ""),
    "case.csv": (PLAIN.replace("b,out", "A,out").encode(), ""),
    "words_among_numbers.csv": (b"a,b\n" + b"1,x\n2,y\nunklar,x\n3,x\n4,y\n5,x\n" * 20, ""),
    "control_among_numbers.csv": (b"a,b\n" + b"1,x\n2,y\n3,x\n" * 20 + b"u\x07v,y\n", ""),
    "spaced_numbers.csv": (b"a,b\n" + b"1,x\n2,y\n\xc2\xa03,x\n 1_000,y\nnan,x\n1e-400,y\n" * 20, ""),
    "parted_once.csv": (b"a;b\n" + b"".join(b"%d,5;x\n%d;y\n" % (i, i) for i in range(300)) + b"1.000,5;x\n", ""),
    "moments.csv": (b"a,b\n" + b"2020-01-01 10:00:00,x\n2021-03-04 00:00:01,y\n" * 20, ""),
    "days_among_times.csv": (b"a,b\n" + b"".join(b"%02d:10,x\n" % i for i in range(20)) + b"2000-01-01,y\n" * 2, ""),
    "control.csv": (b"a,b\n" + b"x\x1fy,1\nz,2\n" * 30, ""),
    "line_in_name.csv": (b'"a\nb",c\n' + b"1,x\n2,y\n" * 30, ""),
    "one.csv": (b"a\n" + b"x\ny\n" * 30, ""),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_files_are_read_as_the_table_is_or_refused_in_a_line(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, complaint = ODD[name]
    (tmp_path / name).write_bytes(content)
    code = run(["prepare", str(tmp_path / name), "--out", str(tmp_path / "out")])
    shown = capsys.readouterr()
    assert code == (2 if complaint else 0)
    if complaint:
        assert complaint in shown.err
        assert len(shown.err.splitlines()) == 1
        assert not (tmp_path / "out").exists()
        return
    (table,) = load_party(tmp_path / "out" / "party.toml").tables.values()
    schema = schemas.load(table.schema_file)
    with open_table(table, schema, next(iter(schema.attributes))) as source:
        assert source.check() > 0


def test_names_on_the_page_break_where_their_words_end(tmp_path: Path) -> None:
    (tmp_path / "raw.csv").write_text("air_bag/<i>,y\n" + "not_<b>,1\nyes,2\n" * 20)
    page = tmp_path / "page.html"
    assert run(["prepare", str(tmp_path / "raw.csv"), "--out", str(tmp_path / "out"), "--page", str(page)]) == 0
    assert '<th scope="row">air_<wbr>bag/<wbr>&lt;i&gt;</th>' in page.read_text()
    assert "category: not_<wbr>&lt;b&gt;, yes" in page.read_text()


def test_nothing_of_a_file_steers_the_terminal_or_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    head = '"a\nb","\x1b[31mred",<script>alert(1)</script>,seen\u202e\n'
    rows = "1,\x1b]0;x\x07,<img src=x onerror=alert(1)>,y\u202ez\n2,q,{{7*7}},=1+1\n" * 30
    (tmp_path / "\x1b[2J.csv").write_text(head + rows)
    page = tmp_path / "page.html"
    words = [str(tmp_path / "\x1b[2J.csv"), "--out", str(tmp_path / "out"), "--page", str(page)]
    assert run(["prepare", *words]) == 0
    shown = "".join(capsys.readouterr())
    for text in (shown, page.read_text()):
        assert not {"\x1b", "\x07", "\u202e"} & set(text)
    assert "<script>alert" not in page.read_text()
    assert "<img" not in page.read_text()
    assert "49" not in page.read_text()


def test_the_few_numbers_of_a_column_are_bounded_by_those_of_ten_rows(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("grade,out\n0,yes\n" + "".join(f"{i % 5 + 1},{'yn'[i % 2]}\n" for i in range(100)))
    domain = look(tmp_path / "a.csv", "out").schema.attributes["grade"]
    assert tuple(domain) == ("under 2", "2", "3", "4", "5 and over")  # one row has 0, which is not told
    assert isinstance(domain, Domain)
    assert domain.column.low <= 0  # so a mean counts it as it is


@pytest.mark.parametrize(("greatest", "is_coarse"), [("80000.5", True), ("70.5", False)])
def test_a_grid_coarser_than_the_numbers_is_pointed_out(tmp_path: Path, greatest: str, is_coarse: bool) -> None:
    numbers = [f"{i % 40}.5" for i in range(200)] + [greatest]
    (tmp_path / "a.csv").write_text("cost,out\n" + "".join(f"{n},{'yn'[i % 2]}\n" for i, n in enumerate(numbers)))
    remarks = look(tmp_path / "a.csv", "out").columns[0].remarks
    coarse = "in sums and means each number counts as the nearest multiple of 10"
    assert [remark for remark in remarks if "nearest" in remark] == ([coarse] if is_coarse else [])


def test_numbers_of_nearly_one_value_a_row_are_a_key_and_no_target(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """However far apart they are, and however an estimate of their number errs; a measurement repeats."""
    draw = random.Random(6)  # of these numbers DuckDB estimates 7,041 different ones
    numbers = draw.sample(range(10**6, 10**9), 9000)
    lines = [f"{number},{draw.randint(0, 400)},{'yn'[place % 2]}" for place, number in enumerate(numbers)]
    for name in ("Fall", "FallNr"):
        (tmp_path / "a.csv").write_text(f"{name},weight,out\n" + "\n".join(lines) + "\n")
        proposal = look(tmp_path / "a.csv", "out")
        assert proposal.schema.keys == (name,)
        assert "nearly one value a row: taken for a key" in " ".join(proposal.columns[0].remarks)
        assert "weight" in proposal.schema.attributes
    with pytest.raises(InputError, match="'FallNr' cannot be the target: nearly one value a row: it identifies rows"):
        look(tmp_path / "a.csv", "FallNr")
    (tmp_path / "a.csv").write_text("price,out\n" + "\n".join(f"{n},{'yn'[n % 2]}" for n in numbers) + "\n")
    assert "is it an identifier instead of a target?" in " ".join(look(tmp_path / "a.csv", "price").columns[0].remarks)
    schema = schemas.Schema({"price": Domain(read_type({"type": "integer", "low": 0, "high": 10**9, "width": 10**8}))})
    fitted = fit(profile(PlaceSettings(source=str(tmp_path / "a.csv"))), schema)
    assert "is it an identifier" in " ".join(fitted.columns[0].remarks)


@pytest.mark.parametrize(
    ("cells", "few", "grouped"),
    [
        (["1", *["3"] * 50, *["4"] * 50, *["9"] * 50, "26", "26"], ["1", "26"], "low = 3, high = 9, width = 1 }"),
        ([*["a"] * 50, *["b"] * 50, "", "c"], ["c"], "values = ['a', 'b'], other = \"other\", missing = true }"),
        ([*["a"] * 50, *["b"] * 10], [], ""),
    ],
)
def test_rare_classes_are_named_to_the_owner_with_a_type_that_groups_them(
    tmp_path: Path, cells: list[str], few: list[str], grouped: str
) -> None:
    (tmp_path / "a.csv").write_text("out,x\n" + "".join(f"{cell},{i % 3}\n" for i, cell in enumerate(cells)))
    (column, _) = look(tmp_path / "a.csv", "out").columns
    remarks = " ".join(column.remarks)
    assert ("fewer than 10 rows each" in remarks) == bool(few)
    if few:
        assert remarks.startswith(", ".join(map(repr, few)) + ": fewer")
        typed = tomllib.loads("t = " + remarks[remarks.index("{") : remarks.index("}") + 1])["t"]
        assert remarks[: remarks.index("}") + 1].endswith(grouped)
        domain = Domain(read_type(typed))
        assert not set(few) & set(domain)


@pytest.mark.parametrize("target", [None, "out"])
def test_a_value_that_is_called_other_stands_with_rare_ones(tmp_path: Path, target: str | None) -> None:
    """The label of rare values is no second value of its name: the column stays."""
    cells = [*["a"] * 40, *["b"] * 40, *["other"] * 40, "c", "d"]
    (tmp_path / "a.csv").write_text("x,out\n" + "".join(f"{cell},{'yn'[i % 2]}\n" for i, cell in enumerate(cells)))
    proposal = look(tmp_path / "a.csv", target)
    assert tuple(proposal.schema.attributes["x"]) == ("a", "b", "other")
    assert "2 values of fewer than 10 rows: counted as 'other'" in " ".join(proposal.columns[0].remarks)


def test_a_rare_class_beside_one_called_other_gets_a_type_that_reads(tmp_path: Path) -> None:
    cells = [*["a"] * 40, *["other"] * 40, "c"]
    (tmp_path / "a.csv").write_text("out,x\n" + "".join(f"{cell},{i % 3}\n" for i, cell in enumerate(cells)))
    remarks = " ".join(look(tmp_path / "a.csv", "out").columns[0].remarks)
    typed = tomllib.loads("t = " + remarks[remarks.index("{") : remarks.index("}") + 1])["t"]
    assert tuple(Domain(read_type(typed))) == ("a", "other")


def codes(path: Path, name: str, numbers: list[int]) -> TableProposal:
    path.write_text(f"{name},out\n" + "".join(f"{n},{'yn'[i % 2]}\n" for i, n in enumerate(numbers)))
    return look(path, "out")


@pytest.mark.parametrize("name", ["zip", "ZIP_CODE", "plz", "PLZ", "state code", "DiagnosisCode", "postal_code"])
def test_codes_by_name_are_no_numbers(name: str, tmp_path: Path) -> None:
    proposal = codes(tmp_path / "a.csv", name, [10115, 80331, 50667] * 40)
    assert proposal.schema.attributes[name] == ("10115", "50667", "80331")
    assert "by its name a code" in " ".join(proposal.columns[0].remarks)
    many = codes(tmp_path / "a.csv", name, [10000 + 400 * i for i in range(100)] * 20)
    assert {len(value) for value in many.schema.attributes[name]} == {2}  # of three digits there are 100
    assert becomes(many)[name] == "category"
    uneven = codes(tmp_path / "a.csv", name, [7 * i for i in range(100)] * 20)
    assert becomes(uneven)[name] == "integer"
    assert "its mean has no meaning" in " ".join(uneven.columns[0].remarks)


@pytest.mark.parametrize("name", ["codeine", "zipped", "encoded", "weight", "decoder"])
def test_numbers_are_no_codes(name: str, tmp_path: Path) -> None:
    proposal = codes(tmp_path / "a.csv", name, [10000 + 400 * i for i in range(100)] * 20)
    assert becomes(proposal)[name] == "integer"
    assert "by its name a code" not in " ".join(proposal.columns[0].remarks)


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ([*range(1, 6)] * 40, ""),
        ([*range(40)] * 20, "each of its 40 numbers is a class"),
        ([*range(0, 3000, 7)] * 4, "is a number, and its 6 ranges are the classes"),
    ],
)
def test_numbers_that_become_classes_are_said_to(numbers: list[int], said: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("hours,x\n" + "".join(f"{n},{'yn'[i % 2]}\n" for i, n in enumerate(numbers)))
    hours = look(path, "hours").columns[0]
    remarks = " ".join(hours.remarks)
    assert ("smc regress --method least-squares" in remarks) == bool(said)
    assert said in remarks
    assert "least-squares" not in " ".join(look(path).columns[0].remarks)


@pytest.mark.parametrize(
    ("name", "values", "is_person"),
    [
        ("patient_id", 300, True),
        ("PatientenNr", 300, True),
        ("household", 60, True),
        ("Person", 36, False),  # a category
        ("patient_age", 90, False),
        ("RELATED_FACTOR_(1)-PERSON_LEVEL", 300, False),
        ("patient_id", 1000, False),  # a key of rows
        ("other", 300, False),
    ],
)
def test_people_are_guessed_by_names_of_many_values_that_repeat(
    tmp_path: Path, name: str, values: int, is_person: bool
) -> None:
    (tmp_path / "a.csv").write_text(f"{name},x\n" + "".join(f"{7 * (i % values)},{i % 3}\n" for i in range(1000)))
    table = profile(PlaceSettings(source=str(tmp_path / "a.csv")))
    assert ("# person =" in party_text("a", table, tmp_path)) == is_person


@pytest.mark.parametrize(
    ("numbers", "codes"),
    [
        ([*range(98), 99], "'99'"),  # an age of a traffic register
        ([*range(60), 81, 95, 96, 97, 99], "'95', '96', '97', '99'"),
        ([0, 1, 2, 98, 99], "'98', '99'"),
        ([*range(1, 300), 996, 999], "'996', '999'"),
        (list(range(100)), ""),
        (list(range(0, 100, 3)), ""),
        ([*range(30), 42], ""),
    ],
)
def test_codes_after_a_gap_at_the_end_are_pointed_out(tmp_path: Path, numbers: list[int], codes: str) -> None:
    cells = [str(number) for number in numbers for _ in range(12)]
    (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{cell},{i % 3}\n" for i, cell in enumerate(cells)))
    table = profile(PlaceSettings(source=str(tmp_path / "a.csv")))
    proposal = propose(table)
    for columns in (proposal.columns, fit(table, proposal.schema).columns):
        remarks = " ".join(columns[0].remarks)
        assert ("codes for a missing value?" in remarks) == bool(codes)
        assert remarks.startswith(f"{codes} at its end" if codes else "")


def test_doubled_keys_are_named(tmp_path: Path) -> None:
    keys = [f"K{i}" for i in range(200)]
    (tmp_path / "a.csv").write_text("id,y\n" + "".join(f"{key},{key[-1] > '4'}\n" for key in [*keys, *keys[:12]]))
    (key, _) = look(tmp_path / "a.csv", "y").columns
    assert "12 rows repeat a value of 'id': if it names people, give --person id=1" in key.remarks
