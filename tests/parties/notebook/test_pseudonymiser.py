"""Pseudonyms in frames of any kind: the command's, under the command's keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone

from parties import cli
from parties.notebook import Pseudonymiser
from smc.errors import InputError

PEOPLE = {"patient": ["ann", "bob", "ann", None], "mail": ["a@x", None, "a@x", "c@y"], "visit": [1, 2, 3, 4]}
KEYS = ["--master", "master.key", "--keys", "keys.db"]


@pytest.fixture(autouse=True)
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.run(["publish", "keys", *KEYS]) == 0


def made(**given: Any) -> Pseudonymiser:
    columns = {"patient": "deterministic", "mail": "randomised"}
    return Pseudonymiser(columns, master="master.key", keys="keys.db", **given)


def listed(frame: Any) -> dict[str, list[Any]]:
    if isinstance(frame, pa.Table):
        return frame.to_pydict()
    if isinstance(frame, pl.DataFrame):
        return frame.to_dict(as_series=False)
    return {name: [None if pd.isna(x) else x for x in frame[name]] for name in frame.columns}


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_there_and_back(kind: Any, capsys: Any) -> None:
    one = clone(made())
    found = one.fit_transform(kind(PEOPLE))
    assert type(found) is type(kind(PEOPLE))
    cells = listed(found)
    assert list(cells) == ["patient", "mail", "visit"]
    assert cells["patient"][0] == cells["patient"][2] not in ("ann", cells["patient"][1], None)
    assert cells["mail"][0] != cells["mail"][2]
    assert (cells["patient"][3], cells["mail"][1], cells["visit"]) == (None, None, [1, 2, 3, 4])
    assert listed(one.restore(found, purpose="recall")) == PEOPLE
    capsys.readouterr()
    assert cli.run(["publish", "records", *KEYS, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[-1]["fields"]["purpose"] == "recall"


def test_they_are_those_of_the_command() -> None:
    Path("rows.csv").write_text("patient,visit\nann,1\n")
    Path("publish.toml").write_text(
        'source = "rows.csv"\n[columns]\npatient = { role = "identifier", pseudonym = "deterministic" }\n'
    )
    assert cli.run(["publish", "pseudonyms", "--plan", "publish.toml", *KEYS, "--out", "out.csv"]) == 0
    written = Path("out.csv").read_text().split()[1].strip('"')
    assert listed(made().transform(pl.DataFrame(PEOPLE)))["patient"][0] == written


def test_a_forgotten_subject_and_dropped_columns() -> None:
    one = made(subject="patient", drop=["visit"])
    frame = pl.DataFrame(PEOPLE).head(3)
    found = one.fit_transform(frame)
    assert found.columns == ["patient", "mail"]
    assert cli.run(["publish", "forget", *KEYS, "--subject", "ann"]) == 0
    assert one.restore(found, purpose="x")["patient"].to_list() == [None, "bob", None]
    with pytest.raises(InputError, match="a row has no person in the subject column 'patient'"):
        one.transform(pl.DataFrame(PEOPLE))


def test_what_is_warned_of_and_refused() -> None:
    few = pd.DataFrame({"patient": ["North", "South"] * 3, "mail": ["a"] * 6})
    with pytest.warns(UserWarning, match="patient: only 2 values in 6 rows"):
        made().fit(few)
    with pytest.raises(InputError, match="not a data frame"):
        made().fit([["ann"]])
    with pytest.raises(InputError, match="mail"):
        made().transform(pd.DataFrame({"patient": ["ann"]}))
    made().transform(few)
    with pytest.raises(InputError, match="not a pseudonym of this key"):
        made().restore(few, purpose="x")
    with pytest.raises(InputError, match="give the reason"):
        made().restore(few, purpose=" ")
    Path("master.key").chmod(0o644)
    with pytest.raises(InputError, match="can be read by other users"):
        made().transform(few)
