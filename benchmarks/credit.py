"""Artificial people and five rules that classify them, as in Agrawal, Imielinski, Swami (TKDE 1993)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from protocols.arrays import Floats

RANGES = {
    "salary": (20e3, 150e3),
    "commission": (0.0, 75e3),
    "age": (20.0, 80.0),
    "elevel": (0.0, 4.0),
    "car": (1.0, 20.0),
    "zipcode": (1.0, 9.0),
    "hvalue": (50e3, 1350e3),
    "hyears": (1.0, 30.0),
    "loan": (0.0, 500e3),
}
WHOLE = ("elevel", "car", "zipcode")
FUNCTIONS = (1, 2, 3, 4, 5)


def people(rows: int, rng: np.random.Generator) -> dict[str, Floats]:
    """Return the columns of `rows` people, float64[rows] each."""
    salary = rng.uniform(20e3, 150e3, rows)
    commission = np.where(salary >= 75e3, 0.0, rng.uniform(10e3, 75e3, rows))
    zipcode = rng.integers(1, 10, rows).astype(np.float64)
    return {
        "salary": salary,
        "commission": commission,
        "age": rng.uniform(20, 80, rows),
        "elevel": rng.integers(0, 5, rows).astype(np.float64),
        "car": rng.integers(1, 21, rows).astype(np.float64),
        "zipcode": zipcode,
        "hvalue": zipcode * rng.uniform(50e3, 150e3, rows),
        "hyears": rng.uniform(1, 30, rows),
        "loan": rng.uniform(0, 500e3, rows),
    }


def classes(function: int, of: dict[str, Floats]) -> NDArray[np.int64]:
    """Return 1 for each person of group A and 0 for others, int64[rows]."""
    age, salary, elevel = of["age"], of["salary"], of["elevel"]
    young, old = age < 40, age >= 60
    middle = ~young & ~old

    def earns(low: float, high: float) -> NDArray[np.bool_]:
        return np.asarray((salary >= low) & (salary <= high))

    if function == 1:
        found = young | old
    elif function == 2:
        found = (young & earns(50e3, 100e3)) | (middle & earns(75e3, 125e3)) | (old & earns(25e3, 75e3))
    elif function == 3:
        first = young & np.where(elevel <= 1, earns(25e3, 75e3), (elevel <= 3) & earns(50e3, 100e3))
        second = middle & np.where(elevel == 4, earns(75e3, 125e3), (elevel >= 1) & earns(50e3, 100e3))
        third = old & np.where(elevel == 1, earns(25e3, 75e3), (elevel >= 2) & earns(50e3, 100e3))
        found = first | second | third
    else:
        left = 0.67 * (salary + of["commission"]) - 0.2 * of["loan"]
        equity = 0.1 * of["hvalue"] * np.maximum(of["hyears"] - 20, 0)
        found = left > 20e3 if function == 4 else left + 0.2 * equity > 10e3
    return np.asarray(found, dtype=np.int64)
