"""Rows held out of training at a node: people as a whole, and the same ones when the model is judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from parties.jobs import kinds
from parties.jobs.inputs import Inputs
from parties.jobs.kind import refusal
from parties.sources import TableSettings
from parties.tables.schema import Schema

SCHEMA = Schema({"person": tuple(f"p{i}" for i in range(60)), "sex": ("f", "m"), "ill": ("no", "yes")}, "ill")


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    people = np.arange(180) % 60
    rows = {"person": [f"p{i}" for i in people], "sex": ["fm"[i % 2] for i in people], "ill": ["no", "yes"] * 90}
    pandas.DataFrame(rows).to_csv(tmp_path / "x.csv", index=False)
    (tmp_path / "a.key").write_bytes(b"a private key")
    fields = {"source": str(tmp_path / "x.csv"), "schema": "s.toml", "max_rows": 200, "least_rows": 180}
    table = TableSettings.model_validate({**fields, "person": "person", "at_most": 3})
    table.owned_by(tmp_path / "a.key")
    return Inputs(table=table, schema=SCHEMA)


def people_of(name: str, inputs: Inputs, **settings: Any) -> tuple[Any, set[int]]:
    """The task, and the people whose rows it reads."""
    kind: Any = kinds.find(name)
    task = kind.agreed(kind.proposed(kind.Settings(at_most=3, **settings), inputs).specification())
    assert refusal(task, inputs) is None
    seen: list[Any] = []
    with inputs.counts(task.target, ("person", *task.columns), task.schema, part=task.rows_taken) as source:
        seen.append(source.distinct())
    people = set(seen[0][:, 0].tolist())
    with task.open(inputs) as opened:
        assert name == "id3" or opened.data.sum() == 3 * len(people)
        assert opened.fingerprint is not None
    return task, people


def test_nobody_trains_and_judges_a_model(inputs: Inputs) -> None:
    trainer, trained = people_of("id3", inputs, columns=("sex",), held_out=0.3)
    tree = {"class": "yes"}
    model = {"schema_digest": "0" * 64, "target": "ill", "tolerance": 0.1, "tree": tree, **trainer.split_fields}
    assert model["split"] == {"held_out": 0.3}
    judge, judged = people_of("evaluate report", inputs, classifier=json.dumps(model), exact=True)
    assert judge.settings.judged_on == "held-out"
    assert "of the 30% of people that were held out of training" in judge.query.learnt
    assert trained.isdisjoint(judged)
    assert trained | judged == set(range(60))
    _, again = people_of("evaluate report", inputs, classifier=json.dumps(model), exact=True, judged_on="training")
    assert again == trained
