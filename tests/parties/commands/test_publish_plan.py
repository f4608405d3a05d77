"""smc publish plan: what it proposes for odd tables is anonymised as it stands, or it says in one line why not."""

from __future__ import annotations

import csv
import itertools
import json
import random
import re
import tempfile
import tomllib
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parties.alone.publish import planning
from parties.alone.publish.recoding import fulldomain
from tests.support.patients import smc, stands_for, written

pytestmark = pytest.mark.slow

NAMES = ["a", "A", "n", "c0", "t", "x.y", 'q"uote', "with space", "é", "=1+1", "l0", "rows", "*", "?", "日付", "[a]"]
VALUES = [  # kinds of columns, each a way to draw a cell
    st.integers(0, 3).map(str),
    st.integers(-50, 150).map(str),
    st.integers(10**15, 10**15 + 40).map(str),
    st.integers(10**37, 10**38).map(str),
    st.floats(-1e3, 1e3).map(lambda x: f"{x:.3f}"),
    st.sampled_from(["1e5", "2E-3", "1e99", "-.5", "7.", "1e-99", "00", "-0", "+4"]),
    st.floats(allow_nan=True, allow_infinity=True).map(str),
    st.dates().map(str),
    st.sampled_from(["1/2/79", "01.02.1979", "3-4-05", "1/2-03", "31.12.99"]),
    st.sampled_from(["1/2/79", "01.02.1979", "3-4-05", "31.12.99"]),
    st.integers(0, 99999).map(lambda x: f"{x:05d}"),
    st.sampled_from(
        ["*", "?", "[0, 10[", "0*", "None", "'", '"', "a,b", "a\nb", "ß", "\u00a0x ", " y", "1_000", "٣", "²"]
    ),
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=4),
    st.just("same"),
]


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[str]]]:
    """Columns of a kind each, some with missing cells, some with one cell of another kind."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=len(NAMES), unique=True))
    rows = draw(st.integers(1, 60))
    seed = random.Random(draw(st.integers(0, 1000)))
    columns = []
    for _ in names:
        pool = draw(st.lists(draw(st.sampled_from(VALUES)), min_size=1, max_size=draw(st.sampled_from([3, 20, 60]))))
        column = [seed.choice(pool) for _ in range(rows)]
        if draw(st.booleans()):
            column = [seed.choice(["", "?", cell, cell]) for cell in column]
        if draw(st.integers(0, 3)) == 0:
            column[-1] = draw(draw(st.sampled_from(VALUES)))
        columns.append(column)
    return names, columns


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(table=tables(), looked_at=st.sampled_from([2, 1000]), sample=st.sampled_from([8, 1 << 15]))
def test_every_plan_runs(
    table: tuple[list[str], list[list[str]]], looked_at: int, sample: int, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if rules are guessed from the first values only, and sets of columns from some rows."""
    names, columns = table
    with tempfile.TemporaryDirectory() as place, monkeypatch.context() as patch:
        patch.chdir(place)
        patch.setattr(planning, "LOOKED_AT", looked_at)
        patch.setattr(planning, "SAMPLE", sample)
        with Path("raw.csv").open("w", newline="") as stream:
            csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([names, *zip(*columns, strict=True)])
        capsys.readouterr()
        if smc("plan", "--data", "raw.csv", "--guess", "--out", "publish.toml") != 0:
            error = capsys.readouterr().err
            assert error.count("\n") == 1, error
            few, twins = len(columns[0]) < 5, {"a", "A"} <= set(names)
            assert few or twins or "every column identifies nearly all rows" in error, error
            assert not Path("publish.toml").exists()
            return
        assert smc("anonymise", "--plan", "publish.toml", "--out", "out.csv") == 0, capsys.readouterr().err
        plan = tomllib.loads(Path("publish.toml").read_text())
        quasi = [name for name, column in plan["columns"].items() if column["role"] == "quasi-identifier"]
        rows = written(Path("out.csv"))
        assert len(rows) >= 0.98 * len(columns[0])
        assert min(Counter(tuple(row[name] for name in quasi) for row in rows).values()) >= 5


@pytest.mark.parametrize(("columns", "many"), [(8, False), (9, True)])
def test_many_quasi_identifiers_are_said_to_lose_most(
    columns: int, many: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    header = ",".join(f"c{i}" for i in range(columns))
    rows = [",".join(str((row >> i) % 2) for i in range(columns)) for row in range(100)]
    Path("raw.csv").write_text("\n".join([header, *rows]) + "\n")
    assert smc("plan", "--data", "raw.csv", "--out", "plan.toml") == 0
    shown = capsys.readouterr().out
    assert (f"{columns} quasi-identifiers: rows must look alike in all of them" in shown) == many
    assert ('give the others role = "other"' in shown) == many


def test_uniqueness_is_counted_as_by_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """The shares of the sets that it names, and that no other is worse; chosen by a sample, the shares."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(3)
    columns = {
        name: [f"{name}{draw.randrange(size)}" for _ in range(400)]
        for name, size in zip("abcde", (3, 9, 20, 40, 60), strict=True)
    }
    columns = {name: values + values[:90] for name, values in columns.items()}
    with Path("raw.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([columns, *zip(*columns.values(), strict=True)])

    def alone(chosen: tuple[str, ...]) -> float:
        keys = list(zip(*(columns[name] for name in chosen), strict=True))
        return sum(count == 1 for count in Counter(keys).values()) / len(keys)

    for sample in (1 << 15, 100):
        monkeypatch.setattr(planning, "SAMPLE", sample)
        monkeypatch.setattr(planning, "CHOSEN", planning.SHOWN)  # so that they are chosen right
        capsys.readouterr()
        assert smc("plan", "--data", "raw.csv", "--out", f"{sample}.toml") == 0
        notes = [line.split(": ") for line in capsys.readouterr().out.splitlines() if "alone" in line]
        found = {tuple(sorted(names.split(", "))): share.split("%")[0] for names, share in notes}
        assert {len(chosen) for chosen in found} >= {2, 3}
        for chosen, share in found.items():
            assert share == f"{100 * alone(chosen):.1f}"
        if sample > 400:
            for size in (2, 3):
                worst = sorted((alone(one) for one in itertools.combinations("abcde", size)), reverse=True)[:3]
                assert sorted((alone(one) for one in found if len(one) == size), reverse=True) == worst


def _without_algorithm(path: Path) -> None:
    path.write_text(re.sub("^algorithm = .*\n", "", path.read_text(), flags=re.MULTILINE))


def test_a_plan_keeps_the_outcome_and_half_of_the_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """As it was written, of a table of categories without hierarchies, where one level for all rows loses most."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(6)
    parties = [draw.choice(["left", "right"]) for _ in range(435)]
    votes = [[draw.choice("nnny" if party == "left" else "nyyy") for _ in range(9)] for party in parties]
    with Path("raw.csv").open("w", newline="") as stream:
        rows = [[*vote, draw.randint(1, 10), party] for vote, party in zip(votes, parties, strict=True)]
        csv.writer(stream).writerows([[*(f"vote{i}" for i in range(9)), "cells", "outcome"], *rows])
    assert smc("plan", "--data", "raw.csv", "--out", "publish.toml") == 0
    assert 'The plan has algorithm = "mondrian"' in capsys.readouterr().out
    assert Path("publish.toml").read_text().startswith(planning.UNUSED)
    assert tomllib.loads(Path("publish.toml").read_text())["columns"]["cells"]["ranges"] == [1, 2, 4]
    lost = []
    for flags in ([], ["--algorithm", "flash"]):
        files = ["--out", "out.csv", "--report", "report.json", "--force", *flags]
        assert smc("anonymise", "--plan", "publish.toml", *files) == 0
        lost.append(json.loads(Path("report.json").read_text())["lost"])
    proposed, by_level = lost
    assert proposed["outcome"] < 0.5 < by_level["outcome"]
    assert sum(share < 0.9 for share in proposed.values()) >= 5


def test_wide_tables_go_to_mondrian(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """By themselves, said in a line; the lattice's own algorithms name that way out, each in a line."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(4)
    rows = [[draw.randrange(60) if i % 2 else draw.choice("abc") for i in range(40)] for _ in range(200)]
    with Path("raw.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([[f"c{i}" for i in range(40)], *rows])
    assert smc("plan", "--data", "raw.csv", "--out", "publish.toml") == 0
    _without_algorithm(Path("publish.toml"))
    capsys.readouterr()
    assert smc("anonymise", "--plan", "publish.toml", "--out", "out.csv", "--page", "page.html", "--json") == 0
    printed = capsys.readouterr()
    assert '"algorithm": "mondrian"' in printed.out
    assert "40 quasi-identifiers are too many for one level per column; mondrian recoded them\n" in printed.err
    classes = Counter(tuple(row.values()) for row in written(Path("out.csv")))
    assert sum(classes.values()) == 200
    assert 5 <= min(classes.values()) < 20
    for algorithm in ("flash", "samarati", "incognito"):
        assert smc("anonymise", "--plan", "publish.toml", "--out", "none.csv", "--algorithm", algorithm) == 2
        error = capsys.readouterr().err
        assert 'set algorithm = "mondrian"' in error
        assert error.count("\n") == 1
        assert not Path("none.csv").exists()
    text = Path("publish.toml").read_text()
    Path("publish.toml").write_text(f"local = true\n{text}")
    assert smc("anonymise", "--plan", "publish.toml", "--out", "none.csv") == 2
    assert 'set algorithm = "mondrian"' in capsys.readouterr().err


def test_many_columns_under_several_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """k, l and t of the published rows counted by hand, and that each row stands for one that there was."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(5)
    names = [f"q{i}" for i in range(30)]
    rows = [
        {name: str(draw.randrange(40) if i % 3 else draw.choice("abcd")) for i, name in enumerate(names)}
        for _ in range(1500)
    ]
    for i, row in enumerate(rows):
        row |= {"visit": f"v{i // 2}", "disease": draw.choice("xxxyyz")}
    with Path("raw.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    columns: dict[str, Any] = {
        name: {"role": "quasi-identifier"} | ({"ranges": [5, 10]} if i % 3 else {}) for i, name in enumerate(names)
    }
    columns |= {"disease": {"role": "sensitive"}, "visit": {"role": "other"}}
    models: list[dict[str, Any]] = [
        {"model": "k-anonymity", "k": 6},
        {"model": "l-diversity", "column": "disease", "l": 3},
        {"model": "t-closeness", "column": "disease", "t": 0.25},
    ]
    Path("publish.toml").write_text(tomli_w.dumps({"source": "raw.csv", "columns": columns, "models": models}))
    files = ["--recoding", "recoding.json", "--report", "report.json"]
    assert smc("anonymise", "--plan", "publish.toml", "--out", "out.csv", *files) == 0
    published = written(Path("out.csv"))
    assert len(published) == 1500
    assert json.loads(Path("report.json").read_text())["algorithm"] == "mondrian"
    classes = defaultdict(list)
    for row in published:
        classes[tuple(row[name] for name in names)].append(row["disease"])
    whole = Counter(row["disease"] for row in rows)
    assert len(classes) > 20
    for diseases in classes.values():
        assert len(diseases) >= 6
        assert set(diseases) == set("xyz")
        distance = sum(abs(diseases.count(d) / len(diseases) - n / 1500) for d, n in whole.items()) / 2
        assert distance <= 0.25 + 1e-9
    origins = defaultdict(list)
    for row in rows:
        origins[row["visit"], row["disease"]].append(row)
    for row in published:
        candidates = origins[row["visit"], row["disease"]]
        assert any(all(stands_for(row[name], one[name]) for name in names) for one in candidates)
    assert smc("apply", "--recoding", "recoding.json", "--data", "raw.csv", "--out", "again.csv") == 0
    assert Counter(tuple(row.values()) for row in written(Path("again.csv"))) == Counter(
        tuple(row.values()) for row in published
    )


def test_the_bound_of_the_lattice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """It is on the nodes, and on the nodes with the work at each; up to it flash is chosen."""
    monkeypatch.chdir(tmp_path)
    with Path("raw.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["a", "b"], *([i % 3, i % 2] for i in range(60))])
    assert smc("plan", "--data", "raw.csv", "--out", "publish.toml") == 0
    _without_algorithm(Path("publish.toml"))
    for bound, chosen in (
        ({"NODES": 4, "WORK": 4 * 2 * 6}, "flash"),
        ({"NODES": 3, "WORK": 4 * 2 * 6}, "mondrian"),
        ({"NODES": 4, "WORK": 4 * 2 * 6 - 1}, "mondrian"),
    ):
        for name, value in bound.items():
            monkeypatch.setattr(fulldomain, name, value)
        capsys.readouterr()
        assert smc("anonymise", "--plan", "publish.toml", "--out", "out.csv", "--force", "--json") == 0
        assert f'"algorithm": "{chosen}"' in capsys.readouterr().out


def test_columns_without_text_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    columns: dict[str, list[Any]] = {"lists": [[i] for i in range(30)], "b": [i % 2 == 0 for i in range(30)]}
    pyarrow.parquet.write_table(pyarrow.table(columns), "raw.parquet")
    assert smc("plan", "--data", "raw.parquet", "--out", "publish.toml") == 0
    assert "lists: cells of type array<int64> cannot be generalised: it will be dropped" in capsys.readouterr().out
    assert smc("anonymise", "--plan", "publish.toml", "--out", "out.csv") == 0
    assert Counter(row["b"] for row in written(Path("out.csv"))) == {"true": 15, "false": 15}
    capsys.readouterr()
    pyarrow.parquet.write_table(pyarrow.table({"lists": columns["lists"]}), "raw.parquet")
    assert smc("plan", "--data", "raw.parquet", "--out", "none.toml") == 2
    err = capsys.readouterr().err
    assert "raw.parquet: no column can be an attribute, such as 'lists': " in err
    assert err.endswith(" holds no categories: turn it into text or numbers in a view\n")


def test_values_that_fit_no_rule_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    """Codes of digits of which some are shorter are numbers; numbers of which some are words have no rule."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(planning, "LOOKED_AT", 50)
    rows = [[f"{1000 + i % 400}", i % 400, f"{10**15 + i % 400}.5", i % 3] for i in range(1200)]
    rows += [["77", "unknown", "1e15", 1]] * 5
    with Path("raw.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["code", "age", "far", "sex"], *rows])
    monkeypatch.setattr(planning, "_guesses", _first_of(planning._guesses))
    assert smc("plan", "--data", "raw.csv", "--out", "publish.toml") == 0
    assert "age: 1 of its rows are no numbers, so it has no rule: say one" in capsys.readouterr().out
    columns = tomllib.loads(Path("publish.toml").read_text())["columns"]
    assert columns["age"] == columns["far"] == {"role": "quasi-identifier"}  # ranges there would all be called alike
    assert columns["code"] == {"role": "quasi-identifier", "ranges": [100, 200, 400]}


def _first_of(guesses: Any) -> Any:
    """The guesses by the values that look alike: the words and the short codes are seen late."""
    return lambda values, distinct: guesses([v for v in values if v not in ("unknown", "77")], distinct)


def test_an_export_with_decimal_commas_is_read_as_prepare_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """Measurements are cut into ranges, however many there are; what means no value is none when published, too."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(5)
    costs = [f"{draw.uniform(1, 9999):.2f}".replace(".", ",") for _ in range(600)]
    costs = [f"1.{cell}" if len(cell) == 6 and i % 2 else cell for i, cell in enumerate(costs)]
    sex = [draw.choice(["m", "w", "k.A."]) for _ in costs]
    odd = [f"{draw.uniform(1, 99):.3f}".replace(".", ",") if i else "unklar" for i in range(600)]
    with Path("raw.csv").open("w", newline="", encoding="cp1252") as stream:
        writer = csv.writer(stream, delimiter=";")
        writer.writerows(
            [["Größe", "Kosten", "sex", "odd"], *zip(range(600), ["k.A.", *costs[1:]], sex, odd, strict=True)]
        )
    assert smc("plan", "--data", "raw.csv", "--out", "publish.toml") == 0
    assert "odd: most of its values are numbers, but not all" in capsys.readouterr().out
    plan = tomllib.loads(Path("publish.toml").read_text())
    assert plan["format"] == {
        "separator": ";", "encoding": "cp1252", "decimal": ",", "thousands": ".", "missing": ["k.A."]
    }  # fmt: skip
    assert plan["columns"]["Kosten"]["role"] == "quasi-identifier"
    assert len(plan["columns"]["Kosten"]["ranges"]) == 3
    assert plan["columns"]["odd"] == {"role": "quasi-identifier"}
    plan["columns"] = {name: plan["columns"][name] for name in ("Kosten", "sex", "odd")}
    Path("publish.toml").write_text(tomli_w.dumps(plan))
    capsys.readouterr()
    assert smc("anonymise", "--plan", "publish.toml", "--out", "out.csv", "--recoding", "recoding.json") == 0
    shown = capsys.readouterr()
    lost = dict(re.findall(r"lost of (\w+) +([0-9.]+)%", shown.out))
    assert float(lost["odd"]) == 100 > 50 > float(lost["Kosten"])
    assert shown.err.splitlines()[-1].startswith("most is lost of 'odd' 100%: ")
    rows = written(Path("out.csv"))
    assert {row["sex"] for row in rows} <= {"m", "w", "", "*"}
    cells = [float(cell.replace(".", "").replace(",", ".")) for cell in costs[1:]]
    for label, number in Counter(row["Kosten"] for row in rows).items():
        if label.startswith("["):
            low, high = (float(end) for end in label.strip("[").split(","))
            assert 5 <= number <= sum(low <= cell < high for cell in cells)
    assert smc("check", "--plan", "publish.toml", "--data", "out.csv") == 0
    assert smc("apply", "--recoding", "recoding.json", "--data", "raw.csv", "--out", "again.csv") == 0
    again = written(Path("again.csv"))
    assert Counter(tuple(row.values()) for row in again) == Counter(tuple(row.values()) for row in rows)


def test_columns_are_counted_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All distinct counts of a table of 1,000 columns took 2 GB at once; the plan does not depend on the pieces."""
    rows = [[f"{(i * j) % (3 + 9 * j)}" for j in range(12)] for i in range(90)]
    lines = [",".join(row) for row in [[f"c{j}" for j in range(12)], *rows]]
    (tmp_path / "raw.csv").write_text("\n".join(lines) + "\n")
    texts = []
    for number in (64, 5, 1):
        monkeypatch.setattr(planning, "AT_ONCE", number)
        out = tmp_path / f"{number}.toml"
        assert smc("plan", "--data", str(tmp_path / "raw.csv"), "--guess", "--out", str(out)) == 0
        texts.append(out.read_text())
    assert texts[0] == texts[1] == texts[2]
    distinct = [len({row[j] for row in rows}) for j in range(12)]
    plan = tomllib.loads(texts[0])["columns"]
    assert [plan[f"c{j}"].get("ranges") is not None for j in range(12)] == [4 < number < 90 for number in distinct]
    assert [name for name in plan if plan[name]["role"] == "identifier"] == ["c10", "c11"]  # they number the rows


def test_a_number_of_rows_is_an_identifier(tmp_path: Path, capsys: Any) -> None:
    """The row number, shuffled, and no measurement of as many values."""
    numbers = random.Random(1).sample(range(300), 300)
    lines = [f"{number},{number**2 % 9973},{i % 40 + 20}" for i, number in enumerate(numbers)]
    (tmp_path / "raw.csv").write_text("\n".join(["nr,weight,age", *lines, ""]))
    assert smc("plan", "--data", str(tmp_path / "raw.csv"), "--out", str(tmp_path / "plan.toml")) == 0
    plan = tomllib.loads((tmp_path / "plan.toml").read_text())["columns"]
    assert plan["nr"] == {"role": "identifier"}
    assert [plan[name]["role"] for name in ("weight", "age")] == ["quasi-identifier"] * 2
    assert "nr: 300 whole numbers, 0 to 299, seem to number rows: an identifier" in capsys.readouterr().out


def test_rows_are_not_written_as_a_spreadsheet(tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "plan.toml").write_text('source = "raw.csv"\n[columns.a]\nrole = "quasi-identifier"\n')
    out = tmp_path / "out.xlsx"
    assert smc("mask", "--plan", str(tmp_path / "plan.toml"), "--out", str(out)) == 2
    assert "out.xlsx: spreadsheets are not written; name a file in .csv" in capsys.readouterr().err
    assert not out.exists()
