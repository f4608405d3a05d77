"""A table of the node is prepared on its page: looked at, overruled, downloaded, written."""

from __future__ import annotations

import html
import re
from pathlib import Path

import duckdb
import pytest
from starlette.testclient import TestClient

from parties.alone.preparing.overruling import Wish, overruled
from parties.alone.preparing.profile import profile
from parties.alone.preparing.proposing import propose
from parties.base.address import Address
from parties.cli import run
from parties.sources.settings import PlaceSettings, TableSettings
from parties.tables import schema as schemas
from parties.web import own_tables
from parties.web.app import make_app
from parties.web.login import Logins
from parties.web.own_tables import OwnTables
from parties.web.server import WebServer
from smc.errors import InputError
from tests.support.chromium import chromium
from tests.support.fake_node import ORIGIN, FakeNode

pytest.importorskip("ibis")


@pytest.fixture
def table(tmp_path: Path) -> TableSettings:
    rows = [f"{20 + i % 60};{'yes' if i % 3 else 'no'};{i % 7},5;{'' if i % 5 == 0 else 'a'}" for i in range(200)]
    (tmp_path / "raw.csv").write_text("\n".join(["age;outcome;dose;ward", *rows]) + "\n")
    (tmp_path / "schema.toml").write_text('[attributes]\noutcome = ["no", "yes"]\n')
    return TableSettings.model_validate({"source": str(tmp_path / "raw.csv"), "schema": str(tmp_path / "schema.toml")})


class Page:
    """A signed-in client of the page of a node with this table."""

    def __init__(self, table: TableSettings) -> None:
        self.node, logins = FakeNode(), Logins()
        self.client = TestClient(make_app(self.node, logins, tables=OwnTables({"patients": table})), ORIGIN)
        self.client.get(logins.link(ORIGIN))
        self.token = self.client.get("/propose?kind=id3").text.split('name="form_token" value="')[1].split('"')[0]

    def post(self, action: str, **fields: str) -> tuple[int, str]:
        data = {"form_token": self.token, "target": "outcome", "action": action, **fields}
        answer = self.client.post("/tables/patients/prepare", data=data, headers={"Origin": ORIGIN})
        return answer.status_code, html.unescape(answer.text)


def test_it_shows_what_prepare_shows(table: TableSettings) -> None:
    page = html.unescape(Page(table).client.get("/tables/patients/prepare?target=outcome").text)
    for column in propose(profile(PlaceSettings(source=table.source), "outcome"), "outcome").columns:
        assert column.holds in page
    assert "200 rows, 4 columns" in page
    assert "40 rows without a value" in page
    assert "The schema tells the peer" in page


def several_readings(table: TableSettings) -> None:
    days = [
        f"{i % 12 + 1:02}/{i % 5 + 1:02}/2024;{i % 9 + 1},{i % 10}00;{'yes' if i % 3 else 'no'}" for i in range(200)
    ]
    Path(table.source).write_text("\n".join(["booked;amount;outcome", *days]) + "\n")


def options(page: str) -> dict[str, str]:
    """The fields of a page that chooses a reading: the hidden ones, and the value of each option by its name."""
    found = re.findall(r'<input type="(hidden|radio)" name="(reading:\d+)" value="([^"]*)"', page)
    return {value if kind == "radio" else name: value if kind == "hidden" else name for kind, name, value in found}


def test_several_readings_are_asked_for_as_at_the_terminal(table: TableSettings, tmp_path: Path) -> None:
    several_readings(table)
    client = Page(table).client
    first = client.get("/tables/patients/prepare?target=outcome")
    text = html.unescape(first.text)
    assert first.status_code == 200
    assert "column 'booked'</bdi> can be read in 2 ways" in text
    assert re.search(r"day-first: <bdi>'(\d\d)/(\d\d)/2024' is 2024-\2-\1", text), "cells of the file are the examples"
    assert "Download" not in text
    assert options(text) == {"booked=day-first": "reading:0", "booked=month-first": "reading:0"}
    query = {"target": "outcome", "reading:0": "booked=month-first"}
    second = html.unescape(client.get("/tables/patients/prepare", params=query).text)
    assert "column 'amount'</bdi> can be read in 2 ways" in second
    assert options(second)["reading:0"] == "booked=month-first"
    chosen = {"reading:0": "booked=month-first", "reading:1": "amount=decimal-comma"}
    shown = html.unescape(client.get("/tables/patients/prepare", params={"target": "outcome", **chosen}).text)
    assert shown.count('value="amount=decimal-comma"') == 2, "both forms keep it: another target, and the files"
    assert "Chosen: " in shown
    other = {"target": "outcome", **chosen, "reading:1": "amount=decimal-point"}
    assert "read as decimal-point" in client.get("/tables/patients/prepare", params=other).text
    page = Page(table)
    for what in ("schema", "mapping"):
        code, text = page.post(what, **chosen)
        assert code == 200, text
        (tmp_path / f"{what}.got").write_text(text)
    flags = [word for reading in chosen.values() for word in ("--reading", reading)]
    command = ["prepare", table.source, "--table", "patients", "--target", "outcome", "--out", str(tmp_path / "out")]
    assert run([*command, *flags]) == 0
    assert (tmp_path / "schema.got").read_text() == (tmp_path / "out" / "schema.toml").read_text()
    assert (tmp_path / "mapping.got").read_text() in (tmp_path / "out" / "party.toml").read_text()


def test_nothing_is_written_before_all_readings_are_chosen(table: TableSettings) -> None:
    several_readings(table)
    page = Page(table)
    for fields in ({}, {"reading:0": "booked=day-first"}):
        code, text = page.post("write", **fields)
        assert (code, "Which is right?" in text) == (400, True)
    assert not (Path(table.source).parent / "patients-schema.toml").exists()
    for reading, said in {
        "booked": "write COLUMN=READING",
        "booked=backwards": "the reading is not one of",
        "nobody=day-first": "there is no column 'nobody'",
        "booked=decimal-comma": "'decimal-comma' does not fit all cells",
    }.items():
        answer = page.client.get("/tables/patients/prepare", params={"reading:0": reading})
        assert (answer.status_code, said in html.unescape(answer.text)) == (400, True), reading
    quality = OwnTables({"patients": table}).quality("patients")
    assert quality is not None
    assert (quality.rows, quality.columns) == (200, 3)


def test_what_is_overruled_is_in_the_files(table: TableSettings, tmp_path: Path) -> None:
    page = Page(table)
    wishes = {"type:0": "integer", "low:0": "0", "high:0": "120", "width:0": "20", "type:2": "out"}
    code, text = page.post("schema", **wishes)
    assert code == 200
    (tmp_path / "got.toml").write_text(text)
    known = schemas.load(tmp_path / "got.toml")
    assert "dose" not in known.attributes
    assert known.attributes["age"][:2] == ("under 20", "20 to 39")
    assert known.target == "outcome"
    code, lines = page.post("mapping", **wishes)
    assert (code, "separator" in lines, "[tables.patients.format]" in lines) == (200, True, True)
    code, text = page.post("write", **wishes)
    assert (code, "Written: " in text) == (200, True)
    assert schemas.load(tmp_path / "patients-schema.toml").digest() == known.digest()
    assert (tmp_path / "patients-mapping.toml").read_text() == lines


def test_files_are_replaced_only_when_that_is_ticked(table: TableSettings, tmp_path: Path) -> None:
    page = Page(table)
    (tmp_path / "patients-mapping.toml").write_text("mine")
    code, text = page.post("write")
    assert (code, "exists already" in text) == (400, True)
    assert (tmp_path / "patients-mapping.toml").read_text() == "mine"
    assert not (tmp_path / "patients-schema.toml").exists(), "neither is written"
    assert page.post("write", replace="yes")[0] == 200
    assert (tmp_path / "patients-mapping.toml").read_text() != "mine"
    assert (tmp_path / "schema.toml").read_text() == '[attributes]\noutcome = ["no", "yes"]\n'


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"type:0": "integer", "low:0": "many"}, "age: low must be a number, not 'many'"),
        ({"type:3": "real"}, "ward: low is missing: public bounds are never taken from the rows"),
        ({"low:1": "1"}, "outcome: low: does not apply to this type"),
        ({"type:3": "date"}, "ward: low is missing: public bounds are never taken from the rows"),
        ({"type:3": "date", "low:3": "1.5.2020", "high:3": "2021-01-01"}, "ward: low must be a day such as"),
        ({"type:3": "time", "width:3": "13"}, "ward: width: must be 1 to 12 hours, not 13"),
        ({"type:3": "age", "width:3": "some"}, "ward: width must be a number of years"),
        ({"type:3": "flag", "values:3": "a"}, "ward: values: does not apply to this type"),
        ({"type:1": "out"}, "outcome: the target cannot be left out"),
        ({"type:0": "integer", "low:0": "9", "high:0": "3"}, "age: "),
        ({"type:0": "../../etc"}, "there is no type"),
        ({"form_token": "x"}, "before you signed in"),
    ],
)
def test_what_cannot_be_is_said_and_nothing_is_written(
    table: TableSettings, tmp_path: Path, fields: dict[str, str], said: str
) -> None:
    before = sorted(tmp_path.iterdir())
    code, text = Page(table).post("write", **fields)
    assert (code, said in text) == (400, True)
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("name", ["nobody", "..%2F..%2Fetc%2Fpasswd", "%2Fetc%2Fpasswd"])
def test_only_tables_of_the_party_file_are_looked_at(table: TableSettings, name: str) -> None:
    assert Page(table).client.get(f"/tables/{name}/prepare").status_code == 404


def test_a_name_makes_no_path(table: TableSettings, tmp_path: Path) -> None:
    names = OwnTables({"../up/x": table}).write("../up/x", {"schema": "a"}, False)
    assert names == ["_up_x-schema.toml"]
    assert (tmp_path / "_up_x-schema.toml").read_text() == "a"
    used = OwnTables({"t": table.model_copy(update={"schema_file": tmp_path / "t-schema.toml"})})
    with pytest.raises(InputError, match="is the schema in use"):
        used.write("t", {"schema": "a"}, True)


@pytest.mark.parametrize(
    ("wish", "labels"),
    [
        ({"type": "category"}, ("0,5", "1,5", "2,5", "3,5", "4,5", "5,5", "6,5")),
        ({"type": "category", "values": "0,5"}, ("0", "5")),
        ({"type": "flag"}, ("yes", "no")),
        ({"type": "integer", "low": "0", "high": "8", "width": "4"}, ("under 4", "4 to 7", "8 and over")),
        ({"type": "real", "low": "0", "high": "8", "width": "4"}, ("under 4", "4 to under 8", "8 and over")),
        ({"type": "date", "low": "2020-01-01", "high": "2021-12-31", "width": "year"}, ("2020", "2021")),
        ({"type": "age", "low": "2024-01-01", "width": "60"}, ("under 60", "60 to 119", "120 and over")),
        ({"type": "age"}, ("under 18", "18 to 39", "40 to 64", "65 to 79", "80 and over")),
        ({"type": "time", "width": "12"}, ("before 12:00", "12:00 and after")),
        ({"type": "key"}, None),
        ({"type": "text"}, None),
    ],
)
def test_all_types_of_a_schema(
    table: TableSettings, tmp_path: Path, wish: dict[str, str], labels: tuple[str, ...] | None
) -> None:
    code, text = Page(table).post("schema", **{f"{field}:2": value for field, value in wish.items()})
    assert code == 200, text
    (tmp_path / "got.toml").write_text(text)
    schema = schemas.load(tmp_path / "got.toml")
    if labels is None:
        assert ("dose" in schema.keys, "dose" in schema.attributes) == (wish["type"] == "key", False)
    else:
        assert tuple(schema.attributes["dose"]) == labels


def test_what_is_read_otherwise_is_mapped_anew_and_what_cannot_be_is_said(table: TableSettings) -> None:
    before = propose(looked := profile(PlaceSettings(source=table.source), "outcome"), "outcome")
    after = overruled(looked, before, {"ward": Wish("date", "2020-01-01", "2021-01-01")})
    column = next(column for column in after.columns if column.name == "ward")
    assert "the schema has type date, but the column holds text, 1 values" in column.remarks
    assert "?" in column.domain if column.domain else False


def test_a_query_is_looked_at_as_it_chooses_its_rows(table: TableSettings, tmp_path: Path) -> None:
    text = "SELECT CAST(age AS INT) AS age, outcome FROM raw"
    chosen = {"query": text, "files": {"raw": table.source}, "where": "outcome = 'yes' OR age < 30"}
    node = TableSettings.model_validate({**chosen, "schema": str(table.schema_file)})
    page = Page(node)
    shown = html.unescape(page.client.get("/tables/patients/prepare").text)
    rows = sum(1 for i in range(200) if i % 3 or i % 60 < 10)
    assert f"{rows} rows, 2 columns" in shown
    assert page.post("write", target="")[0] == 200
    assert schemas.load(tmp_path / "patients-schema.toml").attributes["outcome"] == ("no", "yes")


def test_a_database_is_looked_at_and_an_absent_one_is_a_line(table: TableSettings, tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "rows.duckdb")) as base:
        base.execute("CREATE TABLE visits AS SELECT i AS age, i % 2 = 0 AS late FROM range(100) t(i)")
    held = {"source": str(tmp_path / "rows.duckdb"), "table": "visits"}
    assert "100 rows, 2 columns" in Page(table.model_copy(update=held)).client.get("/tables/patients/prepare").text
    page = Page(table.model_copy(update={"source": "postgresql://me:sesame@127.0.0.1:1/x", "table": "t"}))
    answer = page.client.get("/tables/patients/prepare")
    assert (answer.status_code, "sesame" in answer.text) == (400, False)


def test_own_rows_stand_beside_the_form(table: TableSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    page = Page(table)
    text = page.client.get("/propose?kind=id3&table=patients").text
    assert "200 rows, 4 columns; without a value: <bdi>ward</bdi> in 20.0 %." in text
    monkeypatch.setattr(own_tables, "AT_ONCE", 10)
    assert "Look at its rows" in Page(table).client.get("/propose?kind=id3&table=patients").text


def test_nothing_overruled_is_the_proposal(table: TableSettings) -> None:
    before = propose(looked := profile(PlaceSettings(source=table.source), "outcome"), "outcome")
    assert overruled(looked, before, {"age": Wish()}).schema.digest() == before.schema.digest()


@pytest.mark.slow
def test_its_fields_are_as_wide_as_a_phone(table: TableSettings) -> None:
    logins = Logins()
    server = WebServer(Address("127.0.0.1", 0), make_app(FakeNode(), logins, tables=OwnTables({"patients": table})))
    server.start()
    try:
        with chromium() as browser:
            page = browser.new_page(viewport={"width": 390, "height": 844})
            page.goto(logins.link(origin := f"http://{server.address}"))
            page.goto(f"{origin}/tables/patients/prepare?target=outcome")
            assert page.evaluate("document.documentElement.scrollWidth") == 390
            kind, values = (page.locator(f"[name='{name}:0']").bounding_box() for name in ("type", "values"))
            assert (values["x"], values["width"]) == pytest.approx((kind["x"], kind["width"]), abs=1)
            low, high = (page.locator(f"[name='{name}:0']").bounding_box() for name in ("low", "width"))
            assert low["y"] == high["y"]
            assert high["x"] + high["width"] <= values["x"] + values["width"] + 1
    finally:
        server.stop()


@pytest.mark.slow
def test_the_page_that_asks_for_readings_has_no_fault_of_accessibility(table: TableSettings) -> None:
    """By axe-core, on the way from the first question to the proposal."""
    several_readings(table)
    axe = (Path(__file__).parents[2] / "vectors" / "axe-4.14.1.min.js").read_text("utf-8")
    logins = Logins()
    server = WebServer(Address("127.0.0.1", 0), make_app(FakeNode(), logins, tables=OwnTables({"patients": table})))
    server.start()
    try:
        with chromium() as browser:
            page = browser.new_page(viewport={"width": 320, "height": 800})
            page.goto(logins.link(origin := f"http://{server.address}"))
            page.goto(f"{origin}/tables/patients/prepare?target=outcome")
            for choice in ("month-first", "decimal-comma", ""):
                page.evaluate(axe)
                found = page.evaluate("axe.run({resultTypes: ['violations']}).then(({violations}) => violations)")
                assert found == [], choice
                assert page.evaluate("document.documentElement.scrollWidth") == 320
                if choice:
                    assert page.get_by_role("radio").first.bounding_box()["width"] < 40, "beside its text"
                    page.get_by_label(choice).check()
                    page.get_by_role("button", name="Go on").click()
            assert "Chosen: booked=month-first, amount=decimal-comma." in page.inner_text("main")
    finally:
        server.stop()


def test_both_schemas_stand_side_by_side(table: TableSettings, tmp_path: Path) -> None:
    theirs = '[attributes]\noutcome = ["bad", "good"]\nAge = { type = "integer", low = 0, high = 99, width = 20 }\n'
    theirs += 'ward = ["a", "?"]\nstage = { type = "date", low = 2020-01-01, high = 2024-12-31 }\n'
    page = Page(table)
    code, text = page.post("compare", theirs=theirs)
    assert code == 200, text
    assert _states(text) == [
        "outcome|outcome|values differ",
        "age|Age|proposed pair",
        "ward|ward|same",
        "|stage|only theirs",
        "dose||only ours",
    ]
    assert "'no', 'yes': not in the schema" in text
    assert theirs in text
    code, mapping = page.post("fitted", theirs=theirs)
    (tmp_path / "theirs.toml").write_text(theirs)
    command = ["prepare", table.source, "--table", "patients", "--schema", str(tmp_path / "theirs.toml")]
    assert run([*command, "--out", str(tmp_path / "out")]) == 0
    assert mapping in (tmp_path / "out" / "party.toml").read_text(), "as the command writes it"
    assert "outcome|outcome|same" in _states(page.post("compare")[1]), "the table's own schema file"
    code, text = page.post("compare", theirs='[attributes]\noutcome = "yes"\n')
    assert (code, "the peer's schema: attributes.outcome: must be a list" in text) == (400, True)


def _states(text: str) -> list[str]:
    """The rows of the comparison: our column, theirs, and their state."""
    cells = re.findall(r'data-label="(?:ours|theirs)"><bdi>(.*?)</bdi>|data-label="state">([^<]*[^<\s])', text)
    return ["|".join(map("".join, cells[i : i + 3])) for i in range(0, len(cells), 3)]
