"""A model as PMML 4.4: a tree, a forest that votes, boosted trees, a linear model, naive Bayes.

Cells are categories as the model has them, where a missing one is "?"; by a schema, numbers become ranges
(`Discretize`) and texts categories (`MapValues`). What PMML cannot say exactly is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from parties.base.text import quoted
from parties.deployed.columns import Asked, known_codes
from parties.models.bayes import NaiveBayesModel
from parties.models.boosted import BoostedModel
from parties.models.linear import LinearModel, Slope
from parties.models.load import AnyModel, is_of_numbers
from parties.models.trees.tree import Leaf, Node, Split, TreeFile, places
from parties.tables.delimited import MISSING
from smc import __version__
from smc.errors import InputError

SPACE = "http://www.dmg.org/PMML-4_4"
MOST_TREES = 45  # whose weights, which let the earlier tree decide among equals, add up exactly


def to_pmml(model: AnyModel, asked: Mapping[str, Asked]) -> str:
    """Return the document. `InputError` for a model, or a column, that PMML cannot say exactly."""
    root = Element("PMML", xmlns=SPACE, version="4.4")
    SubElement(SubElement(root, "Header"), "Application", name="smc", version=__version__)
    labels = _labels(model)
    dictionary = SubElement(root, "DataDictionary", numberOfFields=str(len(asked) + 1))
    transformations = Element("TransformationDictionary")
    fields = {}
    for place, (name, ask) in enumerate(asked.items()):
        _data_field(dictionary, ask)
        fields[name] = _derived(transformations, f"smc_c{place}", ask) if ask.mapped else ask.rule.column
    kind = ("continuous", "double") if is_of_numbers(model) else ("categorical", "string")
    target = SubElement(dictionary, "DataField", name=model.target, optype=kind[0], dataType=kind[1])
    for label in labels:
        SubElement(target, "Value", value=label)
    if len(transformations):
        root.append(transformations)
    columns = [ask.rule.column for ask in asked.values()]
    match model:
        case TreeFile(others=()):
            _tree(root, model.tree, model.target, columns, fields)
        case TreeFile():
            _forest(root, model, columns, fields)
        case LinearModel():
            _linear(root, model, columns, fields)
        case NaiveBayesModel():
            _bayes(root, model, columns, fields)
        case BoostedModel():
            _boosted(root, model, asked, columns, fields)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode") + "\n"


def _labels(model: AnyModel) -> list[str]:
    if not isinstance(model, TreeFile):
        return list(model.classes or ())
    leaves = (place.node for tree in model.trees for place in places(tree))
    return sorted({leaf.label for leaf in leaves if isinstance(leaf, Leaf)})


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
    """Add a field with the category of a raw cell; its name."""
    rule = ask.rule
    where = f"column {quoted(rule.column)}"
    if rule.prefix is not None or (rule.ranges is not None and (rule.ranges.reads != "number" or rule.ranges.grid)):
        raise InputError(f"{where}: days, times, beginnings of texts and single numbers have no PMML: take --to sql")
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
        raise InputError(f"{where}: words among numbers have no PMML: take --to sql")
    ranges = SubElement(field, "Discretize", missing, field=rule.column, dataType="string")
    ends = [None, *rule.ranges.edges, None]
    for (least, end), place in zip(pairwise(ends), rule.ranges.places, strict=True):
        margins = {} if least is None else {"leftMargin": repr(least)}
        margins |= {} if end is None else {"rightMargin": repr(end)}
        part = SubElement(ranges, "DiscretizeBin", binValue=rule.categories[place])
        SubElement(part, "Interval", margins, closure="closedOpen")
    return name


def _schema(model: Element, target: str, columns: Sequence[str]) -> None:
    schema = SubElement(model, "MiningSchema")
    for column in columns:
        SubElement(schema, "MiningField", name=column, invalidValueTreatment="asIs")
    SubElement(schema, "MiningField", name=target, usageType="target")


# Models.


def _tree(above: Element, tree: Node, target: str, columns: Sequence[str], fields: Mapping[str, str]) -> None:
    model = SubElement(
        above,
        "TreeModel",
        functionName="classification",
        splitCharacteristic="multiSplit",
        missingValueStrategy="none",
        noTrueChildStrategy="returnNullPrediction",
    )
    _schema(model, target, columns)
    root = _node(model, tree)
    SubElement(root, "True")
    _below(root, tree, fields)


def _node(above: Element, tree: Node) -> Element:
    return SubElement(above, "Node", {"score": tree.label} if isinstance(tree, Leaf) else {})


def _below(element: Element, tree: Node, fields: Mapping[str, str]) -> None:
    if not isinstance(tree, Split):
        return
    groups: dict[int, tuple[Node, list[str]]] = {}
    for value in tree.values:
        below = tree.below(value)
        groups.setdefault(id(below), (below, []))[1].append(value)
    for below, values in groups.values():
        node = _node(element, below)
        _among(node, fields[tree.attribute], values)
        _below(node, below, fields)


def _among(node: Element, field: str, values: Sequence[str]) -> None:
    """Say that a category is one of these, of which a missing one may be."""
    place = _or_missing(node, field) if MISSING in values else node
    chosen = SubElement(place, "SimpleSetPredicate", field=field, booleanOperator="isIn")
    words = (value.replace("\\", "\\\\").replace('"', '\\"') for value in values)
    SubElement(chosen, "Array", type="string", n=str(len(values))).text = " ".join(f'"{word}"' for word in words)


def _or_missing(node: Element, field: str) -> Element:
    """Return the place of a predicate that holds for missing cells besides."""
    place = SubElement(node, "CompoundPredicate", booleanOperator="or")
    SubElement(place, "SimplePredicate", field=field, operator="isMissing")
    return place


def _forest(root: Element, forest: TreeFile, columns: Sequence[str], fields: Mapping[str, str]) -> None:
    if len(forest.trees) > MOST_TREES:
        raise InputError(
            f"PMML does not say who wins among equal votes, and weights of more than {MOST_TREES} trees "
            "are not exact: take --to sql"
        )
    model = SubElement(root, "MiningModel", functionName="classification")
    _schema(model, forest.target, columns)
    segments = SubElement(
        model, "Segmentation", multipleModelMethod="weightedMajorityVote", missingPredictionTreatment="returnMissing"
    )
    for number, tree in enumerate(forest.trees, 1):
        segment = SubElement(segments, "Segment", id=str(number), weight=repr(1 + 2.0**-number))
        SubElement(segment, "True")
        _tree(segment, tree, forest.target, columns, fields)


def _boosted(
    root: Element, model: BoostedModel, asked: Mapping[str, Asked], columns: Sequence[str], fields: Mapping[str, str]
) -> None:
    """Write the sums of leaves, and of classes what a regression without weights of its own makes of them."""
    if model.classes is None:
        sums = _sum_of_trees(root, model, 0, asked, columns, fields)
        targets = Element("Targets")
        least, greatest = model.bounds or (None, None)
        SubElement(targets, "Target", field=model.target, min=repr(least), max=repr(greatest))
        sums.insert(1, targets)
        return
    chain = SubElement(root, "MiningModel", functionName="classification")
    _schema(chain, model.target, columns)
    segments = SubElement(
        chain, "Segmentation", multipleModelMethod="modelChain", missingPredictionTreatment="returnMissing"
    )
    margins = [f"smc_s{place}" for place in range(model.width)]
    for place, margin in enumerate(margins):
        segment = SubElement(segments, "Segment", id=margin)
        SubElement(segment, "True")
        sums = _sum_of_trees(segment, model, place, asked, columns, fields)
        output = Element("Output")
        SubElement(output, "OutputField", name=margin, feature="predictedValue", optype="continuous", dataType="double")
        sums.insert(1, output)
    last = SubElement(segments, "Segment", id="class")
    SubElement(last, "True")
    kind = "logit" if model.width == 1 else "softmax"
    regression = SubElement(last, "RegressionModel", functionName="classification", normalizationMethod=kind)
    _schema(regression, model.target, margins)
    of_class = model.classes[1:] if model.width == 1 else model.classes
    for margin, label in zip(margins, of_class, strict=True):
        table = SubElement(regression, "RegressionTable", targetCategory=label, intercept="0.0")
        SubElement(table, "NumericPredictor", name=margin, coefficient="1.0")
    if model.width == 1:
        SubElement(regression, "RegressionTable", targetCategory=model.classes[0], intercept="0.0")


def _sum_of_trees(
    above: Element,
    model: BoostedModel,
    place: int,
    asked: Mapping[str, Asked],
    columns: Sequence[str],
    fields: Mapping[str, str],
) -> Element:
    """Add the model that sums one score: what all scores begin with, as a leaf of its own, then a tree a round."""
    sums = SubElement(above, "MiningModel", functionName="regression")
    _schema(sums, model.target, columns)
    segments = SubElement(sums, "Segmentation", multipleModelMethod="sum", missingPredictionTreatment="returnMissing")
    for number, tree in enumerate([{"leaf": model.base}, *(trees[place] for trees in model.rounds)]):
        segment = SubElement(segments, "Segment", id=str(number))
        SubElement(segment, "True")
        regression = SubElement(
            segment,
            "TreeModel",
            functionName="regression",
            splitCharacteristic="binarySplit",
            missingValueStrategy="none",
            noTrueChildStrategy="returnNullPrediction",
        )
        _schema(regression, model.target, columns)
        root = SubElement(regression, "Node")
        SubElement(root, "True")
        _split_in_two(root, tree, model, asked, fields)
    return sums


def _split_in_two(
    element: Element,
    tree: Mapping[str, Any],
    model: BoostedModel,
    asked: Mapping[str, Asked],
    fields: Mapping[str, str],
) -> None:
    if "leaf" in tree:
        element.set("score", repr(float(tree["leaf"])))
        return
    name = tree["column"]
    column, field = model.columns[name], fields[name]
    then, otherwise = SubElement(element, "Node"), SubElement(element, "Node")
    if asked[name].raw:
        edge = repr(float(tree["below"]))
        SubElement(_or_missing(then, field), "SimplePredicate", field=field, operator="lessThan", value=edge)
        SubElement(otherwise, "SimplePredicate", field=field, operator="greaterOrEqual", value=edge)
    else:
        sides: dict[bool, list[str]] = {True: [], False: []}
        limit = column.values[tree["is"]] if "is" in tree else column.place(tree["below"])
        categories = asked[name].rule.categories
        for number, code in known_codes(column, categories).items():
            sides[code == limit if "is" in tree else code < limit].append(categories[number])
        _among(then, field, sides[True])
        _among(otherwise, field, sides[False])
    _split_in_two(then, tree["then"], model, asked, fields)
    _split_in_two(otherwise, tree["otherwise"], model, asked, fields)


def _linear(root: Element, model: LinearModel, columns: Sequence[str], fields: Mapping[str, str]) -> None:
    """Write the sum. A number outside its bounds, or missing, is what a derived field of it says."""
    kind = "regression" if model.classes is None else "classification"
    regression = Element("RegressionModel", functionName=kind)
    _schema(regression, model.target, columns)
    local = SubElement(regression, "LocalTransformations")
    if model.bounds is not None:
        targets = SubElement(regression, "Targets")
        SubElement(targets, "Target", field=model.target, min=repr(model.bounds[0]), max=repr(model.bounds[1]))
    else:
        regression.set("normalizationMethod", "logit")
    of_class = {} if model.classes is None else {"targetCategory": model.classes[1]}
    table = SubElement(regression, "RegressionTable", of_class, intercept=repr(model.intercept))
    for place, (name, column) in enumerate(model.columns.items()):
        if isinstance(column, Slope):
            within = f"smc_x{place}"
            field = SubElement(local, "DerivedField", name=within, optype="continuous", dataType="double")
            middle = repr(column.middle)
            ends = sorted({column.least, column.greatest})
            mapped = SubElement(
                field, "NormContinuous", field=fields[name], mapMissingTo="0.0", outliers="asExtremeValues"
            )
            for end in ends if len(ends) > 1 else [ends[0], ends[0] + 1]:
                norm = repr(min(end, column.greatest) - float(middle))
                SubElement(mapped, "LinearNorm", orig=repr(end), norm=norm)
            SubElement(table, "NumericPredictor", name=within, coefficient=repr(column.weight))
        else:
            for value, weight in column.items():
                SubElement(table, "CategoricalPredictor", name=fields[name], value=value, coefficient=repr(weight))
    if not len(local):
        regression.remove(local)
    if model.classes is not None:
        SubElement(regression, "RegressionTable", intercept="0.0", targetCategory=model.classes[0])
    root.append(regression)


def _bayes(root: Element, model: NaiveBayesModel, columns: Sequence[str], fields: Mapping[str, str]) -> None:
    """Write the counts with one more each, as the model takes them."""
    bayes = SubElement(root, "NaiveBayesModel", functionName="classification", threshold="0.0")
    _schema(bayes, model.target, columns)
    inputs = SubElement(bayes, "BayesInputs")
    for name, values in model.columns.items():
        column = SubElement(inputs, "BayesInput", fieldName=fields[name])
        for value, counts in values.items():
            pair = SubElement(column, "PairCounts", value=value)
            _counts(SubElement(pair, "TargetValueCounts"), model, counts)
    output = SubElement(bayes, "BayesOutput", fieldName=model.target)
    _counts(SubElement(output, "TargetValueCounts"), model, list(model.classes.values()))


def _counts(above: Element, model: NaiveBayesModel, counts: Sequence[int]) -> None:
    for label, count in zip(model.classes, counts, strict=True):
        SubElement(above, "TargetValueCount", value=label, count=str(count + 1))
