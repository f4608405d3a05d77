"""A model as PMML 4.4: a tree, a forest that votes, boosted trees, a linear model, naive Bayes.

Cells are categories as spelled in the model, where a missing one is "?". With a schema, numbers become ranges
(`Discretize`) and texts become categories (`MapValues`). What PMML cannot express exactly is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from parties.base.text import quoted
from parties.deployed.columns import Asked, codes_of
from parties.models.bayes import NaiveBayesModel
from parties.models.boosted import BoostedModel
from parties.models.linear import LinearModel, Slope
from parties.models.load import AnyModel, is_of_numbers
from parties.models.scored import Scored
from parties.models.trees.compiled import Choice, choice, compiled
from parties.models.trees.tree import Leaf, TreeFile
from parties.tables.delimited import MISSING
from smc import __version__
from smc.errors import InputError

SPACE = "http://www.dmg.org/PMML-4_4"
MOST_TREES = 45  # more tie-breaking weights, which let the earlier tree win, do not add up exactly


def to_pmml(model: AnyModel, asked: Mapping[str, Asked]) -> str:
    """Return the model as a PMML document.

    Args:
        model: The model.
        asked: Columns of the model, from `columns.asked`.

    Raises:
        InputError: PMML cannot express the model or a column exactly.
    """
    root = Element("PMML", xmlns=SPACE, version="4.4")
    SubElement(SubElement(root, "Header"), "Application", name="smc", version=__version__)
    labels = _labels(model)
    dictionary = SubElement(root, "DataDictionary", numberOfFields=str(len(asked) + 1))
    transformations = Element("TransformationDictionary")
    fields = {}
    for index, (name, ask) in enumerate(asked.items()):
        _data_field(dictionary, ask)
        fields[name] = _derived(transformations, f"smc_c{index}", ask) if ask.mapped else ask.rule.column
    kind = ("continuous", "double") if is_of_numbers(model) else ("categorical", "string")
    target = SubElement(dictionary, "DataField", name=model.target, optype=kind[0], dataType=kind[1])
    for label in labels:
        SubElement(target, "Value", value=label)
    if len(transformations):
        root.append(transformations)
    _Models(model, asked, fields).add(root)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _labels(model: AnyModel) -> list[str]:
    if not isinstance(model, TreeFile):
        return list(model.classes or ())
    return sorted({leaf.label for tree in model.trees for leaf in compiled(choice(tree)).ends})


# Columns.


def _data_field(dictionary: Element, ask: Asked) -> None:
    rule = ask.rule
    is_number = ask.raw or rule.ranges is not None
    kind = ("continuous", "double") if is_number else ("categorical", "string")
    field = SubElement(dictionary, "DataField", name=rule.column, optype=kind[0], dataType=kind[1])
    if not ask.mapped:
        for category in rule.categories:
            SubElement(field, "Value", value=category)


def _derived(transformations: Element, name: str, ask: Asked) -> str:
    """Add a field with the category of a raw cell; return its name."""
    rule = ask.rule
    where = f"column {quoted(rule.column)}"
    if rule.prefix is not None or (rule.ranges is not None and (rule.ranges.reads != "number" or rule.ranges.grid)):
        raise InputError(f"{where}: days, times, text prefixes and single numbers have no PMML form: use --to sql")
    missing = {} if rule.missing is None else {"mapMissingTo": rule.categories[rule.missing]}
    field = SubElement(transformations, "DerivedField", name=name, optype="categorical", dataType="string")
    if rule.ranges is None:
        other = {} if rule.other is None else {"defaultValue": rule.categories[rule.other]}
        mapping = SubElement(field, "MapValues", missing | other, outputColumn="category", dataType="string")
        SubElement(mapping, "FieldColumnPair", field=rule.column, column="cell")
        table = SubElement(mapping, "InlineTable")
        for text, place in rule.texts.items():
            row = SubElement(table, "row")
            SubElement(row, "cell").text, SubElement(row, "category").text = text, rule.categories[place]
        return name
    if rule.texts.keys() - {MISSING, *rule.spelling.missing}:
        raise InputError(f"{where}: words among numbers have no PMML form: use --to sql")
    ranges = SubElement(field, "Discretize", missing, field=rule.column, dataType="string")
    ends = [None, *rule.ranges.edges, None]
    for (least, end), place in zip(pairwise(ends), rule.ranges.places, strict=True):
        margins = {} if least is None else {"leftMargin": repr(least)}
        margins |= {} if end is None else {"rightMargin": repr(end)}
        part = SubElement(ranges, "DiscretizeBin", binValue=rule.categories[place])
        SubElement(part, "Interval", margins, closure="closedOpen")
    return name


# Models.


class _Models:
    """Writes a model with the field names of its columns."""

    def __init__(self, model: AnyModel, asked: Mapping[str, Asked], fields: Mapping[str, str]) -> None:
        self._model, self._asked, self._fields = model, asked, fields
        self._codes = codes_of(model, asked) if isinstance(model, TreeFile | BoostedModel) else {}

    def add(self, root: Element) -> None:
        match self._model:
            case TreeFile(others=()):
                self._tree(root, choice(self._model.tree))
            case TreeFile():
                self._forest(root, self._model)
            case LinearModel():
                self._linear(root, self._model)
            case NaiveBayesModel():
                self._bayes(root, self._model)
            case BoostedModel():
                self._boosted(root, self._model)

    def _schema(self, model: Element, columns: Sequence[str] | None = None) -> None:
        schema = SubElement(model, "MiningSchema")
        for column in [ask.rule.column for ask in self._asked.values()] if columns is None else columns:
            SubElement(schema, "MiningField", name=column, invalidValueTreatment="asIs")
        SubElement(schema, "MiningField", name=self._model.target, usageType="target")

    # Trees.

    def _tree(self, above: Element, tree: Any, edge: Callable[[Choice], float] | None = None) -> None:
        """Add a tree to the element `above`: of classes; with `edge`, of numbers, where every cell has a branch.

        `edge` returns the number from which a cell takes the second branch.
        """
        model = SubElement(
            above,
            "TreeModel",
            functionName="classification" if edge is None else "regression",
            splitCharacteristic="multiSplit" if edge is None else "binarySplit",
            missingValueStrategy="none",
            noTrueChildStrategy="returnNullPrediction",
        )
        self._schema(model)
        root = SubElement(model, "Node")
        SubElement(root, "True")
        self._below(root, tree, edge)

    def _below(self, element: Element, tree: Any, edge: Callable[[Choice], float] | None) -> None:
        if not isinstance(tree, Choice):
            element.set("score", tree.label if isinstance(tree, Leaf) else repr(tree))
            return
        field, rule = self._fields[tree.column], self._asked[tree.column].rule
        for place, (branch, categories) in enumerate(tree.sides(self._codes[tree.column])):
            if edge is None and not categories:
                continue
            node = SubElement(element, "Node")
            if rule.categories:
                _among(node, field, [rule.categories[category] for category in categories])
            elif edge is not None:
                operator, above = ("greaterOrEqual", node) if place else ("lessThan", _or_missing(node, field))
                SubElement(above, "SimplePredicate", field=field, operator=operator, value=repr(edge(tree)))
            self._below(node, branch, edge)

    def _forest(self, root: Element, forest: TreeFile) -> None:
        if len(forest.trees) > MOST_TREES:
            raise InputError(
                f"PMML has no rule for equal votes, and weights of more than {MOST_TREES} trees "
                "are not exact: use --to sql"
            )
        segments = self._segments(root, "classification", "weightedMajorityVote")
        for number, tree in enumerate(forest.trees, 1):
            self._tree(_segment(segments, str(number), weight=repr(1 + 2.0**-number)), choice(tree))

    def _segments(self, above: Element, function: str, method: str) -> Element:
        model = SubElement(above, "MiningModel", functionName=function)
        self._schema(model)
        return SubElement(model, "Segmentation", multipleModelMethod=method, missingPredictionTreatment="returnMissing")

    def _boosted(self, root: Element, model: BoostedModel) -> None:
        """Add the sums of leaves to `root`; for classes, add a regression with fixed coefficients on these sums."""
        if model.bounds is not None:
            self._sum_of_trees(root, model, 0).insert(1, _within(model))
            return
        assert model.classes is not None
        segments = self._segments(root, "classification", "modelChain")
        margins = [f"smc_s{place}" for place in range(model.width)]
        for place, margin in enumerate(margins):
            output = Element("Output")
            attributes = {"feature": "predictedValue", "optype": "continuous", "dataType": "double"}
            SubElement(output, "OutputField", {"name": margin} | attributes)
            self._sum_of_trees(_segment(segments, margin), model, place).insert(1, output)
        kind = "logit" if model.width == 1 else "softmax"
        regression = SubElement(
            _segment(segments, "class"), "RegressionModel", functionName="classification", normalizationMethod=kind
        )
        self._schema(regression, margins)
        of_class = model.classes[1:] if model.width == 1 else model.classes
        for margin, label in zip(margins, of_class, strict=True):
            table = SubElement(regression, "RegressionTable", targetCategory=label, intercept="0.0")
            SubElement(table, "NumericPredictor", name=margin, coefficient="1.0")
        if model.width == 1:
            SubElement(regression, "RegressionTable", targetCategory=model.classes[0], intercept="0.0")

    def _sum_of_trees(self, above: Element, model: BoostedModel, place: int) -> Element:
        """Add the model that sums score number `place`: the base score as a leaf, then one tree for each round."""
        segments = self._segments(above, "regression", "sum")
        for number, tree in enumerate([model.base, *(trees[place] for trees in model.choices)]):
            self._tree(_segment(segments, str(number)), tree, model.edge)
        return above[-1]

    # Sums of what cells add.

    def _linear(self, root: Element, model: LinearModel) -> None:
        """Add the model's sum to `root`. A derived field clips a number to its bounds, and replaces a missing one."""
        kind = "regression" if model.classes is None else "classification"
        regression = Element("RegressionModel", functionName=kind)
        self._schema(regression)
        local = SubElement(regression, "LocalTransformations")
        if model.bounds is not None:
            regression.append(_within(model))
        else:
            regression.set("normalizationMethod", "logit")
        of_class = {} if model.classes is None else {"targetCategory": model.classes[1]}
        table = SubElement(regression, "RegressionTable", of_class, intercept=repr(model.intercepts[0]))
        for place, (name, column) in enumerate(model.columns.items()):
            if isinstance(column, Slope):
                within = f"smc_x{place}"
                field = SubElement(local, "DerivedField", name=within, optype="continuous", dataType="double")
                middle = repr(column.middle)
                ends = sorted({column.least, column.greatest})
                mapped = SubElement(
                    field, "NormContinuous", field=self._fields[name], mapMissingTo="0.0", outliers="asExtremeValues"
                )
                for end in ends if len(ends) > 1 else [ends[0], ends[0] + 1]:
                    norm = repr(min(end, column.greatest) - float(middle))
                    SubElement(mapped, "LinearNorm", orig=repr(end), norm=norm)
                SubElement(table, "NumericPredictor", name=within, coefficient=repr(column.weight))
            else:
                for value, (weight,) in column.values.items():
                    attributes = {"name": self._fields[name], "value": value, "coefficient": repr(weight)}
                    SubElement(table, "CategoricalPredictor", attributes)
        if not len(local):
            regression.remove(local)
        if model.classes is not None:
            SubElement(regression, "RegressionTable", intercept="0.0", targetCategory=model.classes[0])
        root.append(regression)

    def _bayes(self, root: Element, model: NaiveBayesModel) -> None:
        """Add the model's counts to `root`, each plus one, as the model uses them."""
        bayes = SubElement(root, "NaiveBayesModel", functionName="classification", threshold="0.0")
        self._schema(bayes)
        inputs = SubElement(bayes, "BayesInputs")
        for name, values in model.columns.items():
            column = SubElement(inputs, "BayesInput", fieldName=self._fields[name])
            for value, counts in values.items():
                pair = SubElement(column, "PairCounts", value=value)
                _counts(SubElement(pair, "TargetValueCounts"), model, counts)
        output = SubElement(bayes, "BayesOutput", fieldName=model.target)
        _counts(SubElement(output, "TargetValueCounts"), model, list(model.classes.values()))


def _counts(above: Element, model: NaiveBayesModel, counts: Sequence[int]) -> None:
    for label, count in zip(model.classes, counts, strict=True):
        SubElement(above, "TargetValueCount", value=label, count=str(count + 1))


def _segment(segments: Element, name: str, **about: str) -> Element:
    segment = SubElement(segments, "Segment", {"id": name} | about)
    SubElement(segment, "True")
    return segment


def _within(model: Scored) -> Element:
    targets = Element("Targets")
    least, greatest = model.bounds or (None, None)
    SubElement(targets, "Target", field=model.target, min=repr(least), max=repr(greatest))
    return targets


def _among(node: Element, field: str, values: Sequence[str]) -> None:
    parent = _or_missing(node, field) if MISSING in values else node
    chosen = SubElement(parent, "SimpleSetPredicate", field=field, booleanOperator="isIn")
    words = (value.replace("\\", "\\\\").replace('"', '\\"') for value in values)
    SubElement(chosen, "Array", type="string", n=str(len(values))).text = " ".join(f'"{word}"' for word in words)


def _or_missing(node: Element, field: str) -> Element:
    predicate = SubElement(node, "CompoundPredicate", booleanOperator="or")
    SubElement(predicate, "SimplePredicate", field=field, operator="isMissing")
    return predicate
