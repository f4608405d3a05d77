"""What a party brings to a job of any kind; sessions have their base OTs in a group that costs nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from parties.jobs.kind import Inputs
from tests.support.circuits import ADDER
from tests.support.matched import matched
from tests.support.proposals import inputs_of
from tests.support.specified import SCHEMA
from tests.support.toy_curve import toy_curve

__all__ = ["inputs", "toy_curve"]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[dict[str, Any]], Inputs]:
    """What a party brings to a job with these fields: a table if it names one, and a circuit."""
    place = tmp_path_factory.mktemp("circuits")
    adder = place / "adder.txt"
    adder.write_text(ADDER)

    def made(job: dict[str, Any]) -> Inputs:
        table = inputs_of(SCHEMA) if "table" in job else Inputs()
        if "alignment" in job or job.get("protocol") == "align hidden":
            return matched(replace(table, party=1), place, 50)
        return Inputs(1, table.table, table.schema, {"adder": adder})

    return made
