"""Links by the scores of Narayanan and Shmatikov, against the formula in plain Python; who stands out, and ties."""

from __future__ import annotations

import math
import statistics

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from parties.alone.attacks.agreement import agreement
from parties.alone.attacks.linking import lines_of, link, report, sums

Rows = list[tuple[str, ...]]


def columns_of(known: Rows, published: Rows) -> list:  # type: ignore[type-arg]
    pairs = zip(zip(*known, strict=True), zip(*published, strict=True), strict=True)
    return [agreement("c", list(a), list(b)) for a, b in pairs]


def by_hand(person: tuple[str, ...], published: Rows) -> tuple[list[float], float]:
    """The scores of all published rows, and the eccentricity."""
    scores = []
    for row in published:
        score = 0.0
        for place, value in enumerate(person):
            alike = sum(other[place] == value for other in published)
            score += (value == row[place]) / math.log(max(alike, 2))
        scores.append(score)
    first, second = sorted(scores, reverse=True)[:2]
    spread = statistics.pstdev(scores)
    return scores, (first - second) / spread if spread > 1e-12 else 0.0


TABLES = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.sampled_from("123")), min_size=2)


@given(known=TABLES, published=TABLES)
def test_scores_are_the_formulas(known: Rows, published: Rows) -> None:
    links = link(columns_of(known, published))
    for person, best, far in zip(known, links.rows, links.sure, strict=True):
        scores, expected = by_hand(person, published)
        assert math.isclose(scores[best], max(scores), abs_tol=1e-5)
        assert math.isclose(far, expected, rel_tol=1e-3, abs_tol=1e-3)


@given(st.integers(0, 1 << 32), st.sampled_from([1, 3, 600]), st.integers(1, 5), st.integers(1, 20))
def test_sums_are_added_column_by_column(seed: int, rows: int, columns: int, people: int) -> None:
    """Exactly, as floating-point additions from the first column on."""
    rng = np.random.default_rng(seed)
    published = [rng.integers(0, rng.integers(1, 5), rows) for _ in range(columns)]
    numbers = [rng.random((3, 5)) for _ in range(columns)]
    lines, order, ends = lines_of(published)
    table = [tuple(row) for row in np.transpose(published).tolist()]
    assert [tuple(line) for line in lines.T.tolist()] == sorted(set(table))
    for line, start, end in zip(lines.T.tolist(), ends, ends[1:], strict=False):
        assert order[start:end].tolist() == [place for place, row in enumerate(table) if row == tuple(line)]
    known = rng.integers(0, 3, (columns, people))
    of_all = [list(part) for part in sums(lines, [n.__getitem__ for n in numbers], known)]
    for person, found in zip(known.T, of_all, strict=True):
        assert found == [float(sum(n[a, b] for n, a, b in zip(numbers, person, line, strict=True))) for line in lines.T]


def test_a_person_with_errors_is_found_and_equal_rows_are_not() -> None:
    rng = np.random.default_rng(1)
    people = [(str(a), str(b), str(c)) for a, b, c in rng.integers(0, (80, 200, 2), (300, 3))]
    errors = [(str(int(a) + int(rng.integers(-1, 2))), b, c) for a, b, c in people]
    pairs = list(zip(zip(*people, strict=True), zip(*errors, strict=True), strict=True))
    columns = [agreement("c", list(a), list(b), tolerance=2 if i == 0 else None) for i, (a, b) in enumerate(pairs)]
    links = link(columns)
    document = report(links, (links.rows == np.arange(300)).astype(np.int64), 0.5)
    assert document["right"] > 250
    assert document["confidence"] > 0.95
    # The same rows five times over: the best one never stands out.
    links = link(columns_of(people, errors * 5))
    assert not links.sure.any()
    assert report(links, None, 0.5)["thresholds"][0]["linked"] == 0


def test_figures_by_threshold() -> None:
    columns = columns_of([("a",), ("b",)], [("a",), ("b",), ("c",), ("c",)])
    links = link(columns)
    document = report(links, np.array([1, 0]), 1.5)
    first = document["thresholds"][0]
    assert (first["linked"], first["right"], first["found"], first["confidence"]) == (2, 1, 0.5, 0.5)
    assert [step["linked"] for step in document["thresholds"]] == sorted(
        (step["linked"] for step in document["thresholds"]), reverse=True
    )
