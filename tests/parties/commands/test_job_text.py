"""A job as text for a terminal."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from parties.base import console
from parties.commands import cost_text, job_text
from parties.jobs.kind import Estimate
from parties.node.prediction import Prediction
from parties.operator.interface import JobView, Verdict
from parties.web import words
from smc.engines import Profile
from tests.support.fake_node import job_view


def test_identifiers_are_shown_as_long_as_needed() -> None:
    alike = [job_view("abcdef012345" + digit + "0" * 19) for digit in "12"] + [job_view("f" * 32)]
    assert [job_text.short(job.id, alike) for job in alike] == ["abcdef0123451", "abcdef0123452", "ffffffff"]


A = "a1b2" + "0" * 28


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0.0 s"), (9.94, "9.9 s"), (9.96, "10 s"), (59.4, "59 s"), (59.6, "1 min 0 s"), (7500, "2 h 5 min")],
)
def test_durations_are_for_people(seconds: float, text: str) -> None:
    assert console.duration(seconds) == text


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        ("exact", "it will cost 2.0 MB"),
        ("at most", "it will cost at most 2.0 MB"),
        ("typical", "it will cost about 2.0 MB"),
    ],
)
def test_a_forecast_says_how_sure_it_is(estimate: Estimate, text: str) -> None:
    cost = Prediction(Profile("yao"), estimate, 2_000_000, (3, 3), 0.1, (), None, "a tree of 3 splits")
    assert cost_text.expected(cost).startswith(text)
    assert ("for a tree of 3 splits" in cost_text.expected(cost)) == (estimate == "typical")


def test_of_shards_it_is_said_that_the_most_is_not_counted() -> None:
    cost = Prediction(Profile("lean", shards=2), "typical", 16_400_000, (3, 3), 0.1, (), None, "a tree")
    assert cost_text.volume_of(cost) == "16.4 MB both ways (no maximum is counted for shards)"


def test_what_is_not_counted_ahead_is_said_to_be_so() -> None:
    assert cost_text.expected(None).startswith("the cost is not estimated")


def test_what_has_no_value_is_said_in_words() -> None:
    """No limit is what a limit's owner has to see, and not by its absence; of the engine only what was chosen."""
    given = {
        "tolerance": 0.1,
        "max_depth": None,
        "epsilon": None,
        "at_most": None,
        "with_classes": True,
        "form": None,
        "engine": "mixed",
    }
    shown = next(line for line in job_text.sheet(job_view(A, parameters=given), None) if "parameters" in line)
    words = "tolerance 0.1, max_depth no limit, epsilon no noise, "
    words += "at_most no limit (noise hides one row as adjacency says), with_classes yes, engine mixed"
    assert shown.split(None, 1)[1] == words


def test_a_title_says_what_tells_jobs_apart() -> None:
    """The depth, k and epsilon always; other settings unless they are the usual ones."""
    given = {"tolerance": 0.001, "max_depth": 4, "k": 5, "epsilon": None, "engine": "mixed"}
    job = job_view(A, title="Tree", target="play", parameters=given)
    assert job_text.full_title(job) == "Tree for play, depth 4, k 5, epsilon no noise"
    job = job_view(A, title="Tree", target="play", parameters=given | {"epsilon": 0.5, "splits": "multiway"})
    assert job_text.full_title(job) == "Tree for play, depth 4, k 5, epsilon 0.5, splits multiway"


def test_an_answer_is_in_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    job_text.listing([job_view(A, state="done", answer="2\x1b40 rows")]).show(False)
    heading, line = capsys.readouterr().out.splitlines()
    assert "answer" in heading.split()
    assert "2\\x1b40 rows" in line


@pytest.mark.parametrize("width", [20, 50, 80])
def test_what_does_not_fit_a_line_cannot_look_like_an_entry(width: int) -> None:
    job = job_view(A, purpose="x " * 40 + "ours approved " + "漢字" * 30 + "y" * 100)
    lines = list(job_text.sheet(job, width))
    entries = [line[:14].strip() for line in lines[1:]]
    whole = [line[:14].strip() for line in list(job_text.sheet(job, None))[1:]]
    assert [entry for entry in entries if entry] == [entry for entry in whole if entry]
    assert max(cell_len(line) for line in lines[1:]) <= max(width, 28)
    start = entries.index("purpose")
    end = entries.index("computes")
    folded = "".join(line[14:].strip() for line in lines[1 + start : 1 + end])
    assert folded.replace(" ", "") == job.purpose.replace(" ", "")


def test_of_many_columns_the_first_are_named_and_how_many_more_there_are() -> None:
    names = [f"c{i}" for i in range(57)]
    job = job_view(A, columns=names, protocol="regress joint", parameters={"columns": ", ".join(names)})
    lines = {line.split()[0]: line.split(None, 1)[1] for line in list(job_text.sheet(job, None))[1:]}
    folded = f"{', '.join(names[:12])} and 45 more (smc show --json names all 57)"
    assert lines["columns"] == folded
    assert lines["parameters"] == f"columns {folded}"
    few = next(line for line in job_text.sheet(job_view(A, columns=names[:12]), None) if "columns" in line)
    assert few.endswith("c10, c11")


def test_a_job_with_holders_names_those_whose_consent_is_missing() -> None:
    done, waits = Verdict(verdict="approved"), Verdict(verdict="waiting")
    job = job_view("a" * 32, state="waiting", ours=done, theirs=done, further={"anna": done, "cleo": waits})
    assert job_text.standing(job) == "waiting for the consent of cleo"
    assert words.state(job) == "waits for the consent of cleo"
    assert job_text.standing(job.model_copy(update={"further": {}})) == "waiting for the peer's consent"
    assert any(line.split() == ["our", "table", "days"] for line in job_text.sheet(of_table(job), None))


def of_table(job: JobView) -> JobView:
    return job.model_copy(update={"table": "days", "peer_table": ""})
