"""Write docs/lesson.md: each topic of `smc lesson` with the views of both parties.

    python -m scripts.lesson_page

The views come from the programs that the command runs, here from a fixed seed, so that the page stays as it is.
"""

from __future__ import annotations

import importlib
from typing import Any

from parties.base.files import write_text
from parties.commands.lesson import TOPICS
from parties.jobs.small.programs import arguments_of
from parties.lesson.view import View
from smc.engines import make_engine
from smc.local import run_local
from tests.support.places import ROOT

PAGE = ROOT / "docs" / "lesson.md"
HEAD = """# Lesson 9, step by step

Lesson 9 of the Italian lecture notes presents protocols for secure computation by two parties.
`smc lesson` runs each protocol between two processes on this machine, over gRPC with mutual TLS.
Each process prints its *view*: its input, the values that it computes, and all messages. `--left`
and `--right` change the inputs. `--json` prints all values in full. This page shows the views
without the messages; your random values differ. (`python -m scripts.lesson_page` writes it.)

```mermaid
sequenceDiagram
    participant A as party 0 (A)
    participant B as party 1 (B)
    Note over A: a = a1 + a2
    Note over B: b = b1 + b2
    A->>B: a2
    B->>A: b1
    Note over A,B: XOR gate: each adds its shares, no message
    A->>B: AND gate: four rows, by oblivious transfer
    Note over B: learns the row (a2, b2) and no other
    A->>B: c1
    B->>A: c2
    Note over A,B: c = c1 + c2
```

| the notes' line | command |
|---|---|
| an input is split into two values; neither party has the complete information | `smc lesson shares` |
| C = c1 + c2, by an XOR that each party computes locally | `smc lesson shares` |
| the AND gate and its table of four rows | `smc lesson and` |
| oblivious transfer: public key, four random values, one encrypted | `smc lesson transfer --toy` |
| the function is represented as a circuit; Yao's protocol | `smc lesson garbled` |
| the millionaires | `smc lesson millionaires` |
| ln(x): rough by Yao's protocol, refined by the Taylor series | `smc lesson logarithm` |
| ID3, steps 1, 2 and 3 | `smc lesson id3` |
| the same, on your own tables | `smc id3` |
"""
TEXTS = {
    "shares": """The notes write + for XOR. A *share* is one of two random values whose XOR is a secret. Each party
splits its input into two shares, keeps one and sends the other. Outside this lesson the engine
saves that message: the owner's share is the input itself, and the other share is 0. That is as
secure: AND gates mask each share, and an opened share follows from the result and the peer's own
share.

The XOR itself is no secret: each party can compute the other's input from it and its own.""",
    "and": """The parties need shares of a AND b: c1 + c2 = a b = (a1 + a2) (b1 + b2). Party 0 has a1 and b1. It
draws c1 at random and computes c2 for each of the four values of (a2, b2). Party 1 takes the row of
its own shares by *oblivious transfer*: party 0 does not learn the row, and party 1 learns no other
row. `--ot` chooses the kind of transfer. `--ot trapdoor` is that of the notes, made secure against
a receiver that leaves the protocol.""",
    "transfer": """This is the transfer of the notes, message by message. Their e is a function that hides a message:
here the first byte of SHA-256. A modulus of 24 bits can be factored, so it needs `--toy`. Without
`--toy` the modulus has 3072 bits.

The protocol is secure only against a semi-honest receiver: one that follows the protocol. A
receiver that applies f to all four values reads all four messages. The [transfer of the
engine](protocols-engines.md) prevents this: the receiver sends one value, and the others follow
from it.""",
    "garbled": """A *garbled circuit* is an encrypted circuit: it has a random label for each value of each wire,
and an encrypted table for each AND gate. Party 0 garbles, party 1 evaluates.
[Half gates](protocols-engines.md) need two rows for an AND gate, where Yao's first table had four.
XOR gates need none.""",
    "millionaires": """A trusted third party could take both numbers and name the richer one. The circuit
reveals no more than this party would, and needs no such party. It compares two numbers of 32 bits
and is garbled like the gate above.""",
    "logarithm": """Step 3 of ID3 needs x ln x for x = x1 + x2, where each party has one of the two counts. This lesson
opens values that stay secret in ID3, so that you can follow them. [The protocol](protocols.md)
derives the number of cells, terms and fraction bits from the tolerance, here 0.001. One term of the
series would be enough here. The lesson takes three, so that you see the series.""",
    "id3": """The two tables are the halves of Quinlan's weather table. With `--left FILE` and `--right FILE` you
give other rows of its five columns. Steps 1 and 2 are one circuit here: it finds the majority and
whether one class is left. The notes compare fixed symbols instead.""",
}
LEFT_OUT = ("messages",)


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    for topic, about in TOPICS.items():
        command = f"smc lesson {topic}{' --toy' if topic == 'transfer' else ''}"
        parts += [f"\n## {about.title}\n\n{TEXTS[topic]}\n\n```console\n$ {command}\n"]
        for party, view in enumerate(views(topic)):
            parts.append(f"party-{party} sees:\n{_shortened(view)}\n")
        parts.append("```\n")
    return "".join(parts)


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
    write_text(PAGE, page())
