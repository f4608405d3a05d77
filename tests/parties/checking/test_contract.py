"""Every kind that spends loses what it charges, charges what it is asked for, and says so; and who does not is caught.

By brute force over neighbouring tiny tables, see `parties.checking.contract`. What is planted here, and by
`scripts.planted_bugs`, shows that it would be seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from parties.checking import contract
from parties.checking.cases import CASES
from parties.checking.contract import ADJACENCIES, Case, Loss, check_case, lost
from parties.checking.tape import Use, variance
from parties.jobs import kinds
from parties.jobs.boost.objectives import OBJECTIVES, Objective
from parties.jobs.kinds.release.histogram import Histogram
from parties.jobs.release.kind import Release
from parties.jobs.spending import Adjacency, PureLoss
from parties.sources.settings import BudgetSettings
from protocols.arrays import Floats
from protocols.release.choice import choice_law
from protocols.release.gaussian import discrete_gaussian
from protocols.release.laplace import DiscreteLaplace
from tests.support.exact_laws import chosen, ranked

EPSILON = 0.75
LONG = ("synthesise", "id3")  # and choices among many weights: seconds for each
NAMES = [f"{case.kind} {number}" for number, case in enumerate(CASES)]
LOOSE = {
    "release triangles": 0.15,
    "regress joint": 0.05,
    "regress logistic": 0.2,
    "regress poisson": 0.3,
    "boost": 0.25,
}  # what tables show of what is charged


def is_long(case: Case) -> bool:
    return case.kind in LONG or case.settings.get("method") == "choice"


def found(kind: str, number: int = 0, adjacency: Any = "add-remove", at_most: int | None = None) -> contract.Finding:
    cases = [case for case in CASES if case.kind == kind]
    return check_case(cases[number], {"epsilon": EPSILON, "adjacency": adjacency}, at_most)


def test_the_cases_are_all_kinds_that_spend() -> None:
    """A kind that could spend has a case, and the case does."""
    assert {case.kind for case in CASES} == {
        kind.name for kind in kinds.every() if "epsilon" in kind.Settings.model_fields
    }


@pytest.mark.one_of(5)
@pytest.mark.parametrize(
    ("adjacency", "at_most"),
    [("add-remove", None), ("replace", None), ("replace", 1), ("add-remove", 2), ("replace", 5)],
)
@pytest.mark.parametrize("case", [case for case in CASES if not is_long(case)], ids=lambda case: case.kind)
def test_a_kind_loses_what_it_charges(case: Case, adjacency: Any, at_most: int | None) -> None:
    finding = check_case(case, {"epsilon": EPSILON, "adjacency": adjacency}, at_most)
    assert finding.problems == []
    shown = max(finding.lost[of] / finding.charged[of] for of in ADJACENCIES)
    assert (at_most or 1) > 1 or shown > LOOSE.get(case.kind, 0.45)  # or a bug would have room


@pytest.mark.one_of(2)
@pytest.mark.slow
@pytest.mark.parametrize(("adjacency", "at_most"), [("add-remove", None), ("replace", 2)])
@pytest.mark.parametrize("case", [case for case in CASES if is_long(case)], ids=lambda case: case.kind)
def test_a_kind_whose_runs_are_long_does_so(case: Case, adjacency: Any, at_most: int | None) -> None:
    finding = check_case(case, {"epsilon": EPSILON, "adjacency": adjacency}, at_most)
    assert finding.problems == []
    assert max(finding.lost[of] / finding.charged[of] for of in ADJACENCIES) > 0.45


@pytest.mark.campaign
@pytest.mark.parametrize("epsilon", [0.1, 3.0])
@pytest.mark.parametrize("at_most", [None, 1, 2, 5])
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_of_any_epsilon(case: Case, adjacency: Any, at_most: int | None, epsilon: float) -> None:
    assert check_case(case, {"epsilon": epsilon, "adjacency": adjacency}, at_most, paths=4).problems == []


# What is lost, beside exact laws.


def log_ratio(one: dict[Any, Fraction], other: dict[Any, Fraction]) -> float:
    """The greatest logarithm of how much likelier an outcome is on one table than on the other."""
    return max(abs(math.log(one[outcome] / other[outcome])) for outcome in one)


def test_a_choice_loses_what_its_exact_law_does() -> None:
    """All scores of three candidates up to 2 and all changes by 1: never more, and as much for some."""
    law, reached = choice_law(Fraction(1), 1, False, 3, security=30), 0.0
    masses = law.probabilities()

    @cache
    def law_of(scores: tuple[int, ...]) -> dict[int, Fraction]:
        return chosen(scores, masses)

    def exact_law(scores: tuple[int, ...]) -> dict[int, Fraction]:
        """That of the sorted scores from 0 on: a shift changes no chance, and equal ones win at random."""
        order = sorted(range(3), key=scores.__getitem__)
        sorted_law = law_of(tuple(scores[i] - min(scores) for i in order))
        return {i: sorted_law[place] for place, i in enumerate(order)}

    laws = {scores: exact_law(scores) for scores in product(range(-1, 4), repeat=3)}
    assert laws[3, -1, 2] == chosen((3, -1, 2), masses)
    for scores in product(range(3), repeat=3):
        for moves in product((-1, 0, 1), repeat=3):
            other = tuple(a + b for a, b in zip(scores, moves, strict=True))
            loss = lost([Use("choice", np.array(scores), law)], [Use("choice", np.array(other), law)]).epsilon
            exact = log_ratio(laws[scores], laws[other])
            assert exact <= loss + 1e-6
            reached = max(reached, exact / loss if loss else 0.0)
    assert reached > 0.85


def test_first_places_lose_what_their_exact_law_does() -> None:
    """A row more, and one replaced, of all scores of three candidates up to 2; two places."""
    law, reached = choice_law(Fraction(1), 3, True, 3, security=30), {1: 0.0, 2: 0.0}
    alpha = Fraction(math.exp(-1 / 3))
    for scores in product(range(1, 4), repeat=3):
        for moves in [(1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, 1, 0), (0, -1, 1), (1, 0, -1)]:
            other = tuple(a + b for a, b in zip(scores, moves, strict=True))
            loss = lost([Use("top", np.array(scores), law, 2)], [Use("top", np.array(other), law, 2)]).epsilon
            exact = log_ratio(ranked(scores, alpha, 2), ranked(other, alpha, 2))
            assert exact <= loss + 1e-9
            reached[sum(map(abs, moves))] = max(reached[sum(map(abs, moves))], exact / loss)
    assert min(reached.values()) > 0.85


def test_numbers_lose_what_their_laws_do() -> None:
    laplace, gaussian = DiscreteLaplace(Fraction(4)), discrete_gaussian(Fraction(900))
    one, other = np.array([3, 0, 5]), np.array([4, 2, 5])
    assert lost([Use("numbers", one, laplace)], [Use("numbers", other, laplace)]) == Loss(epsilon=3 / 4)
    of_gaussian = lost([Use("numbers", one, gaussian)], [Use("numbers", other, gaussian)])
    assert of_gaussian == Loss(rho=pytest.approx(5 / 1800, rel=1e-9))
    for of in (Fraction(1, 4), Fraction(49, 4), Fraction(576), Fraction(10**7)):
        assert variance(discrete_gaussian(of)) == pytest.approx(float(of), rel=1e-9)


# Who breaks the contract is caught.


def test_noise_that_is_not_looked_at_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("parties.checking.tape.TAKEN_OVER", ())
    with pytest.raises(AssertionError, match="noise is drawn in a way that the contract of kinds does not know"):
        found("release histogram")


def planted(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    noise, disclosure = Release.noise, Release.disclosure

    def charge(epsilon: str, adjacency: Adjacency) -> None:
        """Charge another loss."""
        loss = PureLoss("", Fraction(epsilon), adjacency=adjacency)
        charged = property(lambda self: replace(disclosure.__get__(self), spends=(loss,)))
        monkeypatch.setattr(Histogram, "disclosure", charged)

    bugs: dict[str, Callable[[], None]] = {
        "half the noise": lambda: monkeypatch.setattr(
            Release,
            "noise",
            lambda self, *of: replace(noise(self, *of), scale=noise(self, *of).scale / 2),  # type: ignore[type-var]
        ),
        "half the charge": lambda: charge("0.375", "add-remove"),
        "another adjacency": lambda: charge("0.75", "replace"),
        "one digit more": lambda: charge("0.7500001", "add-remove"),
        "another epsilon in words": lambda: monkeypatch.setattr(
            Release, "guarantee", property(lambda self: (0.5, 0.0))
        ),
        "another unit in words": lambda: monkeypatch.setattr(
            "parties.jobs.release.kind.hidden", lambda *of: "whether one basket, or one row, is there"
        ),
        "no number of rows of a person": lambda: monkeypatch.setattr(
            "parties.jobs.release.kind.hidden", lambda *of: "whether one person is there"
        ),
        "a delta in words": lambda: monkeypatch.setattr(Release, "guarantee", property(lambda self: (0.75, 1e-6))),
    }
    bugs[what]()


@pytest.mark.parametrize(
    ("what", "problem"),
    [
        ("half the noise", "the loss under add-remove is epsilon 1.5, but 0.75 is booked"),
        ("half the charge", "epsilon 0.75 was requested, but 0.375 is charged"),
        ("another adjacency", "a declared loss has another adjacency than the job"),
        ("one digit more", "epsilon 0.75 was requested, but 0.7500001 is charged"),
        ("another epsilon in words", "the consent text has epsilon [0.5], the job 0.75"),
        (
            "another unit in words",
            "the consent text hides [('basket', 'add-remove')], but the job hides a row by add-remove",
        ),
        ("no number of rows of a person", "the consent text lacks the number of rows of a person"),
        ("a delta in words", "the consent text has another delta than the job"),
    ],
)
def test_a_kind_that_breaks_it_is_caught(monkeypatch: pytest.MonkeyPatch, what: str, problem: str) -> None:
    at_most = 3 if "person" in what else None
    assert found("release histogram", at_most=at_most).problems == []
    planted(monkeypatch, what)
    assert problem in found("release histogram", at_most=at_most).problems


# Sums that are rounded, of rows as long as they may be.


class Longest(Objective):
    """Slopes and curvatures of the length that is declared, whatever a row is, all a little above whole units."""

    most = 3.0

    def slopes(self, margins: Floats, target: Floats) -> tuple[Floats, Floats]:
        each = np.full(margins.shape, LEAST_ABOVE / 1024)
        return each, each

    def squared(self, trees: int) -> Fraction:
        return 2 * trees * Fraction(LEAST_ABOVE / 1024) ** 2


LEAST_ABOVE = 60 + 1 / 8  # units of 2^-10: what a row adds to each of its sums, a little more than a whole number


def test_rounding_is_hidden_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 3 rows more the next one tips all six sums over: each changes by 61 units."""
    case = next(case for case in CASES if case.settings.get("target") == "age" and case.kind == "boost")
    monkeypatch.setitem(OBJECTIVES, "softmax", Longest())
    for rows in range(3, 11):  # the eighths of a period
        assert check_case(replace(case, rows=rows), {"epsilon": EPSILON, "adjacency": "add-remove"}).problems == []


def test_no_budget_is_booked_less_than_is_lost() -> None:
    """Both adjacencies of a budget are those that the contract looks at."""
    assert set(ADJACENCIES) == set(BudgetSettings.model_fields["adjacency"].annotation.__args__)  # type: ignore[union-attr]
