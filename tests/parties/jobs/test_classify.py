"""Classification of people whose columns lie apart: the classes of `smc predict` on the joined rows."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from parties.base.files import write_json
from parties.jobs.inputs import Inputs
from parties.jobs.kinds.classify import Classify
from parties.link.handshake import differences
from parties.models.load import load_trees, predicted
from parties.sources.delimited import csv_columns
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from smc.session import Session
from tests.support.columns_apart import CLEAR, Rows, Two, people, read, write

GMW = Profile("gmw")


class Asked(Two):
    """Two tables and a tree of their joined rows."""

    def __init__(self, directory: Path, rows: Rows, target: str, left: Sequence[str], **tree: Any) -> None:
        super().__init__(directory, rows, target, left, strangers=3)
        made = {"plain": True, "max_depth": 4, **tree}
        task, _ = self._joined(0, made)
        write_json(directory / "tree.json", task.document(self.as_joined(**made)))
        self.kind = Classify

    def classes(self, asks: int = 1, profile: Profile = GMW, **more: Any) -> tuple[list[str], Any, int]:
        """The classes that a party learns, its task, and the bytes of both."""

        def party(session: Session) -> Any:
            mine = {"classes": self.directory / "classes.csv"} if session.party == asks else {}
            asked = {"model": self.directory / "tree.json", "learns": ("listener", "dialler")[asks], **mine, **more}
            task, data, _ = Classify.alone(self.settings(session.party, **asked), session.party)
            engine = engine_of(session, profile)
            state = task.run(engine, task.with_engine(engine, data), task.states.beginning, lambda step: None)
            return task, state, session.meter.total.bytes_sent

        ends = run_local(party)
        assert ends[0][1] == ends[1][1]
        assert "own" not in ends[1 - asks][0].document(ends[0][1])
        document = ends[asks][0].document(ends[0][1])
        lines = list(csv.reader(io.StringIO(document["own"])))
        assert lines[0] == ["id", self.schema.target]
        assert [line[0] for line in lines[1:]] == [row["id"] for row in self.joined]
        return [line[1] for line in lines[1:]], ends[asks][0], ends[0][2] + ends[1][2]

    def expected(self) -> list[str]:
        rows = write(self.directory / "joined.csv", self.joined, [*self.schema.attributes])
        return predicted(load_trees(self.directory / "tree.json"), csv_columns(rows))


@pytest.mark.parametrize(
    ("table", "left", "tree"),
    [
        ("car", (0, 2, 5), {}),
        ("car", (0, 2, 5), {"splits": "binary"}),
        ("tic-tac-toe", range(0, 9, 2), {}),
        ("house-votes-84", range(3, 10), {}),
    ],
)
@pytest.mark.parametrize("asks", [0, 1])
def test_classes_are_those_of_predict_on_the_joined_rows(
    shared: Path, tmp_path: Path, table: str, left: Sequence[int], tree: dict[str, Any], asks: int
) -> None:
    """The votes have missing cells, a value of their own."""
    rows = read(shared / "data" / f"{table}.csv")
    target = "class" if "class" in rows[0] else "Class"
    names = [name for name in rows[0] if name != target]
    two = Asked(tmp_path, rows, target, [names[place] for place in left], **tree)
    found, _, _ = two.classes(asks)
    assert len(set(found)) > 1
    assert found == two.expected()


@pytest.mark.parametrize("engine", ["yao", "gmw"])
def test_an_estimate_is_what_is_measured(tmp_path: Path, engine: Any) -> None:
    two = Asked(tmp_path, people(61), "play", ("a", "d"))
    _, task, sent = two.classes(profile=Profile(engine))
    counted = task.cost_of_run(Inputs())
    assert (counted.estimate, counted.is_countable) == ("exact", True)
    assert forecast(counted.program, Profile(engine)).bytes == sent


def test_the_people_s_bits_and_the_consent_are_those_of_the_classes(tmp_path: Path) -> None:
    _, task, _ = Asked(tmp_path, people(61), "play", ("a", "d")).classes(profile=CLEAR)
    assert task.disclosure.bits.at_most == 55  # a bit for each of the people in both tables
    said = task.disclosure.reveals("b")
    assert said[:2] == [
        "The dialling party learns the class, play, of each person.",
        "The other party learns no result.",
    ]
    assert re.fullmatch(r".* a public tree of \d+ leaves; its SHA-256 begins with [0-9a-f]{16}\.", said[2])
    assert said[3].startswith("The rows are 55 people who are in both tables, as both parties know from alignment ab.")
    assert said[4:6] == [
        "The party that listens gives 'a'; the party that dials gives 'c'.",
        "b learns nothing else of our columns, and we nothing else of b's.",
    ]
    assert said[6].endswith("The bits about a person in each job are at most 1.")


FOREST = '{"schema_digest": "%s", "target": "play", "tolerance": 0.1, "trees": [{"class": "x"}, {"class": "x"}]}' % (
    "0" * 64
)


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({"learns": None}, "--learns is missing: give the flag"),
        ({"model": None}, "classifier: is missing; give a tree (--model; classifier in a job)"),
        ({"aligned": None}, "--aligned is missing: with --listener-columns give"),
        ({"aligned": None, "listener_columns": None}, "alignment: is missing; give matched rows (--aligned; alignment"),
        ({"listener_columns": ("a", "c")}, "listener_columns: the job reads 'a', 'c', columns of one party"),
        ({"listener_columns": ("a", "e")}, "listener_columns: 'e' is not an attribute of the schema"),
        ({"classes": None}, "--classes: give it at the party that learns the classes, and only there"),
        ({"learns": "listener"}, "--classes: give it at the party that learns the classes, and only there"),
        ({"model": None, "classifier": FOREST}, "model: is not a single tree with splits; give"),
        ({"model": None, "classifier": FOREST.replace('"trees": [{"class": "x"}, {"class": "x"}]',
          '"tree": {"attribute": "z", "branches": {"x": {"class": "x"}, "y": {"class": "y"}}}')},
         "there is no attribute 'z' in the schema"),
        ({"model": None, "classifier": FOREST.replace('"trees": [{"class": "x"}, {"class": "x"}]',
          '"tree": {"attribute": "a", "branches": {"x": {"class": "x"}, "y": {"attribute": "b", '
          '"branches": {"u": {"class": "x"}, "v": {"class": "y"}}}}}')},
         "it has no branch for 'z' of 'a'"),
    ],
)  # fmt: skip
def test_settings_that_do_not_fit_are_a_line(tmp_path: Path, more: dict[str, Any], line: str) -> None:
    two = Asked(tmp_path, people(61), "play", ("a", "d"))
    asked = {"model": tmp_path / "tree.json", "learns": "dialler", "classes": tmp_path / "classes.csv"}
    names = {"model": "model_file"}
    settings = two.settings(1, **asked).model_copy(
        update={names.get(name, name): value for name, value in more.items()}
    )
    with pytest.raises(InputError) as error:
        Classify.alone(settings, 1)
    assert line in str(error.value)
    assert "\n" not in str(error.value)


def test_a_value_that_is_not_in_the_schema_is_a_line_of_its_owner(tmp_path: Path) -> None:
    two = Asked(tmp_path, people(61), "play", ("a", "d"))
    table = tmp_path / "1.csv"
    table.write_text(table.read_text().replace(",l", ",w"))
    with pytest.raises(InputError, match="'w' is not in the schema"):
        two.classes()


def test_a_schema_of_new_people_needs_no_class(tmp_path: Path) -> None:
    two = Asked(tmp_path, people(61), "play", ("a", "d"))
    expected = two.classes()[0]
    names = [name for name in two.schema.attributes if name != "play"]
    two.schema.only(names).save(tmp_path / "schema.toml")
    (tmp_path / "schema.toml").write_text((tmp_path / "schema.toml").read_text().replace('target = "play"\n', ""))
    assert two.classes()[0] == expected


def test_another_tree_of_the_peer_is_a_line(tmp_path: Path) -> None:
    two = Asked(tmp_path, people(61), "play", ("a", "d"))
    ours = two.classes()[1].specification()
    theirs = ours | {"classifier": ours["classifier"].replace('"yes"', '"no"', 1)}
    (line,) = differences(ours, theirs)
    assert line.startswith("classifier: ours ")
    assert "\n" not in line


def test_a_tree_without_a_question_is_a_line(tmp_path: Path) -> None:
    two = Asked(tmp_path, people(61), "play", ("a", "d"))
    text = FOREST.replace('"trees": [{"class": "x"}, {"class": "x"}]', '"tree": {"class": "x"}')
    settings = two.settings(0, learns="dialler").model_copy(update={"classifier": text})
    with pytest.raises(InputError, match="model: is not a single tree with splits"):
        Classify.alone(settings, 0)
