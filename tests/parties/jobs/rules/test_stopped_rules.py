"""Rules that cost more than is allowed: both parties stop before the same length, and may go on from there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from parties.jobs import kinds, tabular
from parties.jobs.inputs import Inputs
from parties.jobs.kind import LargerThanForecastError
from parties.jobs.rules.exact import ExactRules
from parties.tables.schema import Schema
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from smc.session import Session
from tests.support.questions import counts

SCHEMA = Schema(dict.fromkeys("abcd", ("0", "1")), "d")
LINE = dict.fromkeys("abcd", "0")


def task(**asked: Any) -> Any:
    kind = kinds.find("rules")
    return kind.canonical(kind.Settings.model_validate({"max_rows": 40, "k": 1, **asked}), SCHEMA)  # type: ignore[attr-defined]


def run(of: Any, start: Any) -> tuple[Any, Any, list[int]]:
    seen: list[int] = []

    def party(session: Session) -> Any:
        own = of.own_rows(counts(of, [LINE] * 8))
        try:
            return of.run(
                engine_of(session, Profile("yao")),
                own,
                start,
                lambda step: seen.append(step.number) if session.party else None,
            )
        except LargerThanForecastError as error:
            return error

    left, right = run_local(party)
    return left, right, seen


def test_both_stop_before_the_same_length_and_go_on_from_there() -> None:
    whole, same, _ = run(task(), task().states.beginning)
    assert whole == same
    bounded = task(most_bytes=9_000)
    left, right, _ = run(bounded, bounded.states.beginning)
    assert isinstance(left, LargerThanForecastError)
    assert (str(left), left.state, left.spent) == (str(right), right.state, right.spent)
    assert "the sets are larger than forecast: " in str(left)
    steps = bounded.states.steps(left.state)
    assert 0 < steps < bounded.states.steps(whole)
    again, _, seen = run(bounded.allowing(10**9), left.state)
    assert again == whole
    assert seen[0] == steps, "nothing is opened twice"


def test_the_bound_is_four_times_the_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabular, "LEAST_STOP", 1000)
    monkeypatch.setattr(ExactRules, "forecast", 3_000)
    left, right, _ = run(task(), task().states.beginning)
    assert isinstance(left, LargerThanForecastError)
    assert str(left) == str(right)


def test_noise_has_its_own_bound() -> None:
    with pytest.raises(InputError, match="most_bytes cannot be combined with epsilon"):
        task(epsilon=1.0, most_bytes=1000)


def test_a_schema_of_many_values_has_a_bound() -> None:
    """More candidates than are counted at once had none."""
    wide = Schema({f"c{i}": tuple(map(str, range(20))) for i in range(16)}, "c0")
    kind = kinds.find("rules")
    made: Any = kind.canonical(  # type: ignore[attr-defined]
        kind.Settings.model_validate({"max_rows": 4000, "support": 0.01}), wide
    )
    assert np.sum(made.largest) > 1 << 20
    assert made.cost(Inputs()).most(Profile("yao")) > 0
