"""A small job of every kind, on engines of each sort."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from parties.jobs import kinds
from parties.link.identity import create
from tests.support.blame import Case, MatchedCase
from tests.support.circuits import ADDER
from tests.support.specified import CLASSIFIER, ESTIMATOR, SCHEMA, TREE

COLUMNS = list(SCHEMA.attributes)


def rows(first: int, count: int) -> str:
    """Rows that have every value, and classes that go with the others, more or less."""
    lines = [",".join(COLUMNS)]
    for i in range(first, first + count):
        values = [SCHEMA.attributes[name] for name in COLUMNS]
        wind, hours, rain = (values[c][i * (c + 3) // (c + 1) % len(values[c])] for c in range(3))
        play = values[3][(wind == "weak") ^ (i % 7 == 0)]
        lines.append(f"{wind},{hours},{rain},{play}")
    return "\n".join(lines) + "\n"


@cache
def office() -> str:
    """The certificate to which a table is sealed."""
    with TemporaryDirectory() as place:
        return create("office", [], Path(place)).certificate_path.read_text()


ROWS = (rows(0, 60), rows(31, 83))
TABLE: dict[str, dict[str, Any]] = {
    "id3": {},
    "id3 with rules": {"k": 5, "l": 2, "against": "peer"},
    "id3 against the public": {"k": 5, "t": 0.4, "against": "public"},
    "forest": {"trees": 2},
    "id3 with noise": {"epsilon": 2.0, "max_depth": 2},
    "align exact": {"by": ("wind", "hours+rain"), "duplicates": "first"},
    "align exact fast": {"by": ("wind", "hours+rain"), "duplicates": "first", "method": "fast"},
    "align exact number": {"by": ("hours",), "duplicates": "first", "opens": "number"},
    "align exact at least": {"by": ("hours",), "duplicates": "first", "opens": "at-least", "at_least": 2},
    "align hidden": {"by": ("id",), "keys": 100},
    "align fuzzy": {
        "comparisons": ("wind=exact:1+else:-1", "hours=exact:2+dice@0.5:1+else:-1"),
        "blocking_rules": ("wind+rain", "hours"),
        "threshold_match_weight": 2.0,
        "keys": 300,
        "bin_rows": 2,
    },
    "align fuzzy for one": {
        "comparisons": ("hours=exact:2+else:-1",),
        "blocking_rules": ("wind",),
        "threshold_match_weight": 1.0,
        "learns": "dialler",
        "keys": 300,
        "bin_rows": 2,
    },
    "align lookup": {"by": ("hours",), "duplicates": "first", "learns": "dialler"},
    "classify": {"classifier": TREE, "learns": "dialler", "alignment": "latest"},
    "millionaires": {"of": "rows"},
    "majority": {},
    "release count": {"epsilon": 1.0, "where": "wind = weak; rain = much"},
    "release count exact": {"exact": True, "where": "wind = weak"},
    "release histogram": {"epsilon": 1.0, "by": "rain"},
    "release table": {"epsilon": 1.0, "by": ("wind", "rain")},
    "release sum": {"epsilon": 1.0, "column": "hours"},
    "release mean": {"epsilon": 1.0, "column": "hours", "by": ("rain",)},
    "release deviation": {"epsilon": 1.0, "column": "hours", "by": ("rain",)},
    "release correlation": {"epsilon": 1.0, "numeric": ("hours", "wind"), "by": ("rain",)},
    "release median": {"epsilon": 1.0, "column": "hours"},
    "release median exact": {"exact": True, "column": "hours"},
    "release top": {"epsilon": 1.0, "column": "hours", "first": 2},
    "release choose": {"epsilon": 1.0, "column": "hours", "prices": "1,3"},
    "release top exact": {"exact": True, "column": "hours", "first": 2},
    "release edges": {"epsilon": 1.0, "numeric": ("hours",), "parts": 2},
    "release edges exact": {"exact": True, "numeric": ("hours",), "parts": 2},
    "evaluate report": {"epsilon": 1.0, "classifier": CLASSIFIER},
    "evaluate error": {"epsilon": 1.0, "classifier": ESTIMATOR},
    "release risks": {"epsilon": 1.0, "target": "play", "by": "wind", "strata": ("rain",)},
    "release rates": {"epsilon": 1.0, "target": "hours", "by": "wind", "where": "hours in ['1', 4]"},
    "release difference": {"epsilon": 1.0, "column": "hours", "by": "wind"},
    "evaluate auc": {"classifier": CLASSIFIER, "at_least": 0.6},
    "evaluate better": {"classifier": CLASSIFIER, "than": "hours"},
    "evaluate drift": {"columns": ("hours", "rain")},
    "survive curve": {"epsilon": 1.0, "time": "hours", "event": "play", "arm": "wind"},
    "survive cox": {"epsilon": 1.0, "time": "hours", "event": "play", "columns": ["wind"], "steps": 4},
    "regress logistic": {"epsilon": 1.0, "target": "play", "columns": ["wind"], "steps": 4},
    "regress poisson": {
        "epsilon": 1.0,
        "target": "hours",
        "columns": ["wind"],
        "where": "hours in ['1', 4]",
        "steps": 4,
    },
    "survive compare": {"time": "hours", "event": "play", "arm": "wind"},
    "quantile": {"epsilon": 1.0, "column": "hours"},
    "quantile exact": {"exact": True, "column": "hours"},
    "rank": {"target": "play", "first": 2},
    "rules": {"columns": ("wind", "rain"), "support": 0.2, "k": 1},
    "rules with noise": {"columns": ("wind", "rain"), "epsilon": 1.0, "first": 3},
    "scorecard": {"epsilon": 1.0, "target": "play"},
    "test chi2": {"columns": ("rain", "play")},
    "test proportions": {"target": "play", "by": "wind"},
    "test trend": {"epsilon": 1.0, "target": "play", "by": "hours"},
    "test welch": {"column": "hours", "by": "wind"},
    "release naive-bayes": {"epsilon": 1.0, "target": "play", "columns": ("wind", "hours"), "delta": 1e-9},
    "variance": {"column": "hours", "above": 1.25},
    "cluster": {"epsilon": 1.0, "columns": ("hours",), "bounds": ("0:5",), "k": 2},
    "cluster in-process": {
        "epsilon": 1.0,
        "columns": ("hours",),
        "bounds": ("0:5",),
        "k": 2,
        "method": "in-process",
        "iterations": 2,
    },
    "boost": {"epsilon": 1.0, "target": "play", "columns": ("wind", "hours"), "rounds": 1, "depth": 1},
    "boost exact": {"exact": True, "target": "play", "columns": ("wind", "hours"), "rounds": 2, "depth": 1},
    "regress joint output": {"method": "output", "epsilon": 1.0, "delta": 1e-9, "columns": ("wind", "hours")}
    | {"numeric": ("hours",), "least_rows": 50, "lambda": 0.01},
    "regress joint gradient": {"method": "gradient", "epsilon": 1.0, "delta": 1e-9, "columns": ("wind", "hours")}
    | {"numeric": ("hours",), "least_rows": 50, "lambda": 0.01, "steps": 3, "rate": 2.5, "clip": 0.5},
    "release marginals": {"epsilon": 1.0, "delta": 1e-9, "ways": 2, "columns": ("rain", "play")},
    "release triangles": {"epsilon": 1.0, "delta": 1e-9, "columns": ("rain", "play")},
    "release triangles exact": {"exact": True, "columns": ("rain", "play")},
    "synthesise aim": {"select": "aim", "epsilon": 1.0, "delta": 1e-9, "columns": ("rain", "play"), "rows": 20},
    "synthesise mst": {"select": "mst", "epsilon": 1.0, "delta": 1e-9, "columns": ("rain", "play", "wind"), "rows": 20},
    "publish joint": {"recode": ("wind", "rain"), "k": 5, "keep": ("play",)},
    "publish joint public": {
        "recode": ("wind", "rain"),
        "k": 5,
        "keep": ("play",),
        "against": "public",
        "score": "ncp",
    },
    "publish lattice": {"recode": ("wind", "rain"), "k": 5, "keep": ("play",)}
    | {"rules": "rain tree no < dry < *, some < wet < *, much < wet < *"},
    "publish lattice public": {"recode": ("wind", "rain"), "k": 5, "keep": ("play",), "against": "public"}
    | {"max_suppressed_rows": 10},
    "publish joint-table": {"by": "rain", "across": "play", "threshold": 3, "analyst": office()},
    "publish joint-table public": {"by": "rain", "across": "play", "threshold": 3, "against": "public"}
    | {"zeros": "shown", "analyst": office()},
    "publish joint-table noise": {"by": "rain", "epsilon": 0.5},
    "publish joint-table sums": {"by": "rain", "sum": "hours", "threshold": 3, "max_rows": 200, "analyst": office()},
}
TYPED: dict[str, tuple[dict[str, Any], tuple[dict[str, Any], dict[str, Any]]]] = {
    "millionaires typed": ({"bits": 8}, ({"value": 7}, {"value": 9})),
    "equality": ({"bits": 8}, ({"value": 7}, {"value": 7})),
    "majority typed": ({"classes": ("p", "q", "r"), "bits": 8}, ({"counts": "1,2,3"}, {"counts": "3,2,1"})),
    "circuit": ({"circuit": "adder"}, ({"input": "0x7"}, {"input": "0x9"})),
}


def _kind(case: str) -> str:
    """The kind of a case, which has its words first."""
    return max((name for name in kinds.BUILT_IN if f"{case} ".startswith(f"{name} ")), key=len)


CASES: dict[str, Case] = {}
for _name, _fields in TABLE.items():
    _made = MatchedCase if "alignment" in _fields or _name == "align hidden" else Case
    CASES[_name] = _made({"protocol": _kind(_name), "table": "days", **_fields}, SCHEMA, ROWS)
for _name, (_fields, _values) in TYPED.items():
    _circuits = {"adder": ADDER} if _name == "circuit" else {}
    CASES[_name] = Case({"protocol": _kind(_name), **_fields}, SCHEMA, ROWS, _values, _circuits)
