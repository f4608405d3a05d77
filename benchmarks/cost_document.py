"""Write docs/cost.md and docs/cost-trees.md: formulas and exact numbers of cost, and forecasts of trees.

    python -m benchmarks.cost_document            (or: make cost)

The formulas are the paragraphs of docstrings that begin with "Cost". The numbers are counted by `smc.counting`. So
neither is ever out of date. A test compares the pages with the output of this module.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from benchmarks.cost_rows import (
    Row,
    additive_rows,
    base_rows,
    correlated_rows,
    gates,
    program_rows,
    trapdoor_rows,
    triple_rows,
    zeros,
)
from parties.base import files
from parties.bench import cases
from protocols import cost_model, equality, id3, logarithm, majority, millionaires
from protocols.release import choice, gaussian, laplace, numbers
from protocols.release.laws import Law
from smc.circuit.library import aes128
from smc.counting import Program
from smc.engines import Profile

TARGET = Path(__file__).resolve().parents[1] / "docs" / "cost.md"
TREES_TARGET = TARGET.with_name("cost-trees.md")

WHICH = {  # a tree: how its number of levels is set, and its other options
    "default": "default",
    "a level more": "default + 1",
    "four levels": "set to 4",
    "multiway": "default (--splits multiway)",
    "multiway, a level more": "default + 1 (--splits multiway)",
    "multiway, four levels": "set to 4 (--splits multiway)",
    "plain": "no limit (--plain)",
    "noise": "default (--epsilon 1)",
    "noise, four levels": "set to 4 (--epsilon 1)",
    "more noise": "default (--epsilon 0.1)",
}
TREES = Path(__file__).parent / "results" / "tree_costs.json"
TREE_PROFILE = Profile("mixed")

INTRODUCTION = """# Cost of each protocol

`make cost` writes this page from the code. The formulas are paragraphs of the modules' docstrings.
`smc.counting` counts the numbers, without a peer and without cryptography. The tests compare the
numbers with real runs, to the byte. `smc bench` does so again whenever it measures. `smc estimate`
counts jobs of your own.

You read the tables like this:

- Bytes are those of messages, without the additions of gRPC, TLS and TCP.
- Numbers are for one session that does nothing else. They include its base OTs, if there are any.
- Messages are those of both parties.
- Rounds are how often a party has to wait, the larger number of the two. A *flight* is a group of
  messages that a party sends without waiting for an answer.
- Party 0 is the garbler, and the sender of OTs that go in one direction.
- *Base OTs* are the few OTs by public keys with which an extension begins. A *correlated* OT is one
  whose two keys differ by a fixed secret.
- A *profile* names the [engine](protocols-engines.md), the kind of OT (oblivious transfer), and then
  the garbling scheme (`half`, `three-halves`) or the form of the circuits (`size`, `depth`).
  `table` stands for AND gates by 1-out-of-4 OT.
- A program costs the sum of its parts: inputs, AND gates (gates times instances of the batch),
  arithmetic, openings.

[cost-trees.md](cost-trees.md) compares the forecast of trees with their cost.
"""

HEADER = ("party 0 sends", "party 1 sends", "messages", "rounds")
WORDS = ("kind", "operation", "OT", "program", "profile")  # columns of text, not of numbers


@dataclass(frozen=True)
class Section:
    """One primitive or protocol: the module with its formula, and a table of its cost."""

    title: str
    module: str
    columns: Row
    rows: Callable[[], Iterator[Row]]


def formula(module: str) -> list[str]:
    """Return the paragraphs about cost in a module's docstring, each on one line."""
    text = inspect.getdoc(importlib.import_module(module)) or ""
    paragraphs = [" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", text)]
    found = [paragraph for paragraph in paragraphs if re.match(r"(Cost|Communication)\b", paragraph)]
    if not found:
        raise LookupError(f"the docstring of {module} has no paragraph that begins with 'Cost'")
    return found


def document() -> str:
    """Return docs/cost.md."""
    parts = [INTRODUCTION]
    for section in SECTIONS:
        path = section.module.replace(".", "/") + ".py"
        lines = [f"## {section.title}", "", f"[{path}](../{path})", ""]
        for paragraph in formula(section.module):
            lines += [_wrapped(paragraph), ""]
        aligned = ["---" if name in WORDS else "---:" for name in section.columns]
        lines += [_line(section.columns), _line(aligned)]
        lines += [_line(row) for row in section.rows()]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def trees() -> str:
    """Return docs/cost-trees.md: the measured cost of trees of public tables beside its forecast."""
    known = [
        row for row in json.loads(TREES.read_text(encoding="utf-8"))["rows"] if row["profile"] == str(TREE_PROFILE)
    ]
    rows = [row for row in known if row["first"]]
    tables, bounded = len({row["table"] for row in rows}), [row for row in known if row["most"] is not None]
    below = sum(row["most"] < row["largest"] for row in bounded)
    lines = [
        "# Trees: the forecast and the cost",
        "",
        _wrapped(
            "`make cost` writes this page from the rows of [benchmarks/tree_costs.py](../benchmarks/tree_costs.py). "
            "[protocols/cost_model.py](../protocols/cost_model.py) and "
            "[protocols/release/tree_costs.py](../protocols/release/tree_costs.py) make the forecasts. The data "
            f"are {tables} tables: {tables - 1} public ones, and `hospital`, which a script generates. Each table was "
            "prepared from its raw file, and each row was dealt to one of two parties at random. All trees have the "
            f"profile `{TREE_PROFILE}`: engine `mixed`, kind of oblivious transfer `extension`, and the half-gates "
            "garbling scheme. Bytes are both ways. For trees with noise, bytes and leaves are the median of five "
            "draws. The bytes of very large trees (`--plain`) are added up from parts that are counted separately. "
            "The error of such a sum is a few percent."
        ),
        "",
        _wrapped(
            "`smc estimate` shows two numbers before a run. *Typical* is a forecast from public numbers alone. *At "
            f"most* is an upper bound for any rows: {below or 'none'} of {len(bounded)} jobs cost more. The first "
            "table counts the jobs whose typical forecast is at least half and at most twice their bytes. *Targets* "
            "are trees for the target of each table. *Other columns* are trees for another column of the table as the "
            "target. The constants of the forecast were fitted to these same trees, so expect larger errors on other "
            "tables."
        ),
        "",
        _wrapped(
            "*Levels* shows how the number of levels is set. `smc id3` chooses the default from public numbers. "
            "`--max-depth` sets one level more, or four levels, also where four is the default. `--plain` has no limit "
            "of levels. By default a node splits in two. With `--epsilon`, a column without an order has a branch for "
            "every value. With `--plain` and with `--splits multiway`, every column has. The second table has a row "
            "for each tree of a target, with its leaves, its bytes, and both forecasts. *Not counted*: the bound of "
            "this job is too large to be counted."
        ),
        "",
        _line(("levels of the trees", "targets", "within a factor of 2", "other columns", "within a factor of 2")),
        _line(("---", *["---:"] * 4)),
    ]
    for which, name in WHICH.items():
        cells = [name]
        for first in (True, False):
            of = [row for row in known if (row["which"], row["first"]) == (which, first)]
            ratios = [row["typical"] / row["bytes"] for row in of]
            cells += [str(len(ratios)), str(sum(0.5 <= ratio <= 2 for ratio in ratios))] if ratios else ["", ""]
        lines.append(_line(cells))
    lines += [
        "",
        _line(("table", "rows", "columns", "levels", "leaves", "bytes", "typical", "typical / bytes", "at most")),
        _line(("---", *["---:"] * 8)),
    ]
    for row in rows:
        limit, name = row["max_depth"], WHICH[row["which"]]
        levels = name if limit is None else f"{limit}: {name}"
        numbers = [f"{row[name]:,}" for name in ("leaves", "bytes", "typical")]
        ratio, most = (
            f"{row['typical'] / row['bytes']:.2f}",
            "not counted" if row["most"] is None else f"{row['most']:,}",
        )
        lines.append(_line((row["table"], f"{row['rows']:,}", str(row["columns"]), levels, *numbers, ratio, most)))
    return "\n".join(lines) + "\n"


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def _line(cells: Row) -> str:
    return f"| {' | '.join(cells)} |"


# The counted programs.

INTEGER = (cases.MIXED, Profile("lean", "ferret", form="depth"), cases.YAO, cases.SILENT)


def _logarithms(batch: int) -> Program:
    return lambda engine: logarithm.open_logarithm(engine, zeros(batch), 1 << 20, 2.7e-6, times_x=True)


CIRCUITS = {
    "AES-128, batch 1": gates(aes128(), 1),
    "AES-128, batch 256": gates(aes128(), 256),
    "multiplication of 64 bits, batch 1,000": gates(cases.multiplication(64, "size"), 1000),
}
TENNIS = id3.Problem((3, 3, 2, 2), 2, 65535)
LEAF = id3.Leaf(0)
OUTLOOK = id3.Split(0, (id3.Split(2, (LEAF, LEAF)), LEAF, id3.Split(3, (LEAF, LEAF))))


def _noisy_sums(law: Law, batch: int) -> Program:
    return lambda engine: numbers.noisy_sums(engine, zeros(batch), 16, law)


def _noisy_choices(candidates: int, batch: int) -> Program:
    law = choice.choice_law(Fraction(1), 1, True, candidates)
    return lambda engine: choice.noisy_choice(engine, zeros(candidates, batch), 16, law)


def _protocol(
    title: str, module: str, programs: dict[str, Program], profiles: Sequence[Profile] = cases.BOOLEAN
) -> Section:
    columns = ("program", "profile", "AND gates", *HEADER)
    path = module if "." in module else f"protocols.{module}"
    return Section(title, path, columns, program_rows(programs, profiles))


ROLE = ("kind", "OTs", *HEADER)
SECTIONS = [
    Section("Base OT", "smc.ot.elliptic", ("OTs", *HEADER), base_rows),
    Section("Trapdoor OT", "smc.ot.trapdoor", ("OTs", "1 out of", *HEADER), trapdoor_rows),
    Section("IKNP extension", "smc.ot.iknp", ROLE, correlated_rows("iknp")),
    Section(
        "SoftSpoken extension", "smc.ot.softspoken", ROLE, correlated_rows("softspoken2", "softspoken4", "softspoken8")
    ),
    Section("Ferret", "smc.ot.ferret", ROLE, correlated_rows("ferret", most=10**7)),
    _protocol("Garbled circuits", "smc.yao.schemes", CIRCUITS, (cases.YAO, cases.THREE_HALVES)),
    Section("GMW: triples", "smc.gmw.triples", ("triples", "OT", *HEADER), triple_rows),
    _protocol(
        "GMW: circuits",
        "smc.gmw.gates",
        CIRCUITS,
        (Profile("gmw"), Profile("gmw", "ferret"), Profile("gmw", table_gates=True)),
    ),
    Section("Additive shares", "smc.arithmetic.shares", ("operation", "OT", *HEADER), additive_rows),
    _protocol(
        "Comparison",
        "millionaires",
        {
            "strict, 32 bits, batch 1": lambda engine: millionaires.strict(engine, zeros(1), 32),
            "strict, 32 bits, batch 10,000": lambda engine: millionaires.strict(engine, zeros(10_000), 32),
            "three_way, 32 bits, batch 10,000": lambda engine: millionaires.three_way(engine, zeros(10_000), 32),
        },
    ),
    _protocol(
        "Equality",
        "equality",
        {
            "32 bits, batch 1": lambda engine: equality.equal(engine, zeros(1), 32),
            "32 bits, batch 10,000": lambda engine: equality.equal(engine, zeros(10_000), 32),
        },
    ),
    _protocol(
        "Majority",
        "majority",
        {
            "2 classes, 16 bits, batch 1,000": lambda engine: majority.majority(engine, zeros(2, 1000), 16),
            "4 classes, 16 bits, batch 1,000": lambda engine: majority.majority(engine, zeros(4, 1000), 16),
        },
    ),
    _protocol(
        "Noisy sums",
        "protocols.release.numbers",
        {
            "16 bits, epsilon 1, batch 1": _noisy_sums(laplace.DiscreteLaplace(Fraction(1)), 1),
            "16 bits, epsilon 1, batch 1,000": _noisy_sums(laplace.DiscreteLaplace(Fraction(1)), 1000),
            "16 bits, epsilon 0.1, batch 1,000": _noisy_sums(laplace.DiscreteLaplace(Fraction(10)), 1000),
            "16 bits, Gaussian of sigma 20, batch 1,000": _noisy_sums(gaussian.discrete_gaussian(400), 1000),
        },
    ),
    _protocol(
        "Noisy choices",
        "protocols.release.choice",
        {
            "10 candidates, 16 bits, epsilon 1, batch 100": _noisy_choices(10, 100),
            "4,096 candidates, 16 bits, epsilon 1, batch 1": _noisy_choices(4096, 1),
        },
    ),
    _protocol(
        "x ln x",
        "logarithm",
        {
            "bound 2^20, error 1e-6, batch 1": _logarithms(1),
            "bound 2^20, error 1e-6, batch 1,000": _logarithms(1000),
        },
        INTEGER,
    ),
    _protocol(
        "ID3",
        "id3",
        {
            "4 attributes (3, 3, 2, 2 values), 2 classes, tree of 3 questions": lambda engine: cost_model.with_tree(
                engine, TENNIS, OUTLOOK
            ),
            "2 attributes of 2 values, 2 classes, at most": lambda engine: cost_model.at_most(
                engine, id3.Problem((2, 2), 2, 50)
            ),
        },
        INTEGER,
    ),
]


def main() -> None:
    """Write both pages."""
    files.write_text(TARGET, document())
    files.write_text(TREES_TARGET, trees())


if __name__ == "__main__":
    main()
