"""Edges that cut both parties' rows into equal parts: by thresholds, under noise, and taken by a schema."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.cli import cli
from parties.jobs.kinds.release.edges import Edges, EdgesSettings, cut
from parties.tables import schema as schemas
from parties.tables.schema import Schema
from parties.tables.types import Domain, IntegerType, RealType
from protocols.counts import RowCounts
from smc.counting import forecast
from smc.engines import Profile, engine_of, make_engine
from smc.errors import InputError
from smc.local import run_local
from smc.session import Session

pytestmark = pytest.mark.slow

AGES = IntegerType(low=0, high=110, edges=(18, 65), missing=True)
SCHEMA = Schema(
    {"age": Domain(AGES), "weight": Domain(RealType(low=0, high=100, step=0.5, width=50)), "sex": ("m", "f")}, "sex"
)


def task_of(numeric: tuple[str, ...] = ("age",), schema: Schema = SCHEMA, **more: Any) -> Edges:
    fields = {"numeric": numeric, "max_rows": 10_000, **({} if "exact" in more else {"epsilon": 1.0}), **more}
    return Edges.canonical(EdgesSettings.model_validate(fields), schema)


def found(task: Edges, table: dict[str, np.ndarray], profile: str = "clear") -> dict[str, list[float]]:
    """The edges of rows that are dealt to two parties; a column holds places of its values."""
    columns = [name for name in task.schema.attributes if name != task.target]
    sizes = [len(task.schema.attributes[name]) for name in columns]

    def program(session: Session) -> Any:
        rows = np.column_stack([table[name] for name in [*columns, task.target]])[session.party :: 2]
        counts = RowCounts(sizes, len(task.schema.attributes[task.target]), rows[:, :-1], rows[:, -1])
        return task.run(make_engine(session, profile), task.own_rows(counts), None, lambda step: None)

    left, right = run_local(program)
    assert left == right
    return {entry["column"]: entry["edges"] for entry in task.document(left)["edges"]}


def least_above(values: list[int], parts: int, groups: int, size: int) -> list[int]:
    """For k = 1, 2, ...: the least start of a group of numbers 0, ..., size - 1 with k n / parts values below it."""
    step = -(-size // groups)
    starts = [*range(0, size, step), size]
    edges = {
        min(start for start in starts if parts * sum(value < start for value in values) >= k * len(values))
        for k in range(1, parts)
    }
    return sorted(edge for edge in edges if 0 < edge < size)


@given(
    st.lists(st.integers(0, 111), max_size=40),
    st.sampled_from([2, 3, 10]),
    st.sampled_from([2, 7, 200]),
    st.booleans(),
)
@settings(max_examples=25, deadline=None)
def test_exact_edges_are_those_of_the_definition(ages: list[int], parts: int, groups: int, twin: bool) -> None:
    """111 is the missing value, which does not count."""
    names = ("age", "weight") if twin else ("age",)
    task = task_of(names, exact=True, parts=parts, groups=groups)
    edges = found(task, {"age": np.array(ages, dtype=int), "weight": np.array(ages, dtype=int)})
    assert edges["age"] == least_above([age for age in ages if age < 111], parts, groups, 111)
    if twin:
        assert edges["weight"] == [place / 2 for place in least_above(ages, parts, groups, 201)]


@pytest.mark.parametrize("profile", [Profile("yao"), Profile("gmw")], ids=str)
@pytest.mark.parametrize("more", [{"exact": True}, {"epsilon": 2.0, "adjacency": "replace"}])
def test_every_engine_finds_them_and_the_cost_is_foreseen(profile: Profile, more: dict[str, Any]) -> None:
    task = task_of(parts=4, groups=20, **more)
    ages = np.random.default_rng(1).integers(0, 111, 3000)
    meters = {}

    def program(session: Session) -> Any:
        meters[session.party] = session.meter
        counts = RowCounts((), 112, np.zeros((1500, 0), dtype=int), ages[session.party :: 2])
        return task.run(engine_of(session, profile), task.own_rows(counts), None, lambda step: None)

    state = run_local(program)[0]
    (column,) = task.document(state)["edges"]
    assert column["edges"] == pytest.approx(np.quantile(ages, [0.25, 0.5, 0.75]), abs=8)  # groups are six years wide
    cost = forecast(task.cost(None).program, profile)  # type: ignore[arg-type]
    assert cost.costs[0].bytes_sent == meters[0].total.bytes_sent
    assert cost.costs[1].bytes_sent == meters[1].total.bytes_sent


def test_noisy_edges_are_within_their_error_of_the_exact_quantiles() -> None:
    """Deciles of 20,000 rows: ranks off by sqrt(2 i) / epsilon, six times that at most; both columns share epsilon."""
    generator = np.random.default_rng(2)
    ages = np.minimum(generator.gamma(4, 10, 20_000).astype(int), 110)
    weights = generator.integers(0, 201, 20_000)
    edges = found(task_of(("age", "weight"), epsilon=1.0, max_rows=20_000), {"age": ages, "weight": weights})
    for name, places, scale in (("age", ages, 1), ("weight", weights, 2)):
        wanted = least_above(places.tolist(), 10, 200, {"age": 111, "weight": 201}[name])
        assert len(edges[name]) == 9
        for edge, exact in zip(edges[name], np.array(wanted) / scale, strict=True):
            ranks = [np.sum(places < place * scale) for place in (edge, exact)]
            slack = np.max(np.bincount(places))  # of the number that an edge steps over
            assert abs(int(ranks[0]) - int(ranks[1])) <= 6 * np.sqrt(2 * 111) / 0.5 + slack


def test_sums_of_noise_neither_fall_nor_pass_all_rows() -> None:
    assert cut(np.array([-3, 8, -2, 7, 0]), 4) == [2, 2, 4]
    assert cut(np.array([-3, -5]), 3) == [0, 0]


def test_it_spends_one_epsilon_for_all_columns() -> None:
    task = task_of(("age", "weight"), epsilon=0.5)
    assert sum(loss.epsilon for loss in task.disclosure.spends) == Fraction(1, 2)  # type: ignore[attr-defined]
    assert task.guarantee == (0.5, 0.0)
    assert task_of(exact=True).disclosure.spends == ()
    assert task_of(exact=True).disclosure.opened([1] * 9) == {"group where an edge is": 9}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"numeric": ("sex",)}, "numeric: an edge needs bounds"),
        ({"numeric": ("old",)}, "numeric: 'old' is not an attribute"),
        ({"numeric": ("age", "age")}, "numeric: name each column once"),
        ({"numeric": None}, "--numeric is missing"),
    ],
)
def test_what_cannot_be_asked_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        task_of(**change)


def test_a_schema_takes_the_edges(tmp_path: Path) -> None:
    SCHEMA.save(tmp_path / "old.toml")
    document = {"edges": [{"column": "age", "edges": [21, 40]}, {"column": "weight", "edges": [60.5]}], "parts": 3}
    (tmp_path / "edges.json").write_text(json.dumps(document))
    files = ["--schema", str(tmp_path / "old.toml"), "--edges", str(tmp_path / "edges.json")]
    result = CliRunner().invoke(cli, ["schema", *files, "--out", str(tmp_path / "new.toml")])
    assert result.exit_code == 0, result.output
    new = schemas.load(tmp_path / "new.toml")
    assert new.attributes["age"] == Domain(IntegerType(low=0, high=110, edges=(21, 40), missing=True))
    assert new.attributes["weight"] == Domain(RealType(low=0, high=100, step=0.5, edges=(60.5,)))
    assert new.target == "sex"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", "no edges"),
        ('{"edges": [{"column": "sex", "edges": [1]}]}', "'sex' is not an integer or real column"),
        ('{"edges": [{"column": "size", "edges": [1]}]}', "no attribute 'size'"),
        (
            '{"edges": [{"column": "age", "edges": []}]}',
            "nearly all rows have one value; remove its entry",
        ),
        ('{"edges": [{"column": "age", "edges": [7, 3]}]}', "must increase"),
        ('{"edges": [{"column": "age", "edges": "x"}]}', "edges"),
    ],
)
def test_edges_that_do_not_fit_are_named(content: str, message: str, tmp_path: Path) -> None:
    SCHEMA.save(tmp_path / "old.toml")
    (tmp_path / "edges.json").write_text(content)
    files = ["--schema", str(tmp_path / "old.toml"), "--edges", str(tmp_path / "edges.json")]
    result = CliRunner().invoke(cli, ["schema", *files, "--out", str(tmp_path / "new.toml")])
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)
    assert not (tmp_path / "new.toml").exists()
