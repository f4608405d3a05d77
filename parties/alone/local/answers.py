"""Values as a table or a terminal has them, made into reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from parties.alone.local.coins import Coins
from parties.alone.local.hashing import digests_of
from parties.alone.local.mechanism import Mechanism, Reports
from parties.base.text import listed, quoted
from smc.errors import InputError

AT_ONCE = 1 << 12  # rows of a batch: what their coins take stays in the processor's cache


def answer(mechanism: Mechanism, values: Sequence[Any], coins: Coins) -> Reports:
    """Return a report of each value, uint8[rows, width]. `InputError` names a value that is none of the question's."""
    if any(value is None or value == "" for value in values):
        raise InputError("a value is missing: a person without one answers another question")
    if mechanism.about == "texts":
        return mechanism.report([str(value) for value in values], coins)
    if mechanism.about == "categories":
        names: tuple[str, ...] = mechanism.names  # type: ignore[attr-defined]
        index = {name: i for i, name in enumerate(names)}
        codes = np.array([index.get(str(value), -1) for value in values], dtype=np.int64)
        if (codes < 0).any():
            wrong = str(values[int(np.argmax(codes < 0))])
            raise InputError(f"{quoted(wrong)} is none of the plan's values {listed(names)}")
        return mechanism.report(codes, coins)
    return mechanism.report(np.array([_number(value) for value in values]), coins)


def same(mechanism: Mechanism, value: str) -> str:
    """Return a text that two values share if they are one to the mechanism: numbers that are equal, texts alike."""
    return repr(_number(value) + 0.0) if mechanism.about == "numbers" else value


def people(persons: Sequence[Any]) -> Any:
    """Return numbers of persons from what names them, uint64[rows]."""
    return digests_of([str(person) for person in persons])


def _number(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{quoted(str(value))} is no number") from None
    if not math.isfinite(number):
        raise InputError(f"{quoted(str(value))} is no finite number")
    return number
