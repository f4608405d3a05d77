"""What the page says of a result: words, files, an outline of the tree."""

from __future__ import annotations

import re

import pytest

from parties.models.trees.text import to_dot, to_text
from parties.models.trees.tree import Noise, TreeFile, size
from parties.web import results
from tests.support.elements import Elements
from tests.support.fake_node import Browser, FakeNode, tree, wide_tree


def test_a_result_in_words_and_files(node: FakeNode, browser: Browser) -> None:
    job = node.add()
    node.finish(job.id)
    text = " ".join(Elements(browser.get(f"/jobs/{job.id}").text).text.split())
    for fact in ("6 questions, 12 leaves, depth 4", "chosen attribute5", "Both have signed", "5.1 MB", "as agreed"):
        assert fact in text
    file = browser.get(f"/jobs/{job.id}/tree.json")
    assert TreeFile.parse(file.json()).tree == tree()
    assert file.headers["content-disposition"] == f'attachment; filename="tree-{job.id[:8]}.json"'
    assert browser.get(f"/jobs/{job.id}/tree.txt").text == to_text(tree())
    assert browser.get(f"/jobs/{job.id}/tree.dot").text == to_dot(tree(), "readmitted")
    assert "<title>Decision tree for readmitted</title>" in browser.get(f"/jobs/{job.id}/tree.svg").text
    assert browser.get(f"/jobs/{job.id}/result.json").json()["opened"] == node.result(job.id).opened


def test_a_forest_with_noise_in_words(node: FakeNode, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    job = node.add()
    node.finish(job.id)
    made = TreeFile("5" * 64, "readmitted", None, tree(), Noise(0.5, "replace", "gini"), (tree(), tree()))
    result = node.result(job.id).model_copy(update={"document": made.fields()})
    monkeypatch.setattr(node, "result", lambda identifier: result)
    text = " ".join(Elements(browser.get(f"/jobs/{job.id}").text).text.split())
    assert "18 questions, 36 leaves, depth 4." in text
    assert "3 trees vote, each grown from its own rows." in text
    assert "with epsilon 0.5 for a row replaced, attributes compared by gini." in text
    assert "tree 3" in browser.get(f"/jobs/{job.id}/tree.txt").text


@pytest.mark.parametrize("name", ["tree.json", "tree.svg", "picture"])
def test_there_is_no_result_before_the_end(node: FakeNode, browser: Browser, name: str) -> None:
    job = node.add()
    assert browser.get(f"/jobs/{job.id}/{name}").status_code == 404


def test_the_outline_is_well_nested(node: FakeNode, browser: Browser) -> None:
    job = node.add()
    node.finish(job.id)
    page = browser.get(f"/jobs/{job.id}").text
    outline = page[page.index('<details class="outline"') : page.index('<p class="downloads"')]
    open_tags: list[str] = []
    for closing, tag in re.findall(r"<(/?)(ul|li|details|summary|strong|bdi)\b", outline):
        if closing:
            assert open_tags.pop() == tag
        else:
            open_tags.append(tag)
    assert open_tags == []
    assert outline.count("<li>") == size(tree()).nodes
    lines = results.brought(node.result(job.id)).shown.outline
    assert lines is not None
    assert lines[-1].ends == 2


def test_large_trees_are_files_only(node: FakeNode, browser: Browser) -> None:
    job = node.add()
    node.finish(job.id, wide_tree(6, 4))
    page = browser.get(f"/jobs/{job.id}").text
    assert "too large to draw" in page
    assert 'class="tree-picture"' not in page
    assert browser.get(f"/jobs/{job.id}/tree.json").status_code == 200


def test_a_tree_that_cannot_be_read_is_said(node: FakeNode, browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    job = node.add()
    node.finish(job.id)
    result = node.result(job.id).model_copy(update={"document": {"class": "yes"}})
    monkeypatch.setattr(node, "result", lambda identifier: result)
    answer = browser.get(f"/jobs/{job.id}")
    assert answer.status_code == 200
    assert "the tree of this job cannot be read" in answer.text
