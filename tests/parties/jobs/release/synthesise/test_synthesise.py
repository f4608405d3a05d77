"""Synthetic tables as a kind: states, what is opened and refused, and rows from both parties' tables."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from parties.jobs.kind import Inputs
from parties.jobs.kinds.synthesise import Synthesise
from parties.jobs.release.synthesise.rows import agreed
from parties.jobs.release.synthesise.settings import SynthesiseSettings
from parties.jobs.release.synthesise.state import GraphicalModel, Synthesis
from parties.tables.schema import Schema
from protocols.counts import RowCounts
from smc.engines import Profile, engine_of, make_engine
from smc.errors import InputError, ProtocolError
from smc.local import run_local
from tests.support.concentrated import epsilon_of_rho
from tests.support.processes import Processes

SCHEMA = Schema({"a": ("0", "1", "2"), "b": ("x", "y, z"), "c": ("p", "q", "r", "s"), "d": ("no", "yes")}, "d")
SIZES = tuple(len(values) for values in SCHEMA.attributes.values())


def task_of(schema: Schema = SCHEMA, **given: Any) -> Synthesise:
    fields = {"epsilon": 10.0, "delta": 1e-9, "max_rows": 1000, **given}
    return Synthesise.canonical(SynthesiseSettings.model_validate(fields), schema)


def rows_of(seed: int, many: int) -> Any:
    """Column c follows a, d follows b."""
    random = np.random.default_rng(seed)
    rows = random.integers(0, SIZES, (many, 4))
    rows[:, 2] = np.where(random.random(many) < 0.9, rows[:, 0], rows[:, 2])
    rows[:, 3] = np.where(random.random(many) < 0.95, rows[:, 1], rows[:, 3])
    return rows


def source(task: Synthesise, rows: Any) -> RowCounts:
    names = list(SCHEMA.attributes)
    features = [names.index(name) for name in task.schema.features(task.target)]
    target = names.index(task.target)
    return RowCounts([SIZES[i] for i in features], SIZES[target], rows[:, features], rows[:, target])


def runs(
    task: Synthesise, own: Any, start: Synthesis | None = None, profile: Profile | None = None
) -> tuple[Any, list[Any]]:
    steps: list[Any] = []

    def party(session: Any) -> Any:
        told = steps.append if session.party == 0 else lambda step: None
        data = task.own_rows(source(task, own[session.party]))
        engine = make_engine(session, "clear") if profile is None else engine_of(session, profile)
        return task.run(engine, data, start or task.states.beginning, told)

    one, other = run_local(party)
    assert one == other
    return one, steps


@pytest.mark.parametrize("select", ["aim", "mst"])
def test_both_get_the_same_rows_and_they_are_like_the_true_ones(select: str) -> None:
    task, own = task_of(select=select), [rows_of(1, 900), rows_of(2, 800)]
    state, steps = runs(task, own, profile=Profile("gmw", "ferret"))
    assert [step.number for step in steps] == list(range(task.states.steps(state)))
    assert task.states.is_done(state)
    assert task.states.decode(json.loads(json.dumps(task.states.encode(state)))) == state
    for number, step in enumerate(steps):
        assert task.states.cut(state, number) == step.state
        assert task.states.decode(task.states.encode(step.state)) == step.state
        assert task.states.steps(step.state) == number
    assert task.states.cut(state, len(steps)) == state
    opened = [task.disclosure.opened(state, number) for number in range(len(steps))]
    everything = task.disclosure.opened(state)
    assert {key: sum(one[key] for one in opened) for key in everything} == everything
    assert everything["number with noise"] == sum(one.counts.size for one in state.measured)
    true, made = np.concatenate(own), state.rows
    assert len(made) == pytest.approx(1700, abs=60)
    for pair in ((0, 2), (1, 3), (0, 1)):
        counts = [
            np.histogram2d(rows[:, pair[0]], rows[:, pair[1]], bins=[range(SIZES[i] + 1) for i in pair])[0] / len(rows)
            for rows in (true, made.astype(int))
        ]
        assert np.abs(counts[0] - counts[1]).sum() / 2 < 0.06
    document = task.document(state)
    lines = list(csv.reader(io.StringIO(Synthesise.files()[1].content(document))))
    assert lines[0] == ["a", "b", "c", "d"]
    assert len(lines) == len(made) + 1
    assert {line[1] for line in lines[1:]} <= {"x", "y, z"}
    assert f"{len(made):,} synthetic rows of 4 columns" in Synthesise.text(document, 0)


def test_a_run_goes_on_from_any_step() -> None:
    """From a state between: what was measured stays; the model is the same as if it had never been lost."""
    task, own = task_of(epsilon=4.0, columns=("a", "c")), [rows_of(3, 300), rows_of(4, 300)]
    state, _ = runs(task, own)
    kept = task.states.cut(state, 3)
    again, more = runs(task, own, kept)
    assert again.measured[: len(kept.measured)] == kept.measured
    assert more[0].number == 3
    whole, fresh = GraphicalModel(task.work), GraphicalModel(task.work)
    for many in range(2, len(state.measured) + 1):
        last = whole.estimate(state.measured[:many])
    assert all((one == other).all() for one, other in zip(last, fresh.estimate(state.measured), strict=True))
    assert runs(task, own, state)[1] == []


def test_all_of_rho_is_charged() -> None:
    for adjacency in ("add-remove", "replace"):
        task = task_of(epsilon=1.0, adjacency=adjacency)
        (spent,) = task.disclosure.spends
        rho = float(spent.amount)
        assert epsilon_of_rho(rho, 1e-9) == pytest.approx(1, abs=1e-4)
        assert spent.adjacency == adjacency
        assert task.work.rho == spent.amount
        assert task.work.replaced == (adjacency == "replace")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"delta": None}, "delta: is missing"),
        ({"delta": 0.001}, "choose far less than 1 / 2000"),
        ({"epsilon": None}, "epsilon: is missing"),
        ({"columns": ("a", "e")}, "columns: 'e' is not an attribute"),
        ({"columns": ("a", "a")}, "each column once"),
        ({"columns": ("a",)}, "1 columns cannot be taken 2 together"),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        task_of(**given)


def test_too_many_values_are_refused() -> None:
    wide = Schema({name: tuple(map(str, range(300))) for name in ("a", "b", "c")})
    with pytest.raises(InputError, match="'a', 'b' has 90,000 cells"):
        task_of(wide)
    long = Schema({"a": tuple(map(str, range(2000)))})
    with pytest.raises(InputError, match="model_cells: the columns have 2,000 values together"):
        task_of(long, ways=1, model_cells=1024)


def test_rows_of_values_that_do_not_exist_are_refused() -> None:
    task = task_of(rows=5)

    def party(session: Any) -> Any:
        engine = make_engine(session, "clear")
        if session.party == 1:
            return agreed(engine, task.settings, task.work, task.names, GraphicalModel(task.work), Synthesis())
        session.send("number of rows", np.array([5]))
        session.send("rows", np.full((5, 4), 3, dtype=np.uint16))
        return None

    with pytest.raises(ProtocolError, match="a value that does not exist"):
        run_local(party)


def test_an_estimate_tells_for_what_it_is() -> None:
    said = str(task_of().cost(Inputs()))
    assert said == "typical, for 13 rounds, and 2,000 rows"
    assert str(task_of(select="mst", rows=7).cost(Inputs())) == "at most, for the largest pairs, and 7 rows"


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    started = Processes(tmp_path)
    for name, seed in (("a", 1), ("b", 2)):
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(SCHEMA.attributes)
            for row in rows_of(seed, 200):
                writer.writerow([values[code] for values, code in zip(SCHEMA.attributes.values(), row, strict=True)])
    SCHEMA.save(tmp_path / "schema.toml")
    yield started
    started.stop()


def test_two_processes_write_the_same_file(processes: Processes) -> None:
    words = ["synthesise", "--schema", "schema.toml", "--epsilon", "8", "--delta", "1e-9", "--max-rows", "1000"]
    done = processes.pair([*words, "--data", "a.csv", "--csv", "a.out"], [*words, "--data", "b.csv", "--csv", "b.out"])
    assert [one.code for one in done] == [0, 0], done[0].err + done[1].err
    assert done[0].out == done[1].out
    made = [(processes.directory / name).read_bytes() for name in ("a.out", "b.out")]
    assert made[0] == made[1]
    assert made[0].count(b"\n") == pytest.approx(401, abs=60)
