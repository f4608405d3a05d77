"""Several publications of one table: what they tell together, against brute force and by the commands."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.alone.publish.models.diversity import LDiversity
from parties.alone.publish.models.model import KAnonymity
from parties.alone.publish.versions import Version, load, put_down, together
from smc.errors import InputError
from tests.support.anonymity import CANCER, FOUR_ANONYMOUS, HEART, VIRAL, flat
from tests.support.patients import laid_out, smc, written


def version(classes: dict[str, int], disease: dict[str, str]) -> Version:
    """A publication of these rows, each in a class."""
    values = [disease[row] for row in classes]
    return Version(at="", rows=list(classes), classes=list(classes.values()), sensitive={"s": values})


def reached(*versions: Version) -> list[float]:
    """The least k and l of all together."""
    verdicts = together(versions, [KAnonymity(2), LDiversity("s", 2)], flat)
    return [verdict["reached"] for verdict in verdicts]


def test_both_tables_of_lesson_8_together() -> None:
    """The twelve patients 4-anonymous, and 3-diverse besides: of who is in both tables two rows are left, or one."""
    diseases = [*(HEART, HEART, VIRAL, VIRAL), *(CANCER, HEART, VIRAL, VIRAL), *(CANCER,) * 4]
    assert [diseases[at : at + 4] for at in (0, 4, 8)] == [*FOUR_ANONYMOUS.values()]
    disease = {str(number): name for number, name in enumerate(diseases, 1)}
    left = {row: (int(row) - 1) // 4 for row in disease}
    right = {row: {"1": 0, "4": 0, "9": 0, "10": 0, "2": 2, "3": 2, "11": 2, "12": 2}.get(row, 1) for row in disease}
    assert reached(version(left, disease)) == [4, 1]
    assert reached(version(right, disease)) == [4, 3]
    assert reached(version(left, disease), version(right, disease)) == [2, 1]
    moved = right | {"4": 2, "2": 0, "11": 1, "5": 2}
    assert reached(version(moved, disease))[0] == 4
    assert reached(version(left, disease), version(moved, disease)) == [1, 1]


def another(path: Path, one: Version) -> None:
    """Put one more down, and fail at something else."""
    with put_down(load(path, "who"), one):
        pass
    raise OSError("the disk is full")


def test_two_at_once_are_not_put_down_unseen_by_each_other(tmp_path: Path) -> None:
    """The second is refused, whichever ends first; and one that fails takes back itself and no other."""
    path, one = tmp_path / "history.json", version({"a": 0, "b": 0}, {"a": "x", "b": "y"})

    def known() -> int:
        return len(load(path, "who").versions) if path.exists() else 0

    for before in (0, 1):
        first, second = load(path, "who"), load(path, "who")
        with put_down(first, one), pytest.raises(InputError, match="run the command again"), put_down(second, one):
            raise AssertionError
        assert known() == before + 1
    with pytest.raises(OSError, match="full"), put_down(load(path, "who"), one):
        another(path, one)
    assert known() == 4
    with pytest.raises(OSError, match="full"), put_down(load(path, "who"), one):
        raise OSError("the disk is full")
    assert known() == 4
    path.unlink()
    with pytest.raises(OSError, match="full"), put_down(load(path, "who"), one):
        raise OSError("the disk is full")
    assert known() == 0


@st.composite
def publications(draw: st.DrawFn) -> tuple[list[dict[str, int]], list[dict[str, str]]]:
    """Up to four publications of up to twelve rows: the class of each row that is there, and its value."""
    rows = [str(number) for number in range(draw(st.integers(1, 12)))]
    number = draw(st.integers(1, 4))
    classes = [draw(st.dictionaries(st.sampled_from(rows), st.integers(0, 2), min_size=1)) for _ in range(number)]
    values = [{row: draw(st.sampled_from("abc")) for row in rows} for _ in range(number)]
    return classes, values


@given(publications())
def test_groups_are_those_of_brute_force(made: tuple[list[dict[str, int]], list[dict[str, str]]]) -> None:
    """For each row: who else has the same classes throughout, counted one by one; below is everybody with too few."""
    classes, values = made
    everybody = {row for one in classes for row in one}
    alike = {
        row: [other for other in everybody if all(one.get(row) == one.get(other) for one in classes)]
        for row in everybody
    }
    found = together(
        [version(one, value) for one, value in zip(classes, values, strict=True)],
        [KAnonymity(2), LDiversity("s", 2)],
        flat,
    )
    least = {
        row: min(len({value[o] for o in alike[row]}) for one, value in zip(classes, values, strict=True) if row in one)
        for row in everybody
    }
    assert [one["reached"] for one in found] == [min(map(len, alike.values())), min(least.values())]
    assert found[0]["rows_below"] == sum(len(others) < 2 for others in alike.values())
    assert found[1]["rows_below"] == sum(number < 2 for number in least.values())


@given(publications(), st.lists(st.sampled_from("xyz"), min_size=12, max_size=12))
def test_people_of_several_rows_count_once(
    made: tuple[list[dict[str, int]], list[dict[str, str]]], whose: list[str]
) -> None:
    """Of each group, by brute force: how many people have rows in it, and how many values."""
    classes, values = made
    person = {row: whose[int(row)] for one in classes for row in one}
    versions = [
        Version(
            at="",
            rows=list(one),
            classes=list(one.values()),
            sensitive={"s": [value[row] for row in one]},
            persons=[person[row] for row in one],
        )
        for one, value in zip(classes, values, strict=True)
    ]
    found = together(versions, [KAnonymity(2), LDiversity("s", 2)], flat)
    least, fewest = 99, 99
    for one, value in zip(classes, values, strict=True):
        for row in one:
            alike = [o for o in person if all(c.get(o) == c.get(row) for c in classes)]
            least = min(least, len({person[other] for other in alike}))
            fewest = min(fewest, len({value[other] for other in alike}))
    assert [verdict["reached"] for verdict in found] == [least, fewest]
    assert all(verdict["model"].endswith(", by person") for verdict in found)


PLAN = """
source = "people.csv"
[columns.name]
role = "identifier"
[columns.zip]
role = "{zip}"
[columns.age]
role = "{age}"
[[models]]
model = "k-anonymity"
k = 2
"""
PEOPLE = [("ann", "1", "30"), ("bob", "1", "40"), ("cas", "2", "30"), ("dan", "2", "40")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    people(PEOPLE)
    Path("zip.toml").write_text(PLAN.format(zip="quasi-identifier", age="identifier"))
    Path("age.toml").write_text(PLAN.format(zip="identifier", age="quasi-identifier"))


def people(rows: list[tuple[str, str, str]]) -> None:
    with Path("people.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("name", "zip", "age"), *rows])


def anonymise(plan: str, *more: str) -> int:
    known = ("--history", "history.json", "--row", "name")
    return smc("anonymise", "--plan", plan, "--out", "out.csv", "--force", *known, *more)


@pytest.mark.usefixtures("folder")
def test_two_versions_that_meet_in_one_person(capsys: Any) -> None:
    """By place each is with one of the other age, by age with one of the other place: together each is alone."""
    assert anonymise("zip.toml", "--recoding", "zip.json") == 0
    assert Counter(row["zip"] for row in written(Path("out.csv"))) == {"1": 2, "2": 2}
    history = Path("history.json").read_text()
    assert Path("history.json").stat().st_mode & 0o077 == 0
    assert "ann" not in history
    Path("out.csv").unlink()
    capsys.readouterr()
    assert smc("anonymise", "--plan", "age.toml", "--out", "alone.csv") == 0
    assert Counter(row["age"] for row in written(Path("alone.csv"))) == {"30": 2, "40": 2}
    assert anonymise("age.toml") == 2
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert "2-anonymity, of 2 publications together (reached: 1, rows below: 4); nothing was written" in said
    assert not Path("out.csv").exists()
    assert Path("history.json").read_text() == history
    assert anonymise("zip.toml", "--json") == 0
    told = json.loads(capsys.readouterr().out)["models"]
    assert told[1] == {"model": "2-anonymity, of 2 publications together", "holds": True, "reached": 2, "rows_below": 0}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("earlier", [0, 1])
def test_what_was_not_written_is_in_no_history(earlier: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(earlier):
        assert anonymise("zip.toml") == 0
    before = Path("history.json").read_text() if earlier else None

    def fail(*_: Any) -> None:
        number = len(json.loads(Path("history.json").read_text())["versions"])
        raise InputError(f"the disk is full after {number}")

    monkeypatch.setattr("parties.alone.publish.storing.put", fail)
    assert anonymise("zip.toml") == 2
    assert (Path("history.json").read_text() if Path("history.json").exists() else None) == before


@pytest.mark.usefixtures("folder")
def test_who_comes_or_goes_alone(capsys: Any) -> None:
    """Each version is 2-anonymous, and the difference of the two is one person."""
    assert anonymise("zip.toml", "--recoding", "zip.json") == 0
    later = ["apply", "--recoding", "zip.json", "--data", "people.csv", "--out", "later.csv"]
    known = ["--history", "history.json", "--row", "name"]
    for rows in ([*PEOPLE, ("eve", "1", "50")], [*PEOPLE[1:], ("eve", "1", "50")]):
        people(rows)
        assert smc(*later, *known) == 2
        assert "reached: 1" in capsys.readouterr().err
        assert not Path("later.csv").exists()
    people([("eve", "1", "50"), ("fay", "1", "50")])  # those who came later by themselves
    assert smc(*later, *known) == 0


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("rows", "more", "message"),
    [
        ([*PEOPLE, ("ann", "1", "30")], [], "column 'name': this column has one value in two rows"),
        ([*PEOPLE, ("", "1", "30")], [], "column 'name': this column is empty in a row"),
        (PEOPLE, ["--row", "nmae"], "there is no column 'nmae'"),
        (PEOPLE, ["--history", "zip.toml"], "chmod 600 zip.toml"),
    ],
)
def test_what_a_history_cannot_be_of(rows: Any, more: list[str], message: str, capsys: Any) -> None:
    people(rows)
    assert anonymise("zip.toml", *more) == 2
    assert message in capsys.readouterr().err
    assert not Path("out.csv").exists()
    assert not Path("history.json").exists()


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "content",
    [
        "{}",
        '{"smc_history": 1}',
        '{"smc_history": 1, "salt": "", "versions": [{"at": "", "rows": ["a"], "classes": [], "sensitive": {}}]}',
        '{"smc_history": 1, "salt": "", "versions": '
        '[{"at": "", "rows": ["a", "a"], "classes": [0, 0], "sensitive": {}}]}',
    ],
)
def test_what_is_no_history(content: str, capsys: Any) -> None:
    Path("history.json").write_text(content)
    Path("history.json").chmod(0o644)
    assert anonymise("zip.toml") == 2
    assert "chmod 600 history.json" in capsys.readouterr().err
    Path("history.json").chmod(0o600)
    assert anonymise("zip.toml") == 2
    assert "history.json: not a history that smc publish wrote" in capsys.readouterr().err
    assert Path("history.json").read_text() == content
    assert smc("anonymise", "--plan", "zip.toml", "--out", "out.csv", "--history", "history.json") == 2
    assert "give both --history" in capsys.readouterr().err


def test_classes_of_equal_rows_that_are_divided(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    laid_out()
    known = ["--history", "history.json", "--row", "name"]
    chosen = ["anonymise", "--plan", "publish.toml", "--force", "--out", "out.csv", *known]
    assert smc(*chosen, "--algorithm", "mondrian") == 0
    assert smc(*chosen, "--algorithm", "mondrian") == 0
    assert smc(*chosen, "--algorithm", "flash") == 2
    assert "of 3 publications together" in capsys.readouterr().err


HISTORY = '[history]\nfile = "history.json"\nrow = "name"\n'


@pytest.mark.usefixtures("folder")
def test_a_plan_can_require_a_history(capsys: Any) -> None:
    """No publication by the plan, or by its recoding, goes past it; and none in a way that has no classes."""
    Path("zip.toml").write_text(PLAN.format(zip="quasi-identifier", age="identifier") + HISTORY)
    Path("age.toml").write_text(PLAN.format(zip="identifier", age="quasi-identifier") + HISTORY)
    assert smc("anonymise", "--plan", "zip.toml", "--out", "out.csv", "--recoding", "zip.json") == 0
    assert "history.json is new: earlier publications were not checked" in capsys.readouterr().err
    assert len(json.loads(Path("history.json").read_text())["versions"]) == 1
    assert smc("anonymise", "--plan", "age.toml", "--out", "new.csv") == 2
    assert "of 2 publications together (reached: 1" in capsys.readouterr().err
    later = ["apply", "--recoding", "zip.json", "--data", "people.csv", "--out", "new.csv"]
    for known in ([], ["--history", "history.json", "--row", "age"]):
        assert smc(*later, *known) == 2
        shown = capsys.readouterr().err
        assert "give --history, the history file of its plan, and --row name" in shown
        assert shown.count("\n") == 1
    assert smc(*later, "--history", "mistyped.json", "--row", "name") == 2
    assert (
        "mistyped.json has no publication yet; give the history file of the recoding's plan" in capsys.readouterr().err
    )
    assert not Path("mistyped.json").exists()
    assert smc("anonymise", "--plan", "zip.toml", "--out", "new.csv", "--history", "b.json", "--row", "name") == 2
    assert "the plan already sets history file " in capsys.readouterr().err
    for command in ("mask", "protect"):
        assert smc(command, "--plan", "zip.toml", "--out", "new.csv") == 2
        assert (
            "zip.toml: history: only smc publish anonymise, apply and invariant can publish" in capsys.readouterr().err
        )
    assert not Path("new.csv").exists()
    assert smc(*later, "--history", "history.json", "--row", "name") == 0


@pytest.mark.usefixtures("folder")
def test_a_class_of_one_persons_rows(capsys: Any) -> None:
    """Two rows each, of two people in either place: by rows 2-anonymous, by persons too; then one person is alone."""
    rows = [("ann", "1", "30"), ("bob", "1", "31"), ("cas", "2", "32"), ("dan", "2", "33")]
    known = ("--person", "who")

    def visits(whose: str) -> None:
        with Path("people.csv").open("w", newline="") as stream:
            lines = [(*row, who) for row, who in zip(rows, whose, strict=True)]
            csv.writer(stream).writerows([("name", "zip", "age", "who"), *lines])

    visits("aabb")
    assert anonymise("zip.toml", *known) == 2
    assert "2-anonymity, by person (reached: 1, rows below: 4)" in capsys.readouterr().err
    assert not Path("history.json").exists()
    visits("abab")
    assert anonymise("zip.toml", *known, "--json") == 0
    told = json.loads(capsys.readouterr().out)["models"]
    assert told[1] == {"model": "2-anonymity, by person", "holds": True, "reached": 2, "rows_below": 0}
    assert anonymise("zip.toml", *known) == 0
    assert anonymise("zip.toml") == 2
    assert "history.json: this history was begun with --person" in capsys.readouterr().err
    visits("ab?b")
    assert anonymise("zip.toml", *known) == 2
    assert "column 'who': this column is empty in a row; name the person of each row" in capsys.readouterr().err
