"""`smc lesson`: watch the protocols of the lecture notes between two processes on this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple, get_args

import click

from parties.base.report import Report
from parties.base.temporary import HeldDirectory
from parties.commands.signature import argument, by_signature, option
from parties.commands.two_processes import run_both
from smc.errors import InputError
from smc.recipes import OTKind


class Topic(NamedTuple):
    """A lesson: its title, its program, and the default inputs of both parties."""

    title: str
    program: str
    left: str
    right: str
    options: tuple[str, ...] = ()


TOPICS = {
    "shares": Topic("XOR shares: two numbers are split, and added without a message", "shares:shares", "11", "6"),
    "and": Topic("An AND gate: four rows are offered, one is chosen", "shares:conjunction", "1", "1", ("ot",)),
    "transfer": Topic(
        "Oblivious transfer by a trapdoor permutation", "transfer:transfer", "10,20,30,40", "3", ("bits", "toy")
    ),
    "garbled": Topic("A garbled gate: labels, table and result", "garbled:gate", "1", "1"),
    "millionaires": Topic("The millionaires: which of two numbers is greater", "garbled:millionaires", "5000", "7000"),
    "logarithm": Topic("ln x: rough by a circuit, refined by the Taylor series", "logarithm:logarithm", "900", "600"),
    "id3": Topic("ID3-delta: the joint tree of two tables, step by step", "decision_tree:decision_tree", "", ""),
}
PARTIES = ("party-0", "party-1")


@click.command(epilog="Example:  smc lesson and --left 1 --right 0 --ot trapdoor")
@by_signature
def lesson(
    topic: str = argument(click.Choice(list(TOPICS)), metavar="TOPIC"),
    left: str | None = option(
        "Input of party 0, which the lecture notes call A. For id3, a CSV file  [an example]", "VALUE"
    ),
    right: str | None = option(
        "Input of party 1, which the lecture notes call B. For id3, a CSV file  [an example]", "VALUE"
    ),
    ot: str | None = option(
        "For the topic `and`: kind of oblivious transfer  [extension]", click.Choice(get_args(OTKind))
    ),
    bits: int | None = option("For the topic transfer: bits of the RSA modulus  [3072]"),
    toy: bool = option("For the topic transfer: a modulus of 24 bits, short enough to read, and insecure."),
) -> Report:
    """Watch a protocol of the lecture notes: two processes run it, and each prints its own view.

    The processes are connected by gRPC with mutual TLS on this machine. Each view shows the party's input, the values
    that it computes, all messages, and their cost. The defaults are small numbers, and bundled tables for id3.
    Both processes run here, and each prints what it sees: use no private data in --left and --right.

    Topics: shares, and, transfer, garbled, millionaires, logarithm, id3.
    """
    from parties.lesson.view import View  # loads numpy

    chosen = TOPICS[topic]
    given = {"ot": ot, "bits": bits, "toy": toy or None}
    for name, value in given.items():
        if value is not None and name not in chosen.options:
            other = next(key for key, one in TOPICS.items() if name in one.options)
            raise InputError(f"--{name} belongs to smc lesson {other}: remove it")
    size = bits if bits is not None else 24 if toy else 3072
    public = {"and": [ot or "extension"], "transfer": [str(size), str(toy)]}.get(topic, [])
    commands = [
        ["run", f"parties.lesson.{chosen.program}", own, *public, "--engine", "yao", "--json"]
        for own in (chosen.left if left is None else left, chosen.right if right is None else right)
    ]
    with HeldDirectory("lesson") as name:
        outputs = run_both(Path(name), PARTIES, (commands[0], commands[1]), "the parties compute")
    answers = [json.loads(output) for output in outputs]
    report = Report({"topic": topic, "parties": dict(zip(PARTIES, answers, strict=True))})
    report.line(chosen.title)
    for party, answer in zip(PARTIES, answers, strict=True):
        report.line("")
        report.line(f"{party} sees:")
        report.block(f"{View(answer['result'])}\n")
    return report
