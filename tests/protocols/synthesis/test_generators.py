"""All that `smc synthesise` can make rows with, by what every generator promises."""

from __future__ import annotations

import numpy as np
import pytest

from parties.jobs.release.synthesise.rows import GENERATORS
from parties.jobs.release.synthesise.settings import SynthesiseSettings
from protocols.synthesis.marginals import Measurement

DOMAIN = {"a": 3, "b": 2, "c": 4}
JOINT = np.array([[900, 100], [300, 700], [50, 950]])


def test_all_can_be_asked_for() -> None:
    assert set(SynthesiseSettings.model_fields["generator"].annotation.__args__) == set(GENERATORS)  # type: ignore[union-attr]


@pytest.mark.parametrize("name", GENERATORS)
def test_rows_have_what_was_measured(name: str) -> None:
    measurements = [Measurement(("b", "a"), JOINT.T.copy(), 1.0), Measurement(("a",), JOINT.sum(axis=1), 2.0)]
    first, again = (GENERATORS[name]().generate(DOMAIN, measurements, 3000, seed=4) for _ in range(2))
    assert list(first) == list(DOMAIN)
    for column, size in DOMAIN.items():
        assert first[column].dtype == np.int64
        assert first[column].shape == (3000,)
        assert 0 <= first[column].min() <= first[column].max() < size
        assert (first[column] == again[column]).all()
    counts = np.bincount(first["a"] * 2 + first["b"], minlength=6).reshape(3, 2)
    assert np.abs(counts - JOINT).max() < 60
