"""The versions of the tables behind normal forms are terms of an alignment: other versions may make other keys."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parties.jobs import kinds
from parties.jobs.align import kept_list
from parties.jobs.align.settings import LookupSettings
from parties.jobs.inputs import Inputs
from parties.jobs.kinds.align.lookup import AlignLookup
from parties.link.handshake import agree, make_hello
from parties.sources.settings import TableSettings
from protocols.alignment import forms
from protocols.alignment.lookup import List
from smc.errors import InputError, JobMismatchError
from tests.support.ledgers import SCHEMA

OTHER = "3.2.0"
TERMS: dict[str, dict[str, Any]] = {
    "align exact": {"by": ("tax", "name+born"), "forms": ("name=accents+case", "tax=phone:CH")},
    "align lookup": {"by": ("tax",), "forms": ("tax=phone:CH",), "learns": "dialler"},
    "align fuzzy": {
        "comparisons": ("name=exact:0.7:0.001+else:0.3:0.999",),
        "blocking_rules": ("phone:phone:CH",),
        "threshold_match_weight": 1.0,
    },
}


def task_of(name: str) -> Any:
    kind = kinds.find(name)
    return kind(kind.Settings(**TERMS[name], keys=40))  # type: ignore[call-arg]


@pytest.mark.parametrize("name", TERMS)
def test_the_versions_are_compared_before_a_key_is_entered(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = task_of(name)
    installed = {"phonenumbers": version("phonenumbers")}
    assert ours.specification()["normal_form_versions"] == installed
    monkeypatch.setattr(forms, "version", lambda package: OTHER)
    theirs = task_of(name)
    hellos = [make_hello(party, task.specification()) for party, task in enumerate((ours, theirs))]
    line = f'normal_form_versions.phonenumbers: ours "{installed["phonenumbers"]}", peer\'s "{OTHER}"'
    with pytest.raises(JobMismatchError, match=f"{line}$"):
        agree(*hellos)


@pytest.mark.parametrize("name", TERMS)
def test_a_node_refuses_other_versions_and_still_reads_the_job(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after an update of Python: a job in the ledger keeps its versions, and does not run by others."""
    table = TableSettings.model_validate({"source": "x.csv", "schema": "schema.toml", "max_rows": 10})
    inputs = Inputs(1, table, SCHEMA)
    specification = task_of(name).specification()
    assert kinds.find(name).agreed(specification).misfit(inputs) is None
    monkeypatch.setattr(forms, "version", lambda package: OTHER)
    read = kinds.find(name).agreed(specification)
    assert read.specification() == specification
    why = read.misfit(inputs)
    assert why is not None
    assert f'{{"phonenumbers":"{OTHER}"}} here' in why
    assert why.endswith("in the job; install the same versions")
    del specification["normal_form_versions"]
    older = kinds.find(name).agreed(specification)  # of a release without this term
    assert older.specification() == specification
    assert "by '{}' in the job" in str(older.misfit(inputs))


def test_a_list_that_was_made_by_other_versions_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = LookupSettings(**TERMS["align lookup"], kept=tmp_path / "list.npz")
    terms = AlignLookup(settings).terms
    empty = np.zeros((0, 7), np.uint8)
    kept_list.write(settings, List(np.zeros(32, np.uint8), empty, np.zeros(32, np.uint8)))
    assert kept_list.read(settings, terms, True)
    monkeypatch.setattr(forms, "version", lambda package: OTHER)
    with pytest.raises(InputError, match="or another version of phonenumbers; use its settings"):
        kept_list.read(settings, terms, True)
