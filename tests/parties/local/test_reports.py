"""Files of reports and tallies: read as written, in any pieces; what is damaged or of another plan is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.local import reports
from parties.local.plan import LocalPlan
from smc.errors import InputError

PLAN = LocalPlan(question="q", mechanism="direct", values=("a", "b", "c"), epsilon=1.0)
RAPPOR = LocalPlan(question="q", mechanism="rappor", bits=9, hashes=2, cohorts=3, f=0.5, p=0.25, q=0.75)


def write(path: Path, plan: LocalPlan, content: Any) -> Path:
    path.write_bytes(reports.header(plan) + reports.lines(np.array(content, dtype=np.uint8)))
    return path


@given(
    st.lists(st.tuples(st.integers(0, 2), st.just(0), st.integers(0, 255), st.integers(0, 1)), max_size=40), st.data()
)
def test_pieces_of_a_file_tally_as_the_whole(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, ...]], data: st.DataObject
) -> None:
    folder, made = tmp_path_factory.mktemp("reports"), RAPPOR.made()
    cut = data.draw(st.integers(0, len(rows)))
    paths = []
    for name, part in (("a", rows[:cut]), ("b", rows[cut:])):
        paths.append(write(folder / name, RAPPOR, np.array(part, dtype=np.uint8).reshape(-1, 4)))
    expected = np.zeros((3, 10), dtype=np.int64)
    for cohort, _, low, high in rows:
        expected[cohort, 9] += 1
        for bit in range(9):
            expected[cohort, bit] += (low | high << 8) >> bit & 1
    parts = [reports.read_tally(path, RAPPOR, made) for path in paths]
    found = reports.total(parts, made)
    assert found.reshape(3, 10).tolist() == expected.tolist()
    assert made.count(found) == len(rows)
    tally = folder / "tally.json"
    tally.write_text(reports.tally_document(RAPPOR, found))
    assert reports.read_tally(tally, RAPPOR, made).tolist() == found.tolist()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"nothing", "neither a file of reports nor a tally"),
        (b"smc local reports 1 0000000000000000\n00\n", "another plan"),
        (reports.header(PLAN) + b"00\n0\n01\n", "line 3: is no report of 2 hexadecimal digits"),
        (reports.header(PLAN) + b"00\n01", "line 3: is no report of 2 hexadecimal digits"),
        (reports.header(PLAN) + b"00\n0G\n", "line 3: is no report"),
        (reports.header(PLAN) + b"00\n03\n", "lines 2 to 3: a report says what this plan does not know"),
        (reports.header(PLAN).replace(b"\n", b"\r\n") + b"00\r\n", "its lines end in CRLF"),
        (b"{" * 100_000, "line 1: not valid JSON"),
        (b'{"tally":' * 50_000, "nested too deeply"),
        (b'{"plan": 1}', "is no tally"),
        (b'\xef\xbb\xbf{"plan": 1}', "is no tally"),
        (b'{"plan": "1", "tally": [0, 0, 0]}', "another plan"),
        (b'{"plan": "%s", "tally": [0, 0]}' % PLAN.digest().encode(), "no tally of this plan"),
        (b'{"plan": "%s", "tally": [0, 0, -1]}' % PLAN.digest().encode(), "no tally of this plan"),
    ],
)
def test_what_is_no_file_of_this_plan(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "r.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        reports.read_tally(path, PLAN, PLAN.made())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"f": 0.0}, "f = 0 leaves nothing that lasts"),
        ({"f": 0.0, "memoise": False}, "memoise = false needs reports.*f = 0"),
        ({"f": 0.0, "memoise": False, "reports": 3, "p": 0.0}, "gives bits away"),
        ({"p": 0.75}, "p must be below q"),
        ({"values": ("a", "b")}, "values means nothing to mechanism rappor"),
        ({"bits": None}, "bits is missing"),
        ({"mechanism": "direct"}, "values is missing"),
    ],
)
def test_plans_that_make_no_sense(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LocalPlan.model_validate(RAPPOR.model_dump(exclude_unset=True) | change).made()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"mechanism": "direct", "values": ("a", "a"), "epsilon": 1.0}, "none twice"),
        ({"mechanism": "unary", "values": ("a",), "epsilon": 1.0}, "two or more"),
        ({"mechanism": "mean", "low": 1.0, "high": 1.0, "epsilon": 1.0}, "low must be below high"),
        ({"mechanism": "mean", "epsilon": 1.0}, "low is missing"),
        (
            {"mechanism": "histogram", "low": 0.0, "high": 1.0, "buckets": 4, "told": 5, "epsilon": 1.0},
            "told must be <= buckets",
        ),
    ],
)
def test_other_plans_that_make_no_sense(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LocalPlan.model_validate({"question": "q"} | fields).made()


def test_reports_that_do_not_last_are_each_charged() -> None:
    fields = RAPPOR.model_dump(exclude_unset=True)
    fresh = LocalPlan.model_validate(fields | {"memoise": False, "reports": 30})
    made = fresh.made()
    assert fresh.lasting(made) == pytest.approx(30 * made.epsilon)
    few = LocalPlan.model_validate(fields | {"reports": 1})
    assert few.lasting(few.made()) == min(few.made().epsilon, few.made().lasting)
    assert RAPPOR.lasting(RAPPOR.made()) == RAPPOR.made().lasting
