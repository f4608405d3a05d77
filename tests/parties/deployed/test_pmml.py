"""PMML documents, read back by a small reader of trees, votes, sums and counts, say what `smc predict` says."""

from __future__ import annotations

import csv
import math
import shlex
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import pytest

from parties import cli
from tests.support import deployed

pytestmark = pytest.mark.slow

NAMES = {"p": "http://www.dmg.org/PMML-4_4"}


def holds(predicate: Element, row: dict[str, str]) -> bool:
    match predicate.tag.rpartition("}")[2]:
        case "True":
            return True
        case "CompoundPredicate":
            return any(holds(part, row) for part in predicate)
        case "SimplePredicate":
            cell = row.get(predicate.attrib["field"])
            match predicate.attrib["operator"]:
                case "isMissing":
                    return cell is None
                case "lessThan":
                    return cell is not None and float(cell) < float(predicate.attrib["value"])
            return cell is not None and float(cell) >= float(predicate.attrib["value"])
    array = predicate.find("p:Array", NAMES)
    assert array is not None
    return row.get(predicate.attrib["field"]) in shlex.split(array.text or "")


def leaf(node: Element, row: dict[str, str]) -> str | None:
    below = node.findall("p:Node", NAMES)
    for child in below:
        if holds(child[0], row):
            return leaf(child, row)
    return None if below else node.attrib["score"]


def classified(root: Element, row: dict[str, str]) -> str | None:
    if (bayes := root.find("p:NaiveBayesModel", NAMES)) is not None:
        return by_counts(bayes, row)
    votes: dict[str | None, float] = defaultdict(float)
    for segment in root.findall(".//p:Segment", NAMES):
        tree = segment.find("p:TreeModel/p:Node", NAMES)
        assert tree is not None
        votes[leaf(tree, row)] += float(segment.attrib["weight"])
    single = root.find("p:TreeModel/p:Node", NAMES)
    return max(votes, key=votes.__getitem__) if single is None else leaf(single, row)


def summed(root: Element, row: dict[str, str]) -> list[float]:
    """The sums of boosted trees, one a class or a single one."""
    sums = [
        segmentation
        for segmentation in root.iter(f"{{{NAMES['p']}}}Segmentation")
        if segmentation.attrib["multipleModelMethod"] == "sum"
    ]
    trees = [segmentation.findall("p:Segment/p:TreeModel/p:Node", NAMES) for segmentation in sums]
    return [sum(float(leaf(tree, row) or "nan") for tree in of_class) for of_class in trees]


def by_counts(bayes: Element, row: dict[str, str]) -> str:
    output = bayes.findall("p:BayesOutput/p:TargetValueCounts/p:TargetValueCount", NAMES)
    scores = {count.attrib["value"]: math.log(int(count.attrib["count"])) for count in output}
    for column in bayes.findall("p:BayesInputs/p:BayesInput", NAMES):
        total: dict[str, int] = defaultdict(int)
        here: dict[str, int] = {}
        for pair in column:
            for count in pair[0]:
                label, number = count.attrib["value"], int(count.attrib["count"])
                total[label] += number
                if pair.attrib["value"] == row[column.attrib["fieldName"]]:
                    here[label] = number
        for label, number in here.items():
            scores[label] += math.log(number / total[label])
    return max(scores, key=scores.__getitem__)


def exported(folder: Path, *flags: str) -> Element:
    out = folder / "model.pmml"
    words = ["export", "--model", str(folder / "model.json"), "--to", "pmml", "--out", str(out), *flags]
    assert cli.run(words) == 0
    return ElementTree.parse(out).getroot()


@pytest.mark.parametrize("kind", ["tree", "forest", "bayes"])
@pytest.mark.parametrize("name", ["tennis", "house-votes-84"])
def test_categories(name: str, kind: str, tmp_path: Path) -> None:
    rows = deployed.frame(name)
    model, table = deployed.written(tmp_path, deployed.learnt(rows, deployed.DATA[name], kind), rows)
    root = exported(tmp_path)
    with table.open() as stream:
        assert [classified(root, row) for row in csv.DictReader(stream)] == deployed.said(model, table)


@pytest.mark.parametrize("name", ["tennis", "house-votes-84", "car"])
def test_boosted_trees(name: str, tmp_path: Path) -> None:
    rows = deployed.frame(name)
    model, table = deployed.written(tmp_path, deployed.learnt(rows, deployed.DATA[name], "boosted"), rows)
    root = exported(tmp_path)
    (regression,) = root.findall(".//p:RegressionModel", NAMES)
    labels = [part.attrib["targetCategory"] for part in regression.findall("p:RegressionTable", NAMES)]
    with table.open() as stream:
        sums = [summed(root, row) for row in csv.DictReader(stream)]
    if len(sums[0]) == 1:
        assert [labels[0] if score > 0 else labels[1] for (score,) in sums] == deployed.said(model, table)
    else:
        assert [labels[scores.index(max(scores))] for scores in sums] == deployed.said(model, table)


def test_boosted_trees_of_numbers(tmp_path: Path) -> None:
    """A column of numbers, on edges and missing, beside ranges by their names; what is unknown gets no sum."""
    rows = deployed.typed_rows(60).drop(columns="came")
    document = deployed.typed_model("boosted")
    age, pay = document["columns"]["age"], document["columns"]["pay"]
    rows.loc[:2, "age"] = [str(edge) for edge in age["edges"][:3]]
    rows["pay"] = [pay["values"][i % 3] for i in range(60)]
    rows["town"] = rows.town.replace({"b": "else", "c": "else"})
    assert (rows.age == "").any()
    model, table = deployed.written(tmp_path, document, rows.replace("", "?"))
    root = exported(tmp_path)
    lines = [{name: cell for name, cell in row.items() if cell} for row in rows.to_dict("records")]
    assert ["yes" if summed(root, row)[0] > 0 else "no" for row in lines] == deployed.said(model, table)
    assert math.isnan(summed(root, {**lines[0], "pay": "a lot"})[0])


def test_a_linear_model(tmp_path: Path) -> None:
    deployed.written(tmp_path, deployed.typed_model("number"), deployed.typed_rows(2))
    root = exported(tmp_path)
    (table,) = root.findall("p:RegressionModel/p:RegressionTable", NAMES)
    assert [part.attrib["coefficient"] for part in table] == ["0.31", "-0.07", "1.5", "-0.25", "0.125"]
    norms = root.findall(".//p:LinearNorm", NAMES)
    assert [(n.attrib["orig"], n.attrib["norm"]) for n in norms[:2]] == [("20.0", "-20.0"), ("55.0", "15.0")]
    assert root.find(".//p:Target", NAMES).attrib == {"field": "cost", "min": "-2.0", "max": "4.5"}  # type: ignore[union-attr]


def test_what_it_cannot_say(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, _ = deployed.written(tmp_path, deployed.typed_tree(), deployed.typed_rows(2))
    deployed.configured(tmp_path)
    words = ["export", "--model", str(model), "--to", "pmml", "--schema", str(tmp_path / "schema.toml")]
    assert cli.run(words) == 2
    assert "have no PMML form: use --to sql" in capsys.readouterr().err
