"""Rows in pieces: whatever the engine, the spelling, the size of a piece and the order of rows, sums are the same."""

from __future__ import annotations

import csv
import math
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import sqlglot
import sqlglot.expressions as exp
from hypothesis import given, settings
from hypothesis import strategies as st

from parties.jobs.inputs import Inputs
from parties.jobs.kinds.cluster import Cluster
from parties.jobs.kinds.regress.joint import RegressJoint
from parties.jobs.kinds.release.marginals import Marginals
from parties.sources import queried
from parties.sources.databases import Scratch
from parties.sources.mapping import rules
from parties.sources.opening import open_table
from parties.sources.settings import ColumnSettings, TableSettings
from parties.sources.source import Source
from parties.tables.schema import Schema
from parties.tables.types import Domain, read_type
from protocols import counts as protocol
from protocols.bootstrap import Bootstrapped
from protocols.counts import RowCounts
from protocols.holdout import parted
from protocols.regression.losses import Logistic
from protocols.tree import Open
from smc.errors import InputError
from tests.support.agreement import merged

REAL = {"type": "real", "low": -1, "high": 2.5, "step": 0.125, "missing": True}
AGES = {"type": "integer", "low": 18, "high": 90}
SCHEMA = Schema(
    {"bmi": Domain(read_type(REAL)), "age": Domain(read_type(AGES)), "sex": ("m", "f"), "y": ("no", "yes")}, "y"
)
CELLS = st.tuples(
    st.one_of(st.none(), st.just(math.nan), st.integers(-20, 60).map(lambda n: n / 16), st.floats(-1e6, 1e6)),
    st.integers(10, 99),
    st.sampled_from("mf"),
    st.sampled_from(["no", "yes"]),
)
ROWS = st.lists(CELLS, max_size=40)


def reference(rows: list[Any]) -> RowCounts:
    """The rows as indices, cell by cell by the rule as it is written."""
    bmi, age = rules({}, SCHEMA, ["bmi", "age"])
    assert bmi.ranges is not None
    assert age.ranges is not None
    table = [
        [
            bmi.missing if x is None or math.isnan(x) else bmi.ranges.place(x),
            age.ranges.place(years),
            "mf".index(sex),
        ]
        for x, years, sex, _ in rows
    ]
    labels = [["no", "yes"].index(row[3]) for row in rows]
    sizes = [len(SCHEMA.attributes[name]) for name in ("bmi", "age", "sex")]
    return RowCounts(sizes, 2, np.array(table, dtype=np.int64).reshape(-1, 3), np.array(labels, dtype=np.int64))


def write(folder: Path, rows: list[Any], kind: str) -> Path:
    path = folder / f"rows.{'csv' if kind == 'csv' else 'parquet'}"
    if path.suffix == ".csv":
        with path.open("w", encoding="utf-8", newline="") as stream:
            lines = csv.writer(stream)
            lines.writerow(SCHEMA.attributes)
            lines.writerows(["?" if x is None or math.isnan(x) else f"{x:.20f}", *rest] for x, *rest in rows)
        return path
    names, columns = list(SCHEMA.attributes), [*zip(*rows, strict=True)] or [()] * 4
    kinds = [pyarrow.float64(), pyarrow.int32() if kind == "parquet" else pyarrow.float32(), *[pyarrow.string()] * 2]
    arrays = [pyarrow.array(column, of, from_pandas=False) for column, of in zip(columns, kinds, strict=True)]
    pyarrow.parquet.write_table(pyarrow.table(arrays, names), path, row_group_size=7)
    return path


@contextmanager
def opened(rows: list[Any], kind: str, max_rows: int = 100, **more: Any) -> Iterator[Source]:
    with tempfile.TemporaryDirectory() as folder:
        table = TableSettings(
            source=str(write(Path(folder), rows, kind)), schema=Path("s.toml"), max_rows=max_rows, **more
        )
        with open_table(table, SCHEMA, "y", streamed=True) as found:
            yield found


def patched(piece: int, held: int, few: int) -> pytest.MonkeyPatch:
    patch = pytest.MonkeyPatch()
    patch.setattr(queried, "PIECE", piece)
    patch.setattr(protocol, "BATCH", piece)
    patch.setattr(protocol, "HELD", held)
    patch.setattr(queried, "FEW", few)
    return patch


def task(kind: Any, **fields: Any) -> Any:
    return kind.canonical(kind.Settings.model_validate({"epsilon": 1.0, "max_rows": 100, **fields}), SCHEMA)


REGRESS = task(RegressJoint, target="y", numeric=("bmi", "age"))
CLUSTER = task(Cluster, columns=("bmi", "age"), bounds=("-1:2", "20:80"), k=3, method="in-process", where="sex = m")
GRID = task(Cluster, columns=("bmi", "age"), bounds=("-1:2", "20:80"), k=3, parts=5)
PAIRS = task(Marginals, ways=2, delta=1e-7, where="bmi != '?'")
SQUARES = task(RegressJoint, target="age", numeric=("bmi",), method="least-squares", delta=1e-7)
CENTROIDS = np.array([[-1024, 0], [3, 5], [700, -700]] + [[i, -i] for i in range(40)])


EDGES = [-2.5, 0, 0.1, 7]


@given(st.lists(st.one_of(st.floats(), st.sampled_from(EDGES)), max_size=20), st.booleans())
def test_numbers_between_edges_are_placed_as_one_by_one(numbers: list[float], missing: bool) -> None:
    """Typed columns, and lists of categories with edges of one's own."""
    typed = Domain(read_type({"type": "real", "low": -9, "high": 9, "edges": EDGES, "missing": missing}))
    listed = tuple("edcba") + ("?",) * missing
    schema = Schema({"typed": typed, "listed": listed})
    settings = {"listed": ColumnSettings.model_validate({"edges": EDGES})}
    for rule in rules(settings, schema, ["typed", "listed"]):
        assert rule.takes_numbers
        assert rule.ranges is not None
        places = np.full(len(numbers), 77)
        rule.place(np.array(numbers, dtype=np.float64), places)
        none = rule.missing if missing else -1
        assert places.tolist() == [none if math.isnan(x) else rule.ranges.place(x) for x in numbers]


class Ordered:
    """Rows with the columns in the order of a task."""

    def __init__(self, rows: Any, made: Any) -> None:
        self._rows = rows
        names = [*made.schema.features(made.target), made.target]
        self._places = [list(SCHEMA.attributes).index(name) for name in names]

    def batches(self) -> Iterator[Any]:
        for lines in self._rows.batches():
            yield lines[:, [*self._places, -1]]


def sums(rows: Any) -> list[Any]:
    """What parties bring to each kind of job, by these rows."""
    own = REGRESS.own_rows(Ordered(rows, REGRESS))
    slopes = () if own is None else own.slopes(REGRESS.settings.objective, np.linspace(-1, 1, 5), REGRESS.method.clip)
    number = None if own is None else own.total
    clusters = CLUSTER.own_rows(Ordered(rows, CLUSTER))
    tables = [GRID.own_rows(Ordered(rows, GRID)), PAIRS.own_rows(Ordered(rows, PAIRS))]
    return [[*slopes], number, *(clusters(CENTROIDS[:many]).tolist() for many in (3, 43)), *map(list, tables)]


@settings(max_examples=60, deadline=None)
@given(
    ROWS,
    st.sampled_from(["parquet", "float32", "csv"]),
    st.sampled_from([1, 3, 1000]),
    st.sampled_from([0, 1 << 20]),
    st.sampled_from([0, 1 << 20]),
    st.randoms(use_true_random=False),
)
def test_pieces_are_the_rows(rows: list[Any], kind: str, piece: int, held: int, few: int, order: Any) -> None:
    expected = reference(rows)
    known = sums(expected)
    order.shuffle(rows)
    patch = patched(piece, held, few)
    try:
        with opened(rows, kind) as found:
            assert found.check() == len(rows)
            for _ in range(2):  # a pass from the engine, and perhaps one from memory
                assert merged(found.batches()) == sorted(expected.distinct().tolist())
            assert sums(found) == known
    finally:
        patch.undo()


@settings(max_examples=20, deadline=None)
@given(ROWS.filter(bool), CELLS)
def test_the_fingerprint_is_of_the_rows(rows: list[Any], other: Any) -> None:
    """Equal in any engine, order and pieces; another for a row that is another, more or less."""
    prints = []
    cases: list[tuple[str, int, list[Any]]] = [("parquet", 3, rows), ("csv", 1000, rows[::-1]), ("float32", 2, rows)]
    changed = [*rows[1:], other]
    for kind, piece, some in [*cases, ("parquet", 3, changed), ("parquet", 3, [*rows, other]), ("csv", 5, rows[1:])]:
        patch = patched(piece, 0, 0)
        with opened(some, kind) as found:
            prints.append(found.fingerprint_of_rows(b"key"))
            assert found.fingerprint_of_rows(b"key") == prints[-1] != found.fingerprint_of_rows(b"other")
        patch.undo()
    assert prints[0] == prints[1] == prints[2]
    as_indices = [sorted(reference(some).distinct().tolist()) for some in (rows, changed)]
    assert (prints[3] == prints[0]) == (as_indices[0] == as_indices[1])
    assert prints[0] not in prints[4:]


def test_a_change_that_marginal_counts_do_not_show_is_noticed() -> None:
    one = [(0.5, 20, "m", "no"), (1.0, 30, "f", "no")]
    other = [(0.5, 30, "m", "no"), (1.0, 20, "f", "no")]
    prints = []
    for rows in (one, other):
        with opened(rows, "parquet") as found:
            prints.append((found.fingerprint(b"key"), found.fingerprint_of_rows(b"key")))
    assert prints[0][0] == prints[1][0]
    assert prints[0][1] != prints[1][1]


def test_lines_and_draws_depend_on_the_rows_alone(tmp_path: Path) -> None:
    """A resumed run draws the same rows, although DuckDB's threads group rows in any order."""
    sizes = {"a": 70, "b": 60, "y": 50}
    schema = Schema({name: tuple(map(str, range(size))) for name, size in sizes.items()}, "y")
    cells = ", ".join(
        f"(hash(i * 7 + {at}) % {size})::VARCHAR AS {name}" for at, (name, size) in enumerate(sizes.items())
    )
    found = []
    for name, threads, order in (("first", 1, "i"), ("second", 4, "hash(i)")):
        path = tmp_path / f"{name}.parquet"
        with duckdb.connect() as database:
            query = f"SELECT {cells} FROM range(100000) AS numbers(i) ORDER BY {order}"
            database.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 20000)")
        table = TableSettings(source=str(path), schema=Path("s"), max_rows=100_000, threads=threads)
        with open_table(table, schema, "y") as source:
            lines = [*source.lines()]
            parts = parted([70, 60], 50, source, 0.3, b"key")
            drawn = Bootstrapped([70, 60], 50, source, 2, b"key").level((Open(), Open()), attributes=True)
            levels = [*(part.level(Open(), attributes=True) for part in parts), drawn, drawn.distinct]
            found.append([np.concatenate(lines), *(level.values[0] for level in levels if level is not None)])
    assert len(lines) > 1
    rows = found[0][0]
    assert np.array_equal(rows, rows[np.lexsort(rows[:, -2::-1].T)])
    assert all(np.array_equal(one, other) for one, other in zip(*found, strict=True))
    assert [int(table.sum()) for table in found[0][1:4]] == [70_000, 30_000, 200_000]


def test_rows_that_are_not_fit_are_refused() -> None:
    rows = [(0.5, 20, "m", "no"), (1.0, None, "f", "no")]
    patch = patched(1, 0, 0)
    with opened(rows, "parquet") as found, pytest.raises(InputError, match="column 'age': no value"):
        next(iter(found.batches()))
    with opened(rows[:1] * 5, "parquet", max_rows=4) as found, pytest.raises(InputError, match="more than 4"):
        found.check()
    with opened(rows[:1], "parquet", least_rows=2) as found, pytest.raises(InputError, match="fewer than 2"):
        found.check()
    patch.undo()


def test_rows_that_change_are_noticed(tmp_path: Path) -> None:
    patch = patched(1, 0, 0)
    path = write(tmp_path, [(0.5, 20, "m", "no")], "parquet")
    with open_table(TableSettings(source=str(path), schema=Path("s"), max_rows=3), SCHEMA, "y", streamed=True) as found:
        found.check()
        write(tmp_path, [(0.5, 20, "m", "perhaps")], "parquet")
        with pytest.raises(InputError, match="changed while they were read"):
            list(found.batches())
        write(tmp_path, [(0.5, 20, "m", "no")] * 4, "parquet")
        with pytest.raises(InputError, match="more than 3"):
            list(found.batches())
    patch.undo()


class Changing:
    """A source whose rows are others in the first pass than when their digest is made."""

    def __init__(self, first: RowCounts) -> None:
        self.batches = first.batches

    def fingerprint_of_rows(self, key: bytes) -> bytes:
        return key


@pytest.mark.parametrize("task", [PAIRS, GRID, SQUARES])
def test_the_digest_is_of_the_numbers_that_are_brought(task: Any) -> None:
    """What a session that goes on compares is what it adds to, not only the rows of another pass."""

    def digest(other: int) -> bytes:
        values = {"bmi": 3 + 9 * other, "age": 4, "sex": 0, "y": 0}
        *features, target = [*task.schema.features(task.target), task.target]
        sizes = [len(task.schema.attributes[name]) for name in (*features, target)]
        line = np.array([[values[name] for name in features]])
        rows = RowCounts(sizes[:-1], sizes[-1], line, np.array([values[target]]))

        class Fake(Inputs):
            @contextmanager
            def counts(self, *_: Any, **__: Any) -> Iterator[Any]:
                yield Changing(rows)

        with task.open(Fake()) as opened:
            return bytes(opened.fingerprint(b"key"))

    assert digest(0) == digest(0)
    assert digest(0) != digest(1)


def test_what_is_small_is_read_once(tmp_path: Path) -> None:
    path = write(tmp_path, [(0.5, 20, "m", "no")] * 3, "parquet")
    patch = patched(2, 1 << 20, 0)
    with open_table(TableSettings(source=str(path), schema=Path("s")), SCHEMA, "y", streamed=True) as found:
        found.check()
        path.unlink()
        assert sum(int(lines[:, -1].sum()) for lines in found.batches()) == 3
    patch.undo()


def test_slopes_of_a_stream_are_those_of_all_rows() -> None:
    """Against one matrix of all rows, made at once."""
    rng = np.random.default_rng(5)
    table = np.column_stack([rng.integers(29, size=500), rng.integers(73, size=500), rng.integers(2, size=500)])
    rows = RowCounts([29, 73, 2], 2, table, rng.integers(2, size=500))
    patch = patched(64, 0, 0)
    found = REGRESS.own_rows(rows)
    from parties.jobs.regress.reading import rows_of

    expected = rows_of(rows, REGRESS.method.space)
    weights = rng.normal(size=expected.features.number)
    assert found.total == expected.total == 500
    assert found.slopes(Logistic(), weights, 9000).tolist() == expected.slopes(Logistic(), weights, 9000).tolist()
    patch.undo()


def test_a_pass_that_is_given_up_leaves_the_engine_free() -> None:
    """Pieces are read ahead: what was read for nobody must not come with the next question, nor hold it up."""
    engine = Scratch("here", "200MB", 1)
    numbers = sqlglot.parse_one("SELECT range AS i FROM range(1000000)", dialect="duckdb")
    assert isinstance(numbers, exp.Query)
    before = threading.active_count()
    for _ in range(3):
        pieces = engine.batches(numbers)
        assert next(pieces).column("i")[0].as_py() == 0
        pieces.close()  # type: ignore[attr-defined]
        assert engine.counts(exp.Select().select(exp.convert(7))).tolist() == [[7]]
    assert threading.active_count() == before
    assert sum(len(piece) for piece in engine.batches(numbers)) == 1_000_000
    wrong = sqlglot.parse_one(
        "SELECT CASE WHEN range = 900000 THEN error('bad row') ELSE range END AS i FROM range(1000000)",
        dialect="duckdb",
    )
    assert isinstance(wrong, exp.Query)
    with pytest.raises(InputError, match=r"here: .*bad row"):
        list(engine.batches(wrong))
    engine.close()
