"""Facts about people from noisy counts: with much epsilon all are found, and never more than epsilon allows."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parties.alone.attacks.noisy_counts import most_success, success
from parties.cli import run


def test_no_attack_on_counts_beats_its_bound() -> None:
    """Three people and one count of all: the best guess by the exact law, and the attack, are below the bound."""
    for epsilon in (0.1, 0.5, 1.0, 3.0):
        alpha, total = math.exp(-epsilon), 0.0
        for answer in range(-200, 204):
            law = [(1 - alpha) / (1 + alpha) * alpha ** abs(answer - ones) for ones in range(3 + 1)]
            yes = sum(math.comb(2, ones - 1) * law[ones] / 8 for ones in range(1, 4))
            no = sum(math.comb(2, ones) * law[ones] / 8 for ones in range(3))
            total += max(yes, no)
        assert total <= most_success(0.5, epsilon)
        draw = np.random.default_rng(1)
        found = np.mean([success(draw.random(30) < 0.5, 10, epsilon / 10, draw) for _ in range(200)])
        assert found <= most_success(0.5, epsilon) + 4 * 0.5 / math.sqrt(200 * 30)


def test_enough_counts_give_everybody_away() -> None:
    draw = np.random.default_rng(2)
    truth = draw.random(50) < 0.3
    assert success(truth, 400, 2.0, draw) == 1
    assert success(truth, 400, 2.0 / 400, draw) < 0.9


def test_the_command_with_and_without_a_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.csv").write_text("id,smoker\n" + "".join(f"{i},{'yes' if i % 3 else 'no'}\n" for i in range(60)))
    words = ["attack", "counts", "--data", "p.csv", "--column", "smoker=yes", "--questions", "500", "--epsilon", "1"]

    def told(*more: str) -> Any:
        assert run([*words, *more, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    free, kept = told(), told("--budget", "4")
    assert (free["answered"], free["spent"], free["right"]) == (500, 500, 1)
    assert (kept["answered"], kept["spent"]) == (4, 4)
    assert kept["by_chance"] == pytest.approx(2 / 3)
    assert kept["right"] < kept["possible"] == pytest.approx(2 / (2 + math.exp(-4)))


@pytest.mark.parametrize(
    ("flag", "value", "said"),
    [
        ("--column", "smoker", "must be COLUMN=VALUE"),
        ("--column", "smoker=maybe", "no row has 'maybe'"),
        ("--column", "pipe=yes", "pipe"),
        ("--budget", "0.5", "--budget: 0.5 is less than one count's epsilon, 1"),
        ("--questions", "0", "--questions"),
        ("--epsilon", "nan", "--epsilon"),
    ],
)
def test_wrong_words(
    flag: str, value: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("p.csv").write_text("id,smoker\n1,yes\n2,no\n3,yes\n")
    given = {"--column": "smoker=yes", "--questions": "5", "--epsilon": "1", flag: value}
    assert run(["attack", "counts", "--data", "p.csv", *(word for pair in given.items() for word in pair)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.strip().splitlines()) == 1
