"""A Bristol circuit small enough to stand in a test: the sum of two numbers, and its carry."""

from __future__ import annotations

from smc.circuit import Builder, dump

WIDTH = 40


def adder(width: int) -> str:
    """Of numbers of so many bits."""
    builder = Builder()
    builder.output(builder.input(width).wide_add(builder.input(width)))
    return dump(builder.build())


ADDER = adder(WIDTH)
