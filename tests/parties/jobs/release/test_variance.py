"""The decision on a variance: against numpy's of all rows, also at the bound itself; its cost, words and refusals."""

from __future__ import annotations

import gc
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parties.jobs import kinds
from parties.jobs.inputs import Inputs
from parties.jobs.kinds.variance import Variance, VarianceSettings
from parties.tables.schema import Schema
from smc.circuit import Netlist
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from tests.support.questions import SCHEMA, Row, counts, state_of

pytestmark = pytest.mark.slow

ROWS = st.lists(
    st.fixed_dictionaries({name: st.sampled_from(values) for name, values in SCHEMA.attributes.items()}), max_size=8
)
ZERO, TWO = ({"age": "old", "sex": "male", "visits": visits, "outcome": "good"} for visits in ("0", "2"))


def task_of(above: float, schema: Schema = SCHEMA, **more: Any) -> Variance:
    fields = {"column": "visits", "above": above, "max_rows": 1000, **more}
    return Variance.canonical(VarianceSettings.model_validate(fields), schema)


def answer(task: Variance, rows: list[list[Row]], profile: str = "clear") -> bool:
    decision: bool = task.document(state_of(task, rows, profile))["answer"]
    return decision


@settings(max_examples=60)
@given(
    ROWS, ROWS, st.sampled_from([None, "sex = male", "visits in [2, 3.5]"]), st.sampled_from([-1e-6, 0.0, 1e-6, 0.5])
)
@example([ZERO, TWO], [TWO, ZERO], None, 0.0)  # of variance 1: not above it
@example([ZERO, TWO], [], None, -1e-6)
@example([ZERO], [TWO], "sex = male", 0.0)
def test_it_is_numpys_variance_that_is_compared(
    left: list[Row], right: list[Row], where: str | None, beside: float
) -> None:
    """The bound lies at the variance, or a little beside; all is compared as fractions, so rounding hides nothing."""
    meant = [row for row in [*left, *right] if row["visits"] != "?"]
    if where is not None:
        meant = [row for row in meant if (row["sex"] == "male" if "sex" in where else row["visits"] in ("2", "3.5"))]
    numbers = np.array([Fraction(row["visits"]) for row in meant], dtype=object)
    variance = np.var(numbers) if len(numbers) else Fraction(0)
    above = max(1e-6, float(variance) + beside)
    assert answer(task_of(above, where=where), [left, right]) == (variance > Fraction(str(above)))


@pytest.mark.parametrize("profile", ["yao", "gmw"])
def test_the_bound_itself_is_not_above(profile: str) -> None:
    rows = [[ZERO, TWO] * 3, [TWO, ZERO]]
    assert [answer(task_of(above), rows, profile) for above in (0.999999, 1.0, 1.000001)] == [True, False, False]
    assert not answer(task_of(1e-6), [[], []], profile)
    assert not answer(task_of(1e-6), [[TWO] * 5, [TWO]], profile)


@pytest.mark.parametrize("profile", [Profile("yao"), Profile("gmw")], ids=str)
def test_the_estimate_is_what_is_measured(profile: Profile) -> None:
    task = task_of(2.5, where="sex = male")
    counted = forecast(task.cost(Inputs()).program, profile)
    meters: dict[int, Any] = {}

    def program(session: Any) -> Any:
        meters[session.party] = session.meter
        own = task.own_rows(counts(task, [ZERO, TWO, TWO]))
        return task.run(engine_of(session, profile), own, None, lambda step: None)

    assert run_local(program) == ([0], [0])
    for party in (0, 1):
        assert counted.costs[party].bits_opened == 1
        for field in ("bytes_sent", "bytes_received", "messages", "rounds", "and_gates", "bits_opened"):
            assert getattr(counted.costs[party], field) == getattr(meters[party].total, field), field


def test_what_is_said_of_it() -> None:
    task = task_of(2.5, where="sex = male")
    assert kinds.find("variance") is Variance
    assert kinds.line("variance").endswith("above a bound.")
    assert (task.exact, task.disclosure.spends, task.disclosure.opened(None), task.disclosure.opened([1])) == (
        False,
        (),
        {"decision": 0},
        {"decision": 1},
    )
    learnt = "whether the variance of visits over the rows of both tables whose sex = male is above 2.5"
    assert task.disclosure.reveals("bob")[0] == f"We and bob both learn {learnt}."
    again = Variance.agreed(task.specification())
    assert (again.specification(), again.columns) == (task.specification(), ("sex", "visits"))
    document = task.document([1])
    assert document == {"question": "variance", "where": "sex = male", "column": "visits", "above": 2.5, "answer": True}
    assert task.text(document, 0) == "yes\nof rows where sex = male\n"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"column": None}, "column is missing"),
        ({"column": "age"}, "a variance needs bounds"),
        ({"column": "hours"}, "'hours' is not an attribute"),
        ({"above": None}, "above is missing"),
        ({"max_rows": 2**31, "column": "large"}, "more than 62 bits: round the values, or lower max_rows"),
    ],
    ids=str,
)
def test_what_is_refused(more: dict[str, Any], said: str) -> None:
    schema = Schema({**SCHEMA.attributes, "large": ("0", "1", "100000")}, "outcome")
    with pytest.raises(InputError, match=said):
        task_of(**{"above": 1.0, "schema": schema, **more})


def test_questions_that_are_kept_keep_no_circuits() -> None:
    """A node keeps the question of every job: of the last sixteen at most the circuits are there still."""
    before = sum(type(thing) is Netlist for thing in gc.get_objects())
    kept = [task_of(above) for above in range(1, 25)]
    for task in kept:
        answer(task, [[ZERO], [TWO]])
    gc.collect()
    assert sum(type(thing) is Netlist for thing in gc.get_objects()) - before <= 16
