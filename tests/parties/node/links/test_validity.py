"""Certificates that end: said in time, once a day, and why nothing runs when it is too late."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from parties.link.identity import create
from parties.node.links import validity
from parties.node.peers import PeerIdentity
from parties.node.records.succession import Successor
from tests.support.waiting import eventually

pytestmark = pytest.mark.slow


def who(directory: Path, ours: int, theirs: int) -> PeerIdentity:
    """The two parties of a link, whose certificates are valid for so many days."""
    peer = create("bert", [], directory, theirs).certificate
    return PeerIdentity(create("anna", [], directory, ours), peer, 0)


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
    soon = who(tmp_path / "other", 200, 10)
    assert validity.warning(soon).startswith("bert's certificate ends on")
    named = replace(soon, successor=Successor(both.peer, datetime.now(UTC).date() + timedelta(days=30)))
    assert validity.warning(named) == ""  # a planned renewal


def test_the_last_moment_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the validity (RFC 5280, 4.1.2.5: both ends belong to it), and of the time before it is told."""
    both = who(tmp_path, 100, 200)
    ours, second = both.identity.certificate, timedelta(seconds=1)
    first, last = ours.not_valid_before_utc, ours.not_valid_after_utc
    first = max(first, both.peer.not_valid_before_utc)
    for moment, lapsed, warned in (
        (first - second, True, True),
        (first, False, False),
        (last - validity.SOON, False, False),
        (last - validity.SOON + second, False, True),
        (last, False, True),
        (last + second, True, True),
    ):
        monkeypatch.setattr(validity, "datetime", SimpleNamespace(now=lambda zone, moment=moment: moment))
        assert (bool(validity.lapsed(both)), bool(validity.warning(both))) == (lapsed, warned)


def test_what_holds_is_said_daily_and_what_is_new_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    begin = datetime(2026, 3, 1, tzinfo=UTC)
    hours, told = 0, list[tuple[int, str]]()

    class Over:
        def is_set(self) -> bool:
            return hours > 60

        def wait(self, seconds: float) -> None:
            nonlocal hours
            hours += round(seconds / 3600)

    monkeypatch.setattr(
        validity,
        "datetime",
        SimpleNamespace(now=lambda zone: begin + timedelta(hours=hours, seconds=-1 * (hours == 24))),
    )
    watch = validity.Watch(
        lambda: {"bert": "ends" if hours < 30 else "ended", "anna": ""},
        lambda name, why: told.append((hours, why)),
        3600,
    )
    monkeypatch.setattr(watch, "_over", Over())
    watch._watch()
    assert told == [(0, "ends"), (25, "ends"), (30, "ended"), (54, "ended")]


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
