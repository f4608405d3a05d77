"""Write docs/lesson.md and docs/lesson-tree.md: each topic of `smc lesson` with the views of both parties.

    python -m scripts.lesson_page

The views come from the programs that the command runs, here from a fixed seed, so that the page stays as it is.
"""

from __future__ import annotations

import importlib
from functools import cache, partial
from typing import Any

from parties.base.files import write_text
from parties.commands.lesson import TOPICS
from parties.jobs.small.programs import arguments_of
from parties.lesson.decision_tree import MAX_ROWS, TARGET, lesson_problem
from parties.lesson.view import View
from parties.sources.opening import open_table
from parties.sources.settings import TableSettings
from parties.tables import example, schema
from protocols.id3 import id3
from protocols.precision import Precision
from protocols.tree import Tree
from smc.engines import make_engine
from smc.local import run_local
from smc.meter import Cost
from smc.session import Session
from tests.support.places import ROOT

PAGES = {
    "lesson.md": ("shares", "and", "transfer", "garbled", "millionaires"),
    "lesson-tree.md": ("logarithm", "id3"),
}
HEADS = {
    "lesson.md": """# Lesson 9, step by step: the protocols

Lesson 9 of the Italian lecture notes presents *secure multi-party computation* (SMC). Each party
has a part of the input. The parties compute a function of all parts, and learn its result alone.
This page follows the notes up to Yao's protocol. [The second page](lesson-tree.md) follows the
decision tree. ([Other lines of lesson 9](notes.md#lesson-by-lesson): local mining, noise,
reconstruction.)

`smc lesson` runs each protocol between two processes on this machine, over gRPC with mutual TLS.
Each process prints its *view*: its input, the values that it computes, and all messages. This page
shows the views without the messages; your random values differ. `--json` prints all values in full.
(`python -m scripts.lesson_page` writes this page.)

![Shares of the inputs, an XOR gate, an AND gate, and the opened result](pictures/shares.svg)

| the notes' line | command or page |
|---|---|
| two people compare their wealth, and disclose nothing else | `smc lesson millionaires` |
| the function is represented as a circuit | `smc lesson millionaires` |
| noise is added to an input, which is split in two; neither party has the complete information | `smc lesson shares` |
| C = c1 + c2, by an XOR that each party computes locally | `smc lesson shares` |
| the AND gate and its table of four rows; a distorted value that becomes true again | `smc lesson and` |
| oblivious transfer: public key, four random values, one encrypted | `smc lesson transfer --toy` |
| Yao's protocol | `smc lesson garbled` |
| ln(x): rough by Yao's protocol, refined by the Taylor series | `smc lesson logarithm` |
| ID3, steps 1, 2 and 3 | `smc lesson id3` |
| the same, on your own tables | `smc id3 --plain` |
| the assumptions; R, C and T; the formula of the entropy | [page 2](lesson-tree.md) |
| not completely secure: several queries | [page 2](lesson-tree.md#result-and-limits) |

Three facts hold for the whole lesson:

- The parties are *semi-honest*: they follow the protocol, and keep all that they see.
- There are two parties. More parties need other protocols; here [further holders](holders.md) send
  shares of their numbers to two parties.
- A *round* is one wait: a party has sent its messages, and waits for those of the other. The two
  parties' numbers of rounds differ if one party sends ahead.

`--left` is the input of party 0, `--right` that of party 1:

| topic | input |
|---|---|
| `shares` | a number from 0 to 15 |
| `and`, `garbled` | 0 or 1 |
| `transfer` | left: four numbers from 0 to 255; right: the choice, 1 to 4 |
| `millionaires` | a number of 32 bits |
| `logarithm` | a count from 0 to 32,767 |
| `id3` | the path of a CSV file, [with five columns](lesson-tree.md#the-two-tables) |
""",
    "lesson-tree.md": """# Lesson 9, step by step: the tree

This page follows lesson 9 from ID3 to its end. [The first page](lesson.md) has the protocols below.

| the notes | here |
|---|---|
| horizontal partition | Both parties have the same columns. Each has rows that the other does not know. |
| semi-honest model | Each party follows the protocol, and keeps all intermediate values. |
| two parties | Party 0 and party 1. Further holders send [shares](holders.md) to them. |
| an approximation, ID3-delta | Splits whose entropies differ by less than delta count as equal. |
| categorical attributes only | A column has a list of values. [Edges](tables-schema.md) make ranges of numbers. |
| R, the attributes | those that remain at a node; at the root outlook, temperature, humidity, wind; public |
| C, the class | play: public, with its values yes and no |
| T, the transactions | the rows of a node: T1 are those of party 0, T2 those of party 1 |
| T(a), T(c) | the rows with value a of the split attribute; the rows of class c |

## The two tables

Here are Quinlan's fourteen days. `--left FILE` and `--right FILE` name other CSV files with this
first line. The values are those of the columns below. Files and schema are in `parties/data`.

```text
{tables}
```

## Entropy: outlook wins

ID3 chooses the attribute that makes the classes purest, and makes a node of it. It repeats this for
the rows of each value, with the other attributes. It stops when all rows have one class, or no
attribute is left. Let p(c) be the share of class c in the rows T, and v a value of attribute A:

    H(C) = - sum over c of p(c) log p(c)
    H(C | A) = sum over v of |T(v)| / |T| times H(C) of the rows T(v)
    gain(A) = H(C) - H(C | A)

H(C) is the same number for all attributes. So the least conditional entropy has the greatest gain.
High entropy means that A does not separate the classes. The view of step 3 below shows these
entropies of all fourteen days, in bits. A real run never opens them:

{gains}

Outlook wins: overcast days are all yes. Each count x is a sum of both parties' counts x1 and x2. So
the parties compare sums of x ln x, and need no division. With n(v) rows of value v, n(v, c) of them
of class c:

    |T| H(C | A) = sum over v of n(v) ln n(v) - sum over v and c of n(v, c) ln n(v, c)

The base of the logarithm does not change the order. Delta is in nats: one bit is 0.693 nats.

## Who computes what

![Steps at a node: counts, computation on secret counts, opened values, own splits](pictures/tree_steps.svg)

| step of the notes | each party alone | in secret | opened |
|---|---|---|---|
| 1: R is empty | sees it, as R is public; counts its rows of each class, \\|T1(c)\\| or \\|T2(c)\\| \
| adds the counts and compares the sums: `smc majority` is this circuit | the class with most rows |
| 2: T has one class | enters these counts | compares the greatest sum with the sum of all \
| whether the node is a leaf, and its class |
| 3 (a): the best attribute A | counts its rows by value and class, for each attribute \
| x ln x on shares, then the least sum | A |
| 3 (b, c): recursion | splits its own rows into T1(a1) to T1(am) | nothing | nothing |

*R is empty* once a path has used all attributes. Both parties know it without a message. The node
is a leaf, and only its class is computed: each party enters its counts, and the circuit compares
the sums. To see it, add the row `sunny,hot,high,strong,yes` to a copy of party 0's file: two equal
days then have two classes. Level 4 has no attribute left. Of equal counts, the first class wins.

In 3 (b, c) no party needs a message, because A was opened and its values are public. Each party
finds its own rows of each branch, and these are its inputs of the next level.
""",
}
TAILS = {
    "lesson-tree.md": """
## Delta and its cost

The notes state that delta has an effect on efficiency. A smaller delta takes more cells, terms and
digits. The table has the same tree of the fourteen days, without the lesson's own counts. `smc id3`
has the option `--tolerance`, and `smc estimate id3` forecasts the cost.

{costs}

## Result and limits

```text
outlook = sunny      humidity = high: no      humidity = normal: yes
outlook = overcast   yes
outlook = rain       wind = weak: yes         wind = strong: no
```

- **The opened values are the result.** Each opened value is a part of this tree: a leaf, its class,
  or an attribute. Someone who has the tree can write down all of them. So the run discloses nothing
  more than the tree, although it opens the values step by step.
- **The result itself discloses something.** A leaf with one row describes one person. SMC does not
  prevent this. `smc id3` has [rules for leaves](security.md), and noise with `--epsilon`.
- **Not completely secure: several queries** (the notes' last line). Two trees, one before and one
  after a row is added, can disclose that row. Many answers together disclose more than each. A node
  counts the [bits](records-budgets.md#bits-of-exact-answers) of exact answers and
  [epsilon](records-budgets.md) of noisy ones. It refuses a question beyond the budget.
- **A peer that leaves the protocol** is outside the model. [Security](security.md) lists its gains.

The notes conclude that the parties need not share their data to learn global results.
""",
}
TEXTS = {
    "shares": """The notes write + for XOR. A *share* is one of two random values whose XOR is a secret. Each party
splits its input into two shares, keeps one and sends the other. The random share is the notes'
noise.

The XOR itself is no secret: each party can compute the other's input from it and its own.

Outside this lesson, the engine sends no share of an input. Take a = 1011: party 0's share is 1011,
and party 1's share is 0000. Their XOR is a, as it must be. Party 1 learns nothing, because it
receives nothing. AND gates mask each share, and an opened share follows from the result and the
peer's own share.""",
    "and": """The parties need shares of a AND b: c1 + c2 = a b = (a1 + a2) (b1 + b2). Party 0 has a1 and b1. It
draws c1 at random and computes c2 for each of the four values of (a2, b2). Party 1 takes the row of
its own shares by *oblivious transfer*: party 0 does not learn the row, and party 1 learns no other
row. The random c1 distorts each row. The XOR of c1 and the chosen row is the true value.

`--ot` chooses the [kind of transfer](protocols-engines.md#oblivious-transfer-smcot):

| `--ot` | kind |
|---|---|
| `extension` | the default: 128 transfers by public keys, all others from these by `softspoken4` |
| `iknp` | the plain way to make many transfers from 128 by public keys |
| `softspoken2`, `softspoken4`, `softspoken8` | like `iknp`, a higher number has fewer bytes and more computation |
| `ferret` | the fewest bytes for very many transfers, from one more assumption (LPN) |
| `trapdoor` | that of the notes, secure also against a receiver that leaves the protocol |""",
    "transfer": """This is the transfer of the notes, message by message. A has four inputs, B makes a choice. A does
not learn the choice, and B sees only the chosen input. The notes' e is a function that hides a
message: here the first byte of SHA-256. Their f is the public-key permutation, here RSA. A modulus
of 24 bits can be factored, so it needs `--toy`. Without `--toy` the modulus has 3072 bits.

Only A can invert f. The inverse undoes f: f^-1(f(b)) = b. Below, B draws 8086498 for its choice 3
and sends f(8086498) = 7207889. A inverts 7207889 and gets 8086498 back, so both know this number. A
sends c3 = 30 xor e(8086498). B computes c3 xor e(8086498): the two e cancel, and 30 remains. The
other three values were sent as drawn. A's inverses of these are numbers that B cannot compute, so
the other messages stay hidden. A sees four random-looking values, and cannot tell which one is f of
something.

A receiver that applies f to all four values reads all four messages. So the protocol is secure only
against a semi-honest receiver. The [transfer of the engine](protocols-engines.md) prevents this:
the receiver sends one value, and the others follow from it.""",
    "garbled": """A *garbled circuit* is an encrypted circuit. Each wire has a random label for each of its values.
Party 0 garbles: it makes labels and tables. Party 1 evaluates with one label a wire.

Yao's first table has four rows, one for each pair of input labels. A row is the label of the gate's
result, encrypted under both input labels. Party 1 has one pair, so it can decrypt one row. Each
label has a public *colour*, and the two colours name this row. The colours are random, so they do
not disclose the bits. XOR gates need no table.

[Half gates](protocols-engines.md#engines-smcengines) need two rows. Let H be a hash. Party 1
computes c = H(a) + H(b). It adds row 1 if a has colour 1, and row 2 + a if b has colour 1. In the
run below both colours are 0, so it adds no row. Another label of c would need an input label that
party 1 lacks.

The label of c becomes a bit by its colour: party 0 knows the colour of the label for 0. The bit is
the XOR of this colour and that of party 1's label.""",
    "millionaires": """A trusted third party could take both numbers and name the richer one. The circuit reveals no
more than this party would, and needs no such party. It compares two numbers of 32 bits from the
lowest bit to the highest:

![Gates and wires of a comparison: a chain of 32 cells, each of three XOR and one AND](pictures/comparison.svg)

Where the bits x and y differ, the higher number so far is the one with the bit 1: b becomes y.
Where they are equal, b stays. In gates: new b = b + (x + y)(y + b). Take 5 = 101 and 7 = 111. After
bit 0 b is 0, after bit 1 it is 1, after bit 2 it stays 1: the second number is greater. A second
chain compares the other way, so that equal numbers are seen. This makes 2 x 32 AND gates. Each gate
is garbled like the gate above.""",
    "logarithm": """Step 3 of ID3 needs x ln x for x = x1 + x2, where each party has one of the two counts. A circuit
computes on bits, and ln x has no small circuit. So Yao's protocol finds ln x roughly, and a series
refines it. With epsilon = d / c:

    x = 2^n (c + d) = 2^n c (1 + epsilon)
    ln x = n ln 2 + ln c + ln(1 + epsilon)
    ln(1 + epsilon) = epsilon - epsilon^2 / 2 + epsilon^3 / 3 - ...

n and c come from the circuit, as shares: this is the rough part. In the paper c is 1. Here c is the
middle of one of several cells, so epsilon is smaller and fewer terms suffice.

This lesson opens values that stay secret in ID3, so that you can follow them. Delta is 0.001, the
tolerance for a difference of two *entropies*. For it, each ln x may have an *error* of at most
delta / 4 = 0.00025 ([lemma](math/logarithm.md)). [The protocol](protocols.md) derives the number of
cells, terms and fraction bits from delta. One term of the series would be enough here. The lesson
takes three, so that you see the series. Here the proven error of ln x is at most 0.000062. An error
of x ln x is x times as large: 1500 x 0.000062 = 0.093, the bound below.""",
    "id3": """Steps 1 and 2 are one circuit here: it finds the majority and whether one class is left. In the
notes each party enters its only class, or a fixed symbol if its rows have several classes. An
equality check compares both entries. This [is wrong for some tables](notes-errors.md).

The bound of 64 rows is public and set by the lesson: a count of both parties then has 8 bits,
whatever the real number of rows. In `smc id3` it is `--max-rows`.""",
}
LEFT_OUT = ("messages",)
DELTAS = (0.1, 0.01, 0.001, 0.0001, 0.000001)


def page(name: str) -> str:
    """Return the page of a file name."""
    parts = [_filled(HEADS[name])]
    for topic in PAGES[name]:
        command = f"smc lesson {topic}{' --toy' if topic == 'transfer' else ''}"
        parts += [f"\n## {TOPICS[topic].title}\n\n{TEXTS[topic]}\n\n```console\n$ {command}\n"]
        for party, view in enumerate(views(topic)):
            parts.append(f"party-{party} sees:\n{_shortened(view)}\n")
        parts.append("```\n")
    return "".join([*parts, _filled(TAILS.get(name, ""))])


def _filled(text: str) -> str:
    """Put in the parts that are computed."""
    for name, made in (("{tables}", tables), ("{gains}", gains), ("{costs}", costs)):
        text = text.replace(name, made()) if name in text else text
    return text


def tables() -> str:
    """Return the bundled rows of both parties, side by side."""
    bundled = example.demo()
    left, right = (path.read_text().splitlines() for path in (bundled.clinic_a, bundled.clinic_b))
    lines = [
        f"{a:40}{b}" for a, b in zip(["party 0: clinic_a.csv", *left], ["party 1: clinic_b.csv", *right], strict=True)
    ]
    return "\n".join(lines)


def gains() -> str:
    """Return the entropies of the root's attributes and their gains, as the lesson prints them."""
    line = next(step["values"]["entropies"][0] for step in views("id3")[0] if "entropies" in step["values"])
    before, _, after = line.partition(": ")[2].partition(" before a split; ")
    rows = [attribute.split() for attribute in after.split(", ")]
    table = [f"| {name} | {bits} | {float(before) - float(bits):.3f} |" for name, bits in rows]
    return "\n".join([f"| attribute A | H(C \\| A), of H(C) = {before} | gain |", "|---|---|---|", *table])


def costs() -> str:
    """Return the cost of the bundled tree by delta, measured."""
    bundled = example.demo()
    public = schema.load(bundled.schema)
    lines = [
        "| delta | cells | terms | fraction bits | bytes of both | rounds of party 0 |",
        "|---|---|---|---|---|---|",
    ]

    def run(session: Session, delta: float) -> tuple[Tree, Cost, Precision]:
        path = (bundled.clinic_a, bundled.clinic_b)[session.party]
        own = TableSettings(schema=bundled.schema, source=str(path), max_rows=MAX_ROWS)
        problem = lesson_problem(public, delta)
        engine = make_engine(session, "mixed")
        with open_table(own, public, TARGET) as source:
            tree = id3(engine, problem, source)
        return tree, session.meter.total, problem.precision(engine.words.prices)

    trees = []
    for delta in DELTAS:
        (tree, cost, precision), _ = run_local(partial(run, delta=delta), seed=b"lesson 9")
        trees.append(tree)
        size = f"{cost.bytes_sent + cost.bytes_received:,}"
        row = (
            f"| {delta:.6f}".rstrip("0")
            + f" | {1 << precision.cells} | {precision.terms} | {precision.fraction} | {size} | {cost.rounds} |"
        )
        lines.append(row)
    if any(tree != trees[0] for tree in trees):
        raise ValueError("the trees differ: the page says that they do not")
    return "\n".join(lines)


@cache
def views(topic: str) -> tuple[View, View]:
    """Run a topic with its defaults, from a fixed seed.

    Args:
        topic: A key of `TOPICS`.
    """
    about = TOPICS[topic]
    module, _, name = about.program.partition(":")
    program: Any = getattr(importlib.import_module(f"parties.lesson.{module}"), name)
    public = [24, True] if topic == "transfer" else []

    def run(session: Any) -> View:
        view: View = program(
            make_engine(session, "yao"), *arguments_of([(about.left, about.right)[session.party]]), *public
        )
        return view

    return run_local(run, seed=b"lesson 9")


def _shortened(view: View) -> View:
    steps = [{**step, "values": {k: v for k, v in step["values"].items() if k not in LEFT_OUT}} for step in view]
    return View(steps)


if __name__ == "__main__":
    for file in PAGES:
        write_text(ROOT / "docs" / file, page(file))
