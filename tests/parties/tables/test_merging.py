"""The union of two proposals: one for both parties, with both parties' values, and disagreements named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from parties.cli import run
from parties.tables import schema
from parties.tables.merging import merge, merge_all, side_by_side
from parties.tables.schema import Schema
from parties.tables.types import CategoryType, Domain, FlagType, IntegerType
from smc.errors import InputError

OURS = Schema({"sex": ("female", "male"), "age": ("9", "10", "?"), "id": ("1",), "play": ("yes", "no")}, "play")
THEIRS = Schema({"sex": ("Male", "female"), "age": ("8", "9", "30"), "zip": ("7",), "play": ("yes", "no")})


def test_both_parties_get_all_values_and_hear_of_what_differs() -> None:
    ours, theirs = merge(OURS, THEIRS), merge(THEIRS, OURS)
    assert ours.schema.attributes == {
        "sex": ("Male", "female", "male"),
        "age": ("8", "9", "10", "30", "?"),
        "play": ("yes", "no"),  # an order that nobody contradicts: it decides between equally frequent classes
    }
    assert ours.schema.digest() == theirs.schema.digest()
    assert ours.schema.target == theirs.schema.target == "play"
    assert tuple(note.text for note in ours.notes) == (
        "left out column 'id': only ours lists it",
        "left out column 'zip': only theirs lists it",
        "if two columns left out are one, one party runs smc prepare RAW --schema FILE, with the other's schema",
        "column 'sex': only ours has 'male'",
        "column 'sex': only theirs has 'Male'",
        "column 'sex': 'male' (ours) and 'Male' (theirs) differ in capitals only: is it one value?",
        "column 'age': only ours has '10', '?'",
        "column 'age': only theirs has '8', '30'",
    )


def test_orders_that_contradict_each_other_are_sorted_and_named() -> None:
    found = merge(Schema({"b": ("y", "x"), "a": ("1",)}), Schema({"a": ("1",), "b": ("x", "y")}))
    assert list(found.schema.attributes.items()) == [("a", ("1",)), ("b", ("x", "y"))]
    assert tuple(note.text for note in found.notes) == (
        "the columns stand in another order in theirs: they are sorted by name",
        "column 'b': the values stand in another order in theirs: they are sorted",
    )


def test_what_many_columns_share_is_a_line() -> None:
    """Columns of numbers whose bounds all differ, as those of two tables do."""

    def of(high: int) -> Schema:
        return Schema({f"c{i}": Domain(IntegerType(low=0, high=high + i, edges=(5,))) for i in range(60)})

    merged = merge(of(10), of(20))
    assert len(merged.notes) == 60
    names = ", ".join(f"'c{i}'" for i in range(8))
    assert list(merged.summary()) == [f"bounds differ: the wider ones are taken: columns {names}, … (60 in all)"]


def test_a_value_of_one_that_stands_for_the_rest_in_the_other() -> None:
    """Both have `other`: one as a value, one as the label of all else. It is one category."""
    one = Schema({"c": Domain(CategoryType(values=("a", "other")))})
    two = Schema({"c": Domain(CategoryType(values=("a", "b"), other="other"))})
    assert {tuple(merge(*pair).schema.attributes["c"]) for pair in ((one, two), (two, one))} == {("a", "b", "other")}


def test_what_cannot_be_merged() -> None:
    other = Schema(THEIRS.attributes, "sex")
    with pytest.raises(InputError, match="the targets differ: 'play' is ours, 'sex' theirs; agree on one"):
        merge(OURS, other)
    assert merge(OURS, other, "age").schema.target == "age"
    with pytest.raises(InputError, match="'id' is not an attribute of the schema; there are 'sex', 'age', 'play'"):
        merge(OURS, THEIRS, "id")
    with pytest.raises(InputError, match="no column in common"):
        merge(OURS, Schema({"zip": ("7",)}))


def test_names_that_differ_in_capitals_only_are_told_with_what_to_do() -> None:
    """And the merged schema stays the same at both parties."""
    ours = Schema({"Length": ("1",), "play": ("no", "yes"), "Sex": ("F", "M"), "own": ("1",)}, "play")
    theirs = Schema({"LENGTH": ("2",), "play": ("no", "yes"), "sex": ("F", "M")}, "play")
    one, other = merge(ours, theirs), merge(theirs, ours)
    assert one.schema.digest() == other.schema.digest()
    assert [*one.schema.attributes] == ["play"]
    way = "if they are one, one party prepares anew, by smc prepare RAW --schema FILE --out DIR --force, where FILE is"
    pairs = "'Length' (ours) and 'LENGTH' (theirs), 'Sex' (ours) and 'sex' (theirs) differ in capitals only"
    assert [*one.summary()][-1] == f"{pairs}: {way} the other's schema"
    for target in (None, "Sex", "sex"):
        with pytest.raises(
            InputError, match=r"^the two targets .*: 'Sex' \(ours\) and 'sex' \(theirs\) differ .* --force"
        ):
            merge(ours if target else Schema(ours.attributes, "Sex"), Schema(theirs.attributes, "sex"), target)
    with pytest.raises(InputError, match=r"no column in common: ours has 'Sex'; 'Sex' .* --force"):
        merge(Schema({"Sex": ("F",)}), Schema({"sex": ("F",)}))


VALUES = st.lists(st.sampled_from("abcdef"), min_size=1, unique=True).map(tuple)
SCHEMAS = st.dictionaries(st.sampled_from("xyz"), VALUES, min_size=1).map(lambda found: Schema({"t": ("0",), **found}))


@given(SCHEMAS, SCHEMAS)
def test_whoever_merges_it_is_one_schema(one: Schema, other: Schema) -> None:
    found = merge(one, other).schema
    assert found.digest() == merge(other, one).schema.digest()
    for name, values in found.attributes.items():
        assert set(values) == {*one.attributes[name], *other.attributes[name]}
        assert len(set(values)) == len(values)
    assert merge(found, found).schema.digest() == found.digest()


@example([Schema({"x": tuple(order)}) for order in ("ba", "ab", "cb")], None)  # merging depends on the order
@given(st.lists(SCHEMAS, min_size=2, max_size=5), st.sampled_from([None, "t"]))
def test_any_number_of_parties_get_one_schema(proposals: list[Schema], target: str | None) -> None:
    found: list[Schema | None] = []
    for index, ours in enumerate(proposals):
        others = {f"{at}.toml": other for at, other in enumerate(proposals) if at != index}
        try:
            found.append(merge_all(ours, others, target).schema)
        except InputError:
            found.append(None)
    common = set.intersection(*(set(schema.attributes) for schema in proposals))
    assert len({merged and merged.digest() for merged in found}) == 1 or not common
    if (merged := found[0]) is not None:
        assert set(merged.attributes) == common
        for name, values in merged.attributes.items():
            assert set(values) == {value for schema in proposals for value in schema.attributes[name]}


def test_what_differs_names_the_other_party() -> None:
    third = Schema({"sex": ("female", "male"), "age": Domain(FlagType()), "play": ("yes", "no")})
    merged = merge_all(OURS, {"bert.toml": THEIRS, "cleo.toml": third})
    assert list(merged.schema.attributes) == ["sex", "play"]
    texts = [note.text for note in merged.notes]
    assert "bert.toml: column 'sex': only theirs has 'Male'" in texts
    assert any(text.startswith("cleo.toml: left out column 'age': ") for text in texts)
    with pytest.raises(InputError, match=r"cleo.toml: the schemas have no column in common"):
        merge_all(OURS, {"bert.toml": THEIRS, "cleo.toml": Schema({"other": ("1",)})})


def test_two_others_that_contradict_each_other_are_named() -> None:
    words, dates = (Schema({"a": Domain(kind), "b": ("x",)}) for kind in (CategoryType(values=("x",)), FlagType()))
    ours = Schema({"a": ("?",), "b": ("x",)})
    merged = merge_all(ours, {"bert.toml": words, "cleo.toml": dates})
    assert list(merged.schema.attributes) == ["b"]
    assert [note.text for note in merged.notes if note.column == "a"][-1] == (
        "column 'a': left out, because two other proposals disagree; merge these two to see them"
    )


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text("wind,play\nweak,yes\nstrong,no\n")
    Schema({"wind": ("calm", "weak"), "play": ("no", "yes")}, "play").save(Path("theirs.toml"))
    assert run(["schema", "--data", "mine.csv", "--out", "ours.toml"]) == 0
    capsys.readouterr()
    assert run(["schema", "--data", "mine.csv", "--out", "theirs.toml"]) == 2
    assert "--out: theirs.toml exists already and may have been edited by hand" in capsys.readouterr().err
    for first, second in (("ours", "theirs"), ("theirs", "ours")):
        command = ["schema", "--schema", f"{first}.toml", "--merge", f"{second}.toml", "--out", f"{first}-merged.toml"]
        assert run(command) == 0
    shown = capsys.readouterr()
    assert "column 'wind': only theirs has 'calm'" in shown.err
    one, other = (schema.load(Path(f"{name}-merged.toml")) for name in ("ours", "theirs"))
    assert one.digest() == other.digest()
    assert one.attributes["wind"] == ("calm", "strong", "weak")
    assert run(["schema", "--data", "mine.csv", "--merge", "theirs.toml", "--out", "at-once.toml"]) == 0
    assert schema.load(Path("at-once.toml")).digest() == one.digest()
    all_three = ["schema", "--schema", "ours.toml", "--merge", "theirs.toml", "--merge", "at-once.toml"]
    assert run([*all_three, "--out", "of-three.toml"]) == 0
    assert schema.load(Path("of-three.toml")).digest() == one.digest()
    capsys.readouterr()
    assert run([*all_three, "--merge", "theirs.toml", "--out", "x.toml"]) == 2
    assert "--merge: theirs.toml is listed twice; list one file of each party" in capsys.readouterr().err
    assert run(["schema", "--schema", "ours.toml", "--out", "x.toml"]) == 2
    assert run(["schema", "--out", "x.toml"]) == 2
    assert not Path("x.toml").exists()


def test_the_command_on_typed_proposals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    head = 'target = "out"\n[attributes]\nout = ["no", "yes"]\n'
    Path("ours.toml").write_text(
        head + 'age = { type = "integer", low = 0, high = 60, edges = [20, 40] }\n'
        'kg = { type = "real", low = 40, high = 90, step = 0.1, edges = [50, 70] }\n'
        'seen = { type = "date", low = 2020-01-01, high = 2021-12-31, granularity = "quarter" }\n'
        'at = { type = "time", edges = ["06:00"] }\nill = { type = "flag" }\n'
        'icd = { type = "category", values = ["A1", "B2"], prefix = 2, other = "other" }\nsex = ["f", "m"]\n'
        'zip = ["01"]\n'
    )
    Path("theirs.toml").write_text(
        head + 'age = { type = "integer", low = 18, high = 99, edges = [40, 65], missing = true }\n'
        'kg = { type = "real", low = 30, high = 80, step = 0.5, edges = [60] }\n'
        'seen = { type = "date", low = 2019-01-01, high = 2020-12-31, granularity = "year" }\n'
        'at = { type = "time", edges = ["12:00"] }\nill = { type = "flag" }\n'
        'icd = { type = "category", values = ["C3"], prefix = 2, other = "other" }\nsex = ["d", "m"]\n'
        'zip = { type = "integer", low = 0, high = 99, width = 10 }\n'
    )
    digests = []
    for first, second in (("ours", "theirs"), ("theirs", "ours")):
        command = ["schema", "--schema", f"{first}.toml", "--merge", f"{second}.toml", "--out", f"{first}-merged.toml"]
        assert run(command) == 0
        shown = capsys.readouterr()
        digests.append(shown.out.split()[-1])
        assert "bounds differ: the wider ones are taken: columns 'age', 'kg', 'seen'" in shown.err
        assert "column 'age': high" not in shown.err
        assert "write one type into both schemas, and merge again" in shown.err
    assert digests[0] == digests[1]
    assert Path("ours-merged.toml").read_bytes() == Path("theirs-merged.toml").read_bytes()
    merged = schema.load(Path("ours-merged.toml"))
    assert merged.digest() == digests[0]
    assert "zip" not in merged.attributes
    assert merged.attributes["sex"] == ("d", "f", "m")
    assert tuple(merged.attributes["age"]) == ("under 20", "20 to 39", "40 to 64", "65 and over", "?")
    assert tuple(merged.attributes["at"]) == ("before 06:00", "06:00 to before 12:00", "12:00 and after")
    assert tuple(merged.attributes["seen"]) == ("2019", "2020", "2021")
    command[-1] = "verbose.toml"
    assert run([*command, "--verbose", "--json"]) == 0
    shown = capsys.readouterr()
    notes = json.loads(shown.out)["merging"]
    assert "column 'age': high: ours says 99, theirs 60" in [note["text"] for note in notes]
    assert all(note["text"] in shown.err for note in notes)
    assert json.loads(shown.out)["digest"] == digests[0]
    again = ["schema", "--schema", "ours-merged.toml", "--merge", "theirs-merged.toml", "--out", "again.toml"]
    assert run(again) == 0
    assert Path("again.toml").read_bytes() == Path("ours-merged.toml").read_bytes()


def test_schemas_side_by_side_are_equal_at_both_parties() -> None:
    ours, theirs = Schema({"a": ("1", "2")}), Schema({"b": ("u",), "c": ("v", "w")}, "c")
    joint = side_by_side(ours, theirs)
    assert {*joint.attributes} == {"a", "b", "c"}
    assert joint.target == "c"
    assert joint.digest() == side_by_side(theirs, ours).digest()
    assert [*joint.attributes] == [*side_by_side(theirs, ours).attributes]
    assert side_by_side(ours, theirs, "a").target == "a"


@pytest.mark.parametrize(
    ("theirs", "line"),
    [
        (Schema({"A": ("1",)}), "columns in both schemas: 'a'; leave each out of one schema"),
        (Schema({"b": ("1",)}, "b"), "the schemas have different targets, 'a', 'b'; give --target"),
    ],
)
def test_schemas_that_do_not_go_side_by_side_are_a_line(theirs: Schema, line: str) -> None:
    with pytest.raises(InputError, match=line):
        side_by_side(Schema({"a": ("1", "2")}, "a"), theirs)
