"""A model as an SQL query: a table's cells become categories, the model's choices CASE expressions.

A query has stages, each of which adds columns: `smc_c0`, ... the places of the cells in their columns' categories,
`smc_x0`, ... their numbers, `smc_t0`, ... what each tree says, `smc_s0`, ... the score of each class. The prediction
comes last. A row that `smc predict` refuses has NULL: one with a value that the model, or the schema, does not know.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import sqlglot.expressions as exp

from parties.base.text import printable
from parties.deployed.columns import Asked, known_codes
from parties.models.bayes import NaiveBayesModel
from parties.models.boosted import BoostedModel
from parties.models.linear import LinearModel, Slope
from parties.models.load import AnyModel
from parties.models.trees.tree import Leaf, Node, TreeFile
from parties.sources.expressions import Cell
from parties.tables.delimited import MISSING
from parties.tables.types import exactly, type_of
from smc.errors import InputError

if TYPE_CHECKING:
    import ibis.expr.datatypes as dt

DIALECTS = {"duckdb": "DOUBLE", "postgres": "DOUBLE PRECISION", "mysql": "DOUBLE", "spark": "DOUBLE"}
OF_TYPES = {"integer": "int64", "real": "float64", "date": "date", "time": "time"}  # all others are text


def to_sql(
    model: AnyModel,
    asked: Mapping[str, Asked],
    rows: str = "rows",
    dialect: str = "duckdb",
    types: Mapping[str, dt.DataType] | None = None,
    conditions: Sequence[exp.Expr] = (),
) -> str:
    """Return the query that predicts for a table called `rows`, in the column "predicted TARGET".

    `types` are those of the table's columns; without them, numbers and days are as the schema has them, all else text.
    Rows for which not all `conditions` hold are left out.
    `InputError` for a type that holds no categories, or not what the schema says.
    """
    return _Query(model, asked, dialect).text(rows, types, conditions)


class _Query:
    """The stages of a query, and the names of columns in them."""

    def __init__(self, model: AnyModel, asked: Mapping[str, Asked], dialect: str) -> None:
        self._model, self._asked, self._dialect = model, asked, dialect
        self._place = {name: place for place, name in enumerate(asked)}

    def text(self, rows: str, types: Mapping[str, dt.DataType] | None, conditions: Sequence[exp.Expr]) -> str:
        """See `to_sql`."""
        stages = [
            {f"smc_c{place}": self._cell(ask, types) for place, ask in enumerate(self._asked.values())},
            self._numbers(),
        ]
        match self._model:
            case TreeFile(others=()):
                prediction = self._tree(self._model.tree, lambda leaf: self._literal(leaf.label))
            case TreeFile():
                prediction = self._vote(self._model.trees, stages)
            case BoostedModel():
                prediction = self._boosted(self._model, stages)
            case LinearModel():
                prediction = self._linear(self._model, stages)
            case NaiveBayesModel():
                prediction = self._bayes(self._model, stages)
        lines = [
            f"-- The prediction of {printable(self._model.target)}, for the rows of a table; NULL of unknown values."
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
        """Return the place of a column's cell in its categories; of a number as it stands, 0, or -1 of none."""
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
        """Return the numbers of the columns that are taken as such; NULL of a missing one."""
        model = self._model
        slopes = [] if not isinstance(model, LinearModel) else model.numeric
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
        """Return whether no cell is unknown."""
        return " AND ".join([f"smc_c{place} IS NOT NULL" for place in self._place.values()] or ["TRUE"])

    # Models.

    def _tree(self, tree: Node, said: Callable[[Leaf], str]) -> str:
        if isinstance(tree, Leaf):
            return said(tree)
        known = set(tree.values)
        branches: dict[int, tuple[Node, list[int]]] = {}
        for place, category in enumerate(self._asked[tree.attribute].rule.categories):
            if category in known:
                below = tree.below(category)
                branches.setdefault(id(below), (below, []))[1].append(place)
        cell = f"smc_c{self._place[tree.attribute]}"
        whens = [f"WHEN {_among(cell, places)} THEN {self._tree(below, said)}" for below, places in branches.values()]
        return f"CASE {' '.join(whens)} END" if whens else "NULL"

    def _vote(self, trees: Sequence[Node], stages: list[dict[str, str]]) -> str:
        """Return the class that most trees say; among equals, that of the earliest tree."""
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
        known = " AND ".join(f"{vote} IS NOT NULL" for vote in votes)
        return f"CASE WHEN {known} THEN {self._largest(list(labels))} END"

    def _boosted(self, model: BoostedModel, stages: list[dict[str, str]]) -> str:
        trees = [tree for trees in model.rounds for tree in trees]
        width = model.width
        stages.append({f"smc_t{i}": self._boosted_tree(model, tree) for i, tree in enumerate(trees)})
        if not model.rounds:
            stages.pop()
        sums = [[f"smc_t{i}" for i in range(place, len(trees), width)] for place in range(width)]
        stages.append({f"smc_s{place}": " + ".join([_real(model.base), *terms]) for place, terms in enumerate(sums)})
        return self._decided(model.classes, model.bounds, width)

    def _boosted_tree(self, model: BoostedModel, node: Mapping[str, Any]) -> str:
        if "leaf" in node:
            return _real(node["leaf"])
        name = node["column"]
        column, ask, cell = model.columns[name], self._asked[name], f"smc_c{self._place[name]}"
        if ask.raw:
            number = f"smc_x{self._place[name]}"
            goes = f"({number} IS NULL OR {number} < {_real(node['below'])})"
        else:
            is_below = known_codes(column, ask.rule.categories)
            if "is" in node:
                places = [i for i, code in is_below.items() if code == column.values[node["is"]]]
            else:
                edge = column.place(node["below"])
                places = [i for i, code in is_below.items() if code < edge]
            goes = _among(cell, places)
        then, otherwise = (self._boosted_tree(model, node[side]) for side in ("then", "otherwise"))
        return f"CASE WHEN {goes} THEN {then} ELSE {otherwise} END"

    def _linear(self, model: LinearModel, stages: list[dict[str, str]]) -> str:
        terms = [_real(model.intercept)]
        for name, column in model.columns.items():
            if isinstance(column, Slope):
                number = f"smc_x{self._place[name]}"
                within = f"LEAST(GREATEST({number}, {_real(column.least)}), {_real(column.greatest)})"
                added = f"{_real(column.weight)} * ({within} - {_real(column.middle)})"
                terms.append(f"CASE WHEN {number} IS NULL THEN {_real(0)} ELSE {added} END")
            else:
                terms.append(self._looked_up(name, column))
        stages.append({"smc_s0": "\n    + ".join(terms)})
        return self._decided(model.classes, model.bounds, 1)

    def _bayes(self, model: NaiveBayesModel, stages: list[dict[str, str]]) -> str:
        tables = model.logarithms
        scores = {}
        for place, count in enumerate(model.classes.values()):
            terms = [
                self._looked_up(name, {value: of_classes[place] for value, of_classes in table.items()})
                for name, table in tables.items()
            ]
            scores[f"smc_s{place}"] = "\n    + ".join([_real(math.log(count + 1)), *terms])
        stages.append(scores)
        return self._decided(tuple(model.classes), None, len(scores))

    def _looked_up(self, name: str, table: Mapping[str, float]) -> str:
        """Return the number of a cell's category."""
        categories = self._asked[name].rule.categories
        whens = [f"WHEN {i} THEN {_real(table[text])}" for i, text in enumerate(categories) if text in table]
        return f"CASE smc_c{self._place[name]} {' '.join(whens)} END" if whens else "NULL"

    def _decided(self, classes: Sequence[str] | None, bounds: tuple[float, float] | None, scores: int) -> str:
        if bounds is not None:
            decided = f"LEAST(GREATEST(smc_s0, {_real(bounds[0])}), {_real(bounds[1])})"
        elif classes is not None and scores == 1 and len(classes) == 2:
            first, second = map(self._literal, classes)
            decided = f"CASE WHEN smc_s0 > 0 THEN {second} ELSE {first} END"
        else:
            decided = self._largest(classes or ())
        return f"CASE WHEN {self._is_known()} AND smc_s0 IS NOT NULL THEN {decided} END"

    def _largest(self, labels: Sequence[str]) -> str:
        """Return the label of the largest score, the first among equals."""
        whens = []
        for place, label in enumerate(labels[:-1]):
            above = " AND ".join(f"smc_s{place} >= smc_s{other}" for other in range(place + 1, len(labels)))
            whens.append(f"WHEN {above} THEN {self._literal(label)}")
        last = self._literal(labels[-1])
        return f"CASE {' '.join(whens)} ELSE {last} END" if whens else last

    # Words.

    @property
    def _double(self) -> str:
        return DIALECTS[self._dialect]

    def _name(self, name: str) -> str:
        return exp.to_identifier(name, quoted=True).sql(dialect=self._dialect)

    def _literal(self, text: str) -> str:
        return exp.Literal.string(text).sql(dialect=self._dialect)


def _among(cell: str, places: Iterable[int]) -> str:
    """Return whether a cell is at one of these places: neighbours as ranges."""
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
    """Return a number as SQL writes a floating-point one, to the last bit; negative ones in brackets."""
    text = repr(float(number))
    text = text if "e" in text else f"{text}e0"
    return f"({text})" if number < 0 else text
