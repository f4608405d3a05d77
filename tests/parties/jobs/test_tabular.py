"""What kinds on rows share: the rows of a file and those of a table are the same to a run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from parties.base.settings import merge
from parties.jobs import kinds
from parties.jobs.hidden_rows import HiddenTerms
from parties.jobs.inputs import Matching
from parties.jobs.kind import NO_BITS, Disclosure, Document, Inputs, State
from parties.jobs.settings import BooleanSettings, RowBound, row_bound
from parties.jobs.tabular import BySchema, TabularSettings, beside
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema
from smc.errors import InputError
from tests.support.noisy import Noisy, NoisySettings

SCHEMA = Schema({"wind": ("weak", "strong"), "rain": ("no", "some", "much"), "play": ("yes", "no")})


class SeenSettings(BooleanSettings, TabularSettings):
    """`smc seen`."""

    max_rows: RowBound = row_bound()


class Seen(BySchema):
    """All of the schema but its first column, in another order than there; a run would take the distinct rows."""

    name = "seen"
    Settings = SeenSettings

    @classmethod
    def canonical(cls, settings: Any, schema: Schema) -> Seen:
        return cls(settings, Schema(schema.only(list(schema.attributes)[1:]).attributes))

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(reversed(self.schema.attributes))

    def own_rows(self, source: Any) -> Any:
        return sorted(map(tuple, source.distinct().tolist()))

    @property
    def disclosure(self) -> Disclosure:
        return Disclosure(lambda peer: [], lambda state, step=None: {}, NO_BITS)

    def cost(self, inputs: Inputs, extra: Any = None) -> Any:
        raise NotImplementedError

    def run(self, engine: Any, data: Any, start: State, on_step: Any) -> State:
        raise NotImplementedError

    def document(self, state: State) -> Document:
        return {}

    @classmethod
    def text(cls, document: Document, party: int) -> str:
        return ""


def test_a_file_and_a_table_bring_the_same_rows(tmp_path: Path) -> None:
    rows = [("no", "yes")] * 3 + [("much", "no")] * 2 + [("much", "yes")]
    SCHEMA.save(tmp_path / "schema.toml")
    (tmp_path / "rows.csv").write_text("rain,x,play\n" + "".join(f"{rain},9,{play}\n" for rain, play in rows))
    settings = SeenSettings.model_validate({"data": tmp_path / "rows.csv", "schema": tmp_path / "schema.toml"})
    task, from_file, remarks = Seen.alone(settings, 0)
    assert remarks == ["not in the schema, ignored: 'x'"]
    (tmp_path / "rows.csv").write_text("wind,rain,play\n" + "".join(f"weak,{rain},{play}\n" for rain, play in rows))
    table = {"source": str(tmp_path / "rows.csv"), "schema": str(tmp_path / "schema.toml"), "max_rows": 100}
    inputs = Inputs(0, TableSettings.model_validate(table), SCHEMA)
    with Seen.proposed(SeenSettings(), inputs).open(inputs) as from_table:
        assert from_table.data == from_file
        assert from_table.fingerprint is not None
    assert (task.columns, task.target) == (("play", "rain"), "play")
    assert from_file == [(0, 0, 3), (2, 0, 1), (2, 1, 2)]  # rain, play, how many


def test_a_kind_that_only_a_node_has_rows_for_is_no_command() -> None:
    with pytest.raises(InputError, match="noisy reads the table of a node: propose it with smc submit"):
        Noisy.alone(NoisySettings(), 0)


OWN, PEERS = (
    Schema({"wind": SCHEMA.attributes["wind"]}),
    Schema({"rain": ("no", "some", "much"), "play": ("yes", "no")}),
)
MATCHED = "ab" * 16
NOISE: dict[str, Any] = {"epsilon": 1.0, "adjacency": "replace"}
ON_MATCHED: dict[str, dict[str, Any]] = {
    "id3": {"target": "play", "plain": True},
    "rank": {"target": "play"},
    "release count": {"where": "wind = weak and play = yes", **NOISE},
    "release table": {"by": ("wind", "play"), **NOISE},
    "release top": {"column": "rain", "by": ("wind",), "first": 1, **NOISE},
    "rules": {"columns": ("wind", "play")},
    "test chi2": {"columns": ("rain", "wind")},
}


def matched(directory: Path, party: int = 0, job: str = MATCHED, **more: Any) -> Inputs:
    """Inputs of a node that keeps an alignment of 40 rows; the peer has the columns of `PEERS`."""
    PEERS.save(directory / "peer.toml")
    OWN.save(directory / "own.toml")
    table = {"source": "rows.csv", "schema": directory / "own.toml", "beside": directory / "peer.toml", "max_rows": 90}

    def found(name: str) -> Matching:
        if name not in (job, "latest"):
            raise InputError("alignment: no job has matched")
        return Matching(job, 40, lambda: "")

    return Inputs(party, TableSettings.model_validate(table | more), OWN, matching=found)


@pytest.mark.parametrize("name", ON_MATCHED)
@pytest.mark.parametrize("party", [0, 1])
def test_a_job_on_matched_rows_takes_the_columns_of_both_tables(tmp_path: Path, name: str, party: int) -> None:
    kind, inputs = kinds.find(name), matched(tmp_path, party)
    task: Any = kind.proposed(merge(kind.Settings(), {"alignment": "latest", **ON_MATCHED[name]}), inputs)
    specification = task.specification()
    names = {item["name"] for item in specification["schema"]["attributes"]}
    assert (specification["alignment"], specification["max_rows"]) == (MATCHED, 40)
    assert set(specification["listener_columns"]) == ({"wind"} if party == 0 else names - {"wind"})
    assert task.columns_of(party) == ("wind",)
    assert set(task.columns_of(1 - party)) == names - {"wind"}
    again: Any = kind.agreed(specification)
    assert again.specification() == specification
    assert again.misfit(inputs) is None
    assert again.without_holders is not None
    assert any("alignment abababab" in line for line in again.disclosure.reveals("b"))
    assert again.parameters()["alignment"] == MATCHED


@pytest.mark.parametrize(
    ("changed", "line"),
    [
        ({"alignment": "latest"}, "alignment of the job must be the whole identifier of the job that has matched"),
        ({"alignment": MATCHED[:16]}, "alignment of the job must be the whole identifier"),
        ({"alignment": None}, "alignment of the job must be the whole identifier"),
        ({"alignment": "cd" * 16}, "alignment: no job has matched"),
        ({"max_rows": 39}, "max_rows of the job must be 40, the rows that its alignment has matched"),
        ({"max_rows": 41}, "max_rows of the job must be 40"),
        ({"listener_columns": ["wind", "play"]}, "the table has no attribute 'play'"),
        ({"listener_columns": ["rain"]}, "the table has no attribute 'rain'"),
        ({"schema": ("strong", "weak")}, "the table's attribute 'wind' has other values than the job's"),
    ],
)
def test_a_peer_that_names_another_matching_or_other_columns_is_a_line(
    tmp_path: Path, changed: dict[str, Any], line: str
) -> None:
    kind, inputs = kinds.find("id3"), matched(tmp_path)
    settings = merge(kind.Settings(), {"alignment": MATCHED, **ON_MATCHED["id3"]})
    terms: Any = kind.proposed(settings, inputs).specification() | changed
    if "schema" in changed:
        terms["schema"] = Schema({**PEERS.attributes, "wind": changed["schema"]}).public()
    if terms["alignment"] is None:
        del terms["alignment"]
    assert (kind.agreed(terms).misfit(inputs) or "").startswith(line)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("release count", NOISE),
        ("release count", {"where": "rain in [no, some, much]", **NOISE}),
        ("release table", {"by": ("rain",), **NOISE}),
        ("id3", {"target": "play", "columns": ("rain",), "plain": True}),
        ("rank", {"target": "play", "columns": ("rain",)}),
        ("rules", {"columns": ("rain", "play")}),
        ("synthesise", {"columns": ("rain", "play"), "delta": 1e-6, **NOISE}),
    ],
)
@pytest.mark.parametrize("party", [0, 1])
def test_a_job_on_hidden_rows_may_read_columns_of_one_party(
    tmp_path: Path, name: str, settings: dict[str, Any], party: int
) -> None:
    """The job of known rows is refused, also if the peer gives its terms."""
    kind, inputs = kinds.find(name), matched(tmp_path, party)
    joint, listener = beside(OWN, tmp_path / "peer.toml", party)
    terms = HiddenTerms("cd" * 16, joint, listener, "dialler", 99)
    hidden = replace(inputs, matching=lambda name: Matching(MATCHED, terms, lambda: ""))
    task: Any = kind.proposed(merge(kind.Settings(), {"alignment": "latest", **settings}), hidden)
    specification = json.loads(json.dumps(task.specification()))
    again: Any = kind.agreed(specification)
    assert again.specification() == specification
    assert again.misfit(hidden) is None
    gives = {party: task.columns_of(party) for party in (0, 1)}
    assert sorted(map(len, gives.values())) == [0, len(task.columns)]
    without = "dials" if gives[0] else "listens"
    assert any(f"party that {without} gives no column" in line for line in again.disclosure.reveals("b"))
    del specification["hidden_rows"]
    with pytest.raises(InputError, match=r"^alignment: the job reads .*, columns of one party; name one of each"):
        kind.agreed(specification)


@pytest.mark.parametrize("name", ON_MATCHED)
def test_terms_that_name_a_matching_and_no_columns_of_a_party_are_not_canonical(tmp_path: Path, name: str) -> None:
    """Such a job would count all rows, and show its operators an alignment."""
    kind = kinds.find(name)
    settings = merge(kind.Settings(), {"alignment": MATCHED, **ON_MATCHED[name]})
    terms = {**kind.proposed(settings, matched(tmp_path)).specification()}
    del terms["listener_columns"]
    assert "alignment" not in kind.agreed(terms).specification()


@pytest.mark.parametrize(
    ("settings", "table", "line"),
    [
        ({"max_rows": 41}, {}, "max_rows: the alignment has 40 rows; remove max_rows"),
        ({}, {"beside": None}, "alignment: name the peer's schema file as `beside` in"),
        ({"alignment": "cd"}, {}, "alignment: no job has matched"),
        ({"columns": ("rain",)}, {}, "alignment: the job reads 'rain', 'play', columns of one party"),
        ({"held_out": 0.2}, {}, "held_out cannot be combined with alignment; remove one of them"),
        ({"shards": 2}, {}, "shards cannot be combined with alignment; remove one of them"),
        ({"epsilon": 1.0}, {}, "adjacency: both parties know who is aligned, so noise hides values; set adjacency to"),
    ],
)
def test_a_proposal_on_matched_rows_that_cannot_be_is_a_line(
    tmp_path: Path, settings: dict[str, Any], table: dict[str, Any], line: str
) -> None:
    kind = kinds.find("id3")
    with pytest.raises(InputError) as error:
        kind.proposed(
            merge(kind.Settings(), {"alignment": MATCHED, **ON_MATCHED["id3"], **settings}), matched(tmp_path, **table)
        )
    assert str(error.value).startswith(line)


def test_without_a_node_nothing_is_matched() -> None:
    with pytest.raises(InputError, match="alignment: only a node keeps the rows that job 'abababab' has matched"):
        Inputs().matching(MATCHED)
