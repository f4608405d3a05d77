"""Models against pyCANON, which checks published tables (J. Sainz-Pardo Diaz, A. Lopez Garcia, 2022).

Its releases pin numpy, pandas and scipy to versions that are not ours, so it runs in an environment of its own, whose
interpreter SMC_PYCANON names, and is told the tables as JSON. Recursive diversity is left out: pyCANON 1.3 takes the
rarest value for r_1, where the definition has the most frequent one.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
from typing import Any

import pytest

from parties.alone.publish.models.classes import Classes
from parties.alone.publish.models.closeness import TCloseness
from parties.alone.publish.models.disclosure import PositiveDisclosure
from parties.alone.publish.models.diversity import EntropyLDiversity, LDiversity
from parties.alone.publish.models.model import KAnonymity
from tests.support.anonymity import classes_of
from tests.support.waiting import PATIENCE

PYTHON = os.environ.get("SMC_PYCANON", "")
PEER = """
import json, sys, warnings
warnings.filterwarnings("ignore")
import pandas as pd
from pycanon import anonymity as a
answers = []
for rows in json.load(sys.stdin):
    data = pd.DataFrame(rows, columns=["q", "text", "number"])
    answers.append({
        "k": int(a.k_anonymity(data, ["q"])),
        "l": int(a.l_diversity(data, ["q"], ["text"])),
        "entropy": int(a.entropy_l_diversity(data, ["q"], ["text"])),
        "alpha": float(a.alpha_k_anonymity(data, ["q"], ["text"])[0]),
        "equal": float(a.t_closeness(data, ["q"], ["text"])),
        "ordered": float(a.t_closeness(data, ["q"], ["number"])),
    })
json.dump(answers, sys.stdout)
"""
TABLES = 60


def table(seed: int) -> list[tuple[str, str, int]]:
    """Random rows of a class, a text and a number, of which there are at least two."""
    draw = random.Random(seed)
    classes, values = draw.randint(1, 4), draw.randint(2, 6)
    rows = [(f"q{draw.randrange(classes)}", f"v{draw.randrange(values)}", draw.randrange(9)) for _ in range(30)]
    return [*rows, ("q0", "v0", 0), ("q0", "v1", 8)]


def classes(rows: list[tuple[str, str, int]], column: int) -> Classes:
    """The rows as ours: numbers in their order."""
    found: dict[str, list[Any]] = {}
    for row in rows:
        found.setdefault(row[0], []).append(row[column])
    return classes_of(found, sorted({row[column] for row in rows}))


@pytest.mark.skipif(not PYTHON, reason="SMC_PYCANON does not name an interpreter that has pyCANON")
def test_models_equal_those_of_pycanon() -> None:
    tables = [table(seed) for seed in range(TABLES)]
    done = subprocess.run(
        [PYTHON, "-c", PEER], input=json.dumps(tables), capture_output=True, text=True, timeout=PATIENCE
    )
    assert not done.returncode, done.stderr
    answers = json.loads(done.stdout)
    assert len(answers) == TABLES
    for rows, peer in zip(tables, answers, strict=True):
        texts, numbers = classes(rows, 1), classes(rows, 2)
        assert KAnonymity(1).reached(texts) == peer["k"]
        assert LDiversity("s", 1).reached(texts) == peer["l"]
        entropy = EntropyLDiversity("s", 1).reached(texts)
        assert int(entropy - 1e-9) <= peer["entropy"] <= int(entropy + 1e-9)
        assert PositiveDisclosure("s", 1).reached(texts) == pytest.approx(peer["alpha"])
        assert TCloseness("s", 1).reached(texts) == pytest.approx(peer["equal"])
        assert TCloseness("s", 1, "ordered").reached(numbers) == pytest.approx(peer["ordered"])
