"""The anonymiser: frames of any kind in and out, every class as the models want it."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from parties.alone.publish.models.diversity import LDiversity
from parties.alone.publish.models.model import KAnonymity
from parties.alone.publish.models.presence import Presence
from parties.alone.publish.rules import Rule
from parties.notebook import Anonymiser
from smc.errors import InputError

MODELS = [KAnonymity(4), LDiversity("disease", 2)]
RULES = {"zip": Rule(prefixes=(4, 3)), "age": Rule(ranges=(5, 10, 20))}
ALGORITHMS = ["flash", "samarati", "incognito", "mondrian", "mondrian-relaxed", "top-down"]


def people(rows: int, seed: int) -> dict[str, list[Any]]:
    draw = random.Random(seed)
    return {
        "name": [f"n{i}" for i in range(rows)],
        "zip": [f"53{draw.randrange(3)}{draw.randrange(3)}1" for _ in range(rows)],
        "age": [draw.randrange(18, 60) for _ in range(rows)],
        "disease": [draw.choice(["flu", "ulcer", None]) for _ in range(rows)],
        "ward": [draw.randrange(1000) for _ in range(rows)],
    }


def made(**given: Any) -> Anonymiser:
    return Anonymiser(MODELS, rules=RULES, drop=["name"], keep=["ward"], max_suppressed=0.05, **given)


def check(found: dict[str, list[Any]], table: dict[str, list[Any]]) -> None:
    """Classes as the models want them, and each row still with its disease and ward."""
    assert list(found) == ["zip", "age", "disease", "ward"]
    classes = defaultdict(list)
    for zip_, age, disease in zip(found["zip"], found["age"], found["disease"], strict=True):
        classes[zip_, age].append(disease)
    assert all(len(own) >= 4 and len(set(own)) >= 2 for own in classes.values())
    origins = set(zip(table["disease"], table["ward"], strict=True))
    assert set(zip(found["disease"], found["ward"], strict=True)) <= origins
    assert len(found["zip"]) >= 0.95 * len(table["zip"])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_frame_of_polars(algorithm: str) -> None:
    table = people(200, 1)
    anonymiser = made(algorithm=algorithm)
    found = anonymiser.fit_transform(pl.DataFrame(table))
    assert isinstance(found, pl.DataFrame)
    check(found.to_dict(as_series=False), table)
    assert anonymiser.report_["rows"] == 200
    assert anonymiser.report_["suppressed"] == 200 - len(found)


def test_frames_of_all_kinds_are_the_same() -> None:
    table = people(200, 2)
    expected = made().fit_transform(pl.DataFrame(table)).to_dict(as_series=False)
    arrow = made().fit_transform(pa.table(table))
    assert isinstance(arrow, pa.Table)
    assert arrow.to_pydict() == expected
    pandas = made().fit_transform(pd.DataFrame(table, index=[f"id {i}" for i in range(200)]))
    assert isinstance(pandas, pd.DataFrame)
    assert pandas.index.tolist() == list(range(len(expected["zip"])))
    for name in ("zip", "age", "ward"):
        assert pandas[name].tolist() == expected[name]


@pytest.mark.parametrize("algorithm", ["flash", "mondrian"])
def test_the_rows_of_fit_are_recoded_alike(algorithm: str) -> None:
    frame = pl.DataFrame(people(200, 3))
    anonymiser = made(algorithm=algorithm)
    assert anonymiser.fit_transform(frame).equals(anonymiser.fit(frame).transform(frame))
    few = pl.DataFrame(people(20, 4))
    with pytest.raises(InputError, match="of 20 rows do not fit the recoding"):
        anonymiser.transform(few)


def test_conventions() -> None:
    anonymiser = clone(made(algorithm="mondrian"))
    assert anonymiser.get_params()["models"] == MODELS
    assert anonymiser.algorithm == "mondrian"
    with pytest.raises(NotFittedError):
        anonymiser.transform(pl.DataFrame(people(9, 1)))


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Anonymiser([KAnonymity(300)]), "300-anonymity is impossible"),
        (lambda: Anonymiser([]), "models: give at least one"),
        (lambda: Anonymiser(MODELS, quasi=["disease"]), "'disease' is a quasi-identifier, and cannot be sensitive"),
        (lambda: Anonymiser(MODELS, quasi=["zipp"]), r"lacks the column 'zipp' \(did you mean 'zip'"),
        (lambda: Anonymiser(MODELS, max_suppressed=2.0), "max_suppressed: must be <= 1"),
        (lambda: Anonymiser(MODELS, algorithm="flush"), "algorithm: must be .*did you mean 'flash'"),
    ],
)
def test_what_is_refused(make: Any, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        make().fit(pl.DataFrame(people(50, 1)))


def test_an_array_is_refused() -> None:
    with pytest.raises(InputError, match="a list is not a data frame with column names"):
        Anonymiser(MODELS).fit([[1, 2]])


def test_presence_among_the_people_of_a_frame() -> None:
    """Half of the register is published: in every class between 0.3 and 0.8 of it, also if the rows come again."""
    columns = {"zip": [f"5{i % 4}{i % 3}" for i in range(120)], "sex": ["mf"[i % 5 % 2] for i in range(120)]}
    people = pd.DataFrame(columns)
    rows = people.iloc[[i for i in range(120) if i % 2 or i % 7 == 0]]
    models = [KAnonymity(2), Presence(0.3, 0.8)]
    anonymiser = Anonymiser(models, rules={"zip": Rule(prefixes=(2, 1))}, public=people)
    published = anonymiser.fit_transform(rows)
    assert len(published) == len(rows)
    for (code, sex), own in published.groupby(["zip", "sex"]):
        known = people["zip"].str.startswith(code.rstrip("*")) & people["sex"].isin(["m", "f"] if sex == "*" else [sex])
        assert 0.3 <= len(own) / known.sum() <= 0.8
    assert len(anonymiser.transform(rows)) == len(rows)
    with pytest.raises(InputError, match="the recoded rows do not satisfy"):
        anonymiser.transform(rows.iloc[:4])
    with pytest.raises(InputError, match="needs a public table"):
        Anonymiser(models).fit(rows)
