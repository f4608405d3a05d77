"""Frames that are lost, late, sent twice, in another order, changed or withheld end as they may; nothing hangs.

`make faults` has every kind of job, and more of its frames, and writes the table of docs/faults.md.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from parties.link.identity import create
from tests.support import fault_table
from tests.support.blame_cases import CASES
from tests.support.frame_faults import FAULTS
from tests.support.places import ROOT

PAGE = ROOT / "docs/faults.md"


pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", ["millionaires typed", "release count"])
def test_a_fault_ends_as_it_may(name: str, tmp_path: Path) -> None:
    identities = {who: create(who, [], tmp_path) for who in ("alice", "bob")}
    found = fault_table.row(name, tmp_path, identities, most=1)
    assert {kind: sum(endings.values()) for kind, endings in found.items()} == dict.fromkeys(FAULTS, 2)


def test_the_table_has_every_job_and_no_cell_that_is_not_explained() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.read_text().splitlines()
        if line.startswith("|")
    ]
    heads, _, *jobs = rows[rows.index(["job", *FAULTS]) :]
    assert [job for job, *_ in jobs] == list(CASES)
    for job, *cells in jobs:
        for kind, cell in zip(heads[1:], cells, strict=True):
            assert {part.split(":")[0] for part in cell.split(", ")} <= fault_table.MAY_END[kind], (job, kind)
