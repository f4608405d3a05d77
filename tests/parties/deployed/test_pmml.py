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

NAMES = {"p": "http://www.dmg.org/PMML-4_4"}


def holds(predicate: Element, row: dict[str, str]) -> bool:
    match predicate.tag.rpartition("}")[2]:
        case "True":
            return True
        case "CompoundPredicate":
            return any(holds(part, row) for part in predicate)
        case "SimplePredicate":
            return row.get(predicate.attrib["field"]) is None
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
    assert "have no PMML: take --to sql" in capsys.readouterr().err
