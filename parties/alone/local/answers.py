"""Reports by a mechanism for values given as table cells or typed text."""

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

AT_ONCE = 1 << 12  # rows of a batch, so that their coins fit into the processor's cache


def answer(mechanism: Mechanism, values: Sequence[Any], coins: Coins) -> Reports:
    """Return the randomised report of each value, uint8[rows, width].

    Args:
        mechanism: the mechanism of the plan
        values: categories, numbers or texts, one a person
        coins: the coins of these persons

    Raises:
        InputError: a value is missing, or is not a possible answer to the question
    """
    if any(value is None or value == "" for value in values):
        raise InputError("a value is missing; leave out this person")
    if mechanism.about == "texts":
        return mechanism.report([str(value) for value in values], coins)
    if mechanism.about == "categories":
        names: tuple[str, ...] = mechanism.names  # type: ignore[attr-defined]
        index = {name: i for i, name in enumerate(names)}
        codes = np.array([index.get(str(value), -1) for value in values], dtype=np.int64)
        if (codes < 0).any():
            wrong = str(values[int(np.argmax(codes < 0))])
            raise InputError(f"{quoted(wrong)} is not among the plan's values {listed(names)}; correct it")
        return mechanism.report(codes, coins)
    return mechanism.report(np.array([_number(value) for value in values]), coins)


def same(mechanism: Mechanism, value: str) -> str:
    """Return the canonical text of a value; different spellings of one number have one text.

    Args:
        mechanism: the mechanism of the plan
        value: the value, as text
    """
    return repr(_number(value) + 0.0) if mechanism.about == "numbers" else value


def people(persons: Sequence[Any]) -> Any:
    """Return a 64-bit digest of each person's identifier, uint64[rows]."""
    return digests_of([str(person) for person in persons])


def _number(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{quoted(str(value))} is not a number; correct it") from None
    if not math.isfinite(number):
        raise InputError(f"{quoted(str(value))} is not a finite number; correct it")
    return number
