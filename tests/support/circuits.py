"""A Bristol circuit small enough to stand in a test: the sum of two numbers of `WIDTH` bits, and its carry."""

from __future__ import annotations

from smc.circuit import Builder, dump

WIDTH = 40


def _adder() -> str:
    builder = Builder()
    builder.output(builder.input(WIDTH).wide_add(builder.input(WIDTH)))
    return dump(builder.build())


ADDER = _adder()
