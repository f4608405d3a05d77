"""Clusters against plain k-means with the same noise, cells against counting, costs, and what is refused."""

from __future__ import annotations

import json
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parties import cli
from parties.jobs.inputs import Inputs
from parties.jobs.kinds.cluster import Cluster
from parties.jobs.release.cluster.kmeans import weighted
from parties.jobs.release.cluster.lloyd import FEW, usual_cells, usual_rounds
from parties.jobs.release.cluster.points import Axis, Grid, usual_parts
from parties.jobs.release.noise import Noise
from parties.jobs.result_files import picture as svg_of
from parties.tables.schema import Schema
from protocols.release.centroids import UNIT, nearest, packed
from smc.counting import forecast
from smc.engines import Profile, engine_of
from smc.errors import InputError
from smc.local import run_local
from tests.support.questions import Row, counts, known_noise, state_of

SCHEMA = Schema(
    {"x": ("-2", "0", "1.5", "3", "9", "?"), "sex": ("male", "female"), "y": tuple(map(str, range(7)))}, "sex"
)
ROWS = st.lists(
    st.fixed_dictionaries({name: st.sampled_from(values) for name, values in SCHEMA.attributes.items()}), max_size=12
)
BOX = {"columns": ("x", "y"), "bounds": ("-1:4", "0:6")}


def task_of(**given_: Any) -> Cluster:
    privacy = {} if given_.get("exact") else {"epsilon": 1.0}
    made = {"max_rows": 1000, "k": 2, **privacy, **BOX, **given_}
    return Cluster.canonical(Cluster.Settings.model_validate(made), SCHEMA)


def place(row: Row) -> tuple[float, float]:
    """A row in [-1, 1]^2, rounded as it is said to be."""
    x, y = min(max(float(row["x"]), -1), 4), float(row["y"])
    return (math.floor((x - 1.5) / 2.5 * UNIT + 0.5) / UNIT, math.floor((y - 3) / 3 * UNIT + 0.5) / UNIT)


def plain(rows: list[Row], task: Cluster, noise: float) -> tuple[np.ndarray, list[float]]:
    """Lloyd's algorithm in floating point with known noise on counts and sums; the counts of the last round.

    The first round is of many cells: k-means on the means of those that have enough rows, and packed places where they
    are too few.
    """
    points, k, cells = [place(row) for row in rows if row["x"] != "?"], task.k, task.lloyd.cells
    least = [count / UNIT for count in task.lloyd.least]
    centroids = np.array(packed(cells, 2)) / UNIT
    for number in range(len(least)):
        sums = np.full((len(centroids), 3), noise)
        for x, y in points:
            distances = ((centroids - (x, y)) ** 2).sum(axis=1)
            sums[int(np.argmin(distances))] += (1, x, y)
        strong = sums[:, 0] >= least[number]
        inputs = np.clip(np.floor(sums[:, 1:] / np.where(strong, sums[:, 0], 1)[:, None] * UNIT + 0.5) / UNIT, -1, 1)
        counts = np.clip(np.floor(sums[:, 0] + 0.5), 0, 2000)
        if number == 0:
            many = int(strong.sum())
            if many >= k:
                found, counts = weighted((inputs[strong] * UNIT).astype(np.int64), counts[strong].astype(np.int64), k)
                centroids = found / UNIT
            else:
                centroids = np.concatenate([inputs[strong], np.array(packed(k, 2))[: k - many] / UNIT])
                counts = np.concatenate([counts[strong], np.zeros(k - many)])
            continue
        load = sums[:, 0].copy()
        centroids[strong] = inputs[strong]
        for cluster in np.flatnonzero(~strong) if number < len(least) - 1 else ():
            largest = int(np.argmax(load))
            signs = [1 if ((cluster >> i) ^ i) & 1 else -1 for i in range(2)]
            centroids[cluster] = np.clip(centroids[largest] + np.array(signs) / 8, -1, 1)
            load[largest] = load[largest] * UNIT // 2 / UNIT
    return centroids, counts.tolist()


@settings(max_examples=40)
@given(ROWS, ROWS, st.integers(1, 4), st.integers(1, 3), st.sampled_from([-1500, 0, 40, 3000]))
def test_rounds_are_those_of_plain_k_means(left: list[Row], right: list[Row], k: int, rounds: int, noise: int) -> None:
    """With the same noise on every number; with 0, and no bound on small clusters but one row, also without noise."""
    task = task_of(k=k, method="in-process", iterations=rounds, epsilon=16.0)
    exact = task_of(k=k, method="in-process", iterations=rounds, exact=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Noise, "law", known_noise(noise))
        opened = state_of(task, [left, right])
    for one, state, added in ((task, opened, noise), (exact, state_of(exact, [left, right]), 0)):
        expected, sizes = plain([*left, *right], one, added / UNIT)
        found = one.document(state)["clusters"]
        centroids = sorted([(a - 1.5) / 2.5, (b - 3) / 3] for a, b in (cluster["centroid"] for cluster in found))
        assert np.allclose(centroids, sorted(expected.tolist()), atol=1e-9)
        assert sorted(cluster["rows"] for cluster in found) == sorted(sizes)


@settings(max_examples=15)
@given(ROWS, ROWS, st.integers(1, 3), st.sampled_from([None, 0, 2]))
def test_a_round_follows_the_grid(left: list[Row], right: list[Row], k: int, noise: int | None) -> None:
    """Of the grid's own clusters the means with noise on every number; None: all exact."""
    privacy: dict[str, Any] = {"exact": True} if noise is None else {"epsilon": 16.0}
    task = task_of(k=k, method="hybrid", parts=4, **privacy)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Noise, "law", known_noise(noise or 0))
        state = state_of(task, [left, right])
    cells, sums = state[: task.grid.cells], np.array(state[task.grid.cells :]).reshape(k, 3)
    centroids, _ = weighted(task.grid.places, np.maximum(np.array(cells), 0), k)
    points = np.array([np.array(place(row)) * UNIT for row in (*left, *right) if row["x"] != "?"]).reshape(-1, 2)
    if noise in (None, 0):
        found = nearest(points.astype(np.int64), centroids)
        for cluster in range(k):
            own = points[found == cluster]
            assert sums[cluster].tolist() == [len(own) * UNIT, *own.sum(axis=0).tolist()]
    else:
        assert sum(cells) == len(points) + noise * task.grid.cells
    shown = task.document(state)
    assert (shown["cells"], len(shown["clusters"])) == (task.grid.cells, k)
    weak = FEW * float(task.rounds[1].noise.scale) if task.rounds[1].noise else UNIT
    means = [
        np.clip(np.floor(sums[i, 1:] / sums[i, 0] * UNIT + 0.5), -UNIT, UNIT)
        if sums[i, 0] >= max(weak, UNIT)
        else centroids[i]
        for i in range(k)
    ]
    told = sorted(
        [(a - 1.5) / 2.5 * UNIT, (b - 3) / 3 * UNIT] for a, b in (one["centroid"] for one in shown["clusters"])
    )
    assert np.allclose(told, sorted(one.tolist() for one in means), atol=1e-6)


@settings(max_examples=15)
@given(ROWS, ROWS, st.integers(2, 5))
def test_cells_hold_their_rows(left: list[Row], right: list[Row], parts: int) -> None:
    """Each row of the predicate in one cell; parts of a column that hold no number of the schema are no cells."""
    task = task_of(parts=parts, where="sex = male and x != '-2'", exact=True)
    meant = [row for row in (*left, *right) if row["sex"] == "male" and row["x"] not in ("-2", "?")]

    def cell(row: Row) -> tuple[int, ...]:
        return tuple(min(math.floor((share + 1) / 2 * parts), parts - 1) for share in place(row))

    cells = sorted({cell({"x": x, "y": y}) for x in ("0", "1.5", "3", "9") for y in SCHEMA.attributes["y"]})
    found = Counter(map(cell, meant))
    assert state_of(task, [left, right]) == [found[one] for one in cells]


def test_the_grid_finds_what_is_there() -> None:
    rows = [{"x": "0", "sex": "male", "y": "1"}] * 300 + [{"x": "3", "sex": "male", "y": "5"}] * 200
    close = task_of(parts=40, epsilon=16.0)
    one, other = close.document(state_of(close, [rows, rows[250:]]))["clusters"]
    assert (one["centroid"], other["centroid"]) == (pytest.approx([3, 5], abs=0.1), pytest.approx([0, 1], abs=0.1))


@pytest.mark.parametrize(("planted", "columns"), [(2, 1), (2, 2), (3, 2), (4, 2), (5, 2)])
def test_the_noisy_grid_chooses_the_planted_number_of_clusters(planted: int, columns: int) -> None:
    """From 2 to ln 2,000 = 7, at no cost: the openings and the charge are those of a k that is given."""
    centres = [(0, 1), (3, 5), (-2, 5), (3, 1), (0, 3)][:planted]
    values = tuple(f"{value / 10:g}" for value in range(-25, 75))
    schema = Schema({"x": values, "y": values, "sex": ("male", "female")}, "sex")
    draw = np.random.default_rng(planted)
    rows = [
        {"x": f"{x + round(a) / 10:g}", "y": f"{y + round(b) / 10:g}", "sex": "male"}
        for x, y in centres
        for a, b in draw.normal(0, 2, (300, 2)).clip(-5, 5)
    ]
    box = {"columns": ("x", "y")[:columns], "bounds": ("-3:7",) * columns}
    given_ = {**box, "max_rows": 1000, "epsilon": 16.0}  # at 1.0 the noise makes a further cluster in 1 of 10 runs
    task = Cluster.canonical(Cluster.Settings.model_validate(given_), schema)
    assert len(task.document(state_of(task, [rows[::2], rows[1::2]]))["clusters"]) == planted
    named = Cluster.canonical(Cluster.Settings.model_validate({**given_, "k": 3}), schema)
    assert named.disclosure.spends == task.disclosure.spends
    assert named.rounds == task.rounds
    assert task.disclosure.question.startswith("2 to 7 clusters")


@pytest.mark.parametrize(
    "given_",
    [{}, {"method": "in-process"}, {"method": "in-process", "shares": "even"}, {"method": "hybrid"}],
    ids=str,
)
@pytest.mark.parametrize("adjacency", ["add-remove", "replace"])
def test_all_of_epsilon_is_spent_and_noise_fits(given_: dict[str, Any], adjacency: str) -> None:
    task = task_of(epsilon=0.3, adjacency=adjacency, **given_)
    assert sum(one.amount * one.times for one in task.disclosure.spends) == Fraction(3, 10)
    assert {one.adjacency for one in task.disclosure.spends} == {adjacency}
    changes = [3 * UNIT if given_ else 1] * len(task.rounds)
    if given_.get("method") == "hybrid":
        changes[0] = 1
    for part, spent, change in zip(task.rounds, task.disclosure.spends, changes, strict=True):
        assert part.noise is not None
        assert part.noise.scale == change * (2 if adjacency == "replace" else 1) / spent.amount
    assert task_of(exact=True, **given_).disclosure.spends == ()


@pytest.mark.parametrize(
    "given_", [{"parts": 3}, {"method": "in-process", "iterations": 2}, {"method": "hybrid"}], ids=str
)
def test_the_estimate_is_what_is_measured(given_: dict[str, Any]) -> None:
    task, meters = task_of(**given_), {}
    counted = forecast(task.cost(Inputs()).program, Profile("yao"))

    def program(session: Any) -> Any:
        meters[session.party] = session.meter
        own = task.own_rows(counts(task, [{"x": "0", "sex": "male", "y": "1"}] * 5))
        return task.run(engine_of(session, Profile("yao")), own, None, lambda step: None)

    one, other = run_local(program)
    assert one == other
    assert sum(task.disclosure.opened(one).values()) == len(one)
    assert sum(sum(task.disclosure.opened(one, step).values()) for step in range(task.states.steps(one))) == len(one)
    for party in (0, 1):
        for field in ("bytes_sent", "bytes_received", "messages", "rounds", "and_gates", "bits_opened"):
            assert getattr(counted.costs[party], field) == getattr(meters[party].total, field), field


@pytest.mark.parametrize(
    ("given_", "many"), [({"method": "in-process", "iterations": 4}, 4), ({"method": "hybrid"}, 2)]
)
def test_a_run_goes_on_from_any_round(given_: dict[str, Any], many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Noise, "law", known_noise(100))
    task = task_of(epsilon=16.0, **given_)
    own = task.own_rows(counts(task, [{"x": "3", "sex": "male", "y": "1"}] * 5))
    whole, _ = run_local(lambda session: task.run(engine_of(session, Profile("clear")), own, None, lambda step: None))
    assert (task.states.steps(whole), task.states.is_done(whole), task.states.steps(None)) == (many, True, 0)
    for steps in range(many):
        told: list[Any] = []
        before = task.states.decode(json.loads(json.dumps(task.states.encode(task.states.cut(whole, steps)))))
        again, _ = run_local(
            lambda session, start=before, told=told: task.run(
                engine_of(session, Profile("clear")), own, start, told.append
            )
        )
        assert again == whole
        assert sorted({(step.number, step.state and tuple(step.state)) for step in told}) == [
            (number, state and tuple(state))
            for number in range(steps, many)
            for state in [task.states.cut(whole, number)]
        ]


def test_what_is_shown() -> None:
    for given_ in ({}, {"method": "in-process"}, {"method": "hybrid"}, {"columns": ("x",), "bounds": ("0:3",)}):
        task = task_of(**given_)
        document = task.document(state_of(task, [[], [{"x": "3", "sex": "male", "y": "5"}] * 50]))
        assert json.loads(json.dumps(document)) == document
        text = Cluster.text(document, 0)
        assert "epsilon 1 (add-remove)" in text
        assert ("3 rounds of k-means, the first on 11 cells" in text) == (given_.get("method") == "in-process")
        assert "2 clusters" in svg_of(Cluster.files(), document)
        assert "with noise that neither knows" in task.disclosure.reveals("bob")[0]


WRONG = [
    ({"bounds": None}, "bounds: are missing: give LOW:HIGH for each of 'x', 'y'"),
    ({"bounds": ("0:1",)}, "bounds: 1 for 2 columns; give LOW:HIGH for each"),
    ({"bounds": ("1:1", "0:1")}, "bounds: '1:1' must be LOW:HIGH"),
    ({"bounds": ("0:inf", "0:1")}, "bounds: '0:inf' must be LOW:HIGH"),
    ({"columns": ("x", "sex")}, "columns: the values that the schema gives 'sex' must be numbers, but 'male' is not"),
    ({"columns": ("x", "z")}, "columns: 'z' is not an attribute of the schema"),
    ({"where": "x = '?'"}, "columns: where leaves no number of 'x'"),
    ({"k": None, "method": "hybrid"}, "k: is missing; give it, or the method grid"),
    ({"k": 5, "parts": 2}, "k: 5 clusters, but the grid has only 4 cells"),
    ({"iterations": 3}, "iterations: applies to method in-process only"),
    ({"shares": "even"}, "shares: applies to method in-process only"),
    ({"parts": 3, "method": "in-process"}, "parts: applies to method grid only; remove it"),
]


@pytest.mark.parametrize(
    ("many", "rows", "method"),
    [
        (1, 1000, "grid"), (4, 10**6, "grid"), (5, 143, "grid"), (5, 144, "hybrid"), (5, 2788, "hybrid"),
        (5, 2789, "in-process"), (8, 215, "grid"), (9, 1000, "hybrid"), (10, 1000, "in-process"),
    ],
)  # fmt: skip
def test_the_method_follows_from_public_numbers(many: int, rows: int, method: str) -> None:
    """Unless it is named. Two clusters: 12 rows for each of 2 (d + 1) numbers, at epsilon 1; three rounds from
    3 sqrt(500 (2 (d + 1))^3) rows on."""
    schema = Schema(dict.fromkeys("abcdefghij"[:many], ("0", "1", "2")))
    box = {"columns": tuple(schema.attributes), "bounds": ("0:2",) * many, "k": 2, "epsilon": 1.0, "max_rows": rows}
    for named, found in (({}, method), ({"method": "in-process"}, "in-process"), ({"method": "grid"}, "grid")):
        task = Cluster.canonical(Cluster.Settings.model_validate({**box, **named}), schema)
        assert (task.settings.method, task.on_grid) == (found, found == "grid")
    if many > 4:
        for more in ({"iterations": 2}, {"exact": True, "epsilon": None}):
            task = Cluster.canonical(Cluster.Settings.model_validate({**box, **more}), schema)
            assert task.settings.method == "in-process"


@pytest.mark.parametrize(("given_", "message"), WRONG, ids=lambda value: str(value)[:40])
def test_what_is_refused(given_: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as failed:
        task_of(**given_)
    assert message in str(failed.value)
    assert "\n" not in str(failed.value)


def test_a_grid_has_a_million_cells_at_most() -> None:
    numbers = list(map(str, range(2 * UNIT + 1)))
    axes = [Axis.read(name, numbers, set(numbers), f"0:{2 * UNIT}") for name in "ab"]
    assert Grid.over(axes, 1000).cells == 10**6
    with pytest.raises(
        InputError,
        match=r"^parts: the grid would have 1,002,001 cells, more than 1,000,000; choose fewer parts or columns$",
    ):
        Grid.over(axes, 1001)


@pytest.mark.parametrize(("rows", "dimensions"), [(10, 2), (1000, 1), (1000, 2), (10**5, 3), (10**9, 2), (10**5, 12)])
def test_the_usual_grid(rows: int, dimensions: int) -> None:
    parts = usual_parts(rows, Fraction(1, 2), dimensions)
    wanted = min((rows / 20) ** (2 / (2 + dimensions)), (1 << 14) ** (1 / dimensions))
    assert parts == max(2, math.floor(wanted + 1e-9))


@pytest.mark.parametrize(
    ("rows", "epsilon", "clusters", "dimensions", "rounds", "cells"),
    [(1000, "1", 4, 2, 2, 16), (10_000, "1", 4, 2, 7, 47), (10_000, "1", 5, 8, 2, 55), (10**6, "0.01", 5, 8, 2, 55),
     (30_000, "1", 5, 8, 4, 80), (10**9, "16", 3, 1, 7, 48), (1, "0.01", 3, 1, 2, 12)],
)  # fmt: skip
def test_rounds_and_cells_by_public_numbers(
    rows: int, epsilon: str, clusters: int, dimensions: int, rounds: int, cells: int
) -> None:
    found = usual_rounds(rows, Fraction(epsilon), clusters, dimensions)
    need = math.sqrt(500 * (clusters * (dimensions + 1)) ** 3) / rows / float(Fraction(epsilon))
    assert found == rounds == min(max(math.floor(1 / need), 2), 7)
    assert usual_cells(rows, Fraction(epsilon) / rounds, clusters, dimensions) == cells


def test_the_command_refuses_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "schema.toml").write_text("[attributes]\nx = [0, 1]\ny = [0, 1]\n")
    flags = ["cluster", "--schema", str(tmp_path / "schema.toml"), "--columns", "x,y", "--k", "2", "--epsilon", "1"]
    for more, message in (
        (["--bounds", "0:1,0:1", "--method", "in-process", "--iterations", "0"], "--iterations: must be >= 1, not 0"),
        ([], "bounds: are missing: give LOW:HIGH for each of 'x', 'y'"),
    ):
        assert cli.run([*flags, *more, "--connect", "127.0.0.1:1"]) == 2
        told = capsys.readouterr().err.strip()
        assert message in told
        assert "\n" not in told


def test_clusters_as_csv() -> None:
    clusters = [{"centroid": [40, 2.5], "rows": 7}, {"centroid": [20, 1], "rows": -1}]
    assert Cluster.table({"columns": ["age", "visits, a year"], "clusters": clusters}) == (
        'age,"visits, a year",rows\n40,2.5,7\n20,1,-1\n'
    )
