"""Jobs on typed columns: which form of one a peer may ask for, and rows that commands read by a table's mapping."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from parties.base.settings import merge
from parties.commands.own_table import on_table
from parties.jobs import kinds
from parties.jobs.inputs import Inputs
from parties.jobs.kind import Kind, revealed
from parties.models.trees.tree import TreeFile
from parties.sources.settings import TableSettings
from parties.tables import schema as schemas
from protocols.counts import RowCounts
from protocols.tree import Open
from smc.engines import make_engine
from smc.errors import InputError
from smc.local import run_local
from smc.session import Session

SCHEMA = """
[attributes]
y = ["a", "b"]
group = { type = "category", values = ["p", "q"], other = "else" }
age = { type = "integer", low = 0, high = 100, edges = [40, 65] }
weight = { type = "real", low = 0, high = 200, step = 0.5, edges = [70] }
"""
TYPED = {
    "release mean": {"column": "age", "epsilon": 1.0},
    "release sum": {"column": "weight", "epsilon": 1.0},
    "release median": {"column": "age", "epsilon": 1.0},
    "cluster": {"columns": ["age", "weight"], "k": 2, "epsilon": 1.0},
    "regress joint": {"target": "y", "columns": ["age", "weight"], "epsilon": 1.0},
    "release count": {"columns": None, "where": "age = '40 to 64'", "epsilon": 1.0},
    "id3": {"target": "y"},
}


@pytest.fixture
def table(tmp_path: Path) -> TableSettings:
    (tmp_path / "schema.toml").write_text(SCHEMA)
    rows = [f"{name};{age};{weight};{y}" for name, age, weight, y in ROWS]
    (tmp_path / "raw.csv").write_text("Gruppe;age;weight;y\n" + "\n".join(rows) + "\n")
    fields = {
        "source": str(tmp_path / "raw.csv"),
        "schema": tmp_path / "schema.toml",
        "max_rows": 100,
        "format": {"separator": ";", "decimal": ","},
        "columns": {"group": {"column": "Gruppe"}},
    }
    return TableSettings.model_validate(fields)


ROWS = [("p", 39, "69,9", "a"), ("q", 40, "70,0", "b"), ("z", 101, "80,5", "b"), ("p", 64, "1,0", "a")]


def proposed(name: str, table: TableSettings) -> tuple[Kind, Inputs]:
    kind = kinds.find(name)
    inputs = Inputs(table=table, schema=schemas.load(table.schema_file))
    given = {key: value for key, value in TYPED[name].items() if value is not None}
    return kind.proposed(merge(kind.Settings(), given), inputs), inputs


@pytest.mark.parametrize("name", TYPED)
def test_a_job_on_typed_columns_fits_the_table_that_it_is_of(name: str, table: TableSettings) -> None:
    task, inputs = proposed(name, table)
    again = kinds.find(name).agreed(task.specification())
    assert again.specification() == task.specification()
    assert again.misfit(inputs) is None


def test_no_peer_gets_finer_ranges_than_the_schema_says(table: TableSettings) -> None:
    task, inputs = proposed("id3", table)
    finer: dict[str, Any] = task.specification()
    finer["schema"] = schemas.load(table.schema_file).numeric(["age"]).public()
    assert (
        kinds.find("id3").agreed(finer).misfit(inputs) == "the table's attribute 'age' has other values than the job's"
    )


@pytest.mark.parametrize(("name", "columns"), [("id3", ["group", "age", "weight"]), ("release mean", ["age"])])
def test_a_command_reads_raw_rows_as_the_table_says(name: str, columns: list[str], table: TableSettings) -> None:
    kind = kinds.find(name)
    settings = merge(on_table(kind.Settings(), None, False, {"t": table}), TYPED[name])  # type: ignore[type-var]
    task, _, _ = kind.alone(settings, 0)
    rows, _ = task.rows_in_file(task.schema, task.target)  # type: ignore[attr-defined]
    frame = pandas.DataFrame(ROWS, columns=["group", "age", "weight", "y"])
    counts = rows.level(Open(), True)
    values = dict(zip(task.schema.features(task.target), counts.values, strict=True))  # type: ignore[attr-defined]
    if name == "id3":
        wanted = pandas.crosstab(pandas.cut(frame.age, [-1, 39, 64, 999]), frame.y).to_numpy()
        assert np.array_equal(values["age"][0], wanted)
        assert values["group"][0].sum(axis=1).tolist() == [2, 1, 1]
        assert values["weight"][0].sum(axis=1).tolist() == [2, 2]
    else:
        ages = counts.classes[0]
        assert {place: int(n) for place, n in enumerate(ages) if n} == {39: 1, 40: 1, 64: 1, 100: 1}


def test_a_table_with_a_budget_is_a_nodes(table: TableSettings) -> None:
    kept = table.model_copy(update={"budget": {"epsilon": 1.0}})
    with pytest.raises(InputError, match=r"tables\.t: has a budget, which only a node keeps"):
        on_table(kinds.find("id3").Settings(), None, False, {"t": kept})  # type: ignore[type-var]


@pytest.mark.parametrize(
    "more",
    [
        {"plain": True},
        {"plain": True, "support_epsilon": 9.0},
        {"epsilon": 500.0, "max_depth": 1},
        {"epsilon": 900.0, "trees": 2},
    ],
)
def test_a_tree_asks_typed_columns_by_their_edges(more: dict[str, Any], table: TableSettings) -> None:
    assert table.schema_file is not None
    table.schema_file.write_text("".join(line for line in SCHEMA.splitlines(True) if "group" not in line))
    kind = kinds.find("id3")
    settings = merge(on_table(kind.Settings(), None, False, {"t": table}), {"target": "y", "splits": "binary", **more})  # type: ignore[type-var]
    task, rows, _ = kind.alone(settings, 0)

    sizes = task.domains  # type: ignore[attr-defined]
    empty = RowCounts(sizes, 2, np.zeros((0, len(sizes)), dtype=int), np.zeros(0, dtype=int))
    nobody = task.own_rows(empty)  # type: ignore[attr-defined]

    def program(session: Session) -> Any:
        return task.run(
            make_engine(session, "clear"), (rows, nobody)[session.party], task.states.beginning, lambda step: None
        )

    state = run_local(program)[0]
    document = task.document(state)
    if "support_epsilon" in more:
        assert kind.text(document, 0).startswith("├── weight < 70: a, about 2 rows")
    elif "trees" not in more:
        assert kind.text(document, 0) == "├── weight < 70: a\n└── weight >= 70: b\n"
        assert document["ordered"] == {"weight": ["under 70", "70 and over"]}
    assert task.state_of(TreeFile.parse(document)) == state  # type: ignore[attr-defined]


def test_categories_are_cut_in_the_order_of_the_schema(table: TableSettings) -> None:
    """Those of four values or more; three are cut in every way, two are two branches as ever, numbers by edges."""
    assert table.schema_file is not None
    columns = 'group = ["p", "q"]\nkind = ["k", "l", "m"]\nmore = ["r", "s", "t", "u"]\n'
    columns += 'age = { type = "integer", low = 1, high = 3 }\n'
    table.schema_file.write_text(f'[attributes]\ny = ["a", "b"]\n{columns}')
    settings = merge(kinds.find("id3").Settings(), {"target": "y", "splits": "binary"})
    task: Any = kinds.find("id3").proposed(settings, Inputs(table=table, schema=schemas.load(table.schema_file)))
    assert task.questions.domains == (2,) * 9
    assert task.questions.asked == ((0, 0), (1, 1), (1, 2), (1, -1), (2, 1), (2, 2), (2, 3), (3, 1), (3, 2))


@pytest.mark.parametrize(
    ("more", "splits", "domains"),
    [
        ({"epsilon": 1.0}, "ordered", (2, 2, 2, 3)),
        ({"epsilon": 1.0, "splits": "multiway"}, "multiway", (4, 3)),
        ({}, "binary", (2, 2, 2, 2, 2, 2)),
    ],
)
def test_with_noise_numbers_are_cut_in_two_unless_asked_otherwise(
    more: dict[str, Any], splits: str, domains: tuple[int, ...], table: TableSettings
) -> None:
    """Both parties read it in the specification: what is left out is decided once."""
    assert table.schema_file is not None
    typed = 'age = { type = "integer", low = 1, high = 4 }'
    table.schema_file.write_text(f'[attributes]\ny = ["a", "b"]\n{typed}\nkind = ["k", "l", "m"]\n')
    kind = kinds.find("id3")
    settings = merge(kind.Settings(), {"target": "y", "max_rows": 5000, **more})
    task: Any = kind.proposed(settings, Inputs(table=table, schema=schemas.load(table.schema_file)))
    assert task.specification()["splits"] == splits
    assert task.questions.domains == domains
    assert kind.agreed(task.specification()).specification() == task.specification()


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("boost", {"target": "y", "columns": ["weight"], "numeric": ["weight"], "epsilon": 1.0, "rounds": 2}),
        ("cluster", {"columns": ["weight"], "k": 2, "epsilon": 1.0}),
        ("regress joint", {"target": "y", "columns": ["weight"], "epsilon": 1.0}),
        ("publish joint-table", {"by": "y", "sum": "weight", "epsilon": 1.0}),
    ],
)
def test_consent_and_result_state_the_grid_of_numbers(
    name: str, settings: dict[str, Any], table: TableSettings
) -> None:
    kind = kinds.find(name)
    settings = merge(on_table(kind.Settings(), None, False, {"t": table}), settings)  # type: ignore[type-var]
    task, rows, _ = kind.alone(settings, 0)

    def program(session: Session) -> Any:
        engine = make_engine(session, "clear")
        return task.run(engine, rows, task.states.beginning, lambda step: None)

    document = task.document(run_local(program)[0])
    line = "Each number of weight counts as the nearest multiple of 0.5."
    assert document["rounded"] == [line]
    assert kind.text(document, 0).splitlines().count(line) == 1
    assert revealed(task, "bob").count(line) == 1
