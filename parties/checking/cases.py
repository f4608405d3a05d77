"""All kinds of jobs that spend budget, with settings and tiny tables for the contract test."""

from __future__ import annotations

from typing import Any

from parties.checking.contract import Case

ATTRIBUTES = {
    "age": ("young", "middle", "old"),
    "sex": ("male", "female"),
    "visits": ("3.5", "0", "-1", "?"),
    "outcome": ("good", "bad"),
}
MODEL = (
    '{"target": "outcome", "classes": {"good": 3, "bad": 2}, "columns": {"sex": {"male": [2, 1], "female": [1, 1]}}}'
)
ESTIMATOR = (
    '{"target": "visits", "least": -1, "greatest": 3.5, "intercept": 1, '
    '"columns": {"sex": {"weights": {"male": 0.5, "female": -0.5}}}}'
)
COUNTED = {**ATTRIBUTES, "visits": ("0", "1", "3"), "years": ("0.5", "2")}
SMALL = {"age": ATTRIBUTES["age"], "sex": ATTRIBUTES["sex"], "outcome": ATTRIBUTES["outcome"]}
LAMBDA: dict[str, Any] = {"lambda": 1.0}
NUMBERS = {"x": ("-1", "0", "1"), "c": ("no", "yes")}
GRAPH = {"from": ("a", "b", "c", "d", "e"), "to": ("a", "b", "c", "d", "e")}
ITEMS = {"item": ("milk", "bread", "beer"), "shop": ("north", "south")}


def _case(
    kind: str, rows: int = 3, attributes: Any = ATTRIBUTES, label: str | None = "outcome", **settings: Any
) -> Case:
    return Case(kind, settings, attributes, label, rows)


def _regress(method: str, rows: int = 3, **settings: Any) -> Case:
    return _case("regress joint", rows, NUMBERS, "c", target="c", numeric=("x",), method=method, **settings)


CASES: tuple[Case, ...] = (
    _case("release count", where="sex = male; age = old"),
    _case("release count", where="sex = male; age = old; sex = female", delta=1e-6),
    _case("release histogram", by="age"),
    _case("release histogram", by="age", where="sex = male"),
    _case("release table", by=("age", "sex")),
    _case("release sum", column="visits"),
    _case("release sum", column="visits", by=("sex",), where="age in [young, old]"),
    _case("release mean", column="visits"),
    _case("release mean", column="visits", by=("sex",), where="age = young"),
    _case("release deviation", column="visits", by=("sex",)),
    _case("release correlation", numeric=("visits", "outcome")),
    _case("release median", column="visits", by=("sex",)),
    _case("release top", column="age", first=2, by=("sex",)),
    _case("release top", column="age", first=3, where="sex = male"),
    _case("release choose", column="visits", prices="1,2.5"),
    _case("release triangles", 8, GRAPH, None, columns=("from", "to"), delta=1e-6),
    _case("release triangles", 8, GRAPH, None, columns=("from", "to")),
    _case("release naive-bayes", delta=1e-6),
    _case("release naive-bayes", delta=0.0, where="age in [young, old]"),
    _case("release marginals", sets="age,outcome; sex", delta=1e-6),
    _case("release edges", numeric=("visits",)),
    _case("evaluate report", classifier=MODEL, target_value="bad", by="age"),
    _case("evaluate error", classifier=ESTIMATOR),
    _case("release risks", target="outcome", target_value="bad", by="sex", strata=("age",)),
    _case("release rates", attributes=COUNTED, target="visits", exposure="years", by="sex"),
    _case("release difference", column="visits", by="sex"),
    _case("survive curve", time="visits", event="outcome", event_value="bad", arm="sex"),
    _case("quantile", column="visits", at=0.75, where="sex = male"),
    _case("quantile", column="visits", at=0.9),
    _case("rules", first=1),
    _case("rules", first=4),
    _case("rules", 4, ITEMS, None, transaction="receipt", first=1),
    _case("rules", 4, ITEMS, None, transaction="receipt", first=4),
    _case("scorecard", delta=1e-6),
    _case("test chi2", columns=("age", "outcome")),
    _case("test proportions", target="outcome", by="sex"),
    _case("test trend", target="outcome", by="age"),
    _case("test welch", column="visits", by="sex"),
    _case("cluster", columns=("visits",), bounds=("-1:4",), k=2, method="in-process", iterations=3),
    _case("cluster", columns=("visits",), bounds=("-1:4",), k=2, parts=3),
    _case("cluster", columns=("visits",), bounds=("-1:4",), k=2, method="grid", parts=3),
    _regress("gradient", steps=2, clip=1.0, rate=1.0, delta=1e-6),
    _regress("gradient", steps=1, clip=0.01, rate=1.0, delta=1e-6),
    _regress("output", 8, delta=1e-6, least_rows=8, **LAMBDA),
    _regress("choice", loss="huber", **LAMBDA),
    _regress("choice", steps=3),
    _case("regress joint", target="visits", method="ridge", delta=1e-6, columns=("age", "sex"), **LAMBDA),
    _case(
        "regress logistic",
        target="outcome",
        target_value="bad",
        columns=("age", "visits"),
        numeric=("visits",),
        steps=4,
        delta=1e-6,
    ),
    _case(
        "regress logistic",
        attributes=NUMBERS,
        label="c",
        target="c",
        columns=("x",),
        numeric=("x",),
        steps=4,
        delta=1e-6,
    ),
    _case(
        "regress poisson",
        attributes=COUNTED,
        target="visits",
        exposure="years",
        columns=("age", "sex"),
        steps=4,
        delta=1e-6,
    ),
    _case("survive cox", time="visits", event="outcome", event_value="bad", columns=("sex",), steps=4, delta=1e-6),
    _case(
        "survive cox",
        time="visits",
        event="outcome",
        event_value="bad",
        columns=("sex", "age"),
        ties="breslow",
        limit=2.0,
        steps=5,
        delta=1e-6,
    ),
    _case("boost", target="outcome", rounds=2, depth=1, delta=1e-6, rate=1.0),
    _case("boost", target="age", columns=("sex",), rounds=8, depth=1, delta=1e-6, rate=1.0),
    _case(
        "boost",
        attributes={**ATTRIBUTES, "visits": ("0", "1", "2")},
        target="visits",
        numeric=("visits",),
        rounds=8,
        depth=1,
        delta=1e-6,
        rate=1.0,
        columns=("sex",),
    ),
    _case("synthesise", attributes=SMALL, delta=1e-6, columns=("age", "sex", "outcome")),
    _case("synthesise", attributes=SMALL, delta=1e-6, columns=("age", "sex", "outcome"), select="mst"),
    _case("publish joint-table", by="age", across="sex"),
    _case("publish joint-table", by="age"),
    _case("publish joint-table", attributes={**ATTRIBUTES, "visits": ("0", "2", "7")}, by="age", sum="visits"),
    _case("id3", attributes=SMALL, target="outcome", max_depth=2),
    _case("id3", attributes=SMALL, target="outcome", max_depth=1, quality="gini", trees=2),
    _case("id3", attributes=SMALL, target="outcome", max_depth=2, quality="entropy", stop="off"),
    _case("id3", attributes=SMALL, target="outcome", max_depth=1, k=1, support_epsilon=True),
)
