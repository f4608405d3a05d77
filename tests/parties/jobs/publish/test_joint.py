"""The joint recoding as a task: what operators may ask, what its file says, and Mondrian of one's own beside it."""

from __future__ import annotations

import json
from itertools import product
from math import comb
from pathlib import Path

import numpy as np
import pytest

from parties.alone.publish.applying import apply
from parties.alone.publish.cells import Cells
from parties.alone.publish.hierarchy import build
from parties.alone.publish.models.model import KAnonymity
from parties.alone.publish.recoding.mondrian import mondrian as own_mondrian
from parties.alone.publish.recoding.recoding import load
from parties.jobs.kind import digest
from parties.jobs.kinds.publish.joint import JointSettings, PublishJoint
from parties.jobs.publish.recoding import cuts_in, span
from parties.sources import PlaceSettings
from parties.tables.schema import Schema
from protocols.publish.cuts import Cut, Cuts, final_boxes
from protocols.publish.mondrian import mondrian
from protocols.publish.problem import Problem
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from tests.support.refused import refused

SCHEMA = Schema({"age": ("20", "30", "40"), "end": ("good", "bad"), "town": ("north", "mid", "south")})
CUTS: Cuts = ((Cut(0, 2),), (Cut(1, 1), None), (None, None))


def task(**fields: object) -> PublishJoint:
    settings = JointSettings.model_validate({"recode": ("town", "age"), "keep": ("end",), "k": 4, **fields})
    return PublishJoint.canonical(settings, SCHEMA)


@pytest.mark.parametrize("against", ["peer", "public"])
def test_the_result_is_a_recoding_file(tmp_path: Path, against: str) -> None:
    found = task(against=against)
    assert found.columns == ("age", "town", "end")  # in the schema's order
    file = tmp_path / "recoding.json"
    file.write_text(json.dumps(found.document(CUTS)))
    recoding = load(file)
    assert json.loads(recoding.text())["boxes"] == found.document(CUTS)["boxes"]
    assert [model.words for model in recoding.made()] == (["4-anonymity"] if against == "peer" else [])
    hierarchies = [recoding.hierarchy(name, SCHEMA.attributes[name]) for name in ("age", "town")]
    classes = {}
    for age, town in product(*(SCHEMA.attributes[name] for name in ("age", "town"))):
        holding = [
            b
            for b in recoding.boxes or []
            if all(s.holds(h, v) for s, h, v in zip(b, hierarchies, (age, town), strict=True))
        ]
        assert len(holding) == 1
        classes[age, town] = tuple(one.label for one in holding[0])
    assert classes["40", "north"] == ("40", "*")
    assert classes["20", "north"] == classes["30", "north"] == ("[20, 30]", "north")
    assert classes["30", "mid"] == ("[20, 30]", "{mid, south}")
    assert cuts_in(file, found.schema, ("age", "town")) == CUTS
    for schema, recode in ((SCHEMA.only(["age", "town"]), ("age", "town")), (SCHEMA, ("end", "town"))):
        with pytest.raises(InputError, match="has different columns, or another schema"):
            cuts_in(file, schema, recode)
    file.write_text("{}")
    with pytest.raises(InputError, match="not a recoding that smc publish joint wrote"):
        cuts_in(file, found.schema, ("age", "town"))


MODELS = [
    ({}, ["4-anonymity"]),
    ({"l": 2}, ["4-anonymity", "distinct 2-diversity of end"]),
    (
        {"l": 1.5, "diversity": "entropy", "t": 0.2},
        ["4-anonymity", "entropy 1.5-diversity of end", "0.2-closeness of end"],
    ),
]


@pytest.mark.parametrize("against", ["peer", "public"])
@pytest.mark.parametrize(("fields", "words"), MODELS, ids=[words[-1] for _, words in MODELS])
def test_the_recoding_carries_what_its_classes_keep(
    fields: dict[str, object], words: list[str], against: str, tmp_path: Path
) -> None:
    """Against the peer `apply` checks it again on own rows; what holds for the rows of both it cannot check."""
    also = {"keep": None, "sensitive": "end"} if fields else {}
    found = task(against=against, **fields, **also)
    file = tmp_path / "recoding.json"
    file.write_text(json.dumps(found.document(CUTS)))
    recoding = load(file)
    own, both = [model.words for model in recoding.made()], recoding.unchecked()
    kept, none = (own, both) if against == "peer" else (both, own)
    assert [one.removesuffix(" (variational)") for one in kept] == words
    assert none == []
    assert found.columns == ("age", "town", "end")
    assert all(one.removesuffix(" (variational)") in " ".join(found.disclosure.reveals("bob")) for one in words[1:])
    assert f"at least 4 rows of {'each party' if against == 'peer' else 'both'}" in found.text(found.document(CUTS), 0)
    rows = [("20", "good", "north")] * 5 + [("40", "bad", "south"), ("40", "good", "mid")] * 2
    (tmp_path / "rows.csv").write_text("age,end,town\n" + "".join(",".join(row) + "\n" for row in rows))
    if against == "peer" and fields:  # the first class has one value only
        with pytest.raises(InputError, match=r"[59] of 9 rows would be left out \(they do not satisfy .*end"):
            apply(recoding, PlaceSettings(source=str(tmp_path / "rows.csv")), tmp_path / "out.csv")
        return
    report = apply(recoding, PlaceSettings(source=str(tmp_path / "rows.csv")), tmp_path / "out.csv").report
    assert report["rows"] == 9
    assert report.get("unchecked", []) == both


@pytest.mark.parametrize("against", ["peer", "public"])
def test_the_joint_search_counts_the_values_that_apply_counts(against: str, tmp_path: Path) -> None:
    """Classes that only a missing value makes diverse are not made, so `apply` refuses none of them."""
    schema = Schema({"age": ("20", "30", "40", "50", "60"), "end": ("?", "good", "bad"), "town": ("north", "south")})
    ends = {"20": "good bad", "30": "good bad", "40": "good ?", "50": "? bad", "60": "? ?"}
    rows = [(age, end, "north") for age, both in ends.items() for end in both.split()] * 2
    settings = JointSettings.model_validate(
        {"recode": ("age",), "sensitive": "end", "k": 2, "l": 2, "against": against}
    )
    found = PublishJoint.canonical(settings, schema)
    rule = "missing values of 'end' count for k only"
    assert rule in " ".join(found.disclosure.reveals("bob"))
    codes = [[schema.attributes["age"].index(age), schema.attributes["end"].index(end), 1] for age, end, _ in rows]
    cuts, _ = run_local(lambda session: mondrian(engine_of(session, Profile("clear")), found.problem, np.array(codes)))
    assert set(final_boxes([5], cuts)) == {((0, 1),), ((1, 2),), ((2, 5),)}
    document = found.document(cuts)
    assert rule in found.text(document, 0)
    (tmp_path / "recoding.json").write_text(json.dumps(document))
    (tmp_path / "rows.csv").write_text("age,end,town\n" + "".join(",".join(row) + "\n" for row in rows))
    recoding = load(tmp_path / "recoding.json")
    report = apply(recoding, PlaceSettings(source=str(tmp_path / "rows.csv")), tmp_path / "out.csv").report
    assert (report["rows"], report["suppressed"]) == (len(rows), 0)
    assert report.get("missing") == (["end"] if against == "peer" else None)


def test_what_a_set_of_values_loses() -> None:
    hierarchy = build("town", [[name, "*"] for name in SCHEMA.attributes["town"]])
    shares = [span(SCHEMA.attributes["town"], low, high).share(hierarchy, 0) for low, high in ((0, 1), (1, 3), (0, 3))]
    assert shares == [0, pytest.approx(2 / 3), 1]
    assert not span(("9", "8"), 0, 2).numeric  # no order of numbers


def test_states_are_kept_and_cut() -> None:
    found = task()
    assert found.states.decode(json.loads(json.dumps(found.states.encode(CUTS)))) == CUTS
    assert found.states.decode(None) == found.states.beginning == ()
    assert (found.states.steps(CUTS), found.states.cut(CUTS, 1), found.states.cut(CUTS, 0)) == (3, CUTS[:1], ())
    assert [found.states.is_done(CUTS[:i]) for i in range(4)] == [False, False, False, True]
    assert len({digest(found, CUTS[:i]) for i in range(4)}) == 4


def test_where_widths_and_medians_are_the_same_it_is_mondrian_of_one_table() -> None:
    """Rows on a grid that fill every box, many in the middle: half of each cell's with either party."""
    sizes, k = (8, 4), 40
    grid = np.array([[x, y, comb(7, x) * comb(3, y)] for x, y in product(*map(range, sizes))])
    problem = Problem(sizes, 2000, k, "public")
    cuts, _ = run_local(lambda session: mondrian(engine_of(session, Profile("clear")), problem, grid))
    hierarchies = tuple(build(f"c{n}", [[str(v), "*"] for v in range(n)]) for n in sizes)
    cells = Cells(hierarchies, (), grid[:, :2].T.astype(np.int32), np.zeros((0, 32), dtype=np.int32), 2 * grid[:, 2])
    alone = own_mondrian(cells, [KAnonymity(k)], [True, True])
    ours = {tuple((low, high - 1) for low, high in box) for box in final_boxes(sizes, cuts)}
    assert ours == {tuple((int(one.low), int(one.high)) for one in box) for box in alone.boxes}
    assert len(ours) > 10


WRONG = [
    ("--recode age", "--k: is missing: give the fewest rows of a class"),
    ("--k 4", "--recode is missing"),
    ("--recode aeg --k 4", "recode: 'aeg' is not an attribute of the schema (did you mean 'age'?)"),
    ("--recode age,age --k 4", "recode: name each column once"),
    (
        "--recode age --keep age --k 4",
        "keep: 'age' is recoded, so it cannot also be kept unchanged; remove it from one of them",
    ),
    ("--recode age --keep name --k 4", "keep: 'name' is not an attribute of the schema"),
    ("--recode age --k 0", "--k: must be >= 1"),
    ("--recode age --k 9 --max-rows 8", "k is 9, but there are at most 8 rows of a party"),
    ("--recode age --k 17 --max-rows 8 --against public", "k is 17, but there are at most 16 rows in all"),
    ("--recode age --k 4 --max-rows 1", "k is 4, but there are at most 1 rows of a party"),
    ("--recode age --k 1 --max-rows 1", "2 rows, more than 1, the agreed bound"),
    ("--recode age --k 4 --l 2", "sensitive: is missing; name the column that l-diversity"),
    ("--recode age --k 4 --sensitive end", "sensitive: 'end' needs l or t; or name it in keep"),
    ("--recode age --k 4 --sensitive ent --l 2", "(did you mean 'end'?)"),
    ("--recode age --k 4 --sensitive age --l 2", "sensitive: 'age' is recoded"),
    ("--recode age --k 4 --keep end --sensitive end --l 2", "is always kept; remove it from keep"),
    ("--recode age --k 4 --sensitive end --l 3", "l is 3, but"),
    ("--recode age --k 4 --sensitive end --l 1.5", "must be a whole number"),
    ("--recode age --k 4 --sensitive end --t 0.2 --diversity entropy", "give an l above 1"),
    ("--recode age --k 4 --data no.csv", "no.csv"),
    ("--recode age --k 4 --out mine.csv", "mine.csv"),
]


@pytest.mark.parametrize(("line", "message"), WRONG, ids=[line for line, _ in WRONG])
def test_what_is_wrong_is_a_line(
    line: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    SCHEMA.save(tmp_path / "schema.toml")
    (tmp_path / "mine.csv").write_text("age,end,town\n20,bad,mid\n30,good,mid\n")
    data = [] if "--data" in line else ["--data", "mine.csv"]
    assert message in refused(
        ["publish", "joint", *line.split(), *data, "--schema", "schema.toml", "--listen", "127.0.0.1:0"], capsys
    )
