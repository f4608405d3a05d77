"""Which examples Hypothesis tries: in `make test` the same ones every time, in `make campaign` new ones.

A run that others wait for must not fail for an example that nobody has changed anything about. So its examples follow
from the test's own text, and from nothing else: neither from a database of earlier failures nor from what other modules
happen to be loaded, whose constants Hypothesis would mix in. How long an example or its making takes says how busy the
machine is, not whether the program is right: there is no deadline and no check of speed.
"""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.internal.conjecture import providers

from tests.support.places import ROOT

EXPLORING = bool(os.environ.get("SMC_CAMPAIGN"))
ROUNDS = 10  # how often a campaign draws as many examples as a test says
USUAL = 50  # examples of a test that does not say how many: the same fifty each time, in a campaign new hundreds
UNHURRIED: dict[str, Any] = {
    "deadline": None,
    "suppress_health_check": [HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
}


def load_profile() -> None:
    """Settle it for all tests; before any of them makes settings of its own."""
    if EXPLORING:
        kept = DirectoryBasedExampleDatabase(ROOT / ".hypothesis" / "examples")
        settings.register_profile("new", derandomize=False, database=kept, print_blob=True, **UNHURRIED)
        settings.load_profile("new")
        return
    settings.register_profile("same", max_examples=USUAL, derandomize=True, database=None, **UNHURRIED)
    settings.load_profile("same")
    # There is no setting for it; tests/test_load.py sees when this has no effect any more.
    providers._get_local_constants = lambda: providers._local_constants


def repeat(metafunc: pytest.Metafunc) -> None:
    """In a campaign: run a test with examples `ROUNDS` times, each time with new ones."""
    if EXPLORING and is_hypothesis_test(metafunc.function):
        metafunc.fixturenames.append("example_round")
        metafunc.parametrize("example_round", range(ROUNDS), indirect=True)
