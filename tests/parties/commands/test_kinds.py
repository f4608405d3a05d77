"""The commands of the small questions: between two processes, and what is wrong with what an operator gives them."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.circuits import ADDER, WIDTH
from tests.support.processes import Processes
from tests.support.refused import refused


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    started = Processes(tmp_path)
    (tmp_path / "adder.txt").write_text(ADDER)
    yield started
    started.stop()


@pytest.mark.parametrize(
    ("left", "right", "result", "text"),
    [
        (["equality", "--value", 2**63], ["equality", "--value", 2**63], {"result": True}, "equal: both have the same"),
        (
            ["equality", "--value", 0],
            ["equality", "--value", "-"],
            {"result": False},
            "different: the two are not the same",
        ),
        (["majority", "--counts", "3,0,4"], ["majority", "--counts", "1, 4, 0"], {"result": "p"}, "p"),
        (
            ["circuit", "adder.txt", "--input", "0xffffffffff"],
            ["circuit", "adder.txt", "--input", f"{1:0{WIDTH}b}"],
            {"outputs": ["0x10000000000"]},
            "0x10000000000",
        ),
    ],
    ids=["equal", "different", "majority", "circuit"],
)
def test_both_get_the_result(
    processes: Processes, left: list[object], right: list[object], result: dict[str, object], text: str
) -> None:
    """One prints it for programs, one for people."""
    public = {"equality": ["--bits", 64], "majority": ["--classes", "p,q,r"], "circuit": ["--engine", "gmw"]}
    common = public[str(left[0])]
    zero, address = processes.listen(*left, *common, "--json", "--out", "result.json")
    one = processes.start(*right, *common, *processes.link("b", "a"), "--connect", address, stdin="5\n")
    first, second = processes.wait(zero), processes.wait(one)
    assert (first.code, second.code) == (0, 0), first.err + second.err
    printed = json.loads(first.out)
    assert {name: printed[name] for name in result} == result
    assert printed["cost"]["bytes_sent"] > 0
    assert json.loads((processes.directory / "result.json").read_text()) == result
    assert second.out == f"{text}\n"


@pytest.mark.parametrize(
    ("left", "right", "told"),
    [
        (["equality", "--value", 5, "--bits", 8], ["equality", "--value", 5, "--bits", 9], ["bits", "8", "9"]),
        (
            ["majority", "--counts", "1,2", "--classes", "p,q"],
            ["majority", "--counts", "1,2,3", "--classes", "p,q,r"],
            ["classes", "p", "q", "r"],
        ),
    ],
    ids=["bits", "classes"],
)
def test_what_the_two_want_must_be_the_same(
    processes: Processes, left: list[object], right: list[object], told: list[str]
) -> None:
    for done in processes.pair(left, right):
        assert (done.code, done.out) == (4, "")
        assert all(word in done.message for word in told), done.message


WRONG = [
    *(
        (f"{name} --value {value}", message)
        for name in ("equality", "millionaires")
        for value, message in (
            ("4294967296", ": value does not fit 32 bits: it must be from 0 to 2^32 - 1"),
            ("256 --bits 8", ": value does not fit 8 bits: it must be from 0 to 2^8 - 1"),
            ("-1", "--value: must be a whole number from 0 up"),
            ("''", "--value: must be a whole number from 0 up"),
            ("five", "--value: must be a whole number from 0 up"),
            ("5.0", "--value: must be a whole number from 0 up"),
            ("٥", "--value: must be a whole number from 0 up"),
            ("-", "standard input is empty or closed"),
            ("5 --bits 0", "--bits: must be >= 1, not 0"),
            ("5 --bits 65", "--bits: must be <= 64, not 65"),
            ("5 --bits x", "Invalid value for '--bits'"),
            ("5 --engine mixed", "Invalid value for '--engine'"),
            ("5 --of rows", "No such option '--of'"),
        )
    ),
    ("equality", "--value is missing: give the flag, or set value under [equality] in --config"),
    *(
        (f"majority --classes p,q --counts {counts}", message)
        for counts, message in (
            ("1", "--counts: 1 counts; give 2, one for each class"),
            ("1,2,3", "--counts: 3 counts; give 2, one for each class"),
            ("1,-2", "--counts: must be whole numbers from 0 up, with commas between them"),
            ("-1,2", "--counts: must be whole numbers from 0 up, with commas between them"),
            ("''", "--counts: must be whole numbers from 0 up, with commas between them"),
            ("1,", "--counts: must be whole numbers from 0 up, with commas between them"),
            ("1,two", "--counts: must be whole numbers from 0 up, with commas between them"),
            ("1,4294967296", "--counts: a count does not fit 32 bits"),
            ("-", "standard input is empty or closed"),
            ("1,2 --bits 63", "--bits: must be <= 62, not 63"),
        )
    ),
    ("majority --classes p,q", "--counts is missing"),
    ("majority --counts 1,2", "--classes: is missing: name them, with commas between them"),
    ("majority --classes p,p --counts 1,2", "classes: name each class once"),
    ("majority --classes '' --counts 1,2", "classes"),
    *(
        (f"circuit adder.txt --input {value}", message)
        for value, message in (
            ("0x10000000000", "--input: 41 bits, but party 0's input has 40"),
            ("101", "--input: 3 binary digits, but party 0's input has 40"),
            ("''", "--input: 0 binary digits, but party 0's input has 40"),
            ("-5", "--input: must be binary digits or a hexadecimal number 0x..."),
            ("42", "--input: must be binary digits or a hexadecimal number 0x..."),
            ("0xgg", "--input: must be binary digits or a hexadecimal number 0x..."),
            ("-", "standard input is empty or closed"),
        )
    ),
    ("circuit adder.txt", "--input is missing: party 0's input of the circuit has 40 bits"),
    ("circuit --input 1", "FILE is missing"),
    ("circuit no.txt --input 1", "no.txt: cannot read this circuit file"),
    ("circuit a.key --input 1", "a.key"),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("place")
    (directory / "adder.txt").write_text(ADDER)
    (directory / "a.key").write_text("no circuit\n")
    return directory


@pytest.mark.parametrize(("line", "message"), WRONG, ids=[line for line, _ in WRONG])
def test_what_is_wrong_is_a_line(
    line: str, message: str, place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 2, before a peer is looked for."""
    monkeypatch.chdir(place)
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    words = ["" if word == "''" else word for word in line.split()]
    assert message in refused([*words, "--listen", "127.0.0.1:0"], capsys)
