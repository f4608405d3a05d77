"""What parses input from outside refuses it in one line, whatever it is: the short form of `make fuzz`."""

from __future__ import annotations

import random

import pytest

from scripts.fuzz_targets import TARGETS, refused_well
from smc.errors import InputError

TIMES = 300
READ = (
    "frames",
    "hello",
    "heads",
    "statement",
    "request",
    "job",
    "address",
    "csv",
    "schema",
    "party",
    "circuit",
    "log",
)


def mutated(seed: bytes, draw: random.Random) -> bytes:
    """The seed with up to four octets changed, put in, left out or said twice."""
    text = bytearray(seed)
    for _ in range(draw.randint(1, 4)):
        place, other = (draw.randrange(len(text) + 1) for _ in range(2))
        match draw.randrange(4):
            case 0:
                text[place : place + 1] = draw.randbytes(1)
            case 1:
                text[place:place] = draw.randbytes(draw.randint(1, 4))
            case 2:
                del text[place : place + draw.randint(1, 8)]
            case _:
                text[place:place] = text[other : other + draw.randint(1, 20)]
    return bytes(text)


@pytest.mark.parametrize("name", TARGETS)
def test_anything_is_read_or_refused_in_a_line(name: str) -> None:
    draw = random.Random(name)
    for seed in TARGETS[name].seeds:
        refused_well(TARGETS[name].run, seed)
        for _ in range(TIMES):
            refused_well(TARGETS[name].run, mutated(seed, draw))


@pytest.mark.parametrize("name", READ)
def test_a_seed_gets_past_the_first_check(name: str) -> None:
    assert not refused_well(TARGETS[name].run, TARGETS[name].seeds[0])


def test_what_is_no_refusal_is_a_flaw() -> None:
    def fails(error: Exception) -> bool:
        def run(_: bytes) -> None:
            raise error

        return refused_well(run, b"")

    assert fails(InputError("one line"))
    for error in (InputError("two\nlines"), InputError(""), KeyError("x")):
        with pytest.raises((AssertionError, KeyError)):
            fails(error)
