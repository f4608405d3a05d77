"""`smc attack`: what is published by the other commands, attacked; one line for what is wrong."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path
from typing import Any

import pytest

from parties.cli import run

PLAN = """
source = "people.csv"
algorithm = "mondrian"
[columns.id]
role = "identifier"
[columns.age]
role = "quasi-identifier"
ranges = [5, 10, 20]
[columns.zip]
role = "quasi-identifier"
prefixes = [4, 3]
[columns.disease]
role = "sensitive"
[[models]]
model = "k-anonymity"
k = 4
"""
SCHEMA = 'target = "c"\n[attributes]\na = ["x", "y", "z"]\nb = ["x", "y", "z"]\nc = ["n", "y"]\n'


def write(name: str, lines: list[list[Any]]) -> None:
    with Path(name).open("w", newline="") as file:
        csv.writer(file).writerows(lines)


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = random.Random(1)
    people = [[i, rng.randint(18, 90), rng.randint(35000, 35099), rng.choice("abcd")] for i in range(150)]
    header = ["id", "age", "zip", "disease"]
    write("people.csv", [header, *people])
    write("noisy.csv", [header, *([i, age + rng.randint(-1, 1), zone, of] for i, age, zone, of in people[::-1])])
    Path("publish.toml").write_text(PLAN)
    Path("schema.toml").write_text(SCHEMA)
    rows = [[rng.choice("xyz"), rng.choice("xyz")] for _ in range(60)]
    table = [[a, b, "y" if a == "x" else "n"] for a, b in rows]
    write("rows.csv", [["a", "b", "c"], *table[:40]])
    write("fresh.csv", [["a", "b", "c"], *table[40:]])


def said(*words: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["attack", *words, "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


LINK = ("--known", "people.csv", "--columns", "age,zip", "--tolerance", "age=1", "--row", "id")


def test_noisy_rows_are_linked_and_anonymised_ones_are_not(capsys: pytest.CaptureFixture[str]) -> None:
    before = said("link", "--published", "noisy.csv", *LINK, "--out", "links.csv", capsys=capsys)
    assert before["thresholds"][0]["right"] > 120
    assert before["confidence"] > 0.9
    links = [line.split(",") for line in Path("links.csv").read_text().splitlines()]
    assert links[0] == ["known_line", "published_line", "eccentricity"]
    assert sum(int(known) + int(published) == 153 for known, published, _ in links[1:]) > 120  # the other way round
    assert Path("links.csv").stat().st_mode & 0o077 == 0
    assert run(["publish", "anonymise", "--plan", "publish.toml", "--out", "out.csv"]) == 0
    after = said("link", "--published", "out.csv", "--known", "people.csv", "--plan", "publish.toml", capsys=capsys)
    assert after["columns"] == ["age", "zip"]
    assert after["thresholds"][0]["linked"] == 0


def test_noise_is_no_protection_without_tolerance(capsys: pytest.CaptureFixture[str]) -> None:
    """Numbers that are changed a little, in more columns than one, and no word about it from whoever tries."""
    rng = random.Random(2)
    people = [[i, *(rng.gauss(100, 20) for _ in range(3)), rng.choice("abcd")] for i in range(200)]
    header = ["id", "cm", "kg", "age", "ill"]
    write("told.csv", [header, *([i, *(f"{x:.2f}" for x in rest), ill] for i, *rest, ill in people)])
    write("weak.csv", [header, *([i, *(f"{x + rng.gauss(0, 1):.2f}" for x in r), ill] for i, *r, ill in people[::-1])])
    moved = [[i, *(f"{x + rng.gauss(0, 200):.2f}" for x in r), ill] for i, *r, ill in people[::-1]]
    write("strong.csv", [header, *moved])
    words = ("--known", "told.csv", "--columns", "cm,kg,age")
    weak, strong = (
        {
            "link": said("link", "--published", file, *words, "--row", "id", capsys=capsys),
            "infer": said("infer", "--published", file, *words, "--sensitive", "ill", capsys=capsys),
        }
        for file in ("weak.csv", "strong.csv")
    )
    for found in weak.values():
        assert found["strongest"]["right"] > 0.9
        assert found["worst_hit"]["right"] == 10
    assert weak["link"]["nearest"]["right"] > 100
    assert weak["link"]["nearest"]["confidence"] > 0.95
    assert strong["link"]["strongest"]["right"] < 0.1
    assert not strong["infer"]["strongest"]["found"]
    assert not strong["infer"]["worst_hit"]["found"]


def test_what_is_guessed_before_and_after(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["publish", "anonymise", "--plan", "publish.toml", "--out", "out.csv"]) == 0
    shown = capsys.readouterr().out
    words = ("--known", "people.csv", "--sensitive", "disease")
    before = said("infer", "--published", "people.csv", *words, "--columns", "age,zip", capsys=capsys)
    after = said("infer", "--published", "out.csv", *words, "--plan", "publish.toml", capsys=capsys)
    assert before["class"] > 0.95
    assert after["class"] < 0.75
    # The report of publishing says the same.
    assert f"most frequent value {before['prior']:.4g}, possible rows {after['class']:.4g}, " in shown
    assert f"naive bayes {after['classifier']:.4g}" in shown


def test_known_rows_are_spelled_as_the_plan_says(capsys: pytest.CaptureFixture[str]) -> None:
    """Separator, decimal mark and words for no value are those of the rows that were published."""
    rows = [f"{i % 7};{40 + i % 30},5;{'-' if i == 3 else 'ab'[i % 2]}" for i in range(60)]
    Path("raw.csv").write_text("n;kg;ill\n" + "\n".join(rows) + "\n")
    plan = 'source = "raw.csv"\nalgorithm = "mondrian"\n[format]\nseparator = ";"\ndecimal = ","\nmissing = ["-"]\n'
    plan += (
        '[columns.n]\nrole = "quasi-identifier"\nranges = [3]\n[columns.kg]\nrole = "quasi-identifier"\nranges = [10]\n'
    )
    Path("raw.toml").write_text(plan + '[columns.ill]\nrole = "sensitive"\n[[models]]\nmodel = "k-anonymity"\nk = 4\n')
    assert run(["publish", "anonymise", "--plan", "raw.toml", "--out", "out.csv"]) == 0
    capsys.readouterr()
    words = ("--known", "raw.csv", "--plan", "raw.toml", "--sensitive", "ill")
    found = said("infer", "--published", "out.csv", *words, capsys=capsys)
    assert (found["known"], found["columns"]) == (60, ["n", "kg"])
    assert found["prior"] == pytest.approx(0.5)  # 30 of b of 60, and one that is not known


def test_rows_from_tables(capsys: pytest.CaptureFixture[str]) -> None:
    tables = [("a*b", "ab.csv"), ("b*c", "bc.csv"), ("a*c", "ac.csv")]
    flags = [word for name, file in tables for word in ("--cross", name, file)]
    assert run(["publish", "tables", "--data", "rows.csv", *flags, "--threshold", "2", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    flags = [word for name, file in tables for word in ("--table", name, file)]
    document = said("reconstruct", *flags, "--truth", "rows.csv", "--draws", "4", "--out", "r.csv", capsys=capsys)
    assert document["rows"] == document["true_rows"] == 40
    assert document["certain"] == report["rows_certain"]
    assert document["rebuilt"] > document["by_chance"]
    rows = [line.split(",") for line in Path("r.csv").read_text().splitlines()]
    assert rows[0] == ["a", "b", "c", "number", "share_of_draws", "certain"]
    assert sum(float(row[4]) == 1 for row in rows[1:]) == document["in_all_draws"]


def test_shadows_of_trees_and_weights(capsys: pytest.CaptureFixture[str]) -> None:
    write("odd.csv", [["a", "b", "c"], *([("xyz"[i % 3]), "xy"[i % 2], "n"] for i in range(60)), ["x", "z", "y"]])
    words = ("shadows", "--data", "odd.csv", "--schema", "schema.toml", "--models", "16")
    exact = said(*words, "--k", "1", capsys=capsys)
    noisy = said(*words, "--epsilon", "0.5", capsys=capsys)
    weights = said(*words, "--model", "weights", capsys=capsys)
    votes = said(*words[:-1], "8", "--model", "forest", "--k", "1", "--trees", "3", capsys=capsys)
    bayes = said(*words, "--model", "naive-bayes", capsys=capsys)
    made_by = ("--model", "synthetic", "--select", "mst", "--epsilon", "0.5")
    made = said(*words[:-1], "8", *made_by, capsys=capsys)
    assert (votes["model"], votes["exposed"]["rows"]) == ("forest", 1)
    assert bayes["most_exposed"][0]["row"] == 61
    assert (made["delta"], made["allowed"]) == (1e-5, pytest.approx(1.2449263748))
    assert exact["most_exposed"][0] == {"row": 61, "members_found": 1, "others_found": 1, "sum": 2}
    assert exact["exposed"]["rows"] == 1
    assert noisy["allowed"] == pytest.approx(1.2449186624)
    assert weights["epsilon"] is None
    assert run(["attack", *words, "--epsilon", "0.5"]) == 0
    assert "most that epsilon 0.5 allows" in capsys.readouterr().out


def test_members_of_synthetic_rows_and_of_a_tree(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--members", "people.csv", "--others", "noisy.csv", "--columns", "age,zip")
    assert said("membership", "--synthetic", "people.csv", *words, capsys=capsys)["sum"] > 1.5
    branches = {value: {"class": label} for value, label in zip("xyz", "ynn", strict=True)}
    tree = {
        "schema_digest": "0" * 64,
        "target": "c",
        "tolerance": 0.001,
        "tree": {"attribute": "a", "branches": branches},
    }
    Path("tree.json").write_text(json.dumps(tree))
    words = ("--members", "rows.csv", "--others", "fresh.csv")
    document = said("membership", "--model", "tree.json", *words, capsys=capsys)
    assert (document["members"], document["others"]) == (40, 20)


def test_models_that_know_their_rows_and_one_that_does_not(capsys: pytest.CaptureFixture[str]) -> None:
    """A tree and naive Bayes with a value for each person, of classes by coins; and one that says the same of all."""
    rng = random.Random(5)
    members = [[f"p{i}", rng.choice("ny")] for i in range(60)]
    write("members.csv", [["a", "c"], *members])
    write("others.csv", [["a", "c"], *([person, rng.choice("ny")] for person, _ in members)])
    branches = {person: {"class": label} for person, label in members}
    tree = {"schema_digest": "0" * 64, "target": "c", "tolerance": 0.001}
    Path("tree.json").write_text(json.dumps({**tree, "tree": {"attribute": "a", "branches": branches}}))
    counts = {person: [int(label == "n"), int(label == "y")] for person, label in members}
    Path("bayes.json").write_text(json.dumps({"target": "c", "classes": {"n": 30, "y": 30}, "columns": {"a": counts}}))
    even = {"target": "c", "classes": {"n": 31, "y": 30}, "columns": {"a": {person: [1, 1] for person, _ in members}}}
    Path("even.json").write_text(json.dumps(even))
    words = ("--members", "members.csv", "--others", "others.csv")
    sums = [said("membership", "--model", f"{name}.json", *words, capsys=capsys)["sum"] for name in ("tree", "bayes")]
    assert min(sums) > 1.35
    assert said("membership", "--model", "even.json", *words, capsys=capsys)["sum"] < 1.2
    write("made.csv", [["a", "c"], *([f"p{i}", rng.choice("ny")] for i in range(59, 119))])
    assert said("membership", "--synthetic", "made.csv", *words, capsys=capsys)["sum"] < 1.2


PREPARED = """
[tables.patients]
source = "patients.csv"
schema = "sizes.toml"
max_rows = 1000
[tables.patients.columns.cm]
edges = [10, 20]
"""
SIZES = """
target = "ill"
[attributes]
cm = ["below 10", "10 to under 20", "20 and more"]
ill = ["n", "y"]
"""


@pytest.fixture
def prepared() -> None:
    """Raw rows of numbers, and rows published as the categories of their schema: the same people's."""
    numbers = [5 + i % 20 + i / 100 for i in range(60)]
    names = ["below 10" if x < 10 else "10 to under 20" if x < 20 else "20 and more" for x in numbers]
    ill = ["y" if x < 10 else "n" for x in numbers]
    write(
        "patients.csv", [["id", "cm", "ill"], *([i, x, c] for i, (x, c) in enumerate(zip(numbers, ill, strict=True)))]
    )
    write("syn.csv", [["cm", "ill"], *zip(names, ill, strict=True)])
    Path("sizes.toml").write_text(SIZES)
    Path("party.toml").write_text(PREPARED)


@pytest.mark.parametrize(
    "words",
    [
        "infer --published syn.csv --known patients.csv --columns ill --sensitive cm",
        "membership --synthetic syn.csv --members patients.csv --others patients.csv",
    ],
)
def test_raw_rows_are_not_held_against_categories(
    words: str, prepared: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would find nothing, and reassure, whatever the categories tell."""
    assert run(["attack", *words.split()]) == 2
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert "column 'cm': no value of the known rows occurs in syn.csv" in shown
    assert all(word in shown for word in ("'10.05'", "'10 to under 20'", "--config"))


@pytest.mark.parametrize("config", ["party.toml", "renamed.toml"])
def test_raw_rows_are_mapped_by_the_config_of_their_table(
    config: str, prepared: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is found is what rows in categories find, of the table and of other rows as raw, by old names or new."""
    categories = [line.split(",") for line in Path("syn.csv").read_text().splitlines()]
    write("same.csv", categories)
    raw = Path("patients.csv").read_text()
    if config == "renamed.toml":
        Path("patients.csv").write_text(raw := raw.replace("cm", "breadth", 1))
        Path(config).write_text(PREPARED.replace("edges", 'column = "breadth"\nedges'))
    Path("new.csv").write_text(raw)
    infer = ("infer", "--published", "syn.csv", "--columns", "cm", "--sensitive", "ill", "--known")
    found = said(*infer, "same.csv", capsys=capsys)
    assert found["class"] == 1
    assert found["prior"] < 0.8
    link = ("link", "--published", "syn.csv", "--columns", "cm,ill", "--known")
    for rows in ("patients.csv", "new.csv"):
        assert said(*infer, rows, "--config", config, capsys=capsys) == found
        linked = said(*link, rows, "--config", config, capsys=capsys)
        assert linked == said(*link, "same.csv", capsys=capsys)
    assert said(*infer, "same.csv", "--config", config, capsys=capsys) == found  # categories stay as they are
    if config == "party.toml":  # the ranges of the categories hold raw numbers, too
        assert said(*infer, "new.csv", capsys=capsys)["class"] == found["class"]
    synthetic = ("membership", "--synthetic", "syn.csv")
    by_config = said(*synthetic, "--members", "patients.csv", "--others", "new.csv", "--config", config, capsys=capsys)
    assert by_config == said(*synthetic, "--members", "same.csv", "--others", "same.csv", capsys=capsys)


def test_a_tree_is_asked_of_raw_rows_by_config(prepared: None, capsys: pytest.CaptureFixture[str]) -> None:
    branches = {"below 10": {"class": "y"}, "10 to under 20": {"class": "n"}, "20 and more": {"class": "y"}}
    tree = {"schema_digest": "0" * 64, "target": "ill", "tolerance": 0.001}
    Path("tree.json").write_text(json.dumps({**tree, "tree": {"attribute": "cm", "branches": branches}}))
    Path("new.csv").write_text(Path("patients.csv").read_text())
    words = ["membership", "--model", "tree.json", "--members", "patients.csv", "--others", "new.csv"]
    same = ["membership", "--model", "tree.json", "--members", "syn.csv", "--others", "syn.csv"]
    assert said(*words, "--config", "party.toml", capsys=capsys) == said(*same, capsys=capsys)
    assert run(["attack", *words]) == 2
    shown = capsys.readouterr().err
    assert "the tree has no branch for '5.0'" in shown
    assert "if the rows are raw, give the --config" in shown
    assert shown.count("\n") == 1


def test_numbers_that_are_all_far_off_are_an_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """Of numbers, of ranges, and of a column without values: nobody is found there, and that is so."""
    write("far.csv", [["age", "zip", "no"], *([9000 + i, "[1, 2]", ""] for i in range(9))])
    write("known.csv", [["age", "zip", "no"], *([i, 30000 + i, i] for i in range(9))])
    words = ("link", "--published", "far.csv", "--known", "known.csv", "--columns")
    assert said(*words, "age", "--tolerance", "age=1", capsys=capsys)["linked"] == 0
    assert said(*words, "zip,no", capsys=capsys)["linked"] == 0
    assert said(*words, "age", capsys=capsys)["nearest"]["linked"] == 0
    write("words.csv", [["age"], ["old"], ["young"]])
    assert run(["attack", "link", "--published", "words.csv", "--known", "known.csv", "--columns", "age"]) == 2
    assert "say --plan if they are groups" in capsys.readouterr().err


def test_the_bounds_of_presence(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--rate", "0.07", "--share", "0.04", "--worth", "10000", "--cost", "100"]
    assert run(["attack", "presence", *words, "--cost-of-absence", "200"]) == 0
    assert capsys.readouterr().out == '[[models]]\nmodel = "presence"\nleast = 0.0194\nmost = 0.0503\n'


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("link --published noisy.csv --known people.csv", "--columns is missing: give the known columns, or --plan"),
        ("link --published noisy.csv --known people.csv --columns agee", "lacks the column 'agee'"),
        ("link --published noisy.csv --known people.csv --columns age,age", "name at least one column, each once"),
        ("link --published noisy.csv --known people.csv --columns id --row id", "'id' is the column to guess"),
        (
            "link --published noisy.csv --known people.csv --columns age --tolerance age=0",
            "must be COLUMN=NUMBER above 0",
        ),
        (
            "link --published noisy.csv --known people.csv --columns age --tolerance zip=1",
            "'zip' is not among the known columns",
        ),
        ("infer --published noisy.csv --known empty.csv --columns age --sensitive disease", "there are no rows"),
        ("infer --published noisy.csv --known people.csv --columns age --sensitive ill", "lacks the column 'ill'"),
        ("reconstruct --table a*b people.csv", "not a table of a and b"),
        (
            "shadows --data rows.csv --schema schema.toml --model weights --epsilon 1",
            "--epsilon goes with --model tree or forest or naive-bayes or",
        ),
        ("shadows --data rows.csv --schema schema.toml --k 5 --epsilon 1", "--k goes with exact trees"),
        ("shadows --data rows.csv --schema schema.toml --trees 5", "--trees goes with --model forest"),
        ("shadows --data rows.csv --schema schema.toml --model synthetic --epsilon 17", "epsilon: "),
        ("shadows --data empty.csv --schema schema.toml", "fewer than two rows"),
        ("membership --members rows.csv --others fresh.csv", "give either --model or --synthetic"),
        (
            "membership --members rows.csv --others fresh.csv --model t.json --columns a",
            "--columns goes with --synthetic",
        ),
        ("membership --members rows.csv --others empty.csv --synthetic rows.csv", "at least two rows of members"),
        ("presence --rate 0.01 --share 0.04 --worth 10 --cost 1", "is more than the rate"),
        ("presence --rate 1 --share 1 --worth 1 --cost 1", "everybody has the property"),
    ],
)
def test_one_line_for_what_is_wrong(words: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    write("empty.csv", [["a", "b", "c", "age", "disease"]])
    assert run(["attack", *words.split()]) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert shown.count("\n") == 1
