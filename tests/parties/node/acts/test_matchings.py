"""Rows that earlier jobs have matched: which later job may use them, and how long."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from parties.jobs.align.settings import ExactSettings
from parties.jobs.kind import Inputs
from parties.jobs.kinds.align.exact import AlignExact
from parties.link.identity import Identity
from parties.node.acts.matchings import Matchings
from parties.node.exchanges import commitment
from parties.node.log.jobs import Jobs
from parties.node.offers import Offers
from parties.node.records.sidecar_files import SidecarFiles
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema
from smc.errors import InputError

JOB, OTHER = "ab" * 16, "abcd" * 8
SCHEMA = Schema({"age": ("1", "2")})
CSV = "tax,row of 00\n7,1\n8,2\n"
NOT_OF_THESE = "has matched rows of this table and of the peer's for both parties"


class Kept:
    """A node's jobs: an alignment of two rows with the peer bob, on the table days."""

    def __init__(self, directory: Path, identity: Identity) -> None:
        self.rows = directory / "days.csv"
        self.rows.write_text("tax,age\n7,1\n8,2\n")
        table = TableSettings.model_validate({"source": str(self.rows), "schema": directory / "s.toml", "max_rows": 9})
        self.inputs, self.state = Inputs(0, table, SCHEMA), "done"
        self.task = AlignExact(ExactSettings(by=("tax",), keys=9))
        with self.task.open(self.inputs) as opened:
            assert opened.fingerprint is not None
            key = bytes.fromhex(commitment.keys(identity, JOB)["rows"])
            fingerprint = opened.fingerprint(key).hex()
        said = {"us": SimpleNamespace(withdrawn=None), "peer": SimpleNamespace(withdrawn=None)}
        self.record = SimpleNamespace(
            id=JOB, peer="bob", table="days", party=0, task=self.task, tree={"matched": 2}, fingerprint=fingerprint,
            ended_at=datetime.now(UTC).isoformat(), said_by=said.__getitem__, said=said,
        )  # fmt: skip
        self.records = {JOB: self.record}
        log = SimpleNamespace(path=directory / "node.sqlite", peers=SimpleNamespace(identity=identity))
        jobs = SimpleNamespace(
            log=log, known=self.records.get, all=lambda: list(self.records.values()), state=lambda record: self.state
        )
        offers = SimpleNamespace(aligned_hours=2, inputs=lambda party, table: self.inputs)
        self.place = SidecarFiles(log.path)
        self.place.write_own_result(JOB, CSV.encode())
        self.matchings = Matchings(cast("Jobs", jobs), cast("Offers", offers))

    def error(self, peer: str = "bob", table: str = "days", job: str = JOB) -> str:
        with pytest.raises(InputError) as error:
            self.matchings.find(peer, table, job).read()
        assert "\n" not in str(error.value)
        return str(error.value)


@pytest.fixture
def kept(tmp_path: Path, identities: dict[str, Identity]) -> Kept:
    return Kept(tmp_path, identities["alice"])


@pytest.mark.parametrize("job", [JOB, JOB[:4], "latest"])
def test_a_matching_is_named_by_its_job(kept: Kept, job: str) -> None:
    found = kept.matchings.find("bob", "days", job)
    assert (found.job, found.rows, found.read()) == (JOB, 2, CSV)


@pytest.mark.parametrize("wrong", [{"peer": "eve"}, {"table": "nights"}, {"job": OTHER}, {"job": "f"}])
def test_a_job_with_another_peer_or_table_does_not_fit(kept: Kept, wrong: dict[str, str]) -> None:
    assert NOT_OF_THESE in kept.error(**wrong)


@pytest.mark.parametrize(
    "change",
    [
        lambda kept: setattr(kept, "state", "failed"),
        lambda kept: setattr(kept.record, "task", AlignExact(ExactSettings(by=("tax",), learns="listener"))),
        lambda kept: setattr(kept.record, "task", AlignExact(ExactSettings(by=("tax",), opens="number"))),
        lambda kept: setattr(kept.record.said["us"], "withdrawn", "a word"),
        lambda kept: setattr(kept.record.said["peer"], "withdrawn", "a word"),
    ],
)
def test_a_job_without_rows_for_both_does_not_fit(kept: Kept, change: Any) -> None:
    change(kept)
    assert NOT_OF_THESE in kept.error()
    assert f"no job {NOT_OF_THESE}; propose align exact first" in kept.error(job="latest")


def test_of_several_jobs_none_is_guessed_and_the_newest_is_latest(kept: Kept) -> None:
    kept.records.clear()
    kept.records.update({OTHER: SimpleNamespace(**vars(kept.record) | {"id": OTHER}), JOB: kept.record})
    kept.place.write_own_result(OTHER, CSV.encode())
    assert "more than one job 'ab' has matched" in kept.error(job="ab")
    assert kept.matchings.find("bob", "days", "latest").job == OTHER


def test_rows_are_removed_some_hours_after_the_job(kept: Kept) -> None:
    kept.record.ended_at = (datetime.now(UTC) - timedelta(hours=1.9)).isoformat()
    assert kept.matchings.find("bob", "days", JOB).rows == 2
    kept.record.ended_at = (datetime.now(UTC) - timedelta(hours=2.1)).isoformat()
    assert "abababab has matched are kept no longer; propose align exact anew" in kept.error()
    assert not kept.place.own_result(JOB).exists()


def test_a_look_at_one_job_touches_no_rows_of_another(kept: Kept) -> None:
    long_ago = (datetime.now(UTC) - timedelta(hours=3)).isoformat()
    kept.records[OTHER] = SimpleNamespace(**vars(kept.record) | {"id": OTHER, "ended_at": long_ago})
    kept.place.write_own_result(OTHER, CSV.encode())
    kept.matchings.find("bob", "days", JOB)
    assert kept.place.own_result(OTHER).exists()
    kept.matchings.expire()
    assert [kept.place.own_result(job).exists() for job in (JOB, OTHER)] == [True, False]


@pytest.mark.parametrize(
    ("rows", "is_other"),
    [
        ("tax,age\n8,2\n7,2\n", False),  # another order, and another value of a column that is no key
        ("tax,age\n7,1\n", True),
        ("tax,age\n7,1\n8,2\n9,1\n", True),
        ("tax,age\n7,1\n6,2\n", True),
    ],
)
def test_a_table_whose_keys_have_changed_is_refused(kept: Kept, rows: str, is_other: bool) -> None:
    kept.rows.write_text(rows)
    if is_other:
        assert "tables.days: its key columns, or this node's key, have changed since job abababab" in kept.error()
    else:
        assert kept.matchings.find("bob", "days", JOB).read() == CSV
