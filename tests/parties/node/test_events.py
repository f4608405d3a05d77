"""The log of a node: JSON for programs, words on a terminal, and no more than was asked for."""

from __future__ import annotations

import json
from io import StringIO

import pytest

from parties.node.events import LEVELS, Events, LogLevel
from smc.meter import Cost

pytestmark = pytest.mark.slow


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_programs_read_json() -> None:
    stream = StringIO()
    Events(stream).log("job", job="ab12", state="done")
    assert json.loads(stream.getvalue()).items() >= {"event": "job", "job": "ab12", "state": "done"}.items()
    Events(stream).log("log-in failed", why="wrong password")
    assert [json.loads(line)["level"] for line in stream.getvalue().splitlines()] == ["info", "warning"]


def test_a_metric_is_read_when_it_is_requested() -> None:
    events, left = Events(StringIO()), {"days": 2.0}
    events.measure("smc_budget_left", "Epsilon left of a table's budget.", "table", lambda: left)
    left["days"] -= 0.5
    assert events.registry.get_sample_value("smc_budget_left", {"table": "days"}) == 1.5


def test_people_read_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    Events(stream).log("not connected", why="\x1b[2Jnobody\nanswers")
    (line,) = stream.getvalue().splitlines()
    assert "{" not in line
    assert "\x1b" not in line
    assert "[warning" in line
    assert "not connected" in line
    assert line.endswith(r"why=\x1b[2Jnobody\nanswers")


def test_colours_unless_they_are_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    stream = Terminal()
    Events(stream).log("ready")
    assert "\x1b[" in stream.getvalue()


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_leaves_out_what_is_less_grave(level: LogLevel) -> None:
    stream = StringIO()
    events = Events(stream, level)
    for event in ("job", "session broke", "job failed"):
        events.log(event, job="ab12")
    told = [json.loads(line)["event"] for line in stream.getvalue().splitlines()]
    assert told == ["job", "session broke", "job failed"][LEVELS.index(level) :]


def test_figures_for_prometheus() -> None:
    events = Events(StringIO())
    events.jobs({"done": 2, "waiting": 1})
    for seconds in (0.5, 2.0):
        events.session_ended(seconds, Cost(bytes_sent=30, bytes_received=4))
    told = events.registry.get_sample_value
    assert [told("smc_jobs", {"state": state}) for state in ("done", "waiting", "failed")] == [2, 1, 0]
    assert (told("smc_sessions_total"), told("smc_connected")) == (2, 0)
    assert (told("smc_session_seconds_sum"), told("smc_session_seconds_count")) == (2.5, 2)
    assert [told("smc_session_bytes_total", {"direction": one}) for one in ("sent", "received")] == [60, 8]
