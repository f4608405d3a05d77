"""Learn a scorecard: points for each value.

Let a rows of A in the good class and b rows of B in the other class have a value. The weight of evidence of the value
is ln((a + 1/2) / A) - ln((b + 1/2) / B) (Siddiqi, "Credit Risk Scorecards", 2006). The information value of a column is
the sum of (a / A - b / B) times the weight over its values. A row has these points:

    offset + factor (ln(A / B) + sum of weights),  factor = points_to_double / ln 2

So `base` points mean odds of 1 to 1, and `points_to_double` more points mean twice the odds. The odds are those of
naive Bayes. Columns with equal information count twice: choose few columns with `smc rank`. Everything is
post-processing of the noisy counts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import override

from parties.base.settings import LocalPath
from parties.jobs.kind import Description, Document, File
from parties.jobs.kinds.release.naive_bayes import NaiveBayes, NaiveBayesSettings
from parties.jobs.release import presenting
from parties.jobs.release.question import Question
from parties.jobs.settings import Name, output, public
from parties.tables.types import NumberType, type_of
from smc.errors import InputError


class ScorecardSettings(NaiveBayesSettings):
    """Settings of `smc scorecard`."""

    good: Name | None = public(None, "Good class", "Class that the points favour", none="the first of two classes")
    base: Annotated[int, Field(strict=True, ge=0, le=100_000)] = public(
        500, "Base", "Points at odds of 1 to 1", advanced=True
    )
    points_to_double: Annotated[int, Field(strict=True, ge=1, le=10_000)] = public(
        50, "Points to double", "Points that double the odds", advanced=True
    )
    sql: LocalPath | None = output("Write the points as an SQL expression.")


class Scorecard(NaiveBayes):
    """Learn a scorecard from the rows of both parties: points for each value. Both learn noisy counts, and nothing
    more.

    Weights of evidence and information values follow from the counts that `smc release naive-bayes` opens.
    """

    name, Settings = "scorecard", ScorecardSettings
    about = Description(
        "Scorecard",
        "scorecard",
        example="--target default --good no --epsilon 1",
        afterwards="smc predict --model scorecard.json classifies rows by its counts, on this machine alone.",
    )

    @override
    def ask(self) -> Question:
        question, good = super().ask(), self.settings.good
        classes = self.where.values(self.settings.target, self.schema)
        if len(classes) != 2:
            raise InputError(f"target: a scorecard needs two classes, not {len(classes)}; choose two with where")
        if good is not None and good not in classes:
            raise InputError(
                f"good: {good!r} is not a class of {self.settings.target!r}; name one of {' or '.join(classes)}"
            )
        counted = question.show
        place = classes.index(good) if good is not None else 0

        def show(state: Sequence[int]) -> Mapping[str, Any]:
            model = counted(state)
            return {**model, "scorecard": self._card(model, classes[place], place)}

        return replace(question, show=show, learnt=question.learnt.replace("naive Bayes classifier", "scorecard"))

    def _card(self, model: Mapping[str, Any], good: str, place: int) -> dict[str, Any]:
        """Return weights, points and information values of all columns; `place` is the index of the class `good`."""
        factor = self.settings.points_to_double / math.log(2)
        totals = [count + 0.5 for count in model["classes"].values()]
        offset = self.settings.base + factor * (math.log(totals[place]) - math.log(totals[1 - place]))
        columns = [self._column(name, values, place, factor) for name, values in model["columns"].items()]
        return {"good": good, "offset": round(offset), "columns": columns}

    def _column(self, name: str, values: Mapping[str, Sequence[int]], place: int, factor: float) -> dict[str, Any]:
        halves = {value: (counts[place] + 0.5, counts[1 - place] + 0.5) for value, counts in values.items()}
        good, bad = (sum(both[i] for both in halves.values()) for i in range(2))
        weights = {value: math.log(a / good) - math.log(b / bad) for value, (a, b) in halves.items()}
        information = sum((a / good - b / bad) * weights[value] for value, (a, b) in halves.items())
        bins: list[dict[str, Any]] = [
            {"value": value, "weight": round(weight, 4), "points": round(factor * weight)}
            for value, weight in weights.items()
        ]
        column = type_of(self.schema.attributes[name])
        if isinstance(column, NumberType) and (ends := column.cuts.numbers):
            for entry, end in zip(bins, ends, strict=False):
                entry["below"] = end if isinstance(end, int) else float(end)
        return {"column": name, "information": round(information, 4), "values": bins}

    @classmethod
    @override
    def lines(cls, document: Document) -> list[str]:
        card = document["scorecard"]
        lines = [f"{card['offset']:>6} points for every row, more for {presenting.shown(card['good'])}"]
        for column in card["columns"]:
            lines.append(f"{presenting.shown(column['column'])} (information value {column['information']:.3f})")
            lines += [f"{entry['points']:>+6} {presenting.shown(entry['value'])}" for entry in column["values"]]
        return lines

    @classmethod
    @override
    def files(cls) -> tuple[File, ...]:
        return (*super().files(), File("scorecard.sql", "application/sql", _as_sql, "sql"))


def _as_sql(document: Document) -> str:
    """Return the points of a row as an SQL expression. A value that the card lacks adds nothing."""
    card = document["scorecard"]
    terms = [str(card["offset"])]
    for column in card["columns"]:
        name = '"' + column["column"].replace('"', '""') + '"'
        ranges = any("below" in entry for entry in column["values"])
        lines = []
        for entry in column["values"]:
            if "below" in entry:
                lines.append(f"WHEN {name} < {entry['below']} THEN {entry['points']}")
            elif ranges and entry["value"] != "?":
                lines.append(f"WHEN {name} IS NOT NULL THEN {entry['points']}")
            else:
                value = entry["value"].replace("'", "''")
                is_value = f"{name} IS NULL" if value == "?" else f"{name} = '{value}'"
                lines.append(f"WHEN {is_value} THEN {entry['points']}")
        terms.append("CASE " + " ".join(lines) + " ELSE 0 END")
    return "\n  + ".join(terms) + "\n"
