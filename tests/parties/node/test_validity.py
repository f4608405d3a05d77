"""Certificates that end: said in time, once a day, and why nothing runs when it is too late."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from parties.link.identity import create
from parties.node import validity
from parties.node.peers import Who
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow


def who(directory: Path, ours: int, theirs: int) -> Who:
    """The two parties of a link, whose certificates are valid for so many days."""
    peer = create("bert", [], directory, theirs).certificate
    return Who(create("anna", [], directory, ours), peer, 0)


def at(monkeypatch: pytest.MonkeyPatch, days: float) -> None:
    """The clock shows a moment so many days from now."""
    moment = datetime.now(UTC) + timedelta(days=days)
    monkeypatch.setattr(validity, "datetime", SimpleNamespace(now=lambda zone: moment))


def test_a_certificate_that_ends_is_told_of_before_and_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = who(tmp_path, 100, 200)
    ends = f"{both.identity.certificate.not_valid_after_utc:%Y-%m-%d %H:%M} UTC"
    for days, said, stops in (
        (69, "", False),
        (71, f"our certificate ends on {ends}: make a new one", False),
        (101, f"our certificate expired on {ends}: make a new one", True),
        (-1, "our certificate is not valid before", True),
    ):
        at(monkeypatch, days)
        assert validity.warning(both).startswith(said)
        assert bool(validity.warning(both)) == bool(said)
        assert validity.lapsed(both) == (validity.warning(both) if stops else "")
    (tmp_path / "other").mkdir()
    at(monkeypatch, 7)
    assert validity.warning(who(tmp_path / "other", 20, 10)).startswith("bert's certificate ends on")


def test_the_same_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    both = who(tmp_path, 20, 200)
    told: list[str] = []
    watch = validity.Watch(
        lambda: {both.peer_name: validity.warning(both)}, lambda peer, why: told.append(f"{peer}: {why}"), 0.001
    )
    watch.start()
    eventually(lambda: bool(told))
    at(monkeypatch, 21)
    eventually(lambda: len(told) > 1)
    watch.stop()
    assert [text.split(" on ")[0] for text in told] == [
        "bert: our certificate ends",
        "bert: our certificate expired",
    ]
