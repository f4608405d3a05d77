"""Write docs/lesson.md and docs/lesson-tree.md: each topic of `smc lesson` with the views of both parties.

    python -m scripts.lesson_page

The views come from the programs that the command runs. Here they run from a fixed seed, so that the page is the same
each time.
"""

from __future__ import annotations

import importlib
import math
import re
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from parties.base.files import write_text
from parties.commands.lesson import TOPICS
from parties.jobs.small.programs import arguments_of
from parties.lesson.decision_tree import MAX_ROWS, TARGET, conditional_entropy, decision_tree, lesson_problem
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

Lesson 9 of the Italian lecture notes has a part on *data separation*: only trusted parties keep
the data, and they do not share them. Here each owner keeps its rows on its own machine. The notes'
way to use separated data is *secure multi-party computation* (SMC). Each party has a part of the
input. The parties compute a function of all parts, and learn nothing but the result. The result is
right only if each party enters its part.

This page is for you if you study or teach SMC: you watch each protocol at work, and need no other
page. It follows the notes up to Yao's protocol. [The second page](lesson-tree.md) follows the
decision tree. ([Other lines of lesson 9](notes.md#lesson-by-lesson): local mining, noise,
reconstruction.)

`smc lesson` runs each protocol between two processes on this machine, over gRPC with mutual TLS.
Each process prints its *view*: its input, the values that it computes, and all messages. This page
shows the views without the messages; your random values differ. `--json` prints all values in full.
(`python -m scripts.lesson_page` writes this page.)

![Shares of the inputs, an XOR gate, an AND gate, and the opened result](pictures/shares.svg)

| the notes' line | command or page |
|---|---|
| data separation: the data stay with their owners | each topic: a process reads only its own party's input |
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
| the conclusions; not completely secure: several queries | [page 2](lesson-tree.md#the-notes-conclusions) |

Three facts hold for the whole lesson:

- The parties are *semi-honest*: they follow the protocol, and keep all that they see.
- There are two parties. The texts of the views call party 0 A, and party 1 B. More parties need
  other protocols; here [further holders](holders.md) send shares of their numbers to two parties.
- A *round* is one wait: a party has sent its messages, and waits for those of the other. The two
  parties' numbers of rounds differ if one party sends ahead.

`--left` is the input of party 0, `--right` that of party 1:

| topic | input |
|---|---|
| `shares` | a number from 0 to 15 |
| `and`, `garbled` | 0 or 1 |
| `transfer` | left: four numbers from 0 to 255; right: the choice, 1 to 4 |
| `millionaires` | a number of 32 bits |
| `logarithm` | a count from 0 to 32,767; at most one of the two counts is 0 |
| `id3` | the path of a CSV file, [with five columns](lesson-tree.md#the-two-tables) |
""",
    "lesson-tree.md": """# Lesson 9, step by step: the tree

This page follows lesson 9 of the Italian lecture notes (*the notes*) from ID3 to its end. It is for
you if you study or teach decision trees on secret counts. Read [the first page](lesson.md) before:
it has shares, oblivious transfer and garbled circuits, which the tree uses. A *view* is the output
of one party's process. The views are shown without their messages.

| the notes | here |
|---|---|
| horizontal partition | Both parties have the same columns. Each has rows that the other does not know. |
| semi-honest model | Each party follows the protocol, and keeps all intermediate values. |
| two parties | Party 0 and party 1. Further holders send [shares](holders.md) to them. |
| an approximation, ID3-delta | Splits whose entropies differ by less than delta count as equal. \
So several trees are allowed (the notes' set ID3_delta); a run gives one of them. |
| categorical attributes only | A column has a list of values. [Edges](tables-schema.md) make ranges of numbers. |
| R, the attributes | those that remain at a node; at the root outlook, temperature, humidity, wind; public |
| C, the class | play: public, with its values yes and no |
| T, the transactions | the rows of a node: T1 are those of party 0, T2 those of party 1 |
| T(a), T(c) | the rows with value a of the split attribute; the rows of class c |

## The two tables

Here are Quinlan's fourteen days. `smc lesson id3 --left FILE --right FILE` takes other CSV files
with this first line and with values that occur below. The files shown here and their schema are in
`parties/data`.

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

Each number is rounded by itself. The gain of outlook is 0.94029 - 0.69354 = 0.24675.

Outlook wins: overcast days are all yes. The parties compare sums of x ln x, and need no division.
Each count x is a sum of both parties' counts x1 and x2. With n(v) rows of value v, n(v, c) of them
of class c:

    |T| H(C | A) = sum over v of n(v) ln n(v) - sum over v and c of n(v, c) ln n(v, c)

|T| is the number of rows, and equal for all attributes. So the order of these sums is that of the
entropies. For outlook the sum has five sunny days (2 yes, 3 no), four overcast days (4 yes) and
five rainy days (3 yes, 2 no):

    5 ln 5 + 4 ln 4 + 5 ln 5 - (2 ln 2 + 3 ln 3 + 4 ln 4 + 3 ln 3 + 2 ln 2) = 6.730

This is 14 x 0.6935 bits x 0.693. Delta is in nats: one bit is ln 2 = 0.693 nats.

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

**Step 1, R is empty**, once a path has used all attributes. Both parties know it without a message.
The node is a leaf, and only its class is computed: each party enters its counts, and the circuit
compares the sums. Add the row `{row}` twice to a copy of party 1's file. Then
three equal days have two classes, and level 4 has no attribute left:

```text
{exhausted}
```

In the first leaf the sums are yes 0 + 2 = 2 and no 1 + 0 = 1. So yes wins, against the majority of
party 0's own rows. The circuit opens neither sum. A leaf without rows gets the majority class of
the node above it.

Of equal sums, the first class wins: with the row added once, yes 0 + 1 and no 1 + 0 give yes.

**Step 2, one class.** In the notes each party enters its class if its rows have one class. If they
have several classes, it enters a fixed symbol that is no class. The node is a leaf if both entries
are equal. The notes leave open how to check this. There are several ways:

- In the clear: each party then knows the other's entry.
- By hashes of the entries: no better, because a party can hash the few possible entries itself.
- By a circuit (SMC): it opens only whether the entries are equal.

Whichever way is used, this check gives a wrong answer for some tables ([list](notes-errors.md)). A
party without a row at this node has no class, so it can only enter the symbol. Two symbols are
equal, but the node is no leaf:

| party 0's rows | party 1's rows | entries | equal? | right answer |
|---|---|---|---|---|
| yes, yes | yes | yes and yes | equal: leaf yes | leaf yes |
| yes, yes | no | yes and no | different: no leaf | no leaf |
| yes, yes | none | yes and the symbol | **different: no leaf** | leaf yes |
| yes, no | yes, no | the symbol twice | **equal: leaf** | no leaf |

The circuit of this product has no such entries. It adds both parties' counts of each class. Then it
compares the greatest sum with the sum of all. If they are equal, one class is left. This is right
for all four rows of this table.

**Step 3 (b, c).** No party needs a message, because A was opened and its values are public. Each
party finds its own rows of each branch, and these are its inputs of the next level.
""",
}
TAILS = {
    "lesson-tree.md": """
## Delta and its cost

The notes state that delta has an effect on efficiency. A smaller delta takes more cells, terms and
digits. The table is measured on the tree of the fourteen days: at most 128 rows, without the
lesson's own counts. `smc id3` has the option `--tolerance`, and `smc estimate id3` forecasts the
cost.

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
  after a row is added, can disclose that row. Many answers together disclose more than each. A
  party's server, `smc node`, counts the [bits](records-budgets.md#bits-of-exact-answers) of exact
  answers and [epsilon](records-budgets.md) of noisy ones. It refuses a question beyond the budget.
- **A peer that leaves the protocol** is outside the model. [Security](security.md) lists its gains.

## The notes' conclusions

Privacy and security can impede data mining. The notes name three obstacles:

| obstacle | in this product |
|---|---|
| problems of access to the data | each owner keeps its rows, and runs the program on its own machine |
| restrictions on sharing | only the agreed result is opened |
| limits on the use of results | a [policy](policy.md) can require a purpose |

The notes name two technical solutions:

- **Randomised or swapped data** still allow good models. `smc blur` adds noise to the values.
  `smc reconstruct` learns a tree from them ([measured](publish-blur.md#trees-from-blurred-rows)).
  `smc publish protect` [swaps values](publish-protect.md#the-methods) between rows.
- **The parties need not share their data** to learn global results. These two pages show how.
""",
}
TEXTS = {
    "shares": """The notes write + for XOR. A *share* is one of two random values with a secret as their XOR. Each
party splits its input into two shares, keeps one and sends the other. The random share is the
notes' noise.

The XOR itself is no secret: each party can compute the other's input from it and its own.

Outside this lesson only [holders of rows](holders.md) split inputs at random. With two parties the
owner's share is the input itself, and the other party's share is 0. So party 0's share of a = 1011
is 1011, and party 1's share is 0000. Party 1 learns nothing, because it receives nothing. At an AND
gate a party receives the other's shares only under a random mask. When the result is opened, the
share that a party receives is the result XOR its own share. So a party learns nothing from it but
the result.

The 34 bytes below are two messages: a share of the input, and a share of the result. Each has 16
bytes of check and one byte of share.""",
    "and": """The parties need shares of a AND b: c1 + c2 = a b = (a1 + a2) (b1 + b2). Party 0 has a1 and b1. It
draws c1 at random and computes c2 for each of the four values of (a2, b2). Party 1 takes the row of
its own shares by *oblivious transfer*: party 0 does not learn the row, and party 1 learns no other
row. The random c1 distorts each row. The XOR of c1 and the chosen row is the true value.""",
    "transfer": """This is the transfer of the notes, message by message. A has four inputs, B makes a choice. A does
not learn the choice, and B sees only the chosen input. The notes' e is a function that hides a
message: here the first byte of SHA-256. Their f is the public-key permutation, here RSA. A modulus
of 24 bits is insecure, because it can be factored. So you must ask for it with `--toy`. Without
`--toy` the modulus has 3072 bits.

Only A can invert f. The inverse undoes f: f^-1(f(b)) = b. Below, B draws 5742747 for its choice 3
and sends f(5742747) = 1086503. A inverts 1086503 and gets 5742747 back, so both know this number. A
computes e(5742747) = 141 and sends c3 = 30 xor 141 = 147. B computes 147 xor 141 = 30, its message.
The other three values were sent as drawn. A's inverses of these are numbers that B cannot compute,
so the other messages stay hidden. A sees four random-looking values, and cannot tell which one is f
of something.

A receiver that applies f to all four values reads all four messages. So the protocol is secure only
against a semi-honest receiver. The [transfer of the engine](protocols-engines.md) prevents this:
the receiver sends one value, and the others follow from it.""",
    "garbled": """A *garbled circuit* is an encrypted circuit. Each wire has a random label for each of its values.
Party 0 garbles: it makes labels and tables. Party 1 evaluates with one label a wire.

Yao's first table has four rows, one for each pair of input labels. A row is the label of the gate's
result, encrypted under both input labels. Party 1 has one pair, so it can decrypt one row. Each
label has a public *colour*, and the two colours name this row. The colours are random, so they do
not disclose the bits. XOR gates need no table.

[Half gates](protocols-engines.md#engines-smcengines) need two rows. Let + be the XOR of labels, and
H a hash. Here a, b and c are labels. Party 1 computes c = H(a) + H(b). If a has colour 1, it also
adds row 1. If b has colour 1, it also adds (row 2 + a). Party 0 knows all labels, and makes the
rows so that each pair of labels gives the right label of c
([paper](https://eprint.iacr.org/2014/756)). In the run below both colours are 1, so party 1 adds
both. H depends on the session and on the number of the gate too. So you cannot recompute c from
this page. To get the other label of c, party 1 would need an input label that it does not have.

The label of c becomes a bit by its colour: party 0 knows the colour of the label for 0. The bit is
the XOR of this colour and that of party 1's label.""",
    "millionaires": """A trusted third party could take both numbers and name the richer one. The circuit reveals no
more than this party would, and needs no such party. It compares two numbers of 32 bits from the
lowest bit to the highest:

![Gates and wires of a comparison: a chain of 32 cells, each of three XOR and one AND](pictures/comparison.svg)

Let b be 1 if party 1's number is higher so far; at first b is 0. Where the bits x and y differ, the
number with the bit 1 is now the higher one: b becomes y. Where they are equal, b stays. In gates:
new b = b + (x + y)(y + b). Take 5 = 101 and 7 = 111. After bit 0 b is 0, after bit 1 it is 1, after
bit 2 it stays 1: the second number is greater. A second chain compares the other way, so that equal
numbers are seen. This makes 2 x 32 AND gates. Each gate is garbled like the gate above.""",
    "logarithm": """Step 3 of ID3 needs x ln x for x = x1 + x2, where each party has one of the two counts. A circuit
computes on bits, and ln x has no small circuit. So Yao's protocol finds ln x roughly, and a series
refines it. With epsilon = d / c:

    x = 2^n (c + d) = 2^n c (1 + epsilon)
    ln x = n ln 2 + ln c + ln(1 + epsilon)
    ln(1 + epsilon) = epsilon - epsilon^2 / 2 + epsilon^3 / 3 - ...

n and c come from the circuit, as shares: this is the rough part. In the paper of the protocol
([Lindell and Pinkas](math/logarithm.md#source)) c is 1. Here [1, 2) is cut into 8 equal cells, and
c is the middle of a cell. So epsilon is smaller and fewer terms suffice: 1500 = 1024 x 1.46484 is
in cell 3, with c = 1 + 3.5 / 8 = 1.4375 and d = 0.02734.

This lesson opens values that stay secret in ID3, so that you can follow them. Delta is 0.001, the
tolerance for a difference of two *entropies*. For it, each ln x may have an *error* of at most
delta / 4 = 0.00025 ([lemma](math/logarithm.md)). [The protocol](protocols.md) derives the number of
cells, terms and digits from three public values: delta, the greatest count, and the costs of the
[engine](protocols-engines.md#engines-smcengines). This lesson and the ID3 lesson below have the
same engine and the same delta. Both take 8 cells and 2 terms. A *fraction bit* is a binary digit
after the point. The counts of this lesson are greater (up to 65,536 in place of 128), so it needs
more digits: 30 fraction bits in place of 18.

**The gain of each term, for 1500.** The rough ln x is wrong by 0.019. After the first term the
error is 0.00018, after the second 0.0000084. The factor of d^2 is 0.242, and the table has 0.25.
This rounding causes most of the last error.

**The digits of d.** The two terms are computed as d (t1 - t2 d), where t1 and t2 are table entries.
The outer d has 15 binary digits after the point, the inner d has 10. A cut of the inner d adds a
smaller error: its product is multiplied by the outer d, at most 1/16. For 1500 no digit is cut,
because this d has 8 digits (7/256).

**The bound on the error** of ln x is proven for all counts: 0.000196. It has three parts: the terms
that are left out (0.000072), the digits of d that are cut off (0.000062), and the rounded entries
of the table (0.000062). The error of x ln x is x times as large: at most 1500 x 0.000196 = 0.294.
For x = 0 the protocol gives x ln x = 0. This lesson refuses x = 0, because ln 0 is no number.""",
    "id3": """Steps 1 and 2 are one circuit here: it finds the majority and whether one class is left.

The bound of 64 rows is public and set by the lesson. A joint count is then at most 128, so it takes
8 bits. In `smc id3` the bound is `--max-rows`.""",
}
AFTER = {
    "and": """
The run above uses the default, `extension`, and not the notes' transfer. Each kind gives the same
result c. `--ot` chooses the [kind of transfer](protocols-engines.md#oblivious-transfer-smcot):

| `--ot` | kind |
|---|---|
| `extension` | the default: 128 transfers use public keys; the cheap method `softspoken4` makes all others |
| `iknp` | the plain way to make many transfers from 128 by public keys |
| `softspoken2`, `softspoken4`, `softspoken8` | like `iknp`, a higher number has fewer bytes and more computation |
| `ferret` | the fewest bytes for very many transfers, from one more assumption: learning parity with noise |
| `trapdoor` | like the notes' transfer, but the receiver sends one value and the others follow from it |
""",
}
LEFT_OUT = ("messages",)
EXTRA_ROW = "sunny,hot,high,strong,yes"  # one of party 0's rows, with the other class
DELTAS = (0.1, 0.01, 0.001, 0.0001, 0.000001)


def page(name: str) -> str:
    """Return the text of the page with this file name."""
    parts = [_filled(HEADS[name])]
    for topic in PAGES[name]:
        command = f"smc lesson {topic}{' --toy' if topic == 'transfer' else ''}"
        parts += [f"\n## {TOPICS[topic].title}\n\n{TEXTS[topic]}\n\n```console\n$ {command}\n"]
        for party, view in enumerate(views(topic)):
            parts.append(f"party-{party} sees:\n{_shortened(view)}\n")
        parts += ["```\n", AFTER.get(topic, "")]
    return "".join([*parts, _filled(TAILS.get(name, ""))])


def _filled(text: str) -> str:
    """Return a text with the computed parts in place of their names in braces."""
    parts: dict[str, Callable[[], str]] = {
        "tables": tables,
        "gains": gains,
        "costs": costs,
        "exhausted": exhausted,
        "row": lambda: EXTRA_ROW,
    }
    for name, made in parts.items():
        text = text.replace(f"{{{name}}}", made()) if f"{{{name}}}" in text else text
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
    """Return a table of the root's attributes: conditional entropy, gain, and the sum that the parties compare."""
    bundled = example.demo()
    columns, *rows = (line.split(",") for line in bundled.clinic_a.read_text().split())
    rows += [line.split(",") for line in bundled.clinic_b.read_text().split()[1:]]
    classes = sorted({row[-1] for row in rows})

    def entropy(values: list[str]) -> float:
        pairs = Counter(zip(values, (row[-1] for row in rows), strict=True))
        return conditional_entropy(np.array([[pairs[value, c] for c in classes] for value in sorted(set(values))]))

    before = entropy([""] * len(rows))
    table = [
        f"| {name} | {bits:.3f} | {before - bits:.3f} | {len(rows) * bits * math.log(2):.3f} |"
        for name, bits in ((name, entropy([row[i] for row in rows])) for i, name in enumerate(columns[:-1]))
    ]
    head = f"| attribute A | H(C \\| A), of H(C) = {before:.3f} | gain | \\|T\\| H(C \\| A) in nats |"
    return "\n".join([head, "|---|---|---|---|", *table])


def exhausted(times: int = 2) -> str:
    """Return each party's step at the level where no attribute is left.

    Args:
        times: Number of copies of `EXTRA_ROW` that are added to party 1's rows.
    """
    with TemporaryDirectory() as folder:
        right = Path(folder) / "right.csv"
        right.write_text(example.demo().clinic_b.read_text().rstrip() + f"\n{EXTRA_ROW}" * times)
        pair = run_local(
            lambda session: decision_tree(make_engine(session, "yao"), str(right) if session.party else ""),
            seed=b"data separation",
        )
    lines = []
    for party, view in enumerate(pair):
        steps = re.split(r"^(?=\d+\. )", str(_shortened(view)), flags=re.MULTILINE)
        lines += [f"party-{party} sees:", *(step.rstrip() for step in steps if "no attribute is left" in step)]
    return "\n".join(lines)


def costs() -> str:
    """Return a table of the measured cost of the bundled tree for each delta."""
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
        (tree, cost, precision), _ = run_local(partial(run, delta=delta), seed=b"data separation")
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
    """Run a topic with its defaults, from a fixed seed, and return both parties' views.

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

    return run_local(run, seed=b"data separation")


def _shortened(view: View) -> View:
    steps = [{**step, "values": {k: v for k, v in step["values"].items() if k not in LEFT_OUT}} for step in view]
    return View(steps)


if __name__ == "__main__":
    for file in PAGES:
        write_text(ROOT / "docs" / file, page(file))
