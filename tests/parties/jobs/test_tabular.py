"""What kinds on rows share: the rows of a file and those of a table are the same to a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parties.jobs.kind import NO_BITS, Disclosure, Document, Inputs, State
from parties.jobs.settings import BooleanSettings, RowBound, row_bound
from parties.jobs.tabular import BySchema, TabularSettings
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
