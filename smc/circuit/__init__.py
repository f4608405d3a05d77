"""Boolean circuits: build them from integers, import and export them, evaluate them in the clear."""

from smc.circuit.bristol import dump, load, parse, save
from smc.circuit.builder import Builder
from smc.circuit.carry_save import product_rows, sum_rows
from smc.circuit.division import fraction, quotient
from smc.circuit.integer import Integer, concatenate, multiply, select, total
from smc.circuit.netlist import FIRST_INPUT, Layer, Netlist, evaluate
from smc.circuit.selection import (
    GROUP,
    argmax,
    argmin,
    decode,
    leading_one,
    maximum,
    minimum,
    normalise,
    pick,
    unbeaten,
)
from smc.circuit.wire import Wire, all_of, any_of, mux, parity
from smc.recipes import Form

__all__ = [
    "FIRST_INPUT",
    "GROUP",
    "Builder",
    "Form",
    "Integer",
    "Layer",
    "Netlist",
    "Wire",
    "all_of",
    "any_of",
    "argmax",
    "argmin",
    "concatenate",
    "decode",
    "dump",
    "evaluate",
    "fraction",
    "leading_one",
    "load",
    "maximum",
    "minimum",
    "multiply",
    "mux",
    "normalise",
    "parity",
    "parse",
    "pick",
    "product_rows",
    "quotient",
    "save",
    "select",
    "sum_rows",
    "total",
    "unbeaten",
]
