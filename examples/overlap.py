"""How many elements do two private subsets of a small public domain have in common? A protocol and its kind of job.

Ideal functionality. Inputs: a subset of {0, ..., size - 1} of each party. Output to both: how many elements are in both
subsets. Leakage: the size of the domain. With its own subset a party learns from the number how many of its own
elements the peer has: that is what is asked here, and the sentences for the operator say so. Security is that of the
engine.

Counted for a domain of n elements: n ANDs for the elements and about n more to add them up; inputs of n bits from each
party; ceil(log2(n + 1)) bits opened.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Annotated, Any

import numpy as np
from pydantic import Field
from typing_extensions import override

from parties.jobs.kind import (
    Bits,
    Counted,
    Description,
    Disclosure,
    Document,
    Inputs,
    Kind,
    OnStep,
    Opened,
    State,
    Step,
    typed_value,
)
from parties.jobs.settings import BooleanSettings, private, public
from protocols.opened import index_below
from smc.circuit import Builder, Form, Netlist, total
from smc.engines import Engine, make_engine
from smc.errors import InputError
from smc.local import run_local
from smc.session import Session

# The protocol.


@lru_cache(maxsize=32)
def _netlist(size: int, form: Form) -> Netlist:
    builder = Builder(form)
    left, right = builder.input(size), builder.input(size)
    both = [builder.integer([x & y]) for x, y in zip(left, right, strict=True)]
    builder.output(total(both, size.bit_length()))
    return builder.build()


def overlap(engine: Engine, own: np.ndarray[Any, np.dtype[np.uint8]]) -> int:
    """How many elements both have; each party passes its own subset as uint8[size] of 0 and 1."""
    size = len(own)
    outputs = engine.run(_netlist(size, engine.form), *engine.both(own.reshape(size, 1)))
    (opened,) = engine.reveal(*outputs)
    return int(index_below(opened, size + 1, "the number of common elements")[0])


# The kind of job.


class OverlapSettings(BooleanSettings):
    """`smc overlap`."""

    elements: str | None = private("Elements", "Own elements, with commas between them", metavar="N,N,...")
    size: Annotated[int, Field(strict=True, ge=1, le=1 << 16)] = public(64, "Domain", "Elements are below this number")
    column: str | None = public(
        None,
        "Column",
        "Whose values that occur are the elements",
        none="each operator types them",
        node=True,
        column=True,
    )


class Overlap(Kind):
    """How many elements do both have? Both learn the number, and nothing else."""

    name = "overlap"
    about = Description("Elements in common", example="--elements 3,14,15 --size 100", estimate_example="--size 100")
    Settings = OverlapSettings
    settings: OverlapSettings

    @property
    @override
    def columns(self) -> tuple[str, ...]:
        return () if self.settings.column is None else (self.settings.column,)

    @property
    @override
    def reads_table(self) -> bool:
        return self.settings.column is not None

    @override
    def misfit(self, inputs: Inputs) -> str | None:
        if self.settings.column is None:
            return None
        _, schema = inputs.required()
        values = schema.attributes.get(self.settings.column)
        if values is None:
            return f"column: the table has no attribute '{self.settings.column}'"
        return None if len(values) == self.settings.size else f"size of the job must be {len(values)}"

    @property
    @override
    def disclosure(self) -> Disclosure:
        learnt = "how many elements both have: how many of our own"
        return Disclosure(
            lambda peer: [
                f"We and {peer} both learn {learnt} {peer} has, and the reverse.",
                f"{peer} learns nothing else of our elements, and we nothing else of {peer}'s.",
            ],
            lambda state, step=None: {"number of common elements": 0 if state is None else 1},
            Bits.once(self.settings.size.bit_length() if self.reads_table else 0),
            subject=self.settings.column or "",
        )

    @override
    def cost(self, inputs: Inputs, extra: Any = None) -> Counted:
        return Counted(lambda engine: overlap(engine, np.zeros(self.settings.size, dtype=np.uint8)))

    def own(self, typed: Mapping[str, Any]) -> Any:
        """Return the typed elements as a bit for each element."""
        text = str(typed_value(type(self), typed, "elements"))
        parts = [part.strip() for part in text.split(",") if part.strip()]
        if not all(part.isascii() and part.isdigit() and int(part) < self.settings.size for part in parts):
            raise InputError(f"--elements: must be whole numbers below {self.settings.size}, with commas between them")
        own = np.zeros(self.settings.size, dtype=np.uint8)
        own[[int(part) for part in parts]] = 1
        return own

    @contextmanager
    @override
    def open(self, inputs: Inputs) -> Iterator[Opened]:
        """See `Kind.open`: what was typed, or the values of the column that occur in the table."""
        if self.settings.column is None:
            yield Opened(self.own(inputs.typed))
            return
        with inputs.value_counts(self.settings.column) as found:
            yield Opened((found.data > 0).astype(np.uint8), found.fingerprint)

    @override
    def run(self, engine: Engine, data: Any, start: State, on_step: OnStep) -> State:
        on_step(Step(0, 1, start, "comparing"))
        return overlap(engine, data)

    @override
    def document(self, state: State) -> Document:
        return {"common": state}

    @classmethod
    @override
    def text(cls, document: Document, party: int) -> str:
        return f"{document['common']} in common\n"


if __name__ == "__main__":  # both parties on this machine
    subsets = {3, 14, 15}, {1, 3, 15, 31}

    def program(session: Session) -> int:
        """What each party runs."""
        own = np.isin(np.arange(64), list(subsets[session.party])).astype(np.uint8)
        return overlap(make_engine(session, "yao"), own)

    print("in both sets, as either party learns it:", run_local(program))
