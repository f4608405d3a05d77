"""Many marginals at once: counted row by row, their noise and what it spends, and what is refused."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from parties.jobs.kinds.release.marginals import Marginals
from smc.errors import InputError
from tests.support.concentrated import epsilon_of_rho
from tests.support.questions import SCHEMA, Row, asked, state_of


def rows_of(seed: int, many: int) -> list[Row]:
    draw = random.Random(seed)
    return [{name: draw.choice(values) for name, values in SCHEMA.attributes.items()} for _ in range(many)]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"ways": 1},
        {"ways": 3},
        {"sets": "sex,age; outcome; age,visits,outcome"},
        {"ways": 2, "columns": ("outcome", "age", "sex"), "where": "age in [young, old] and outcome = good"},
    ],
    ids=str,
)
def test_marginals_are_what_counting_row_by_row_gives(given: dict[str, Any]) -> None:
    rows = [rows_of(1, 40), rows_of(2, 25)]
    task = asked("marginals", exact=True, **given)
    document = task.document(state_of(task, rows))
    meant = [row for own in rows for row in own if "where" not in given or _is_meant(row)]
    for marginal in document["marginals"]:
        counts = np.array(marginal["counts"])
        values = [document["values"][name] for name in marginal["columns"]]
        for place in np.ndindex(counts.shape):
            cell = {name: values[axis][place[axis]] for axis, name in enumerate(marginal["columns"])}
            assert counts[place] == sum(cell.items() <= row.items() for row in meant)
    wanted = {1: 4, 2: 6, 3: 4}
    assert len(document["marginals"]) == (3 if "sets" in given or "where" in given else wanted[given.get("ways", 2)])


def _is_meant(row: Row) -> bool:
    return row["age"] != "middle" and row["outcome"] == "good"


@pytest.mark.parametrize(("adjacency", "changed"), [("add-remove", 6), ("replace", 12)])
def test_rho_adds_up_over_the_marginals(adjacency: str, changed: int) -> None:
    task = asked("marginals", epsilon=1.0, delta=1e-7, adjacency=adjacency)
    assert isinstance(task, Marginals)
    noise = task.query.parts[0].noise
    assert noise is not None
    (spent,) = task.disclosure.spends
    rho = float(spent.amount)
    assert rho == pytest.approx(changed / float(2 * noise.scale**2))
    assert epsilon_of_rho(rho, 1e-7) == pytest.approx(1, abs=1e-4)
    plain = asked("marginals", epsilon=1.0, adjacency=adjacency)
    assert isinstance(plain, Marginals)
    assert plain.query.parts[0].noise is not None
    assert plain.query.parts[0].noise.scale == Fraction(changed)


def test_a_specification_means_the_same_at_the_peer() -> None:
    for given in ({"ways": 3}, {"sets": "sex,age;outcome"}):
        task = asked("marginals", delta=1e-7, **given)
        assert isinstance(task, Marginals)
        again = Marginals.agreed(task.specification())
        assert again.specification() == task.specification()
        assert again.query.show([0] * task.query.numbers) == task.query.show([0] * task.query.numbers)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"columns": ("age", "sx")}, "did you mean"),
        ({"columns": ("age", "age")}, "each column once"),
        ({"columns": ("age",)}, "cannot be counted 2 together"),
        ({"sets": "age,sex; sex,age"}, "two sets name the same columns"),
        ({"sets": "age,sex,visits,outcome"}, "1 to 3 columns"),
        ({"sets": "; ,"}, "1 to 3 columns"),
        ({"sets": ";"}, "name the columns"),
        ({"sets": "age", "ways": 2}, "name the marginals, or"),
        ({"delta": 0.001}, "is too large, since it would permit"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        asked("marginals", **given)


def test_a_marginal_with_too_many_cells_is_refused() -> None:
    wide = type(SCHEMA)({name: tuple(map(str, range(300))) for name in ("a", "b", "c")})
    with pytest.raises(InputError, match="'a', 'b' has 90,000 cells"):
        asked("marginals", wide)
