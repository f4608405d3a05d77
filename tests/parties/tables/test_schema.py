from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.cli import run
from parties.sources.cells import cells, load
from parties.tables import schema
from parties.tables.schema import Schema
from smc.errors import InputError

LETTERS = st.characters(exclude_categories=("Cc", "Cs", "Zl", "Zp", "Zs"), exclude_characters="\ufffe\uffff")
WORDS = st.text(LETTERS, min_size=1, max_size=8)


def write(directory: Path, text: str, name: str = "schema.toml") -> Path:
    path = directory / name
    path.write_text(text, encoding="utf-8")
    return path


def test_order_is_kept_and_numbers_become_text(tmp_path: Path) -> None:
    text = '[attributes]\nz = ["b", "a"]\n"odd name" = [3, 20, "5more"]\nonly = ["x"]\n'
    loaded = schema.load(write(tmp_path, text))
    assert list(loaded.attributes.items()) == [("z", ("b", "a")), ("odd name", ("3", "20", "5more")), ("only", ("x",))]
    assert loaded.target is None
    assert loaded.features("odd name") == ("z", "only")


def test_the_target_alone_is_a_schema(tmp_path: Path) -> None:
    loaded = schema.load(write(tmp_path, 'target = "c"\n[attributes]\nc = ["x", "y"]\n'))
    assert loaded.choose_target() == "c"
    assert loaded.features("c") == ()


def test_the_flag_wins_over_the_file() -> None:
    agreed = Schema({"outlook": ("a",), "play": ("b",)}, "play")
    assert agreed.choose_target("outlook") == "outlook"
    assert agreed.choose_target(None) == "play"
    with pytest.raises(InputError, match=r"target 'Outlok' is not an attribute .*did you mean 'outlook'"):
        agreed.choose_target("Outlok")
    with pytest.raises(InputError, match="no target: give --target"):
        Schema({"outlook": ("a",)}).choose_target()


def test_the_digest_is_the_hash_of_the_canonical_json() -> None:
    agreed = Schema({"b": ("ü", "x"), "a": ("1",)}, "a")
    text = '{"attributes":[{"name":"b","values":["\\u00fc","x"]},{"name":"a","values":["1"]}]}'
    assert agreed.digest() == hashlib.sha256(text.encode()).hexdigest()
    assert json.loads(json.dumps(agreed.public())) == json.loads(text)


def test_the_digest_sees_every_order_but_not_where_the_target_stands() -> None:
    base = Schema({"a": ("1", "2"), "b": ("x",)})
    others = [
        Schema({"b": ("x",), "a": ("1", "2")}),
        Schema({"a": ("2", "1"), "b": ("x",)}),
        Schema({"a": ("1", "2"), "b": ("X",)}),
        Schema({"a": ("1", "2")}),
        Schema({"a": ("12",), "b": ("x",)}),
    ]
    assert len({base.digest(), *(other.digest() for other in others)}) == 6
    assert Schema(base.attributes, "a").digest() == base.digest()


@given(st.dictionaries(WORDS, st.lists(WORDS, min_size=1, max_size=4, unique=True), min_size=1, max_size=5))
def test_what_is_saved_is_loaded(tmp_path_factory: pytest.TempPathFactory, table: dict[str, list[str]]) -> None:
    path = tmp_path_factory.mktemp("schema") / "schema.toml"
    saved = Schema({name: tuple(values) for name, values in table.items()}, next(iter(table)))
    saved.save(path)
    loaded = schema.load(path)
    assert (loaded.public(), loaded.target) == (saved.public(), saved.target)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "attributes: must be a table of at least one attribute with its values"),
        ("attributes = 3", "attributes: must be a table of at least one attribute with its values"),
        ("[attributes]", "attributes: must be a table of at least one attribute with its values"),
        ("[attributes]\na = []", "attributes.a: must be a list of at least one value, or a table with a type"),
        ("[attributes]\na = 'x'", "attributes.a: must be a list of at least one value, or a table with a type"),
        (
            "[attributes]\na.b = ['x']",
            "attributes.a: type: is missing (values are a list); "
            "there are 'category', 'flag', 'integer', 'real', 'date', 'time', 'key'",
        ),
        ("[attributes]\na = ['x', 'y', 'x']", "attributes.a: the value 'x' is listed twice; remove one"),
        ("[attributes]\na = [1, '1']", "attributes.a: the value '1' is listed twice; remove one"),
        ("[attributes]\na = [1.5]", "attributes.a: 1.5 must be in quotes, spelled as in the data"),
        ("[attributes]\na = [true]", "attributes.a: True must be in quotes, spelled as in the data"),
        ("[attributes]\na = ['']", "attributes.a: the value '' is empty (a missing value is written '?')"),
        ("[attributes]\na = [' x']", "attributes.a: the value ' x' has space around it"),
        ('[attributes]\na = ["x\\ny"]', r"attributes.a: the value 'x\ny' contains a control character"),
        ("[attributes]\n' a' = ['x']", "attributes: the name ' a' has space around it"),
        ("[attributes]\n'' = ['x']", "attributes: the name '' is empty (a missing value is written '?')"),
        ("target = 'B'\n[attributes]\nb = ['x']", "target: 'B' is not an attribute (did you mean 'b'?); there are 'b'"),
        ("target = 'zzz'\n[attributes]\nb = ['x']", "target: 'zzz' is not an attribute; there are 'b'"),
        ("target = 1\n[attributes]\nb = ['x']", "target: must be the name of an attribute, in quotes"),
        ("[atributes]\nb = ['x']", "unknown key 'atributes' (did you mean 'attributes'?)"),
    ],
)
def test_a_bad_schema_is_one_line_with_file_and_key(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(InputError) as caught:
        schema.load(path)
    assert str(caught.value) == f"{path}: {message}"


def test_unreadable_schemas(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"schema\.toml: not valid TOML: .*line 3"):
        schema.load(write(tmp_path, "[attributes]\na = [[\n]x"))
    with pytest.raises(InputError, match="there is no such file"):
        schema.load(tmp_path / "none")
    with pytest.raises(InputError, match="it is a directory"):
        schema.load(tmp_path)
    with pytest.raises(InputError, match="cannot write"):
        Schema({"a": ("x",)}).save(tmp_path / "none" / "schema.toml")


def test_a_proposal_lists_what_occurs(tmp_path: Path) -> None:
    text = "doors, colour ,play,,only\n10,red,yes,7,c\n9,,no,8,c\n2, blue,yes,,c\n10,?,no,1,c\n"
    path = write(tmp_path, text, "x.csv")
    proposal = schema.propose(cells(path), "play")
    assert list(proposal.schema.attributes.items()) == [
        ("doors", ("2", "9", "10")),
        ("colour", ("blue", "red", "?")),
        ("play", ("no", "yes")),
        ("only", ("c",)),
    ]
    assert (proposal.schema.target, proposal.notes) == ("play", ("left out columns without a name: 1",))
    proposal.schema.save(tmp_path / "schema.toml")
    loaded = schema.load(tmp_path / "schema.toml")
    assert loaded.digest() == proposal.schema.digest()
    assert load(path, loaded, "play", 4).rows.tolist() == [[2, 1, 0], [1, 2, 0], [0, 0, 0], [2, 2, 0]]


def test_a_proposal_does_not_depend_on_the_order_of_rows(tmp_path: Path) -> None:
    rows = ["b,1", "a,02", "a,2", "?,x"]
    one = schema.propose(cells(write(tmp_path, "p,q\n" + "\n".join(rows), "1.csv")))
    two = schema.propose(cells(write(tmp_path, "p,q\n" + "\n".join(reversed(rows)), "2.csv")))
    assert one.schema.digest() == two.schema.digest()


def test_columns_that_cannot_be_attributes_are_left_out_with_a_note(tmp_path: Path) -> None:
    rows = "".join(f'{i},{i % 64},"a\nb",y\n' for i in range(65))
    path = write(tmp_path, "id,bin,text,play\n" + rows, "x.csv")
    proposal = schema.propose(cells(path), "play")
    assert list(proposal.schema.attributes) == ["bin", "play"]
    assert [note.split(":")[0] for note in proposal.notes] == ["left out column 'id'", "left out column 'text'"]
    assert "65 different values, more than 64" in proposal.notes[0]
    assert list(schema.propose(cells(path), exclude=["id", "text"], limit=65).schema.attributes) == ["bin", "play"]
    assert schema.propose(cells(path), exclude=["id", "text"]).notes == ()
    assert list(schema.propose(cells(path), "id", limit=65).schema.attributes) == ["id", "bin", "play"]
    with pytest.raises(InputError, match=r"column 'id' cannot be the target: it has 65 different values"):
        schema.propose(cells(path), "id")


def test_a_missing_class_is_told(tmp_path: Path) -> None:
    proposal = schema.propose(cells(write(tmp_path, "a,play\n1,yes\n2,\n3,?\n", "x.csv")), "play")
    assert proposal.schema.attributes["play"] == ("yes", "?")
    assert proposal.notes == ("target 'play' is missing in 2 rows: '?' is a class of its own",)


def test_numbers_between_public_bounds_are_all_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = write(tmp_path, "age,play\n19,yes\n?,no\n", "x.csv"), tmp_path / "schema.toml"
    command = ["schema", "--data", str(path), "--target", "play", "--out", str(out), "--numeric"]
    for wrong, message in [
        ("age=20:30", "x.csv, column 'age': '19' is no whole number from 20 to 30"),
        ("aeg=0:120", "there is no column 'aeg' (did you mean 'age'?)"),
        *((text, "must be COLUMN=LOW:HIGH with LOW < HIGH") for text in ("age", "age=3", "age=3:3", "age=0:10001")),
    ]:
        assert run([*command, wrong]) == 2
        assert message in capsys.readouterr().err
        assert not out.exists()
    assert run([*command, "age=-1:120"]) == 0
    assert schema.load(out).attributes == {"age": (*map(str, range(-1, 121)), "?"), "play": ("no", "yes")}


def test_proposals_that_make_no_sense(tmp_path: Path) -> None:
    path = write(tmp_path, "a,play\n1,yes\n", "x.csv")
    for arguments, message in [
        ({"target": "Play"}, r"x\.csv: there is no column 'Play' \(did you mean 'play'\?\)"),
        ({"exclude": ["b"]}, "there is no column 'b'"),
        ({"target": "a", "exclude": ["a"]}, "column 'a' cannot be the target and be left out"),
        ({"exclude": ["a", "play"]}, "no remaining column"),
    ]:
        with pytest.raises(InputError, match=message):
            schema.propose(cells(path), **arguments)  # type: ignore[arg-type]
    empty = schema.propose(cells(write(tmp_path, "a,play\n", "empty.csv")), "play")
    assert empty.schema.attributes == {"a": ("?",), "play": ("?",)}


def test_generated_schema_is_plain_toml(tmp_path: Path) -> None:
    Schema({"a b": ('q"', "é")}, "a b").save(tmp_path / "s.toml")
    text = (tmp_path / "s.toml").read_text(encoding="utf-8")
    assert tomllib.loads(text) == {"target": "a b", "attributes": {"a b": ['q"', "é"]}}


def test_proposed_numbers_are_ordered_by_size(tmp_path: Path) -> None:
    path = write(tmp_path, "n\n10\n-1\n9.5\n?\n-10\n+2\nnan\n1e9\n٣\n", "x.csv")
    assert schema.propose(cells(path)).schema.attributes["n"] == (
        "-10",
        "-1",
        "+2",
        "9.5",
        "10",
        "1e9",
        "nan",
        "٣",
        "?",
    )
