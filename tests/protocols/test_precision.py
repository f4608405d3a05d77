"""Parameters of the private logarithm: no wider, no longer and no dearer than is said."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from protocols import logarithm
from protocols.precision import count_width, derive
from smc.counting import forecast
from smc.engines import Engine, Profile
from smc.recipes import GARBLED, SHARED

CASES = [(0.001, 131070), (0.01, 1000), (1e-5, 4000), (0.1, 6)]


@pytest.mark.parametrize("prices", [GARBLED, SHARED], ids=["garbled", "shared"])
@pytest.mark.parametrize(("delta", "bound"), CASES)
def test_words_are_as_wide_as_the_greatest_number_takes(delta: float, bound: int, prices: Any) -> None:
    for terms in (None, 2):
        found = derive(delta, bound, terms, prices)
        unit, error = 2.0**found.fraction, float(found.error)
        assert found.log_width == 2 + math.floor(math.log2((count_width(bound) * math.log(2) + 1) * unit))
        assert found.sum_width == 2 + math.floor(math.log2(bound * (math.log(bound) + 2 * error) * unit))


@pytest.mark.parametrize(("delta", "bound"), CASES[:3])
@pytest.mark.parametrize("terms", [2, 3, 4])
def test_a_digit_less_would_cost_more_than_its_share_of_the_error(delta: float, bound: int, terms: int) -> None:
    """Cutting d off before term j costs r^(j-1) 2^-Q / (j (1 - r)) at most: of k terms each may cost room / 2k."""
    found = derive(delta, bound, terms)
    radius = Fraction(1, 2 << found.cells)
    ratio = radius / (1 + radius)
    room = Fraction(delta) / 4 - ratio ** (terms + 1) / ((terms + 1) * (1 - ratio))
    for j, digits in enumerate(found.digits, 1):
        if digits < count_width(bound) - 1:
            loss = radius ** (j - 1) / (j * (1 - radius)) / (1 << digits)
            assert loss <= room / (2 * terms)
            assert 2 * loss > room / (2 * terms) or digits == found.cells + 1


@pytest.mark.parametrize("profile", [Profile("yao"), Profile("gmw", "ferret"), Profile("mixed")], ids=str)
@pytest.mark.parametrize(("delta", "bound"), CASES[:3])
def test_no_other_number_of_terms_is_much_cheaper(
    delta: float, bound: int, profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In bytes as they are counted; what is chosen by is rough, so a twentieth is let go."""

    def taken(terms: int | None) -> int:
        def program(engine: Engine) -> None:
            chosen = derive(delta, bound, terms, engine.words.prices)
            monkeypatch.setattr(logarithm, "derive", lambda *_, **__: chosen)
            logarithm.open_logarithm(engine, np.zeros(64, dtype=np.int64), bound, delta, times_x=True)

        return forecast(program, profile).bytes

    assert 0.95 * taken(None) <= min(map(taken, range(1, 5)))
