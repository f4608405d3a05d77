"""A table whose rows are not fit is away, as the peer sees it; and of what its error quotes nothing is written down."""

from __future__ import annotations

from pathlib import Path

import pytest

from parties.jobs.inputs import AwayError
from parties.node.links.executor import Order, opened
from parties.sources.settings import TableSettings
from parties.tables.unfit import UnfitError, without_cells
from tests.support.ledgers import SCHEMA, Pair, agreed
from tests.support.proposals import inputs_of

pytestmark = pytest.mark.slow

HEADER = "wind,rain,play\n"


@pytest.mark.parametrize(
    ("rows", "quoted", "kept"),
    [
        ("weak,no,yes\nweak,pneumonia-4711,no\n", "pneumonia-4711", "column 'rain': a value not in the schema"),
        ("weak,,yes\n", "", "column 'rain': no value"),
        ("weak,no,yes\n" * 137, "137 rows", "more than 100"),
    ],
)
def test_a_cell_is_in_no_file_of_the_node(pair: Pair, tmp_path: Path, rows: str, quoted: str, kept: str) -> None:
    (tmp_path / "rows.csv").write_text(HEADER + rows)
    job, alice = agreed(pair), pair.parties[0]
    table = {"source": str(tmp_path / "rows.csv"), "schema": "schema.toml", "max_rows": 100}
    inputs = type(inputs_of(SCHEMA))(0, TableSettings.model_validate(table), SCHEMA)
    proposal = alice.ledger.jobs.find(job).ours.proposal
    with pytest.raises(UnfitError) as caught, proposal.task.open(inputs):
        pass
    assert quoted in str(caught.value)
    with pytest.raises(AwayError) as away, opened(Order(proposal, inputs, None, "", "", alice.who.identity, b"")):
        pass
    assert str(away.value) == without_cells(caught.value)
    assert kept in str(away.value)
    alice.ledger.runs.table_away(job, str(away.value))
    assert kept in alice.ledger.jobs.find(job).note
    written = b"".join(path.read_bytes() for path in alice.path.parent.iterdir())
    assert kept.encode() in written
    assert not quoted or quoted.encode() not in written
