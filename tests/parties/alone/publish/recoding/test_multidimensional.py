"""Mondrian and top-down: all rows in classes that fit, each inside its box; local recoding as in the notes."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parties.alone.publish.cells import Cells
from parties.alone.publish.hierarchy import Hierarchy
from parties.alone.publish.models.classes import Classes, layout_of
from parties.alone.publish.models.closeness import TCloseness
from parties.alone.publish.models.diversity import EntropyLDiversity, LDiversity
from parties.alone.publish.models.model import KAnonymity, PrivacyModel, fitting
from parties.alone.publish.models.presence import Presence
from parties.alone.publish.recoding.anonymising import recoded_locally
from parties.alone.publish.recoding.fulldomain import Search
from parties.alone.publish.recoding.mondrian import mondrian
from parties.alone.publish.recoding.partition import SUPPRESSED, Partition, Span, at_node, certainty
from parties.alone.publish.recoding.recoding import place_in
from parties.alone.publish.recoding.space import Space
from parties.alone.publish.recoding.topdown import topdown
from parties.alone.publish.rules import Rule, hierarchy, number
from smc.errors import InputError
from tests.support.anonymity import cells_of, flat, rows_of, tables
from tests.support.plain_mondrian import plain_mondrian

MODELS = st.sampled_from(
    [
        [KAnonymity(2)],
        [KAnonymity(3), LDiversity("s", 2)],
        [KAnonymity(2), EntropyLDiversity("s", 1.5)],
        [TCloseness("s", 0.3), KAnonymity(2)],
    ]
)
ALGORITHMS = {"strict": mondrian, "relaxed": lambda *a: mondrian(*a, relaxed=True), "topdown": topdown}


def check(cells: Cells, found: Partition, models: list[PrivacyModel]) -> None:
    """Every row is in a class whose box holds it, and every class fits."""
    rows = np.bincount(found.cells, weights=found.counts, minlength=len(cells.counts))
    assert rows.tolist() == cells.counts.tolist()
    for cell, place in zip(found.cells, found.classes, strict=True):
        for h, column, span in zip(cells.hierarchies, cells.quasi, found.boxes[place], strict=True):
            assert span.holds(h, h.values[column[cell]])
    assert fitting(found.count(cells, layout_of(cells)), models).all()


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
@given(tables(), MODELS)
def test_every_class_fits(algorithm: str, cells: Cells, models: list[PrivacyModel]) -> None:
    numeric = [False] * len(cells.hierarchies)
    try:
        found = ALGORITHMS[algorithm](cells, models, numeric)  # type: ignore[operator]
    except InputError:
        assert not Search(cells, models).holds(Search(cells, models).lattice.top)
    else:
        check(cells, found, models)


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
@given(st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 5)), min_size=4, max_size=60), st.integers(1, 4))
def test_numbers(algorithm: str, points: list[tuple[int, int]], k: int) -> None:
    columns = [[str(x) for x in column] for column in zip(*points, strict=True)]
    cells = cells_of([(flat(str(i), column), column) for i, column in enumerate(columns)])
    found = ALGORITHMS[algorithm](cells, [KAnonymity(k)], [True, True])  # type: ignore[operator]
    check(cells, found, [KAnonymity(k)])
    sizes = found.count(cells, layout_of(cells)).sizes
    if algorithm == "strict":  # classes do not overlap
        values = [[h.values[code] for h, code in zip(cells.hierarchies, cell, strict=True)] for cell in cells.quasi.T]
        for cell in values:
            held = [all(s.holds(h, v) for s, h, v in zip(b, cells.hierarchies, cell, strict=True)) for b in found.boxes]
            assert sum(held) == 1
    elif algorithm == "relaxed":
        alike = [len(set(_points(found, i))) == 1 for i in range(len(sizes))]
        assert all(size < 2 * k or same for size, same in zip(sizes, alike, strict=True))


def _points(found: Partition, place: int) -> list[int]:
    return found.cells[found.classes == place].tolist()


@st.composite
def points(draw: st.DrawFn) -> tuple[Cells, list[bool], bool]:
    """Random cells, the first columns numbers in any order, the last a hierarchy; or with a public table."""
    if draw(st.booleans()):
        cells = draw(tables(60, public=True))
        return cells, [False] * len(cells.hierarchies), True
    trees, n = draw(tables(60)), draw(st.integers(0, 2))
    rows, columns = rows_of(trees), []
    for i in range(n):
        numbers = draw(st.lists(st.integers(-9, 9), min_size=len(rows), max_size=len(rows)))
        columns.append((flat(f"n{i}", numbers), [str(x) for x in numbers]))
    hierarchies = [*trees.hierarchies, *trees.sensitive_hierarchies]
    texts = [(h, [h.values[row[i]] for row in rows]) for i, h in enumerate(hierarchies)]
    return cells_of([*columns, *texts[:-1]], texts[-1:]), [True] * n + [False] * len(trees.hierarchies), False


@pytest.mark.parametrize("pieces", [1, 1 << 18])
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(table=points(), models=MODELS, relaxed=st.booleans())
def test_many_boxes_at_a_time_are_cut_as_each_alone(
    monkeypatch: pytest.MonkeyPatch, pieces: int, table: tuple[Cells, list[bool], bool], models: Any, relaxed: bool
) -> None:
    """Also if only one box is cut at a time."""
    cells, numeric, public = table
    if public:
        models, relaxed = [*models, Presence(0, 0.9)], False
    monkeypatch.setattr("parties.alone.publish.recoding.mondrian.PIECES", pieces)
    if not fitting(counted_whole(cells, models), models).all():
        return
    found = mondrian(cells, models, numeric, relaxed)
    expected = Space(cells, models, numeric).around(plain_mondrian(cells, models, numeric, relaxed))
    assert _said(found) == _said(expected)


def counted_whole(cells: Cells, models: list[PrivacyModel]) -> Classes:
    space = Space(cells, models, [False] * len(cells.hierarchies))
    return space.of_parts([space.whole])


def _said(found: Partition) -> list[Any]:
    """What the classes say and which cells are in them, in no order."""
    public = found.public.tolist() if found.public is not None else [None] * len(found.boxes)
    pieces: list[Any] = [[box, public[i], []] for i, box in enumerate(found.boxes)]
    for cell, place, count in zip(found.cells.tolist(), found.classes.tolist(), found.counts.tolist(), strict=True):
        pieces[place][2].append((cell, count))
    return sorted(pieces, key=repr)


@given(tables(public=True), st.sampled_from([Presence(0.2, 0.9), Presence(0, 0.8)]))
def test_presence_in_mondrian(cells: Cells, presence: Presence) -> None:
    """The public rows are in the boxes, too: counted there one by one."""
    try:
        found = mondrian(cells, [presence, KAnonymity(2)])
    except InputError:
        return
    assert cells.public is not None
    inside: Counter[int] = Counter()
    for column, n in zip(cells.public[0].T, cells.public[1], strict=True):
        values = [h.values[code] for h, code in zip(cells.hierarchies, column, strict=True)]
        held = [
            i
            for i, box in enumerate(found.boxes)
            if all(span.holds(h, value) for span, h, value in zip(box, cells.hierarchies, values, strict=True))
        ]
        assert len(held) == 1
        inside[held[0]] += int(n)
    sizes = found.count(cells, layout_of(cells)).sizes
    assert all(presence.least <= size / inside[i] <= presence.most for i, size in enumerate(sizes))


def test_five_rows_of_lesson_6() -> None:
    births = ["21/1/1979", "10/1/1979", "1/10/1944", "21/2/1983", "19/4/1982"]
    sexes = ["male", "female", "female", "male", "male"]
    zips = ["53715", "55410", "90210", "02274", "02237"]
    sex = hierarchy("sex", Rule(), ["male", "female"])
    sex = type(sex)(sex.column, sex.groups, (sex.labels[0], ("person",)))
    quasi = [
        (hierarchy("birthdate", Rule(dates="dmy"), births), births),
        (sex, sexes),
        (hierarchy("zip", Rule(prefixes=(4, 3, 2, 1)), zips), zips),
    ]
    cells = cells_of(quasi)
    search = Search(cells, [KAnonymity(2)], 1)
    found = search.best("flash", "class-size")
    assert found.suppressed == 1
    classes = search.rollup.classes(found.node)
    partition = at_node(cells, search.rollup, found.node, fitting(classes, [KAnonymity(2)]))
    local = recoded_locally(cells, partition, [KAnonymity(2)], "flash", "class-size")
    texts = {" ".join(span.label for span in box) for box in local.boxes}
    assert texts == {"*/1/1979 person 5****", "1980s male 022**"}
    suppressed = [int(cell) for cell, place in zip(local.cells, local.classes, strict=True) if place < 0]
    assert [quasi[0][0].values[cells.quasi[0][cell]] for cell in suppressed] == ["1/10/1944"]
    before, after = certainty(cells, partition), certainty(cells, local)
    assert all(after[name] <= before[name] for name in before)
    assert sum(after.values()) < sum(before.values())


@given(tables(), MODELS, st.floats(0, 1))
def test_what_is_left_is_recoded_locally(cells: Cells, models: list[PrivacyModel], share: float) -> None:
    """By k-anonymity alone, as long as k rows are left; what was published before stays as it was."""
    try:
        found = Search(cells, models, int(share * cells.rows)).best()
    except InputError:
        return
    search = Search(cells, models)
    fits = fitting(search.rollup.classes(found.node), models)
    before = at_node(cells, search.rollup, found.node, fits)
    after = recoded_locally(cells, before, models, "flash", "discernibility")
    published = before.classes >= 0
    assert after.classes[published].tolist() == before.classes[published].tolist()
    assert after.suppressed <= before.suppressed
    layout = layout_of(cells)
    assert fitting(after.count(cells, layout), models).all()
    for cell, place in zip(after.cells.tolist(), after.classes.tolist(), strict=True):
        if place >= 0:
            for h, column, span in zip(cells.hierarchies, cells.quasi, after.boxes[place], strict=True):
                assert span.holds(h, h.values[column[cell]])
    if models == [KAnonymity(2)]:
        assert after.suppressed < 2


def test_classes_that_overlap_bound_no_presence() -> None:
    cells = cells_of([(flat("x", "ab"), ["a", "b"])], (), [["a", "b"]])
    for algorithm in ("relaxed", "topdown"):
        with pytest.raises(InputError, match="presence needs classes that do not overlap"):
            ALGORITHMS[algorithm](cells, [Presence(0, 1)], [False])  # type: ignore[operator]


@pytest.mark.parametrize("dense", [1, 3])
@given(table=points(), draw=st.randoms(use_true_random=False))
def test_the_first_box_that_holds_a_cell(
    dense: int, table: tuple[Cells, list[bool], bool], draw: random.Random
) -> None:
    """Of groups, numbers and sets around some cell each, and some that hold nothing, as each span says of itself."""
    cells = table[0]
    texts = [[h.values[code] for h, code in zip(cells.hierarchies, cell, strict=True)] for cell in cells.quasi.T]

    def span(h: Hierarchy, value: str) -> Span:
        level = draw.randint(0, h.height)
        spans = [Span(h.labels[level][h.groups[level][h.index[value]]], level), Span(h.labels[-1][0], h.height)]
        spans.append(Span("v", values=(value, draw.choice(h.values), "none")))
        if (x := number(value)) is not None:
            spans += [Span("n", 0, x - draw.randint(0, 4), x + draw.randint(0, 4), True)] * 2
        return draw.choice([*spans, *spans, *spans, Span("none", level), Span("n", 0, 3.0, 4.0, True)])

    around = [draw.choice(texts) for _ in range(draw.randint(0, 6))]
    boxes = [tuple(span(h, value) for h, value in zip(cells.hierarchies, text, strict=True)) for text in around]
    holding = [
        [all(s.holds(h, v) for s, h, v in zip(box, cells.hierarchies, text, strict=True)) for box in boxes]
        for text in texts
    ]
    expected = [held.index(True) if True in held else SUPPRESSED for held in holding]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("parties.alone.publish.recoding.recoding.DENSE", dense)
        assert place_in(boxes, cells.hierarchies, cells.quasi).tolist() == expected
        if any(sum(held) > 1 for held in holding):
            with pytest.raises(InputError, match="classes that do not overlap"):
                place_in(boxes, cells.hierarchies, cells.quasi, exclusive=True)
