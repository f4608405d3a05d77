"""Moments and durations in words."""

from __future__ import annotations

import pytest

from parties.commands import job_text
from parties.jobs import sentences
from parties.operator.interface import JobView
from parties.web import words
from tests.support.fake_node import job_view


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-1, "0.0 s"), (3.21, "3.2 s"), (12.3, "12 s"), (150, "2 min"), (7300, "2 h"), (400_000, "5 days")],
)
def test_time_spans(seconds: float, said: str) -> None:
    assert words.duration(seconds) == said


def test_moments() -> None:
    assert words.when("2026-03-01T12:00:09+02:00") == "1 Mar 2026, 10:00:09 UTC"
    assert words.when("2026-03-01T12:00:09") == "1 Mar 2026, 12:00:09 UTC"
    assert words.when("some day") == "some day"
    assert words.ago("some day") == ""


def test_a_job_that_waits_although_both_agree_does_not_start_next() -> None:
    assert words.state(job_view("a" * 32, state="interrupted", only_signature=True)) == "computed: is being signed"
    assert words.state(job_view("a" * 32, state="queued")) == "both agree: it starts next"
    assert words.outcome(job_view("a" * 32, state="queued")).endswith(": both agree.")  # it may be done when it is read
    assert words.state(job_view("a" * 32, state="queued", why="waits for its table")) == "both agree: it waits"


def test_what_is_yes_or_no_is_said_so_wherever_a_job_is_shown() -> None:
    job = job_view("a" * 32, protocol="release count", parameters={"exact": False, "max_rows": 1, "epsilon": 1.0})
    seen = JobView.model_validate_json(job.model_dump_json())  # as another process has it
    assert [value for label, value, _ in words.parameters(seen).asked if label == "Exact"] == ["no"]
    assert [value for label, value, _ in words.parameters(seen).asked if label == "Row bound"] == ["1"]
    assert any("exact no, max_rows 1, epsilon 1.0" in line for line in job_text.sheet(seen, None))


def test_pages_speak_of_what_people_know() -> None:
    plain = "shared numbers and encrypted circuits (mixed extension half)"
    assert sentences.profile_words("mixed extension half") == plain
    assert sentences.profile_words("none of ours") == "none of ours"
    why = "needs value to be typed: smc approve 1234abcd --input value=VALUE"
    assert words.note(why) == "needs value to be typed: type it below"
    assert words.note("value: nothing is typed: --input value=VALUE") == "value: nothing is typed: type it below"
    assert words.note("a = b") == "a = b"
