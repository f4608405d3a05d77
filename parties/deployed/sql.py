"""A model as an SQL query: cells of a table become categories, decisions of the model CASE expressions.

A query has stages, each of which adds columns: `smc_c0`, ... are the indices of the cells in their columns' categories,
`smc_x0`, ... their numbers, `smc_t0`, ... the outputs of trees, `smc_s0`, ... the score of each class. The prediction
comes last. A row that `smc predict` refuses gets NULL: one with a value unknown to the model or the schema.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import sqlglot.expressions as exp

from parties.base.text import printable
from parties.deployed.columns import Asked, codes_of
from parties.models.boosted import BoostedModel
from parties.models.linear import Column, LinearModel, Slope
from parties.models.load import AnyModel, form_of
from parties.models.scored import Scored
from parties.models.trees.compiled import Choice, choice
from parties.models.trees.tree import Leaf, TreeFile
from parties.sources.expressions import Cell
from parties.tables.delimited import MISSING
from parties.tables.types import exactly, type_of
from smc.errors import InputError

if TYPE_CHECKING:
    import ibis.expr.datatypes as dt

DIALECTS = {"duckdb": "DOUBLE", "postgres": "DOUBLE PRECISION", "mysql": "DOUBLE", "spark": "DOUBLE"}
OF_TYPES = {"integer": "int64", "real": "float64", "date": "date", "time": "time"}  # all other types are text


def to_sql(
    model: AnyModel,
    asked: Mapping[str, Asked],
    rows: str = "rows",
    dialect: str = "duckdb",
    types: Mapping[str, dt.DataType] | None = None,
    conditions: Sequence[exp.Expr] = (),
) -> str:
    """Return the query that predicts for a table, in the column "predicted TARGET".

    Args:
        model: The model.
        asked: Columns of the model, from `columns.asked`.
        rows: Name of the table.
        dialect: Dialect of the query, a key of `DIALECTS`.
        types: Types of the table's columns; without them, numbers, dates and times are as in the schema, the rest text.
        conditions: Conditions on the rows; other rows are left out.

    Raises:
        InputError: A type holds no categories, or does not fit the schema.
    """
    return _Query(model, asked, dialect).text(rows, types, conditions)


class _Query:
    """The stages of a query, and the names of their columns."""

    def __init__(self, model: AnyModel, asked: Mapping[str, Asked], dialect: str) -> None:
        self._model, self._asked, self._dialect = model, asked, dialect
        self._place = {name: place for place, name in enumerate(asked)}
        self._codes = codes_of(model, asked) if isinstance(model, TreeFile | BoostedModel) else {}

    def text(self, rows: str, types: Mapping[str, dt.DataType] | None, conditions: Sequence[exp.Expr]) -> str:
        stages = [
            {f"smc_c{place}": self._cell(ask, types) for place, ask in enumerate(self._asked.values())},
            self._numbers(),
        ]
        if isinstance(self._model, TreeFile):
            prediction = self._vote([choice(tree) for tree in self._model.trees], stages)
        else:
            prediction = self._scored(form_of(self._model), stages)
        lines = [
            f"-- The prediction of {printable(self._model.target)}, for the rows of a table; NULL for unknown values."
        ]
        lines += [f"-- smc_c{place}: {printable(name)}" for name, place in self._place.items()]
        before, number = self._name(rows), 0
        if conditions:
            before += f"\n  WHERE {exp.and_(*conditions, copy=True).sql(dialect=self._dialect)}"
        for stage in filter(None, stages):
            columns = "".join(f",\n    {expression} AS {name}" for name, expression in stage.items())
            lines.append(f"{'WITH ' if not number else ', '}smc_{number} AS (\n  SELECT *{columns}\n  FROM {before}\n)")
            before, number = f"smc_{number}", number + 1
        named = self._name(f"predicted {self._model.target}")
        return "\n".join([*lines, f"SELECT *,\n  {prediction} AS {named}\nFROM {before}"]) + "\n"

    # Cells.

    def _cell(self, ask: Asked, types: Mapping[str, dt.DataType] | None) -> str:
        """Return the index of a column's cell in its categories; for a column of numbers 0, or -1 if missing."""
        import ibis.expr.datatypes as dt

        rule = ask.rule
        if ask.raw:
            return f"CASE WHEN {self._name(rule.column)} IS NULL THEN -1 ELSE 0 END"
        kind = type_of(rule.categories)
        dtype = types[rule.column] if types is not None else dt.dtype(OF_TYPES.get(kind.type if kind else "", "string"))
        as_text = dtype.is_string() and rule.ranges is not None and rule.ranges.reads != "number"
        try:
            cell = Cell(rule, dtype, lists=as_text and self._dialect == "duckdb")
        except InputError as error:
            raise InputError(f"column {printable(rule.column)!r}: {error}") from None
        return cell.index.sql(dialect=self._dialect)

    def _numbers(self) -> dict[str, str]:
        slopes = self._model.numeric if isinstance(self._model, LinearModel) else ()
        raw = [name for name, ask in self._asked.items() if ask.raw]
        return {f"smc_x{self._place[name]}": self._number_of(name) for name in dict.fromkeys([*slopes, *raw])}

    def _number_of(self, name: str) -> str:
        ask = self._asked[name]
        rule, cell = ask.rule, f"smc_c{self._place[name]}"
        if ask.raw:
            return f"CAST({self._name(rule.column)} AS {self._double})"
        if rule.ranges is not None and rule.ranges.grid is not None:
            low, step = map(exactly, rule.ranges.grid)
            under = math.lcm(low.denominator, step.denominator)
            number = f"CAST({_whole(low * under)} + {_whole(step * under)} * {cell} AS {self._double}) / {_real(under)}"
            missing = "" if MISSING not in rule.categories else f"WHEN {rule.categories.index(MISSING)} THEN NULL "
            return f"CASE {cell} {missing}ELSE {number} END" if missing else number
        whens = [
            f"WHEN {i} THEN {_real(x)}" for i, text in enumerate(rule.categories) if (x := _float(text)) is not None
        ]
        return f"CASE {cell} {' '.join(whens)} END"

    def _is_known(self) -> str:
        return " AND ".join([f"smc_c{place} IS NOT NULL" for place in self._place.values()] or ["TRUE"])

    # Models.

    def _tree(self, tree: Any, said: Callable[[Any], str], edges: Callable[[Choice], float] | None = None) -> str:
        """Return the SQL of a tree's output; `said` returns that of a leaf.

        With `edges`, for a tree of numbers, every cell has a branch: `edges` returns the number from which a cell
        takes the second branch.
        """
        if not isinstance(tree, Choice):
            return said(tree)
        place = self._place[tree.column]
        sides = tree.sides(self._codes[tree.column])
        tests = [_among(f"smc_c{place}", categories) for _, categories in sides]
        if self._asked[tree.column].raw and edges is not None:
            tests[0] = f"(smc_x{place} IS NULL OR smc_x{place} < {_real(edges(tree))})"
        branches = [self._tree(branch, said, edges) for branch in tree.branches]
        if edges is not None:
            return f"CASE WHEN {tests[0]} THEN {branches[0]} ELSE {branches[1]} END"
        whens = [
            f"WHEN {test} THEN {branch}"
            for test, branch, (_, categories) in zip(tests, branches, sides, strict=True)
            if categories
        ]
        return f"CASE {' '.join(whens)} END" if whens else "NULL"

    def _vote(self, trees: Sequence[Any], stages: list[dict[str, str]]) -> str:
        """Return the SQL of the class with the most votes of trees; among equals, that of the earliest tree.

        Columns for intermediate results are appended to `stages`.
        """
        if len(trees) == 1:
            return self._tree(trees[0], lambda leaf: self._literal(leaf.label))
        labels: dict[str, int] = {}

        def said(leaf: Leaf) -> str:
            return str(labels.setdefault(leaf.label, len(labels)))

        stages.append({f"smc_t{i}": self._tree(tree, said) for i, tree in enumerate(trees)})
        votes = [f"smc_t{i}" for i in range(len(trees))]
        scores = {}
        for label in labels.values():
            count = " + ".join(f"CASE {vote} WHEN {label} THEN {len(trees) + 1} ELSE 0 END" for vote in votes)
            first = " ".join(f"WHEN {vote} = {label} THEN {i}" for i, vote in enumerate(votes))
            scores[f"smc_s{label}"] = f"{count} - CASE {first} ELSE {len(trees)} END"
        stages.append(scores)
        is_known = " AND ".join(f"{vote} IS NOT NULL" for vote in votes)
        return f"CASE WHEN {is_known} THEN {self._largest(list(labels))} END"

    def _scored(self, model: Scored, stages: list[dict[str, str]]) -> str:
        if isinstance(model, BoostedModel):
            trees = [tree for trees in model.choices for tree in trees]
            stages.append({f"smc_t{i}": self._tree(tree, _real, model.edge) for i, tree in enumerate(trees)})
            each = [[f"smc_t{i}" for i in range(place, len(trees), model.width)] for place in range(model.width)]
            sums = [" + ".join([_real(model.base), *terms]) for terms in each]
        else:
            assert isinstance(model, LinearModel)
            columns = model.columns.items()
            each = [[self._added(name, column, i) for name, column in columns] for i in range(model.width)]
            sums = ["\n    + ".join([_real(model.intercepts[i]), *terms]) for i, terms in enumerate(each)]
        stages.append({f"smc_s{place}": terms for place, terms in enumerate(sums)})
        return self._decided(model)

    def _added(self, name: str, column: Column, score: int) -> str:
        if isinstance(column, Slope):
            number = f"smc_x{self._place[name]}"
            within = f"LEAST(GREATEST({number}, {_real(column.least)}), {_real(column.greatest)})"
            added = f"{_real(column.weight)} * ({within} - {_real(column.middle)})"
            return f"CASE WHEN {number} IS NULL THEN {_real(0)} ELSE {added} END"
        categories, added_by = self._asked[name].rule.categories, column.values
        whens = [f"WHEN {i} THEN {_real(added_by[v][score])}" for i, v in enumerate(categories) if v in added_by]
        return f"CASE smc_c{self._place[name]} {' '.join(whens)} END" if whens else "NULL"

    def _decided(self, model: Scored) -> str:
        classes, bounds = model.classes, model.bounds
        if bounds is not None:
            decided = f"LEAST(GREATEST(smc_s0, {_real(bounds[0])}), {_real(bounds[1])})"
        elif classes is not None and model.width == 1 and len(classes) == 2:
            first, second = map(self._literal, classes)
            decided = f"CASE WHEN smc_s0 > 0 THEN {second} ELSE {first} END"
        else:
            decided = self._largest(classes or ())
        return f"CASE WHEN {self._is_known()} AND smc_s0 IS NOT NULL THEN {decided} END"

    def _largest(self, labels: Sequence[str]) -> str:
        whens = []
        for place, label in enumerate(labels[:-1]):
            above = " AND ".join(f"smc_s{place} >= smc_s{other}" for other in range(place + 1, len(labels)))
            whens.append(f"WHEN {above} THEN {self._literal(label)}")
        last = self._literal(labels[-1])
        return f"CASE {' '.join(whens)} ELSE {last} END" if whens else last

    # Names and literals.

    @property
    def _double(self) -> str:
        return DIALECTS[self._dialect]

    def _name(self, name: str) -> str:
        return exp.to_identifier(name, quoted=True).sql(dialect=self._dialect)

    def _literal(self, text: str) -> str:
        return exp.Literal.string(text).sql(dialect=self._dialect)


def _among(cell: str, places: Iterable[int]) -> str:
    """Return the condition that a cell has one of these indices; neighbours become ranges."""
    runs: list[list[int]] = []
    for place in places:
        if runs and place == runs[-1][1] + 1:
            runs[-1][1] = place
        else:
            runs.append([place, place])
    tests = [f"{cell} = {a}" if a == b else f"{cell} BETWEEN {a} AND {b}" for a, b in runs]
    return f"({' OR '.join(tests)})" if len(tests) > 1 else (tests or ["FALSE"])[0]


def _float(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _whole(number: Fraction) -> str:
    return f"({int(number)})"


def _real(number: float) -> str:
    """Return a number as an exact SQL floating-point literal; negative ones in brackets."""
    text = repr(float(number))
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if number < 0 else text
