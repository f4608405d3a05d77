"""Files of reports and tallies: read as written, in any pieces; what is damaged or of another plan is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parties.alone.local import reports
from parties.alone.local.plan import LocalPlan
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
        (reports.header(PLAN) + b"00\n0\n01\n", "line 3: is not a report of 2 hexadecimal digits"),
        (reports.header(PLAN) + b"00\n01", "line 3: is not a report of 2 hexadecimal digits"),
        (reports.header(PLAN) + b"00\n0G\n", "line 3: is not a report"),
        (reports.header(PLAN) + b"00\n03\n", "lines 2 to 3: a report has an impossible value"),
        (reports.header(PLAN).replace(b"\n", b"\r\n") + b"00\r\n", "its lines end in CRLF"),
        (b"{" * 100_000, "line 1: the file is not valid JSON"),
        (b'{"tally":' * 50_000, "nested too deeply"),
        (b'{"plan": 1}', "is not a tally"),
        (b'\xef\xbb\xbf{"plan": 1}', "is not a tally"),
        (b'{"plan": "1", "tally": [0, 0, 0]}', "another plan"),
        (b'{"plan": "%s", "tally": [0, 0]}' % PLAN.digest().encode(), "not a tally of this plan"),
        (b'{"plan": "%s", "tally": [0, 0, -1]}' % PLAN.digest().encode(), "not a tally of this plan"),
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
        ({"f": 0.0}, "of rappor memoise no answer"),
        ({"f": 0.0, "memoise": False}, "memoise = false needs `reports`"),
        ({"f": 0.0, "memoise": False, "reports": 3, "p": 0.0}, "needs a finite epsilon"),
        ({"p": 0.75}, "p must be below q"),
        ({"values": ("a", "b")}, "rappor has no values; it has bits, hashes, cohorts, f, p, q"),
        ({"bits": None}, r"bits is missing: rappor needs bits \(bits of a report\), hashes"),
        ({"mechanism": "direct"}, "direct has no bits; it has values, epsilon"),
        ({"mechanism": "rapor"}, r"no local mechanism 'rapor' \(did you mean 'rappor'"),
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
            "more than the . buckets",
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


ASKED = {
    "direct": PLAN,
    "unary": LocalPlan(question="q", mechanism="unary", values=("a", "b", "c"), epsilon=1.0),
    "hadamard": LocalPlan(question="q", mechanism="hadamard", values=("a", "b", "c"), epsilon=1.0),
    "subset": LocalPlan(question="q", mechanism="subset", values=("a", "b", "c"), epsilon=0.5),
    "piecewise": LocalPlan(question="q", mechanism="piecewise", low=0.0, high=1.0, epsilon=1.0, steps=4),
    "mean": LocalPlan(question="q", mechanism="mean", low=0.0, high=1.0, epsilon=1.0),
    "histogram": LocalPlan(question="q", mechanism="histogram", low=0.0, high=1.0, buckets=5, told=2, epsilon=1.0),
    "sketch": LocalPlan(question="q", mechanism="sketch", rows=3, bits=5, epsilon=1.0),
    "rappor": RAPPOR,
}
IMPOSSIBLE = {
    "unary": [[4, 0, 0, 3], [0, 0, 1, 0]],
    "subset": [[4, 0, 0, 3], [1, 1, 0, 1]],
    "mean": [[2, 1]],
    "histogram": [[1, 0, 0, 0, 0, 0, 1, 0, 0, 1], [0, 0, 0, 0, 0, 3, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1, 0, 0, 0, 0]],
    "sketch": [[0] * 12 + [2, 0, 0, 0, 0, 1], [1] + [0] * 17],
    "rappor": [[1] + [0] * 29, [0] * 10 + [6] + [0] * 8 + [5] + [0] * 10],
}


def tallied(path: Path, plan: LocalPlan, numbers: list[int]) -> Path:
    path.write_text(reports.tally_document(plan, np.array(numbers)))
    return path


@pytest.mark.parametrize(("name", "numbers"), [(name, one) for name, all_ in IMPOSSIBLE.items() for one in all_])
def test_a_tally_that_no_reports_have_is_refused(tmp_path: Path, name: str, numbers: list[int]) -> None:
    path = tallied(tmp_path / "tally", ASKED[name], numbers)
    with pytest.raises(InputError, match="tally: is an impossible tally"):
        reports.read_tally(path, ASKED[name], ASKED[name].made())


@pytest.mark.parametrize("name", ASKED)
@given(data=st.data())
def test_a_tally_of_reports_is_read(tmp_path_factory: pytest.TempPathFactory, name: str, data: st.DataObject) -> None:
    """Any bytes that can be reports."""
    made = ASKED[name].made()
    rows = data.draw(st.lists(st.binary(min_size=made.width, max_size=made.width), max_size=5))
    content = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(-1, made.width)
    try:
        tally = made.tally(content)
    except InputError:
        return
    if name == "histogram" and any(len({*row[:8:4]}) < 2 for row in content):
        return  # no device tells one bucket twice
    path = tallied(tmp_path_factory.mktemp("tally") / "tally", ASKED[name], tally.tolist())
    assert reports.read_tally(path, ASKED[name], made).tolist() == tally.tolist()


@pytest.mark.parametrize("name", ASKED)
def test_a_tally_of_too_many_reports_is_refused(tmp_path: Path, name: str) -> None:
    made = ASKED[name].made()
    empty = reports.total((), made)
    most = [10**9] * len(empty)
    if name == "subset":  # a set has one of the three categories
        most[1:-1] = [0, 0]
    path = tallied(tmp_path / "tally", ASKED[name], most)
    with pytest.raises(InputError, match="tally: is a tally of more than 268,435,456 reports"):
        reports.read_tally(path, ASKED[name], made)


@pytest.mark.parametrize(
    ("name", "row"),
    [("unary", [8]), ("unary", [0x80]), ("sketch", [0, 0, 0x20]), ("rappor", [0, 0, 0, 2]), ("histogram", None)],
)
def test_bits_beyond_a_reports_last_are_refused(tmp_path: Path, name: str, row: list[int] | None) -> None:
    made = ASKED[name].made()
    row = [0] * (made.width - 1) + [4] if row is None else row
    assert len(row) == made.width
    path = write(tmp_path / "reports", ASKED[name], [row])
    with pytest.raises(InputError, match="lines 2 to 2: a report has too many bits"):
        reports.read_tally(path, ASKED[name], made)


def test_a_file_counts_once(tmp_path: Path) -> None:
    one, other = (write(tmp_path / name, PLAN, [[0]]) for name in ("one", "other"))
    (tmp_path / "link").symlink_to(one)
    (tmp_path / "hard").hardlink_to(one)
    assert reports.each_once([one, other, tmp_path / "away"]) == [one, other, tmp_path / "away"]
    for again, message in (
        (one, "one: is given twice$"),
        (tmp_path / "link", "link: is given twice, as "),
        (tmp_path / "hard", "hard: is given twice, as "),
    ):
        with pytest.raises(InputError, match=message):
            reports.each_once([one, other, again])
