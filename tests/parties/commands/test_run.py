"""`smc run`: a program of one's own with the peer's, in two processes; what is wrong with it is one line."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from parties.jobs.small.programs import public_arguments
from smc.errors import InputError
from tests.support.processes import Processes
from tests.support.refused import refused

PROGRAMS = """
from collections.abc import Sequence

import numpy as np
from protocols.equality import equal
from smc.circuit import Builder


def compared(engine, values, width):
    found = equal(engine, values, width)
    return {"equal": found, "how many": found.sum(), "width": width}


def listed(engine, *values):
    return [engine.party, *values]


def larger_by(engine, values, margin, width=16):
    builder = Builder(engine.form)
    x, y = builder.input(width), builder.input(width)
    builder.output([x > y.wide_add(margin)])
    own = np.array([[value >> bit & 1 for value in values] for bit in range(width)], dtype=np.uint8)
    return engine.reveal(*engine.run(builder.build(), *engine.both(own)))[0].tolist()


def hinted(engine, values: Sequence[int], margin: "int"):
    return larger_by(engine, values, margin)


def unkeyed(engine):
    return {(1, 2): 3}


def fails(engine, value):
    raise ValueError(f"cannot use\\nthis {value}")


number = 5
"""


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    started = Processes(tmp_path)
    (tmp_path / "mine.py").write_text(PROGRAMS)
    (tmp_path / "broken.py").write_text("import no_such_module\n")
    yield started
    started.stop()


def test_both_get_the_result(processes: Processes) -> None:
    common = ["run", "mine:compared"]
    zero, one = processes.pair([*common, "5,7,9", 8, "--json"], [*common, "5,8,9", 8, "--json"])
    assert (zero.code, one.code) == (0, 0), zero.err + one.err
    first, second = json.loads(zero.out), json.loads(one.out)
    assert first["result"] == second["result"] == {"equal": [True, False, True], "how many": 2, "width": 8}
    assert first["cost"]["bytes_sent"] == second["cost"]["bytes_received"] > 0
    assert first["cost"]["bits_opened"] == 3


def test_the_result_as_text_by_the_engine_that_is_chosen(processes: Processes) -> None:
    """Arguments are read as Python reads them, and a program so small is settled without a measurement."""
    common = ["run", "mine:listed", "--engine", "auto"]
    zero, one = processes.pair([*common, "1,2", "word", 0.5, "-20", "-1,2", "-.5"], [*common, "7"])
    assert (zero.code, one.code) == (0, 0), zero.err + one.err
    assert (zero.out, one.out) == ("[0, [1, 2], 'word', 0.5, -20, [-1, 2], -0.5]\n", "[1, 7]\n")
    assert "engine auto" not in zero.err


def test_different_programs_are_exit_4_on_both_sides(processes: Processes) -> None:
    done = processes.pair(["run", "mine:listed"], ["run", "mine:compared", "5", 8, "--engine", "gmw"])
    for one in done:
        assert one.code == 4
        assert "mine:listed" in one.message
        assert "mine:compared" in one.message
        assert one.out == ""


def test_a_program_that_fails_ends_the_peers_too(processes: Processes) -> None:
    """Its party sees its error, in a line; the peer learns that there was one and nothing of it."""
    zero, one = processes.pair(["run", "mine:fails", "4711"], ["run", "mine:fails", "4712"])
    for done, own, other in ((zero, "4711", "4712"), (one, "4712", "4711")):
        assert other not in done.err
        assert "internal error, please report" not in done.err
        if done.code == 2:
            assert done.message == f"smc: mine:fails failed: ValueError: cannot use this {own}"
        else:  # the peer was quicker
            assert done.code == 3
            assert "an error in its own input" in done.message
    assert 2 in (zero.code, one.code)


def test_a_single_value_for_a_list_without_a_hint(processes: Processes) -> None:
    for done in processes.pair(["run", "mine:larger_by", "5", "6"], ["run", "mine:larger_by", "7", "6"]):
        assert done.code == 2
        assert done.message.endswith("'int' object is not iterable; a list of one value needs a comma: 5,")


def test_what_json_has_no_words_for(processes: Processes) -> None:
    for done in processes.pair(["run", "mine:unkeyed", "--json"], ["run", "mine:unkeyed", "--json"]):
        assert (done.code, done.out) == (2, "")
        assert done.message.startswith("smc: --json: the result cannot be written as JSON: ")


def test_values_of_different_number_are_an_error_at_both(processes: Processes) -> None:
    common = ["run", "mine:compared"]
    zero, one = processes.pair([*common, "5,7,9", 8], [*common, "5,7", 8])
    for done in (zero, one):
        assert done.code == 4
        assert "the numbers of values or their bits differ" in done.message
        assert "batch" not in done.message
        assert done.out == ""


def test_public_arguments_are_the_same_at_both(processes: Processes) -> None:
    common = ["run", "mine:larger_by", "--engine", "yao"]
    zero, one = processes.pair([*common, "50,50,7", "20"], [*common, "10,45,9", "28"])
    assert (zero.code, one.code) == (4, 4), zero.err + one.err
    assert "arguments.margin: ours 20, peer's 28" in zero.message
    assert "arguments.margin: ours 28, peer's 20" in one.message
    assert zero.out + one.out == ""


@pytest.mark.parametrize("engine", ["yao", "gmw", "mixed"])
def test_a_margin_named_as_ones_own_is_seen_in_the_circuit(processes: Processes, engine: str) -> None:
    common = ["run", "mine:larger_by", "--engine", engine, "--own", "margin"]
    for done in processes.pair([*common, "50,50,7", "5"], [*common, "10,45,9", "7"]):
        assert (done.code, done.out) == (4, "")
        assert "circuits or public numbers differ" in done.message


def test_which_arguments_are_public() -> None:
    def program(engine: object, values: object, margin: int, note: str = "", *more: object) -> None:
        del engine, values, margin, note, more

    given = [[1], 20, "x" * 2000, 4, 5]
    found = public_arguments(program, given, [])
    assert (found["margin"], len(found)) == (20, 2)
    assert found["note"].startswith("2000 characters of SHA-256 ")
    assert public_arguments(program, given, ["note"]) == {"margin": 20}
    assert public_arguments(program, [[1], 0.5], []) == {"margin": 0.5}
    assert public_arguments(program, [[1], float("nan")], []) == {"margin": "nan"}
    with pytest.raises(InputError, match="--own: the program has no argument 'nots'"):
        public_arguments(program, given, ["nots"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Missing argument 'MODULE:FUNCTION'"),
        (["mine"], "the program 'mine' must be MODULE:FUNCTION, such as protocols.equality:equal"),
        (["mine:"], "must be MODULE:FUNCTION"),
        ([":listed"], "must be MODULE:FUNCTION"),
        (["no_such_module:f"], "no_such_module cannot be loaded: ModuleNotFoundError: No module named"),
        (["broken:f"], "broken cannot be loaded: ModuleNotFoundError"),
        (["mine:lisred"], "mine has no function 'lisred' (did you mean 'listed'?)"),
        (["mine:number"], "mine has no function 'number'"),
        (["mine:listed", "-5", "--engin", "yao"], "No such option '--engin'"),
        (["mine:listed", "-five"], "No such option '-f'"),
        (
            ["mine:compared", "5"],
            "the program's arguments: missing a required argument: 'width'; its parameters: values, width",
        ),
        (
            ["mine:hinted", "5,", "6", "7"],
            "too many positional arguments; its parameters: values, margin",
        ),
        (["mine:hinted", "5", "6"], "argument values: 5 is one value, but the program takes a list; add a comma: 5,"),
        (
            ["protocols.equality:equal", "-5", "8"],
            "argument values: -5 is one value, but the program takes a list; add a comma: -5,",
        ),
        (["mine:listed", "--engine", "none"], "Invalid value for '--engine'"),
        (["mine:listed", "--engine", "auto", "--ot", "ferret"], "engine auto chooses ot"),
        (["mine:listed"], "--listen HOST:PORT"),
    ],
    ids=str,
)
def test_what_cannot_be_run(
    processes: Processes,
    words: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before anything is dialled: one line, and exit code 2."""
    monkeypatch.chdir(processes.directory)
    monkeypatch.syspath_prepend(processes.directory)
    assert message in refused(["run", *words], capsys)
