"""Rules behind blurred rows: unbiased for any row, as exact as told, and mlxtend's where nothing is blurred."""

from __future__ import annotations

import json
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlxtend.frequent_patterns import apriori, association_rules

from parties import cli
from parties.alone.blurring.response import Response
from parties.alone.blurring.rules import Column, Estimates

PLAN = """
[columns]
a = { noise = "response", values = ["0", "1"], keep = 0.7 }
b = { noise = "response", values = ["x", "y", "z"], keep = 0.5 }
c = { noise = "none" }
n = { noise = "uniform", low = 0, high = 1, privacy = 0.5 }
"""
SIZES, KEPT = (2, 3, 4), (0.7, 0.25, 1.0)
COLUMNS = [
    Column(name, tuple(map(str, range(size))), keep) for name, size, keep in zip("abc", SIZES, KEPT, strict=True)
]


def estimates_of(codes: Any) -> Estimates:
    made = Estimates(COLUMNS, np.array(codes))
    for length in (1, 2, 3):
        made.count(every_set(length))
    return made


def every_set(length: int) -> list[tuple[int, ...]]:
    starts = (0, 2, 5)
    return [
        tuple(starts[at] + value for at, value in zip(columns, values, strict=True))
        for columns in combinations(range(3), length)
        for values in product(*(range(SIZES[at]) for at in columns))
    ]


@given(st.tuples(*(st.integers(0, size - 1) for size in SIZES)))
def test_the_mean_over_all_answers_is_the_truth(row: tuple[int, ...]) -> None:
    """Whatever a row may say, by the chances of the answers: 1 for each set that it has, 0 for others."""
    chances = [Response(size, keep).chances for size, keep in zip(SIZES, KEPT, strict=True)]
    means = dict.fromkeys([items for length in (1, 2, 3) for items in every_set(length)], 0.0)
    for said in product(*map(range, SIZES)):
        chance = float(np.prod([table[value, true] for table, value, true in zip(chances, said, row, strict=True)]))
        one = estimates_of([said])
        for items in means:
            means[items] += chance * one.share(items)
    has = {(0, 2, 5)[at] + value for at, value in enumerate(row)}
    assert means == pytest.approx({items: float(set(items) <= has) for items in means}, abs=1e-9)


def test_shares_are_within_what_is_told() -> None:
    """In 95 of 100 draws; of 400, eight standard deviations of the binomial are .087 on either side, so a set each."""
    rng = np.random.default_rng(2)
    sets = [(0,), (2,), (5,), (0, 2), (1, 5), (0, 2, 5)]
    within = dict.fromkeys(sets, 0)
    for _ in range(400):
        a = rng.integers(0, 2, 500)
        true = np.stack([a, np.where(rng.random(500) < 0.8, 0, rng.integers(0, 3, 500)), a + 2 * (a == 0)], axis=1)
        said = [
            Response(size, keep).blur(true[:, at].astype(np.int32), rng)
            for at, (size, keep) in enumerate(zip(SIZES, KEPT, strict=True))
        ]
        made = estimates_of(np.stack(said, axis=1))
        expected = {(0,): 0.5, (2,): 0.8 + 0.2 / 3, (5,): 0.0, (0, 2): 0.5 * (0.8 + 0.2 / 3), (1, 5): 0.0}
        for items in sets:
            within[items] += abs(made.share(items) - expected.get(items, 0.0)) <= made.reach(items) + 1e-12
    assert all(count / 400 > 0.87 for count in within.values()), within
    assert all(within[items] / 400 < 0.985 for items in ((0,), (2,), (0, 2))), within


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    a = rng.integers(0, 2, 4000)
    b = np.where(rng.random(4000) < 0.9, a, rng.integers(0, 3, 4000))
    rows = {"a": a, "b": np.array(list("xyz"))[b], "c": np.where(rng.random(4000) < 0.8, b, 0), "n": rng.random(4000)}
    pd.DataFrame(rows).to_csv("rows.csv", index=False)
    Path("blur.toml").write_text(PLAN)
    return tmp_path


def smc(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = cli.run(["blur", *words])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def told(document: Any) -> Any:
    sets = {frozenset(items): share["value"] for items, share in zip(document["sets"], document["shares"], strict=True)}
    rules = {(frozenset(r["if"]), frozenset(r["then"])): (r["confidence"], r["lift"]) for r in document["rules"]}
    return sets, rules


@pytest.mark.usefixtures("place")
def test_without_noise_they_are_mlxtends(capsys: pytest.CaptureFixture[str]) -> None:
    Path("plain.toml").write_text('[columns]\na.noise = "none"\nb = {noise = "response", values = ["x", "y", "z"], '
                                  'keep = 1}\nc.noise = "none"\n')  # fmt: skip
    words = ["--plan", "plain.toml", "--data", "rows.csv", "--support", "0.05", "--confidence", "0.6", "--show", "all"]
    code, out, _ = smc(capsys, "rules", *words, "--json")
    assert code == 0
    sets, rules = told(json.loads(out))
    table = pd.read_csv("rows.csv", dtype=str)[["a", "b", "c"]]
    known = apriori(pd.get_dummies(table, prefix_sep="=").astype(bool), 0.05, use_colnames=True)
    assert sets == pytest.approx({frozenset(s): n for s, n in zip(known["itemsets"], known["support"], strict=True)})
    expected = association_rules(known, metric="confidence", min_threshold=0.6)
    expected = expected[expected["lift"] >= 1]
    assert rules.keys() == set(zip(expected["antecedents"], expected["consequents"], strict=True))
    for line in expected.itertuples():
        assert rules[line.antecedents, line.consequents] == pytest.approx((line.confidence, line.lift))


@pytest.mark.usefixtures("place")
def test_behind_blurred_rows_are_the_true_rules(capsys: pytest.CaptureFixture[str]) -> None:
    """Estimated near the truth, and in a form that `smc predict` applies to true rows."""
    assert smc(capsys, "--plan", "blur.toml", "--data", "rows.csv", "--out", "blurred.csv")[0] == 0
    words = ["rules", "--plan", "blur.toml", "--data", "blurred.csv", "--columns", "a,b"]
    code, out, _ = smc(capsys, *words, "--json")
    assert code == 0
    document = json.loads(out)
    sets, rules = told(document)
    rows = pd.read_csv("rows.csv", dtype=str)
    true = float(((rows["a"] == "0") & (rows["b"] == "x")).mean())
    assert sets[frozenset({"a=0", "b=x"})] == pytest.approx(true, abs=0.1)  # five standard deviations
    assert (frozenset({"b=x"}), frozenset({"a=0"})) in rules
    Path("rules.json").write_text(out)
    assert cli.run(["predict", "--rules", "rules.json", "--data", "rows.csv", "--score"]) == 0
    assert "if b=x then a=0" in capsys.readouterr().out
    code, out, _ = smc(capsys, *words)
    assert code == 0
    assert f"if b=x then a=0 (support {sets[frozenset({'a=0', 'b=x'})]:.3g}, " in out  # the noise is not seeded
    assert "(95%)" in out.splitlines()[-1]


@pytest.mark.usefixtures("place")
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--columns", "a,n"], "--columns: 'n' is blurred as a number, but rules need categories; remove it"),
        (["--columns", "a,d"], "--columns: the plan has no column 'd'"),
        (["--columns", "a"], "rules need at least two columns of categories"),
        (["--support", "0"], "0"),
        (["--support", "1.5"], "1.5"),
        (["--plan", "none.toml"], "none.toml"),
    ],
)
def test_wrong_input_is_one_line(words: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, errors = smc(capsys, "rules", "--plan", "blur.toml", "--data", "rows.csv", *words)
    assert code == 2
    (line,) = errors.splitlines()
    assert why in line
