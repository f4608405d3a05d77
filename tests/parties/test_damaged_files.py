"""Every reader of a file, given one with damage: it reads it, or says in its own words what is wrong."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parties.alone.blurring import plan as blurring
from parties.alone.local import plan as local
from parties.alone.local import reports
from parties.alone.publish import rules
from parties.alone.publish import settings as publish
from parties.alone.publish.cells import Cells, reduced
from parties.alone.publish.hierarchy import build
from parties.alone.publish.reading import in_order
from parties.alone.publish.recoding import recoding
from parties.alone.publish.sealing import sealed
from parties.jobs.publish.recoding import joint_in
from parties.models.load import load_model
from parties.models.trees.tree import TreeFile
from parties.node import settings as node
from parties.node.proposal import read_job
from parties.node.records import export
from parties.tables import schema
from smc.errors import InputError
from tests.support.damage import contents, documents

DIGEST = "0" * 64
ROWS = {"zip": ["53701", "53702", "53801"], "age": ["20", "31", "40"], "sex": ["m", "f", "m"]}
BLUR = """
[columns]
age = { noise = "uniform", low = 0, high = 100, privacy = 0.5 }
pay = { noise = "cells", low = 0, high = 1000, privacy = 0.5, whole = true }
sex = { noise = "response", values = ["m", "f"], keep = 0.6 }
"""
LOCAL = 'question = "town"\nmechanism = "direct"\nvalues = ["a", "b"]\nepsilon = 2.0\nreports = 2\n'
PUBLISH = """
source = "rows.csv"
max_suppressed = 0.1
[columns]
name = { role = "identifier", pseudonym = "deterministic", key = "k" }
card = { role = "identifier", mask = { kind = "custom", padding = "x", last = 3 }, unmask = ["cashier"] }
zip = { role = "quasi-identifier", prefixes = [4, 3] }
age = { role = "quasi-identifier", ranges = [5, 10] }
disease = { role = "sensitive", tree = "disease.csv" }
[[models]]
model = "k-anonymity"
k = 4
[[models]]
model = "recursive-l-diversity"
column = "disease"
l = 2
c = 1.5
"""
RECODING = {
    "smc_recoding": 1,
    "columns": {
        "zip": {"role": "quasi-identifier", "prefixes": [4, 3]},
        "age": {"role": "quasi-identifier", "ranges": [5.0, 10.0]},
        "sex": {"role": "quasi-identifier", "paths": [["m", "*"], ["f", "*"]]},
    },
    "models": [{"model": "k-anonymity", "k": 1}],
    "max_suppressed": 0.5,
    "levels": [1, 2, 0],
    "boxes": None,
}
BOXES = [{"label": "*", "level": 3}, {"label": "20-40", "level": 0, "low": 20.0, "high": 40.0, "numeric": True}]
PARTY = """
[link]
identity = "a.key"
peer = "b.crt"
connect = "127.0.0.1:9"
wait = 3.0
[controller]
name = "Clinic A"
contact = "x"
[notify]
webhook = "https://chat.example/hook"
[tables.weather]
source = "days.csv"
schema = "schema.toml"
max_rows = 100
[id3]
tolerance = 0.1
[[policy]]
name = "all"
effect = "permit"
"""
SEALED = {
    "format": sealed.FORMAT,
    "question": "q",
    "job": DIGEST,
    "analyst": "a",
    "by": "age",
    "across": None,
    "sum": None,
    "units": {"factor": 1, "digits": 0},
    "threshold": 3,
    "against": "public",
    "zeros": "hide",
    "rows": ["x", "Total"],
    "columns": ["count"],
    "hidden": ["0", "0"],
    "width": 8,
    "masked": "0102",
    "shares": ["00", "01"],
}
TREE = {
    "schema_digest": DIGEST,
    "target": "play",
    "tolerance": 0.1,
    "tree": {"attribute": "wind", "branches": {"weak": {"class": "yes"}, "strong": {"class": "no"}}},
}
BAYES = {"target": "play", "classes": {"yes": 3, "no": 2}, "columns": {"wind": {"weak": [1, 2], "strong": [2, 0]}}}
LINEAR = {"target": "d", "classes": ["a", "b"], "intercept": 1.5, "weights": {"sex": {"m": 0.5, "f": 1}, "age": 2.5}}
JOINT = {"joint": {"schema": DIGEST, "cuts": []}, "columns": {"age": {"role": "quasi-identifier"}}}
SCHEMA = 'target = "play"\n[attributes]\nwind = ["weak", "strong"]\nplay = ["yes", "no"]\n'
JOB = {
    "protocol": "id3",
    "table": "weather",
    "peer_table": "weather",
    "target": "play",
    "max_depth": 3,
    "tolerance": 0.1,
}
ENTRY = {"number": 1, "previous": "", "kind": "x", "at": "2026", "job": None, "fields": {"a": 1}, "hash": DIGEST}


def recode(path: Path) -> None:
    """The recoding, and what it makes of rows."""
    found = recoding.load(path)
    found.published()
    names = [name for name in found.named("quasi-identifier") if name in ROWS]
    made = [found.hierarchy(name, in_order(ROWS[name])) for name in names]
    if names and len(names) == len(found.named("quasi-identifier")):
        coded = [[h.code(value) for value in ROWS[name]] for h, name in zip(made, names, strict=True)]
        codes, counts = reduced(np.array(coded, dtype=np.int32))
        found.partition(Cells(tuple(made), (), codes, codes[:0], counts), found.made())


def plan_of(path: Path) -> None:
    _, mechanism = local.load(path)
    assert mechanism.width


def tally(path: Path) -> None:
    plan = local.LocalPlan.model_validate(tomllib.loads(LOCAL))
    reports.read_tally(path, plan, plan.made())


TOML: list[tuple[Callable[[Path], Any], str]] = [
    (publish.load, PUBLISH),
    (blurring.load, BLUR),
    (plan_of, LOCAL),
    (node.load, PARTY),
    (schema.load, SCHEMA),
]
JSON: list[tuple[Callable[[Path], Any], Any]] = [
    (recode, RECODING),
    (recode, RECODING | {"levels": None, "boxes": [[*BOXES, {"label": "m", "values": ["m"]}]]}),
    (sealed.load, SEALED),
    (TreeFile.load, TREE),
    (load_model, BAYES),
    (load_model, LINEAR),
    (tally, {"plan": local.LocalPlan.model_validate(tomllib.loads(LOCAL)).digest(), "tally": [1, 2]}),
    (lambda path: joint_in(path, schema.Schema({"age": ("1",)}), ["age"], "joint"), JOINT),
]
LINES: list[tuple[Callable[[Path], Any], bytes]] = [
    (rules.read_tree, b"flu;lung;*\nulcer;stomach;*\n"),
    (lambda path: build("c", rules.read_tree(path)), b"flu;lung;*\nulcer;stomach;*\n"),
    (tally, reports.header(local.LocalPlan.model_validate(tomllib.loads(LOCAL))) + b"00\n01\n"),
    (export.read_lines, (json.dumps(ENTRY, separators=(",", ":"), sort_keys=True) + "\n").encode()),
    (reports.candidates, b"Padua\nTrent\n"),
    (schema.load, SCHEMA.encode()),
    (publish.load, PUBLISH.encode()),
    (TreeFile.load, json.dumps(TREE).encode()),
    (recode, json.dumps(RECODING).encode()),
]
bounded = settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


def _reads(reader: Callable[[Path], Any], path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with suppress(InputError):
        reader(path)


def _plain(value: Any) -> Any:
    """What TOML can say."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items() if one is not None}
    return [_plain(one) for one in value if one is not None] if isinstance(value, list) else value


@pytest.mark.parametrize(("reader", "whole"), TOML)
@bounded
@given(data=st.data())
def test_settings_with_other_values(
    reader: Callable[[Path], Any], whole: str, data: st.DataObject, tmp_path: Path
) -> None:
    found = _plain(data.draw(documents(tomllib.loads(whole))))
    _reads(reader, tmp_path / "f.toml", tomli_w.dumps(found).encode())


@pytest.mark.parametrize(("reader", "whole"), JSON)
@bounded
@given(data=st.data())
def test_documents_with_other_values(
    reader: Callable[[Path], Any], whole: Any, data: st.DataObject, tmp_path: Path
) -> None:
    _reads(reader, tmp_path / "f.json", json.dumps(data.draw(documents(whole))).encode())


@pytest.mark.parametrize(("reader", "whole"), LINES)
@bounded
@given(data=st.data())
def test_files_that_were_cut_or_got_something_in(
    reader: Callable[[Path], Any], whole: bytes, data: st.DataObject, tmp_path: Path
) -> None:
    _reads(reader, tmp_path / "f", data.draw(contents(whole)))


@bounded
@given(documents(JOB))
def test_jobs_with_other_values(job: dict[str, Any]) -> None:
    with suppress(InputError):
        read_job(job)
