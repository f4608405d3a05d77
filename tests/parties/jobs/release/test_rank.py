"""The order of columns against scikit-learn, SciPy and sums of logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import mutual_info_score

from parties.jobs import kinds
from parties.tables.schema import Schema
from protocols.ranking import LOGARITHM, MEASURES, rank
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from smc.session import Session
from tests.support.questions import counts

SIZES = (2, 5, 3, 4, 2)
COLUMNS = tuple(f"x{i}" for i in range(len(SIZES)))
SCHEMA = Schema(
    {**{name: tuple(map(str, range(n))) for name, n in zip(COLUMNS, SIZES, strict=True)}, "y": ("0", "1")}, "y"
)


def drawn(seed: int, number: int, classes: int = 2) -> Any:
    """Rows whose columns tell differently much of the last one."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, number)
    columns = [
        np.where(rng.random(number) < strength, y % size, rng.integers(0, size, number))
        for size, strength in zip(SIZES, rng.permutation([0.05, 0.2, 0.35, 0.5, 0.65]), strict=True)
    ]
    return np.stack([*columns, y], axis=1)


def tables(rows: Any, classes: int = 2) -> list[Any]:
    return [
        np.bincount(rows[:, i] * classes + rows[:, -1], minlength=size * classes).reshape(size, classes)
        for i, size in enumerate(SIZES)
    ]


def information(table: Any) -> float:
    a, b = table[:, 0], table[:, 1]
    return float(((a / a.sum() - b / b.sum()) * np.log((a + 0.5) / (b + 0.5))).sum())


def gini(table: Any) -> float:
    rows = table.sum(axis=1)
    return float((table**2 / np.maximum(rows, 1)[:, None]).sum())


def scores(measure: str, rows: Any, classes: int) -> list[float]:
    match measure:
        case "mi":
            return [float(mutual_info_score(rows[:, i], rows[:, -1])) for i in range(len(SIZES))]
        case "chi2":
            return [float(stats.chi2_contingency(t, correction=False).statistic) for t in tables(rows, classes)]
        case "gini":
            return [gini(table) for table in tables(rows, classes)]
    return [information(table) for table in tables(rows, classes)]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("profile", ["clear", "mixed", "gmw"])
def test_the_order_is_that_of_the_union(measure: str, profile: str) -> None:
    for seed in range(4 if profile == "clear" else 1):
        classes = 2 if measure == "iv" or seed % 2 else 3
        rows = drawn(seed, 300, classes)
        sides = tables(rows[:120], classes), tables(rows[120:], classes)

        def program(session: Session, sides: Any = sides) -> list[int]:
            return rank(engine_of(session, Profile(profile)), measure, sides[session.party], 4, 500)  # type: ignore[arg-type]

        one, other = run_local(program)
        assert one == other == np.argsort(-np.array(scores(measure, rows, classes)), kind="stable")[:4].tolist()


def test_values_that_a_class_lacks_count_by_halves() -> None:
    """Of 60 rows about nine are of the second class, and most columns have a value that none of these has."""
    for seed in range(8):
        rows = drawn(seed, 60)
        rows = np.concatenate([rows[rows[:, -1] == 0], rows[rows[:, -1] == 1][:9]])
        sides = tables(rows[::2]), tables(rows[1::2])

        def program(session: Session, sides: Any = sides) -> list[int]:
            return rank(engine_of(session, Profile("clear")), "iv", sides[session.party], 5, 500)

        values = np.array(scores("iv", rows, 2))
        assert np.diff(np.sort(values)).min() > 2 * LOGARITHM
        assert run_local(program)[0] == np.argsort(-values).tolist()


def test_equal_columns_keep_their_order() -> None:
    table = np.array([[5, 1], [2, 4]])
    for measure in MEASURES:
        for first in (1, 2, 3):

            def program(session: Session, measure: str = measure, first: int = first) -> list[int]:
                return rank(engine_of(session, Profile("clear")), measure, [table] * 3, first, 500)

            assert run_local(program)[0] == [0, 1, 2][:first]


def task_of(**said: Any) -> Any:
    kind = kinds.find("rank")
    return kind.canonical(kind.Settings.model_validate({"max_rows": 500, **said}), SCHEMA)  # type: ignore[attr-defined]


def test_a_kind_names_the_columns() -> None:
    rows, task = drawn(7, 200), task_of(first=2, measure="iv", columns=("x1", "x3", "x4"))
    names = [*COLUMNS, "y"]

    def party(session: Session) -> Any:
        half = rows[:80] if session.party else rows[80:]
        own = [{name: str(v) for name, v in zip(names, row, strict=True)} for row in half.tolist()]
        return task.run(engine_of(session, Profile("clear")), task.own_rows(counts(task, own)), None, lambda step: None)

    one, other = run_local(party)
    assert one == other
    information_of = dict(zip(COLUMNS, scores("iv", rows, 2), strict=True))
    expected = sorted(("x1", "x3", "x4"), key=lambda name: -information_of[name])[:2]
    assert task.document(one)["order"] == expected
    assert task.text(task.document(one), 0).startswith(f"1. {expected[0]}\n2. {expected[1]}\n")


@pytest.mark.parametrize("first", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("columns", [COLUMNS, COLUMNS[:2], COLUMNS[:1]])
def test_it_counts_the_bits_that_it_opens(columns: tuple[str, ...], first: int) -> None:
    rows, task = drawn(7, 60), task_of(first=first, columns=columns)
    own = [{name: str(v) for name, v in zip([*COLUMNS, "y"], row, strict=True)} for row in rows.tolist()]

    def party(session: Session) -> int:
        task.run(engine_of(session, Profile("clear")), task.own_rows(counts(task, own)), None, lambda step: None)
        return session.meter.total.bits_opened

    assert run_local(party) == (task.disclosure.bits.at_most, task.disclosure.bits.at_most)


@pytest.mark.parametrize("measure", MEASURES)
def test_cost_is_counted_ahead(measure: str) -> None:
    assert forecast(task_of(measure=measure).cost(None).program, Profile("yao")).bytes > 0


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"columns": ("y",)}, "columns: name at least one"),
        ({"target": "x1", "measure": "iv"}, "measure: information value needs two classes"),
        ({"where": "y = 0"}, "target: no two values"),
    ],
)
def test_wrong_questions_are_refused(said: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        task_of(**said)
