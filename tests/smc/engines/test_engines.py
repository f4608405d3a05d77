"""Every engine evaluates any circuit on any batch; and opens nothing but what it is told to."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from smc.agreement import DIGEST_BYTES
from smc.channel import memory_pair
from smc.circuit import Builder, Netlist, evaluate, load
from smc.circuit.library import aes128, bits_to_octets, initial_state, octets_to_bits, sha256_compression
from smc.engines import Engine, XorSharedEngine, make_engine
from smc.primitives import bits as bitpack
from smc.session import Session
from smc.yao import walk

pytestmark = pytest.mark.slow

ENGINES = ["clear", "yao", "yao three-halves", "gmw", "mixed", "lean"]
ROWS = walk.ROWS
SIZES = [0, 1, 127, 128, 129, 1000]


def everything() -> Netlist:
    """Adds, multiplies, compares, and passes an input and constants through."""
    builder = Builder()
    x, y = builder.input(9), builder.input(7)
    builder.output(x + y)
    builder.output(x * y)
    builder.output([x < y, x == y])
    builder.output([*x, builder.constant(1, 1)[0], builder.constant(0, 1)[0], ~y[0]])
    return builder.build()


def two_inputs(netlist: Netlist, values: list[np.ndarray]) -> Any:
    """Party 0 has the first input, party 1 the second; all outputs opened."""

    def program(engine: Engine) -> list[np.ndarray]:
        inputs = [
            engine.input(owner, bits if engine.party == owner else None, *bits.shape)
            for owner, bits in enumerate(values)
        ]
        return engine.reveal(*engine.run(netlist, *inputs))

    return program


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize("batch", SIZES)
def test_arithmetic_on_every_batch_size(play, name: str, batch: int) -> None:
    rng = np.random.default_rng(batch)
    x, y = rng.integers(0, 512, batch), rng.integers(0, 128, batch)
    values = [bitpack.from_integers(x, 9), bitpack.from_integers(y, 7)]
    total, product, compared, passed = play(two_inputs(everything(), values), name).agreed
    assert bitpack.to_integers(total) == ((x + y) % 512).tolist()
    assert bitpack.to_integers(product) == (x * y).tolist()
    assert compared.tolist() == [(x < y).astype(int).tolist(), (x == y).astype(int).tolist()]
    assert np.array_equal(passed[:9], values[0])
    assert np.array_equal(passed[9:], np.stack([np.ones(batch), np.zeros(batch), 1 - values[1][0]]))


@pytest.mark.parametrize(
    ("name", "ot"), [("yao", "trapdoor"), ("gmw", "trapdoor"), ("gmw table", "extension"), ("gmw table", "trapdoor")]
)
def test_any_ot_serves_both_engines(play, name: str, ot: str) -> None:
    builder = Builder()
    builder.output(builder.input(3) * builder.input(3))
    x, y = np.array([7, 0, 5]), np.array([7, 3, 6])
    values = [bitpack.from_integers(x, 3), bitpack.from_integers(y, 3)]
    (product,) = play(two_inputs(builder.build(), values), name, ot).agreed
    assert bitpack.to_integers(product) == (x * y).tolist()


# FIPS-197, appendices B and C.1.
AES = [
    ("2b7e151628aed2a6abf7158809cf4f3c", "3243f6a8885a308d313198a2e0370734", "3925841d02dc09fbdc118597196a0b32"),
    ("000102030405060708090a0b0c0d0e0f", "00112233445566778899aabbccddeeff", "69c4e0d86a7b0430d8cdb78070b4c55a"),
]


def octets(rows: list[str]) -> np.ndarray:
    return np.array([list(bytes.fromhex(row)) for row in rows], dtype=np.uint8)


@pytest.mark.parametrize("name", ["yao", "gmw"])
@pytest.mark.parametrize("source", ["own", "bristol"])
def test_aes(play, request: pytest.FixtureRequest, name: str, source: str) -> None:
    step = 1
    netlist = aes128()
    if source == "bristol":
        netlist = load(request.getfixturevalue("shared") / "circuits" / "aes_128.txt")
        step = -1  # that file counts a block's bits from its last byte
    keys, plain, cipher = (octets([case[i] for case in AES]) for i in range(3))
    values = [octets_to_bits(part[:, ::step]) for part in (keys, plain)]
    (result,) = play(two_inputs(netlist, values), name).agreed
    assert np.array_equal(bits_to_octets(result)[:, ::step], cipher)


@pytest.mark.parametrize("name", ["yao", "gmw"])
@pytest.mark.parametrize("source", ["own", "bristol"])
def test_sha256_compression(play, request: pytest.FixtureRequest, name: str, source: str) -> None:
    step = 1
    netlist = sha256_compression()
    if source == "bristol":
        netlist = load(request.getfixturevalue("shared") / "circuits" / "sha256.txt")
        step = -1
    block = b"abc\x80" + bytes(52) + (24).to_bytes(8, "big")
    parts = [np.frombuffer(part, dtype=np.uint8)[None, ::step] for part in (block, initial_state())]
    (result,) = play(two_inputs(netlist, [octets_to_bits(part) for part in parts]), name).agreed
    assert bits_to_octets(result)[0, ::step].tobytes() == hashlib.sha256(b"abc").digest()


@pytest.mark.parametrize("name", ["yao", "gmw"])
@pytest.mark.parametrize(
    ("file", "truth"),
    [
        ("adder64.txt", lambda x, y: (x + y) % 2**64),
        ("mult64.txt", lambda x, y: x * y % 2**64),
        ("zero_equal.txt", lambda x: int(x == 0)),
    ],
)
def test_bristol_files(play, shared: Path, name: str, file: str, truth: Any) -> None:
    netlist = load(shared / "circuits" / file)
    rng = np.random.default_rng(5)
    columns = [[0, 2**64 - 1, int(rng.integers(0, 2**63))] for _ in netlist.input_widths]
    values = [bitpack.from_integers(column, 64) for column in columns]
    (result,) = play(two_inputs(netlist, values), name).agreed
    assert bitpack.to_integers(result) == [truth(*row) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("name", ENGINES)
def test_secrets_flow_from_one_circuit_into_the_next(play, name: str) -> None:
    builder = Builder()
    builder.output(builder.input(8) + builder.input(8))
    adder = builder.build()

    def program(engine: Engine) -> list[int]:
        x = np.array([1, 2, 3], dtype=np.uint64)
        mine = engine.input(0, bitpack.from_integers(x, 8) if engine.party == 0 else None, 8, 3)
        public = engine.constant(bitpack.from_integers(np.array([10, 20, 30]), 8))
        (first,) = engine.run(adder, mine, public)
        (second,) = engine.run(adder, first.take(np.array([2, 2, 0])), first.take(slice(None)))
        return bitpack.to_integers(engine.reveal(second)[0])

    assert play(program, name).agreed == [33 + 11, 33 + 22, 11 + 33]


@pytest.mark.parametrize("name", ["yao", "gmw"])
def test_shares_of_an_output_are_shares(play, name: str) -> None:
    builder = Builder()
    builder.output(builder.input(4) * builder.input(4))
    values = [bitpack.from_integers(np.arange(16), 4), bitpack.from_integers(np.arange(16)[::-1], 4)]

    def program(engine: Engine) -> np.ndarray:
        inputs = [engine.input(i, bits if engine.party == i else None, 4, 16) for i, bits in enumerate(values)]
        return engine.shares(engine.run(builder.build(), *inputs)[0])

    left, right = play(program, name).results
    assert bitpack.to_integers(left ^ right) == [i * (15 - i) for i in range(16)]


def test_wrong_inputs_are_a_programming_error(play) -> None:
    with pytest.raises(ValueError, match="widths"):
        play(lambda engine: engine.run(everything(), engine.constant(np.zeros((9, 1), np.uint8))), "clear")


@pytest.mark.parametrize("name", ENGINES)
@pytest.mark.parametrize(
    ("owner", "bits", "message"),
    [
        (0, np.full((2, 1), 3, np.uint8), "0 and 1"),
        (0, np.zeros((1, 2), np.uint8), "shape"),
        (0, None, "must pass bits"),
        (1, np.zeros((2, 1), np.uint8), "only for those"),
    ],
)
def test_bad_inputs_are_a_programming_error(play, name: str, owner: int, bits: Any, message: str) -> None:
    def program(engine: Engine) -> None:
        if engine.party == 0:
            engine.input(owner, bits, 2, 1)

    with pytest.raises(ValueError, match=message):
        play(program, name)


def test_a_session_runs_one_engine() -> None:
    session = Session(0, memory_pair()[0], bytes(32))
    make_engine(session, "yao")
    with pytest.raises(ValueError, match="engine already"):
        make_engine(session, "gmw")
    make_engine(session.branch("another"), "gmw")


def test_both_meters_agree_and_count_gates(play) -> None:
    values = [bitpack.from_integers(np.arange(100), 9), bitpack.from_integers(np.arange(100), 7)]
    for name in ("yao", "gmw"):
        run = play(two_inputs(everything(), values), name)
        one, two = (meter.total for meter in run.meters)
        assert one.bytes_sent == two.bytes_received == sum(len(data) for _, data in run.recorders[0].sent)
        assert one.bytes_received == two.bytes_sent
        assert one.and_gates == two.and_gates == 100 * everything().and_count


@pytest.mark.parametrize(("name", "row"), [("yao", 32), ("yao three-halves", 25)])
def test_what_a_gate_costs_and_that_garbler_inputs_cost_nothing(play, name: str, row: int) -> None:
    values = [bitpack.from_integers(np.arange(100), 9), bitpack.from_integers(np.arange(100), 7)]
    run = play(two_inputs(everything(), values), name)
    sizes: dict[str, int] = {}
    for step, data in run.recorders[0].sent:
        sizes[step] = sizes.get(step, 0) + len(data)
    assert sizes.pop("yao.tables") == DIGEST_BYTES + row * 100 * everything().and_count
    assert set(sizes) == {"ot0.base.base.points", "reveal"}


def test_a_triple_costs_two_ots_and_a_star_or_gate_two_bits(play) -> None:
    values = [bitpack.from_integers(np.arange(800), 9), bitpack.from_integers(np.arange(800) % 128, 7)]
    netlist = everything()
    stars = len(netlist.stars.centres)
    assert stars < netlist.and_count
    run = play(two_inputs(netlist, values), "gmw", "iknp")
    for recorder, base in zip(run.recorders, (0, 128), strict=True):  # party 1's base OTs are OTs of this direction
        opened = sum(len(data) for step, data in recorder.sent if step == "gmw.open")
        assert opened == 800 * (netlist.and_count + stars) // 8
        matrices = [len(data) for step, data in recorder.sent if step.endswith("matrix")]
        checks = len(matrices) * (128 * 16 + 48)
        assert sum(matrices) == 16 * (base + 800 * stars) + checks


def test_gmw_rounds_are_the_circuits_depth(play) -> None:
    values = [bitpack.from_integers(np.arange(3), 9), bitpack.from_integers(np.arange(3), 7)]
    run = play(two_inputs(everything(), values), "gmw")
    assert sum(step == "gmw.open" for step, _ in run.recorders[0].sent) == everything().depth


@pytest.mark.parametrize("name", ["yao", "yao three-halves"])
@pytest.mark.parametrize("batch", [1, 3, 4097, ROWS + 1])
def test_every_chunking_of_the_tables_is_right(play, monkeypatch: pytest.MonkeyPatch, batch: int, name: str) -> None:
    monkeypatch.setattr(walk, "LIVE_LABELS", 600 if batch < 5000 else 1 << 30)  # many small chunks, or huge ones
    monkeypatch.setattr(walk, "ROWS", 1000 if batch < 5000 else ROWS)  # pieces that end within a layer
    rng = np.random.default_rng(batch)
    values = [rng.integers(0, 2, (width, batch)).astype(np.uint8) for width in everything().input_widths]
    found = play(two_inputs(everything(), values), name).agreed
    for got, expected in zip(found, evaluate(everything(), values), strict=True):
        assert np.array_equal(got, expected)


@pytest.mark.parametrize("name", ENGINES)
def test_inputs_of_different_batches_are_refused(play, name: str) -> None:
    def program(engine: Engine) -> None:
        netlist = everything()
        x, y = (np.zeros((width, batch), dtype=np.uint8) for width, batch in ((9, 100), (7, 1)))
        inputs = [engine.input(0, part if engine.party == 0 else None, *part.shape) for part in (x, y)]
        with pytest.raises(ValueError, match=r"batches of different sizes: \[1, 100\]"):
            engine.run(netlist, *inputs)

    play(program, name)


def test_the_clear_engine_opens_what_both_know_by_a_digest_alone(play) -> None:
    def program(engine: Engine) -> Any:
        assert not isinstance(engine, XorSharedEngine)
        return engine.reveal(engine.constant(np.eye(3, dtype=np.uint8)), engine.constant(np.zeros((2, 0), np.uint8)))

    run = play(program, "clear")
    identity, empty = run.agreed
    assert (identity.tolist(), empty.shape) == (np.eye(3).tolist(), (2, 0))
    assert [meter.total.bits_opened for meter in run.meters] == [9, 9]
    sizes = [[(step, len(data)) for step, data in recorder.sent] for recorder in run.recorders]
    assert sizes == [[("clear.same", DIGEST_BYTES)]] * 2
