"""The private file of hidden rows, and settings of a command that do not fit it."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parties.base.settings import merge
from parties.jobs import kinds
from parties.jobs.hidden_rows import HiddenFile, HiddenTerms
from parties.jobs.tabular import with_aligned
from parties.sources.settings import TableSettings
from parties.tables.schema import Schema
from parties.tables.types import Domain, IntegerType
from smc.errors import InputError
from tests.support.columns_apart import Two, people
from tests.support.specified import TREE

AGES = Schema({"age": Domain(IntegerType(low=0, high=90, edges=(30, 60))), "late": ("no", "yes")})


@pytest.fixture
def two(tmp_path: Path) -> Two:
    return Two(tmp_path, people(), "play", ("a", "d"), strangers=3, hidden=True)


@pytest.mark.parametrize("party", [0, 1])
def test_a_file_has_the_part_again(two: Two, party: int) -> None:
    text = (two.directory / f"aligned{party}.csv").read_text()
    file = HiddenFile.parsed(text, "")
    again = HiddenFile.parsed(file.text(), "")
    assert file.text() == text
    assert (again.party, again.terms.alignment, again.terms.bins) == (party, "ab", 160 - 6)
    assert (again.rows.own is None) == (party == 0)
    for name in ("member", "shares", "own"):
        one, other = getattr(file.rows, name), getattr(again.rows, name)
        assert one is other is None or (np.array_equal(one, other) and one.dtype == other.dtype)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text[:-5],
        lambda text: text.replace('"version": 1', '"version": 2'),
        lambda text: text.replace('"shares"', '"parts"'),
        lambda text: text.replace('"bins": 154', '"bins": 155'),
        lambda text: text.replace('"party": 0', '"party": 1'),
        lambda text: text.replace('"dialler"', '"both"'),
        lambda text: '{"tree": {}}',
        lambda text: "[]",
    ],
)
def test_another_file_is_a_line(two: Two, change: Callable[[str], str]) -> None:
    text = (two.directory / "aligned0.csv").read_text()
    with pytest.raises(InputError, match=r"^x: is no whole file of smc align hidden; give that file, or align anew$"):
        HiddenFile.parsed(change(text), "x")


@pytest.mark.parametrize(
    ("kind", "more", "line"),
    [
        ("id3", {"data": Path("0.csv")}, "--data: {file} has its own; remove --data"),
        ("id3", {"max_rows": 7}, "--max-rows: {file} has 154 bins; remove --max-rows"),
        ("id3", {"listener_columns": ("a", "b")}, "--listener-columns: {file} has its own; remove --listener-columns"),
        ("id3", {"epsilon": 1.0, "trees": 3}, "trees cannot be combined with aligned"),
        ("id3", {"held_out": 0.2}, "held_out cannot be combined with aligned"),
        ("release count", {"exact": True}, "exact cannot be combined with aligned"),
        ("classify", {"classifier": TREE, "learns": "dialler"}, "alignment: the classes would show who is in both"),
    ],
)
def test_settings_that_do_not_fit_are_a_line(two: Two, kind: str, more: dict[str, Any], line: str) -> None:
    two.kind = kinds.find(kind)
    plain = {"plain": True} if kind == "id3" and "epsilon" not in more else {}
    with pytest.raises(InputError) as error:
        two.kind.alone(two.settings(0, **plain, **more), 0)
    assert line.format(file=two.directory / "aligned0.csv") in str(error.value)
    assert "\n" not in str(error.value)


def test_columns_with_other_values_are_a_line(two: Two) -> None:
    text = (two.directory / "schema.toml").read_text()
    (two.directory / "schema.toml").write_text(text.replace('["u", "v"]', '["v", "u"]'))
    with pytest.raises(InputError, match=r"the alignment has no columns 'b' with the job.s values and party"):
        two.kind.alone(two.settings(0, plain=True), 0)


def test_numbers_of_a_column_in_ranges_are_a_line() -> None:
    schema = AGES
    terms = HiddenTerms("ab", schema, ("age",), "dialler", 154)
    settings = merge(kinds.find("release mean").Settings(), terms.settings)
    assert terms.misfit(schema, settings) is None
    line = "the alignment has ranges of 'age', not numbers; match anew by a schema without edges"
    assert (terms.misfit(schema.numeric(["age"]), settings) or "").startswith(line)
    swapped = replace(terms, listener_columns=("late",))
    assert (swapped.misfit(schema, settings) or "").startswith("the alignment has no columns 'age', 'late' with")
    numbers = replace(terms, schema=schema.numeric(["age"]))
    assert numbers.misfit(schema.numeric(["age"]), settings) is None
    assert "no columns 'age' with the job's values" in (numbers.misfit(schema, settings) or "")


def test_a_bound_other_than_that_of_the_own_table_is_a_line(two: Two) -> None:
    table = TableSettings.model_validate({"source": "rows.csv", "schema": "schema.toml", "max_rows": 300})
    for bound in (300, 100):
        settings = two.settings(0, plain=True, max_rows=bound).model_copy(update={"own_table": table})
        with nullcontext() if bound == 300 else pytest.raises(InputError, match="has 154 bins; remove --max-rows"):
            assert with_aligned(settings).max_rows == 154


def test_the_file_of_the_other_party_and_a_file_that_others_can_read_are_a_line(two: Two) -> None:
    with pytest.raises(InputError, match=r"is the other party.s file; give yours, and listen or dial as there"):
        two.kind.alone(two.settings(0, plain=True), 1)
    (two.directory / "aligned0.csv").chmod(0o644)
    with pytest.raises(InputError, match="can be read by other users"):
        two.kind.alone(two.settings(0, plain=True), 0)


def test_both_adjacencies_and_questions_of_one_party_are_offered(two: Two) -> None:
    two.kind = kinds.find("release count")
    for adjacency in ("add-remove", "replace"):
        task = two.kind.alone(two.settings(0, epsilon=1.0, adjacency=adjacency), 0)[0]
        sentences = task.disclosure.reveals("b")
        assert "Neither party knows who they are, nor how many." in sentences[1]
        assert not any("Without noise" in line for line in sentences)
    sentences = (
        kinds.find("rank")
        .alone(
            merge(
                kinds.find("rank").Settings(),
                {"schema": two.directory / "schema.toml", "aligned": two.directory / "aligned0.csv"},
            ),
            0,
        )[0]
        .disclosure.reveals("b")
    )
    assert any(line.startswith("Without noise, the answer can show whether a person") for line in sentences)


def test_a_specification_has_the_holder_and_the_bins(two: Two) -> None:
    task = two.kind.alone(two.settings(0, plain=True), 0)[0]
    said = json.loads(json.dumps(task.specification()))
    assert (said["hidden_rows"], said["max_rows"], said["alignment"]) == ("dialler", 154, "ab")
    agreed = two.kind.agreed(said)
    assert agreed.specification() == task.specification()
    assert agreed.bounded()["max_rows"] == 0, "a rule for 100 people or more permits no hidden rows"
